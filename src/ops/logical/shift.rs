//! Shifts of integers.

use crate::expr::{BinaryOp, Expr};
use crate::ops::elementwise::binary_ops;

/// Returns `count` clamped to the valid counts of a shift, from 0 to the number of bits minus 1.
fn clamped(count: Expr) -> Expr {
    let bits = 8 * count.dtype().size_bytes().unwrap_or(1);
    let (zero, most) = (count.like(0.0), count.like(bits as f64 - 1.0));
    count.maximum(zero).minimum(most)
}

binary_ops! { rules = binary, result = "":
    /// `self` shifted left by `other` bits. The count is clamped to `0 ..= bits - 1`, as in TensorFlow.
    #[doc(alias = "bitwise_left_shift")]
    left_shift, LEFT_SHIFT: integer, ["LeftShift"],
        [1, 3], [4, 1] = [16, 6], |x, count| x.binary(BinaryOp::Shl, clamped(count));

    /// `self` shifted right by `other` bits; a signed integer keeps its sign. The count is clamped to `0 ..= bits - 1`,
    /// as in TensorFlow.
    #[doc(alias = "bitwise_right_shift")]
    right_shift, RIGHT_SHIFT: integer, ["RightShift"],
        [16, -3], [4, 1] = [1, -2], |x, count| x.binary(BinaryOp::Shr, clamped(count));
}

#[cfg(test)]
mod tests {
    use shapeflow_shape_fns::Attrs;

    use super::*;
    use crate::ops::testing::{check_tensor, run_one, tensor};

    #[test]
    fn counts_are_clamped() {
        let operands = [tensor(&[4], &[1i8, 1, -1, 5]), tensor(&[4], &[-1i8, 9, 3, 7])];
        let got = run_one(&LEFT_SHIFT, &Attrs::new(), &operands);
        check_tensor(&got, &tensor(&[4], &[1i8, -128, -8, -128]), "left_shift");
        let operands = [tensor(&[4], &[1i8, -1, -7, 127]), tensor(&[4], &[-1i8, 9, 3, 7])];
        let got = run_one(&RIGHT_SHIFT, &Attrs::new(), &operands);
        check_tensor(&got, &tensor(&[4], &[1i8, -1, -1, 0]), "right_shift");
    }
}
