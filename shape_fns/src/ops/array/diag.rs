//! `diag(diagonal)` places a tensor on the diagonal of a tensor of twice its rank; `diag_part(input)` extracts the
//! diagonal.

use crate::error::bail;
use crate::{InferenceContext, Result, ShapeError, TensorShape};

/// `[d0, …, dn] -> [d0, …, dn, d0, …, dn]`.
///
/// # Errors
/// The operand is a scalar.
pub fn diag(cx: &mut InferenceContext<'_>) -> Result<()> {
    let shape = cx.with_rank_at_least(0, 1)?;
    cx.set_output(0, shape.concatenate(&shape));
    Ok(())
}

/// `[d0, …, dn, d0, …, dn] -> [d0, …, dn]`: unifies the two halves of the axes.
///
/// # Errors
/// The rank is odd or 0, or the halves provably differ.
pub fn diag_part(cx: &mut InferenceContext<'_>) -> Result<()> {
    let shape = cx.input(0).clone();
    let Some(dims) = shape.dims() else { return Ok(()) };
    if dims.is_empty() || dims.len() % 2 != 0 {
        bail!("input must have an even rank of at least 2, got rank {} in {shape}", dims.len());
    }
    let (rows, columns) = dims.split_at(dims.len() / 2);
    let (rows, columns) = (TensorShape::from(rows), TensorShape::from(columns));
    let both = cx.merge_shapes(&rows, &columns).map_err(|_| {
        ShapeError::new(format_args!(
            "the first and the last half of the axes must agree, got {rows} and {columns} in {shape}"
        ))
        .operand(0)
    })?;
    cx.set_output(0, both);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{diag, diag_part};
    use crate::testing::shape_table;

    // `d0_1` is the unknown dimension at axis 1 of operand 0.
    shape_table! { diags: diag, ["diagonal"];
        {} "[n, ?]" => "[n, d0_1, n, d0_1]";
        {} "?" => "?";
        {} "[]" => "error diagonal must have rank at least 1";
    }
    shape_table! { diag_parts: diag_part, ["input"];
        {} "[n, ?, ?, 3]" => "[n, 3]";
        {} "?" => "?";
        {} "[2, 3]" => "error the first and the last half of the axes must agree, got [2] and [3] in [2, 3]";
        {} "[2, 3, 2]" => "error input must have an even rank of at least 2, got rank 3";
    }
}
