//! `round_half_away`: the nearest integer of a float.

use crate::expr::{Expr, UnaryOp};

/// Rounds a float to the nearest integer; ties go away from zero. Unlike `floor(x + 0.5)`, it rounds the greatest
/// number below 0.5 to 0.
pub(crate) fn round_half_away(x: Expr) -> Expr {
    let whole = x.clone().unary(UnaryOp::Trunc);
    let half = x.like(0.5);
    let unit = x.clone().less(x.like(0.0)).select(x.like(-1.0), x.like(1.0));
    // The difference is exact.
    let rounds_up = half.less_equal((x - &whole).abs());
    rounds_up.select(&whole + unit, whole)
}
