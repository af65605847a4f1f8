//! `concat_offset(concat_dim, shape..)`: the offset of each operand in a concatenation.

use crate::{Dim, InferenceContext, PartialElements, Result, normalize_axis};

/// Output `i` is a vector as long as the `i`-th `shape` operand. Its elements are 0, except element `concat_dim`, which
/// is the sum of the sizes of the preceding shapes along this axis.
///
/// # Errors
/// `concat_dim` is not a scalar or is outside the rank, a shape is not a vector, or the shapes
/// provably differ at another axis.
pub fn concat_offset(cx: &mut InferenceContext<'_>) -> Result<()> {
    let axis = cx.param_scalar("concat_dim")?.and_then(|axis| axis.as_known());
    let mut offset = Some(Dim::known(0));
    let mut first: Option<PartialElements> = None;
    for (output, index) in cx.operands_named("shape").enumerate() {
        // `with_rank` alone would replace an unranked operand by a vector of a new unknown length.
        let shape = cx.with_rank_at_most(index, 1)?;
        if shape.rank() == Some(0) {
            cx.with_rank(index, 1)?;
        }
        cx.set_output(output, shape);
        let (Some(axis), Some(value)) = (axis, cx.input_value(index).cloned()) else {
            offset = None;
            continue;
        };
        let axis = normalize_axis(axis, value.len())?;
        let common = first.get_or_insert_with(|| value.clone());
        let mut pairs = common.elements().iter().zip(value.elements()).enumerate();
        let differs = pairs.any(|(position, (a, b))| position != axis && a.same(b) == Some(false));
        if differs || common.len() != value.len() {
            let message = format_args!(
                "must agree with the first shape except at axis {axis}, got {value} and {common}"
            );
            return Err(cx.blame(index, message));
        }
        let Some(before) = offset.take() else { continue };
        let elements =
            (0..value.len()).map(|index| if index == axis { before.clone() } else { Dim::known(0) });
        cx.set_output_value(output, PartialElements::vector(elements));
        if let Some(size) = value.get(axis) {
            offset = Some(cx.add(&before, size)?);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::concat_offset;
    use crate::testing::shape_table;

    shape_table! { offsets: concat_offset, ["concat_dim", "shape.."];
        {} "[] = 1; [2] = [4, n]; [2] = [4, 3]; [2] = [4, 5]" => "[2] = [0, 0]; [2] = [0, n]; [2] = [0, n+3]";
        {} "[] = 0; i32 [2]; [2] = [4, 3]" => "[2]; [2]";
        {} "i32 []; ?; i32 [?]" => "?; [d2_0]";
        {} "[] = 2; [2] = [4, n]" => "error axis must be in [-2, 2), got 2";
        {} "[] = -1; [2] = [3, n]; [2] = [4, 5]" => "error operand 2 must agree with the first shape except at axis 1, got [4, 5] and [3, n]";
        {} "[] = 0; [2] = [3, n]; [1] = [4]" => "error operand 2 must agree with the first shape except at axis 0";
        {} "[] = 0; i32 []" => "error operand 1 must have rank 1";
    }
}
