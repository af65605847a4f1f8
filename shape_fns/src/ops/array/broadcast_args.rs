//! `broadcast_args(s0, s1)`: broadcasts two shapes that are given as vectors of sizes.

use crate::{InferenceContext, PartialElements, Result, TensorShape};

/// `s0[m], s1[n] -> [max(m, n)]`. The output's elements are known if the elements of both operands are known.
///
/// # Errors
/// An operand is not a vector, or the two shapes provably do not broadcast.
pub fn broadcast_args(cx: &mut InferenceContext<'_>) -> Result<()> {
    let ([first], [second]) = (cx.axes::<1>(0)?, cx.axes::<1>(1)?);
    let length = cx.max(&first, &second)?;
    if let (Some(a), Some(b)) = (cx.input_value(0), cx.input_value(1)) {
        let (a, b) = (TensorShape::from(a.elements()), TensorShape::from(b.elements()));
        let both = cx.broadcast(&a, &b)?;
        let sizes = both.dims().unwrap_or_default();
        cx.set_output_value(0, PartialElements::vector(sizes.iter().cloned()));
    }
    cx.set_output(0, TensorShape::new([length]));
    Ok(())
}

/// Returns two vectors: the axes along which the gradients of the first and of the second operand are summed. The
/// lengths depend on the data.
///
/// # Errors
/// An operand is not a vector.
pub fn broadcast_gradient_args(cx: &mut InferenceContext<'_>) -> Result<()> {
    cx.with_rank(0, 1)?;
    cx.with_rank(1, 1)?;
    for output in 0..2 {
        let axes = cx.unknown_shape_of_rank(1);
        cx.set_output(output, axes);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{broadcast_args, broadcast_gradient_args};
    use crate::testing::shape_table;

    shape_table! { sizes: broadcast_args, ["s0", "s1"];
        {} "[3] = [2, 1, n]; [2] = [4, 1]" => "[3] = [2, 4, n]";
        {} "i32 [2]; i32 [3]" => "[3]";
        {} "i32 [?]; i32 [1]" => "[max(1, d0_0)]";
        {} "?; i32 [1]" => "[max(1, ?)]";
        {} "[1] = [3]; [1] = [4]" => "error dimensions must be equal or 1 to broadcast, got 3 and 4";
        {} "i32 []; i32 [1]" => "error s0 must have rank 1";
    }
    shape_table! { axes: broadcast_gradient_args, ["s0", "s1"];
        {} "i32 [2]; i32 [3]" => "[?]; [?]";
        {} "i32 [2]; i32 []" => "error(2 outputs) s1 must have rank 1";
    }
}
