//! Text in drawings: how wide it is, how it is cut short, and what of it XML takes for something else.

/// Width of a character by its size: the fonts of the drawing are monospaced.
const ADVANCE: f64 = 0.602;

pub(super) fn width(text: &str, size: f64) -> f64 {
    text.chars().count() as f64 * size * ADVANCE
}

/// The first characters of a text.
pub(super) fn short(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_string(),
    }
}

/// A text as lines of at most `most` characters, broken between words where it can be.
pub(super) fn wrapped(text: &str, most: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let mut word = word;
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= most => {
                line.push(' ');
                line.push_str(word);
                continue;
            }
            _ => {}
        }
        while let Some((end, _)) = word.char_indices().nth(most) {
            lines.push(word[..end].to_string());
            word = &word[end..];
        }
        lines.push(word.to_string());
    }
    lines
}

/// The last characters of a name: its end tells it from its neighbours.
pub(super) fn short_name(name: &str, most: usize) -> String {
    let count = name.chars().count();
    match name.char_indices().nth(count.saturating_sub(most)) {
        Some((start, _)) if count > most => format!("…{}", &name[start..]),
        _ => name.to_string(),
    }
}

/// Text that XML and HTML take for nothing else.
pub(super) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            '\n' | '\t' => escaped.push(letter),
            // XML has no place for these.
            '\u{fffe}' | '\u{ffff}' => escaped.push('\u{fffd}'),
            _ if letter.is_control() => escaped.push('\u{fffd}'),
            _ => escaped.push(letter),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::wrapped;

    #[test]
    fn texts_are_wrapped_between_words() {
        assert_eq!(wrapped("one two three", 7), ["one two", "three"]);
        assert_eq!(wrapped("größer als nichts", 6), ["größer", "als", "nichts"]);
        assert_eq!(wrapped("abcdefgh ij", 3), ["abc", "def", "gh", "ij"]);
        assert!(wrapped(" ", 3).is_empty());
    }
}
