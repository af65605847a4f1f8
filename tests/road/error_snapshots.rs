//! `told`: what a wrong program is told, with every place in a test shown as the text of its line.

use std::collections::HashMap;

use shapeflow::Result;

/// The message of an error, its places shown as text.
pub fn told<T>(result: Result<T>) -> String {
    match result {
        Ok(_) => "nothing".to_string(),
        Err(error) => placed(&error.to_string()),
    }
}

/// The text with every `file:line:column` of a test replaced by the text of that line.
pub fn placed(text: &str) -> String {
    const TESTS: &str = "tests/road/";
    let mut files: HashMap<&str, Vec<String>> = HashMap::new();
    let mut parts = text.split(TESTS);
    let mut out = parts.next().unwrap_or_default().to_string();
    for part in parts {
        let Some((file, place)) = part.split_once(':') else {
            out += TESTS;
            out += part;
            continue;
        };
        let lines = files.entry(file).or_insert_with(|| {
            let source = std::fs::read_to_string(format!("{TESTS}{file}")).unwrap_or_default();
            source.lines().map(|line| line.trim().to_string()).collect()
        });
        let end = place.find(|c: char| c != ':' && !c.is_ascii_digit()).unwrap_or(place.len());
        let (place, rest) = place.split_at(end);
        let number: Option<usize> = place.split(':').next().and_then(|line| line.parse().ok());
        let line =
            number.and_then(|number| lines.get(number.checked_sub(1)?)).map_or("nowhere", String::as_str);
        // The snapshot that follows a call is no part of it.
        let line =
            line.strip_prefix("assert_snapshot!(").and_then(|line| line.split(", @").next()).unwrap_or(line);
        out += &format!("`{line}`{rest}");
    }
    out
}
