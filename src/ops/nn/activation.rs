//! Activation functions without attributes.

use crate::expr::{Expr, math};
use crate::ops::elementwise::unary_ops;
use crate::ops::elementwise_in_tensorflow as in_tensorflow;
use crate::ops::widen::widened;

/// The scale of `selu`. With [`SELU_ALPHA`], it preserves mean 0 and variance 1 (Klambauer et al. 2017).
pub(super) const SELU_SCALE: f64 = 1.050_700_987_355_480_5;
/// The factor of `selu` for negative elements.
pub(super) const SELU_ALPHA: f64 = 1.673_263_242_354_377_2;

/// `log(1 + exp(x))`, without overflow.
fn softplus(x: Expr) -> Expr {
    let zero = x.like(0.0);
    x.clone().maximum(zero) + math::log1p(math::exp(-x.abs()))
}

/// `min(max(x + 3, 0), 6) / 6`.
fn hard_sigmoid(x: Expr) -> Expr {
    let (zero, three, six) = (x.like(0.0), x.like(3.0), x.like(6.0));
    (x + three).maximum(zero).minimum(six.clone()) / six
}

unary_ops! { rules = unary, result = "":
    /// `max(x, 0)` for every element. NaN stays NaN, and -0.0 stays -0.0.
    relu, RELU: number, ["Relu"], [-2.0, 3.0] = [0.0, 3.0], math::relu;

    /// `min(max(x, 0), 6)` for every element. NaN stays NaN.
    relu6, RELU6: number, ["Relu6"], [-2.0, 3.0, 8.0] = [0.0, 3.0, 6.0], |x| {
        let (low, high) = (x.like(0.0), x.like(6.0));
        x.maximum(low).minimum(high)
    };

    /// `x`, or `exp(x) - 1` for negative elements.
    elu, ELU: float, ["Elu"], [-1.0, 2.0] ~ [-0.6321, 2.0], |x| widened(x, |x| {
        let zero = x.like(0.0);
        x.clone().less(zero).select(math::expm1(x.clone()), x)
    });

    /// `scale * x`, or `scale * alpha * (exp(x) - 1)` for negative elements, with the constants that preserve mean 0
    /// and variance 1.
    selu, SELU: float, ["Selu"], [-1.0, 2.0] ~ [-1.111, 2.101], |x| widened(x, |x| {
        let (zero, scale, slope) = (x.like(0.0), x.like(SELU_SCALE), x.like(SELU_SCALE * SELU_ALPHA));
        x.clone().less(zero).select(slope * math::expm1(x.clone()), scale * x)
    });

    /// `x * sigmoid(x)` for every element, also known as swish. As TensorFlow's `tf.nn.silu`.
    #[doc(alias = "swish")]
    silu, SILU: float, [; in_tensorflow::silu], [-1.0, 2.0] ~ [-0.2689, 1.762], |x| widened(x, |x| x.clone() * math::sigmoid(x));

    /// `log(sigmoid(x))` for every element, without overflow; 0.0 for a large element. As TensorFlow's
    /// `tf.math.log_sigmoid`.
    #[doc(alias = "logsigmoid")]
    log_sigmoid, LOG_SIGMOID: float, [; in_tensorflow::log_sigmoid], [0.0, -100.0] ~ [-0.6931, -100.0], |x| widened(x, |x| {
        let zero = x.like(0.0);
        x.clone().minimum(zero) - math::log1p(math::exp(-x.abs()))
    });

    /// `min(max(x + 3, 0), 6) / 6` for every element, a piecewise linear sigmoid. As torch's `hardsigmoid`.
    #[doc(alias = "hardsigmoid")]
    hard_sigmoid, HARD_SIGMOID: float, [; in_tensorflow::hard_sigmoid], [-4.0, 0.0, 4.0] = [0.0, 0.5, 1.0], |x| widened(x, hard_sigmoid);

    /// `x * min(max(x + 3, 0), 6) / 6` for every element, a piecewise form of [`Value::silu`](crate::Value::silu).
    /// As torch's `hardswish`.
    #[doc(alias = "hard_silu")]
    #[doc(alias = "hardswish")]
    hard_swish, HARD_SWISH: float, [; in_tensorflow::hard_swish], [-1.0, 4.0] ~ [-0.3333, 4.0], |x| widened(x, |x| &x * hard_sigmoid(x.clone()));

    /// `x * tanh(log(1 + exp(x)))` for every element, without overflow. As torch's `mish`.
    mish, MISH: float, [; in_tensorflow::mish], [-1.0, 2.0] ~ [-0.3034, 1.944], |x| widened(x, |x| &x * math::tanh(softplus(x.clone())));

    /// `log(1 + exp(x))` for every element, without overflow.
    softplus, SOFTPLUS: float, ["Softplus"], [0.0, 100.0] ~ [0.6931, 100.0], |x| widened(x, softplus);

    /// `x / (1 + |x|)` for every element.
    softsign, SOFTSIGN: float, ["Softsign"], [-1.0, 3.0] = [-0.5, 0.75], |x| widened(x, |x| {
        let one = x.like(1.0);
        x.clone() / (one + x.abs())
    });
}

#[cfg(test)]
mod tests {
    use shapeflow_shape_fns::Attrs;

    use super::*;
    use crate::op::OpDef;
    use crate::ops::testing::{check_function, run_one, tensor};

    #[test]
    fn values() {
        let x = [-3.0, -0.5, 0.0, 0.5, 3.0, 100.0, f64::NAN];
        check_function(&RELU, &x, |x| if x < 0.0 { 0.0 } else { x });
        check_function(&RELU6, &x, |x| x.clamp(0.0, 6.0));
        check_function(&ELU, &x, |x| if x < 0.0 { x.exp_m1() } else { x });
        check_function(&SELU, &x, |x| {
            if x < 0.0 { SELU_SCALE * SELU_ALPHA * x.exp_m1() } else { SELU_SCALE * x }
        });
        check_function(&SILU, &x, |x| x / (1.0 + (-x).exp()));
        check_function(&SOFTPLUS, &x, |x| if x > 40.0 { x } else { x.exp().ln_1p() });
        check_function(&LOG_SIGMOID, &x, |x| -if x < -40.0 { -x } else { (-x).exp().ln_1p() });
        check_function(&HARD_SIGMOID, &x, |x| (x + 3.0).clamp(0.0, 6.0) / 6.0);
        check_function(&HARD_SWISH, &x, |x| x * (x + 3.0).clamp(0.0, 6.0) / 6.0);
        check_function(&MISH, &x, |x| x * if x > 40.0 { x } else { x.exp().ln_1p() }.tanh());
        check_function(&SOFTSIGN, &x, |x| x / (1.0 + x.abs()));
    }

    #[test]
    fn zeros_have_the_documented_signs() {
        let of = |def: &OpDef, x: f32| {
            run_one(def, &Attrs::new(), &[tensor(&[], &[x])]).item::<f32>().unwrap().to_bits()
        };
        assert_eq!(of(&RELU, -0.0), (-0.0f32).to_bits());
        assert_eq!(of(&LOG_SIGMOID, 200.0), 0.0f32.to_bits());
    }
}
