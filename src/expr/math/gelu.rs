//! `gelu_tanh`.

use super::build::*;
use super::exp::one_plus_exp2;
use crate::expr::Expr;

/// Computes `0.5 * x * (1 + tanh(u))` with `u = sqrt(2/π) * (x + 0.044715 * x³)`. The expression is `x / (1 + e^-2u)`,
/// in which nothing cancels if tanh is near -1. Error in f32: `3.2 + 2.1 · max(-2u, 0)` ulp; the rounding of `u` causes
/// the second term.
pub(crate) fn gelu_tanh(x: Expr) -> Expr {
    in_float(x, |x| {
        let linear = -2.0 * (2.0 / std::f64::consts::PI).sqrt() * std::f64::consts::LOG2_E;
        let exponent = x * fma_const(&(x * x), 0.044715 * linear, &x.like(linear));
        x.clone() / one_plus_exp2(&exponent)
    })
}

#[cfg(test)]
mod tests {
    use shapeflow_shape_fns::DType;

    use super::gelu_tanh;
    use crate::expr::Expr;
    use crate::expr::interpret::evaluate_constant;
    use crate::expr::math::accuracy::with;
    use crate::expr::math::exp_nonpositive;
    use crate::expr::math::ulp::error_of_single;

    /// Returns the largest `share` over all arguments. `share` gets an argument and the error there, in ulp of an f32.
    fn largest_share(
        f: fn(Expr) -> Expr,
        arguments: impl Iterator<Item = f32>,
        exact: fn(f64) -> f64,
        share: fn(f64, f64) -> f64,
    ) -> f64 {
        with(
            |x, _| f(x),
            DType::F32,
            true,
            |value| {
                arguments.fold(0.0, |max: f64, x| {
                    let wide = f64::from(x);
                    let got = value(x.into(), x.into()).unwrap().to_f64();
                    max.max(share(wide, error_of_single(got, exact(wide))))
                })
            },
        )
    }

    /// Twice the argument of the hyperbolic tangent.
    fn doubled(x: f64) -> f64 {
        2.0 * (2.0 / std::f64::consts::PI).sqrt() * (x + 0.044715 * x.powi(3))
    }

    #[test]
    fn errors_are_within_the_stated_bounds() {
        let steps = || (1..80_000).map(|step| step as f32 * 1.234567e-4);
        let gelu = largest_share(
            gelu_tanh,
            steps().flat_map(|x| [x, -x]),
            |x| x / (1.0 + (-doubled(x)).exp()),
            |x, error| error / (3.2 + 2.1 * (-doubled(x)).max(0.0)),
        );
        let power = largest_share(exp_nonpositive, steps().map(|x| -8.0 * x), f64::exp, |x, error| {
            error / (1.8 - 0.06 * x)
        });
        assert!(gelu <= 1.0 && power <= 1.0, "{gelu} {power}");
    }

    #[test]
    fn zeros_infinities_and_large_arguments_are_exact() {
        let values = [0.0, -0.0, f32::INFINITY, 30.0, -30.0, f32::MIN, f32::MAX];
        let expected = [0.0, -0.0, f64::INFINITY, 30.0, -0.0, -0.0, f64::from(f32::MAX)];
        let value = |f: fn(Expr) -> Expr, x: f32| evaluate_constant(&f(Expr::constant(x))).unwrap().to_f64();
        for (x, expected) in values.into_iter().zip(expected) {
            assert_eq!(value(gelu_tanh, x).to_bits(), f64::to_bits(expected), "{x}");
        }
        assert!(value(gelu_tanh, f32::NAN).is_nan());
        assert_eq!([value(exp_nonpositive, 0.0), value(exp_nonpositive, f32::NEG_INFINITY)], [1.0, 0.0]);
    }
}
