//! Elementwise ops as scalar functions of Rust.

use std::f64::consts::{FRAC_1_SQRT_2, PI};

use num_complex::Complex64;
use shapeflow::{DType, Registry, Tensor};

use super::Element::{self, Complex, Int, Real};
use super::functions::{bessel_ie, digamma, erf, erfc, erfinv, lgamma};
use super::row::{Ints, Row, row};
use super::{Build, difference, report, run_both};
use crate::op_call::Call;
use crate::rng::Rng;

fn flag(holds: bool) -> Element {
    Int(i128::from(holds))
}

/// Returns the number of bits of an integer.
fn width(dtype: DType) -> u32 {
    8 * dtype.size_bytes().unwrap() as u32
}

fn power(x: i128, exponent: i128) -> i128 {
    (0..exponent).fold(1, |product: i128, _| product.wrapping_mul(x))
}

fn floor_quotient(x: i128, y: i128) -> i128 {
    let quotient = x / y;
    if x % y != 0 && (x < 0) != (y < 0) { quotient - 1 } else { quotient }
}

fn sign(x: f64) -> f64 {
    if x == 0.0 { x } else { x.signum() }
}

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

fn softplus(x: f64) -> f64 {
    x.exp().ln_1p()
}

fn hard_sigmoid(x: f64) -> f64 {
    (x + 3.0).clamp(0.0, 6.0) / 6.0
}

/// Returns `f()`, or 0 if `x` is 0.
fn unless_zero(x: f64, f: impl Fn() -> f64) -> Element {
    Real(if x == 0.0 { 0.0 } else { f() })
}

fn unless_zero_complex(x: Complex64, f: impl Fn() -> Complex64) -> Element {
    Complex(if x.norm() == 0.0 { Complex64::ZERO } else { f() })
}

/// Replaces each zero part of `z` by 1e-300 with the sign of the zero. The sign of a zero tells the side of a branch
/// cut, and the formulas of `num_complex` lose it.
fn beside_cut(z: Complex64) -> Complex64 {
    let part = |x: f64| if x == 0.0 { 1e-300f64.copysign(x) } else { x };
    Complex64::new(part(z.re), part(z.im))
}

fn clamp_parts(x: Complex64, low: Complex64, high: Complex64) -> Complex64 {
    Complex64::new(x.re.min(high.re).max(low.re), x.im.min(high.im).max(low.im))
}

const ONE: Complex64 = Complex64::ONE;
const SELU_SCALE: f64 = 1.050_700_987_355_480_5;
const SELU_ALPHA: f64 = 1.673_263_242_354_377_2;

/// Maps floats to positive floats.
const POSITIVE: fn(f64) -> f64 = |x| x.abs() + 0.0625;
/// Maps some floats to infinities and to NaN.
const SPECIAL: fn(f64) -> f64 = |x| match x {
    2.0.. => f64::INFINITY,
    ..-2.5 => f64::NEG_INFINITY,
    -2.5..-1.0 => f64::NAN,
    _ => x,
};

#[rustfmt::skip]
pub const ROWS: &[Row] = &[
    row("abs", 1).int(|x, _| Int(x[0].wrapping_abs())).real(|x| Real(x[0].abs())),
    row("acos", 1).real(|x| Real(x[0].acos())).complex(|x| Complex(beside_cut(x[0]).acos())),
    row("acosh", 1).real(|x| Real(x[0].acosh())).complex(|x| Complex(beside_cut(x[0]).acosh())),
    row("add", 2).int(|x, _| Int(x[0] + x[1])).real(|x| Real(x[0] + x[1])).complex(|x| Complex(x[0] + x[1])),
    row("add_n", 3).int(|x, _| Int(x[0] + x[1] + x[2])).real(|x| Real(x.iter().sum())).complex(|x| Complex(x.iter().sum())),
    row("angle", 1).real(|x| Real(if x[0] < 0.0 { PI } else { 0.0 })).complex(|x| Real(x[0].arg())),
    row("approximate_equal", 2).real(|x| flag((x[0] - x[1]).abs() <= 0.5)).call(|call| call.attr("tolerance", 0.5)),
    row("asin", 1).real(|x| Real(x[0].asin())).complex(|x| Complex(beside_cut(x[0]).asin())),
    row("asinh", 1).real(|x| Real(x[0].asinh())).complex(|x| Complex(beside_cut(x[0]).asinh())),
    row("atan", 1).real(|x| Real(x[0].atan())).complex(|x| Complex(x[0].atan())),
    row("atan2", 2).real(|x| Real(x[0].atan2(x[1]))),
    row("atanh", 1).real(|x| Real(x[0].atanh())).complex(|x| Complex(x[0].atanh())),
    row("bessel_i0e", 1).real(|x| Real(bessel_ie(0.0, x[0]))),
    row("bessel_i1e", 1).real(|x| Real(bessel_ie(1.0, x[0]))),
    row("bitwise_and", 2).int(|x, _| Int(x[0] & x[1])),
    row("bitwise_not", 1).int(|x, dtype| Int(if dtype == DType::Bool { 1 - x[0] } else { !x[0] })),
    row("bitwise_or", 2).int(|x, _| Int(x[0] | x[1])),
    row("bitwise_xor", 2).int(|x, _| Int(x[0] ^ x[1])),
    row("cbrt", 1).real(|x| Real(x[0].cbrt())),
    row("ceil", 1).real(|x| Real(x[0].ceil())),
    row("clip_by_value", 3)
        .int(|x, _| Int(x[0].min(x[2]).max(x[1])))
        .real(|x| Real(x[0].min(x[2]).max(x[1])))
        .complex(|x| Complex(clamp_parts(x[0], x[1], x[2]))),
    row("complex", 2).real(|x| Complex(Complex64::new(x[0], x[1]))),
    row("complex_abs", 1).complex(|x| Real(x[0].norm())),
    row("conj", 1).complex(|x| Complex(x[0].conj())),
    row("cos", 1).real(|x| Real(x[0].cos())).complex(|x| Complex(x[0].cos())),
    row("cosh", 1).real(|x| Real(x[0].cosh())).complex(|x| Complex(x[0].cosh())),
    row("digamma", 1).real(|x| Real(digamma(x[0]))).domain(POSITIVE),
    row("div", 2).real(|x| Real(x[0] / x[1])).complex(|x| Complex(x[0] / x[1])),
    row("div_no_nan", 2)
        .real(|x| Real(if x[1] == 0.0 { 0.0 } else { x[0] / x[1] }))
        .complex(|x| Complex(if x[1].norm() == 0.0 { Complex64::ZERO } else { x[0] / x[1] })),
    row("elu", 1).real(|x| Real(if x[0] < 0.0 { x[0].exp_m1() } else { x[0] })),
    row("elu_grad", 2).real(|x| Real(if x[1] < 0.0 { x[0] * (x[1] + 1.0) } else { x[0] })),
    row("equal", 2).int(|x, _| flag(x[0] == x[1])).real(|x| flag(x[0] == x[1])).complex(|x| flag(x[0] == x[1])),
    row("erf", 1).real(|x| Real(erf(x[0]))),
    row("erfc", 1).real(|x| Real(erfc(x[0]))),
    row("erfinv", 1).real(|x| Real(erfinv(x[0]))).domain(|x| x / 3.5),
    row("exp", 1).real(|x| Real(x[0].exp())).complex(|x| Complex(x[0].exp())),
    row("exp2", 1).real(|x| Real(x[0].exp2())),
    row("expm1", 1).real(|x| Real(x[0].exp_m1())).complex(|x| Complex(x[0].exp() - ONE)),
    row("floor", 1).real(|x| Real(x[0].floor())),
    row("floordiv", 2).int(|x, _| Int(floor_quotient(x[0], x[1]))).real(|x| Real((x[0] / x[1]).floor())).ints(Ints::Nonzero),
    row("floormod", 2)
        .int(|x, _| Int(x[0] - floor_quotient(x[0], x[1]) * x[1]))
        .real(|x| Real(if x[1] == 0.0 { f64::NAN } else { x[0] - (x[0] / x[1]).floor() * x[1] }))
        .ints(Ints::Nonzero),
    row("gelu", 1).real(|x| Real(x[0] * erfc(-x[0] * FRAC_1_SQRT_2) / 2.0)),
    row("greater", 2).int(|x, _| flag(x[0] > x[1])).real(|x| flag(x[0] > x[1])),
    row("greater_equal", 2).int(|x, _| flag(x[0] >= x[1])).real(|x| flag(x[0] >= x[1])),
    row("hard_sigmoid", 1).real(|x| Real(hard_sigmoid(x[0]))),
    row("hard_swish", 1).real(|x| Real(x[0] * hard_sigmoid(x[0]))),
    row("imag", 1).complex(|x| Real(x[0].im)),
    row("is_finite", 1).real(|x| flag(x[0].is_finite())).domain(SPECIAL),
    row("is_inf", 1).real(|x| flag(x[0].is_infinite())).domain(SPECIAL),
    row("is_nan", 1).real(|x| flag(x[0].is_nan())).domain(SPECIAL),
    row("leaky_relu", 1).real(|x| Real(if x[0] > 0.0 { x[0] } else { 0.25 * x[0] })).call(|call| call.attr("alpha", 0.25)),
    row("leaky_relu_grad", 2)
        .real(|x| Real(if x[1] > 0.0 { x[0] } else { 0.25 * x[0] }))
        .call(|call| call.attr("alpha", 0.25)),
    row("left_shift", 2).int(|x, _| Int(x[0] << x[1])).ints(Ints::Natural),
    row("legacy_div", 2)
        .int(|x, _| Int(x[0] / x[1]))
        .real(|x| Real(x[0] / x[1]))
        .complex(|x| Complex(x[0] / x[1]))
        .ints(Ints::Nonzero),
    row("less", 2).int(|x, _| flag(x[0] < x[1])).real(|x| flag(x[0] < x[1])),
    row("less_equal", 2).int(|x, _| flag(x[0] <= x[1])).real(|x| flag(x[0] <= x[1])),
    row("lgamma", 1).real(|x| Real(lgamma(x[0]))),
    row("log", 1).real(|x| Real(x[0].ln())).complex(|x| Complex(x[0].ln())),
    row("log1p", 1).real(|x| Real(x[0].ln_1p())).complex(|x| Complex((x[0] + ONE).ln())),
    row("log2", 1).real(|x| Real(x[0].log2())),
    row("log_sigmoid", 1).real(|x| Real(-softplus(-x[0]))),
    row("logical_and", 2).int(|x, _| Int(x[0] & x[1])),
    row("logical_not", 1).int(|x, _| Int(1 - x[0])),
    row("logical_or", 2).int(|x, _| Int(x[0] | x[1])),
    row("logical_xor", 2).int(|x, _| Int(x[0] ^ x[1])),
    row("maximum", 2).int(|x, _| Int(x[0].max(x[1]))).real(|x| Real(x[0].max(x[1]))),
    row("minimum", 2).int(|x, _| Int(x[0].min(x[1]))).real(|x| Real(x[0].min(x[1]))),
    row("mish", 1).real(|x| Real(x[0] * softplus(x[0]).tanh())),
    row("mul", 2).int(|x, _| Int(x[0].wrapping_mul(x[1]))).real(|x| Real(x[0] * x[1])).complex(|x| Complex(x[0] * x[1])),
    row("mul_no_nan", 2)
        .real(|x| unless_zero(x[1], || x[0] * x[1]))
        .complex(|x| unless_zero_complex(x[1], || x[0] * x[1])),
    row("ndtri", 1).real(|x| Real(2.0f64.sqrt() * erfinv(2.0 * x[0] - 1.0))).domain(|x| (x + 4.0) / 8.0),
    row("neg", 1).int(|x, _| Int(-x[0])).real(|x| Real(-x[0])).complex(|x| Complex(-x[0])),
    row("not_equal", 2).int(|x, _| flag(x[0] != x[1])).real(|x| flag(x[0] != x[1])).complex(|x| flag(x[0] != x[1])),
    row("population_count", 1).int(|x, dtype| Int(i128::from((x[0] as u128 & (u128::MAX >> (128 - width(dtype)))).count_ones()))),
    row("pow", 2)
        .int(|x, _| Int(power(x[0], x[1])))
        .real(|x| Real(x[0].powf(x[1])))
        .complex(|x| Complex(x[0].powc(x[1])))
        .ints(Ints::Natural),
    row("real", 1).complex(|x| Real(x[0].re)),
    row("reciprocal", 1).real(|x| Real(x[0].recip())).complex(|x| Complex(ONE / x[0])),
    row("reciprocal_grad", 2)
        .real(|x| unless_zero(x[1], || -x[1] * x[0] * x[0]))
        .complex(|x| unless_zero_complex(x[1], || -x[1] * x[0].conj() * x[0].conj())),
    row("relu", 1).int(|x, _| Int(x[0].max(0))).real(|x| Real(x[0].max(0.0))),
    row("relu6", 1).int(|x, _| Int(x[0].clamp(0, 6))).real(|x| Real(x[0].clamp(0.0, 6.0))),
    row("relu6_grad", 2)
        .int(|x, _| Int(if x[1] > 0 && x[1] < 6 { x[0] } else { 0 }))
        .real(|x| Real(if x[1] > 0.0 && x[1] < 6.0 { x[0] } else { 0.0 })),
    row("relu_grad", 2)
        .int(|x, _| Int(if x[1] > 0 { x[0] } else { 0 }))
        .real(|x| Real(if x[1] > 0.0 { x[0] } else { 0.0 })),
    row("right_shift", 2).int(|x, _| Int(x[0] >> x[1])).ints(Ints::Natural),
    row("round", 1).int(|x, _| Int(x[0])).real(|x| Real(x[0].round_ties_even())),
    row("rsqrt", 1).real(|x| Real(1.0 / x[0].sqrt())).complex(|x| Complex(ONE / x[0].sqrt())),
    row("rsqrt_grad", 2)
        .real(|x| unless_zero(x[1], || -0.5 * x[1] * x[0].powi(3)))
        .complex(|x| unless_zero_complex(x[1], || x[1] * -0.5 * x[0].conj().powi(3))),
    row("selu", 1).real(|x| Real(SELU_SCALE * if x[0] < 0.0 { SELU_ALPHA * x[0].exp_m1() } else { x[0] })),
    row("selu_grad", 2)
        .real(|x| Real(x[0] * if x[1] < 0.0 { x[1] + SELU_SCALE * SELU_ALPHA } else { SELU_SCALE })),
    row("sigmoid", 1).real(|x| Real(sigmoid(x[0]))).complex(|x| Complex(ONE / (ONE + (-x[0]).exp()))),
    row("sigmoid_grad", 2)
        .real(|x| Real(x[1] * x[0] * (1.0 - x[0])))
        .complex(|x| Complex(x[1] * x[0] * (ONE - x[0]))),
    row("sign", 1)
        .int(|x, _| Int(x[0].signum()))
        .real(|x| Real(sign(x[0])))
        .complex(|x| Complex(if x[0].norm() == 0.0 { x[0] } else { x[0] / x[0].norm() })),
    row("silu", 1).real(|x| Real(x[0] * sigmoid(x[0]))),
    row("sin", 1).real(|x| Real(x[0].sin())).complex(|x| Complex(x[0].sin())),
    row("sinh", 1).real(|x| Real(x[0].sinh())).complex(|x| Complex(x[0].sinh())),
    row("softplus", 1).real(|x| Real(softplus(x[0]))),
    row("softplus_grad", 2).real(|x| Real(x[0] / (1.0 + (-x[1]).exp()))),
    row("softsign", 1).real(|x| Real(x[0] / (1.0 + x[0].abs()))),
    row("softsign_grad", 2).real(|x| Real(x[0] / (1.0 + x[1].abs()).powi(2))),
    row("sqrt", 1).real(|x| Real(x[0].sqrt())).complex(|x| Complex(x[0].sqrt())),
    row("sqrt_grad", 2)
        .real(|x| unless_zero(x[1], || 0.5 * x[1] / x[0]))
        .complex(|x| unless_zero_complex(x[1], || x[1] * 0.5 / x[0].conj())),
    row("square", 1).int(|x, _| Int(x[0].wrapping_mul(x[0]))).real(|x| Real(x[0] * x[0])).complex(|x| Complex(x[0] * x[0])),
    row("squared_difference", 2)
        .int(|x, _| Int((x[0] - x[1]).wrapping_mul(x[0] - x[1])))
        .real(|x| Real((x[0] - x[1]).powi(2)))
        .complex(|x| Complex((x[0] - x[1]) * (x[0] - x[1]).conj())),
    row("sub", 2).int(|x, _| Int(x[0] - x[1])).real(|x| Real(x[0] - x[1])).complex(|x| Complex(x[0] - x[1])),
    row("tan", 1).real(|x| Real(x[0].tan())).complex(|x| Complex(x[0].tan())),
    row("tanh", 1).real(|x| Real(x[0].tanh())).complex(|x| Complex(x[0].tanh())),
    row("tanh_grad", 2)
        .real(|x| Real(x[1] * (1.0 - x[0] * x[0])))
        .complex(|x| Complex(x[1] * (ONE - x[0] * x[0]))),
    row("truncatediv", 2).int(|x, _| Int(x[0] / x[1])).real(|x| Real((x[0] / x[1]).trunc())).ints(Ints::Nonzero),
    row("truncatemod", 2).int(|x, _| Int(x[0] % x[1])).real(|x| Real(x[0] % x[1])).ints(Ints::Nonzero),
    row("xdivy", 2)
        .real(|x| unless_zero(x[0], || x[0] / x[1]))
        .complex(|x| unless_zero_complex(x[0], || x[0] / x[1])),
    row("xlog1py", 2)
        .real(|x| unless_zero(x[0], || x[0] * x[1].ln_1p()))
        .complex(|x| unless_zero_complex(x[0], || x[0] * (x[1] + ONE).ln())),
    row("xlogy", 2)
        .real(|x| unless_zero(x[0], || x[0] * x[1].ln()))
        .complex(|x| unless_zero_complex(x[0], || x[0] * x[1].ln())),
];

#[test]
fn elementwise_ops_give_what_scalar_functions_give() {
    let (mut rng, mut faults) = (Rng::new(161), Vec::new());
    let registry = Registry::builtin();
    for row in ROWS {
        let Some(def) = registry.get(row.op) else { continue };
        for dtype in def.dtypes() {
            let name = format!("{} of {dtype}", row.op);
            if !row.takes(dtype) {
                faults.push(format!("{name}: there is no scalar function"));
                continue;
            }
            let call = (row.call)(Call::new(row.op));
            let inputs = vec![(dtype, "[n]".to_string()); row.operands];
            let feeds: Vec<Vec<Tensor>> = [0, 1, 7, 40]
                .map(|count| {
                    (0..row.operands).map(|number| row.operand(&mut rng, number, dtype, count)).collect()
                })
                .into();
            let check = |operands: &[Tensor], result: &Tensor| {
                difference(result, operands[0].sizes(), &row.expected(operands, dtype))
            };
            let build = Build::Call(&call);
            run_both(&name, &inputs, build, &feeds, &check, &mut faults);
        }
    }
    report(&faults);
}
