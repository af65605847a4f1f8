//! `batch_norm_global`, `batch_norm_global_grad`: the oldest normalization of TensorFlow, and its gradients.

use shapeflow_shape_fns::{Attribute, DType};

use super::batch_norm_training::Channels;
use super::in_tensorflow;
use super::window::{dims_of, refuse, with_shape};
use crate::dtype;
use crate::error::Result;
use crate::expr::{Expr, Index, LowerCx, math};
use crate::graph::Value;
use crate::op::{CompositeCx, OpDef, Operand, TfFunction, TfOp};
use crate::ops::widen::widen;
use crate::shape_fns;

const ATTRIBUTES: &[Attribute] =
    &[Attribute::float("variance_epsilon"), Attribute::bool("scale_after_normalization")];

/// An op for import only: `(t - m) / sqrt(v + epsilon) * gamma + beta` for images and vectors of one float dtype, or
/// the same without `gamma`. f16 and bf16 are computed as f32 and rounded once. The name is that of TensorFlow's op
/// `BatchNormWithGlobalNormalization`.
pub(crate) static DEF: OpDef = OpDef::compute("batch_norm_global", lower)
    .attrs(ATTRIBUTES)
    .operands(&[
        Operand::Data("t"),
        Operand::Data("m"),
        Operand::Data("v"),
        Operand::Data("beta"),
        Operand::Data("gamma"),
    ])
    .shape_fn(shape_fns::nn::batch_norm)
    .dtype_rule(|dtypes, _| Ok(vec![dtype::common(dtypes, 0, 5, dtype::Class::Float)?]))
    .tensorflow(&[TfOp::new("BatchNormWithGlobalNormalization")])
    .in_tensorflow(TfFunction::Composed(in_tensorflow::batch_norm_global));

/// An op for import only: the gradients of [`DEF`] with respect to `t`, `m`, `v`, `beta` and `gamma`.
pub(crate) static GRADIENT: OpDef = OpDef::composite("batch_norm_global_grad", build_gradient)
    .attrs(ATTRIBUTES)
    .operands(&[
        Operand::Data("t"),
        Operand::Data("m"),
        Operand::Data("v"),
        Operand::Data("gamma"),
        Operand::Data("backprop"),
    ])
    .outputs(|_, _| 5)
    .dtype_rule(|dtypes, _| Ok(vec![dtype::common(dtypes, 0, 5, dtype::Class::Float)?; 5]))
    .tensorflow(&[TfOp::new("BatchNormWithGlobalNormalizationGrad")]);

fn lower(cx: &mut dyn LowerCx, output: usize, index: &[Index]) -> Expr {
    let channel = [index[index.len() - 1].clone()];
    let [mean, variance, beta, gamma] = [1, 2, 3, 4].map(|operand| widen(cx.operand(operand, &channel)));
    let epsilon = variance.like(cx.attrs().float("variance_epsilon"));
    let factor = math::rsqrt(variance + epsilon);
    let factor = if cx.attrs().bool("scale_after_normalization") { factor * gamma } else { factor };
    let x = widen(cx.operand(0, index));
    ((x - mean) * factor + beta).cast(cx.output_dtype(output))
}

fn build_gradient<'g>(cx: &CompositeCx<'_>, values: &[Value<'g>]) -> Result<Vec<Value<'g>>> {
    let [x, mean, variance, gamma, gradient] = *values else {
        return refuse("batch_norm_global_grad needs t, m, v, gamma and backprop".to_string());
    };
    let dtypes: Vec<DType> = values.iter().map(|value| value.dtype()).collect();
    let dtype = dtype::common(&dtypes, 0, 5, dtype::Class::Float)?;
    let channels = Channels { rank: 4, axis: 3 };
    let (x, gradient) = (channels.widened(x, "t")?, channels.widened(gradient, "backprop")?);
    let gradient = with_shape("the shapes of t and backprop", gradient, &dims_of(x))?;
    let vector = |name, vector: Value<'g>| channels.vector(x, name, vector.cast(x.dtype())?);
    let (mean, variance, gamma) = (vector("m", mean)?, vector("v", variance)?, vector("gamma", gamma)?);
    let factor = variance.add(cx.attrs().float("variance_epsilon"))?.rsqrt()?;
    let of_beta = channels.sums(gradient)?;
    let products = channels.sums(gradient.mul(x.sub(mean)?)?)?;
    let is_scaled = cx.attrs().bool("scale_after_normalization");
    let slope = if is_scaled { factor.mul(gamma)? } else { factor };
    let of_gamma = if is_scaled { products.mul(factor)? } else { factor.zeros_like()? };
    let of_variance = products.mul(slope)?.mul(factor.square()?)?.mul(-0.5)?;
    let all = [gradient.mul(slope)?, of_beta.mul(slope)?.neg()?, of_variance, of_beta, of_gamma];
    all.into_iter().map(|value| value.cast(dtype)).collect()
}

#[cfg(test)]
mod tests {
    use super::DEF;
    use crate::ops::testing::shape_table;

    shape_table! { DEF, {"variance_epsilon": 0.5, "scale_after_normalization": true},
        "[n, h, w, ?]; [c]; [3]; [c]; [c]" => "[d0_0, d0_1, d0_2, 3]",
        "[n, 4, 4, 2]; [2]; [2]; [3]; [2]" => error "beta must have one element per channel, got 3",
        "[n, 4, 4, 2]; f64[2]; [2]; [2]; [2]" => error "operands must have one dtype, got f32 and f64",
    }
}
