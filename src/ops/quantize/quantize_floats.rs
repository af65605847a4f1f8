//! `quantize`: maps floats to the integers of a quantized dtype.

use std::panic::Location;

use shapeflow_shape_fns::{Attribute, Attrs, DType, InferenceContext};

use super::options::{
    QuantizeMode, QuantizeOptions, all_f32, checked_range, one_range_if_min_first, quantize_attrs,
    quantized_attr,
};
use super::quantized_range::{QuantizedRange, bounds};
use crate::dtype;
use crate::error::{Error, Result};
use crate::expr::{Expr, Index, LowerCx, UnaryOp};
use crate::graph::{IntoOperand, Value};
use crate::op::{CompositeCx, OpDef, Operand, TfOp};
use crate::ops::array::unstack::exactly;
use crate::ops::reduce::Axes;
use crate::ops::rounding::round_half_away;
use crate::shape_fns;

impl<'g> Value<'g> {
    /// Maps the elements to integers of the quantized type `dtype`, which stand for evenly spaced numbers from `min` to
    /// `max`. Returns the integers and the ends of the range that they stand for. An element outside the range becomes
    /// the nearest end of the range.
    ///
    /// `f32[..], f32[], f32[] -> dtype[..], f32[], f32[]`; with `axis`, the ends of the ranges are vectors with one
    /// element per slice along that axis. The range is widened to contain 0. As TensorFlow's `QuantizeV2`; elements
    /// above the greatest i32 become the greatest i32, where TensorFlow's result depends on the processor. Fuses into
    /// kernels.
    ///
    /// ```
    /// use shapeflow::{DType, Graph, QuantizeOptions};
    ///
    /// // The 256 integers stand for the numbers from 0 to 6: a number is multiplied by 255/6 and rounded.
    /// let g = Graph::new();
    /// let x = g.constant([-1.0f32, 0.0, 1.2, 6.0, 7.0])?;
    /// let [q, min, max] = x.quantize(0.0, 6.0, DType::QU8, QuantizeOptions::default())?;
    /// let y = q.dequantize(min, max, QuantizeOptions::default())?;
    /// let [q, y] = g.compile([q.cast(DType::I32)?, y])?.run(&[])?;
    /// assert_eq!(q.to_vec::<i32>()?, [0, 0, 51, 255, 255]);
    /// assert_eq!(y.to_vec::<f32>()?[4], 6.0);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// An operand is not f32, `dtype` is not quantized, the ends of the range have wrong shapes, or the mode allows no
    /// rounding to even or only one range. The run fails if `max` is less than `min`.
    #[doc(alias = "quantize_v2")]
    #[track_caller]
    pub fn quantize(
        self,
        min: impl IntoOperand<'g>,
        max: impl IntoOperand<'g>,
        dtype: DType,
        options: QuantizeOptions,
    ) -> Result<[Value<'g>; 3]> {
        let location = Location::caller();
        let (min, max) = (min.into_operand(self, location), max.into_operand(self, location));
        let call = self.graph().op(&DEF).data(self).data(min).data(max).attr("dtype", dtype);
        exactly(options.add_to(call).finish_all_at(location)?.into_vec())
    }
}

const OPERANDS: &[Operand] =
    &[Operand::Data("input"), Operand::Data("min_range"), Operand::Data("max_range")];

pub(crate) static DEF: OpDef = OpDef::composite("quantize", build)
    .attrs(&quantize_attrs(Attribute::dtype("dtype")))
    .operands(OPERANDS)
    .outputs(|_, _| 3)
    .dtype_rule(dtypes)
    .tensorflow(&[TfOp::new("QuantizeV2").attrs(&[("T", "dtype")])]);

/// A part of `quantize`, whose minimum is not above its maximum.
pub(crate) static IN_RANGE: OpDef = OpDef::compute("quantize_in_range", lower)
    .internal()
    .attrs(&quantize_attrs(Attribute::dtype("dtype")))
    .operands(OPERANDS)
    .outputs(|_, _| 3)
    .shape_fn(shape)
    .dtype_rule(dtypes);

fn dtypes(dtypes: &[DType], attrs: &Attrs) -> Result<Vec<DType>> {
    if let Some(other) = dtypes.first().filter(|dtype| **dtype != DType::F32) {
        return dtype::refuse(format!("the element type must be f32, got {other} in operand 0"));
    }
    all_f32(dtypes)?;
    QuantizeOptions::of(attrs)?;
    Ok(vec![quantized_attr(attrs)?, DType::F32, DType::F32])
}

fn shape(cx: &mut InferenceContext<'_>) -> shapeflow_shape_fns::Result<()> {
    one_range_if_min_first(cx)?;
    shape_fns::quantize::quantize(cx)
}

fn build<'g>(cx: &CompositeCx<'_>, values: &[Value<'g>]) -> Result<Vec<Value<'g>>> {
    let &[x, min, max] = values else {
        return Err(Error::msg("quantize needs an input and the ends of its range"));
    };
    dtypes(&[x.dtype(), min.dtype(), max.dtype()], cx.attrs())?;
    let ascends = max.less(min)?.logical_not()?.reduce_all(Axes::all())?;
    let min =
        checked_range(min, ascends, "the maximum of a range must not be less than its minimum", [min, max])?;
    let call = x.graph().op(&IN_RANGE).data(x).data(min).data(max);
    call.attrs(cx.attrs().clone()).finish_all()
}

fn number(value: f64) -> Expr {
    Expr::number(DType::F32, value)
}

/// The range of a slice, widened.
struct WidenedRange {
    min: Expr,
    max: Expr,
}

fn lower(cx: &mut dyn LowerCx, output: usize, index: &[Index]) -> Expr {
    let options = QuantizeOptions::of(cx.attrs()).expect("the dtype rule has read the options");
    let dtype = cx.output_dtype(0);
    let slice = if output == 0 { options.range_index(index) } else { index.to_vec() };
    let (min, max) = (cx.operand(1, &slice), cx.operand(2, &slice));
    let largest = min.clone().abs().maximum(max.clone().abs()).maximum(number(1.0));
    let margin = largest * number(options.minimum_range);
    let min = min.minimum(number(0.0));
    let max = max.maximum(&min + margin).maximum(number(0.0));
    let range = WidenedRange { min, max };
    let (range, scale) = match options.mode {
        QuantizeMode::Scaled => range.symmetric(dtype, options.narrow_range),
        _ => {
            let integers = QuantizedRange::new(dtype, range.min.clone(), range.max.clone());
            let scale = (Expr::constant(integers.count()) / integers.width()).cast(DType::F32);
            (range, scale)
        }
    };
    match output {
        0 => {}
        1 => return range.min,
        _ => return range.max,
    }
    let x = cx.operand(0, index);
    if options.mode == QuantizeMode::MinFirst {
        return QuantizedRange::new(dtype, range.min, range.max).quantize(x);
    }
    let inside = x.minimum(range.max).maximum(range.min.clone());
    let (low, high) = bounds(dtype);
    let rounded = match options.mode {
        QuantizeMode::Scaled if options.round_half_to_even => (inside * scale).unary(UnaryOp::Round),
        QuantizeMode::Scaled => round_half_away(inside * scale),
        _ if low < 0 => {
            let half = number(((high - low + 1) / 2) as f64);
            round_half_away((inside - range.min) * scale - half)
        }
        // The cast truncates.
        _ => (inside - range.min) * scale + number(0.5),
    };
    rounded.cast(dtype)
}

impl WidenedRange {
    /// Returns the range that the integers reach if 0 stands for 0, and the number of integers per unit.
    fn symmetric(self, dtype: DType, is_narrow: bool) -> (WidenedRange, Expr) {
        let (low, high) = bounds(dtype);
        let ends = [((low + i64::from(is_narrow)) as f64, self.min), (high as f64, self.max)];
        let scales = ends.clone().map(|(integer, end)| {
            let is_reached = number(0.0).less(&end * number(integer));
            is_reached.select(number(integer) / end, number(f64::from(f32::MAX)))
        });
        let [of_min, of_max] = scales;
        let scale = of_min.minimum(of_max);
        let [min, max] = ends.map(|(integer, _)| {
            let end = number(integer) / scale.clone();
            // TensorFlow's kernels flush subnormal numbers to zero.
            let is_tiny = end.clone().abs().less(number(f64::from(f32::MIN_POSITIVE)));
            is_tiny.select(number(0.0), end)
        });
        (WidenedRange { min, max }, scale)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Graph;
    use crate::ops::testing::shape_table;
    use crate::shape;

    shape_table! { IN_RANGE, {"dtype": DType::QI8},
        "[n, 3]; []; []" => "qi8[n, 3]; f32[]; f32[]",
        "f64[n]; []; []" => error "the element type must be f32, got f64",
        "[n]; f64[]; []" => error "the ends of a range must be f32, got f64",
    }
    shape_table! { slices: IN_RANGE, {"dtype": DType::QU16, "axis": 1},
        "[n, 3]; [?]; [m]" => "qu16[n, 3]; f32[3]; f32[3]",
    }
    shape_table! { min_first: IN_RANGE, {"dtype": DType::QU16, "axis": 1, "mode": "MIN_FIRST"},
        "[n, 3]; [3]; [m]" => error "mode MIN_FIRST must have one range, got 3",
    }
    shape_table! { to_i32: IN_RANGE, {"dtype": DType::I32},
        "[n]; []; []" => error "dtype must be quantized, got i32",
    }
    shape_table! { to_even: IN_RANGE, {"dtype": DType::QI8, "round_mode": "HALF_TO_EVEN"},
        "[n]; []; []" => error "mode must be SCALED to round to even, got MIN_COMBINED",
    }

    #[test]
    fn a_range_that_descends_fails_the_run() {
        let g = Graph::new();
        let x = g.input("x", DType::F32, shape!["n"]).unwrap();
        let low = g.input("low", DType::F32, shape![]).unwrap();
        let [y, _, _] = x.quantize(low, 1.0, DType::QU8, QuantizeOptions::default()).unwrap();
        let exe = g.compile(y.cast(DType::I32).unwrap()).unwrap();
        let run = |low: f32| {
            exe.run(&[
                crate::TensorView::new(&[2], &[0.25f32, 1.0]).unwrap(),
                crate::TensorView::new(&[], &[low]).unwrap(),
            ])
        };
        let [y] = run(0.0).unwrap();
        assert_eq!(y.to_vec::<i32>().unwrap(), [64, 255]);
        let error = run(2.0).map(|_: [crate::Tensor; 1]| ()).unwrap_err();
        let problem =
            "the maximum of a range must not be less than its minimum, got minimum 2.0 and maximum 1.0";
        assert!(error.message().ends_with(problem), "{error}");
        assert_eq!(error.to_string().matches("less than its minimum").count(), 1, "{error}");
    }
}
