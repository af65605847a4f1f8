//! [`with_wide_classes`]: lets classes of characters match the bytes that RE2 takes for characters.

use regex_syntax::hir::{Class, ClassBytes, ClassBytesRange, ClassUnicode, Hir, HirKind};

/// The bytes after the first byte of a character.
const CONTINUATION: (u8, u8) = (0x80, 0xbf);

/// Returns the pattern with classes as RE2 compiles them. For a class with all characters from U+0080 on, such as `.`
/// or `[^a]`, RE2 looks at the first byte only, and demands as many continuation bytes as this byte announces. So the
/// class also matches encoded surrogates, overlong forms and numbers above U+10FFFF. Any other class with the
/// characters around the surrogates also matches encoded surrogates.
pub(super) fn with_wide_classes(pattern: Hir) -> Hir {
    let each = |parts: Vec<Hir>| parts.into_iter().map(with_wide_classes).collect();
    match pattern.into_kind() {
        HirKind::Empty => Hir::empty(),
        HirKind::Literal(literal) => Hir::literal(literal.0),
        HirKind::Look(look) => Hir::look(look),
        HirKind::Class(Class::Unicode(class)) => wide_class(class),
        HirKind::Class(class) => Hir::class(class),
        HirKind::Repetition(mut repetition) => {
            repetition.sub = Box::new(with_wide_classes(*repetition.sub));
            Hir::repetition(repetition)
        }
        HirKind::Capture(mut capture) => {
            capture.sub = Box::new(with_wide_classes(*capture.sub));
            Hir::capture(capture)
        }
        HirKind::Concat(parts) => Hir::concat(each(parts)),
        HirKind::Alternation(parts) => Hir::alternation(each(parts)),
    }
}

fn wide_class(class: ClassUnicode) -> Hir {
    let holds = |low: char, high: char| class.iter().any(|range| range.start() <= low && range.end() >= high);
    if holds('\u{80}', '\u{10ffff}') {
        let ascii = class.iter().filter(|range| range.start().is_ascii());
        let ascii =
            ascii.map(|range| ClassBytesRange::new(range.start() as u8, range.end().min('\x7f') as u8));
        return Hir::alternation(vec![
            Hir::class(Class::Bytes(ClassBytes::new(ascii))),
            sequence(&[(0xc2, 0xdf), CONTINUATION]),
            sequence(&[(0xe0, 0xef), CONTINUATION, CONTINUATION]),
            sequence(&[(0xf0, 0xf4), CONTINUATION, CONTINUATION, CONTINUATION]),
        ]);
    }
    let has_surrogates = holds('\u{d7ff}', '\u{e000}');
    let class = Hir::class(Class::Unicode(class));
    match has_surrogates {
        true => Hir::alternation(vec![class, sequence(&[(0xed, 0xed), (0xa0, 0xbf), CONTINUATION])]),
        false => class,
    }
}

/// Returns the pattern of one byte of each range, in order.
fn sequence(ranges: &[(u8, u8)]) -> Hir {
    let byte = |&(low, high): &(u8, u8)| {
        Hir::class(Class::Bytes(ClassBytes::new([ClassBytesRange::new(low, high)])))
    };
    Hir::concat(ranges.iter().map(byte).collect())
}
