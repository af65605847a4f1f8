//! Parts of the functions that compute this crate's ops with TensorFlow's ops: see
//! [`TfFunction::Composed`](crate::op::TfFunction::Composed).

use shapeflow_shape_fns::{Attr, DType};

use crate::error::{Error, Result};
use crate::graph::Value;
use crate::op::CompositeCx;

/// Returns the first `N` operands.
pub(in crate::ops) fn operands<'g, const N: usize>(values: &[Value<'g>]) -> Result<[Value<'g>; N]> {
    values.first_chunk().copied().ok_or_else(|| Error::msg("an operand is missing"))
}

/// Returns the number of axes.
pub(in crate::ops) fn rank_of(x: Value<'_>) -> Result<usize> {
    x.shape().rank().ok_or_else(|| Error::msg("the rank must be known"))
}

/// Returns the only element, or the first, of an attribute that is known before a run.
pub(in crate::ops) fn known_parameter(cx: &CompositeCx<'_>, name: &str) -> Option<i64> {
    cx.attrs().get(name).and_then(Attr::to_elements)?.get(0)?.as_known()
}

/// Returns a parameter, i64: the attribute `name`, or operand `position`. Returns `None` if the call omits it.
pub(in crate::ops) fn parameter<'g>(
    cx: &CompositeCx<'_>,
    values: &[Value<'g>],
    name: &str,
    position: usize,
) -> Result<Option<Value<'g>>> {
    match (known_parameter(cx, name), values.get(position)) {
        (Some(known), _) => {
            let [first] = operands(values)?;
            first.graph().constant(known).map(Some)
        }
        (None, Some(value)) => value.cast(DType::I64).map(Some),
        (None, None) => Ok(None),
    }
}

/// Returns a parameter that the call must have, see [`parameter`].
pub(in crate::ops) fn required_parameter<'g>(
    cx: &CompositeCx<'_>,
    values: &[Value<'g>],
    name: &str,
    position: usize,
) -> Result<Value<'g>> {
    parameter(cx, values, name, position)?.ok_or_else(|| Error::msg(format!("{name} must be given")))
}

/// Converts f16 and bf16 to f32, in which the bodies of ops compute.
pub(in crate::ops) fn widened(x: Value<'_>) -> Result<Value<'_>> {
    match x.dtype() {
        DType::F16 | DType::BF16 => x.cast(DType::F32),
        _ => Ok(x),
    }
}

/// Adds `count` axes of size 1 at the end.
pub(in crate::ops) fn with_last_axes(x: Value<'_>, count: usize) -> Result<Value<'_>> {
    (0..count).try_fold(x, |x, _| x.expand_dims(-1))
}
