//! Multi-step bodies on 16-bit floats: computed in f32 and rounded once.

use shapeflow_shape_fns::DType;

use crate::expr::Expr;

/// Converts f16 and bf16 to f32; returns other elements unchanged.
pub(crate) fn widen(x: Expr) -> Expr {
    match x.dtype() {
        DType::F16 | DType::BF16 => x.cast(DType::F32),
        _ => x,
    }
}

/// Applies `body` to the widened element and rounds the result to the element's dtype.
pub(crate) fn widened(x: Expr, body: impl FnOnce(Expr) -> Expr) -> Expr {
    let dtype = x.dtype();
    body(widen(x)).cast(dtype)
}

/// Applies `body` to the widened elements, which have one dtype, and rounds the result to this dtype.
pub(crate) fn widened_pair(a: Expr, b: Expr, body: impl FnOnce(Expr, Expr) -> Expr) -> Expr {
    let dtype = a.dtype();
    body(widen(a), widen(b)).cast(dtype)
}
