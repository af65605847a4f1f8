//! Bodies of several steps on half-precision elements: computed in f32, rounded once.

use shapeflow_shape_fns::DType;

use crate::expr::Expr;

/// The element as f32 if it is f16 or bf16, else itself.
pub(crate) fn widen(x: Expr) -> Expr {
    match x.dtype() {
        DType::F16 | DType::BF16 => x.cast(DType::F32),
        _ => x,
    }
}

/// `body` of the widened element, rounded to the element's own dtype.
pub(crate) fn widened(x: Expr, body: impl FnOnce(Expr) -> Expr) -> Expr {
    let dtype = x.dtype();
    body(widen(x)).cast(dtype)
}
