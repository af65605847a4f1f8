//! `asin`, `acos`, `atan`, `atan2`.

use super::build::*;
use crate::expr::Expr;

/// π as the sum of two parts, for f32 and f64.
const PI: [(f64, f64); 2] = [
    (3.141_592_741_012_573_2, -8.742_277_657_347_586e-8),
    (std::f64::consts::PI, 1.224_646_799_147_353_2e-16),
];

/// Coefficients of `(asin(s)/s - 1) / s²` in powers of `s²` for `s <= 1/2`: relative error 2^-27.6.
const ASIN_SINGLE: [f64; 5] =
    [0.042158305644989014, 0.024184778332710266, 0.04546914994716644, 0.074953094124794, 0.16666752099990845];

/// As [`ASIN_SINGLE`]: relative error 2^-59.
const ASIN_DOUBLE: [f64; 13] = [
    0.032628457935540194,
    -0.020998784823177463,
    0.021707239709268564,
    0.0037064997879294754,
    0.0107802267286154,
    0.011398917316254307,
    0.013980819854930408,
    0.01735161207949864,
    0.022372214983327882,
    0.030381942707970674,
    0.04464285717460698,
    0.07499999999970806,
    0.1666666666666676,
];

/// Coefficients of `(atan(t)/t - 1) / t²` in powers of `t²` for `t <= 1`: relative error 2^-25.8.
const ATAN_SINGLE: [f64; 8] = [
    0.0029202508740127087,
    -0.016365772113204002,
    0.04320770502090454,
    -0.0755181536078453,
    0.10665804892778397,
    -0.14211004972457886,
    0.19993767142295837,
    -0.33333152532577515,
];

/// As [`ATAN_SINGLE`]: relative error 2^-54.
const ATAN_DOUBLE: [f64; 20] = [
    1.3225425032651466e-05,
    -0.00015216435780025393,
    0.0008313379520462883,
    -0.0028849638793932166,
    0.007196590761368714,
    -0.013900682218851292,
    0.021984980463997196,
    -0.029903958867931173,
    0.0366419713849371,
    -0.042191817236167564,
    0.04722323164877413,
    -0.05253518787921178,
    0.0588052785375381,
    -0.0666640406102056,
    0.07692279839192426,
    -0.09090907002922409,
    0.11111111007017734,
    -0.1428571428257463,
    0.19999999999951448,
    -0.3333333333333307,
];

/// Computes the arc sine; NaN outside `[-1, 1]`. Errors: f32 1.2 ulp, f64 1.1 ulp.
pub fn asin(x: Expr) -> Expr {
    in_float(x, |x| {
        let Arc { far, root, rest } = arc(x, &abs(x));
        let (half_pi, low) = part_of_pi(x, 0.5);
        let (near, error) = difference(x.like(half_pi), &root + &root);
        let from_end = near - ((&rest + &rest - x.like(low)) - error);
        with_sign(&far.select(from_end, root + rest), x)
    })
}

/// Computes the arc cosine; NaN outside `[-1, 1]`. Errors: f32 1.2 ulp, f64 1.2 ulp.
pub fn acos(x: Expr) -> Expr {
    in_float(x, |x| {
        let Arc { far, root, rest } = arc(x, x);
        let (half_pi, half_low) = part_of_pi(x, 0.5);
        let (pi, low) = part_of_pi(x, 1.0);
        let twice = (&root + &root, &rest + &rest);
        let negative = (x.like(pi) - &twice.0) - (&twice.1 - x.like(low));
        let positive = twice.0 + twice.1;
        let (near, error) = difference(x.like(half_pi), root);
        let middle = near - ((rest - x.like(half_low)) - error);
        far.select(x.clone().less(x.like(0.0)).select(negative, positive), middle)
    })
}

/// `asin(s) = root + rest`, where `s` is `near` for `|x| <= 1/2`, else `√((1 - |x|) / 2)`.
struct Arc {
    /// Whether `|x| > 1/2`.
    far: Expr,
    /// `s` itself.
    root: Expr,
    rest: Expr,
}

/// Reduces the argument `x` of `asin` or `acos`. `near` is the `s` of [`Arc`] for `|x| <= 1/2`.
fn arc(x: &Expr, near: &Expr) -> Arc {
    let magnitude = abs(x);
    let far = x.like(0.5).less(magnitude.clone());
    let z = far.clone().select(times(&(x.like(1.0) - magnitude), 0.5), x * x);
    let root = far.clone().select(z.clone().sqrt(), near.clone());
    let p = FloatFormat::of(x).by_width(horner(&z, &ASIN_SINGLE), horner(&z, &ASIN_DOUBLE));
    let rest = &root * z * p;
    Arc { far, root, rest }
}

/// Returns `a - b`, for `|a| >= |b|`, and its rounding error.
fn difference(a: Expr, b: Expr) -> (Expr, Expr) {
    let rounded = &a - &b;
    let error = (a - &rounded) - b;
    (rounded, error)
}

/// Returns `factor · π` as the sum of two parts, in the format of `x`.
fn part_of_pi(x: &Expr, factor: f64) -> (f64, f64) {
    let (high, low) = FloatFormat::of(x).by_width(PI[0], PI[1]);
    (high * factor, low * factor)
}

/// Computes the arc tangent. Errors: f32 1.4 ulp, f64 1.1 ulp.
pub fn atan(x: Expr) -> Expr {
    in_float(x, |x| {
        let magnitude = abs(x);
        let steep = x.like(1.0).less(magnitude.clone());
        let t = steep.clone().select(x.like(-1.0), magnitude.clone())
            / steep.clone().select(magnitude, x.like(1.0));
        let (half_pi, low) = part_of_pi(x, 0.5);
        let zero = x.like(0.0);
        let rest = atan_rest(&t) + steep.clone().select(x.like(low), zero.clone());
        with_sign(&((t + rest) + steep.select(x.like(half_pi), zero)), x)
    })
}

/// Computes `atan(t) - t` for `|t| <= 1`.
fn atan_rest(t: &Expr) -> Expr {
    let z = t * t;
    t * &z * FloatFormat::of(t).by_width(horner(&z, &ATAN_SINGLE), horner(&z, &ATAN_DOUBLE))
}

/// Computes the angle of the point `(x, y)`, in `[-π, π]`. Zero and infinite coordinates give C99's values. Errors: f32
/// 1.4 ulp, f64 1.4 ulp.
pub fn atan2(y: Expr, x: Expr) -> Expr {
    in_float2(y, x, |y, x| {
        let format = FloatFormat::of(x);
        let (high, wide) = (abs(y), abs(x));
        let steep = wide.clone().less(high.clone());
        let least = steep.clone().select(wide.clone(), high.clone());
        let most = steep.clone().select(high, wide);
        let zero = x.like(0.0);
        // If |y| = |x|, the quotient is 1, or 0 for two zeros. The quotient 1 also covers two infinities.
        let diagonal = most.clone().equal(zero.clone()).select(zero.clone(), x.like(1.0));
        let t = least.clone().equal(most.clone()).select(diagonal, least / most);
        let rest = atan_rest(&t);
        let (pi, pi_low) = part_of_pi(x, 1.0);
        let (half_pi, half_low) = part_of_pi(x, 0.5);
        // angle = base ± (t + rest), where base is π/2 if |y| > |x|, else π if x < 0, else 0.
        let backward = (bits(x) & format.sign()).not_equal(format.word(0));
        let turned = steep.clone().not_equal(backward.clone());
        let base = steep.clone().select(x.like(half_pi), backward.clone().select(x.like(pi), zero.clone()));
        let base_low = steep.select(x.like(half_low), backward.select(x.like(pi_low), zero));
        let t = turned.clone().select(-t.clone(), t);
        let rest = turned.select(-rest.clone(), rest);
        with_sign(&(base + (t + (rest + base_low))), y)
    })
}
