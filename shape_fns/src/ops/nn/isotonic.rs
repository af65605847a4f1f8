//! `isotonic_regression(input)`: the nearest rows that do not ascend, and the numbers of their runs.

use crate::{InferenceContext, Result};

/// Both outputs have the shape of the operand.
///
/// # Errors
/// None.
pub fn isotonic_regression(cx: &mut InferenceContext<'_>) -> Result<()> {
    let shape = cx.input(0).clone();
    cx.set_output(0, shape.clone());
    cx.set_output(1, shape);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::isotonic_regression;
    use crate::testing::shape_table;

    shape_table! { shapes: isotonic_regression, ["input"];
        {} "[n, ?, 3]" => "[n, d0_1, 3]; [n, d0_1, 3]";
        {} "?" => "?; ?";
    }
}
