//! `concat_offset(concat_dim, shape..)`: where every member of a concatenation begins.

use crate::{Dim, InferenceContext, PartialElements, Result, normalize_axis};

/// Output `i` is shaped as operand `shape` `i`: zeros, but along the axis the sum of the sizes before it.
///
/// # Errors
/// `concat_dim` is no scalar or outside the shapes, or a shape is no vector.
pub fn concat_offset(cx: &mut InferenceContext<'_>) -> Result<()> {
    let axis = cx.param_scalar("concat_dim")?.and_then(|axis| axis.as_known());
    let mut offset = Some(Dim::known(0));
    for (output, index) in cx.operands_named("shape").enumerate() {
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
        let Some(before) = offset.take() else { continue };
        let elements = (0..value.len()).map(|at| if at == axis { before.clone() } else { Dim::known(0) });
        cx.set_output_value(output, PartialElements::vector(elements));
        if let Some(own) = value.get(axis) {
            offset = Some(cx.add(&before, own)?);
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
        {} "[] = 0; i32 []" => "error operand 1 must have rank 1";
    }
}
