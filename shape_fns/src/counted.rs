//! [`counted`]: a count with its noun, for messages.

use std::fmt::Display;

/// Returns a count with its noun, which is in the singular after 1: `1 axis`, `2 axes`, `n+1 axes`.
///
/// ```
/// use shapeflow_shape_fns::counted;
///
/// assert_eq!(counted(1, "entry"), "1 entry");
/// assert_eq!(counted(0, "element"), "0 elements");
/// ```
#[doc(hidden)]
pub fn counted(count: impl Display, noun: &str) -> String {
    let count = count.to_string();
    if count == "1" {
        return format!("{count} {noun}");
    }
    let before = |ending| noun.strip_suffix(ending);
    if let Some(stem) = before("axis") {
        format!("{count} {stem}axes")
    } else if let Some(stem) = before("index") {
        format!("{count} {stem}indices")
    } else if noun.ends_with(['s', 'x']) {
        format!("{count} {noun}es")
    } else if let Some(stem) = before("y").filter(|stem| !stem.ends_with(['a', 'e', 'o', 'u'])) {
        format!("{count} {stem}ies")
    } else {
        format!("{count} {noun}s")
    }
}

#[cfg(test)]
mod tests {
    use super::counted;
    use crate::Dim;

    #[test]
    fn a_noun_is_in_the_singular_after_1_only() {
        assert_eq!((counted(2, "key"), counted(2, "entry")), ("2 keys".to_string(), "2 entries".to_string()));
        assert_eq!(counted(1, "ragged axis"), "1 ragged axis");
        assert_eq!(counted(2, "ragged axis"), "2 ragged axes");
        assert_eq!(counted(0, "index"), "0 indices");
        assert_eq!(counted(11, "box"), "11 boxes");
        assert_eq!(counted(2, "class"), "2 classes");
        assert_eq!(counted(-1, "entry"), "-1 entries");
        assert_eq!(counted(Dim::symbol("n"), "element"), "n elements");
        assert_eq!(counted(Dim::known(1), "element"), "1 element");
    }
}
