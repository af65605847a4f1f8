//! `lrn`: local response normalization.

use std::panic::Location;

use shapeflow_shape_fns::{Attribute, DType, Dim};

use super::reduce_window;
use super::window::{of_rank, padded, refuse};
use crate::dtype;
use crate::error::Result;
use crate::expr::Scalar;
use crate::graph::{IntoParam, Value};
use crate::op::{CompositeCx, OpDef, Operand, TfOp};

impl<'g> Value<'g> {
    /// Divides every element by a power of the sum of squares of its neighbours among the channels:
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

fn build<'g>(cx: &CompositeCx<'_>, values: &[Value<'g>]) -> Result<Vec<Value<'g>>> {
    let number = |name| cx.attrs().float(name);
    dtype::common(&[values[0].dtype()], 0, 1, dtype::Class::Float)?;
    let radius = cx.attrs().int("depth_radius");
    if radius < 0 {
        return refuse(format!("depth_radius must not be negative, got {radius}"));
    }
    let dtype = values[0].dtype();
    let x = of_rank(values[0], 4, "the operand of lrn")?;
    let x = if matches!(dtype, DType::F16 | DType::BF16) { x.cast(DType::F32)? } else { x };
    let mut paddings = vec![[Dim::known(0), Dim::known(0)]; 4];
    paddings[3] = [Dim::known(radius), Dim::known(radius)];
    let squares = padded(x.square()?, &paddings, Scalar::zero(x.dtype()))?;
    let window = squares.graph().op(&reduce_window::DEF).data(squares).attr("op", "sum");
    let window = window.attr("sizes", [1, 1, 1, 2 * radius + 1]).attr("strides", [1, 1, 1, 1]);
    let scale = window.finish()?.mul(number("alpha"))?.add(number("bias"))?;
    Ok(vec![x.mul(scale.pow(-number("beta"))?)?.cast(dtype)?])
}
