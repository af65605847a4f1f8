//! `batch_norm_grad`: the gradients of `batch_norm_training` and `batch_norm`.

use std::panic::Location;

use shapeflow_shape_fns::{Attribute, Attrs, DType};

use super::batch_norm::parameter_dtypes;
use super::batch_norm_training::{Channels, empty};
use super::window::{dims_of, refuse, with_shape};
use crate::dtype;
use crate::error::Result;
use crate::graph::{IntoOperand, Value};
use crate::op::{CompositeCx, OpDef, Operand, TfOp};

impl<'g> Value<'g> {
    /// The gradients of [`Value::batch_norm_training`] with respect to its operands. `self` is the gradient of the loss
    /// with respect to the normalized `x`; `mean` and `variance` are the moments of the batch. Returns the gradients of
    /// `x`, `scale` and `offset`.
    ///
    /// `[n, h, w, c], [n, h, w, c], 3 × [c] -> [n, h, w, c], [c], [c]`, floats. The channels are the last axis. f16 and
    /// bf16 are computed as f32 and rounded once, and have vectors of f32; for f32 and f64 the vectors have the element
    /// type. As TensorFlow's `FusedBatchNormGradV3` in training; imported graphs may use its other formats, and its
    /// gradient outside of training, in which the moments are constants. The op is composed of reductions and
    /// elementwise ops, which fuse into kernels.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let x = g.constant([[[[1.0f32], [3.0], [5.0], [7.0]]]])?;
    /// let gradient = g.constant([[[[1.0f32], [1.0], [1.0], [5.0]]]])?;
    /// let vector = |number: f32| g.constant([number]);
    /// let of_all = gradient.batch_norm_grad(x, vector(1.0)?, vector(4.0)?, vector(5.0)?, 0.0)?;
    /// let [_, of_scale, of_offset] = g.compile(of_all)?.run(&[])?;
    /// of_scale.allclose(&Tensor::from([12.0f32 / 5.0f32.sqrt()]), 1e-6, 0.0).unwrap();
    /// assert_eq!(of_offset, Tensor::from([8.0f32]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The rank is not 4, the shapes of `self` and `x` differ, a vector does not have one element per channel, or a
    /// dtype is not supported.
    #[track_caller]
    pub fn batch_norm_grad(
        self,
        x: impl IntoOperand<'g>,
        scale: impl IntoOperand<'g>,
        mean: impl IntoOperand<'g>,
        variance: impl IntoOperand<'g>,
        epsilon: f64,
    ) -> Result<[Value<'g>; 3]> {
        let location = Location::caller();
        let [x, scale] = [x.into_operand(self, location), scale.into_operand(self, location)];
        let [mean, variance] = [mean.into_operand(self, location), variance.into_operand(self, location)];
        let call = self.graph().op(&DEF).data(self).data(x).data(scale).data(mean).data(variance);
        let outputs = call.attr("epsilon", epsilon).finish_all_at(location)?;
        Ok([outputs[0], outputs[1], outputs[2]])
    }
}

const ATTRIBUTES: &[Attribute] = &[
    Attribute::float_or("epsilon", 1e-4f32 as f64),
    Attribute::bool_or("is_training", true),
    Attribute::str_or("data_format", "NHWC"),
];

/// Outputs 3 and 4 are empty vectors.
pub(crate) static DEF: OpDef = OpDef::composite("batch_norm_grad", build)
    .attrs(ATTRIBUTES)
    .operands(&[
        Operand::Data("y_backprop"),
        Operand::Data("x"),
        Operand::Data("scale"),
        Operand::Data("reserve_space_1"),
        Operand::Data("reserve_space_2"),
    ])
    .outputs(|_, _| 5)
    .dtype_rule(output_dtypes)
    .tensorflow(&[TfOp::new("FusedBatchNormGrad"), TfOp::new("FusedBatchNormGradV2")]);

/// Has one more operand than [`DEF`], which TensorFlow's kernel for the CPU does not read.
pub(crate) static WITH_RESERVE: OpDef = OpDef::composite("batch_norm_grad_with_reserve", build)
    .attrs(ATTRIBUTES)
    .operands(&[
        Operand::Data("y_backprop"),
        Operand::Data("x"),
        Operand::Data("scale"),
        Operand::Data("reserve_space_1"),
        Operand::Data("reserve_space_2"),
        Operand::Data("reserve_space_3"),
    ])
    .outputs(|_, _| 5)
    .dtype_rule(output_dtypes)
    .tensorflow(&[TfOp::new("FusedBatchNormGradV3")]);

fn output_dtypes(dtypes: &[DType], _: &Attrs) -> Result<Vec<DType>> {
    dtype::common(dtypes, 0, 2, dtype::Class::Float)?;
    let [x, parameter] = parameter_dtypes(dtypes.get(1..).unwrap_or_default(), 5)?;
    Ok(vec![x, parameter, parameter, parameter, parameter])
}

fn build<'g>(cx: &CompositeCx<'_>, values: &[Value<'g>]) -> Result<Vec<Value<'g>>> {
    let [gradient, x, scale, mean, variance, ..] = *values else {
        return refuse("batch_norm_grad needs a gradient, x, scale, a mean and a variance".to_string());
    };
    let dtypes: Vec<DType> = values.iter().map(|value| value.dtype()).collect();
    output_dtypes(&dtypes, cx.attrs())?;
    let (dtype, channels) = (x.dtype(), Channels::new(cx.attrs())?);
    let x = channels.widened(x, "x")?;
    let gradient = channels.widened(gradient, "y_backprop")?;
    let gradient = with_shape("the shapes of the gradient and of x", gradient, &dims_of(x))?;
    let vector = |name, vector| channels.vector(x, name, vector);
    let scale = vector("scale", scale)?;
    let (mean, variance) = (vector("reserve_space_1", mean)?, vector("reserve_space_2", variance)?);
    let centered = x.sub(channels.beside_images(mean)?)?;
    let products = gradient.mul(centered)?;
    let factor = variance.add(cx.attrs().float("epsilon"))?.rsqrt()?;
    let of_scale = channels.sums(products)?.mul(factor)?;
    let of_offset = channels.sums(gradient)?;
    let slope = channels.beside_images(factor.mul(scale)?)?;
    let of_x = match cx.attrs().bool("is_training") {
        // The mean and the variance depend on every element of the channel.
        true => {
            let shared = channels.means(products)?.mul(factor.square()?)?;
            let shared = centered.mul(channels.beside_images(shared)?)?;
            let of_mean = channels.beside_images(channels.means(gradient)?)?;
            gradient.sub(of_mean)?.sub(shared)?.mul(slope)?
        }
        false => gradient.mul(slope)?,
    };
    Ok(vec![of_x.cast(dtype)?, of_scale, of_offset, empty(mean)?, empty(mean)?])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Graph;
    use crate::shape;

    #[test]
    fn shapes_of_gradients_agree_with_the_operands() {
        let g = Graph::new();
        let x = g.input("x", DType::BF16, shape!["n", 4, 6, "c"]).unwrap();
        let gradient = g.input("gradient", DType::BF16, shape!["n", 4, 6, "c"]).unwrap();
        let vector = g.input("vector", DType::F32, shape!["c"]).unwrap();
        let [of_x, of_scale, _] = gradient.batch_norm_grad(x, vector, vector, vector, 0.1).unwrap();
        assert_eq!(of_x.shape().to_string(), "[n, 4, 6, c]");
        assert_eq!((of_scale.shape().to_string(), of_scale.dtype()), ("[c]".to_string(), DType::F32));
        let other = g.input("other", DType::BF16, shape!["n", 4, 5, "c"]).unwrap();
        let error = gradient.batch_norm_grad(other, vector, vector, vector, 0.1).unwrap_err();
        assert!(error.message().contains("the shapes of the gradient and of x must agree"), "{error}");
    }
}
