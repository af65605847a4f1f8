//! How TensorFlow computes ops of neural networks that it lacks or has removed. An export writes these functions.

use shapeflow_shape_fns::{Attr, DType, InferenceContext};

use crate::error::{Error, Result};
use crate::graph::Value;
use crate::op::{CompositeCx, OpDef};
use crate::ops::SliceItem;
use crate::ops::array::concat::concat;
use crate::ops::in_tensorflow::{known_parameter, operands, rank_of, widened};

/// Applies a function of the last axis along the axis of the call.
fn along_axis<'g>(
    cx: &CompositeCx<'_>,
    values: &[Value<'g>],
    function: fn(Value<'g>) -> Result<Value<'g>>,
) -> Result<Vec<Value<'g>>> {
    let [x] = operands(values)?;
    let rank = rank_of(x)? as i64;
    let axis = known_parameter(cx, "axis").ok_or_else(|| Error::msg("the axis must be known"))?;
    let axis = if axis < 0 { axis + rank } else { axis };
    if axis == rank - 1 {
        return Ok(vec![function(x)?]);
    }
    let mut order: Vec<i64> = (0..rank).collect();
    order.swap(axis as usize, rank as usize - 1);
    Ok(vec![function(x.transpose(&order[..])?)?.transpose(&order[..])?])
}

/// `softmax` along another axis than the last one.
pub(super) fn softmax<'g>(cx: &CompositeCx<'_>, values: &[Value<'g>]) -> Result<Vec<Value<'g>>> {
    along_axis(cx, values, |x| x.softmax(-1))
}

/// `log_softmax` along another axis than the last one.
pub(super) fn log_softmax<'g>(cx: &CompositeCx<'_>, values: &[Value<'g>]) -> Result<Vec<Value<'g>>> {
    along_axis(cx, values, |x| x.log_softmax(-1))
}

/// `batch_norm_global`: `(t - m) / sqrt(v + epsilon) * gamma + beta`, or the same without `gamma`.
pub(super) fn batch_norm_global<'g>(cx: &CompositeCx<'_>, values: &[Value<'g>]) -> Result<Vec<Value<'g>>> {
    let [given, ..] = operands::<5>(values)?;
    let wide: Vec<Value<'g>> = values.iter().map(|value| widened(*value)).collect::<Result<_>>()?;
    let [x, mean, variance, beta, gamma] = operands(&wide)?;
    let factor = variance.add(cx.attrs().float("variance_epsilon"))?.rsqrt()?;
    let is_scaled = cx.attrs().bool("scale_after_normalization");
    let factor = if is_scaled { factor.mul(gamma)? } else { factor };
    Ok(vec![x.sub(mean)?.mul(factor)?.add(beta)?.cast(given.dtype())?])
}

/// TensorFlow's pools of images. The functions of an export call them, and nothing computes them.
static MAX_POOL: OpDef = OpDef::absent("MaxPool", Some(&["input"])).shape_fn(images);
static AVG_POOL: OpDef = OpDef::absent("AvgPool", Some(&["value"])).shape_fn(images);

/// The result is images of unknown sizes: a function knows no size of its arguments.
fn images(cx: &mut InferenceContext<'_>) -> shapeflow_shape_fns::Result<()> {
    let shape = cx.unknown_shape_of_rank(4);
    cx.set_output(0, shape);
    Ok(())
}

/// The windows along one axis.
#[derive(Clone, Copy)]
struct AxisWindows {
    axis: usize,
    size: i64,
    stride: i64,
}

/// `reduce_window`: a pool of images, whose windows lie along two axes. The images are the matrices of these axes if
/// the axes are not rows and columns. Further axes have another pool each.
pub(super) fn reduce_window<'g>(cx: &CompositeCx<'_>, values: &[Value<'g>]) -> Result<Vec<Value<'g>>> {
    let [given] = operands(values)?;
    let (kind, rank) = (cx.attrs().str("op"), rank_of(given)?);
    let (sizes, strides) = (known(cx, "sizes")?, known(cx, "strides")?);
    if sizes.len() != rank || strides.len() != rank {
        return Err(Error::msg("the windows must have the rank of the operand"));
    }
    let windows: Vec<AxisWindows> = (0..rank)
        .map(|axis| AxisWindows { axis, size: sizes[axis], stride: strides[axis] })
        .filter(|windows| windows.size != 1 || windows.stride != 1)
        .collect();
    let is_max = kind == "max";
    let mut pooled = if is_max { given } else { widened(given)? };
    if !is_max && !pooled.dtype().is_float() {
        return Err(Error::msg("TensorFlow has means of floats only"));
    }
    for pair in windows.chunks(2) {
        pooled = pool(if is_max { &MAX_POOL } else { &AVG_POOL }, pooled, pair)?;
    }
    if is_max {
        return Ok(vec![pooled]);
    }
    // AvgPool divides by the size of the windows.
    let count: i64 = windows.iter().map(|windows| windows.size).product();
    let mut sum = pooled.mul(pooled.graph().constant(count as f64)?.cast(pooled.dtype())?)?;
    if kind == "mean" {
        for windows in windows.iter().filter(|windows| windows.size != 1) {
            sum = sum.div(counts(cx, values, sum, *windows)?.cast(sum.dtype())?)?;
        }
    }
    Ok(vec![sum.cast(given.dtype())?])
}

/// Returns the elements of a parameter that is known before a run.
fn known(cx: &CompositeCx<'_>, name: &str) -> Result<Vec<i64>> {
    let elements = cx.attrs().get(name).and_then(Attr::to_elements).and_then(|elements| elements.as_known());
    elements.ok_or_else(|| Error::msg(format!("{name} must be known")))
}

/// Pools along one or two axes, with windows that lie inside the operand.
fn pool<'g>(op: &'static OpDef, x: Value<'g>, windows: &[AxisWindows]) -> Result<Value<'g>> {
    let rank = rank_of(x)?;
    let call = |images: Value<'g>, sizes: [i64; 4], strides: [i64; 4]| {
        let call = images.graph().op(op).data(images).attr("padding", "VALID");
        call.attr("ksize", Attr::from(sizes)).attr("strides", Attr::from(strides)).finish()
    };
    if rank == 4 && windows.iter().all(|windows| matches!(windows.axis, 1 | 2)) {
        let (mut sizes, mut strides) = ([1; 4], [1; 4]);
        for windows in windows {
            (sizes[windows.axis], strides[windows.axis]) = (windows.size, windows.stride);
        }
        return call(x, sizes, strides);
    }
    let axes: Vec<usize> = windows.iter().map(|windows| windows.axis).collect();
    let others: Vec<usize> = (0..rank).filter(|axis| !axes.contains(axis)).collect();
    let order: Vec<usize> = others.iter().chain(&axes).copied().collect();
    let positions = |order: &[usize]| order.iter().map(|axis| *axis as i64).collect::<Vec<i64>>();
    let moved = x.transpose(&positions(&order)[..])?;
    let shape = moved.shape_tensor()?;
    let part = |range: SliceItem<'g>| shape.slice_with(&[range]);
    let matrix = part((others.len() as i64..).into())?;
    let one = x.graph().constant(vec![1i64; 3 - axes.len()])?;
    // One axis is the rows of images with one column.
    let images = moved.reshape(concat(&[x.graph().constant([-1i64])?, matrix, one], 0)?)?;
    let entries = |entry: fn(&AxisWindows) -> i64| {
        let entry = |number: usize| windows.get(number).map_or(1, entry);
        [1, entry(0), entry(1), 1]
    };
    let pooled = call(images, entries(|windows| windows.size), entries(|windows| windows.stride))?;
    let pooled_sizes = pooled.shape_tensor()?.slice_with(&[(1..1 + axes.len() as i64).into()])?;
    let moved = pooled.reshape(concat(&[part((..others.len() as i64).into())?, pooled_sizes], 0)?)?;
    let mut back = vec![0; rank];
    for (place, axis) in order.iter().enumerate() {
        back[*axis] = place;
    }
    moved.transpose(&positions(&back)[..])
}

/// Returns how many elements of each window along an axis lie inside the tensor before its padding, i64 with the rank
/// of `result`.
fn counts<'g>(
    cx: &CompositeCx<'_>,
    values: &[Value<'g>],
    result: Value<'g>,
    windows: AxisWindows,
) -> Result<Value<'g>> {
    let AxisWindows { axis, size, stride } = windows;
    // The parameters that are not known are the operands after `x`.
    let unknown = ["sizes", "strides", "positions", "before", "extents"];
    let unknown: Vec<&str> = unknown.into_iter().filter(|name| known(cx, name).is_err()).collect();
    let entry = |name: &str| match known(cx, name) {
        Ok(entries) => {
            let entry = entries.get(axis).ok_or_else(|| Error::msg(format!("{name} has no entry")))?;
            result.graph().constant(*entry)
        }
        Err(error) => {
            let place = unknown.iter().position(|other| *other == name);
            let value = place.and_then(|place| values.get(1 + place)).ok_or(error)?;
            value.cast(DType::I64)?.slice_with(&[SliceItem::at(axis as i64)])
        }
    };
    let (first, end) = (entry("before")?, entry("before")?.add(entry("extents")?)?);
    let positions = result.shape_tensor()?.slice_with(&[SliceItem::at(axis as i64)])?;
    let starts = result.graph().range(0, positions, 1)?.mul(stride)?;
    let count = starts.add(size)?.minimum(end)?.sub(starts.maximum(first)?)?;
    let mut shape = vec![1; rank_of(result)?];
    shape[axis] = -1;
    count.reshape(&shape[..])
}
