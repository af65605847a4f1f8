//! `uniform_requantize` and `uniform_quantized_clip`: integers that get other scales and zero points, or a limit.

use std::panic::Location;

use shapeflow_shape_fns::{Attribute, Attrs, DType};

use super::options::{quantized_and_ranges, quantized_attr};
use super::uniform::{
    Parameters, T_OUT, UniformQuantization, axis_of, bounds_of, missing, operand_of_slice,
    scales_and_zero_points,
};
use super::uniform_rescale::{BOUNDS, Rescaling, ratio_of};
use crate::dtype;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::expr::{Expr, Index, LowerCx};
use crate::graph::Value;
use crate::op::{OpDef, Operand, TfOp};
use crate::shape_fns;

impl<'g> Value<'g> {
    /// Returns the integers of another quantization that stand for the same numbers:
    /// `(self - zero_point) * (scale / new_scale) + new_zero_point`, rounded, and the nearest integer in use if this is
    /// beyond the bounds of `to`. The quotient of the scales is rounded to 31 bits; below 2^-32 it counts as 0, and
    /// from 2^30 on as 2^30 - 0.5. The product is exact, ties round up, and it becomes the nearest i32 before the zero
    /// point is added. Either both tensors are quantized along the same axis, or one of them has a single scale.
    ///
    /// `q[..] -> q[..]`. As TensorFlow's `UniformRequantize`, whose kernel takes qi8 and qi32, gives qi8, rounds the
    /// integers of qi32 to f32 first, and subtracts in 32 bits. Fuses into kernels.
    ///
    /// ```
    /// use shapeflow::{DType, Graph, UniformQuantization};
    ///
    /// let g = Graph::new();
    /// let halves = UniformQuantization::of_tensor(&g, DType::QI32, 0.5, 0)?;
    /// let ones = UniformQuantization::of_tensor(&g, DType::QI8, 1.0, 10)?;
    /// let x = g.constant([4i32, -5, 1000])?.cast(DType::QI32)?;
    /// let [y] = g.compile(x.uniform_requantize(halves, ones)?.cast(DType::I32)?)?.run(&[])?;
    /// assert_eq!(y.to_vec::<i32>()?, [12, 8, 127]);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The element type is not the dtype of `from`, a dtype is not quantized, the axes differ, the bounds of `to` are
    /// not integers of its dtype in ascending order, or scales or zero points have a wrong dtype or shape. The run
    /// fails unless all scales and all quotients of scales are positive and finite.
    #[track_caller]
    pub fn uniform_requantize(
        self,
        from: UniformQuantization<'g>,
        to: UniformQuantization<'g>,
    ) -> Result<Value<'g>> {
        from.require_dtype("the operand", self)?;
        let call = self.graph().op(&DEF).data(self).data(from.scales).data(from.zero_points);
        let call = call.data(to.scales).data(to.zero_points).attr("dtype", to.dtype);
        let call = to.add_axis(from.add_axis(call, "input_quantization_axis"), "output_quantization_axis");
        to.add_bounds(call, BOUNDS).finish_at(Location::caller())
    }
}

pub(crate) static DEF: OpDef = OpDef::composite("uniform_requantize", |cx, values| {
    let &[x, scales, zero_points, new_scales, new_zero_points] = values else { return missing() };
    let dtypes: Vec<DType> = values.iter().map(|value| value.dtype()).collect();
    requantized(&dtypes, cx.attrs())?;
    let [from, to] =
        [axis_of(cx.attrs(), "input_quantization_axis")?, axis_of(cx.attrs(), "output_quantization_axis")?];
    if let (Some(from), Some(to)) = (from, to)
        && from != to
    {
        let message = format!("the quantized axes of input and output must be equal, got {from} and {to}");
        return Err(Error::new(ErrorKind::Attribute, Phase::Build, message));
    }
    let from = Parameters::of("input_", x, from, [scales, zero_points])?;
    let to = Parameters::of("output_", x, to, [new_scales, new_zero_points])?;
    let ratio = ratio_of(&[from.scales], to.scales)?;
    Ok(vec![Rescaling { ratio, zero_points: Some(from.zero_points), to }.apply(cx.attrs(), x, from.axis)?])
})
.attrs(&[
    Attribute::dtype("dtype"),
    Attribute::int_or("input_quantization_axis", -1),
    Attribute::int_or("output_quantization_axis", -1),
    Attribute::int("output_quantization_min_val").optional(),
    Attribute::int("output_quantization_max_val").optional(),
])
.operands(&[
    Operand::Data("input"),
    Operand::Data("input_scales"),
    Operand::Data("input_zero_points"),
    Operand::Data("output_scales"),
    Operand::Data("output_zero_points"),
])
.dtype_rule(requantized)
.tensorflow(&[TfOp::new("UniformRequantize").attrs(T_OUT)]);

fn requantized(dtypes: &[DType], attrs: &Attrs) -> Result<Vec<DType>> {
    let [x, parameters @ ..] = dtypes else { return missing() };
    quantized_and_ranges(&[*x])?;
    scales_and_zero_points(parameters)?;
    let dtype = quantized_attr(attrs)?;
    bounds_of(attrs, BOUNDS, dtype)?;
    Ok(vec![dtype])
}

/// The operands of an op of two quantized tensors, and their parameters.
pub(super) const PAIR: &[Operand] = &[
    Operand::Data("lhs"),
    Operand::Data("rhs"),
    Operand::Data("lhs_scales"),
    Operand::Data("lhs_zero_points"),
    Operand::Data("rhs_scales"),
    Operand::Data("rhs_zero_points"),
    Operand::Data("output_scales"),
    Operand::Data("output_zero_points"),
];

/// Checks the dtypes of two quantized tensors and of their parameters. Returns the dtype of the result: attribute
/// `dtype`, or else that of the operands.
pub(super) fn quantized_pair(dtypes: &[DType], attrs: &Attrs) -> Result<Vec<DType>> {
    let [lhs, rhs, parameters @ ..] = dtypes else { return missing() };
    quantized_and_ranges(&[*lhs])?;
    if lhs != rhs {
        return dtype::refuse(format!("both tensors must have the same dtype, got {lhs} and {rhs}"));
    }
    scales_and_zero_points(parameters)?;
    let dtype = if attrs.get("dtype").is_some() { quantized_attr(attrs)? } else { *lhs };
    bounds_of(attrs, BOUNDS, dtype)?;
    Ok(vec![dtype])
}

/// An op for import only: `q[..], min, max, scales, zero_points -> q[..]`, the integers, but at least `min` and at most
/// `max`, which belong to slices along attribute `quantization_axis`. As TensorFlow's `UniformQuantizedClipByValue`,
/// which ignores the scales and the zero points too.
pub(crate) static CLIP: OpDef = OpDef::compute("uniform_quantized_clip", lower_clip)
    .attrs(&[
        Attribute::int_or("quantization_axis", -1),
        Attribute::int("quantization_min_val").optional(),
        Attribute::int("quantization_max_val").optional(),
    ])
    .operands(&[
        Operand::Data("operand"),
        Operand::Data("min"),
        Operand::Data("max"),
        Operand::Data("scales"),
        Operand::Data("zero_points"),
    ])
    .shape_fn(shape_fns::quantize::uniform_quantized_clip)
    .dtype_rule(|dtypes, _| {
        let [x, min, max, parameters @ ..] = dtypes else { return missing() };
        quantized_and_ranges(&[*x])?;
        if x != min || x != max {
            return dtype::refuse(format!(
                "min and max must have the dtype {x} of the operand, got {min} and {max}"
            ));
        }
        scales_and_zero_points(parameters)?;
        Ok(vec![*x])
    })
    .tensorflow(&[TfOp::new("UniformQuantizedClipByValue")]);

fn lower_clip(cx: &mut dyn LowerCx, output: usize, index: &[Index]) -> Expr {
    let axis = cx.attrs().int("quantization_axis");
    let [min, max] = [1, 2].map(|operand| operand_of_slice(cx, operand, index, axis).cast(DType::I64));
    cx.operand(0, index).cast(DType::I64).maximum(min).minimum(max).cast(cx.output_dtype(output))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Graph;
    use crate::ops::testing::shape_table;

    shape_table! { CLIP, {"quantization_axis": 1},
        "qi32[n, ?]; qi32[4]; qi32[4]; [4]; i32[4]" => "qi32[n, 4]",
        "qi32[n, 4]; qi8[4]; qi32[4]; [4]; i32[4]" => error "min and max must have the dtype qi32",
    }

    fn integers<'g>(g: &'g Graph, rows: [[i32; 2]; 2]) -> Value<'g> {
        g.constant(rows).unwrap().cast(DType::QI32).unwrap()
    }

    fn elements(g: &Graph, x: Value<'_>) -> Vec<i32> {
        let [x] = g.compile(x.cast(DType::I32).unwrap()).unwrap().run(&[]).unwrap();
        x.to_vec().unwrap()
    }

    #[test]
    fn large_integers_are_requantized_exactly() {
        let g = Graph::new();
        let of = |scale, zero| UniformQuantization::of_tensor(&g, DType::QI32, scale, zero).unwrap();
        let x = integers(&g, [[i32::MAX, i32::MIN], [16_777_217, -3]]);
        let y = x.uniform_requantize(of(1.0, -1), of(2.0, 0)).unwrap();
        assert_eq!(elements(&g, y), [1 << 30, -(1 << 30) + 1, 8_388_609, -1]);
        let y = x.uniform_requantize(of(1e30, 0), of(1e-9, 5)).unwrap();
        assert_eq!(elements(&g, y), [i32::MAX, i32::MIN + 5, i32::MAX, i32::MIN + 5]);
        let y = x.uniform_requantize(of(1e-12, 0), of(1.0, 5)).unwrap();
        assert_eq!(elements(&g, y), [5, 5, 5, 5]);
    }

    #[test]
    fn bad_axes_and_scales_are_refused() {
        let g = Graph::new();
        let one = UniformQuantization::of_tensor(&g, DType::QI32, 1.0, 0).unwrap();
        let of = |axis| UniformQuantization::of_slices(&g, DType::QI32, axis, &[1.0; 2], &[0; 2]).unwrap();
        let x = integers(&g, [[1, 2], [3, 4]]);
        let error = x.uniform_requantize(of(0), of(1)).unwrap_err();
        assert!(
            error.message().contains("the quantized axes of input and output must be equal, got 0 and 1"),
            "{error}"
        );
        let infinite = UniformQuantization::of_tensor(&g, DType::QI32, f32::INFINITY, 0).unwrap();
        let exe = g.compile(x.uniform_requantize(one, infinite).unwrap().cast(DType::I32).unwrap()).unwrap();
        let error = exe.run::<1>(&[]).unwrap_err();
        assert!(error.message().contains("quotients of scales must be positive and finite"), "{error}");
        let reversed = UniformQuantization { bounds: Some([5, -5]), ..one };
        let error = x.uniform_requantize(one, reversed).unwrap_err();
        assert!(error.message().contains("must be ascending integers of qi32"), "{error}");
    }
}
