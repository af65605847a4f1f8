//! `reduce_window`: the maximum, sum or mean of every window.

use shapeflow_shape_fns::{Attribute, Dim, Guard, InferenceContext, List, ShapeError, TensorShape};

use super::in_tensorflow;
use super::reduce_elements::reduce_elements;
use super::window::list_text;
use crate::dtype;
use crate::expr::{Expr, Index, LowerCx, ReduceOp};
use crate::op::{OpDef, Operand, TfFunction};
use crate::ops::widen::widen;

/// A part of pools, over a padded tensor. Parameters: `sizes` and `strides`, one entry per axis; `positions`, the
/// number of windows along each axis, or -1 for all that fit. Attribute `op` is `max`, `sum` or `mean`. A mean counts
/// only the elements inside the original tensor, which begins after `before` elements and has the sizes `extents`.
///
/// Along an axis of size `h`, `(h - size + stride) / stride` windows fit, rounded toward zero. The number must not be
/// negative.
pub(crate) static DEF: OpDef = OpDef::compute("reduce_window", lower)
    .internal()
    .attrs(&[Attribute::str("op")])
    .operands(&[
        Operand::Data("x"),
        Operand::Size("sizes"),
        Operand::Size("strides"),
        Operand::Size("positions"),
        Operand::Size("before"),
        Operand::Size("extents"),
    ])
    .shape_fn(shape)
    .dtype_rule(dtype::unary::number)
    .in_tensorflow(TfFunction::Composed(in_tensorflow::reduce_window));

/// Returns the elements of a parameter; `None` if it is absent or unknown.
pub(super) fn dims_param(
    cx: &InferenceContext<'_>,
    name: &str,
) -> shapeflow_shape_fns::Result<Option<Vec<Dim>>> {
    match cx.param_vector(name)? {
        List::Elements(dims) => Ok(Some(dims)),
        _ => Ok(None),
    }
}

/// Returns the elements of a parameter; `None` if they are unknown.
///
/// # Errors
/// The parameter is absent.
pub(super) fn given_dims(
    cx: &InferenceContext<'_>,
    name: &str,
) -> shapeflow_shape_fns::Result<Option<Vec<Dim>>> {
    match cx.param_vector(name)? {
        List::Elements(dims) => Ok(Some(dims)),
        List::Unknown(_) => Ok(None),
        List::Absent => Err(ShapeError::new(format_args!("{name} must be given: it is a list of sizes"))),
    }
}

/// Returns the number of windows of this span along an axis: `given`, or as many as fit.
pub(super) fn position_count(
    cx: &mut InferenceContext<'_>,
    axis: usize,
    extent: &Dim,
    [span, stride]: [&Dim; 2],
    given: Option<&Dim>,
) -> shapeflow_shape_fns::Result<Dim> {
    if let Some(given) = given.filter(|given| given.as_known() != Some(-1)) {
        return Ok(given.clone());
    }
    // Each window is one element, so an axis without elements has no windows.
    if span.as_known() == Some(1) && stride.as_known() == Some(1) {
        return Ok(extent.clone());
    }
    let slack = cx.sub(extent, span)?;
    let dividend = cx.add(&slack, stride)?;
    // The quotient is rounded toward zero, so it is not negative for a dividend above -stride.
    let least = cx.add(&dividend, stride)?;
    cx.require(Guard::Ge(least, Dim::known(1))).map_err(|_| {
        ShapeError::new(format_args!(
            "a window must fit into the input, got a window of {span} for {extent} at axis {axis}"
        ))
    })?;
    let count = cx.floordiv(&dividend, stride)?;
    cx.max(&count, &Dim::known(0))
}

/// Reads the parameters `sizes` and `strides` of windows, which have one entry of at least 1 per axis, and derives
/// them. Returns them, or `None` if they are unknown.
pub(super) fn sizes_and_strides(
    cx: &mut InferenceContext<'_>,
) -> shapeflow_shape_fns::Result<Option<[Vec<Dim>; 2]>> {
    let (Some(sizes), Some(strides)) = (given_dims(cx, "sizes")?, given_dims(cx, "strides")?) else {
        return Ok(None);
    };
    let fits = sizes.len() == strides.len()
        && sizes
            .iter()
            .chain(&strides)
            .all(|entry| cx.require(Guard::Ge(entry.clone(), Dim::known(1))).is_ok());
    if !fits {
        let (sizes, strides) = (list_text(&sizes), list_text(&strides));
        return Err(ShapeError::new(format_args!(
            "sizes and strides must have one entry of at least 1 per axis, got [{sizes}] and [{strides}]"
        )));
    }
    cx.set_derived("sizes", sizes.clone());
    cx.set_derived("strides", strides.clone());
    Ok(Some([sizes, strides]))
}

fn shape(cx: &mut InferenceContext<'_>) -> shapeflow_shape_fns::Result<()> {
    let Some([sizes, strides]) = sizes_and_strides(cx)? else {
        let rank = cx.input(0).rank();
        let unknown = rank.map_or(TensorShape::unranked(), |rank| cx.unknown_shape_of_rank(rank));
        cx.set_output(0, unknown);
        return Ok(());
    };
    let x = cx.with_rank(0, sizes.len())?;
    let dims = x.dims().unwrap_or_default().to_vec();
    let given = dims_param(cx, "positions")?;
    for name in ["before", "extents"] {
        let values = dims_param(cx, name)?.unwrap_or_default();
        cx.set_derived(if name == "before" { "before" } else { "extents" }, values);
    }
    let mut output = Vec::new();
    for (axis, extent) in dims.iter().enumerate() {
        let given = given.as_ref().and_then(|given| given.get(axis));
        output.push(position_count(cx, axis, extent, [&sizes[axis], &strides[axis]], given)?);
    }
    cx.set_output(0, TensorShape::from(output));
    Ok(())
}

fn lower(cx: &mut dyn LowerCx, output: usize, index: &[Index]) -> Expr {
    let (sizes, strides) = (cx.derived("sizes"), cx.derived("strides"));
    let kind = cx.attrs().str("op").to_string();
    let starts: Vec<Index> =
        index.iter().zip(&strides).map(|(at, stride)| at.clone() * stride.clone()).collect();
    let axes: Vec<usize> = (0..sizes.len()).filter(|axis| sizes[*axis].as_known() != Some(1)).collect();
    let extents: Vec<Dim> = axes.iter().map(|axis| sizes[*axis].clone()).collect();
    let dtype = cx.output_dtype(output);
    let is_max = kind == "max";
    let element = |cx: &mut dyn LowerCx, inner: &[Index]| {
        let mut read = starts.clone();
        for (axis, inner) in axes.iter().zip(inner) {
            read[*axis] = read[*axis].clone() + inner.clone();
        }
        let x = cx.operand(0, &read);
        if is_max { x } else { widen(x) }
    };
    let op = if is_max { ReduceOp::Max } else { ReduceOp::Sum };
    let reduced = reduce_elements(cx, op, &extents, &mut |cx, inner| element(cx, inner));
    if kind != "mean" {
        return reduced.cast(dtype);
    }
    let (before, inside) = (cx.derived("before"), cx.derived("extents"));
    let counts = axes.iter().map(|axis| {
        let start = Expr::iota(starts[*axis].clone());
        let end = Expr::iota(starts[*axis].clone() + Index::constant(sizes[*axis].clone()));
        let (first, count) = match (before.get(*axis), inside.get(*axis)) {
            (Some(first), Some(count)) => (Expr::size(first.clone()), Expr::size(count.clone())),
            _ => return Expr::size(sizes[*axis].clone()),
        };
        end.minimum(&first + count) - start.maximum(first)
    });
    let count = counts.reduce(|a, b| a * b).unwrap_or_else(|| Expr::constant(1i64));
    let count = count.cast(reduced.dtype());
    (reduced / count).cast(dtype)
}
