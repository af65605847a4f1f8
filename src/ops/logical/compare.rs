//! Order comparisons.

use crate::expr::BinaryOp;
use crate::ops::elementwise::binary_ops;

binary_ops! { rules = comparison, result = "; the result is bool":
    /// `self < other`. False for NaN.
    #[doc(alias = "lt")]
    less, LESS: number, ["Less" own_shape_fn],
        [1, 2, 3], [2, 2, 2] = [true, false, false], |a, b| a.binary(BinaryOp::Lt, b);

    /// `self <= other`. False for NaN.
    #[doc(alias = "le")]
    less_equal, LESS_EQUAL: number, ["LessEqual" own_shape_fn],
        [1, 2, 3], [2, 2, 2] = [true, true, false], |a, b| a.binary(BinaryOp::Le, b);

    /// `self > other`. False for NaN.
    #[doc(alias = "gt")]
    greater, GREATER: number, ["Greater" own_shape_fn],
        [1, 2, 3], [2, 2, 2] = [false, false, true], |a, b| b.binary(BinaryOp::Lt, a);

    /// `self >= other`. False for NaN.
    #[doc(alias = "ge")]
    greater_equal, GREATER_EQUAL: number, ["GreaterEqual" own_shape_fn],
        [1, 2, 3], [2, 2, 2] = [false, true, true], |a, b| b.binary(BinaryOp::Le, a);
}
