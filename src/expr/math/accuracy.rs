//! Tests of the stated errors of every function and of the special values.
//!
//! `f32` is compared with the platform's `f64` functions over every exponent, `f64` with a table of exact values
//! (`tests/reference/math_table.txt`).

use std::f64::consts::LN_2;

use half::{bf16, f16};
use shapeflow_shape_fns::{DType, Dim};

use super::ulp::{error_of_single, ulp};
use super::*;
use crate::expr::interpret::evaluate_constant;
use crate::expr::{
    Axis, EXPONENT, Env, Evaluator, Expr, ExprKind, ExprProgram, Fault, Index, Interner, Scalar, post_order,
    verify,
};

struct MathFunction {
    name: &'static str,
    build: fn(Expr) -> Expr,
    /// The platform's function in f64. If the platform has none, our f64 function is the reference.
    wide: Option<fn(f64) -> f64>,
    /// The stated errors in ulp.
    single: f64,
    double: f64,
}

macro_rules! functions {
    ($($name:ident $wide:expr, $single:literal, $double:literal;)*) => {
        [$(MathFunction { name: stringify!($name), build: $name, wide: $wide, single: $single, double: $double }),*]
    };
}

/// The platform's `asinh` and `acosh` give infinity for the largest doubles. From `HUGE` on, the logarithm of `2x` is
/// exact enough.
const HUGE: f64 = 1e300;

const FUNCTIONS: [MathFunction; 29] = functions! {
    exp Some(f64::exp), 0.9, 0.9;
    exp2 Some(f64::exp2), 1.0, 0.9;
    expm1 Some(f64::exp_m1), 1.6, 1.7;
    log Some(f64::ln), 0.9, 0.8;
    log2 Some(f64::log2), 1.0, 0.8;
    log1p Some(f64::ln_1p), 1.5, 0.8;
    sin Some(f64::sin), 1.6, 1.3;
    cos Some(f64::cos), 1.6, 1.4;
    tan Some(f64::tan), 0.6, 2.2;
    tanh Some(f64::tanh), 1.6, 1.5;
    sigmoid Some(|x| if x < 0.0 { x.exp() / (1.0 + x.exp()) } else { 1.0 / (1.0 + (-x).exp()) }), 2.5, 2.1;
    sinh Some(f64::sinh), 0.6, 2.2;
    cosh Some(f64::cosh), 0.6, 1.2;
    erf None, 2.6, 1.0;
    erfc None, 0.6, 3.0;
    asin Some(f64::asin), 1.2, 1.1;
    acos Some(f64::acos), 1.2, 1.2;
    atan Some(f64::atan), 1.4, 1.1;
    asinh Some(|x| if x.abs() > HUGE { (x.abs().ln() + LN_2).copysign(x) } else { x.asinh() }), 0.6, 1.6;
    acosh Some(|x| if x > HUGE { x.ln() + LN_2 } else { x.acosh() }), 0.6, 1.6;
    atanh Some(f64::atanh), 0.6, 1.6;
    cbrt Some(f64::cbrt), 0.8, 0.8;
    lgamma None, 0.6, 4.0;
    digamma None, 0.6, 3.0;
    bessel_i0e None, 0.6, 4.0;
    bessel_i1e None, 0.6, 4.0;
    erfinv None, 0.6, 4.0;
    ndtri None, 0.6, 4.0;
    rsqrt Some(|x| 1.0 / x.sqrt()), 1.5, 1.5;
};

/// The stated error of `atan2` in ulp.
const ATAN2: f64 = 1.4;
/// The stated errors of `pow` in ulp, in f32 and f64.
const POW: [f64; 2] = [0.6, 1.0];

impl MathFunction {
    /// Calls `f` with the reference in f64.
    fn with_wide<R>(&self, f: impl FnOnce(&mut dyn FnMut(f64) -> f64) -> R) -> R {
        match self.wide {
            Some(wide) => f(&mut |x| wide(x)),
            None => with(
                |x, _| (self.build)(x),
                DType::F64,
                true,
                |value| f(&mut |x| value(x.into(), x.into()).unwrap().to_f64()),
            ),
        }
    }
}

/// Calls `f` with a function that evaluates the expression of `build` for given arguments. `a * b + c` is rounded once
/// if `has_fma`.
pub(super) fn with<R>(
    build: impl Fn(Expr, Expr) -> Expr,
    dtype: DType,
    has_fma: bool,
    f: impl FnOnce(&mut dyn FnMut(Scalar, Scalar) -> Result<Scalar, Fault>) -> R,
) -> R {
    let argument =
        |source| Expr::new(dtype, ExprKind::LoadFlat { source, position: Box::new(Index::axis(Axis(0))) });
    let expr = Interner::new().import(&build(argument(0), argument(1)));
    verify(post_order([&expr])).unwrap();
    assert_eq!(expr.dtype(), dtype);
    let program = ExprProgram::new(&expr, &[Axis(0)]);
    let arguments = std::cell::Cell::new([Scalar::zero(dtype); 2]);
    let env = Env {
        load: &|_, _| Ok(Scalar::Bool(false)),
        load_flat: &|source, _| Ok(arguments.get()[source as usize]),
        dim: &|dim: &Dim| dim.as_known().unwrap(),
        fused: has_fma,
    };
    let mut evaluator = Evaluator::new(&program, &env);
    let mut count = 0;
    f(&mut |x, y| {
        arguments.set([x, y]);
        count += 1;
        evaluator.element(&[count])
    })
}

/// The bits of f32 numbers within 1.2e-8 of a multiple of π/2.
const QUARTER_TURNS: [u32; 9] = [
    0x6f79_be45,
    0x50a3_e87f,
    0x6ff9_be45,
    0x437c_e5f1,
    0x6a19_76f1,
    0x53b1_46a6,
    0x6589_8498,
    0x4c23_32e9,
    0x4096_cbe4,
];

/// Returns samples of every exponent and both signs, denser from 1/16 to 16.
fn singles() -> impl Iterator<Item = f32> {
    let specials = [0u32, 1, 2, 0x007f_ffff, 0x0080_0000, 0x3f00_0000, 0x3f80_0000, 0x7f7f_ffff, 0x7f80_0000];
    let specials = specials.into_iter().chain(QUARTER_TURNS);
    let everywhere = (0..0x7f80_0000u32).step_by(1_048_573);
    let dense = (0x3d80_0000..0x4180_0000u32).step_by(16_381);
    let positive = specials.chain([0x7fc0_0000]).chain(everywhere).chain(dense);
    positive.flat_map(|bits| [bits, bits | 1 << 31]).map(f32::from_bits)
}

#[test]
fn single_precision_errors_are_within_the_stated_bounds() {
    for function in &FUNCTIONS {
        function.with_wide(|wide| {
            for (has_fma, allowance) in [(true, 0.0), (false, 1.0)] {
                with(
                    |x, _| (function.build)(x),
                    DType::F32,
                    has_fma,
                    |value| {
                        for x in singles().step_by(if has_fma { 1 } else { 7 }) {
                            let got = value(x.into(), x.into()).unwrap().to_f64();
                            let error = error_of_single(got, wide(x as f64));
                            let name = function.name;
                            assert!(
                                error <= function.single + allowance,
                                "{name}({x:e}) = {got:e}: {error} ulp"
                            );
                        }
                    },
                );
            }
        });
    }
}

/// Returns the rows of the table: name, arguments, nearest double, and the difference from the exact value in ulp.
fn table() -> impl Iterator<Item = (&'static str, Vec<f64>, f64, f64)> {
    include_str!("../../../tests/reference/math_table.txt").lines().map(|line| {
        let mut words: Vec<&str> = line.split(' ').collect();
        let rest = words.pop().unwrap().parse().unwrap();
        let name = words.remove(0);
        let mut doubles: Vec<f64> =
            words.iter().map(|word| f64::from_bits(u64::from_str_radix(word, 16).unwrap())).collect();
        let nearest = doubles.pop().unwrap();
        (name, doubles, nearest, rest)
    })
}

fn check_table(name: &str, build: &dyn Fn(Expr, Expr) -> Expr, has_fma: bool, bound: f64) {
    let mut rows = 0;
    with(build, DType::F64, has_fma, |value| {
        for (_, arguments, nearest, rest) in table().filter(|row| row.0 == name) {
            let (x, y) = (arguments[0], arguments.get(1).copied().unwrap_or(0.0));
            let got = value(x.into(), y.into()).unwrap().to_f64();
            let error = ((got - nearest) / ulp(nearest, 52, -1022) - rest).abs();
            assert!(error <= bound, "{name}({x:e}, {y:e}) = {got:e}, not {nearest:e}: {error} ulp");
            rows += 1;
        }
    });
    assert!(rows >= 80);
}

#[test]
fn double_precision_errors_are_within_the_stated_bounds() {
    for function in &FUNCTIONS {
        let build = |x: Expr, _: Expr| (function.build)(x);
        check_table(function.name, &build, true, function.double);
        check_table(function.name, &build, false, function.double + 1.0);
    }
    check_table("pow", &pow, true, POW[1]);
    check_table("pow", &pow, false, 2e3);
    check_table("atan2", &atan2, true, ATAN2);
}

#[test]
fn double_precision_keeps_special_values() {
    let specials = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        5e-324,
        -5e-324,
        f64::MAX,
        f64::MIN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
    ];
    let erf_of =
        |x: f64| if x.abs() < 1e-300 { x * std::f64::consts::FRAC_2_SQRT_PI } else { x.clamp(-1.0, 1.0) };
    let reference = |function: &MathFunction, x: f64| match (function.wide, function.name) {
        (Some(wide), _) => wide(x),
        (None, "erf") => erf_of(x),
        (None, _) => 1.0 - erf_of(x),
    };
    // The functions of gamma.rs, bessel.rs and normal.rs have tests of their own.
    let has_reference =
        |function: &&MathFunction| function.wide.is_some() || ["erf", "erfc"].contains(&function.name);
    for function in FUNCTIONS.iter().filter(has_reference) {
        with(
            |x, _| (function.build)(x),
            DType::F64,
            true,
            |value| {
                for x in specials {
                    // The simple reference of erf and erfc does not hold at ±1.
                    if function.wide.is_none() && x.abs() == 1.0 {
                        continue;
                    }
                    let got = value(x.into(), x.into()).unwrap().to_f64();
                    let exact = reference(function, x);
                    let name = function.name;
                    let kind_fits =
                        got.is_nan() == exact.is_nan() && got.is_sign_negative() == exact.is_sign_negative();
                    let bound = 4.0 * ulp(exact, 52, -1022);
                    let close = got == exact || exact.is_finite() && (got - exact).abs() <= bound;
                    assert!(
                        exact.is_nan() && got.is_nan() || kind_fits && close,
                        "{name}({x:e}) = {got:e}, not {exact:e}"
                    );
                }
            },
        );
    }
}

/// `tests/reference/large_angles.txt` has large doubles of every magnitude, and doubles close to multiples of π/2. The
/// functions of 100,000 other doubles had the same errors.
#[test]
fn functions_of_large_angles_are_within_the_stated_bounds() {
    let rows = include_str!("../../../tests/reference/large_angles.txt").lines();
    let rows: Vec<Vec<&str>> = rows.map(|line| line.split(' ').collect()).collect();
    let double = |word: &str| f64::from_bits(u64::from_str_radix(word, 16).unwrap());
    let functions: [fn(Expr) -> Expr; 3] = [sin, cos, tan];
    for (number, (function, bound)) in functions.into_iter().zip([0.9, 0.9, 1.8]).enumerate() {
        for has_fma in [true, false] {
            let build = |x: Expr, _: Expr| function(x);
            with(build, DType::F64, has_fma, |value| {
                for row in &rows {
                    let [x, nearest] = [row[0], row[2 * number + 1]].map(double);
                    let rest: f64 = row[2 * number + 2].parse().unwrap();
                    let got = value(x.into(), x.into()).unwrap().to_f64();
                    let error = ((got - nearest) / ulp(nearest, 52, -1022) - rest).abs();
                    assert!(
                        error <= bound,
                        "function {number} of {x:e}: {got:e}, not {nearest:e}: {error} ulp"
                    );
                }
            });
        }
    }
    assert!(rows.len() > 200);
}

#[test]
fn functions_have_no_step_where_angles_become_large() {
    let at = |function: fn(Expr) -> Expr, x: f64| {
        with(|x, _| function(x), DType::F64, true, |value| value(x.into(), x.into()).unwrap().to_f64())
    };
    for function in [sin, cos] {
        for x in [LARGE_ANGLE, -LARGE_ANGLE] {
            let [below, above] = [x.next_down(), x].map(|x| at(function, x));
            assert!((below - above).abs() < 3e-10, "{x}: {below} and {above}");
        }
    }
}

#[test]
fn single_precision_powers_are_within_the_stated_bounds() {
    with(pow, DType::F32, true, |value| {
        for step in 0..4_000u32 {
            let x = f32::from_bits((0x0000_0001 + step.wrapping_mul(2_654_435_761) % 0x7f80_0000).max(1));
            let spread = (step as f32 / 4_000.0 - 0.5) * 2.0;
            for y in
                [spread * 150.0 / (x as f64).log2().abs().max(1e-6) as f32, (step % 37) as f32 - 18.0, spread]
            {
                let got = value(x.into(), y.into()).unwrap().to_f64();
                let error = error_of_single(got, (x as f64).powf(y as f64));
                assert!(error <= POW[0], "{x:e}^{y:e} = {got:e}: {error} ulp");
                if y == y.trunc() {
                    let negative = value((-x).into(), y.into()).unwrap().to_f64();
                    assert_eq!(negative, if y % 2.0 == 0.0 { got } else { -got });
                }
            }
        }
    });
}

#[test]
fn powers_and_angles_keep_special_values() {
    let specials = [0.0, 0.5, 0.7, 1.0, 2.0, 3.0, 1e30, f64::INFINITY]
        .into_iter()
        .flat_map(|x| [x, -x])
        .chain([f64::NAN]);
    let pairs: Vec<(f64, f64)> =
        specials.clone().flat_map(|x| specials.clone().map(move |y| (x, y))).collect();
    let same = |got: f64, exact: f64| {
        got == exact && got.is_sign_negative() == exact.is_sign_negative()
            || got.is_nan() && exact.is_nan()
            || (got / exact - 1.0).abs() < 1e-6
    };
    for dtype in [DType::F32, DType::F64] {
        let cast = |x: f64| crate::expr::eval_cast(Scalar::F64(x), dtype);
        let rounded = |x: f64| cast(x).to_f64();
        with(pow, dtype, true, |value| {
            for (x, y) in &pairs {
                let (got, exact) =
                    (value(cast(*x), cast(*y)).unwrap().to_f64(), rounded(rounded(*x).powf(rounded(*y))));
                assert!(same(got, exact), "{x}^{y} = {got}, not {exact} in {dtype}");
            }
        });
        with(atan2, dtype, true, |value| {
            for (y, x) in &pairs {
                let (got, exact) =
                    (value(cast(*y), cast(*x)).unwrap().to_f64(), rounded(rounded(*y).atan2(rounded(*x))));
                assert!(same(got, exact), "atan2({y}, {x}) = {got}, not {exact} in {dtype}");
            }
        });
        for exponent in [0.0, 0.5, -0.5, 1.0, 2.0, -1.0, 3.0] {
            with(
                |x, y| pow(x, y.like(exponent)),
                dtype,
                true,
                |value| {
                    for (x, _) in &pairs {
                        let (got, exact) = (
                            value(cast(*x), cast(*x)).unwrap().to_f64(),
                            rounded(rounded(*x).powf(exponent)),
                        );
                        assert!(same(got, exact), "{x}^{exponent} = {got}, not {exact} in {dtype}");
                    }
                },
            );
        }
    }
}

#[test]
fn integer_powers_wrap_and_refuse_negative_exponents() {
    let value = |x: Scalar, y: Scalar| with(pow, x.dtype(), true, |value| value(x, y));
    for (x, y, power) in [
        (2, 31, i32::MIN),
        (3, 21, 1_870_418_611),
        (0, 0, 1),
        (-1, 5, -1),
        (2, 40, 0),
        (-7, i32::MAX, 1_840_700_263),
    ] {
        let wrapped = (0..y.min(100)).fold(1i32, |product, _| product.wrapping_mul(x));
        assert!(y > 100 || wrapped == power);
        let expected = if y > 100 { x.wrapping_pow(y as u32) } else { power };
        assert_eq!(value(x.into(), y.into()), Ok(expected.into()), "{x}^{y}");
        let constant = pow(Expr::constant(x), Expr::constant(y));
        assert_eq!(evaluate_constant(&constant), Ok(expected.into()));
    }
    assert_eq!(value(3u8.into(), 255u8.into()), Ok(3u8.wrapping_pow(255).into()));
    assert_eq!(value((-3i64).into(), 39i64.into()), Ok((-3i64).wrapping_pow(39).into()));
    assert_eq!(value((-1i64).into(), i64::MAX.into()), Ok((-1i64).into()));
    assert_eq!(value(5i16.into(), 6i16.into()), Ok(5i16.wrapping_pow(6).into()));
    let fault = Fault::Index { index: -2, limit: i64::MAX, axis: EXPONENT };
    assert_eq!(value(2i32.into(), (-2i32).into()), Err(fault));
    assert_eq!(value(2i64.into(), (-2i64).into()), Err(fault));
    assert_eq!(evaluate_constant(&pow(Expr::constant(2i8), Expr::constant(-2i8))), Err(fault));
}

#[test]
fn halves_are_rounded_once() {
    let x = f16::from_f32(0.3);
    let value = |expr: Expr| evaluate_constant(&expr).unwrap();
    assert_eq!(value(exp(Expr::constant(x))), Scalar::F16(f16::from_f64(x.to_f64().exp())));
    assert_eq!(value(tanh(Expr::constant(x))), Scalar::F16(f16::from_f64(x.to_f64().tanh())));
    let y = bf16::from_f32(-3.25);
    assert_eq!(value(sigmoid(Expr::constant(y))), Scalar::BF16(bf16::from_f64(1.0 / (1.0 + 3.25f64.exp()))));
    assert_eq!(value(pow(Expr::constant(x), Expr::constant(x))).dtype(), DType::F16);
    assert_eq!(value(pow(Expr::constant(y), Expr::constant(bf16::from_f32(0.5)))).dtype(), DType::BF16);
}

#[test]
fn other_dtypes_are_refused() {
    for function in &FUNCTIONS {
        assert!(verify(post_order([&(function.build)(Expr::constant(1i32))])).is_err(), "{}", function.name);
        assert!(verify(post_order([&(function.build)(Expr::constant(true))])).is_err(), "{}", function.name);
    }
    assert!(verify(post_order([&pow(Expr::constant(true), Expr::constant(true))])).is_err());
    assert!(verify(post_order([&pow(Expr::constant(1f32), Expr::constant(1f64))])).is_err());
    assert!(verify(post_order([&atan2(Expr::constant(1i32), Expr::constant(1i32))])).is_err());
}
