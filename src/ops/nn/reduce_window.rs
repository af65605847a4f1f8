//! `reduce_window`: the maximum, sum or mean of every window.

use shapeflow_shape_fns::{Attribute, Dim, InferenceContext, List, ShapeError, TensorShape};

use crate::dtype;
use crate::expr::{Expr, Index, LowerCx, ReduceOp};
use crate::op::{OpDef, Operand};
use crate::ops::widen::widen;

/// A part of pools, over a padded tensor. Attributes: `sizes` and `strides`, one entry per axis; `op`, which is `max`,
/// `sum` or `mean`; `positions`, the number of windows along each axis, or -1 for all that fit. A mean counts only the
/// elements inside the original tensor, which begins after `before` elements and has the sizes `extents`.
pub(crate) static DEF: OpDef = OpDef::compute("reduce_window", lower)
    .attrs(&[Attribute::str("op"), Attribute::ints("sizes"), Attribute::ints("strides")])
    .operands(&[
        Operand::Data("x"),
        Operand::Size("positions"),
        Operand::Size("before"),
        Operand::Size("extents"),
    ])
    .shape_fn(shape)
    .dtype_rule(dtype::unary::number);

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
    cx.require(shapeflow_shape_fns::Guard::Ge(slack.clone(), Dim::known(0))).map_err(|_| {
        ShapeError::new(format_args!(
            "a window must fit into the input, got a window of {span} for {extent} at axis {axis}"
        ))
    })?;
    let further = cx.floordiv(&slack, stride)?;
    cx.add(&further, &Dim::known(1))
}

fn shape(cx: &mut InferenceContext<'_>) -> shapeflow_shape_fns::Result<()> {
    let (sizes, strides) = (cx.ints("sizes")?.to_vec(), cx.ints("strides")?.to_vec());
    let x = cx.with_rank(0, sizes.len())?;
    let dims = x.dims().unwrap_or_default().to_vec();
    if strides.len() != sizes.len() || sizes.iter().chain(&strides).any(|entry| *entry < 1) {
        return Err(ShapeError::new(format_args!(
            "sizes and strides must have one entry of at least 1 per axis, got {sizes:?} and {strides:?}"
        )));
    }
    let given = dims_param(cx, "positions")?;
    for name in ["before", "extents"] {
        let values = dims_param(cx, name)?.unwrap_or_default();
        cx.set_derived(if name == "before" { "before" } else { "extents" }, values);
    }
    let mut output = Vec::new();
    for (axis, extent) in dims.iter().enumerate() {
        let (size, stride) = (Dim::known(sizes[axis]), Dim::known(strides[axis]));
        let given = given.as_ref().and_then(|given| given.get(axis));
        output.push(position_count(cx, axis, extent, [&size, &stride], given)?);
    }
    cx.set_output(0, TensorShape::from(output));
    Ok(())
}

fn lower(cx: &mut dyn LowerCx, output: usize, index: &[Index]) -> Expr {
    let (sizes, strides) = (cx.ints("sizes"), cx.ints("strides"));
    let kind = cx.attrs().str("op").to_string();
    let starts: Vec<Index> = index.iter().zip(&strides).map(|(at, stride)| at.clone() * *stride).collect();
    let axes: Vec<usize> = (0..sizes.len()).filter(|axis| sizes[*axis] > 1).collect();
    let extents: Vec<Dim> = axes.iter().map(|axis| Dim::known(sizes[*axis])).collect();
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
    let reduced = match axes.is_empty() {
        true => element(cx, &[]),
        false => cx.reduce(op, &extents, &mut |cx, inner| element(cx, inner)),
    };
    if kind != "mean" {
        return reduced.cast(dtype);
    }
    let (before, inside) = (cx.derived("before"), cx.derived("extents"));
    let counts = axes.iter().map(|axis| {
        let start = Expr::iota(starts[*axis].clone());
        let end = Expr::iota(starts[*axis].clone() + Index::from(sizes[*axis]));
        let (first, count) = match (before.get(*axis), inside.get(*axis)) {
            (Some(first), Some(count)) => (Expr::size(first.clone()), Expr::size(count.clone())),
            _ => return Expr::constant(sizes[*axis]),
        };
        end.minimum(&first + count) - start.maximum(first)
    });
    let count = counts.reduce(|a, b| a * b).unwrap_or_else(|| Expr::constant(1i64));
    let count = count.cast(reduced.dtype());
    (reduced / count).cast(dtype)
}
