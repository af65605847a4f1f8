//! `unique_name`: names of nodes and functions that TensorFlow accepts.

use std::collections::HashMap;

/// Returns a name that is not in `taken` and has only characters that TensorFlow accepts, and adds it to `taken`.
///
/// `taken` has the names in use, each with the first number that a further node of this name may get.
pub(super) fn unique_name(taken: &mut HashMap<String, u64>, name: &str) -> String {
    let is_accepted = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '/' | '-' | '\\');
    let mut clean: String = name.chars().map(|c| if is_accepted(c) { c } else { '_' }).collect();
    if !clean.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '.') {
        clean.insert_str(0, "n_");
    }
    let Some(&first) = taken.get(&clean) else {
        taken.insert(clean.clone(), 1);
        return clean;
    };
    let free = (first..).map(|number| (number, format!("{clean}_{number}")));
    let (number, other) = free
        .into_iter()
        .find(|(_, other)| !taken.contains_key(other))
        .expect("a graph has fewer than 2^64 names");
    taken.insert(clean, number + 1);
    taken.insert(other.clone(), 1);
    other
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_valid_in_tensorflow() {
        let mut taken = HashMap::new();
        assert_eq!(unique_name(&mut taken, "layer0/dense"), "layer0/dense");
        assert_eq!(unique_name(&mut taken, "layer0/dense"), "layer0/dense_1");
        assert_eq!(unique_name(&mut taken, "layer0/dense_1"), "layer0/dense_1_1");
        assert_eq!(unique_name(&mut taken, "layer0/dense"), "layer0/dense_2");
        assert_eq!(unique_name(&mut taken, "_größe"), "n__gr__e");
        assert_eq!(unique_name(&mut taken, ""), "n_");
    }
}
