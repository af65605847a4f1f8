//! Strings joined: of several tensors, along axes, into a text.

use crate::{InferenceContext, Result, TensorShape};

/// The shape that all operands have which are no scalars.
///
/// # Errors
/// Two of these provably differ.
pub fn string_join(cx: &mut InferenceContext<'_>) -> Result<()> {
    let (mut all, mut unranked) = (TensorShape::scalar(), false);
    for index in 0..cx.len() {
        let shape = cx.input(index).clone();
        unranked |= shape.rank().is_none();
        if shape.rank().is_some_and(|rank| rank > 0) {
            let one = all.rank() == Some(0);
            all = if one {
                shape
            } else {
                cx.merge_shapes(&all, &shape).map_err(|error| error.operand(index))?
            };
        }
    }
    // An operand of unknown rank may be no scalar.
    let open = unranked && all.rank() == Some(0);
    cx.set_output(0, if open { TensorShape::unranked() } else { all });
    Ok(())
}

/// The strings along `reduction_indices` joined: these axes are dropped, or kept with size 1 where attribute `keep_dims`
/// is set. An axis may be named twice.
///
/// # Errors
/// An axis is outside the rank.
pub fn reduce_join(cx: &mut InferenceContext<'_>) -> Result<()> {
    let input = cx.input(0).clone();
    let output = crate::sparse::without_axes(cx, &input, "reduction_indices")?;
    cx.set_output(0, output);
    Ok(())
}

/// A scalar: one text made of all operands.
///
/// # Errors
/// None.
pub fn string_format(cx: &mut InferenceContext<'_>) -> Result<()> {
    cx.set_output(0, TensorShape::scalar());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{reduce_join, string_format, string_join};
    use crate::testing::shape_table;

    shape_table! { joined: string_join, ["inputs.."];
        {} "string []; string []" => "[]";
        {} "string []; ?; string []" => "?";
        {} "string [1, ?]; ?; string [?, 2]" => "[1, 2]";
        {} "string [n]; string []" => "[n]";
        {} "string [1, 2]; string []; string [?, 3]" => "error shapes must agree, got 2 and 3 at axis 1";
    }
    shape_table! { along: reduce_join, ["inputs", "reduction_indices"];
        {} "string [5, n]; i32 [2] = [0, 0]" => "[n]";
        {keep_dims: true} "string [5, n]; i32 [?]" => "[?, ?]";
        {} "string [5]; i32 [1] = [1]" => "error reduction_indices must be in [-1, 1), got 1";
    }
    shape_table! { text: string_format, ["inputs.."];
        {} "[5, 2]; ?" => "[]";
    }
}
