//! `matrix_band_part(input, num_lower, num_upper)`: matrices whose elements outside a band are zeroed.

use crate::{InferenceContext, Result};

/// Keeps the shape of `input`.
///
/// # Errors
/// `num_lower` or `num_upper` is not a scalar.
pub fn matrix_band_part(cx: &mut InferenceContext<'_>) -> Result<()> {
    cx.scalars(&["num_lower", "num_upper"])?;
    let shape = cx.input(0).clone();
    cx.set_output(0, shape);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::matrix_band_part;
    use crate::testing::shape_table;

    shape_table! { shapes: matrix_band_part, ["input", "num_lower", "num_upper"];
        {} "[n, ?, 3]; i32 []; ?" => "[n, d0_1, 3]";
        {} "[n, n]; i32 [1]; i32 []" => "error num_lower must have rank 0";
    }
}
