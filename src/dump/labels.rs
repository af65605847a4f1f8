//! Measures, shortens, wraps and escapes the text of drawings.

/// Width of a character as a fraction of the font size. The fonts of the drawing are monospaced.
const ADVANCE: f64 = 0.602;

/// Returns the width of a text whose font has the given size.
pub(super) fn width(text: &str, size: f64) -> f64 {
    text.chars().count() as f64 * size * ADVANCE
}

/// Shortens a text of more than `max_chars` characters to the first of them and an ellipsis.
pub(super) fn short(text: &str, max_chars: usize) -> String {
    match text.char_indices().nth(max_chars) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_string(),
    }
}

/// Wraps a text to lines of at most `max_chars` characters. Lines break between words; only a word longer than a line
/// is broken itself.
pub(super) fn wrapped(text: &str, max_chars: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let mut word = word;
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= max_chars => {
                line.push(' ');
                line.push_str(word);
                continue;
            }
            _ => {}
        }
        while let Some((end, _)) = word.char_indices().nth(max_chars) {
            lines.push(word[..end].to_string());
            word = &word[end..];
        }
        lines.push(word.to_string());
    }
    lines
}

/// Shortens a name of more than `max_chars` characters to an ellipsis and the last of them. The names of one scope
/// differ in their last characters.
pub(super) fn short_name(name: &str, max_chars: usize) -> String {
    let count = name.chars().count();
    match name.char_indices().nth(count.saturating_sub(max_chars)) {
        Some((start, _)) if count > max_chars => format!("…{}", &name[start..]),
        _ => name.to_string(),
    }
}

/// Escapes a text for XML and HTML. Control characters other than line feed and tab, and characters that XML forbids,
/// become U+FFFD.
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
            '\u{fffe}' | '\u{ffff}' => escaped.push('\u{fffd}'),
            _ if letter.is_control() => escaped.push('\u{fffd}'),
            _ => escaped.push(letter),
        }
    }
    escaped
}

/// Formats a point of a path.
pub(super) fn point((x, y): (f64, f64)) -> String {
    format!("{} {}", number(x), number(y))
}

/// Formats a number with at most one decimal.
pub(super) fn number(value: f64) -> String {
    let tenths = tenths(value);
    match tenths % 10 {
        0 => (tenths / 10).to_string(),
        rest => format!("{}{}.{}", if tenths < 0 { "-" } else { "" }, (tenths / 10).abs(), rest.abs()),
    }
}

/// Returns a number in tenths.
pub(super) fn tenths(value: f64) -> i64 {
    (value * 10.0).round() as i64
}

/// Returns a count with a comma before each three digits, such as `4,814`.
pub(super) fn count(count: usize) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_at_most_one_decimal() {
        let texts: Vec<String> = [1.0, 1.25, -0.5, -12.04, 0.04].into_iter().map(number).collect();
        assert_eq!(texts, ["1", "1.3", "-0.5", "-12", "0"]);
    }

    #[test]
    fn counts_have_commas() {
        assert_eq!(
            [0, 999, 1000, 100_000, 1_234_567].map(count),
            ["0", "999", "1,000", "100,000", "1,234,567"]
        );
    }

    #[test]
    fn lines_break_between_words() {
        assert_eq!(wrapped("one two three", 7), ["one two", "three"]);
        assert_eq!(wrapped("größer als nichts", 6), ["größer", "als", "nichts"]);
        assert_eq!(wrapped("abcdefgh ij", 3), ["abc", "def", "gh", "ij"]);
        assert!(wrapped(" ", 3).is_empty());
    }
}
