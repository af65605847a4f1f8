//! Rows of a tensor by number, with a default row.

use shapeflow_shape_fns::DType;

use crate::error::Result;
use crate::op::HostCx;
use crate::tensor::{StringsBuilder, TensorView};

/// Makes output `output`, of these sizes: for each entry of `rows` the row of `values` with this number, or `default`
/// for `None`. A row has as many elements as `default`. `values` and `default` are row-major.
///
/// # Errors
/// There is no such output, or memory is refused.
pub(crate) fn pick_rows(
    cx: &mut HostCx<'_>,
    output: usize,
    values: TensorView<'_>,
    default: TensorView<'_>,
    rows: &[Option<usize>],
    sizes: &[usize],
) -> Result<()> {
    let width = default.len();
    if values.dtype() == DType::String {
        let (values, default) = (values.as_strings()?, default.as_strings()?);
        let mut strings = StringsBuilder::with_capacity(rows.len() * width, 0)?;
        for row in rows {
            for column in 0..width {
                strings.push(row.map_or(default.at(column), |row| values.at(row * width + column)))?;
            }
        }
        return cx.set_output(output, strings.finish(sizes)?);
    }
    let (values, default) = (values.bytes(), default.bytes());
    let mut view = cx.unfilled_output(output, sizes)?;
    for (to, row) in view.bytes_mut().chunks_exact_mut(default.len().max(1)).zip(rows) {
        to.copy_from_slice(match row {
            Some(row) => &values[row * default.len()..(row + 1) * default.len()],
            None => default,
        });
    }
    Ok(())
}
