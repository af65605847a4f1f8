//! Trigonometric and hyperbolic functions and their inverses; angles are in radians.

use crate::expr::math;
use crate::ops::elementwise::unary_ops;

unary_ops! { rules = unary, result = "":
    /// The sine of every element, in radians.
    ///
    /// The error is at most 1.6 ulp in f32, and 1.3 ulp in f64.
    sin, SIN: inexact, ["Sin"], [0.0, 1.0] ~ [0.0, 0.8415], math::sin;

    /// The cosine of every element, in radians.
    ///
    /// The error is at most 1.6 ulp in f32, and 1.4 ulp in f64.
    cos, COS: inexact, ["Cos"], [0.0, 1.0] ~ [1.0, 0.5403], math::cos;

    /// The tangent of every element, in radians.
    ///
    /// The error is at most 0.6 ulp in f32, and 2.2 ulp in f64.
    tan, TAN: inexact, ["Tan"], [0.0, 1.0] ~ [0.0, 1.557], math::tan;

    /// The angle in `[-π/2, π/2]` whose sine is the element, in radians. NaN outside `[-1, 1]`.
    ///
    /// The error is at most 1.2 ulp in f32, 1.1 ulp in f64.
    #[doc(alias = "arcsin")]
    asin, ASIN: inexact, ["Asin"], [0.0, 1.0] ~ [0.0, 1.571], math::asin;

    /// The angle in `[0, π]` whose cosine is the element, in radians. NaN outside `[-1, 1]`.
    ///
    /// The error is at most 1.2 ulp in f32, 1.2 ulp in f64.
    #[doc(alias = "arccos")]
    acos, ACOS: inexact, ["Acos"], [1.0, 0.0] ~ [0.0, 1.571], math::acos;

    /// The angle in `[-π/2, π/2]` whose tangent is the element, in radians.
    ///
    /// The error is at most 1.4 ulp in f32, 1.1 ulp in f64.
    #[doc(alias = "arctan")]
    atan, ATAN: inexact, ["Atan"], [0.0, 1.0] ~ [0.0, 0.7854], math::atan;

    /// The hyperbolic sine of every element.
    ///
    /// The error is at most 0.6 ulp in f32, 2.2 ulp in f64.
    sinh, SINH: inexact, ["Sinh"], [0.0, 1.0] ~ [0.0, 1.175], math::sinh;

    /// The hyperbolic cosine of every element.
    ///
    /// The error is at most 0.6 ulp in f32, 1.2 ulp in f64.
    cosh, COSH: inexact, ["Cosh"], [0.0, 1.0] ~ [1.0, 1.543], math::cosh;

    /// The hyperbolic tangent of every element.
    ///
    /// The error is at most 1.6 ulp in f32, 1.5 ulp in f64.
    tanh, TANH: inexact, ["Tanh"], [0.0, 1.0] ~ [0.0, 0.7616], math::tanh;

    /// The number whose hyperbolic sine is the element.
    ///
    /// The error is at most 0.6 ulp in f32, 1.6 ulp in f64.
    #[doc(alias = "arcsinh")]
    asinh, ASINH: inexact, ["Asinh"], [0.0, 1.0] ~ [0.0, 0.8814], math::asinh;

    /// The number, at least 0, whose hyperbolic cosine is the element. NaN below 1.
    ///
    /// The error is at most 0.6 ulp in f32, 1.6 ulp in f64.
    #[doc(alias = "arccosh")]
    acosh, ACOSH: inexact, ["Acosh"], [1.0, 2.0] ~ [0.0, 1.317], math::acosh;

    /// The number whose hyperbolic tangent is the element. Infinite at ±1, NaN beyond.
    ///
    /// The error is at most 0.6 ulp in f32, 1.6 ulp in f64.
    #[doc(alias = "arctanh")]
    atanh, ATANH: inexact, ["Atanh"], [0.0, 0.5] ~ [0.0, 0.5493], math::atanh;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::check_function;

    #[test]
    fn values() {
        check_function(&TAN, &[0.0, 0.5, -1.5, 3.0], f64::tan);
    }
}
