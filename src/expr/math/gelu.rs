//! `gelu_tanh`.

use super::build::*;
use super::exp::plus_power_of_2;
use crate::expr::Expr;

/// `0.5 * x * (1 + tanh(u))` with `u = sqrt(2/π) * (x + 0.044715 * x³)`, which is `x / (1 + e^-2u)`: nothing cancels where
/// the tangent is near -1. Errors: f32 3.2 ulp and 2.1 for each unit that `2u` is below 0, of which the
/// rounding shows.
pub(crate) fn gelu_tanh(x: Expr) -> Expr {
    in_float(x, |x| {
        let linear = -2.0 * (2.0 / std::f64::consts::PI).sqrt() * std::f64::consts::LOG2_E;
        let exponent = x * fma_const(&(x * x), 0.044715 * linear, &x.like(linear));
        x.clone() / plus_power_of_2(&exponent)
    })
}

#[cfg(test)]
mod tests {
    use super::gelu_tanh;
    use crate::expr::interpret::evaluate_constant;
    use crate::expr::math::exp_nonpositive;
    use crate::expr::{Expr, Scalar};

    fn at(f: fn(Expr) -> Expr, x: f32) -> f64 {
        evaluate_constant(&f(Expr::constant(Scalar::F32(x)))).unwrap().to_f64()
    }

    /// The distance from `exact` in ulp of an f32.
    fn ulps(got: f64, exact: f64) -> f64 {
        (got - exact).abs() / 2f64.powi(exact.abs().log2().floor() as i32 - 23)
    }

    #[test]
    fn errors_are_those_stated() {
        let mut most = [0.0f64; 2];
        for step in 1..80_000 {
            let x = step as f32 * 1.234567e-4;
            for x in [x, -x] {
                let wide = f64::from(x);
                let u = (2.0 / std::f64::consts::PI).sqrt() * (wide + 0.044715 * wide.powi(3));
                let error = ulps(at(gelu_tanh, x), wide / (1.0 + (-2.0 * u).exp()));
                most[0] = most[0].max(error / (3.2 + 2.1 * (-2.0 * u).max(0.0)));
            }
            let power = ulps(at(exp_nonpositive, -8.0 * x), f64::from(-8.0 * x).exp());
            most[1] = most[1].max(power / (1.8 + 0.06 * 8.0 * f64::from(x)));
        }
        assert!(most.iter().all(|most| *most <= 1.0), "{most:?}");
    }

    #[test]
    fn ends_are_those_of_the_function() {
        let values = [0.0, -0.0, f32::INFINITY, 30.0, -30.0, f32::MIN, f32::MAX];
        let expected = [0.0, -0.0, f64::INFINITY, 30.0, -0.0, -0.0, f64::from(f32::MAX)];
        for (x, expected) in values.into_iter().zip(expected) {
            assert_eq!(at(gelu_tanh, x).to_bits(), f64::to_bits(expected), "{x}");
        }
        assert!(at(gelu_tanh, f32::NAN).is_nan());
        assert_eq!([at(exp_nonpositive, 0.0), at(exp_nonpositive, f32::NEG_INFINITY)], [1.0, 0.0]);
    }
}
