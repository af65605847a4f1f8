//! Ops that transform each string separately.

use crate::{InferenceContext, Result};

/// Keeps the shape of the first operand. All others, such as patterns, are scalars.
///
/// # Errors
/// Another operand is not a scalar.
pub fn string_unchanged(cx: &mut InferenceContext<'_>) -> Result<()> {
    for index in 1..cx.len() {
        cx.scalar(index)?;
    }
    cx.set_output(0, cx.input(0).clone());
    Ok(())
}

/// Outputs the shape that `input` and `pos` broadcast to. The shapes of `pos` and `len` are unified.
///
/// # Errors
/// The shapes of `pos` and `len` provably differ, or `input` and `pos` do not broadcast.
pub fn substr(cx: &mut InferenceContext<'_>) -> Result<()> {
    let (input, start, len) = (cx.input(0).clone(), cx.input(1).clone(), cx.input(2).clone());
    let start = cx.merge_shapes(&start, &len).map_err(|error| error.operand(2))?;
    let output = cx.broadcast(&input, &start).map_err(|error| error.operand(1))?;
    cx.set_output(0, output);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{string_unchanged, substr};
    use crate::testing::shape_table;

    shape_table! { replaced: string_unchanged, ["input", "pattern", "rewrite"];
        {} "string [n, ?]; string []; ?" => "[n, d0_1]";
        {} "?; string [1]; string []" => "error pattern must have rank 0";
    }
    shape_table! { parts: substr, ["input", "pos", "len"];
        {} "string [5, n]; i32 [?]; i32 [n]" => "[5, n]";
        {} "string []; i32 [2]; ?" => "[2]";
        {} "string [5]; ?; ?" => "?";
        {} "string [5]; i32 [1]; i32 [2]" => "error shapes must agree, got 1 and 2 at axis 0";
        {} "string [5]; i32 [3]; i32 [3]" => "error must be equal or 1 to broadcast, got 5 and 3";
    }
}
