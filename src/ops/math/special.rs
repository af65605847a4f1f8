//! Special functions of one operand.

use crate::expr::math;
use crate::ops::elementwise::unary_ops;

unary_ops! { rules = unary, result = "":
    /// The natural logarithm of the absolute value of the gamma function; inf at 0 and at negative integers.
    ///
    /// The error is at most 0.6 ulp in f32, 4 ulp in f64. Below 0, where the result crosses zero, the errors are in ulp
    /// of `max(|result|, 1)`.
    #[doc(alias = "gammaln")]
    lgamma, LGAMMA: float, ["Lgamma"], [5.0, 0.5] ~ [3.178, 0.5724], math::lgamma;

    /// The derivative of [`Value::lgamma`](crate::Value::lgamma); NaN at 0 and at negative integers.
    ///
    /// The error is at most 0.6 ulp in f32, 3 ulp in f64. Below 0, where the result crosses zero, the errors are in ulp
    /// of `|π / tan(πx)|`.
    #[doc(alias = "psi")]
    digamma, DIGAMMA: float, ["Digamma"], [1.0, 10.0] ~ [-0.5772, 2.252], math::digamma;

    /// `exp(-|x|) * I0(x)` for every element, where `I0` is the modified Bessel function of the first kind.
    ///
    /// The error is at most 0.6 ulp in f32, 4 ulp in f64.
    #[doc(alias = "i0e")]
    bessel_i0e, BESSEL_I0E: float, ["BesselI0e"], [0.0, 1.0] ~ [1.0, 0.4658], math::bessel_i0e;

    /// `exp(-|x|) * I1(x)` for every element, where `I1` is the modified Bessel function of the first kind.
    ///
    /// The error is at most 0.6 ulp in f32, 4 ulp in f64.
    #[doc(alias = "i1e")]
    bessel_i1e, BESSEL_I1E: float, ["BesselI1e"], [0.0, 1.0] ~ [0.0, 0.2079], math::bessel_i1e;

    /// The inverse of [`Value::erf`](crate::Value::erf): -inf at -1, inf at 1, and NaN outside.
    ///
    /// The error is at most 0.6 ulp in f32, 4 ulp in f64.
    erfinv, ERFINV: float, ["Erfinv"], [0.0, 0.5] ~ [0.0, 0.4769], math::erfinv;

    /// The quantile of the normal distribution with mean 0 and variance 1: a random number is less than the result with
    /// probability `x`. The quantile is -inf at 0, inf at 1, and NaN outside.
    ///
    /// The error is at most 0.6 ulp in f32, 4 ulp in f64.
    #[doc(alias = "ppf")]
    #[doc(alias = "quantile")]
    ndtri, NDTRI: float, ["Ndtri"], [0.5, 0.975] ~ [0.0, 1.960], math::ndtri;
}
