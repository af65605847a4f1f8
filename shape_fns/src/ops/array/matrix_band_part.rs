//! `matrix_band_part(input, num_lower, num_upper)`: matrices whose elements outside a band are zeroed.

use crate::{Dim, Guard, InferenceContext, Result};

/// Keeps the shape of `input`. Sets the derived parameter `band`: `num_lower` and `num_upper`.
///
/// # Errors
/// `input` has rank 0 or 1, `num_lower` or `num_upper` is not a scalar, `num_lower` provably exceeds the number of
/// rows, or `num_upper` provably exceeds the number of columns.
pub fn matrix_band_part(cx: &mut InferenceContext<'_>) -> Result<()> {
    let shape = cx.with_rank_at_least(0, 2)?;
    let mut band = Vec::with_capacity(2);
    let sizes: [Option<Dim>; 2] = match shape.dims() {
        Some([.., rows, columns]) => [Some(rows.clone()), Some(columns.clone())],
        _ => [None, None],
    };
    for (name, size) in ["num_lower", "num_upper"].into_iter().zip(sizes) {
        let given = cx.param_scalar(name)?;
        if let (Some(given), Some(size)) = (&given, size) {
            cx.require(Guard::Ge(size.clone(), given.clone())).map_err(|_| {
                cx.blame_param(name, format_args!("must be negative or at most {size}, got {given}"))
            })?;
        }
        band.push(given.unwrap_or_else(|| cx.fresh_integer()));
    }
    cx.set_derived("band", band);
    cx.set_output(0, shape);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::matrix_band_part;
    use crate::testing::shape_table;

    shape_table! { shapes: matrix_band_part, ["input", "num_lower", "num_upper"];
        {} "[n, ?, 3]; i32 []; ?" => "[n, d0_1, 3]";
        {} "[2, n]; [] = -3; [] = 4" => "[2, n] if n >= 4";
        {} "[2, n]; [] = 3; i32 []" => "error num_lower must be negative or at most 2, got 3";
        {} "[n]; i32 []; i32 []" => "error input must have rank at least 2";
        {} "[n, n]; i32 [1]; i32 []" => "error num_lower must be one integer, got rank 1";
    }
}
