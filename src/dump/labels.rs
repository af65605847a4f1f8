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
