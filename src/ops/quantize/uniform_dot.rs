//! `uniform_quantized_dot` and `uniform_quantized_dot_hybrid`: products of uniformly quantized matrices.

use std::panic::Location;

use shapeflow_shape_fns::{Attribute, Attrs, DType, InferenceContext, TensorShape};

use super::options::quantized_and_ranges;
use super::uniform::{Parameters, T_OUT, UniformQuantization, axis_of, missing, scales_and_zero_points};
use super::uniform_requantize::{PAIR, quantized_pair};
use super::uniform_rescale::{BOUNDS, Rescaling, ratio_of};
use crate::dtype;
use crate::error::Result;
use crate::expr::{Expr, Index, LowerCx};
use crate::graph::{OpBuilder, Value};
use crate::op::{OpDef, Operand, TfOp};
use crate::ops::nn::window::{of_rank, refuse};
use crate::ops::reduce::Axes;
use crate::ops::rounding::round_half_away;

impl<'g> Value<'g> {
    /// Multiplies two matrices of quantized numbers. The integers, each minus its zero point, are multiplied and added
    /// in i32, which wraps, and the sums are requantized as by [`Value::uniform_requantize`].
    ///
    /// `q[m, k], q[k, n] -> q[m, n]`. `self` has one scale; `other` may have a scale for each column, and then also the
    /// product. As TensorFlow's `UniformQuantizedDot`, whose kernel takes qi8 and gives qi32. The op is composed of ops
    /// that fuse into kernels.
    ///
    /// ```
    /// use shapeflow::{DType, Graph, UniformQuantization};
    ///
    /// let g = Graph::new();
    /// let a = g.constant([[3i32, 5]])?.cast(DType::QI8)?;
    /// let b = g.constant([[1i32, -1], [2, 0]])?.cast(DType::QI8)?;
    /// let of_a = UniformQuantization::of_tensor(&g, DType::QI8, 0.5, 1)?;
    /// let of_b = UniformQuantization::of_slices(&g, DType::QI8, 1, &[1.0, 2.0], &[0, 0])?;
    /// let to = UniformQuantization::of_tensor(&g, DType::QI32, 0.5, 0)?;
    /// // 1.0 * 1 + 2.0 * 2, and 1.0 * -2
    /// let y = a.uniform_quantized_dot(b, of_a, of_b, to)?.uniform_dequantize(to)?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y.to_vec::<f32>()?, [5.0, -2.0]);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// An operand does not have the dtype of its quantization, the dtypes of the operands differ, an operand is not a
    /// matrix, the matrices do not fit, or a quantization has an axis that the op does not allow. Else as
    /// [`Value::uniform_requantize`].
    #[track_caller]
    pub fn uniform_quantized_dot(
        self,
        other: Value<'g>,
        from_self: UniformQuantization<'g>,
        from_other: UniformQuantization<'g>,
        to: UniformQuantization<'g>,
    ) -> Result<Value<'g>> {
        from_self.require_dtype("operand 0", self)?;
        from_other.require_dtype("operand 1", other)?;
        let call = self.graph().op(&DOT).data(self).data(other).attr("dtype", to.dtype);
        let call = [from_self, from_other, to]
            .into_iter()
            .fold(call, |call, each| call.data(each.scales).data(each.zero_points));
        let call = from_self.add_axis(call, "lhs_quantization_axis");
        let call =
            to.add_axis(from_other.add_axis(call, "rhs_quantization_axis"), "output_quantization_axis");
        to.add_bounds(call, BOUNDS).finish_at(Location::caller())
    }

    /// Multiplies a matrix of floats and a matrix of quantized numbers. Each row of `self` is rounded to the integers
    /// of qi8 by a scale and a zero point of its own, chosen so that -128 to 127 cover the row and 0 exactly. The
    /// integers, each minus its zero point, are multiplied and added in i32. A row with NaN, or whose numbers all are
    /// so small that the inverse of the scale is not finite, is taken as zeros.
    ///
    /// `f32[m, k], q[k, n] -> f32[m, n]`; `other` has one scale, or a scale for each column. As TensorFlow's
    /// `UniformQuantizedDotHybrid`. The op is composed of ops that fuse into kernels.
    ///
    /// ```
    /// use shapeflow::{DType, Graph, UniformQuantization};
    ///
    /// let g = Graph::new();
    /// let x = g.constant([[0.0f32, 255.0]])?;
    /// let b = g.constant([[1i32], [2]])?.cast(DType::QI8)?;
    /// let of_b = UniformQuantization::of_tensor(&g, DType::QI8, 0.5, 0)?;
    /// let [y] = g.compile(x.uniform_quantized_dot_hybrid(b, of_b)?)?.run(&[])?;
    /// assert_eq!(y.to_vec::<f32>()?, [255.0]);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The element type is not f32, `other` does not have the dtype of its quantization, an operand is not a matrix,
    /// the matrices do not fit, or scales or zero points have a wrong dtype or shape. The run fails unless all scales
    /// are positive.
    #[track_caller]
    pub fn uniform_quantized_dot_hybrid(
        self,
        other: Value<'g>,
        from_other: UniformQuantization<'g>,
    ) -> Result<Value<'g>> {
        from_other.require_dtype("operand 1", other)?;
        let call = self.graph().op(&DOT_HYBRID).data(self).data(other);
        let call: OpBuilder<'g> = call.data(from_other.scales).data(from_other.zero_points);
        from_other.add_axis(call, "rhs_quantization_axis").finish_at(Location::caller())
    }
}

pub(crate) static DOT: OpDef = OpDef::composite("uniform_quantized_dot", |cx, values| {
    let dtypes: Vec<DType> = values.iter().map(|value| value.dtype()).collect();
    quantized_pair(&dtypes, cx.attrs())?;
    let &[lhs, rhs, ref parameters @ ..] = values else { return missing() };
    let (lhs, rhs) = (of_rank(lhs, 2, "lhs")?, of_rank(rhs, 2, "rhs")?);
    let product = Product::of(cx.attrs(), [lhs, rhs], parameters, [1, 1])?;
    let sums = product.lhs_steps(lhs)?.matmul(product.rhs_steps(rhs)?)?;
    Ok(vec![product.requantize(cx.attrs(), sums)?])
})
.attrs(&[
    Attribute::dtype_or("dtype", DType::QI32),
    Attribute::int_or("lhs_quantization_axis", -1),
    Attribute::int_or("rhs_quantization_axis", -1),
    Attribute::int_or("output_quantization_axis", -1),
    Attribute::int("output_quantization_min_val").optional(),
    Attribute::int("output_quantization_max_val").optional(),
])
.operands(PAIR)
.dtype_rule(quantized_pair)
.tensorflow(&[TfOp::new("UniformQuantizedDot").attrs(T_OUT)]);

/// The operands of a hybrid product.
pub(super) const HYBRID: &[Operand] = &[
    Operand::Data("lhs"),
    Operand::Data("rhs"),
    Operand::Data("rhs_scales"),
    Operand::Data("rhs_zero_points"),
];

pub(crate) static DOT_HYBRID: OpDef = OpDef::composite("uniform_quantized_dot_hybrid", |cx, values| {
    let dtypes: Vec<DType> = values.iter().map(|value| value.dtype()).collect();
    hybrid_pair(&dtypes)?;
    let &[lhs, rhs, scales, zero_points] = values else { return missing() };
    let (lhs, rhs) = (of_rank(lhs, 2, "lhs")?, of_rank(rhs, 2, "rhs")?);
    let axis = axis_of_channels(cx.attrs(), "rhs_quantization_axis", 1)?;
    let rhs_parameters = Parameters::of("rhs_", rhs, axis, [scales, zero_points])?;
    let rounded = RoundedSlices::of(lhs, &[1])?;
    let sums = rounded.steps.matmul(rhs_parameters.steps(rhs)?)?;
    Ok(vec![sums.cast(DType::F32)?.mul(rounded.scales)?.mul(rhs_parameters.scales)?])
})
.attrs(&[Attribute::int_or("rhs_quantization_axis", -1)])
.operands(HYBRID)
.dtype_rule(|dtypes, _| hybrid_pair(dtypes))
.tensorflow(&[TfOp::new("UniformQuantizedDotHybrid")]);

/// Checks the dtypes of a hybrid product.
pub(super) fn hybrid_pair(dtypes: &[DType]) -> Result<Vec<DType>> {
    let [lhs, rhs, parameters @ ..] = dtypes else { return missing() };
    if *lhs != DType::F32 {
        return dtype::refuse(format!("the element type of lhs must be f32, got {lhs}"));
    }
    quantized_and_ranges(&[*rhs])?;
    scales_and_zero_points(parameters)?;
    Ok(vec![DType::F32])
}

/// Returns the quantized axis of attribute `name`, which must be -1 or `channels`.
///
/// # Errors
/// The attribute has another value.
pub(super) fn axis_of_channels(attrs: &Attrs, name: &str, channels: usize) -> Result<Option<usize>> {
    match axis_of(attrs, name)? {
        Some(axis) if axis != channels => {
            refuse(format!("{name} must be -1 or the axis {channels} of the output channels, got {axis}"))
        }
        axis => Ok(axis),
    }
}

/// The parameters of a product or a convolution of two quantized tensors.
pub(super) struct Product<'g> {
    lhs: Parameters<'g>,
    rhs: Parameters<'g>,
    output_axis: Option<usize>,
    output: [Value<'g>; 2],
}

impl<'g> Product<'g> {
    /// Reads the parameters. `channels` are the axes of the output channels in `rhs` and in the output.
    ///
    /// # Errors
    /// An axis or the shape of a parameter is wrong.
    pub fn of(
        attrs: &Attrs,
        [lhs, rhs]: [Value<'g>; 2],
        parameters: &[Value<'g>],
        channels: [usize; 2],
    ) -> Result<Product<'g>> {
        let &[lhs_scales, lhs_zeros, rhs_scales, rhs_zeros, scales, zeros] = parameters else {
            return missing();
        };
        if let Some(axis) = axis_of(attrs, "lhs_quantization_axis")? {
            return refuse(format!("lhs_quantization_axis must be -1, got {axis}"));
        }
        let rhs_axis = axis_of_channels(attrs, "rhs_quantization_axis", channels[0])?;
        let output_axis = axis_of_channels(attrs, "output_quantization_axis", channels[1])?;
        if let (None, Some(axis)) = (rhs_axis, output_axis) {
            return refuse(format!(
                "output_quantization_axis must be -1 if rhs_quantization_axis is -1, got {axis}"
            ));
        }
        Ok(Product {
            lhs: Parameters::of("lhs_", lhs, None, [lhs_scales, lhs_zeros])?,
            rhs: Parameters::of("rhs_", rhs, rhs_axis, [rhs_scales, rhs_zeros])?,
            output_axis,
            output: [scales, zeros],
        })
    }

    /// Returns the integers of `lhs`, each minus the zero point.
    pub fn lhs_steps(&self, lhs: Value<'g>) -> Result<Value<'g>> {
        self.lhs.steps(lhs)
    }

    /// Returns the integers of `rhs`, each minus its zero point. The last axis of `rhs` has the output channels.
    pub fn rhs_steps(&self, rhs: Value<'g>) -> Result<Value<'g>> {
        self.rhs.steps(rhs)
    }

    /// Requantizes sums of products. The last axis of `sums` has the output channels.
    pub fn requantize(&self, attrs: &Attrs, sums: Value<'g>) -> Result<Value<'g>> {
        let last = sums.shape().rank().and_then(|rank| rank.checked_sub(1));
        let to = Parameters::of("output_", sums, self.output_axis.and(last), self.output)?;
        let ratio = ratio_of(&[self.lhs.scales, self.rhs.scales], to.scales)?;
        Rescaling { ratio, zero_points: None, to }.apply(attrs, sums, self.rhs.axis.and(last))
    }
}

/// Floats that are rounded to the integers of qi8, by a scale and a zero point for each slice.
pub(super) struct RoundedSlices<'g> {
    /// The integers, each minus the zero point of its slice, as i32.
    pub steps: Value<'g>,
    /// The scales. Their shape is that of the floats, with size 1 along the axes of a slice.
    pub scales: Value<'g>,
}

impl<'g> RoundedSlices<'g> {
    /// Rounds the floats `x`, whose slices contain the axes `axes`.
    pub fn of(x: Value<'g>, axes: &[i64]) -> Result<RoundedSlices<'g>> {
        let axes = || Axes::of(axes.to_vec()).keep_dims();
        let low = x.reduce_min(axes())?.minimum(0.0)?;
        let high = x.reduce_max(axes())?.maximum(0.0)?;
        let outputs = x.graph().op(&SLICE).data(low).data(high).finish_all()?;
        let &[scales, inverses, zero_points] = &outputs[..] else { return missing() };
        let steps = x.mul(inverses)?.add(0.5)?.floor()?.cast(DType::I32)?;
        let integers = steps.add(zero_points)?.clip_by_value(LEAST, GREATEST)?;
        Ok(RoundedSlices { steps: integers.sub(zero_points)?, scales })
    }
}

/// The integers of qi8.
const LEAST: i64 = -128;
const GREATEST: i64 = 127;

/// A part of hybrid products: `low f32[..], high f32[..] -> f32[..], f32[..], i32[..]`, the scales, their inverses and
/// the zero points for which the integers of qi8 reach from `low` to `high`. `low` is at most 0 and `high` at least 0.
/// If the inverse is not finite, all numbers become 0: the scale is 1, and the inverse 0.
pub(crate) static SLICE: OpDef = OpDef::compute("uniform_slice", lower_slice)
    .internal()
    .operands(&[Operand::Data("low"), Operand::Data("high")])
    .outputs(|_, _| 3)
    .shape_fn(slice_shape)
    .dtype_rule(|dtypes, _| match dtypes {
        [DType::F32, DType::F32] => Ok(vec![DType::F32, DType::F32, DType::I32]),
        _ => dtype::refuse("both operands must be f32".to_string()),
    });

fn slice_shape(cx: &mut InferenceContext<'_>) -> shapeflow_shape_fns::Result<()> {
    let (low, high): (TensorShape, TensorShape) = (cx.input(0).clone(), cx.input(1).clone());
    let shape = cx.merge_shapes(&low, &high)?;
    for output in 0..3 {
        cx.set_output(output, shape.clone());
    }
    Ok(())
}

fn lower_slice(cx: &mut dyn LowerCx, output: usize, index: &[Index]) -> Expr {
    let number = |value: f64| Expr::constant(value);
    let [low, high] = [0, 1].map(|operand| cx.operand(operand, index).cast(DType::F64));
    let count = number((GREATEST - LEAST) as f64);
    let width = &high - &low;
    let scale = (&width / &count).cast(DType::F32);
    let inverse = (count / width).cast(DType::F32);
    let zero = Expr::number(DType::F32, 0.0);
    let is_flat =
        scale.clone().equal(zero.clone()) | !inverse.clone().less(Expr::number(DType::F32, f64::INFINITY));
    let wide = scale.clone().cast(DType::F64);
    let (from_low, from_high) = (&low / &wide, &high / &wide);
    let (least, greatest) = (number(LEAST as f64), number(GREATEST as f64));
    // Of the zero points that map `low` or `high` exactly, the one with the smaller rounding error.
    let error = |end: &Expr, part: &Expr| end.clone().abs() + part.clone().abs();
    let is_from_low = error(&least, &from_low).less(error(&greatest, &from_high));
    let zero_point = is_from_low.select(&least - from_low, &greatest - from_high);
    let zero_point = round_half_away(zero_point).maximum(least).minimum(greatest).cast(DType::I32);
    match output {
        0 => is_flat.select(Expr::number(DType::F32, 1.0), scale),
        1 => is_flat.select(zero, inverse),
        _ => is_flat.select(Expr::number(DType::I32, 0.0), zero_point),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Graph;
    use crate::ops::testing::{run, shape_table, tensor};

    shape_table! { SLICE, {},
        "[n, 1]; [?, 1]" => "[n, 1]; [n, 1]; i32[n, 1]",
        "[n]; f64[n]" => error "both operands must be f32",
    }

    #[test]
    fn rows_without_a_range_are_0() {
        let low = tensor(&[4], &[0.0f32, 0.0, -1e-40, -3e38]);
        let high = tensor(&[4], &[0.0f32, 255.0, 0.0, 3e38]);
        let outputs = run(&SLICE, &Attrs::new(), &[low, high]).unwrap();
        assert_eq!(outputs[0].to_vec::<f32>().unwrap()[..3], [1.0, 1.0, 1.0]);
        assert_eq!(outputs[1].to_vec::<f32>().unwrap()[..3], [0.0, 1.0, 0.0]);
        assert_eq!(outputs[2].to_vec::<i32>().unwrap(), [0, -128, 0, -1]);
    }

    #[test]
    fn axes_of_other_dimensions_are_refused() {
        let g = Graph::new();
        let x = g.constant([[1i32, 2], [3, 4]]).unwrap().cast(DType::QI8).unwrap();
        let one = UniformQuantization::of_tensor(&g, DType::QI8, 1.0, 0).unwrap();
        let to = UniformQuantization { dtype: DType::QI32, ..one };
        let of = |axis| UniformQuantization::of_slices(&g, DType::QI8, axis, &[1.0; 2], &[0; 2]).unwrap();
        let refused = |lhs, rhs, to, expected: &str| {
            let error = x.uniform_quantized_dot(x, lhs, rhs, to).unwrap_err();
            assert!(error.message().contains(expected), "{error}");
        };
        refused(of(0), one, to, "lhs_quantization_axis must be -1, got 0");
        refused(
            one,
            of(0),
            to,
            "rhs_quantization_axis must be -1 or the axis 1 of the output channels, got 0",
        );
        let slices = UniformQuantization { dtype: DType::QI32, ..of(1) };
        refused(
            one,
            one,
            slices,
            "output_quantization_axis must be -1 if rhs_quantization_axis is -1, got 1",
        );
        let bounds = UniformQuantization { bounds: Some([-200, 5]), dtype: DType::QI8, ..to };
        refused(one, one, bounds, "must be ascending integers of qi8, from -128 to 127, got -200 and 5");
    }

    #[test]
    fn rows_with_nan_are_taken_as_zeros() {
        let g = Graph::new();
        let x = g.constant([[f32::NAN, 1.0], [1e-40, -1e-40], [0.0, 255.0]]).unwrap();
        let columns = g.constant([[1i32], [1]]).unwrap().cast(DType::QI8).unwrap();
        let one = UniformQuantization::of_tensor(&g, DType::QI8, 1.0, 0).unwrap();
        let y = x.uniform_quantized_dot_hybrid(columns, one).unwrap();
        let [y] = g.compile(y).unwrap().run(&[]).unwrap();
        assert_eq!(y.to_vec::<f32>().unwrap(), [0.0, 0.0, 255.0]);
    }
}
