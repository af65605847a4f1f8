//! Rust source files as text, for tests of the structure of the code.

use std::path::{Path, PathBuf};

/// Appends the paths of all Rust files below a folder to `found`.
pub fn collect_rust_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect_rust_files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// Returns a file's code without line comments, string literals and the test module at its end.
///
/// String literals are recognized within one line only.
pub fn strip_comments_and_strings(text: &str) -> String {
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let mut code = String::new();
    for line in text.lines() {
        let mut in_string = false;
        let mut previous = ' ';
        let mut chars = line.chars().peekable();
        while let Some(c) = chars.next() {
            let is_quote = c == '"' && previous != '\'' && !(in_string && previous == '\\');
            if is_quote {
                in_string = !in_string;
            } else if !in_string && c == '/' && chars.peek() == Some(&'/') {
                break;
            } else if !in_string {
                code.push(c);
            }
            previous = if previous == '\\' && c == '\\' { ' ' } else { c };
        }
        code.push('\n');
    }
    code
}
