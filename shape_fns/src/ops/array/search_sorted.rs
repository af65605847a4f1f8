//! `search_sorted(sorted_inputs, values)`: finds the insertion positions of values in sorted rows.

use crate::{InferenceContext, Result, TensorShape};

/// `sorted_inputs[b, n], values[b, m] -> [b, m]`.
///
/// # Errors
/// An operand has the wrong rank, or the numbers of rows provably differ.
pub fn search_sorted(cx: &mut InferenceContext<'_>) -> Result<()> {
    let ([rows, _], [values_rows, values]) = (cx.axes::<2>(0)?, cx.axes::<2>(1)?);
    let rows = cx.agree("the numbers of rows of sorted_inputs and values", &rows, &values_rows)?;
    cx.set_output(0, TensorShape::new([rows, values]));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::search_sorted;
    use crate::testing::shape_table;

    shape_table! { shapes: search_sorted, ["sorted_inputs", "values"];
        {} "[?, n]; [b, m]" => "[b, m]";
        {} "[2, n]; [3, m]" => "error the numbers of rows of sorted_inputs and values must agree, got 2 and 3";
    }
}
