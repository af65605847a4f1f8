//! Ops that translate axes and vectors between data formats such as `NHWC` and `NCHW`.

use crate::{InferenceContext, Result};

/// Keeps the shape of the operand.
///
/// # Errors
/// The rank is neither 1 nor 2.
pub fn permute_by_format(cx: &mut InferenceContext<'_>) -> Result<()> {
    cx.with_rank_at_least(0, 1)?;
    let shape = cx.with_rank_at_most(0, 2)?;
    cx.set_output(0, shape);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::permute_by_format;
    use crate::testing::shape_table;

    shape_table! { shapes: permute_by_format, ["x"];
        {} "i32 [4, ?]" => "[4, d0_1]";
        {} "?" => "?";
        {} "i32 []" => "error x must have rank at least 1";
        {} "i32 [4, 2, 2]" => "error x must have rank at most 2";
    }
}
