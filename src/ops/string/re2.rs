//! [`translate`]: regular expressions of RE2 in the syntax of the `regex` crate, where the same text means the same.

use std::fmt::Write;

/// The greatest number of repetitions that RE2 accepts.
const MAX_REPEAT: u32 = 1000;

/// Rewrites a pattern of RE2 for the `regex` crate: classes such as `\d` are ASCII, `\b` is too, `\C` is any byte, and
/// what only the crate reads specially is escaped.
///
/// # Errors
/// RE2 refuses the pattern. Some such patterns pass, and the crate refuses them.
pub(super) fn translate(pattern: &str) -> Result<String, String> {
    let mut reader =
        Reader { rest: pattern, out: String::with_capacity(pattern.len() + 8), repeats: Repeats::Nothing };
    while let Some(character) = reader.rest.chars().next() {
        reader.rest = &reader.rest[character.len_utf8()..];
        reader.read(character)?;
    }
    Ok(reader.out)
}

/// Whether a repetition may follow.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Repeats {
    /// No: nothing stands before it.
    Nothing,
    /// Yes: an atom stands before it.
    Atom,
    /// No: a repetition stands before it.
    Repetition,
}

struct Reader<'p> {
    rest: &'p str,
    out: String,
    repeats: Repeats,
}

impl<'p> Reader<'p> {
    /// Translates what `character`, which is taken from the pattern, starts.
    fn read(&mut self, character: char) -> Result<(), String> {
        match character {
            '\\' => self.escape(false)?,
            '[' => self.class()?,
            '(' => return self.group(),
            '|' | '^' | '$' => {
                self.out.push(character);
                self.repeats = if character == '|' { Repeats::Nothing } else { Repeats::Atom };
                return Ok(());
            }
            '*' | '+' | '?' => return self.repetition(&character.to_string()),
            '{' => match self.counts()? {
                Some(counts) => return self.repetition(&counts),
                None => self.out.push_str("\\{"),
            },
            // The crate reads these specially in the mode `x` only, which RE2 lacks.
            _ => self.out.push(character),
        }
        self.repeats = Repeats::Atom;
        Ok(())
    }

    fn repetition(&mut self, operator: &str) -> Result<(), String> {
        match self.repeats {
            Repeats::Nothing => return Err(format!("no argument for the repetition operator {operator}")),
            Repeats::Repetition => return Err(format!("a second repetition operator {operator}")),
            Repeats::Atom => {}
        }
        self.out.push_str(operator);
        if let Some(rest) = self.rest.strip_prefix('?') {
            self.rest = rest;
            self.out.push('?');
        }
        self.repeats = Repeats::Repetition;
        Ok(())
    }

    /// Takes `n}`, `n,}` or `n,m}` from the pattern; `None` if none of them follows the brace.
    fn counts(&mut self) -> Result<Option<String>, String> {
        let Some((inside, rest)) = self.rest.split_once('}') else { return Ok(None) };
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let (low, high) = inside.split_once(',').unwrap_or((inside, inside));
        if !is_number(low) || !(high.is_empty() && inside.contains(',') || is_number(high)) {
            return Ok(None);
        }
        let count = |text: &str| text.parse::<u32>().ok().filter(|count| *count <= MAX_REPEAT);
        if count(low).is_none() || !high.is_empty() && count(high).is_none() {
            return Err(format!("a repetition may have at most {MAX_REPEAT}, got {{{inside}}}"));
        }
        self.rest = rest;
        Ok(Some(format!("{{{inside}}}")))
    }

    /// Translates what follows `(`.
    fn group(&mut self) -> Result<(), String> {
        self.out.push('(');
        self.repeats = Repeats::Nothing;
        let Some(flags) = self.rest.strip_prefix('?') else { return Ok(()) };
        if flags.starts_with("P<")
            || flags.starts_with('<') && !flags.starts_with("<=") && !flags.starts_with("<!")
        {
            let end = flags.find('>').ok_or("the name of a group must be closed")?;
            let _ = write!(self.out, "?{}", &flags[..=end]);
            self.rest = &flags[end + 1..];
            return Ok(());
        }
        let end = flags.find([':', ')']).ok_or("a group must be closed")?;
        if !flags[..end].chars().all(|flag| "imsU-".contains(flag)) {
            return Err(format!("a group may have the flags i, m, s and U, got (?{}", &flags[..end]));
        }
        // The whole of `(?i)` is copied, so that its parenthesis is no atom.
        let _ = write!(self.out, "?{}", &flags[..=end]);
        self.rest = &flags[end + 1..];
        Ok(())
    }

    /// Translates what follows a backslash, in a class or outside.
    fn escape(&mut self, in_class: bool) -> Result<(), String> {
        let mut chars = self.rest.chars();
        let Some(escaped) = chars.next() else { return Err("a trailing backslash".to_string()) };
        let after = chars.as_str();
        let class = |inside: &str, negated: bool| match (in_class, negated) {
            (true, false) => inside.to_string(),
            (true, true) => format!("[^{inside}]"),
            (false, false) => format!("[{inside}]"),
            (false, true) => format!("[^{inside}]"),
        };
        let text = match escaped {
            'd' | 'D' => class("0-9", escaped == 'D'),
            'w' | 'W' => class("0-9A-Za-z_", escaped == 'W'),
            's' | 'S' => class("\\t\\n\\x0C\\r ", escaped == 'S'),
            'b' | 'B' if !in_class => format!("(?-u:\\{escaped})"),
            'C' if !in_class => "(?s-u:.)".to_string(),
            'Q' if !in_class => {
                let (literal, rest) = after.split_once("\\E").unwrap_or((after, ""));
                self.rest = rest;
                self.out.push_str(&regex::escape(literal));
                return Ok(());
            }
            'A' | 'z' if !in_class => format!("\\{escaped}"),
            'a' | 'f' | 't' | 'n' | 'r' | 'v' => format!("\\{escaped}"),
            'p' | 'P' => return self.property(escaped, after),
            'x' => return self.hexadecimal(after),
            '0'..='7' => return self.octal(),
            _ if escaped.is_ascii_punctuation() => regex::escape(&escaped.to_string()),
            _ if !escaped.is_ascii() => escaped.to_string(),
            _ => return Err(format!("an unknown escape \\{escaped}")),
        };
        // A hyphen inside a class stays a literal.
        let is_bare_hyphen = in_class && text == "-";
        self.out.push_str(if is_bare_hyphen { "\\-" } else { &text });
        self.rest = after;
        Ok(())
    }

    fn property(&mut self, letter: char, after: &str) -> Result<(), String> {
        let end = match after.chars().next() {
            Some('{') => after.find('}').ok_or("a property must be closed")? + 1,
            Some(name) => name.len_utf8(),
            None => return Err(format!("a trailing \\{letter}")),
        };
        let name = after[..end].trim_start_matches('{').trim_end_matches('}');
        let (name, is_negated) = match name.strip_prefix('^') {
            Some(name) => (name, letter == 'p'),
            None => (name, letter == 'P'),
        };
        let _ = write!(self.out, "\\{}{{{name}}}", if is_negated { 'P' } else { 'p' });
        self.rest = rest_of(self.rest, letter.len_utf8() + end);
        Ok(())
    }

    fn hexadecimal(&mut self, after: &str) -> Result<(), String> {
        let (digits, end) = match after.strip_prefix('{') {
            Some(inside) => {
                let end = inside.find('}').ok_or("a code point must be closed")?;
                (&inside[..end], end + 2)
            }
            None => (after.get(..2).ok_or("\\x needs two digits")?, 2),
        };
        let is_hex = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        let code = u32::from_str_radix(digits, 16).ok().filter(|_| is_hex);
        self.code_point(code, 1 + end)
    }

    /// Translates `\0`, `\07`, `\123`: up to three octal digits, of which the first is 0 unless there are three.
    fn octal(&mut self) -> Result<(), String> {
        let digits = self.rest.bytes().take(3).take_while(|byte| matches!(byte, b'0'..=b'7')).count();
        if digits < 2 && !self.rest.starts_with('0') {
            return Err(format!("a backreference \\{}", &self.rest[..digits]));
        }
        let code = u32::from_str_radix(&self.rest[..digits], 8).ok();
        self.code_point(code, digits)
    }

    fn code_point(&mut self, code: Option<u32>, taken: usize) -> Result<(), String> {
        let code = code.filter(|code| *code <= 0x10_ffff).ok_or("an escape is no code point")?;
        let _ = write!(self.out, "\\x{{{code:X}}}");
        self.rest = rest_of(self.rest, taken);
        Ok(())
    }

    /// Translates what follows `[`.
    fn class(&mut self) -> Result<(), String> {
        self.out.push('[');
        if let Some(rest) = self.rest.strip_prefix('^') {
            self.rest = rest;
            self.out.push('^');
        }
        let mut is_first = true;
        loop {
            let mut chars = self.rest.chars();
            let Some(character) = chars.next() else { return Err("a class must be closed".to_string()) };
            let after = chars.as_str();
            match character {
                ']' if !is_first => {
                    self.out.push(']');
                    self.rest = after;
                    return Ok(());
                }
                '\\' => {
                    self.rest = after;
                    self.escape(true)?;
                }
                '[' if after.starts_with(':') && after.contains(":]") => {
                    let end = after.find(":]").expect("the class name ends") + 2;
                    self.out.push('[');
                    self.out.push_str(&after[..end]);
                    self.rest = &after[end..];
                }
                '-' => {
                    self.hyphen(after, is_first)?;
                }
                '[' | ']' | '&' | '~' | '^' => {
                    self.out.push('\\');
                    self.out.push(character);
                    self.rest = after;
                }
                _ => {
                    self.out.push(character);
                    self.rest = after;
                }
            }
            is_first = false;
        }
    }

    /// Translates a hyphen in a class: a literal at either end, else the middle of a range.
    fn hyphen(&mut self, after: &'p str, is_first: bool) -> Result<(), String> {
        let is_last = after.starts_with(']');
        if !is_first && after.starts_with('-') && !after[1..].starts_with(']') {
            return Err("a hyphen must stand at an end of its class".to_string());
        }
        if !is_first && after == "-]" || after.starts_with("-]") && !is_first {
            return Err("a range must ascend".to_string());
        }
        self.out.push_str(if is_first || is_last { "\\-" } else { "-" });
        self.rest = after;
        Ok(())
    }
}

/// Returns a text without its first bytes.
fn rest_of(text: &str, taken: usize) -> &str {
    text.get(taken..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_ascii_and_specials_of_the_crate_are_escaped() {
        for (pattern, expected) in [
            (r"\d\W", "[0-9][^0-9A-Za-z_]"),
            (r"[\d-]", r"[0-9\-]"),
            ("[[a&&b]", r"[\[a\&\&b]"),
            ("a{,2}b{2,}", r"a\{,2}b{2,}"),
            (r"\Qa.b\E+", r"a\.b+"),
            (r"\141\x41\x{e9}", r"\x{61}\x{41}\x{E9}"),
            (r"(?i)(?P<x>a)(?:b)", "(?i)(?P<x>a)(?:b)"),
            (r"\p{^Greek}\pL", r"\P{Greek}\p{L}"),
        ] {
            assert_eq!(translate(pattern).unwrap(), expected);
        }
        for pattern in ["a**", "*a", "(?x)a", r"\8", "a{1001}", "[a", "a++", "|*", r"a\"] {
            translate(pattern).unwrap_err();
        }
    }
}
