//! The tensors that hold a ragged tensor among the named inputs and outputs of an executable.

use shapeflow_shape_fns::counted;

use super::{RaggedItem, RowPartition, shape_error};
use crate::error::Result;
use crate::tensor::Tensor;

/// The end of the name of the flat values.
pub(crate) const FLAT_VALUES: &str = "/flat_values";

/// The middle of the name of row splits, before the number of the partition.
pub(crate) const ROW_SPLITS: &str = "/row_splits/";

/// The middle of the name of a uniform partition: a vector of the number of rows and the row length.
pub(crate) const UNIFORM_ROWS: &str = "/uniform_rows/";

/// Returns the name of the ragged input or output whose part has this name; a name that is not of a part itself.
pub(crate) fn ragged_name(name: &str) -> &str {
    if let Some(ragged) = name.strip_suffix(FLAT_VALUES) {
        return ragged;
    }
    let numbered = |middle: &str| {
        let (ragged, number) = name.rsplit_once(middle)?;
        number.parse::<usize>().is_ok().then_some(ragged)
    };
    numbered(ROW_SPLITS).or_else(|| numbered(UNIFORM_ROWS)).unwrap_or(name)
}

/// Returns the name of a ragged input and the number of its partition, if `name` is the name of its row splits.
pub(crate) fn row_splits_of(name: &str) -> Option<(&str, usize)> {
    let (ragged, number) = name.rsplit_once(ROW_SPLITS)?;
    Some((ragged, number.parse().ok()?))
}

/// Joins the first tensors, which are one output: a dense tensor, or the parts of a ragged one. Returns also the name
/// of the output and the number of tensors. Flat values without a partition are a dense output of a program that
/// chose this name.
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
        let is_next = |middle: &str| kind.strip_prefix(middle) == Some(encodings.len().to_string().as_str());
        let is_uniform = is_next(UNIFORM_ROWS);
        if !is_uniform && !is_next(ROW_SPLITS) {
            break;
        }
        encodings.push((is_uniform, tensor));
    }
    if encodings.is_empty() {
        return Ok((first, RaggedItem::Dense(flat.clone()), 1));
    }
    let mut nvals = flat.sizes().first().copied().unwrap_or(0);
    let mut partitions = Vec::new();
    for &(is_uniform, tensor) in encodings.iter().rev() {
        let partition = match is_uniform {
            true => {
                let &[rows, length] = &tensor.numbers()?[..] else {
                    let sizes = tensor.sizes();
                    return Err(shape_error(format!("uniform rows must be 2 numbers, got sizes {sizes:?}")));
                };
                if rows.checked_mul(length) != Some(nvals) {
                    return Err(shape_error(format!(
                        "there must be {} for {rows} of {length}, got {nvals}",
                        counted(rows.saturating_mul(length), "value"),
                        rows = counted(rows, "row"),
                        length = counted(length, "value")
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
    /// Returns the elements of a vector of i32 or i64 as sizes.
    fn numbers(&self) -> Result<Vec<usize>> {
        super::encoding::check_vector("uniform rows", &self.view())?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dense_outputs_may_have_names_of_parts() {
        let joined = |tensors: &[(&str, Tensor)]| {
            let tensors: Vec<_> =
                tensors.iter().map(|(name, tensor)| (name.to_string(), tensor.clone())).collect();
            join_parts(&tensors).map(|(name, item, count)| (name.to_string(), item, count))
        };
        let (flat, rows) = (Tensor::from([1, 2]), Tensor::from([0i64, 2]));
        let dense = ("x/flat_values".to_string(), RaggedItem::Dense(flat.clone()), 1);
        assert_eq!(joined(&[("x/flat_values", flat.clone())]).unwrap(), dense);
        assert_eq!(
            joined(&[("x/flat_values", flat.clone()), ("x/row_splits/1", rows.clone())]).unwrap(),
            dense
        );
        let ragged = joined(&[("x/flat_values", flat.clone()), ("x/row_splits/0", rows)]).unwrap();
        assert_eq!((ragged.0.as_str(), ragged.1.to_string().as_str(), ragged.2), ("x", "[[1, 2]]", 2));
        let short = joined(&[("x/flat_values", flat), ("x/uniform_rows/0", Tensor::from([1i64]))]);
        assert_eq!(short.unwrap_err().message(), "uniform rows must be 2 numbers, got sizes [1]");
    }
}
