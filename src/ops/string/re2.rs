//! [`translate`]: translates regular expressions of RE2 into the syntax of the `regex` crate.

use std::fmt::Write;

use unicode_script::Script;

/// The greatest number of repetitions that RE2 accepts.
const MAX_REPEAT: u32 = 1000;

/// Rewrites a pattern of RE2 for the `regex` crate. Classes such as `\d` become classes of ASCII characters, `\b`
/// becomes a boundary of ASCII words, and `\C` becomes any byte. Characters that are special to the crate but not to
/// RE2 are escaped.
///
/// # Errors
/// RE2 refuses the pattern, and this function finds the reason. The crate finds some other reasons when it compiles the
/// result.
pub(super) fn translate(pattern: &str) -> Result<String, String> {
    let out = String::with_capacity(pattern.len() + 8);
    let mut reader = Reader { rest: pattern, out, repeats: Repeats::Nothing, open_groups: 0 };
    while let Some(character) = reader.rest.chars().next() {
        reader.rest = &reader.rest[character.len_utf8()..];
        reader.read(character)?;
    }
    if reader.open_groups > 0 {
        return Err("a missing )".to_string());
    }
    Ok(reader.out)
}

/// The general categories of Unicode, and `Any`.
const CATEGORIES: &str = "Any C Cc Cf Co L Ll Lm Lo Lt Lu M Mc Me Mn N Nd Nl No P Pc Pd Pe Pf Pi Po Ps S Sc Sk Sm So \
                          Z Zl Zp Zs";

/// The names of classes such as `[:alpha:]`.
const POSIX: &str = "alnum alpha ascii blank cntrl digit graph lower print punct space upper word xdigit";

/// Whether a repetition may follow.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Repeats {
    /// No: nothing stands before the repetition.
    Nothing,
    /// Yes: an atom stands before the repetition.
    Atom,
    /// No: another repetition stands before the repetition.
    Repetition,
}

struct Reader<'p> {
    rest: &'p str,
    out: String,
    repeats: Repeats,
    /// The number of groups that are open.
    open_groups: usize,
}

impl<'p> Reader<'p> {
    /// Translates the item that starts with `character`. The caller has taken `character` from `rest`.
    fn read(&mut self, character: char) -> Result<(), String> {
        match character {
            '\\' => self.escape()?,
            '[' => self.class()?,
            '(' => return self.group(),
            ')' => {
                self.open_groups = self.open_groups.checked_sub(1).ok_or("an unexpected )")?;
                self.out.push(')');
            }
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
            // Blanks and `#` are special to the crate in the mode `x` only. RE2 lacks this mode, and `group` refuses
            // the flag.
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

    /// Takes `n}`, `n,}` or `n,m}` from the pattern. Returns `None` if no such count follows the brace.
    fn counts(&mut self) -> Result<Option<String>, String> {
        let Some((inside, rest)) = self.rest.split_once('}') else { return Ok(None) };
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let (low, high) = inside.split_once(',').unwrap_or((inside, inside));
        if !is_number(low) || !(high.is_empty() && inside.contains(',') || is_number(high)) {
            return Ok(None);
        }
        let count = |text: &str| text.parse::<u32>().ok().filter(|count| *count <= MAX_REPEAT);
        if count(low).is_none() || !high.is_empty() && count(high).is_none() {
            return Err(format!("a repetition may repeat at most {MAX_REPEAT} times, got {{{inside}}}"));
        }
        self.rest = rest;
        Ok(Some(format!("{{{inside}}}")))
    }

    /// Translates what follows `(`.
    fn group(&mut self) -> Result<(), String> {
        self.out.push('(');
        self.repeats = Repeats::Nothing;
        let Some(flags) = self.rest.strip_prefix('?') else {
            self.open_groups += 1;
            return Ok(());
        };
        if let Some(name) = flags.strip_prefix("P<") {
            let end = name.find('>').ok_or("the name of a group must be closed")?;
            if end == 0 || !name[..end].chars().all(|c| c.is_alphanumeric() || c == '_') {
                return Err(format!("the name of a group must be a word, got {}", &name[..end]));
            }
            // The name is dropped: the replacement text of RE2 refers to a group by its number only.
            self.rest = &name[end + 1..];
            self.open_groups += 1;
            return Ok(());
        }
        let end = flags.find([':', ')']).ok_or("a group must be closed")?;
        if !flags[..end].chars().all(|flag| "imsU-".contains(flag)) {
            return Err(format!("a group may have the flags i, m, s and U, got (?{}", &flags[..end]));
        }
        // The crate refuses a flag that is given twice. In RE2, the last one counts.
        let (mut set, mut cleared, mut is_cleared) = (String::new(), String::new(), false);
        for flag in flags[..end].chars() {
            if flag == '-' {
                if is_cleared {
                    return Err(format!("the flags of a group may have one -, got (?{}", &flags[..end]));
                }
                is_cleared = true;
                continue;
            }
            set.retain(|other| other != flag);
            cleared.retain(|other| other != flag);
            if is_cleared { &mut cleared } else { &mut set }.push(flag);
        }
        if flags[..end].ends_with('-') {
            return Err(format!("a flag must follow -, got (?{}", &flags[..end]));
        }
        let sign = if cleared.is_empty() { "" } else { "-" };
        match flags[end..].starts_with(')') && set.is_empty() && cleared.is_empty() {
            true => self.out.truncate(self.out.len() - 1),
            // Flags such as `(?i)` are written with their closing parenthesis. `read` would take this parenthesis for
            // an atom, which a repetition may follow.
            false => self.out.extend(["?", set.as_str(), sign, cleared.as_str(), &flags[end..=end]]),
        }
        self.open_groups += usize::from(flags[end..].starts_with(':'));
        self.rest = &flags[end + 1..];
        Ok(())
    }

    /// Translates what follows a backslash outside classes.
    fn escape(&mut self) -> Result<(), String> {
        let Some(escaped) = self.rest.chars().next() else { return Err("a trailing backslash".to_string()) };
        let after = &self.rest[escaped.len_utf8()..];
        let text = match escaped {
            'b' | 'B' => format!("(?-u:\\{escaped})"),
            'C' => "(?s-u:.)".to_string(),
            'A' | 'z' => format!("\\{escaped}"),
            'Q' => {
                let (literal, rest) = after.split_once("\\E").unwrap_or((after, ""));
                self.rest = rest;
                self.out.push_str(&regex::escape(literal));
                return Ok(());
            }
            'p' | 'P' => return self.property(escaped, after, false),
            _ => match ascii_class(escaped) {
                Some((inside, is_negated)) => format!("[{}{inside}]", if is_negated { "^" } else { "" }),
                None => {
                    let character = self.escaped_character()?;
                    self.push(character);
                    return Ok(());
                }
            },
        };
        self.out.push_str(&text);
        self.rest = after;
        Ok(())
    }

    /// Appends a character that stands for itself.
    fn push(&mut self, character: char) {
        self.out.push_str(&regex::escape(character.encode_utf8(&mut [0; 4])));
    }

    /// Takes what follows a backslash and stands for one character.
    fn escaped_character(&mut self) -> Result<char, String> {
        let Some(escaped) = self.rest.chars().next() else { return Err("a trailing backslash".to_string()) };
        let after = &self.rest[escaped.len_utf8()..];
        let character = match escaped {
            'a' => '\x07',
            'f' => '\x0c',
            't' => '\t',
            'n' => '\n',
            'r' => '\r',
            'v' => '\x0b',
            'x' => return self.hexadecimal(after),
            '0'..='7' => return self.octal(),
            _ if escaped.is_ascii_punctuation() => escaped,
            _ => return Err(format!("an unknown escape \\{escaped}")),
        };
        self.rest = after;
        Ok(character)
    }

    /// Translates `\pN`, `\p{Greek}` and their negations, in a class or outside. `after` follows the letter.
    fn property(&mut self, letter: char, after: &str, is_in_class: bool) -> Result<(), String> {
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
        let is_category = CATEGORIES.split(' ').any(|category| category == name);
        if !is_category && Script::from_full_name(name).is_none() {
            return Err(format!("a property must be a general category or a script, got {name}"));
        }
        // In RE2, category C lacks the characters that are not assigned, and has the surrogates.
        let inside = if name == "C" { r"\p{Cc}\p{Cf}\p{Co}".to_string() } else { format!("\\p{{{name}}}") };
        let _ = match (name, is_negated, is_in_class) {
            ("C", false, true) => return Err("a class with the category C is not supported".to_string()),
            ("C", false, false) => {
                write!(self.out, r"(?:[{inside}]|(?-u:\xED[\xA0-\xBF][\x80-\xBF]))")
            }
            (_, true, _) => write!(self.out, "[^{inside}]"),
            (_, false, _) => write!(self.out, "[{inside}]"),
        };
        self.rest = rest_of(self.rest, letter.len_utf8() + end);
        Ok(())
    }

    fn hexadecimal(&mut self, after: &str) -> Result<char, String> {
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

    /// Takes up to three octal digits, such as `0`, `07` or `123`. A single digit must be 0.
    fn octal(&mut self) -> Result<char, String> {
        let digits = self.rest.bytes().take(3).take_while(|byte| matches!(byte, b'0'..=b'7')).count();
        if digits < 2 && !self.rest.starts_with('0') {
            return Err(format!("a backreference \\{}", &self.rest[..digits]));
        }
        let code = u32::from_str_radix(&self.rest[..digits], 8).ok();
        self.code_point(code, digits)
    }

    fn code_point(&mut self, code: Option<u32>, taken: usize) -> Result<char, String> {
        let character = code.and_then(char::from_u32).ok_or("an escape is no character")?;
        self.rest = rest_of(self.rest, taken);
        Ok(character)
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
            if let Some(rest) = self.rest.strip_prefix(']').filter(|_| !is_first) {
                self.out.push(']');
                self.rest = rest;
                return Ok(());
            }
            is_first = false;
            if self.set_in_class()? {
                continue;
            }
            let low = self.class_character()?;
            self.push(low);
            let Some(rest) = self.rest.strip_prefix('-').filter(|rest| !rest.starts_with(']')) else {
                continue;
            };
            self.rest = rest;
            let high = self.class_character()?;
            if high < low {
                return Err(format!("a range must ascend, got {low}-{high}"));
            }
            self.out.push('-');
            self.push(high);
        }
    }

    /// Translates a set of characters in a class, such as `\d` or `[:alpha:]`. Returns whether there is one.
    fn set_in_class(&mut self) -> Result<bool, String> {
        if let Some(end) = self.rest.find(":]").filter(|_| self.rest.starts_with("[:")) {
            let name = self.rest[2..end].trim_start_matches('^');
            if !POSIX.split(' ').any(|other| other == name) {
                return Err(format!("an unknown class {}", &self.rest[..end + 2]));
            }
            self.out.push_str(&self.rest[..end + 2]);
            self.rest = &self.rest[end + 2..];
            return Ok(true);
        }
        let Some(after) = self.rest.strip_prefix('\\') else { return Ok(false) };
        let Some(escaped) = after.chars().next() else { return Ok(false) };
        if matches!(escaped, 'p' | 'P') {
            self.rest = after;
            return self.property(escaped, &after[1..], true).map(|()| true);
        }
        let Some((inside, is_negated)) = ascii_class(escaped) else { return Ok(false) };
        self.out.push_str(&if is_negated { format!("[^{inside}]") } else { inside.to_string() });
        self.rest = &after[1..];
        Ok(true)
    }

    /// Takes a character of a class.
    fn class_character(&mut self) -> Result<char, String> {
        let character = self.rest.chars().next().ok_or("a class must be closed")?;
        self.rest = &self.rest[character.len_utf8()..];
        if character == '\\' { self.escaped_character() } else { Ok(character) }
    }
}

/// Returns the ASCII characters of `\d`, `\s` or `\w` as the inside of a class, and whether the letter negates them.
fn ascii_class(letter: char) -> Option<(&'static str, bool)> {
    let inside = match letter.to_ascii_lowercase() {
        'd' => "0-9",
        's' => r"\t\n\x0C\r ",
        'w' => "0-9A-Za-z_",
        _ => return None,
    };
    Some((inside, letter.is_ascii_uppercase()))
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
            (r"\141\x41\x{e9}", "aAé"),
            (r"[+--a-b-\]]", r"[\+-\-a-b\-\]]"),
            (r"(?i)(?P<x>a)(?:b)", "(?i)(a)(?:b)"),
            (r"\p{^Greek}[\pL]", r"[^\p{Greek}][[\p{L}]]"),
            ("(?ii)(?)a(?is-i:b)", "(?i)a(?s-i:b)"),
        ] {
            assert_eq!(translate(pattern).unwrap(), expected);
        }
        for pattern in [
            "a**",
            "*a",
            "(?x)a",
            r"\8",
            "a{1001}",
            "[a",
            "a++",
            "|*",
            r"a\",
            "[b-a]",
            "[a--]",
            r"\p{Alphabetic}",
            "a)(b",
            "a)|(b",
            "((a)",
            "(?i:a",
            "(?-)a",
            "(?i-)a",
            "(?i--s)a",
        ] {
            translate(pattern).unwrap_err();
        }
    }
}
