//! `search_sorted(sorted_inputs, values)`: where values belong in sorted rows.

use crate::{InferenceContext, Result, TensorShape};

/// `sorted_inputs[b, n], values[b, m] -> [b, m]`.
///
/// # Errors
/// An operand has another rank, or the numbers of rows provably differ.
pub fn search_sorted(cx: &mut InferenceContext<'_>) -> Result<()> {
    let ([rows, _], [others, values]) = (cx.axes::<2>(0)?, cx.axes::<2>(1)?);
    let rows = cx.agree("the rows of sorted_inputs and values", &others, &rows)?;
    cx.set_output(0, TensorShape::new([rows, values]));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::search_sorted;
    use crate::testing::shape_table;

    shape_table! { shapes: search_sorted, ["sorted_inputs", "values"];
        {} "[?, n]; [b, m]" => "[b, m]";
        {} "[2, n]; [3, m]" => "error the rows of sorted_inputs and values must agree, got 3 and 2";
    }
}
