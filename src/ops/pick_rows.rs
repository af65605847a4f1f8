//! Rows of a tensor by number, with a default row.

use shapeflow_shape_fns::DType;

use crate::error::Result;
use crate::tensor::{Tensor, TensorView};

/// Returns a tensor of these sizes: for each entry of `rows` the row of `values` with this number, or `default` for
/// `None`. A row has as many elements as `default`. Both operands are row-major.
///
/// # Errors
/// `Memory`: the allocation fails.
pub(crate) fn pick_rows(
    values: TensorView<'_>,
    default: TensorView<'_>,
    rows: &[Option<usize>],
    sizes: &[usize],
) -> Result<Tensor> {
    let width = default.len();
    if values.dtype() == DType::String {
        let (values, default) = (values.as_strings()?, default.as_strings()?);
        let mut strings: Vec<&[u8]> = Vec::with_capacity(rows.len() * width);
        for row in rows {
            strings.extend((0..width).map(|column| match row {
                Some(row) => values.at(row * width + column),
                None => default.at(column),
            }));
        }
        return Tensor::from_strings(sizes, &strings);
    }
    let mut picked = Tensor::allocate(values.dtype(), sizes)?;
    let (values, default) = (values.bytes(), default.bytes());
    let mut view = picked.view_mut()?;
    for (to, row) in view.bytes_mut().chunks_exact_mut(default.len().max(1)).zip(rows) {
        to.copy_from_slice(match row {
            Some(row) => &values[row * default.len()..(row + 1) * default.len()],
            None => default,
        });
    }
    Ok(picked)
}
