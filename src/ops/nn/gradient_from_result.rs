//! Gradients of activation functions, as functions of the results.
//!
//! `self` is the gradient of the loss with respect to the result of the activation, and `other` is this result. The op
//! gives the gradient with respect to the operand of the activation.

use super::activation::{SELU_ALPHA, SELU_SCALE};
use crate::ops::gradient::gradient_ops;

gradient_ops! { ["gradients", "outputs"]:
    /// The gradient of [`Value::elu`](crate::Value::elu): `self * (other + 1)` if `other < 0`, else `self`. `other` is
    /// the result of `elu`.
    elu_grad, ELU: float, ["EluGrad"], [4.0, 4.0], [-0.5, 2.0] = [2.0, 4.0], |dy, y| {
        let (zero, one) = (y.like(0.0), y.like(1.0));
        y.clone().less(zero).select((y + one) * &dy, dy)
    };

    /// The gradient of [`Value::selu`](crate::Value::selu): `self * (other + scale * alpha)` if `other < 0`, else
    /// `self * scale`. `other` is the result of `selu`.
    selu_grad, SELU: float, ["SeluGrad"], [4.0, 4.0], [-0.5, 2.0] ~ [5.032, 4.203], |dy, y| {
        let (zero, scale, slope) = (y.like(0.0), y.like(SELU_SCALE), y.like(SELU_SCALE * SELU_ALPHA));
        y.clone().less(zero).select(&dy * (y + slope), dy * scale)
    };
}

#[cfg(test)]
mod tests {
    use shapeflow_shape_fns::Attrs;

    use super::*;
    use crate::op::OpDef;
    use crate::ops::nn::{activation, gradient_from_operand};
    use crate::ops::testing::{run_one, tensor};

    /// Compares each gradient with the slope of its activation.
    #[test]
    fn values_are_slopes() {
        let rows: [(&OpDef, &OpDef, bool); 6] = [
            (&gradient_from_operand::RELU, &activation::RELU, false),
            (&gradient_from_operand::RELU6, &activation::RELU6, false),
            (&gradient_from_operand::SOFTPLUS, &activation::SOFTPLUS, false),
            (&gradient_from_operand::SOFTSIGN, &activation::SOFTSIGN, false),
            (&ELU, &activation::ELU, true),
            (&SELU, &activation::SELU, true),
        ];
        let value = |def: &OpDef, operands: &[f64]| {
            let operands: Vec<_> = operands.iter().map(|x| tensor(&[], &[*x])).collect();
            run_one(def, &Attrs::new(), &operands).item::<f64>().unwrap()
        };
        for (def, function, takes_result) in rows {
            for x in [-2.0, -0.5, 0.25, 3.0, 7.0] {
                let other = if takes_result { value(function, &[x]) } else { x };
                let slope = (value(function, &[x + 1e-5]) - value(function, &[x - 1e-5])) / 2e-5;
                let got = value(def, &[-1.5, other]);
                assert!((got + 1.5 * slope).abs() < 1e-8, "{} at {x}: {got}", def.name());
            }
        }
    }
}
