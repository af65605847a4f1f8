//! How TensorFlow computes `sort` and `argsort`: `TopKV2` returns the positions of the largest keys, and of equal keys
//! first the lowest position. An export writes these functions.

use shapeflow_shape_fns::DType;

use crate::error::{Error, Result};
use crate::graph::Value;
use crate::op::CompositeCx;
use crate::ops::SliceItem;
use crate::ops::in_tensorflow::{known_parameter, operands, rank_of};

/// Exchanges an axis with the last axis.
fn exchanged(x: Value<'_>, axis: usize) -> Result<Value<'_>> {
    let rank = rank_of(x)?;
    if axis + 1 == rank {
        return Ok(x);
    }
    let mut perm: Vec<i64> = (0..rank as i64).collect();
    perm.swap(axis, rank - 1);
    x.transpose(&perm[..])
}

/// Returns the greatest integer of a signed dtype.
pub(in crate::ops) fn most(dtype: DType) -> i64 {
    if dtype == DType::I32 { i64::from(i32::MAX) } else { i64::MAX }
}

/// Returns integers in the order of the elements. NaN has the largest key, and zeros of both signs have one key.
pub(in crate::ops) fn keys(x: Value<'_>) -> Result<Value<'_>> {
    let (x, dtype) = match x.dtype() {
        DType::Bool => return x.cast(DType::U8),
        DType::F16 | DType::BF16 | DType::F32 => (x.cast(DType::F32)?, DType::I32),
        DType::F64 => (x, DType::I64),
        _ => return Ok(x),
    };
    let keys = flipped(x.bitcast(dtype)?)?;
    let keys = x.equal(0.0)?.select(0, keys)?;
    x.is_nan()?.select(most(dtype), keys)
}

/// Returns the floats of `dtype`, f32 or f64, that have these [`keys`].
pub(in crate::ops) fn elements_of_keys(keys: Value<'_>, dtype: DType) -> Result<Value<'_>> {
    flipped(keys)?.bitcast(dtype)
}

/// Flips all bits of negative integers but the sign. The bits of negative floats, without the sign, descend as the
/// floats ascend.
fn flipped(bits: Value<'_>) -> Result<Value<'_>> {
    bits.less(0)?.select(bits.bitwise_xor(most(bits.dtype()))?, bits)
}

/// Returns for each element of the sorted tensor its position along the axis before the sort, i64. Equal elements keep
/// their order.
pub(in crate::ops) fn positions(x: Value<'_>, axis: usize, descending: bool) -> Result<Value<'_>> {
    let keys = exchanged(keys(x)?, axis)?;
    let keys = if descending { keys } else { keys.bitwise_not()? };
    let length = keys.shape_tensor()?.slice_with(&[SliceItem::at(-1)])?;
    let [_, positions] = keys.top_k(length)?;
    exchanged(positions, axis)
}

/// Returns along an axis the elements at these positions.
pub(in crate::ops) fn take_along<'g>(x: Value<'g>, positions: Value<'g>, axis: usize) -> Result<Value<'g>> {
    let batch = rank_of(x)? as i64 - 1;
    exchanged(exchanged(x, axis)?.gather_batched(exchanged(positions, axis)?, batch, batch)?, axis)
}

/// Returns the axis of a call, counted from the front.
fn axis_of(cx: &CompositeCx<'_>, x: Value<'_>) -> Result<usize> {
    let axis = known_parameter(cx, "axis").ok_or_else(|| Error::msg("the axis must be known"))?;
    let rank = rank_of(x)? as i64;
    usize::try_from(if axis < 0 { axis + rank } else { axis }).map_err(|_| Error::msg("the axis must exist"))
}

pub(super) fn sort<'g>(cx: &CompositeCx<'_>, values: &[Value<'g>]) -> Result<Vec<Value<'g>>> {
    let [x] = operands(values)?;
    let axis = axis_of(cx, x)?;
    Ok(vec![take_along(x, positions(x, axis, cx.attrs().bool("descending"))?, axis)?])
}

pub(super) fn argsort<'g>(cx: &CompositeCx<'_>, values: &[Value<'g>]) -> Result<Vec<Value<'g>>> {
    let [x] = operands(values)?;
    Ok(vec![positions(x, axis_of(cx, x)?, cx.attrs().bool("descending"))?])
}
