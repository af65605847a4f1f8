//! `quantized_concat` and `quantized_reshape`: data movement of quantized tensors with their ranges.

use shapeflow_shape_fns::{Attrs, DType};

use super::options::{all_f32, quantized_and_ranges};
use super::requantize::INTO_RANGE;
use crate::dtype;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::expr::Scalar;
use crate::graph::{IntoParam, IntoShapeArg, Value};
use crate::op::{CompositeCx, OpDef, Operand, TfOp};
use crate::ops::array::{concat, stack, unstack::exactly};
use crate::ops::reduce::Axes;

/// Joins quantized values along `axis`. Each value comes with its range: `[value, min, max]`. Returns the joined
/// integers and their range, which contains all ranges. The values are mapped to this range as by
/// [`Value::requantize`]; a value that has this range keeps its integers.
///
/// `q[a, ..], q[b, ..] -> q[a+b, ..], f32[], f32[]` for axis 0; the ends of ranges are f32 scalars. The range of a
/// signed type is symmetric, and the minimum of an unsigned type is at most 0. As TensorFlow's `QuantizedConcat`. The
/// op is composed of ops that fuse into kernels.
///
/// ```
/// use shapeflow::{DType, Graph, QuantizeOptions, quantized_concat};
///
/// let g = Graph::new();
/// let x = g.constant([0.0f32, 6.0])?;
/// let x = x.quantize(0.0, 6.0, DType::QU8, QuantizeOptions::default())?;
/// let [joined, _, max] = quantized_concat(&[x, x], 0)?;
/// let [joined, max] = g.compile([joined.cast(DType::I32)?, max])?.run(&[])?;
/// assert_eq!(joined.to_vec::<i32>()?, [0, 255, 0, 255]);
/// assert_eq!(max.item::<f32>()?, 6.0);
/// # Ok::<(), shapeflow::Error>(())
/// ```
///
/// # Errors
/// There are no values, their types differ or are not quantized, an end of a range is not an f32 scalar, or the shapes
/// do not join (see [`concat`](fn@concat)).
#[track_caller]
pub fn quantized_concat<'g>(values: &[[Value<'g>; 3]], axis: impl IntoParam<'g>) -> Result<[Value<'g>; 3]> {
    let Some([first, ..]) = values.first() else {
        let message = "quantized_concat needs at least one value, got none";
        return Err(
            Error::new(ErrorKind::Attribute, Phase::Build, message).at(std::panic::Location::caller())
        );
    };
    let call = (0..3).fold(first.graph().op(&DEF).structure("axis", axis), |call, part| {
        values.iter().fold(call, |call, value| call.data(value[part]))
    });
    exactly(call.finish_all()?)
}

impl<'g> Value<'g> {
    /// Reshapes a quantized tensor and passes its range on, see [`Value::reshape`].
    ///
    /// `q[..], f32[], f32[] -> q[shape], f32[], f32[]`. As TensorFlow's `QuantizedReshape`. The op moves nothing.
    ///
    /// ```
    /// use shapeflow::{DType, Graph, QuantizeOptions};
    ///
    /// let g = Graph::new();
    /// let x = g.constant([0.0f32, 3.0, 6.0, 6.0])?;
    /// let [x, min, max] = x.quantize(0.0, 6.0, DType::QU8, QuantizeOptions::default())?;
    /// let [y, _, _] = x.quantized_reshape([2, 2], [min, max])?;
    /// assert_eq!(y.shape().to_string(), "[2, 2]");
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Value::reshape`]; or the element type is not quantized, or an end of the range is not an f32 scalar.
    #[track_caller]
    pub fn quantized_reshape(
        self,
        shape: impl IntoShapeArg<'g>,
        [min, max]: [Value<'g>; 2],
    ) -> Result<[Value<'g>; 3]> {
        check_range(self.dtype(), &[min, max])?;
        Ok([self.reshape(shape)?, min, max])
    }
}

pub(crate) static DEF: OpDef = OpDef::composite("quantized_concat", build)
    .operands(&[
        Operand::Structure("axis"),
        Operand::Variadic("values.."),
        Operand::Variadic("input_mins.."),
        Operand::Variadic("input_maxes.."),
    ])
    .outputs(|_, _| 3)
    .dtype_rule(dtypes)
    .tensorflow(&[TfOp::new("QuantizedConcat")]);

/// An op for import only.
pub(crate) static RESHAPE: OpDef = OpDef::composite("quantized_reshape", |cx, values| {
    let (x, min, max, shape) = match (values, cx.attrs().get("shape")) {
        (&[x, min, max], Some(shape)) => {
            let shape = shape.to_elements().ok_or_else(|| Error::msg("shape must be integers"))?;
            (x, min, max, x.graph().op(&crate::ops::array::reshape::DEF).data(x).attr("shape", shape))
        }
        (&[x, shape, min, max], None) => {
            (x, min, max, x.graph().op(&crate::ops::array::reshape::DEF).data(x).size("shape", shape))
        }
        _ => return Err(Error::msg("quantized_reshape needs an input, a shape and a range")),
    };
    check_range(x.dtype(), &[min, max])?;
    Ok(vec![shape.finish()?, min, max])
})
.operands(&[
    Operand::Data("x"),
    Operand::Size("shape"),
    Operand::Data("input_min"),
    Operand::Data("input_max"),
])
.outputs(|_, _| 3)
.dtype_rule(|dtypes, _| match (dtypes.first(), dtypes.get(1)) {
    (Some(x), Some(DType::I32 | DType::I64 | DType::F32)) => {
        quantized_and_ranges(&[*x])?;
        Ok(vec![*x, DType::F32, DType::F32])
    }
    _ => dtype::refuse("the operands must be a quantized tensor, a shape and a range".to_string()),
})
.tensorflow(&[TfOp::new("QuantizedReshape")]);

/// Checks that `min` and `max` are f32 scalars and that `dtype` is quantized.
pub(super) fn check_range(dtype: DType, ends: &[Value<'_>]) -> Result<()> {
    quantized_and_ranges(&[dtype])?;
    for end in ends {
        all_f32(&[end.dtype()])?;
        if let Some(rank) = end.shape().rank().filter(|rank| *rank != 0) {
            let message = format!("an end of a range must have rank 0, got rank {rank}");
            return Err(Error::new(ErrorKind::Shape, Phase::Build, message));
        }
    }
    Ok(())
}

fn dtypes(operands: &[DType], attrs: &Attrs) -> Result<Vec<DType>> {
    let first = usize::from(attrs.get("axis").is_none());
    dtype::check_indices(operands.get(..first).unwrap_or_default(), 0)?;
    let rest = operands.get(first..).unwrap_or_default();
    let (values, ends) = rest.split_at(rest.len() / 3);
    all_f32(ends)?;
    let dtype = dtype::common(values, 0, values.len(), dtype::Class::Fixed)?;
    quantized_and_ranges(&[dtype])?;
    Ok(vec![dtype, DType::F32, DType::F32])
}

fn build<'g>(cx: &CompositeCx<'_>, values: &[Value<'g>]) -> Result<Vec<Value<'g>>> {
    let operands: Vec<DType> = values.iter().map(|value| value.dtype()).collect();
    let dtype = dtypes(&operands, cx.attrs())?[0];
    let (axis, rest) = values.split_at(usize::from(cx.attrs().get("axis").is_none()));
    let (values, ends) = rest.split_at(rest.len() / 3);
    let (mins, maxes) = ends.split_at(values.len());
    check_range(dtype, ends)?;
    let low = stack(mins, 0)?.reduce_min(Axes::all())?;
    let high = stack(maxes, 0)?.reduce_max(Axes::all())?;
    let is_signed = Scalar::lowest(dtype).to_i64() < 0;
    let (low, high) = match is_signed {
        true => {
            let largest = low.abs()?.maximum(high.abs()?)?;
            (largest.neg()?, largest)
        }
        false => (low.minimum(0.0)?, high),
    };
    let mut moved = Vec::with_capacity(values.len());
    for ((value, min), max) in values.iter().zip(mins).zip(maxes) {
        let call = value.graph().op(&INTO_RANGE).data(*value).data_all(&[*min, *max, low, high]);
        moved.push(call.attr("dtype", dtype).attr("joins", true).finish()?);
    }
    let joined = match (axis.first(), cx.attrs().get("axis")) {
        (Some(axis), _) => {
            let call = axis.graph().op(&concat::DEF).structure("axis", *axis);
            call.data_all(&moved).finish()?
        }
        (None, Some(axis)) => {
            let call = low.graph().op(&concat::DEF).attr("axis", axis.clone());
            call.data_all(&moved).finish()?
        }
        (None, None) => return Err(Error::msg("axis must be given")),
    };
    Ok(vec![joined, low, high])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Graph;
    use crate::ops::testing::tensor;

    #[test]
    fn ranges_that_differ_are_joined() {
        let g = Graph::new();
        let value = |bits: &[u8], max: f32| {
            let x = crate::Tensor::from_bits(DType::QU8, &[bits.len()], bits).unwrap();
            [g.constant(x).unwrap(), g.constant(0.0f32).unwrap(), g.constant(max).unwrap()]
        };
        let [q, min, max] = quantized_concat(&[value(&[0, 255], 1.0), value(&[51, 255], 5.0)], 0).unwrap();
        let [q, min, max] = g.compile([q.cast(DType::I32).unwrap(), min, max]).unwrap().run(&[]).unwrap();
        assert_eq!(q, tensor(&[4], &[0, 51, 51, 255]));
        assert_eq!((min.item::<f32>().unwrap(), max.item::<f32>().unwrap()), (0.0, 5.0));
        let error = quantized_concat(&[], 0).unwrap_err();
        assert_eq!(error.message(), "quantized_concat needs at least one value, got none");
    }
}
