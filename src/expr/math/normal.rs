//! `erfinv`, `ndtri`: inverses of `erf` and of the distribution function of the normal distribution.
//!
//! Both functions are computed in f64. The quotients of polynomials come from Wichura's algorithm AS 241 (Applied
//! Statistics 37, 1988), whose relative error is 2^-52.

use std::f64::consts::FRAC_1_SQRT_2;

use super::build::*;
use super::log::log;
use crate::expr::Expr;

/// A quotient of two polynomials: numerator, denominator.
type Quotient = [[f64; 8]; 2];

/// `ndtri(0.5 + q) / q` in powers of `0.180625 - q²` for `|q| <= 0.425`.
const CENTER: Quotient = [
    [
        2509.0809287301227,
        33430.57558358813,
        67265.7709270087,
        45921.95393154987,
        13731.69376550946,
        1971.5909503065513,
        133.14166789178438,
        3.3871328727963665,
    ],
    [
        5226.495278852854,
        28729.085735721943,
        39307.89580009271,
        21213.794301586597,
        5394.196021424751,
        687.1870074920579,
        42.31333070160091,
        1.0,
    ],
];
/// `-ndtri(p)` in powers of `sqrt(-log p) - 1.6` for roots up to 5.
const TAIL: Quotient = [
    [
        0.0007745450142783414,
        0.022723844989269184,
        0.2417807251774506,
        1.2704582524523684,
        3.6478483247632045,
        5.769497221460691,
        4.630337846156546,
        1.4234371107496835,
    ],
    [
        1.0507500716444169e-09,
        0.0005475938084995345,
        0.015198666563616457,
        0.14810397642748008,
        0.6897673349851,
        1.6763848301838038,
        2.053191626637759,
        1.0,
    ],
];
/// `-ndtri(p)` in powers of `sqrt(-log p) - 5` for roots from 5 to 28.
const FAR_TAIL: Quotient = [
    [
        2.0103343992922881e-07,
        2.711555568743488e-05,
        0.0012426609473880784,
        0.026532189526576124,
        0.29656057182850487,
        1.7848265399172913,
        5.463784911164114,
        6.657904643501103,
    ],
    [
        2.0442631033899397e-15,
        1.421511758316446e-07,
        1.8463183175100548e-05,
        0.0007868691311456133,
        0.014875361290850615,
        0.1369298809227358,
        0.599832206555888,
        1.0,
    ],
];

fn quotient(x: &Expr, [numerator, denominator]: &Quotient) -> Expr {
    horner(x, numerator) / horner(x, denominator)
}

/// The inverse of the distribution function of the standard normal distribution: a normally distributed number is below
/// the result with probability `x`. The result is -inf at 0, inf at 1, and NaN outside. Errors: f32 0.6 ulp, f64 4 ulp.
pub fn ndtri(x: Expr) -> Expr {
    in_double(x, |x| {
        let is_low = x.clone().less(x.like(0.5));
        let tail = is_low.select(x.clone(), x.like(1.0) - x);
        inverse(&plus(x, -0.5), &tail)
    })
}

/// The inverse of `erf`; -inf at -1, inf at 1, and NaN outside. Errors: f32 0.6 ulp, f64 4 ulp.
pub fn erfinv(x: Expr) -> Expr {
    in_double(x, |x| {
        let tail = times(&(x.like(1.0) - abs(x)), 0.5);
        keep_zero(x, times(&inverse(&times(x, 0.5), &tail), FRAC_1_SQRT_2))
    })
}

/// Returns `ndtri(0.5 + q)`, where `tail` is `0.5 - |q|`.
fn inverse(q: &Expr, tail: &Expr) -> Expr {
    let center = q * quotient(&(q.like(0.180625) - q * q), &CENTER);
    let root = (-log(tail.clone())).sqrt();
    let near = quotient(&plus(&root, -1.6), &TAIL);
    let far = quotient(&plus(&at_most(&root, 28.0), -5.0), &FAR_TAIL);
    let side = root.clone().less_equal(root.like(5.0)).select(near, far);
    let is_infinite = tail.clone().equal(tail.like(0.0));
    let side = is_infinite.select(tail.like(f64::INFINITY), side);
    // A number that is not a probability has a negative tail, whose logarithm is NaN.
    abs(q).less_equal(q.like(0.425)).select(center, with_sign(&side, q))
}

#[cfg(test)]
mod tests {
    use shapeflow_shape_fns::DType;

    use super::super::accuracy::with;
    use super::*;

    #[test]
    fn the_ends_of_the_domain_give_infinities_and_arguments_outside_give_nan() {
        let check = |build: fn(Expr) -> Expr, rows: &[(f64, f64)]| {
            let build = |x: Expr, _: Expr| build(x);
            with(build, DType::F64, true, |value| {
                for (x, expected) in rows {
                    let got = value((*x).into(), (*x).into()).unwrap().to_f64();
                    assert!(
                        got.to_bits() == expected.to_bits() || got.is_nan() && expected.is_nan(),
                        "{x}: {got}"
                    );
                }
            });
        };
        let (infinity, nan) = (f64::INFINITY, f64::NAN);
        let outside = [(nan, nan), (infinity, nan), (-infinity, nan), (1.5, nan), (-1.5, nan)];
        check(ndtri, &[&[(0.0, -infinity), (1.0, infinity), (0.5, 0.0)][..], &outside].concat());
        check(
            erfinv,
            &[&[(-1.0, -infinity), (1.0, infinity), (0.0, 0.0), (-0.0, -0.0)][..], &outside].concat(),
        );
    }
}
