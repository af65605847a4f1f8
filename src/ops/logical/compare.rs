//! Comparisons.

use crate::expr::BinaryOp;
use crate::ops::elementwise::binary_ops;

binary_ops! { comparison, "; the result is bool":
    /// `self == other`. NaN equals nothing.
    equal, EQUAL: scalar, ["Equal"], |a, b| a.binary(BinaryOp::Eq, b);

    /// `self != other`. NaN differs from everything.
    not_equal, NOT_EQUAL: scalar, ["NotEqual"], |a, b| a.binary(BinaryOp::Ne, b);

    /// `self < other`. False for NaN.
    less, LESS: number, ["Less"], |a, b| a.binary(BinaryOp::Lt, b);

    /// `self <= other`. False for NaN.
    less_equal, LESS_EQUAL: number, ["LessEqual"], |a, b| a.binary(BinaryOp::Le, b);

    /// `self > other`. False for NaN.
    greater, GREATER: number, ["Greater"], |a, b| b.binary(BinaryOp::Lt, a);

    /// `self >= other`. False for NaN.
    greater_equal, GREATER_EQUAL: number, ["GreaterEqual"], |a, b| b.binary(BinaryOp::Le, a);
}
