//! `Operand`: a declared operand of an op; `OperandMask`: the declared operands that a call passes as values.

/// A declared operand of an op. The kind of the operand says what its elements mean to the compiler.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Operand {
    /// The body computes with the elements.
    Data(&'static str),
    /// The elements become dimensions or offsets: shape, begin, paddings, depth.
    Size(&'static str),
    /// The elements choose the loop nest: perm, axis.
    Structure(&'static str),
    /// A list: any number of data operands. A list is the last entry of a declaration. A declaration may end in several
    /// lists; they share their operands equally, and all operands of the first list come before the operands of the
    /// second list.
    Variadic(&'static str),
}

impl Operand {
    /// Returns the operand's name.
    pub const fn name(self) -> &'static str {
        match self {
            Operand::Data(name)
            | Operand::Size(name)
            | Operand::Structure(name)
            | Operand::Variadic(name) => name,
        }
    }

    /// Returns whether the compiler reads the elements, as it does for a size or structure operand.
    pub(crate) fn is_parameter(self) -> bool {
        matches!(self, Operand::Size(_) | Operand::Structure(_))
    }

    #[cfg(feature = "graphdef")]
    pub(crate) fn is_list(self) -> bool {
        matches!(self, Operand::Variadic(_))
    }
}

/// The declared operands that a call passes as values, as a set of indices into the declaration.
///
/// Every other declared operand is an attribute of the same name, or is omitted.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct OperandMask(u32);

impl OperandMask {
    /// Makes the set of every entry of a declaration of `count` entries.
    #[cfg(test)]
    pub fn all(count: usize) -> OperandMask {
        (0..count).collect()
    }

    pub fn contains(self, entry: usize) -> bool {
        entry < u32::BITS as usize && self.0 & (1 << entry) != 0
    }

    /// Returns the indices in the set, in order.
    #[cfg(any(test, feature = "graphdef"))]
    pub fn entries(self) -> impl Iterator<Item = usize> {
        (0..u32::BITS as usize).filter(move |entry| self.contains(*entry))
    }
}

impl FromIterator<usize> for OperandMask {
    /// Makes the set of these indices. Only an op without a declaration has indices past 31, and nothing asks whether
    /// the set holds them.
    fn from_iter<I: IntoIterator<Item = usize>>(entries: I) -> OperandMask {
        OperandMask(entries.into_iter().fold(0, |mask, entry| mask | 1 << entry.min(31)))
    }
}

/// Maps each of `operands` actual operands to its declared entry. An entry that is not a list takes one operand; lists
/// share the remainder equally.
#[cfg(any(test, feature = "graphdef"))]
pub(crate) fn spread(is_list: &[bool], operands: usize) -> impl Iterator<Item = usize> {
    let lists = is_list.iter().filter(|list| **list).count();
    let several = operands.saturating_sub(is_list.len() - lists) / lists.max(1);
    let width =
        move |(entry, list): (usize, &bool)| std::iter::repeat_n(entry, if *list { several } else { 1 });
    is_list.iter().enumerate().flat_map(width).take(operands)
}

/// Does the same as [`spread`] for declared names, where the name of a list ends in `..`.
#[cfg(feature = "graphdef")]
pub(crate) fn spread_names(names: &[&str], operands: usize) -> Vec<usize> {
    let lists: Vec<bool> = names.iter().map(|name| name.ends_with("..")).collect();
    spread(&lists, operands).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mask_holds_the_entries_it_was_made_of() {
        let mask: OperandMask = [0, 2, 31].into_iter().collect();
        assert_eq!(mask.entries().collect::<Vec<_>>(), [0, 2, 31]);
        assert!(mask.contains(2) && !mask.contains(1) && !mask.contains(64));
        assert_eq!(OperandMask::all(3).entries().collect::<Vec<_>>(), [0, 1, 2]);
    }

    #[test]
    fn lists_share_the_remainder_equally() {
        assert_eq!(spread(&[false, true, true], 5).collect::<Vec<_>>(), [0, 1, 1, 2, 2]);
        assert_eq!(spread(&[false, true], 1).collect::<Vec<_>>(), [0]);
    }
}
