//! Floor division and simple arithmetic: `floordiv`, `floormod`, `sign`, `round_half_even`, `relu`,
//! `squared_difference`.

use crate::expr::{BinaryOp, Expr, UnaryOp};

/// Computes the quotient rounded down, as TensorFlow's `floordiv`; for floats `floor(x / y)`. `MIN / -1` wraps to
/// `MIN`; an integer division by zero fails the run.
pub fn floordiv(x: Expr, y: Expr) -> Expr {
    let quotient = &x / &y;
    if x.dtype().is_float() {
        return quotient.floor();
    }
    if !x.dtype().is_signed() {
        return quotient;
    }
    let remainder = x - &quotient * &y;
    let one = y.like(1.0);
    differs_in_sign(&remainder, &y).select(&quotient - one, quotient)
}

/// Computes `x - y · floor(x / y)`, with the sign of `y`, as TensorFlow's `floormod`. The float result is computed from
/// the exact `fmod`. An integer division by zero fails the run.
pub fn floormod(x: Expr, y: Expr) -> Expr {
    let signed = x.dtype().is_signed();
    let remainder = x.binary(BinaryOp::Rem, y.clone());
    if signed { differs_in_sign(&remainder, &y).select(&remainder + y, remainder) } else { remainder }
}

/// Makes the bool that is true if a remainder is nonzero and its sign differs from the sign of the divisor.
fn differs_in_sign(remainder: &Expr, divisor: &Expr) -> Expr {
    let zero = remainder.like(0.0);
    let other_sign = remainder.clone().less(zero.clone()).not_equal(divisor.clone().less(zero.clone()));
    remainder.clone().not_equal(zero) & other_sign
}

/// Computes the sign: -1, 0 or 1; 0.0 for -0.0, NaN for NaN.
pub fn sign(x: Expr) -> Expr {
    let zero = x.like(0.0);
    let not_positive = if x.dtype().is_float() { &x + &zero } else { zero.clone() };
    let positive = zero.clone().less(x.clone()).select(x.like(1.0), not_positive);
    if x.dtype().is_signed() { x.clone().less(zero).select(x.like(-1.0), positive) } else { positive }
}

/// Rounds to the nearest integer, ties to even; returns integers unchanged.
pub fn round_half_even(x: Expr) -> Expr {
    if x.dtype().is_integer() { x } else { x.unary(UnaryOp::Round) }
}

/// Computes the larger of `x` and 0; NaN stays NaN.
pub fn relu(x: Expr) -> Expr {
    let zero = x.like(0.0);
    x.maximum(zero)
}

/// Computes `(x - y)²`; integers wrap.
pub fn squared_difference(x: Expr, y: Expr) -> Expr {
    let difference = x - y;
    &difference * &difference
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expr::Scalar;
    use crate::expr::interpret::evaluate_constant;

    fn each<T: Into<Scalar> + Copy>(f: fn(Expr, Expr) -> Expr, pairs: &[(T, T)]) -> Vec<Scalar> {
        let value = |(x, y): &(T, T)| evaluate_constant(&f(Expr::constant(*x), Expr::constant(*y))).unwrap();
        pairs.iter().map(value).collect()
    }

    fn scalars<T: Into<Scalar> + Copy>(values: &[T]) -> Vec<Scalar> {
        values.iter().map(|value| (*value).into()).collect()
    }

    #[test]
    fn integers_divide_as_tensorflow_does() {
        let pairs = [(-7, 2), (7, -2), (-7, -2), (6, -3), (i32::MIN, -1)];
        assert_eq!(each(floordiv, &pairs), scalars(&[-4, -4, 3, -2, i32::MIN]));
        assert_eq!(each(floormod, &pairs), scalars(&[1, -1, -1, 0, 0]));
        assert_eq!(each(floordiv, &[(200u8, 7u8)]), scalars(&[28u8]));
        assert_eq!(each(floormod, &[(200u8, 7u8)]), scalars(&[4u8]));
        assert!(evaluate_constant(&floormod(Expr::constant(1i64), Expr::constant(0i64))).is_err());
    }

    #[test]
    fn floats_divide_as_tensorflow_does() {
        let inf = f32::INFINITY;
        let pairs =
            [(1.0f32, 0.1f32), (-1.0, 0.1), (-7.5, 2.0), (-0.0, 3.0), (3.0, inf), (-3.0, inf), (6.0, -3.0)];
        assert_eq!(each(floordiv, &pairs), scalars(&[10.0f32, -10.0, -4.0, -0.0, 0.0, -0.0, -2.0]));
        assert_eq!(
            each(floormod, &pairs),
            scalars(&[0.099_999_99_f32, 1.4901161e-8, 0.5, -0.0, 3.0, inf, 0.0])
        );
        assert!(each(floormod, &[(5.0f64, 0.0)])[0].is_nan());
    }

    #[test]
    fn small_arithmetic() {
        let one = |f: fn(Expr) -> Expr, x: Scalar| evaluate_constant(&f(Expr::constant(x))).unwrap();
        let signs = [-0.0, 0.0, -3.0, f64::INFINITY].map(|x| one(sign, x.into()));
        assert_eq!(signs, [0.0, 0.0, -1.0, 1.0].map(Scalar::F64));
        assert!(one(sign, f32::NAN.into()).is_nan() && one(relu, f32::NAN.into()).is_nan());
        assert_eq!((one(sign, (-5i8).into()), one(sign, 5u16.into())), ((-1i8).into(), 1u16.into()));
        assert_eq!((one(relu, (-5i64).into()), one(relu, 2.5f64.into())), (0i64.into(), 2.5f64.into()));
        assert_eq!(
            (one(round_half_even, 2.5f32.into()), one(round_half_even, 7i32.into())),
            (2f32.into(), 7i32.into())
        );
        assert_eq!(each(squared_difference, &[(3i32, 5i32)]), scalars(&[4i32]));
    }
}
