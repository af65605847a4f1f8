//! `next_after`.

use super::build::*;
use crate::expr::Expr;

/// The float next to `x` in the direction of `y`; `y` if both are equal, NaN if one is NaN. f32 and f64 only.
pub fn next_after(x: Expr, y: Expr) -> Expr {
    let format = FloatFormat::of(&x);
    let word = bits(&x);
    let one = format.word(1);
    let zero = x.like(0.0);
    // The bits of floats of one sign ascend with the magnitude.
    let grows = x.clone().less(y.clone()).equal(zero.clone().less(x.clone()));
    let stepped = from_bits(&grows.select(&word + &one, &word - &one));
    let from_zero = from_bits(&((bits(&y) & format.sign()) | one));
    let moved = x.clone().equal(zero).select(from_zero, stepped);
    let next = x.clone().equal(y.clone()).select(y.clone(), moved);
    let sum = &x + &y;
    let is_nan = x.clone().not_equal(x) | y.clone().not_equal(y);
    is_nan.select(sum, next)
}
