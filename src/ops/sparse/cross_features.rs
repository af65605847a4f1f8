//! [`CrossFeature`]: a feature of the ops that cross features, with the values of each row.

use std::ops::Range;

use shapeflow_shape_fns::{Attrs, DType, counted};

use super::operand::refuse;
use crate::dtype;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::ops::fingerprint::{fingerprint64, strong_hash};
use crate::ops::row_major::RowMajor;
use crate::tensor::{TensorView, collected_vec, reserved_vec};

/// How the hashes of values become the hash of a combination.
#[derive(Clone, Copy)]
pub(super) enum Hashing {
    /// The hash joins `start` and the hashes of all values. The hash of an integer is its bits.
    Joined { start: u64 },
    /// The hash joins the hashes of all values. A sparse integer is hashed too. With a key, the hash is the strong one.
    Keyed { key: Option<[u64; 2]> },
}

/// A feature: the values of all rows, one row after the other.
pub(super) struct CrossFeature<'a> {
    values: TensorView<'a>,
    is_sparse: bool,
    /// `starts[row]` is the position of the first value of a row. The last entry is the number of values.
    starts: Vec<usize>,
}

impl CrossFeature<'_> {
    /// Returns the positions of the values of a row.
    pub(super) fn row(&self, row: usize) -> Range<usize> {
        self.starts[row]..self.starts[row + 1]
    }

    /// Returns the hash of a value. The hash of an integer is its bits, except of a sparse integer with
    /// [`Hashing::Keyed`].
    pub(super) fn hash(&self, position: usize, hashing: Hashing) -> Result<u64> {
        let key = if let Hashing::Keyed { key } = hashing { key } else { None };
        let of_bytes =
            |bytes: &[u8]| key.map_or_else(|| Ok(fingerprint64(bytes)), |key| strong_hash(key, bytes));
        if self.values.dtype() == DType::String {
            return of_bytes(self.values.as_strings()?.at(position));
        }
        let value = self.values.as_slice::<i64>()?[position];
        match hashing {
            // TensorFlow hashes the first 4 of the 8 bytes.
            Hashing::Keyed { .. } if self.is_sparse => of_bytes(&value.to_le_bytes()[..4]),
            _ => Ok(value.cast_unsigned()),
        }
    }

    /// Appends a value as text.
    pub(super) fn append(&self, position: usize, text: &mut Vec<u8>) -> Result<()> {
        match self.values.dtype() {
            DType::String => text.extend_from_slice(self.values.as_strings()?.at(position)),
            _ => text.extend_from_slice(self.values.as_slice::<i64>()?[position].to_string().as_bytes()),
        }
        Ok(())
    }
}

/// Returns the number of sparse features of a call with `operands` operands.
///
/// # Errors
/// There are too few operands.
pub(super) fn sparse_features(attrs: &Attrs, operands: usize) -> Result<usize> {
    let count = attrs.int("N");
    match usize::try_from(count).ok().filter(|count| count.saturating_mul(3) <= operands) {
        Some(count) => Ok(count),
        None => dtype::refuse(format!(
            "there must be 3 operands for each of {}, got {operands}",
            counted(count, "sparse feature")
        )),
    }
}

/// Returns the features that the operands hold, and the number of their rows. The first `count` features are sparse.
///
/// # Errors
/// A feature is not a matrix, the numbers of rows differ, a sparse feature is not in order, or memory is refused.
pub(super) fn features_of<'a>(
    inputs: &'a [RowMajor<'_>],
    count: usize,
) -> Result<(Vec<CrossFeature<'a>>, usize)> {
    let mut features = Vec::with_capacity(inputs.len() - 2 * count);
    let mut rows = None;
    let mut checked_rows = |sizes: &[i64]| {
        let own = row_count(sizes)?;
        let first = *rows.get_or_insert(own);
        match first == own {
            true => Ok(own),
            false => refuse(format!("all features must have the same number of rows, got {first} and {own}")),
        }
    };
    for number in 0..count {
        let (indices, values) = (inputs[number].view(), inputs[count + number].view());
        let rows = checked_rows(inputs[2 * count + number].view().as_slice::<i64>()?)?;
        let starts = starts_of(number, &indices, values.len(), rows)?;
        features.push(CrossFeature { values, is_sparse: true, starts });
    }
    for input in &inputs[3 * count..] {
        let values = input.view();
        let sizes: Vec<i64> = values.sizes().iter().map(|size| *size as i64).collect();
        let rows = checked_rows(&sizes)?;
        let columns = values.sizes()[1];
        let starts = collected_vec((0..rows + 1).map(|row| row * columns))?;
        features.push(CrossFeature { values, is_sparse: false, starts });
    }
    Ok((features, rows.unwrap_or(0)))
}

/// Returns the number of rows of a feature with these sizes.
///
/// # Errors
/// The feature is not a matrix.
pub(crate) fn row_count(sizes: &[i64]) -> Result<usize> {
    match sizes {
        [rows, _] if *rows >= 0 => Ok(rows.unsigned_abs() as usize),
        _ => refuse(format!("a feature must be a matrix, got sizes {sizes:?}")),
    }
}

/// Returns the starts of the rows of a sparse feature, see [`CrossFeature`]. Operand `operand` has its indices.
///
/// # Errors
/// The row numbers `indices[.., 0]` decrease or lie outside the matrix, the operands do not fit each other, or memory
/// is refused.
pub(crate) fn starts_of(
    operand: usize,
    indices: &TensorView<'_>,
    values: usize,
    rows: usize,
) -> Result<Vec<usize>> {
    let [count, 2] = *indices.sizes() else {
        return refuse(format!("indices must have sizes [n, 2], got {:?}", indices.sizes()));
    };
    if count != values {
        return refuse(format!(
            "there must be {count}, one for each index, got {values}",
            count = counted(count, "value")
        ));
    }
    let elements = indices.as_slice::<i64>()?;
    let mut starts = reserved_vec(rows.saturating_add(1))?;
    starts.push(0);
    for (number, index) in elements.chunks_exact(2).enumerate() {
        let row = usize::try_from(index[0]).ok().filter(|row| *row < rows && row + 1 >= starts.len());
        let Some(row) = row else {
            let message = format!(
                "the row numbers indices[.., 0] must not decrease and must lie in [0, {rows}), got {}",
                index[0]
            );
            let error = Error::new(ErrorKind::Index, Phase::Run, message);
            return Err(error.in_element(operand, &format!(" at [{number}, 0]")));
        };
        starts.resize(row + 1, number);
    }
    starts.resize(rows + 1, count);
    Ok(starts)
}
