//! [`nearest`]: proposes an existing name for a misspelled one.

/// Maximum length of a name that is compared letter by letter, because the time is quadratic in the length.
const LONGEST: usize = 128;

/// Minimum length of a part of a name that another name may contain. Too many names contain fewer letters.
const SHORTEST: usize = 3;

/// Returns `; is it hidden/Relu?` with the name nearest to `wanted`, or an empty text if none is near.
pub(crate) fn did_you_mean<'n>(wanted: &str, names: impl Iterator<Item = &'n str>) -> String {
    nearest(wanted, names).map_or_else(String::new, |name| format!("; is it {name}?"))
}

/// Returns `; is it hidden/Relu?` with the name nearest to `wanted`. If none is near, returns `; try x, y` with at most
/// five of the names `some`, or an empty text if there are none.
pub(crate) fn did_you_mean_or_try<'n>(
    wanted: &str,
    names: impl Iterator<Item = &'n str>,
    some: impl Iterator<Item = &'n str>,
) -> String {
    let near = did_you_mean(wanted, names);
    if near.is_empty() { try_some(some) } else { near }
}

/// Returns `; try x, y` with at most five of the names, or an empty text if there are none.
pub(crate) fn try_some<'n>(names: impl Iterator<Item = &'n str>) -> String {
    let names: Vec<&str> = names.take(5).collect();
    if names.is_empty() { String::new() } else { format!("; try {}", names.join(", ")) }
}

/// Returns the name nearest to `wanted`; `None` if no name is near.
///
/// A name is near if it differs from `wanted` in at most a third of the letters, or contains the last part of `wanted`
/// (the part after the last `/`), if this part has at least [`SHORTEST`] letters. Upper and lower case are equal.
pub(crate) fn nearest<'n>(wanted: &str, names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    let wanted = wanted.to_lowercase();
    let last = wanted.rsplit('/').next().filter(|last| last.chars().count() >= SHORTEST);
    let letters = wanted.chars().count();
    let max_distance = if letters < 2 { 0 } else { (letters / 3).max(1) };
    let mut nearest: Option<(usize, &'n str)> = None;
    for name in names {
        let lower = name.to_lowercase();
        let mut apart = distance(&wanted, &lower, max_distance);
        if apart.is_none() && last.is_some_and(|last| lower.contains(last)) {
            // The distance of two names that are compared letter by letter is always less.
            apart = Some(LONGEST + lower.len());
        }
        if let Some(apart) = apart
            && nearest.is_none_or(|(least, _)| apart < least)
        {
            nearest = Some((apart, name));
        }
    }
    nearest.map(|(_, name)| name)
}

/// Returns the Levenshtein distance of two names; `None` if it is more than `max_distance`.
fn distance(a: &str, b: &str, max_distance: usize) -> Option<usize> {
    let (a_len, b_len) = (a.chars().count(), b.chars().count());
    if a_len.abs_diff(b_len) > max_distance || a_len.max(b_len) > LONGEST {
        return None;
    }
    Some(strsim::levenshtein(a, b)).filter(|apart| *apart <= max_distance)
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn the_nearest_name_is_proposed() {
        let names = ["x", "hidden/MatMul", "hidden/Relu", "class"];
        let near = |wanted| nearest(wanted, names.into_iter());
        assert_eq!(near("hiden/relu"), Some("hidden/Relu"));
        assert_eq!(near("clas"), Some("class"));
        assert_eq!(near("matmul"), Some("hidden/MatMul"));
        assert_eq!(near("output/Relu"), Some("hidden/Relu"));
        assert_eq!(near("nothing"), None);
        assert_eq!(near("a"), None);
        assert_eq!(near("ss"), None);
        assert_eq!(near("ass"), Some("class"));
        assert_eq!(near(""), None);
    }
}
