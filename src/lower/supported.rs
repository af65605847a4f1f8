//! Which operations kernels compute on which dtypes.

use shapeflow_shape_fns::DType;

use crate::expr::{BinaryOp, ReduceOp, UnaryOp};

/// Returns whether kernels compute on elements of `dtype`.
pub(crate) fn has_lanes(dtype: DType) -> bool {
    dtype == DType::Bool || dtype.is_integer() || dtype.is_float()
}

/// Returns whether kernels compute `op` on `dtype`.
pub(crate) fn supports_unary(op: UnaryOp, dtype: DType) -> bool {
    match op {
        UnaryOp::Neg | UnaryOp::Abs => dtype.is_integer() || dtype.is_float(),
        UnaryOp::Sqrt | UnaryOp::Floor | UnaryOp::Ceil | UnaryOp::Trunc | UnaryOp::Round => dtype.is_float(),
        UnaryOp::Not => dtype.is_integer() || dtype == DType::Bool,
    }
}

/// Returns whether kernels compute `op` on two values of `dtype`.
pub(crate) fn supports_binary(op: BinaryOp, dtype: DType) -> bool {
    use BinaryOp::*;
    match op {
        Add | Sub | Mul | Div | Rem => dtype.is_integer() || dtype.is_float(),
        Min | Max | Eq | Ne | Lt | Le => has_lanes(dtype),
        And | Or | Xor => dtype.is_integer() || dtype == DType::Bool,
        Shl | Shr => dtype.is_integer(),
        LargeAngle(_) => dtype == DType::F64,
    }
}

/// Returns whether kernels reduce elements of `dtype` by `op`.
pub(crate) fn supports_reduce(op: ReduceOp, dtype: DType) -> bool {
    match op {
        ReduceOp::Sum | ReduceOp::Prod | ReduceOp::Max | ReduceOp::Min => {
            dtype.is_integer() || dtype.is_float()
        }
        ReduceOp::All | ReduceOp::Any => dtype == DType::Bool,
    }
}
