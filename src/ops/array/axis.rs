//! Axis parameters of ops. Negative axes count from the end.

use crate::error::{Error, ErrorKind, Phase, Result};
use crate::expr::{Index, LowerCx};
use crate::graph::{IntoParam, Value};
use crate::op::HostCx;
use crate::ops::derived;
use crate::ops::host_params::param_ints;

/// Resolves axis `given` of a tensor of this rank; `None` if it is out of range.
pub(super) fn resolve(given: i64, rank: usize) -> Option<usize> {
    let rank = i64::try_from(rank).ok()?;
    let axis = if given < 0 { given.checked_add(rank)? } else { given };
    usize::try_from(axis).ok().filter(|_| axis < rank)
}

/// Resolves axis `given` of a value.
///
/// # Errors
/// The axis is not an integer that is known now, the rank is unknown, or the axis is out of range.
pub(in crate::ops) fn known_axis<'g>(value: Value<'g>, given: impl IntoParam<'g>) -> Result<usize> {
    let given = given.into_param().known_int("axis")?;
    let refuse = |message: String| Error::new(ErrorKind::Shape, Phase::Build, message);
    let Some(rank) = value.shape().rank() else {
        let error = refuse("the rank must be known".to_string());
        return Err(error.with_help("give the rank with .ensure_shape(..)"));
    };
    resolve(given, rank).ok_or_else(|| refuse(format!("axis must be in [-{rank}, {rank}), got {given}")))
}

/// Returns parameter `axis` of a body, a single axis counted from the front.
pub(super) fn body_axis(cx: &mut dyn LowerCx) -> usize {
    derived::axes(cx).first().copied().unwrap_or(0)
}

/// Returns parameter `axis` of a host op, for a tensor of this rank: an attribute, or else operand number `operand`.
///
/// # Errors
/// The axis is out of range.
pub(super) fn given_axis(cx: &HostCx<'_>, operand: usize, rank: usize) -> Result<Option<usize>> {
    let given = param_ints(cx, "axis", operand)?.and_then(|given| given.first().copied());
    let Some(given) = given else { return Ok(None) };
    resolve(given, rank).map(Some).ok_or_else(|| {
        let message = format!("axis must be in [-{rank}, {rank}), got {given}");
        Error::new(ErrorKind::Attribute, Phase::Run, message)
    })
}

/// Returns the index without the entry of `axis`.
pub(super) fn without(index: &[Index], axis: usize) -> Vec<Index> {
    index
        .iter()
        .enumerate()
        .filter(|(position, _)| *position != axis)
        .map(|(_, index)| index.clone())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::resolve;

    #[test]
    fn negative_axes_count_from_the_end() {
        assert_eq!((resolve(-1, 3), resolve(-3, 3), resolve(2, 3)), (Some(2), Some(0), Some(2)));
        assert_eq!(
            (resolve(-4, 3), resolve(3, 3), resolve(0, 0), resolve(i64::MIN, 2)),
            (None, None, None, None)
        );
    }
}
