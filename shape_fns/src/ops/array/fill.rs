//! `fill(dims, value)`: a tensor of the given sizes whose elements all equal the scalar `value`.

use crate::{Dim, InferenceContext, PartialElements, Result};

/// Sets the output's sizes to the elements of `dims`. Symbolic elements become symbolic dimensions.
///
/// # Errors
/// A size is negative, or `value` is not a scalar.
pub fn fill(cx: &mut InferenceContext<'_>) -> Result<()> {
    let value = cx.operand("value");
    cx.scalars(&["value"])?;
    let output = cx.input_as_shape("dims")?;
    let element = value.and_then(|value| cx.input_value(value)?.get(0).cloned());
    if let (Some(element), Some(sizes)) = (element, output.as_known()) {
        let count = sizes.iter().try_fold(1usize, |count, size| count.checked_mul(*size));
        if let Some(count) = count.filter(|count| *count <= PartialElements::MAX) {
            let elements: Vec<Dim> = vec![element; count];
            cx.set_output_value(0, PartialElements::with_sizes(&sizes, elements)?);
        }
    }
    cx.set_output(0, output);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::fill;
    use crate::shape;
    use crate::testing::shape_table;

    shape_table! { shapes: fill, ["dims", "value"];
        {dims: shape!["n", 3]} "[]" => "[n, 3]";
        {} "[2] = [2, ?]; []" => "[2, v0_1] if v0_1 >= 0";
        {} "i32 [3]; []" => "[?, ?, ?]";
        {} "i32 [?]; []" => "?";
        {dims: [2]} "i32 [] = n" => "[2] = [n, n]";
        {dims: []} "i32 [] = 7" => "[] = 7";
        {} "i32 [1000000000000]; []" => "?";
        {dims: [-1]} "[]" => "error dims must not be negative, got -1";
        {dims: [1]} "[2]" => "error value must have rank 0, got rank 1 in [2]";
        {} "i32 [2, 2]; []" => "error dims must be a vector, got rank 2";
    }
}
