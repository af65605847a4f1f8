//! `dequantize`: the numbers that quantized integers stand for.

use std::panic::Location;

use shapeflow_shape_fns::{Attribute, Attrs, DType, InferenceContext};

use super::options::{
    QuantizeMode, QuantizeOptions, one_range_if_min_first, quantize_attrs, quantized_and_ranges,
};
use super::quantized_range::{QuantizedRange, bounds};
use crate::dtype;
use crate::error::Result;
use crate::expr::{Expr, Index, LowerCx};
use crate::graph::{IntoOperand, Value};
use crate::op::{OpDef, Operand, TfOp};
use crate::shape_fns;

impl<'g> Value<'g> {
    /// Returns the numbers that the integers of a quantized type stand for, in the range from `min` to `max`. The op is
    /// the inverse of [`Value::quantize`] up to rounding. The op ignores the rounding and the minimum range of
    /// `options`.
    ///
    /// `q[..], f32[], f32[] -> f32[..]`; with `axis`, the ends of the ranges are vectors with one element per slice
    /// along that axis. As TensorFlow's `Dequantize`. Fuses into kernels.
    ///
    /// ```
    /// use shapeflow::{DType, Graph, QuantizeOptions, Tensor};
    ///
    /// // The 256 integers stand for the numbers from 0 to 6, as after a relu6.
    /// let g = Graph::new();
    /// let q = g.constant(Tensor::from_bits(DType::QU8, &[3], &[0u8, 51, 255])?)?;
    /// let y = q.dequantize(0.0, 6.0, QuantizeOptions::default())?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y.to_vec::<f32>()?, [0.0, 51.0 * (6.0 / 255.0), 6.0]);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The element type is not quantized, an end of the range is not f32 or has a wrong shape, or the mode is
    /// [`QuantizeMode::MinFirst`] with several ranges.
    #[track_caller]
    pub fn dequantize(
        self,
        min: impl IntoOperand<'g>,
        max: impl IntoOperand<'g>,
        options: QuantizeOptions,
    ) -> Result<Value<'g>> {
        let location = Location::caller();
        // Rust scalars and dimensions take the dtype of this value.
        let f32_peer = self.graph().constant(0.0f32)?;
        let (min, max) = (min.into_operand(f32_peer, location), max.into_operand(f32_peer, location));
        options.add_to(self.graph().op(&DEF).data(self).data(min).data(max)).finish_at(location)
    }
}

pub(crate) static DEF: OpDef = OpDef::compute("dequantize", lower)
    .attrs(&quantize_attrs(Attribute::dtype_or("dtype", DType::F32)))
    .operands(&[Operand::Data("input"), Operand::Data("min_range"), Operand::Data("max_range")])
    .shape_fn(shape)
    .dtype_rule(dtypes)
    .tensorflow(&[TfOp::new("Dequantize")]);

fn dtypes(dtypes: &[DType], attrs: &Attrs) -> Result<Vec<DType>> {
    quantized_and_ranges(dtypes)?;
    QuantizeOptions::of(attrs)?;
    match attrs.dtype("dtype") {
        dtype @ (DType::F32 | DType::BF16) => Ok(vec![dtype]),
        other => dtype::refuse(format!("dtype must be f32 or bf16, got {other}")),
    }
}

fn shape(cx: &mut InferenceContext<'_>) -> shapeflow_shape_fns::Result<()> {
    one_range_if_min_first(cx)?;
    // TensorFlow refuses an axis of an input of unknown rank; here, the rank may be known later.
    shape_fns::quantize::quantize_and_dequantize(cx)
}

fn lower(cx: &mut dyn LowerCx, output: usize, index: &[Index]) -> Expr {
    let options = QuantizeOptions::of(cx.attrs()).expect("the dtype rule has read the options");
    let dtype = cx.dtype(0);
    let slice = options.range_index(index);
    let (min, max) = (cx.operand(1, &slice), cx.operand(2, &slice));
    let x = cx.operand(0, index);
    let number = |value: f64| Expr::number(DType::F32, value);
    let (low, high) = bounds(dtype);
    let (low, high) = (low as f64, high as f64);
    let value = match options.mode {
        QuantizeMode::MinFirst => QuantizedRange::new(dtype, min, max).dequantize(x),
        QuantizeMode::MinCombined => {
            let scale = (max - &min) / number(f64::from(high as f32 - low as f32));
            let half = if low < 0.0 { (high - low + 1.0) / 2.0 } else { 0.0 };
            (x.cast(DType::F32) + number(half)) * scale + min
        }
        QuantizeMode::Scaled => {
            let of_max = max / number(high);
            let scale = match low < 0.0 {
                true => (min / number(low + f64::from(u8::from(options.narrow_range)))).maximum(of_max),
                false => of_max,
            };
            x.cast(DType::F32) * scale
        }
    };
    value.cast(cx.output_dtype(output))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::shape_table;

    shape_table! { DEF, {},
        "qi8[n, 3]; []; []" => "f32[n, 3]",
        "i8[n]; []; []" => error "the element type must be quantized, got i8",
        "qi8[n]; f64[]; []" => error "the ends of a range must be f32, got f64",
    }
    shape_table! { slices: DEF, {"dtype": DType::BF16, "axis": 0, "mode": "SCALED"},
        "qu8[n, 3]; [2]; [m]" => "bf16[2, 3]",
    }
    shape_table! { min_first: DEF, {"axis": 1, "mode": "MIN_FIRST"},
        "qu8[n, 3]; [3]; [3]" => error "mode MIN_FIRST must have one range",
    }
}
