//! Source files as text, for tests of the structure of the code.

use std::path::{Path, PathBuf};

/// Collects the Rust files below a folder.
pub fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// Returns the code without comments, string literals and the test module at its end.
pub fn code_of(text: &str) -> String {
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let mut code = String::new();
    for line in text.lines() {
        let mut in_text = false;
        let mut before = ' ';
        let mut letters = line.chars().peekable();
        while let Some(letter) = letters.next() {
            let is_quote = letter == '"' && before != '\'' && !(in_text && before == '\\');
            if is_quote {
                in_text = !in_text;
            } else if !in_text && letter == '/' && letters.peek() == Some(&'/') {
                break;
            } else if !in_text {
                code.push(letter);
            }
            before = if before == '\\' && letter == '\\' { ' ' } else { letter };
        }
        code.push('\n');
    }
    code
}
