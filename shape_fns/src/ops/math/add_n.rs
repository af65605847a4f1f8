//! `add_n(inputs)`: the sum of any number of tensors of the same shape.

use super::arithmetic::fits_type;
use crate::error::bail;
use crate::{Attr, InferenceContext, PartialElements, Result};

/// Unifies the shapes of all operands, and attribute `shape` if it is given. Infers the elements of the result if all
/// operands are integer tensors whose elements are known at build time.
///
/// # Errors
/// There is no operand, or shapes provably differ.
pub fn add_n(cx: &mut InferenceContext<'_>) -> Result<()> {
    if cx.is_empty() {
        bail!("add_n must have at least one operand, got none");
    }
    let mut all = cx.input(0).clone();
    for index in 1..cx.len() {
        let shape = cx.input(index).clone();
        all = cx.merge_shapes(&all, &shape).map_err(|error| error.operand(index))?;
    }
    if let Some(Attr::Shape(shape)) = cx.attr("shape") {
        let shape = cx.table().import(shape);
        all = cx.merge_shapes(&all, &shape)?;
    }
    cx.set_output(0, all);
    if let Some(sum) = summed_elements(cx)? {
        cx.set_output_value(0, sum);
    }
    Ok(())
}

/// Returns the elements of the result if shape inference tracks the elements of all operands.
fn summed_elements(cx: &mut InferenceContext<'_>) -> Result<Option<PartialElements>> {
    let range = cx.input_dtype(0).filter(|dtype| dtype.is_integer()).and_then(|dtype| dtype.integer_range());
    let (Some(range), Some(first)) = (range, cx.input_value(0).cloned()) else { return Ok(None) };
    let mut sums = first.elements().to_vec();
    for index in 1..cx.len() {
        let Some(value) = cx.input_value(index).filter(|value| value.sizes() == first.sizes()) else {
            return Ok(None);
        };
        for (sum, element) in sums.iter_mut().zip(value.elements()) {
            match sum.checked_add(element) {
                Ok(added) => *sum = added,
                Err(_) => return Ok(None),
            }
        }
    }
    // A sum that does not fit the type wraps.
    if !sums.iter().all(|sum| fits_type(sum, range)) {
        return Ok(None);
    }
    PartialElements::with_sizes(first.sizes(), sums).map(Some)
}

#[cfg(test)]
mod tests {
    use super::add_n;
    use crate::shape;
    use crate::testing::shape_table;

    shape_table! { sums: add_n, ["inputs.."];
        {} "[1, ?]; ?; [?, 2]" => "[1, 2]";
        {} "?; [n]" => "[n]";
        {} "i32 [2] = [n, 1]; i32 [2] = [n, 3]; i32 [2] = [m, ?]" => "[2] = [m+2*n, v2_1+4]";
        {} "u8 [1] = [?]; u8 [1] = [?]" => "[1]";
        {shape: shape![?, 2]} "[5, ?]; [5, ?]" => "[5, 2]";
        {} "[1, 2]; ?; [1, 4]" => "error shapes must agree, got 2 and 4 at axis 1";
        {} "" => "error add_n must have at least one operand, got none";
    }
}
