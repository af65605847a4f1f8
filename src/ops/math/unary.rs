//! Arithmetic on one operand: signs, powers and roots, rounding.
//!
//! In a row, `number` stands for integers and floats, `numeric` for complex numbers too.

use crate::expr::{UnaryOp, math};
use crate::ops::elementwise::unary_ops;
use crate::ops::elementwise_in_tensorflow as in_tensorflow;

unary_ops! { rules = unary, result = "":
    /// `-x` for every element, as the operator. Integers wrap: `-MIN` is `MIN`.
    #[doc(alias = "negative")]
    #[expect(clippy::should_implement_trait, reason = "the operator cannot return a `Result`")]
    neg, NEG: signed_numeric, ["Neg"], [1.5, -2.0] = [-1.5, 2.0], |x| -x, shape = crate::shape_fns::math::neg;

    /// -1 for a negative element, 0 for zero, 1 for a positive element. NaN stays NaN.
    #[doc(alias = "sgn")]
    sign, SIGN: signed_numeric, ["Sign"], [-2.5, 0.0, 7.0] = [-1.0, 0.0, 1.0], math::sign;

    /// The square of every element. Integers wrap.
    square, SQUARE: numeric, ["Square"], [3, -4] = [9, 16], |x| x.clone() * x;

    /// The correctly rounded square root of every element. NaN for negative elements.
    sqrt, SQRT: inexact, ["Sqrt"], [4.0, 2.25] = [2.0, 1.5], math::sqrt;

    /// `1 / sqrt(x)` for every element; infinite at zero, NaN below zero.
    ///
    /// The error is at most 1.5 ulp in f32, 1.5 ulp in f64.
    rsqrt, RSQRT: inexact, ["Rsqrt"], [4.0, 0.25] ~ [0.5, 2.0], math::rsqrt;

    /// The cube root of every element; negative for negative elements. As C's `cbrt`.
    ///
    /// The error is at most 0.8 ulp in f32, 0.8 ulp in f64.
    cbrt, CBRT: float, [; in_tensorflow::cbrt], [8.0, -27.0] ~ [2.0, -3.0], math::cbrt;

    /// `1 / x` for every element. Infinite at zero.
    reciprocal, RECIPROCAL: inexact, ["Reciprocal", "Inv"], [2.0, -0.25] = [0.5, -4.0], math::reciprocal;

    /// The integer nearest to every element, ties to even. Integers are returned unchanged, as in TensorFlow's Python
    /// API.
    #[doc(alias = "rint")]
    round, ROUND: number, ["Round", "Rint"; in_tensorflow::round],
        [0.5, 1.5, -2.7] = [0.0, 2.0, -3.0],
        |x| if x.dtype().is_float() { x.unary(UnaryOp::Round) } else { x };

    /// The largest integer that is at most the element, as a float.
    floor, FLOOR: float, ["Floor"], [1.7, -1.2] = [1.0, -2.0], |x| x.unary(UnaryOp::Floor);

    /// The smallest integer that is at least the element, as a float.
    ceil, CEIL: float, ["Ceil"], [1.2, -1.7] = [2.0, -1.0], |x| x.unary(UnaryOp::Ceil);
}

#[cfg(test)]
mod tests {
    use shapeflow_shape_fns::Attrs;

    use super::*;
    use crate::ops::testing::{check_function, check_tensor, run_one, tensor};

    #[test]
    fn values() {
        check_function(&CBRT, &[0.0, 0.5, -1.5, 3.0], f64::cbrt);
        let x = tensor(&[4], &[2.0f32, -4.0, 0.0, f32::INFINITY]);
        let expected = tensor(&[4], &[0.5f32, -0.25, f32::INFINITY, 0.0]);
        check_tensor(&run_one(&RECIPROCAL, &Attrs::new(), &[x]), &expected, "reciprocal");
    }
}
