//! The tensors that hold a ragged tensor among the named inputs and outputs of an executable.

use super::{RaggedItem, RowPartition, shape_error};
use crate::error::Result;
use crate::tensor::Tensor;

/// The end of the name of the flat values.
pub(crate) const FLAT_VALUES: &str = "/flat_values";

/// The middle of the name of row splits, before the number of the partition.
pub(crate) const ROW_SPLITS: &str = "/row_splits/";

/// The middle of the name of a uniform partition: a vector of the number of rows and the row length.
pub(crate) const UNIFORM_ROWS: &str = "/uniform_rows/";

/// Joins the first tensors, which are one output: a dense tensor, or the parts of a ragged one. Returns also the name
/// of the output and the number of tensors.
///
/// # Errors
/// There are no tensors, or the row splits are wrong.
pub(crate) fn join_parts(tensors: &[(String, Tensor)]) -> Result<(&str, RaggedItem, usize)> {
    let Some((first, flat)) = tensors.first() else {
        return Err(shape_error("there must be one more output, got none".to_string()));
    };
    let Some(name) = first.strip_suffix(FLAT_VALUES) else {
        return Ok((first, RaggedItem::Dense(flat.clone()), 1));
    };
    let mut encodings = Vec::new();
    for (part, tensor) in &tensors[1..] {
        let kind = part.strip_prefix(name).unwrap_or_default();
        let is_uniform = kind.starts_with(UNIFORM_ROWS);
        if !is_uniform && !kind.starts_with(ROW_SPLITS) {
            break;
        }
        encodings.push((is_uniform, tensor));
    }
    let mut nvals = flat.sizes().first().copied().unwrap_or(0);
    let mut partitions = Vec::new();
    for &(is_uniform, tensor) in encodings.iter().rev() {
        let partition = match is_uniform {
            true => {
                let numbers: Vec<usize> = tensor.numbers()?;
                let (rows, length) = (numbers[0], numbers[1]);
                if rows.checked_mul(length) != Some(nvals) {
                    return Err(shape_error(format!(
                        "{rows} rows of {length} values need {} values, got {nvals}",
                        rows.saturating_mul(length)
                    )));
                }
                RowPartition::uniform(length, rows, tensor.dtype())?
            }
            false => RowPartition::from_row_splits(tensor, nvals)?,
        };
        nvals = partition.nrows();
        partitions.insert(0, partition);
    }
    let count = 1 + partitions.len();
    Ok((name, RaggedItem::of(flat.clone(), partitions), count))
}

impl Tensor {
    /// Returns the elements, i32 or i64, as sizes.
    fn numbers(&self) -> Result<Vec<usize>> {
        let size = |number: i64| {
            usize::try_from(number)
                .map_err(|_| shape_error(format!("a size must not be negative, got {number}")))
        };
        super::encoding::with_ints!(self, |ints| ints
            .iter()
            .map(|&int| size(super::encoding::wide(int)))
            .collect())
    }
}
