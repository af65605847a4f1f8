//! `uniform_quantize` and `uniform_dequantize`: integers that stand for numbers by a scale and a zero point.

use std::panic::Location;

use shapeflow_shape_fns::{Attribute, Attrs, DType};

use super::options::{quantized_and_ranges, quantized_attr};
use super::quantized_range::bounds;
use crate::dtype;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::expr::{Expr, Index, LowerCx};
use crate::graph::{Graph, OpBuilder, Value};
use crate::op::{OpDef, Operand, TfOp};
use crate::ops::nn::window::{of_rank, with_shape};
use crate::ops::reduce::Axes;
use crate::shape_fns;
use crate::tensor::Tensor;

/// How the integers of a tensor stand for numbers: `number = (integer - zero_point) * scale`. The tensor has one scale
/// and one zero point, or one of each per slice along an axis. As the quantizers of TensorFlow 2 and of StableHLO write
/// it into graphs.
///
/// ```
/// use shapeflow::{DType, Graph, UniformQuantization};
///
/// let g = Graph::new();
/// // Steps of 0.5; the integer 3 stands for 0.
/// let integers = UniformQuantization::of_tensor(&g, DType::QI8, 0.5, 3)?;
/// let x = g.constant([0.0f32, 0.5, -1.0, 100.0])?.uniform_quantize(integers)?;
/// let y = x.uniform_dequantize(integers)?;
/// let [x, y] = g.compile([x.cast(DType::I32)?, y])?.run(&[])?;
/// assert_eq!(x.to_vec::<i32>()?, [3, 4, 1, 127]);
/// assert_eq!(y.to_vec::<f32>()?, [0.0, 0.5, -1.0, 62.0]);
/// # Ok::<(), shapeflow::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct UniformQuantization<'g> {
    /// The quantized dtype of the integers.
    pub dtype: DType,
    /// The difference of the numbers that consecutive integers stand for: f32, a scalar, or with `axis` a vector.
    pub scales: Value<'g>,
    /// The integers that stand for 0: i32, of the shape of `scales`.
    pub zero_points: Value<'g>,
    /// The axis whose slices have scales and zero points of their own. `None` for one scale and one zero point.
    pub axis: Option<usize>,
    /// The least and the greatest integer of a result. `None` for the whole range of `dtype`. The quantizations of
    /// operands do not use them.
    pub bounds: Option<[i32; 2]>,
}

impl<'g> UniformQuantization<'g> {
    /// Makes the quantization of a tensor with one scale and one zero point.
    ///
    /// # Errors
    /// The scale is not positive, the dtype is quantized and the zero point is none of its integers, or the graph is
    /// full.
    #[track_caller]
    pub fn of_tensor(
        graph: &'g Graph,
        dtype: DType,
        scale: f32,
        zero_point: i32,
    ) -> Result<UniformQuantization<'g>> {
        check_parameters(dtype, &[scale], &[zero_point]).map_err(|error| error.at(Location::caller()))?;
        let (scales, zero_points) = (graph.constant(scale)?, graph.constant(zero_point)?);
        Ok(UniformQuantization { dtype, scales, zero_points, axis: None, bounds: None })
    }

    /// Makes the quantization of a tensor whose slices along `axis` have scales and zero points of their own.
    ///
    /// # Errors
    /// As [`UniformQuantization::of_tensor`], of any of the scales and zero points.
    #[track_caller]
    pub fn of_slices(
        graph: &'g Graph,
        dtype: DType,
        axis: usize,
        scales: &[f32],
        zero_points: &[i32],
    ) -> Result<UniformQuantization<'g>> {
        check_parameters(dtype, scales, zero_points).map_err(|error| error.at(Location::caller()))?;
        let scales = graph.constant(Tensor::from_slice(&[scales.len()], scales)?)?;
        let zero_points = graph.constant(Tensor::from_slice(&[zero_points.len()], zero_points)?)?;
        Ok(UniformQuantization { dtype, scales, zero_points, axis: Some(axis), bounds: None })
    }

    /// Adds the axis to a call, as attribute `name`.
    pub(super) fn add_axis(self, call: OpBuilder<'g>, name: &'static str) -> OpBuilder<'g> {
        call.attr(name, self.axis.map_or(-1, |axis| i64::try_from(axis).unwrap_or(i64::MAX)))
    }

    /// Adds the least and the greatest integer to a call, as the attributes `names`.
    pub(super) fn add_bounds(self, call: OpBuilder<'g>, [min, max]: [&'static str; 2]) -> OpBuilder<'g> {
        // TensorFlow's ops have no default values of these attributes. The dtype rule refuses a dtype without integers.
        let (low, high) = match self.bounds {
            Some([low, high]) => (i64::from(low), i64::from(high)),
            None if self.dtype.is_quantized() => bounds(self.dtype),
            None => return call,
        };
        call.attr(min, low).attr(max, high)
    }
}

/// Checks the scales and zero points that a program states as numbers.
///
/// # Errors
/// A scale is not positive, or a zero point is not an integer of the dtype, if the dtype is quantized.
fn check_parameters(dtype: DType, scales: &[f32], zero_points: &[i32]) -> Result<()> {
    let refuse = |message| Err(Error::new(ErrorKind::Attribute, Phase::Build, message));
    // A NaN is not positive.
    if let Some(scale) = scales.iter().find(|scale| scale.is_nan() || **scale <= 0.0) {
        return refuse(format!("scales must be positive, got {scale}"));
    }
    if !dtype.is_quantized() {
        return Ok(());
    }
    let (low, high) = bounds(dtype);
    match zero_points.iter().find(|zero| !(low..=high).contains(&i64::from(**zero))) {
        Some(zero) => {
            refuse(format!("zero points must be integers of {dtype}, from {low} to {high}, got {zero}"))
        }
        None => Ok(()),
    }
}

impl<'g> Value<'g> {
    /// Rounds numbers to the integers that stand for them: `floor(self / scale + 0.5) + zero_point`, and the nearest
    /// integer in use if this is beyond the bounds of `to`. The op multiplies by the inverse of the scale, in f32. NaN
    /// becomes the zero point.
    ///
    /// `f32[..] -> q[..]`. As TensorFlow's `UniformQuantize`, whose kernel gives the least integer for NaN and for
    /// numbers so large that the integer exceeds i32. As in TensorFlow, no run checks the scales and the zero points: a
    /// computed scale that is not positive gives integers without a meaning, where the other ops fail the run. Fuses
    /// into kernels.
    ///
    /// ```
    /// use shapeflow::{DType, Graph, UniformQuantization};
    ///
    /// let g = Graph::new();
    /// // A scale for each row.
    /// let rows = UniformQuantization::of_slices(&g, DType::QI8, 0, &[1.0, 0.25], &[0, 1])?;
    /// let x = g.constant([[1.5f32, -2.0], [1.5, -2.0]])?.uniform_quantize(rows)?;
    /// let [x] = g.compile(x.cast(DType::I32)?)?.run(&[])?;
    /// assert_eq!(x.to_vec::<i32>()?, [2, -2, 7, -7]);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The element type is not f32, the dtype of `to` is not quantized, its scales are not f32 or its zero points not
    /// i32, they have a wrong shape, or its bounds are not integers of this dtype in ascending order.
    #[track_caller]
    pub fn uniform_quantize(self, to: UniformQuantization<'g>) -> Result<Value<'g>> {
        let call = self.graph().op(&QUANTIZE).data(self).data(to.scales).data(to.zero_points);
        let call = to.add_bounds(to.add_axis(call, "quantization_axis").attr("dtype", to.dtype), BOUNDS);
        call.finish_at(Location::caller())
    }

    /// Returns the numbers that integers stand for: `(self - zero_point) * scale`.
    ///
    /// `q[..] -> f32[..]`. As TensorFlow's `UniformDequantize`, whose kernel rounds the integers of qi32 to f32 before
    /// it subtracts. Fuses into kernels.
    ///
    /// ```
    /// use shapeflow::{DType, Graph, UniformQuantization};
    ///
    /// let g = Graph::new();
    /// let x = g.constant([2i32, -2])?.cast(DType::QI8)?;
    /// let y = x.uniform_dequantize(UniformQuantization::of_tensor(&g, DType::QI8, 0.5, 1)?)?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y.to_vec::<f32>()?, [0.5, -1.5]);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The element type is not the dtype of `from` or not quantized, the scales are not f32 or the zero points not i32,
    /// or they have a wrong shape. The run fails unless all scales are positive.
    #[track_caller]
    pub fn uniform_dequantize(self, from: UniformQuantization<'g>) -> Result<Value<'g>> {
        from.require_dtype("the operand", self)?;
        let call = self.graph().op(&DEQUANTIZE).data(self).data(from.scales).data(from.zero_points);
        from.add_axis(call, "quantization_axis").finish_at(Location::caller())
    }
}

impl<'g> UniformQuantization<'g> {
    /// Requires `x` to have the dtype of the integers.
    pub(super) fn require_dtype(self, name: &str, x: Value<'g>) -> Result<()> {
        if x.dtype() == self.dtype {
            return Ok(());
        }
        dtype::refuse(format!(
            "{name} must have the dtype of its quantization, {}, got {}",
            self.dtype,
            x.dtype()
        ))
    }
}

/// The attributes for the least and the greatest integer of the result.
const BOUNDS: [&str; 2] = ["quantization_min_val", "quantization_max_val"];

/// TensorFlow's name of the attribute `dtype`.
pub(super) const T_OUT: &[(&str, &str)] = &[("Tout", "dtype")];

const OPERANDS: &[Operand] = &[Operand::Data("input"), Operand::Data("scales"), Operand::Data("zero_points")];

pub(crate) static QUANTIZE: OpDef = OpDef::compute("uniform_quantize", lower_quantize)
    .attrs(&[
        Attribute::dtype("dtype"),
        Attribute::int_or("quantization_axis", -1),
        Attribute::int("quantization_min_val").optional(),
        Attribute::int("quantization_max_val").optional(),
    ])
    .operands(OPERANDS)
    .shape_fn(shape_fns::quantize::uniform_quantize)
    .dtype_rule(|dtypes, attrs| {
        let [x, parameters @ ..] = dtypes else { return missing() };
        if *x != DType::F32 {
            return dtype::refuse(format!("the element type must be f32, got {x}"));
        }
        scales_and_zero_points(parameters)?;
        let dtype = quantized_attr(attrs)?;
        bounds_of(attrs, BOUNDS, dtype)?;
        Ok(vec![dtype])
    })
    .tensorflow(&[TfOp::new("UniformQuantize").attrs(T_OUT)]);

pub(crate) static DEQUANTIZE: OpDef = OpDef::composite("uniform_dequantize", |cx, values| {
    let &[x, scales, zero_points] = values else { return missing() };
    dequantized(&[x.dtype(), scales.dtype(), zero_points.dtype()])?;
    let axis = axis_of(cx.attrs(), "quantization_axis")?;
    let parameters = Parameters::of("", x, axis, [scales, zero_points])?;
    let call = x.graph().op(&NUMBERS).data(x).data(parameters.scales).data(parameters.zero_points);
    Ok(vec![call.declared_attrs(cx.attrs(), AXIS).finish()?])
})
.attrs(AXIS)
.operands(OPERANDS)
.dtype_rule(|dtypes, _| dequantized(dtypes))
.tensorflow(&[TfOp::new("UniformDequantize")]);

/// A part of `uniform_dequantize`, whose scales are positive.
pub(crate) static NUMBERS: OpDef = OpDef::compute("uniform_numbers", lower_numbers)
    .internal()
    .attrs(AXIS)
    .operands(OPERANDS)
    .shape_fn(shape_fns::quantize::uniform_quantize)
    .dtype_rule(|dtypes, _| dequantized(dtypes));

const AXIS: &[Attribute] = &[Attribute::int_or("quantization_axis", -1)];

fn dequantized(dtypes: &[DType]) -> Result<Vec<DType>> {
    let [x, parameters @ ..] = dtypes else { return missing() };
    quantized_and_ranges(&[*x])?;
    scales_and_zero_points(parameters)?;
    Ok(vec![DType::F32])
}

pub(super) fn missing<T>() -> Result<T> {
    Err(Error::msg("a uniformly quantized operand must come with its scales and zero points"))
}

/// Checks that `dtypes` are pairs of f32 and i32.
///
/// # Errors
/// A pair has other dtypes.
pub(super) fn scales_and_zero_points(dtypes: &[DType]) -> Result<()> {
    for pair in dtypes.chunks(2) {
        if *pair != [DType::F32, DType::I32] {
            let names: Vec<String> = pair.iter().map(DType::to_string).collect();
            return dtype::refuse(format!(
                "scales must be f32 and zero points i32, got {}",
                names.join(" and ")
            ));
        }
    }
    Ok(())
}

/// Returns the quantized axis of attribute `name`. `None` stands for one scale and one zero point.
///
/// # Errors
/// The attribute is less than -1.
pub(super) fn axis_of(attrs: &Attrs, name: &str) -> Result<Option<usize>> {
    match attrs.int(name) {
        -1 => Ok(None),
        axis => match usize::try_from(axis) {
            Ok(axis) => Ok(Some(axis)),
            Err(_) => {
                let message = format!("{name} must be at least -1, got {axis}");
                Err(Error::new(ErrorKind::Attribute, Phase::Build, message))
            }
        },
    }
}

/// Returns the least and the greatest integer of a result: the attributes `names`, or else those of `dtype`.
///
/// # Errors
/// They descend, or are not integers of `dtype`.
pub(super) fn bounds_of(attrs: &Attrs, names: [&str; 2], dtype: DType) -> Result<[i64; 2]> {
    let (low, high) = bounds(dtype);
    let given = |name: &str, default: i64| if attrs.get(name).is_some() { attrs.int(name) } else { default };
    let [min, max] = [given(names[0], low), given(names[1], high)];
    if low <= min && min <= max && max <= high {
        return Ok([min, max]);
    }
    let message = format!(
        "{} and {} must be ascending integers of {dtype}, from {low} to {high}, got {min} and {max}",
        names[0], names[1]
    );
    Err(Error::new(ErrorKind::Attribute, Phase::Build, message))
}

/// The scales and zero points of an operand or of the result of an op.
#[derive(Clone, Copy)]
pub(super) struct Parameters<'g> {
    pub scales: Value<'g>,
    pub zero_points: Value<'g>,
    pub axis: Option<usize>,
}

impl<'g> Parameters<'g> {
    /// Makes the parameters of `tensor`, which have the shape that `axis` requires. A run checks what is unknown when
    /// the graph is built, and that all scales are positive. `prefix` stands before the names in an error.
    pub fn of(
        prefix: &str,
        tensor: Value<'g>,
        axis: Option<usize>,
        [scales, zero_points]: [Value<'g>; 2],
    ) -> Result<Parameters<'g>> {
        let shape = tensor.shape();
        let slices = match (axis, shape.dims()) {
            (Some(axis), Some(dims)) if axis >= dims.len() => {
                let message =
                    format!("{prefix}quantization_axis must be less than the rank, got {axis} of {shape}");
                return Err(Error::new(ErrorKind::Shape, Phase::Build, message));
            }
            (Some(axis), Some(dims)) => Some(dims[axis].clone()),
            _ => None,
        };
        let fitting = |value: Value<'g>, name: &str| {
            let name = format!("{prefix}{name}");
            let value = of_rank(value, usize::from(axis.is_some()), &name)?;
            match &slices {
                Some(slices) => {
                    let what = format!("{name} and the size of the quantized axis");
                    with_shape(&what, value, std::slice::from_ref(slices))
                }
                None => Ok(value),
            }
        };
        let (scales, zero_points) = (fitting(scales, "scales")?, fitting(zero_points, "zero_points")?);
        let are_positive = scales.greater(0.0)?.reduce_all(Axes::all())?;
        let scales = scales.checked(are_positive, &format!("{prefix}scales must be positive"))?;
        Ok(Parameters { scales, zero_points, axis })
    }

    /// Returns the integers of `tensor`, each minus its zero point, as i32. The last axis of `tensor` is the quantized
    /// one, if any.
    pub fn steps(&self, tensor: Value<'g>) -> Result<Value<'g>> {
        tensor.cast(DType::I32)?.sub(self.zero_points)
    }
}

/// Reads the element of operand `operand` for the element at `index`. The operand is a scalar, or a vector with one
/// element per slice along `axis`.
pub(super) fn operand_of_slice(cx: &mut dyn LowerCx, operand: usize, index: &[Index], axis: i64) -> Expr {
    match usize::try_from(axis) {
        Ok(axis) if !cx.dims(operand).is_empty() => cx.operand(operand, &index[axis..=axis]),
        _ => cx.operand(operand, &[]),
    }
}

fn lower_quantize(cx: &mut dyn LowerCx, output: usize, index: &[Index]) -> Expr {
    let axis = cx.attrs().int("quantization_axis");
    let dtype = cx.output_dtype(output);
    let [low, high] = bounds_of(cx.attrs(), BOUNDS, dtype)
        .expect("the dtype rule has checked the bounds")
        .map(Expr::constant);
    let scale = operand_of_slice(cx, 1, index, axis);
    let zero = operand_of_slice(cx, 2, index, axis).cast(DType::I64);
    let x = cx.operand(0, index);
    let number = |value: f64| Expr::number(DType::F32, value);
    let steps = (x * (number(1.0) / scale) + number(0.5)).floor().cast(DType::I64);
    (steps.minimum(high - &zero).maximum(low - &zero) + zero).cast(dtype)
}

fn lower_numbers(cx: &mut dyn LowerCx, _output: usize, index: &[Index]) -> Expr {
    let axis = cx.attrs().int("quantization_axis");
    let scale = operand_of_slice(cx, 1, index, axis);
    let zero = operand_of_slice(cx, 2, index, axis).cast(DType::I64);
    let steps = cx.operand(0, index).cast(DType::I64) - zero;
    steps.cast(DType::F32) * scale
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::shape_table;

    shape_table! { QUANTIZE, {"dtype": DType::QI8},
        "[n, 3]; []; i32[]" => "qi8[n, 3]",
        "f64[n]; []; i32[]" => error "the element type must be f32, got f64",
        "[n]; []; []" => error "scales must be f32 and zero points i32, got f32 and f32",
    }
    shape_table! { slices: QUANTIZE, {"dtype": DType::QU8, "quantization_axis": 1},
        "[n, ?]; [3]; i32[m]" => "qu8[n, 3]",
        "[n, 3]; []; i32[]" => error "must have rank 1",
    }
    shape_table! { beyond: QUANTIZE, {"dtype": DType::QU8, "quantization_min_val": -1, "quantization_max_val": 5},
        "[n]; []; i32[]" => error "must be ascending integers of qu8, from 0 to 255, got -1 and 5",
    }
    shape_table! { numbers: NUMBERS, {"quantization_axis": 0},
        "qi32[?, 2]; [3]; i32[3]" => "f32[3, 2]",
        "[n]; [n]; i32[n]" => error "the element type must be quantized, got f32",
    }

    #[test]
    fn numbers_beyond_every_integer_become_the_nearest_one() {
        let g = Graph::new();
        let to = UniformQuantization::of_tensor(&g, DType::QI32, 1.0, 1000).unwrap();
        let x = g.constant([1e20f32, -1e20, f32::INFINITY, f32::NAN]).unwrap().uniform_quantize(to).unwrap();
        let [x] = g.compile(x.cast(DType::I32).unwrap()).unwrap().run(&[]).unwrap();
        assert_eq!(x.to_vec::<i32>().unwrap(), [i32::MAX, i32::MIN, i32::MAX, 1000]);
    }

    #[test]
    fn stated_scales_and_zero_points_are_checked_when_the_graph_is_built() {
        let g = Graph::new();
        let of = |scale, zero| UniformQuantization::of_tensor(&g, DType::QI8, scale, zero);
        for scale in [0.0, -0.0, -1.0, f32::NAN] {
            let error = of(scale, 0).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Attribute);
            assert!(error.message().starts_with("scales must be positive, got "), "{error}");
            assert!(error.location().unwrap().file().ends_with("uniform.rs"));
        }
        for zero in [128, -129, 1000, i32::MIN] {
            let expected = format!("zero points must be integers of qi8, from -128 to 127, got {zero}");
            assert_eq!(of(1.0, zero).unwrap_err().message(), expected);
            let slices = UniformQuantization::of_slices(&g, DType::QI8, 0, &[1.0; 2], &[0, zero]);
            assert_eq!(slices.unwrap_err().message(), expected);
        }
        assert!(of(f32::MIN_POSITIVE, 127).is_ok() && of(f32::INFINITY, -128).is_ok());
        assert!(UniformQuantization::of_tensor(&g, DType::QU8, 1.0, 255).is_ok());
    }

    #[test]
    fn scales_are_positive_and_fit_the_axis() {
        let g = Graph::new();
        let x = g.constant([[1i32, 2]]).unwrap().cast(DType::QI8).unwrap();
        let from = UniformQuantization::of_slices(&g, DType::QI8, 1, &[1.0, 1.0], &[0, 0]).unwrap();
        let from = UniformQuantization { scales: g.constant([1.0f32, 0.0]).unwrap(), ..from };
        let exe = g.compile(x.uniform_dequantize(from).unwrap()).unwrap();
        let error = exe.run::<1>(&[]).unwrap_err();
        assert!(error.message().contains("scales must be positive"), "{error}");
        let from = UniformQuantization::of_slices(&g, DType::QI8, 1, &[1.0; 3], &[0; 3]).unwrap();
        let error = x.uniform_dequantize(from).unwrap_err();
        assert!(error.message().contains("scales and the size of the quantized axis must agree"), "{error}");
        let from = UniformQuantization::of_slices(&g, DType::QI8, 2, &[1.0], &[0]).unwrap();
        let error = x.uniform_dequantize(from).unwrap_err();
        assert!(error.message().contains("must be less than the rank, got 2 of [1, 2]"), "{error}");
        let from = UniformQuantization::of_tensor(&g, DType::QU8, 1.0, 0).unwrap();
        let error = x.uniform_dequantize(from).unwrap_err();
        assert!(error.message().contains("the dtype of its quantization, qu8, got qi8"), "{error}");
    }
}
