//! `lrn`: local response normalization.

use std::panic::Location;

use shapeflow_shape_fns::{Attribute, Attrs, DType, Dim};

use super::reduce_window;
use super::window::{dims_of, of_rank, padded, refuse, with_shape};
use crate::dtype;
use crate::error::Result;
use crate::expr::Scalar;
use crate::graph::{IntoParam, Value};
use crate::op::{CompositeCx, OpDef, Operand, TfOp};

impl<'g> Value<'g> {
    /// Divides every element by a power of the sum of squares of its neighbors among the channels:
    /// `x / (bias + alpha * Σ x²) ^ beta`. The sum is over the element's channel and `radius` channels on each side.
    ///
    /// `[n, h, w, c] -> [n, h, w, c]`, floats; f16 and bf16 are computed as f32 and rounded once. As TensorFlow's `LRN`
    /// (`tf.nn.local_response_normalization`). The op is composed of other ops, which fuse into kernels.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let x = g.constant([[[[1.0f32, 2.0, 2.0]]]])?;
    /// let y = x.lrn(1, 1.0, 1.0, 1.0)?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// y.allclose(&Tensor::from([[[[0.1667f32, 0.2, 0.2222]]]]), 1e-3, 1e-12).unwrap();
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The element type is not a float, the rank is not 4, or `radius` is negative.
    #[doc(alias = "local_response_normalization")]
    #[track_caller]
    pub fn lrn(self, radius: impl IntoParam<'g>, bias: f64, alpha: f64, beta: f64) -> Result<Value<'g>> {
        let call = self.graph().op(&DEF).data(self).int_attr("depth_radius", radius).attr("bias", bias);
        call.attr("alpha", alpha).attr("beta", beta).finish_at(Location::caller())
    }
}

pub(crate) static DEF: OpDef = OpDef::composite("lrn", build)
    .attrs(&[
        Attribute::int_or("depth_radius", 5),
        Attribute::float_or("bias", 1.0),
        Attribute::float_or("alpha", 1.0),
        Attribute::float_or("beta", 0.5),
    ])
    .operands(&[Operand::Data("input")])
    .tensorflow(&[TfOp::new("LRN")]);

/// An op for import only: the gradient of [`DEF`] with respect to its operand,
/// `input_grads, input_image, output_image -> [n, h, w, c]`. f16 and bf16 are computed as f32 and rounded once. As
/// TensorFlow's `LRNGrad`.
pub(crate) static GRADIENT: OpDef = OpDef::composite("lrn_grad", build_gradient)
    .attrs(&[
        Attribute::int_or("depth_radius", 5),
        Attribute::float_or("bias", 1.0),
        Attribute::float_or("alpha", 1.0),
        Attribute::float_or("beta", 0.5),
    ])
    .operands(&[Operand::Data("input_grads"), Operand::Data("input_image"), Operand::Data("output_image")])
    .tensorflow(&[TfOp::new("LRNGrad")]);

/// Returns `x`, an image of rank 4, with f16 and bf16 as f32.
fn widened<'g>(x: Value<'g>, name: &str) -> Result<Value<'g>> {
    let x = of_rank(x, 4, name)?;
    if matches!(x.dtype(), DType::F16 | DType::BF16) { x.cast(DType::F32) } else { Ok(x) }
}

/// Adds for each element the elements of its channel and of the channels at most `depth_radius` from it.
fn sums_of_neighbors<'g>(attrs: &Attrs, x: Value<'g>) -> Result<Value<'g>> {
    let radius = attrs.int("depth_radius");
    if !(0..i64::from(i32::MAX)).contains(&radius) {
        return refuse(format!("depth_radius must be from 0 to {}, got {radius}", i32::MAX - 1));
    }
    // No other channel is farther away than the number of channels.
    let radius = dims_of(x)[3].as_known().map_or(radius, |channels| radius.min(channels));
    let mut paddings = vec![[Dim::known(0), Dim::known(0)]; 4];
    paddings[3] = [Dim::known(radius), Dim::known(radius)];
    let padded = padded(x, &paddings, Scalar::zero(x.dtype()))?;
    let sums = x.graph().op(&reduce_window::DEF).data(padded).attr("op", "sum");
    let sums = sums.size("sizes", [1, 1, 1, 2 * radius + 1]).size("strides", [1, 1, 1, 1]);
    sums.size("positions", &dims_of(x)[..]).finish()
}

/// Returns `bias + alpha * Σ x²` for each element of `x`, with the sum over neighbors.
fn norms<'g>(attrs: &Attrs, x: Value<'g>) -> Result<Value<'g>> {
    sums_of_neighbors(attrs, x.square()?)?.mul(attrs.float("alpha"))?.add(attrs.float("bias"))
}

fn build<'g>(cx: &CompositeCx<'_>, values: &[Value<'g>]) -> Result<Vec<Value<'g>>> {
    let dtype = dtype::common(&[values[0].dtype()], 0, 1, dtype::Class::Float)?;
    let x = widened(values[0], "the operand of lrn")?;
    let norms = norms(cx.attrs(), x)?;
    Ok(vec![x.mul(norms.pow(-cx.attrs().float("beta"))?)?.cast(dtype)?])
}

/// `g * norm^-beta - 2 * alpha * beta * x * Σ g * y / norm`, with the sum over neighbors.
fn build_gradient<'g>(cx: &CompositeCx<'_>, values: &[Value<'g>]) -> Result<Vec<Value<'g>>> {
    let dtypes: Vec<DType> = values.iter().map(|value| value.dtype()).collect();
    let dtype = dtype::common(&dtypes, 0, 3, dtype::Class::Float)?;
    let [gradient, x, y] = *values else {
        return refuse("lrn_grad needs a gradient, an input and an output".to_string());
    };
    let x = widened(x, "the input of lrn")?;
    let like_x =
        |value, name: &str| with_shape(&format!("the input and {name}"), widened(value, name)?, &dims_of(x));
    let (gradient, y) = (like_x(gradient, "the gradient of lrn")?, like_x(y, "the output of lrn")?);
    let norms = norms(cx.attrs(), x)?;
    let [alpha, beta] = ["alpha", "beta"].map(|name| cx.attrs().float(name));
    let direct = gradient.mul(norms.pow(-beta)?)?;
    let shared = sums_of_neighbors(cx.attrs(), gradient.mul(y)?.div(norms)?)?;
    Ok(vec![direct.sub(shared.mul(x)?.mul(2.0 * alpha * beta)?)?.cast(dtype)?])
}

#[cfg(test)]
mod tests {
    use crate::Graph;
    use crate::ops::testing::tensor;

    #[test]
    fn a_radius_beyond_the_channels_adds_all_channels() {
        let x = tensor(&[1, 1, 1, 3], &[1.0f32, 2.0, 2.0]);
        let g = Graph::new();
        let lrn = |radius: i64| g.constant(x.clone()).unwrap().lrn(radius, 1.0, 1.0, 1.0);
        let [near, far] =
            g.compile([lrn(2).unwrap(), lrn(i64::from(i32::MAX) - 1).unwrap()]).unwrap().run(&[]).unwrap();
        assert_eq!((&near, far), (&tensor(&[1, 1, 1, 3], &[0.1f32, 0.2, 0.2]), near.clone()));
        let none = tensor::<f32>(&[2, 1, 1, 0], &[]);
        let y = g.constant(none).unwrap().lrn(5, 1.0, 1.0, 1.0).unwrap();
        assert_eq!(g.compile(y).unwrap().run::<1>(&[]).unwrap()[0].sizes(), [2, 1, 1, 0]);
        for radius in [-1, i64::MAX] {
            assert!(lrn(radius).unwrap_err().message().contains("depth_radius must be from 0"));
        }
    }
}
