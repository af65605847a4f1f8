//! Exponentials, logarithms and error functions.

use crate::expr::math;
use crate::ops::elementwise::unary_ops;
use crate::ops::elementwise_in_tensorflow as in_tensorflow;

unary_ops! { rules = unary, result = "":
    /// e to the power of every element.
    ///
    /// The error is at most 0.9 ulp in f32, 0.9 ulp in f64.
    exp, EXP: inexact, ["Exp"], [0.0, 1.0] ~ [1.0, 2.718], math::exp;

    /// 2 to the power of every element. As C's `exp2`.
    ///
    /// The error is at most 1 ulp in f32, 0.9 ulp in f64.
    exp2, EXP2: float, [; in_tensorflow::exp2], [3.0, -1.0] ~ [8.0, 0.5], math::exp2;

    /// `exp(x) - 1` for every element, also precise near zero, where the plain difference loses digits.
    ///
    /// The error is at most 1.6 ulp in f32, 1.7 ulp in f64.
    expm1, EXPM1: inexact, ["Expm1"], [0.0, 0.0002] ~ [0.0, 0.0002], math::expm1;

    /// The natural logarithm of every element; -inf at zero, NaN below zero.
    ///
    /// The error is at most 0.9 ulp in f32, 0.8 ulp in f64.
    #[doc(alias = "ln")]
    log, LOG: inexact, ["Log"], [1.0, 10.0] ~ [0.0, 2.303], math::log;

    /// `log(1 + x)` for every element, also precise near zero, where the plain sum loses digits.
    ///
    /// The error is at most 1.5 ulp in f32, 0.8 ulp in f64.
    log1p, LOG1P: inexact, ["Log1p"], [0.0, 1.0] ~ [0.0, 0.6931], math::log1p;

    /// The logarithm to base 2 of every element, exact for powers of 2; -inf at zero, NaN below zero. As C's `log2`.
    ///
    /// The error is at most 1 ulp in f32, 0.8 ulp in f64.
    log2, LOG2: float, [; in_tensorflow::log2], [8.0, 0.5] = [3.0, -1.0], math::log2;

    /// `1 / (1 + exp(-x))` for every element, without overflow.
    ///
    /// The error is at most 2.5 ulp in f32, 2.1 ulp in f64.
    #[doc(alias = "expit")]
    #[doc(alias = "logistic")]
    sigmoid, SIGMOID: inexact, ["Sigmoid"], [0.0, 2.0] ~ [0.5, 0.8808], math::sigmoid;

    /// The error function of every element. The error function is 1 and -1 at the infinities, where TensorFlow gives
    /// NaN for f64.
    ///
    /// The error is at most 1.4 ulp in f32, 1 ulp in f64.
    erf, ERF: float, ["Erf"], [0.0, 1.0] ~ [0.0, 0.8427], math::erf;

    /// `1 - erf(x)` for every element, also precise if `erf(x)` is near 1.
    ///
    /// The error is at most 0.6 ulp in f32, 3 ulp in f64.
    erfc, ERFC: float, ["Erfc"], [0.0, 1.0] ~ [1.0, 0.1573], math::erfc;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::check_function;

    #[test]
    fn values() {
        let x = [0.0, 0.5, -1.5, 3.0];
        check_function(&EXP2, &x, f64::exp2);
        check_function(&LOG2, &x, f64::log2);
    }
}
