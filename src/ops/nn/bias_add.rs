//! `bias_add` and `bias_add_grad`: one number per channel.

use std::panic::Location;

use shapeflow_shape_fns::{Attribute, InferenceContext, TensorShape};

use crate::dtype;
use crate::error::Result;
use crate::expr::{Expr, Index, LowerCx, ReduceOp};
use crate::graph::{IntoOperand, Value};
use crate::op::{OpDef, Operand, TfOp};
use crate::ops::nn::DataFormat;
use crate::ops::widen::widen;
use crate::shape_fns;

impl<'g> Value<'g> {
    /// Adds `bias[c]` to every element of channel `c`.
    ///
    /// `[.., c], bias [c] -> [.., c]`, integers (which wrap), floats and complex numbers of one dtype. With
    /// [`DataFormat::ChannelsFirst`], the channels are axis 1. As TensorFlow's `BiasAdd`. Fuses into kernels.
    ///
    /// ```
    /// use shapeflow::{DType, DataFormat, Graph, shape};
    ///
    /// let g = Graph::new();
    /// let x = g.input("x", DType::F32, shape!["n", 3, 8, 8])?;
    /// let bias = g.input("bias", DType::F32, [3])?;
    /// assert_eq!(x.bias_add(bias, DataFormat::ChannelsFirst)?.shape().to_string(), "[n, 3, 8, 8]");
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The dtypes differ or are not integers, floats or complex numbers, the rank of `self` is below 2 (3 if the
    /// channels are axis 1 and the rank is known when the graph is built), or `bias` does not have one element per
    /// channel.
    #[track_caller]
    pub fn bias_add(self, bias: impl IntoOperand<'g>, format: DataFormat) -> Result<Value<'g>> {
        let location = Location::caller();
        let bias = bias.into_operand(self, location);
        self.graph().op(&DEF).data(self).data(bias).attr("data_format", format.name(2)).finish_at(location)
    }

    /// The gradient of [`Value::bias_add`] with respect to `bias`: the sum over all axes but the channels.
    ///
    /// `[.., c] -> [c]`, integers (which wrap), floats and complex numbers. f16 and bf16 are added as f32 and rounded
    /// once. As TensorFlow's `BiasAddGrad`. Fuses into kernels.
    ///
    /// ```
    /// use shapeflow::{DataFormat, Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let y = g.constant([[1.0, 2.0], [3.0, 4.0]])?.bias_add_grad(DataFormat::ChannelsLast)?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from([4.0, 6.0]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The element type is not an integer, a float or a complex number, or the rank is below 2 (3 if the channels are
    /// axis 1 and the rank is known when the graph is built).
    #[track_caller]
    pub fn bias_add_grad(self, format: DataFormat) -> Result<Value<'g>> {
        self.graph().op(&GRADIENT).data(self).attr("data_format", format.name(2)).finish()
    }
}

pub(crate) static DEF: OpDef = OpDef::compute("bias_add", lower)
    .attrs(&[Attribute::str_or("data_format", "NHWC")])
    .operands(&[Operand::Data("value"), Operand::Data("bias")])
    .shape_fn(shape)
    .builder_shape_fn(shape_fns::nn::bias_add)
    .dtype_rule(dtype::binary::numeric)
    .tensorflow(&[TfOp::new("BiasAdd"), TfOp::new("BiasAddV1")]);

pub(crate) static GRADIENT: OpDef = OpDef::compute("bias_add_grad", lower_gradient)
    .attrs(&[Attribute::str_or("data_format", "NHWC")])
    .operands(&[Operand::Data("out_backprop")])
    .shape_fn(gradient_shape)
    .builder_shape_fn(shape_fns::nn::bias_add_grad)
    .dtype_rule(dtype::unary::numeric)
    .tensorflow(&[TfOp::new("BiasAddGrad")]);

/// As the shape function of `BiasAdd`, which refuses matrices if the channels are axis 1. TensorFlow's kernel takes
/// them.
fn shape(cx: &mut InferenceContext<'_>) -> shapeflow_shape_fns::Result<()> {
    if cx.input(0).rank() != Some(2) {
        return shape_fns::nn::bias_add(cx);
    }
    let ([rows, columns], [bias]) = (cx.axes::<2>(0)?, cx.axes::<1>(1)?);
    let channels = cx.agree("the numbers of channels of value and bias", &columns, &bias)?;
    cx.set_output(0, TensorShape::new([rows, channels]));
    Ok(())
}

fn gradient_shape(cx: &mut InferenceContext<'_>) -> shapeflow_shape_fns::Result<()> {
    if cx.input(0).rank() != Some(2) {
        return shape_fns::nn::bias_add_grad(cx);
    }
    let [_, channels] = cx.axes::<2>(0)?;
    cx.set_output(0, TensorShape::new([channels]));
    Ok(())
}

/// Returns the axis of the channels among `rank` axes. Formats whose names begin with `NC` have the channels first.
fn channel_axis(cx: &dyn LowerCx, rank: usize) -> usize {
    if cx.attrs().str("data_format").starts_with("NC") { 1 } else { rank - 1 }
}

fn lower(cx: &mut dyn LowerCx, _output: usize, index: &[Index]) -> Expr {
    let channel = index[channel_axis(cx, index.len())].clone();
    cx.operand(0, index) + cx.operand(1, &[channel])
}

fn lower_gradient(cx: &mut dyn LowerCx, output: usize, index: &[Index]) -> Expr {
    let mut extents = cx.dims(0);
    let axis = channel_axis(cx, extents.len());
    extents.remove(axis);
    let sum = cx.reduce(ReduceOp::Sum, &extents, &mut |cx, inner| {
        let mut read = inner.to_vec();
        read.insert(axis, index[0].clone());
        widen(cx.operand(0, &read))
    });
    sum.cast(cx.output_dtype(output))
}

#[cfg(test)]
mod tests {
    use shapeflow_shape_fns::Attrs;

    use super::{DEF, GRADIENT};
    use crate::ops::testing::{check_tensor, run_one, shape_table, tensor};
    use crate::{DType, DataFormat, Graph, Tensor, shape};

    shape_table! { DEF, {},
        "[n, ?]; [3]" => "[d0_0, 3]",
        "?; [3]" => "?",
        "[n, 4]; [3]" => error "4 and 3",
        "[2, 3]; f64[3]" => error "one dtype, got f32 and f64",
    }
    shape_table! { gradient: GRADIENT, {"data_format": "NCHW"},
        "[n, c, 4]" => "[d0_1]",
        "[n, 4]" => error "rank",
    }

    #[test]
    fn a_run_takes_a_matrix_with_the_channels_in_axis_1() {
        let g = Graph::new();
        let (x, bias) =
            (g.input("x", DType::F32, shape![..]).unwrap(), g.input("bias", DType::F32, shape![..]).unwrap());
        let first = DataFormat::ChannelsFirst;
        let exe = g.compile([x.bias_add(bias, first).unwrap(), x.bias_add_grad(first).unwrap()]).unwrap();
        let run = |x: Tensor, bias: Tensor| exe.run::<2>(&[x.view(), bias.view()]);
        let [sum, gradient] =
            run(Tensor::from([[1.0f32, 2.0], [3.0, 4.0]]), Tensor::from([10.0f32, 20.0])).unwrap();
        assert_eq!(sum, Tensor::from([[11.0f32, 22.0], [13.0, 24.0]]));
        assert_eq!(gradient, Tensor::from([4.0f32, 6.0]));
        assert!(run(Tensor::from([1.0f32, 2.0]), Tensor::from([10.0f32, 20.0])).is_err());
        assert!(run(Tensor::from([[1.0f32, 2.0]]), Tensor::from([10.0f32])).is_err());
        let matrix = g.constant([[1.0f32]]).unwrap();
        assert!(matrix.bias_add_grad(first).unwrap_err().message().contains("rank"));
    }

    #[test]
    fn channels_are_the_last_axis_or_axis_1() {
        let x = tensor(&[1, 2, 2], &[1, 2, 3, 4]);
        let bias = tensor(&[2], &[10, 20]);
        let run = |format: &str| {
            let attrs = Attrs::new().with("data_format", format);
            (
                run_one(&DEF, &attrs, &[x.clone(), bias.clone()]),
                run_one(&GRADIENT, &attrs, std::slice::from_ref(&x)),
            )
        };
        let (sum, gradient) = run("NHWC");
        check_tensor(&sum, &tensor(&[1, 2, 2], &[11, 22, 13, 24]), "NHWC");
        check_tensor(&gradient, &tensor(&[2], &[4, 6]), "NHWC");
        let (sum, gradient) = run("NCHW");
        check_tensor(&sum, &tensor(&[1, 2, 2], &[11, 12, 23, 24]), "NCHW");
        check_tensor(&gradient, &tensor(&[2], &[3, 7]), "NCHW");
    }
}
