//! Gradients of activation functions, as functions of the operands.
//!
//! `self` is the gradient of the loss with respect to the result of the activation, and `other` is the operand of the
//! activation. The op gives the gradient with respect to this operand.

use crate::expr::{Expr, math};
use crate::ops::gradient::gradient_ops;

/// 1 if `condition` holds, else 0, with the dtype of `x`. If the condition is false, an
/// infinite gradient gives NaN (0 * infinity), as in TensorFlow. A NaN gradient always gives NaN.
fn indicator(condition: Expr, x: &Expr) -> Expr {
    condition.select(x.like(1.0), x.like(0.0))
}

gradient_ops! { ["gradients", "features"]:
    /// The gradient of [`Value::relu`](crate::Value::relu): `self` times 1 if `other > 0`, else times 0.
    relu_grad, RELU: number, ["ReluGrad"], [5.0, 5.0], [-1.0, 2.0] = [0.0, 5.0], |dy, x| {
        let positive = x.like(0.0).less(x);
        &dy * indicator(positive, &dy)
    };

    /// The gradient of [`Value::relu6`](crate::Value::relu6): `self` times 1 if `0 < other < 6`, else times 0.
    relu6_grad, RELU6: number, ["Relu6Grad"], [5.0, 5.0], [2.0, 7.0] = [5.0, 0.0], |dy, x| {
        let inside = x.like(0.0).less(x.clone()) & x.clone().less(x.like(6.0));
        &dy * indicator(inside, &dy)
    };

    /// The gradient of [`Value::softplus`](crate::Value::softplus): `self / (1 + exp(-other))`.
    softplus_grad, SOFTPLUS: float, ["SoftplusGrad"], [1.0, 4.0], [0.0, 0.0] = [0.5, 2.0], |dy, x| {
        let one = x.like(1.0);
        dy / (math::exp(-x) + one)
    };

    /// The gradient of [`Value::softsign`](crate::Value::softsign): `self / (1 + |other|)²`.
    softsign_grad, SOFTSIGN: float, ["SoftsignGrad"], [1.0, 4.0], [0.0, -1.0] = [1.0, 1.0], |dy, x| {
        let one = x.like(1.0);
        let divisor = one + x.abs();
        dy / (&divisor * &divisor)
    };
}
