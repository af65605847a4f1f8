//! `error_text`: an error's message for snapshots, with every location replaced by the source line that it points at.
//!
//! Locations as text keep a snapshot unchanged when lines above it move.

use std::collections::HashMap;

use shapeflow::Result;

/// Returns the message of an error with its locations replaced by source lines, or "nothing" for a success. The line of
/// the run is left out: `run_lines` tests it.
pub fn error_text<T>(result: Result<T>) -> String {
    match result {
        Ok(_) => "nothing".to_string(),
        Err(error) => {
            let text = error.to_string();
            let lines: Vec<&str> =
                text.lines().filter(|line| !line.starts_with("  in the run at ")).collect();
            with_source_lines(&lines.join("\n"))
        }
    }
}

/// Replaces every `tests/road/file:line:column` in a text by that source line in backticks.
pub fn with_source_lines(text: &str) -> String {
    const TESTS: &str = "tests/road/";
    let mut files: HashMap<&str, Vec<String>> = HashMap::new();
    let mut parts = text.split(TESTS);
    let mut out = parts.next().unwrap_or_default().to_string();
    for part in parts {
        let Some((file, after_file)) = part.split_once(':') else {
            out += TESTS;
            out += part;
            continue;
        };
        let lines = files.entry(file).or_insert_with(|| {
            let source = std::fs::read_to_string(format!("{TESTS}{file}")).unwrap_or_default();
            source.lines().map(|line| line.trim().to_string()).collect()
        });
        let end = after_file.find(|c: char| c != ':' && !c.is_ascii_digit()).unwrap_or(after_file.len());
        let (location, rest) = after_file.split_at(end);
        let number: Option<usize> = location.split(':').next().and_then(|line| line.parse().ok());
        let line =
            number.and_then(|number| lines.get(number.checked_sub(1)?)).map_or("nowhere", String::as_str);
        // A line such as `assert_snapshot!(call, @r"` is shown as `call`.
        let line =
            line.strip_prefix("assert_snapshot!(").and_then(|line| line.split(", @").next()).unwrap_or(line);
        out += &format!("`{line}`{rest}");
    }
    out
}
