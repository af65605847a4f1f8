//! Trigonometric and hyperbolic functions and their inverses; angles are in radians.

use crate::expr::math;
use crate::ops::elementwise::unary_ops;

unary_ops! { unary, "":
    /// The sine of every element, in radians.
    ///
    /// The error is at most 1.6 ulp in f32, and 1.3 ulp in f64 for arguments up to 1e6.
    sin, SIN: inexact, ["Sin"], math::sin;

    /// The cosine of every element, in radians.
    ///
    /// The error is at most 1.6 ulp in f32, and 1.4 ulp in f64 for arguments up to 1e6.
    cos, COS: inexact, ["Cos"], math::cos;

    /// The tangent of every element, in radians.
    ///
    /// The error is at most 0.6 ulp in f32, and 2.2 ulp in f64 for arguments up to 1e6.
    tan, TAN: inexact, ["Tan"], math::tan;

    /// The angle in `[-π/2, π/2]` whose sine is the element, in radians. NaN outside `[-1, 1]`.
    ///
    /// The error is at most 1.2 ulp in f32, 1.1 ulp in f64.
    #[doc(alias = "arcsin")]
    asin, ASIN: inexact, ["Asin"], math::asin;

    /// The angle in `[0, π]` whose cosine is the element, in radians. NaN outside `[-1, 1]`.
    ///
    /// The error is at most 1.2 ulp in f32, 1.2 ulp in f64.
    #[doc(alias = "arccos")]
    acos, ACOS: inexact, ["Acos"], math::acos;

    /// The angle in `[-π/2, π/2]` whose tangent is the element, in radians.
    ///
    /// The error is at most 1.4 ulp in f32, 1.1 ulp in f64.
    #[doc(alias = "arctan")]
    atan, ATAN: inexact, ["Atan"], math::atan;

    /// The hyperbolic sine of every element.
    ///
    /// The error is at most 0.6 ulp in f32, 2.2 ulp in f64.
    sinh, SINH: inexact, ["Sinh"], math::sinh;

    /// The hyperbolic cosine of every element.
    ///
    /// The error is at most 0.6 ulp in f32, 1.2 ulp in f64.
    cosh, COSH: inexact, ["Cosh"], math::cosh;

    /// The hyperbolic tangent of every element.
    ///
    /// The error is at most 1.6 ulp in f32, 1.5 ulp in f64.
    tanh, TANH: inexact, ["Tanh"], math::tanh;

    /// The number whose hyperbolic sine is the element.
    ///
    /// The error is at most 0.6 ulp in f32, 1.6 ulp in f64.
    #[doc(alias = "arcsinh")]
    asinh, ASINH: inexact, ["Asinh"], math::asinh;

    /// The number, at least 0, whose hyperbolic cosine is the element. NaN below 1.
    ///
    /// The error is at most 0.6 ulp in f32, 1.6 ulp in f64.
    #[doc(alias = "arccosh")]
    acosh, ACOSH: inexact, ["Acosh"], math::acosh;

    /// The number whose hyperbolic tangent is the element. Infinite at ±1, NaN beyond.
    ///
    /// The error is at most 0.6 ulp in f32, 1.6 ulp in f64.
    #[doc(alias = "arctanh")]
    atanh, ATANH: inexact, ["Atanh"], math::atanh;
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
