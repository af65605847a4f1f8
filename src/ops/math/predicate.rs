//! Questions about floats: `is_nan`, `is_inf`, `is_finite`.

use crate::ops::elementwise::unary_ops;

unary_ops! { rules = predicate, result = "; the result is bool":
    /// Whether the element is NaN.
    #[doc(alias = "isnan")]
    is_nan, IS_NAN: float, ["IsNan"],
        [1.0, f64::NAN, f64::INFINITY] = [false, true, false], |x| x.clone().not_equal(x);

    /// Whether the element is `inf` or `-inf`.
    #[doc(alias = "isinf")]
    is_inf, IS_INF: float, ["IsInf"], [1.0, f64::NAN, f64::INFINITY] = [false, false, true], |x| {
        let infinity = x.like(f64::INFINITY);
        x.abs().equal(infinity)
    };

    /// Whether the element is neither infinite nor NaN.
    #[doc(alias = "isfinite")]
    is_finite, IS_FINITE: float, ["IsFinite"], [1.0, f64::NAN, f64::INFINITY] = [true, false, false], |x| {
        let infinity = x.like(f64::INFINITY);
        x.abs().less(infinity)
    };
}

#[cfg(test)]
mod tests {
    use shapeflow_shape_fns::Attrs;

    use super::*;
    use crate::ops::testing::{check_tensor, run_one, tensor};

    #[test]
    fn values() {
        let x = tensor(&[5], &[0.0f32, f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MAX]);
        let rows = [
            (&IS_NAN, [false, true, false, false, false]),
            (&IS_INF, [false, false, true, true, false]),
            (&IS_FINITE, [true, false, false, false, true]),
        ];
        for (def, expected) in rows {
            let got = run_one(def, &Attrs::new(), std::slice::from_ref(&x));
            check_tensor(&got, &tensor(&[5], &expected), def.name());
        }
    }
}
