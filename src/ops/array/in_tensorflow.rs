//! How TensorFlow computes ops on arrays that it lacks. An export writes these functions.

use shapeflow_shape_fns::DType;

use super::concat::concat;
use crate::error::Result;
use crate::graph::Value;
use crate::op::CompositeCx;
use crate::ops::SliceItem;
use crate::ops::in_tensorflow::{operands, rank_of, required_parameter};

/// `boolean_mask`: gathers the positions at which the mask holds. The axes of the mask become one axis first.
pub(super) fn boolean_mask<'g>(cx: &CompositeCx<'_>, values: &[Value<'g>]) -> Result<Vec<Value<'g>>> {
    let [x, mask] = operands(values)?;
    let (rank, axes) = (rank_of(x)?, rank_of(mask)?);
    let axis = cx.attrs().int("axis");
    let axis = if axis < 0 { axis + rank as i64 } else { axis };
    let end = axis + axes as i64;
    let sizes = x.shape_tensor()?;
    let part = |range: SliceItem<'g>| sizes.slice_with(&[range]);
    let same = part((axis..end).into())?.equal(mask.shape_tensor()?)?.reduce_all(0)?;
    let x = x.checked(same, "the mask must have the sizes of the tensor")?;
    let x = match axes {
        1 => x,
        _ => x.reshape(concat(
            &[part((..axis).into())?, x.graph().constant([-1i64])?, part((end..).into())?],
            0,
        )?)?,
    };
    let positions = mask.reshape([-1])?.where_indices()?.squeeze([1])?;
    Ok(vec![x.gather(positions, axis)?])
}

/// `rank`: TensorFlow returns the rank as i32.
pub(super) fn rank<'g>(_: &CompositeCx<'_>, values: &[Value<'g>]) -> Result<Vec<Value<'g>>> {
    let [x] = operands(values)?;
    Ok(vec![x.rank_tensor_as(DType::I32)?.cast(DType::I64)?])
}

/// `tril` and `triu`: keep the elements of one side of a diagonal.
fn triangle<'g>(cx: &CompositeCx<'_>, values: &[Value<'g>], is_lower: bool) -> Result<Vec<Value<'g>>> {
    let [x] = operands(values)?;
    let k = required_parameter(cx, values, "k", 1)?;
    let size = |position: i64| x.shape_tensor()?.slice_with(&[SliceItem::at(position)]);
    let rows = x.graph().range(0, size(-2)?, 1)?.expand_dims(-1)?;
    let columns = x.graph().range(0, size(-1)?, 1)?;
    let diagonal = (columns - rows).ok()?;
    let is_kept = if is_lower { diagonal.less_equal(k)? } else { diagonal.greater_equal(k)? };
    Ok(vec![is_kept.select(x, x.zeros_like()?)?])
}

pub(super) fn tril<'g>(cx: &CompositeCx<'_>, values: &[Value<'g>]) -> Result<Vec<Value<'g>>> {
    triangle(cx, values, true)
}

pub(super) fn triu<'g>(cx: &CompositeCx<'_>, values: &[Value<'g>]) -> Result<Vec<Value<'g>>> {
    triangle(cx, values, false)
}

/// `ensure_broadcasts` and `unknown_size`: pass a value on.
pub(super) fn pass_on<'g>(_: &CompositeCx<'_>, values: &[Value<'g>]) -> Result<Vec<Value<'g>>> {
    let [x] = operands(values)?;
    Ok(vec![x.identity()?])
}
