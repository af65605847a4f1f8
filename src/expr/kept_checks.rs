//! [`keep_checks`]: an element keeps the checks of the indices at which it is read, even if it does not depend on them.

use rustc_hash::FxHashSet;
use shapeflow_shape_fns::DType;

use super::{BinaryOp, Expr, ExprKind, Scalar, post_order};

/// Returns an expression with the value of `element`, whose evaluation also evaluates each of `checks`.
/// `make` makes the nodes of the result.
///
/// A check is lost if the element does not depend on the checked index: the element of a constant, for example, or an
/// element along an axis of size 1.
pub(crate) fn keep_checks<'a>(
    element: Expr,
    checks: impl IntoIterator<Item = &'a Expr>,
    make: &mut dyn FnMut(DType, ExprKind) -> Expr,
) -> Expr {
    let mut checks = checks.into_iter().peekable();
    if checks.peek().is_none() {
        return element;
    }
    let present: FxHashSet<usize> = post_order([&element]).into_iter().map(Expr::address).collect();
    checks.filter(|check| !present.contains(&check.address())).fold(element, |element, check| {
        // A selection evaluates its condition, even if both choices are one expression.
        let zero = make(DType::I64, ExprKind::Const(Scalar::I64(0)));
        let is_checked = make(DType::Bool, ExprKind::Binary(BinaryOp::Le, zero, check.clone()));
        make(element.dtype(), ExprKind::Select(is_checked, element.clone(), element))
    })
}

#[cfg(test)]
mod tests {
    use shapeflow_shape_fns::Dim;

    use super::*;
    use crate::expr::{Axis, Index, Interner};

    fn check(axis: u32) -> Expr {
        let value = Expr::iota(Index::axis(Axis(axis)));
        Expr::new(DType::I64, ExprKind::CheckIndex { value, limit: Dim::known(3), axis: 0 })
    }

    #[test]
    fn only_lost_checks_are_added() {
        let (kept, lost) = (check(0), check(1));
        let element = Expr::iota(Index::value(kept.clone()));
        let same = keep_checks(element.clone(), [&kept], &mut Expr::new);
        assert!(same == element);
        let extended = keep_checks(element.clone(), [&kept, &lost], &mut Expr::new);
        assert!(post_order([&extended]).contains(&&lost));
    }

    #[test]
    fn simplification_keeps_the_checks() {
        let lost = check(0);
        let extended = keep_checks(Expr::constant(1.0f32), [&lost], &mut Expr::new);
        let simplified = Interner::new().import(&extended);
        let is_check = |expr: &&Expr| matches!(expr.kind(), ExprKind::CheckIndex { .. });
        assert!(post_order([&simplified]).iter().any(is_check), "{simplified}");
    }
}
