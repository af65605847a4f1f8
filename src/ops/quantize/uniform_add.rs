//! `uniform_quantized_add`: sums of uniformly quantized tensors.

use std::panic::Location;

use shapeflow_shape_fns::{Attribute, DType, Dim, InferenceContext, ShapeError, TensorShape};

use super::options::quantized_attr;
use super::uniform::{Parameters, UniformQuantization, axis_of, bounds_of, missing};
use super::uniform_requantize::{PAIR, quantized_pair};
use super::uniform_rescale::{BOUNDS, ratio_of, rescaled};
use crate::dtype;
use crate::error::Result;
use crate::expr::{Expr, Index, LowerCx};
use crate::graph::Value;
use crate::op::{OpDef, Operand, TfOp};
use crate::ops::broadcast::broadcast_index;

impl<'g> Value<'g> {
    /// Adds the numbers that two quantized tensors stand for. Each operand is requantized as by
    /// [`Value::uniform_requantize`] before the integers are added.
    ///
    /// `q[..], q[..] -> q[..]`; the operands broadcast. If an operand and the sum are quantized along an axis, this is
    /// the same axis, counted from the last. As TensorFlow's `UniformQuantizedAdd`, whose kernel takes and gives qi32,
    /// rounds the operands to f32 first, lets sums wrap, ends the process if the sum is quantized along an axis and
    /// `self` is not, and gives wrong elements if an operand has size 1 along that axis. Fuses into kernels.
    ///
    /// ```
    /// use shapeflow::{DType, Graph, UniformQuantization};
    ///
    /// let g = Graph::new();
    /// let halves = UniformQuantization::of_tensor(&g, DType::QI32, 0.5, 0)?;
    /// let ones = UniformQuantization::of_tensor(&g, DType::QI32, 1.0, 10)?;
    /// let [x, y] = [[4i32, 8], [11, 12]].map(|x| g.constant(x).and_then(|x| x.cast(DType::QI32)));
    /// let sum = x?.uniform_quantized_add(y?, halves, ones, ones)?;
    /// let [sum] = g.compile(sum.cast(DType::I32)?)?.run(&[])?;
    /// assert_eq!(sum.to_vec::<i32>()?, [13, 16]);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Value::uniform_requantize`]; or the operands do not broadcast, or their dtypes differ.
    #[track_caller]
    pub fn uniform_quantized_add(
        self,
        other: Value<'g>,
        from_self: UniformQuantization<'g>,
        from_other: UniformQuantization<'g>,
        to: UniformQuantization<'g>,
    ) -> Result<Value<'g>> {
        from_self.require_dtype("operand 0", self)?;
        from_other.require_dtype("operand 1", other)?;
        let call = self.graph().op(&ADD).data(self).data(other);
        let call = [from_self, from_other, to]
            .into_iter()
            .fold(call, |call, each| call.data(each.scales).data(each.zero_points));
        let axes = ["lhs_quantization_axis", "rhs_quantization_axis", "output_quantization_axis"].into_iter();
        let call =
            axes.zip([from_self, from_other, to]).fold(call, |call, (name, each)| each.add_axis(call, name));
        to.add_bounds(call, BOUNDS).attr("dtype", to.dtype).finish_at(Location::caller())
    }
}

pub(crate) static ADD: OpDef = OpDef::composite("uniform_quantized_add", |cx, values| {
    let &[lhs, rhs, ref parameters @ ..] = values else { return missing() };
    let dtypes: Vec<DType> = values.iter().map(|value| value.dtype()).collect();
    let dtype = quantized_pair(&dtypes, cx.attrs())?[0];
    let &[lhs_scales, lhs_zeros, rhs_scales, rhs_zeros, scales, zeros] = parameters else { return missing() };
    let axis = |name| axis_of(cx.attrs(), name);
    let (of_lhs, of_rhs) = (axis("lhs_quantization_axis")?, axis("rhs_quantization_axis")?);
    let from_lhs = Parameters::of("lhs_", lhs, of_lhs, [lhs_scales, lhs_zeros])?;
    let from_rhs = Parameters::of("rhs_", rhs, of_rhs, [rhs_scales, rhs_zeros])?;
    // Only the shape of this sum is needed.
    let sum = lhs.cast(DType::I32)?.add(rhs.cast(DType::I32)?)?;
    let to = Parameters::of("output_", sum, axis("output_quantization_axis")?, [scales, zeros])?;
    let call = [from_lhs, from_rhs].into_iter().try_fold(
        lhs.graph().op(&SUM).data(lhs).data(rhs),
        |call, from| -> Result<_> {
            let ratio = ratio_of(&[from.scales], to.scales)?;
            Ok(call.data(from.zero_points).data(ratio.factors).data(ratio.exponents))
        },
    )?;
    let call = [("lhs_axis", of_lhs), ("rhs_axis", of_rhs), ("axis", to.axis)]
        .into_iter()
        .fold(call.data(to.zero_points), |call, (name, axis)| {
            call.attr(name, axis.map_or(-1, |axis| axis as i64))
        });
    let [low, high] = bounds_of(cx.attrs(), BOUNDS, dtype)?;
    Ok(vec![call.attr("dtype", dtype).attr("low", low).attr("high", high).finish()?])
})
.attrs(&[
    Attribute::dtype("dtype").optional(),
    Attribute::int_or("lhs_quantization_axis", -1),
    Attribute::int_or("rhs_quantization_axis", -1),
    Attribute::int_or("output_quantization_axis", -1),
    Attribute::int("output_quantization_min_val").optional(),
    Attribute::int("output_quantization_max_val").optional(),
])
.operands(PAIR)
.dtype_rule(quantized_pair)
.tensorflow(&[TfOp::new("UniformQuantizedAdd")]);

/// A part of `uniform_quantized_add`: `lhs[..], rhs[..]`, the zero points, factors and exponents of `lhs`, those of
/// `rhs`, and the zero points of the sum `-> dtype[..]`. Zero points are scalars, or vectors along an axis of their
/// tensor. Factors and exponents are scalars, or vectors along the axis of the sum, or else of the operand.
pub(crate) static SUM: OpDef = OpDef::compute("uniform_sum", lower_sum)
    .internal()
    .attrs(&[
        Attribute::dtype("dtype"),
        Attribute::int_or("lhs_axis", -1),
        Attribute::int_or("rhs_axis", -1),
        Attribute::int_or("axis", -1),
        Attribute::int("low"),
        Attribute::int("high"),
    ])
    .operands(&[
        Operand::Data("lhs"),
        Operand::Data("rhs"),
        Operand::Data("lhs_zero_points"),
        Operand::Data("lhs_factors"),
        Operand::Data("lhs_exponents"),
        Operand::Data("rhs_zero_points"),
        Operand::Data("rhs_factors"),
        Operand::Data("rhs_exponents"),
        Operand::Data("zero_points"),
    ])
    .shape_fn(sum_shape)
    .dtype_rule(|dtypes, attrs| match dtypes {
        [lhs, rhs, rest @ ..]
            if lhs == rhs && lhs.is_quantized() && rest.iter().all(|dtype| *dtype == DType::I32) =>
        {
            Ok(vec![quantized_attr(attrs)?])
        }
        _ => dtype::refuse(
            "the operands must be two quantized tensors of one dtype, and seven times i32".to_string(),
        ),
    });

/// The operands with the zero points, the factors and the exponents of `lhs` and of `rhs`.
const PARAMETERS: [[usize; 3]; 2] = [[2, 3, 4], [5, 6, 7]];
/// The operand with the zero points of the sum.
const ZERO_POINTS: usize = 8;

fn sum_shape(cx: &mut InferenceContext<'_>) -> shapeflow_shape_fns::Result<()> {
    let (lhs, rhs) = (cx.input(0).clone(), cx.input(1).clone());
    let mut shape = cx.broadcast(&lhs, &rhs).map_err(|error| error.operand(1))?;
    let to = usize::try_from(cx.int_or("axis", -1)?).ok();
    if let Some(axis) = to {
        shape = along(cx, &shape, axis, &[ZERO_POINTS])?;
    }
    for (index, name, [zero_points, factors, exponents]) in
        [(0, "lhs", PARAMETERS[0]), (1, "rhs", PARAMETERS[1])]
    {
        let operand = cx.input(index).clone();
        let own = usize::try_from(cx.int_or(&format!("{name}_axis"), -1)?).ok();
        if let Some(own) = own {
            along(cx, &operand, own, &[zero_points])?;
        }
        if let (Some(own), Some(to), Some(rank), Some(wide)) = (own, to, operand.rank(), shape.rank())
            && own + wide != to + rank
        {
            return Err(ShapeError::new(format_args!(
                "the quantized axis of {name} must be the axis of the sum, got axis {own} of {operand} and axis {to} of {shape}"
            )));
        }
        match (to, own) {
            (Some(axis), _) => shape = along(cx, &shape, axis, &[factors, exponents])?,
            (None, Some(axis)) => drop(along(cx, &operand, axis, &[factors, exponents])?),
            (None, None) => {}
        }
    }
    cx.set_output(0, shape);
    Ok(())
}

/// Requires the operands `vectors` to have one element per slice of `shape` along `axis`.
fn along(
    cx: &mut InferenceContext<'_>,
    shape: &TensorShape,
    axis: usize,
    vectors: &[usize],
) -> shapeflow_shape_fns::Result<TensorShape> {
    let Some(dims) = shape.dims() else { return Ok(shape.clone()) };
    let mut dims: Vec<Dim> = dims.to_vec();
    if axis >= dims.len() {
        return Err(ShapeError::new(format_args!(
            "a quantized axis must be less than the rank, got axis {axis} of {shape}"
        )));
    }
    for vector in vectors {
        let [slices] = cx.axes::<1>(*vector)?;
        dims[axis] = cx
            .agree("the number of slices and the size of the quantized axis", &slices, &dims[axis])
            .map_err(|error| error.operand(*vector))?;
    }
    Ok(TensorShape::from(dims))
}

fn lower_sum(cx: &mut dyn LowerCx, output: usize, index: &[Index]) -> Expr {
    let axis = |cx: &dyn LowerCx, name: &str| usize::try_from(cx.attrs().int(name)).ok();
    let to = axis(cx, "axis").map(|axis| index[axis].clone());
    let at = |slice: &Option<Index>| slice.iter().cloned().collect::<Vec<_>>();
    let mut sum = cx.operand(ZERO_POINTS, &at(&to)).cast(DType::I64);
    for (operand, name) in [(0, "lhs_axis"), (1, "rhs_axis")] {
        let own_index = broadcast_index(cx, operand, index);
        let own = axis(cx, name).map(|axis| own_index[axis].clone());
        let [zero_points, factors, exponents] = PARAMETERS[operand];
        let ratio = at(if to.is_some() { &to } else { &own });
        let difference = cx.operand(operand, &own_index).cast(DType::I64)
            - cx.operand(zero_points, &at(&own)).cast(DType::I64);
        let (factor, exponent) = (cx.operand(factors, &ratio), cx.operand(exponents, &ratio));
        sum = sum + rescaled(difference, factor, exponent);
    }
    let [low, high] = ["low", "high"].map(|name| Expr::constant(cx.attrs().int(name)));
    sum.minimum(high).maximum(low).cast(cx.output_dtype(output))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Graph;
    use crate::ops::testing::shape_table;

    shape_table! { SUM, {"dtype": DType::QI8, "rhs_axis": 0, "axis": 1, "low": -128, "high": 127},
        "qi32[n, ?]; qi32[4]; i32[]; i32[4]; i32[4]; i32[4]; i32[4]; i32[4]; i32[4]" => "qi8[n, 4]",
        "qi32[n, 4]; qi8[4]; i32[]; i32[4]; i32[4]; i32[4]; i32[4]; i32[4]; i32[4]" => error "two quantized tensors of one dtype",
        "qi32[n, 3]; qi32[3]; i32[]; i32[3]; i32[3]; i32[4]; i32[3]; i32[3]; i32[3]" => error "must agree, got 4 and 3",
    }

    fn integers<'g>(g: &'g Graph, rows: [[i32; 2]; 2]) -> Value<'g> {
        g.constant(rows).unwrap().cast(DType::QI32).unwrap()
    }

    fn elements(g: &Graph, x: Value<'_>) -> Vec<i32> {
        let [x] = g.compile(x.cast(DType::I32).unwrap()).unwrap().run(&[]).unwrap();
        x.to_vec().unwrap()
    }

    #[test]
    fn a_sum_may_be_quantized_along_an_axis_of_size_1_of_an_operand() {
        let g = Graph::new();
        let one = UniformQuantization::of_tensor(&g, DType::QI32, 1.0, 0).unwrap();
        let slices = UniformQuantization::of_slices(&g, DType::QI32, 1, &[1.0, 2.0], &[3, 4]).unwrap();
        let x = integers(&g, [[1, 2], [3, 4]]);
        let y = g.constant([[10i32], [20]]).unwrap().cast(DType::QI32).unwrap();
        let sum = x.uniform_quantized_add(y, one, one, slices).unwrap();
        // 2 / 2 + 10 / 2 + 4
        assert_eq!(elements(&g, sum), [14, 10, 26, 16]);
        let sum = x.uniform_quantized_add(y, slices, one, one).unwrap();
        assert_eq!(elements(&g, sum), [8, 6, 20, 20]);
    }

    #[test]
    fn an_axis_of_an_operand_is_that_of_the_sum() {
        let g = Graph::new();
        let one = UniformQuantization::of_tensor(&g, DType::QI32, 1.0, 0).unwrap();
        let of = |axis| UniformQuantization::of_slices(&g, DType::QI32, axis, &[1.0; 2], &[0; 2]).unwrap();
        let x = integers(&g, [[1, 2], [3, 4]]);
        let error = x.uniform_quantized_add(x, of(0), one, of(1)).unwrap_err();
        let expected = "the quantized axis of lhs must be the axis of the sum, got axis 0 of [2, 2] and axis 1 of [2, 2]";
        assert!(error.message().contains(expected), "{error}");
    }
}
