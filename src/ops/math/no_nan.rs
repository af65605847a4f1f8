//! Products and quotients that are 0, not NaN, where one operand is 0.

use crate::expr::{Expr, math};
use crate::ops::elementwise::binary_ops;
use crate::ops::widen::widened_pair;

/// `value`, or 0 if `x` is 0.
fn unless_zero(x: &Expr, value: Expr) -> Expr {
    let zero = x.like(0.0);
    x.clone().equal(zero.clone()).select(zero, value)
}

binary_ops! { rules = binary, result = "":
    /// `self / other`, but 0 if `other` is 0.
    #[doc(alias = "divide_no_nan")]
    div_no_nan, DIV_NO_NAN: inexact, ["DivNoNan"], [1.0, 6.0], [0.0, 2.0] = [0.0, 3.0], |x, y| unless_zero(&y, x / &y);

    /// `self * other`, but 0 if `other` is 0, also if `self` is infinite or NaN.
    #[doc(alias = "multiply_no_nan")]
    mul_no_nan, MUL_NO_NAN: inexact, ["MulNoNan"],
        [f64::NAN, 6.0], [0.0, 2.0] = [0.0, 12.0], |x, y| unless_zero(&y, x * &y);

    /// `self * log(other)`, but 0 if `self` is 0.
    xlogy, XLOGY: inexact, ["Xlogy"],
        [0.0, 2.0], [0.0, 10.0] ~ [0.0, 4.605],
        |x, y| widened_pair(x, y, |x, y| unless_zero(&x, &x * math::log(y)));

    /// `self * log(1 + other)`, but 0 if `self` is 0. Also precise for `other` near zero.
    xlog1py, XLOG1PY: inexact, ["Xlog1py"],
        [0.0, 2.0], [-1.0, 9.0] ~ [0.0, 4.605],
        |x, y| widened_pair(x, y, |x, y| unless_zero(&x, &x * math::log1p(y)));

    /// `self / other`, but 0 if `self` is 0.
    xdivy, XDIVY: inexact, ["Xdivy"], [0.0, 6.0], [0.0, 2.0] = [0.0, 3.0], |x, y| unless_zero(&x, &x / y);
}

#[cfg(test)]
mod tests {
    use shapeflow_shape_fns::Attrs;

    use super::*;
    use crate::ops::testing::{check_tensor, run_one, tensor};

    #[test]
    fn values() {
        let (infinity, nan) = (f64::INFINITY, f64::NAN);
        let x = tensor(&[6], &[0.0, 3.0, infinity, nan, 0.0, -2.0]);
        let y = tensor(&[6], &[0.0, 0.0, 2.0, 0.0, nan, 0.5]);
        let rows = [
            (&DIV_NO_NAN, [0.0, 0.0, infinity, 0.0, nan, -4.0]),
            (&MUL_NO_NAN, [0.0, 0.0, infinity, 0.0, nan, -1.0]),
            (&XLOGY, [0.0, -infinity, infinity, nan, 0.0, 2.0 * 2.0f64.ln()]),
            (&XLOG1PY, [0.0, 0.0, infinity, nan, 0.0, -2.0 * 1.5f64.ln()]),
            (&XDIVY, [0.0, infinity, infinity, nan, 0.0, -4.0]),
        ];
        for (def, expected) in rows {
            let got = run_one(def, &Attrs::new(), &[x.clone(), y.clone()]);
            check_tensor(&got, &tensor(&[6], &expected), def.name());
        }
    }
}
