//! `KeyTable`: the number of each key of a table.

use rustc_hash::FxHashMap;
use shapeflow_shape_fns::DType;

use super::row_major::RowMajor;
use crate::error::Result;
#[cfg(any(feature = "strings", feature = "graphdef"))]
use crate::error::{Error, ErrorKind, Phase};
use crate::tensor::{TensorView, size_of_element};

/// The number of each key: its position among the keys of the table. Of equal keys, the last counts.
pub(crate) enum KeyTable {
    Strings(FxHashMap<Box<[u8]>, usize>),
    /// Keys of at most eight bytes, as their bits.
    Bits(FxHashMap<u64, usize>),
}

impl KeyTable {
    /// Numbers `keys`, strings or elements of at most eight bytes, in row-major order.
    ///
    /// # Errors
    /// `Memory`: the allocation for a copy of strided keys fails.
    pub(crate) fn new(keys: TensorView<'_>) -> Result<KeyTable> {
        if keys.dtype() == DType::String {
            let keys = keys.as_strings()?;
            let numbered = keys.iter().enumerate().map(|(number, key)| (key.into(), number));
            return Ok(KeyTable::Strings(numbered.collect()));
        }
        let keys = RowMajor::new(keys)?;
        let numbered = elements(keys.view())?.enumerate().map(|(number, key)| (bits(key), number));
        Ok(KeyTable::Bits(numbered.collect()))
    }

    /// Returns the number of different keys.
    pub(crate) fn len(&self) -> usize {
        match self {
            KeyTable::Strings(numbers) => numbers.len(),
            KeyTable::Bits(numbers) => numbers.len(),
        }
    }

    /// Returns the number of each element of `x` in row-major order; `None` for an element that is not a key. `x` has
    /// the dtype of the keys.
    ///
    /// # Errors
    /// `DType`: the keys are strings and `x` is not. `Memory`: the allocation for a copy of strided elements fails.
    pub(crate) fn find(&self, x: TensorView<'_>) -> Result<Vec<Option<usize>>> {
        match self {
            KeyTable::Strings(numbers) => {
                Ok(x.as_strings()?.iter().map(|key| numbers.get(key).copied()).collect())
            }
            KeyTable::Bits(numbers) => {
                let x = RowMajor::new(x)?;
                Ok(elements(x.view())?.map(|key| numbers.get(&bits(key)).copied()).collect())
            }
        }
    }

    /// Checks that equal keys have equal values. `keys` are the keys of the table, and `values` has one element for
    /// each key.
    ///
    /// # Errors
    /// Two equal keys have different values.
    #[cfg(any(feature = "strings", feature = "graphdef"))]
    pub(crate) fn check_repeated(&self, keys: TensorView<'_>, values: &TensorView<'_>) -> Result<()> {
        let value = |number: usize| values.element(number);
        for (number, last) in self.find(keys.clone())?.into_iter().enumerate() {
            let last = last.expect("every key is in its table");
            if value(number) != value(last) {
                let message = format!(
                    "a key must have one value, got two for the key {}, number {number} and {last}",
                    keys.element_text(number)
                );
                return Err(Error::new(ErrorKind::Data, Phase::Run, message));
            }
        }
        Ok(())
    }
}

/// Returns the bytes of each element of a row-major tensor.
fn elements(view: TensorView<'_>) -> Result<impl Iterator<Item = &[u8]>> {
    Ok(view.bytes().chunks_exact(size_of_element(view.dtype())?))
}

/// Returns the bytes of an element, at most eight, as an integer.
fn bits(element: &[u8]) -> u64 {
    element.iter().rev().fold(0, |bits, byte| bits << 8 | u64::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::tensor;
    use crate::tensor::Tensor;

    #[test]
    fn the_last_of_equal_keys_counts() {
        let numbers = tensor(&[4], &[7i16, -1, 7, i16::MIN]);
        let table = KeyTable::new(numbers.view()).unwrap();
        assert_eq!(
            (table.len(), table.find(numbers.view()).unwrap()),
            (3, vec![Some(2), Some(1), Some(2), Some(3)])
        );
        let strings = Tensor::from_strings(&[2], &["", "\0"]).unwrap();
        let table = KeyTable::new(strings.view()).unwrap();
        let found = table.find(Tensor::from_strings(&[3], &["\0", "x", ""]).unwrap().view()).unwrap();
        assert_eq!((table.len(), found), (2, vec![Some(1), None, Some(0)]));
    }

    #[test]
    fn strided_keys_are_read_in_their_order() {
        let keys = TensorView::with_strides(&[3], &[-2], &[1i64, 2, 3, 4, 5], 4).unwrap();
        let found = KeyTable::new(keys).unwrap().find(tensor(&[4], &[1i64, 2, 3, 5]).view()).unwrap();
        assert_eq!(found, [Some(2), None, Some(1), Some(0)]);
    }
}
