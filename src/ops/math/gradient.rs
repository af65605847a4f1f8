//! Gradients of elementary functions, as functions of the results.
//!
//! `self` is the result `y` of the function, and `other` is the gradient `dy` of the loss with respect to `y`. The op
//! gives the gradient with respect to the function's operand.

use crate::expr::Expr;
use crate::ops::gradient::gradient_ops;

/// Returns `value`, or 0 if the gradient `dy` is 0.
fn unless_zero(dy: &Expr, value: Expr) -> Expr {
    let zero = dy.like(0.0);
    dy.clone().equal(zero.clone()).select(zero, value)
}

gradient_ops! { ["y", "dy"]:
    /// The gradient of [`Value::tanh`](crate::Value::tanh): `other * (1 - self²)`. `self` is the result of `tanh`.
    tanh_grad, TANH_GRAD: inexact, ["TanhGrad"],
        [0.5, 0.0], [1.0, 2.0] = [0.75, 2.0], |y, dy| dy * (y.like(1.0) - &y * &y);

    /// The gradient of [`Value::sigmoid`](crate::Value::sigmoid): `other * self * (1 - self)`. `self` is the result of
    /// `sigmoid`.
    sigmoid_grad, SIGMOID_GRAD: inexact, ["SigmoidGrad"],
        [0.5, 1.0], [1.0, 2.0] = [0.25, 0.0], |y, dy| dy * &y * (y.like(1.0) - &y);

    /// The gradient of [`Value::sqrt`](crate::Value::sqrt): `other / (2 * self)`, but 0 if `other` is 0. `self` is the
    /// result of `sqrt`. For complex numbers, the formula uses the conjugate of `self`.
    sqrt_grad, SQRT_GRAD: inexact, ["SqrtGrad"],
        [0.5, 2.0], [1.0, 2.0] = [1.0, 0.5], |y, dy| unless_zero(&dy, dy.like(0.5) * &dy / y.conj());

    /// The gradient of [`Value::rsqrt`](crate::Value::rsqrt): `-other * self³ / 2`, but 0 if `other` is 0. `self` is
    /// the result of `rsqrt`. For complex numbers, the formula uses the conjugate of `self`.
    rsqrt_grad, RSQRT_GRAD: inexact, ["RsqrtGrad"], [1.0, 2.0], [1.0, 2.0] = [-0.5, -8.0], |y, dy| {
        let y = y.conj();
        unless_zero(&dy, dy.like(-0.5) * (&dy * &y) * (&y * &y))
    };

    /// The gradient of [`Value::reciprocal`](crate::Value::reciprocal): `-other * self²`, but 0 if `other` is 0. `self`
    /// is the result of `reciprocal`. For complex numbers, the formula uses the conjugate of `self`.
    reciprocal_grad, RECIPROCAL_GRAD: inexact, ["ReciprocalGrad", "InvGrad"],
        [1.0, 2.0], [1.0, 2.0] = [-1.0, -8.0], |y, dy| {
        let y = y.conj();
        unless_zero(&dy, -dy.clone() * (&y * &y))
    };
}

#[cfg(test)]
mod tests {
    use shapeflow_shape_fns::Attrs;

    use super::*;
    use crate::op::OpDef;
    use crate::ops::testing::{check_tensor, run_one, tensor};

    /// Compares each gradient with the slope of its function.
    #[test]
    fn values_are_slopes() {
        type Row = (&'static OpDef, fn(f64) -> f64);
        let rows: [Row; 5] = [
            (&TANH_GRAD, f64::tanh),
            (&SIGMOID_GRAD, |x| 1.0 / (1.0 + (-x).exp())),
            (&SQRT_GRAD, f64::sqrt),
            (&RSQRT_GRAD, |x| 1.0 / x.sqrt()),
            (&RECIPROCAL_GRAD, f64::recip),
        ];
        for (def, function) in rows {
            for x in [0.3, 1.0, 2.5] {
                let (y, dy) = (tensor(&[], &[function(x)]), tensor(&[], &[-1.5]));
                let got = run_one(def, &Attrs::new(), &[y, dy]).item::<f64>().unwrap();
                let slope = (function(x + 1e-5) - function(x - 1e-5)) / 2e-5;
                assert!((got + 1.5 * slope).abs() < 1e-7 * got.abs(), "{} at {x}: {got}", def.name());
            }
        }
    }

    #[test]
    fn a_gradient_of_zero_stays_zero() {
        let y = tensor(&[2], &[0.0f32, f32::INFINITY]);
        let dy = tensor(&[2], &[0.0f32, 0.0]);
        for def in [&SQRT_GRAD, &RSQRT_GRAD, &RECIPROCAL_GRAD] {
            let got = run_one(def, &Attrs::new(), &[y.clone(), dy.clone()]);
            check_tensor(&got, &tensor(&[2], &[0.0f32, 0.0]), def.name());
        }
    }
}
