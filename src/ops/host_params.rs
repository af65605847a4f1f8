//! Reads the parameters of a host op, which are attributes or operands.

use shapeflow_shape_fns::Attr;

use crate::error::{Error, ErrorKind, Phase, Result};
use crate::op::HostCx;

use super::integers::ints;

/// Returns parameter `name`: the attribute, or else operand number `operand`; `None` if there is neither.
///
/// # Errors
/// The elements of the attribute are not known integers.
pub(crate) fn param_ints(cx: &HostCx<'_>, name: &str, operand: usize) -> Result<Option<Vec<i64>>> {
    if let Some(attr) = cx.attrs().get(name) {
        let known = attr.to_elements().and_then(|elements| elements.as_known());
        return known.map(Some).ok_or_else(|| wrong(name, attr));
    }
    if operand >= cx.inputs() {
        return Ok(None);
    }
    Ok(Some(ints(&cx.input(operand)?)))
}

/// Returns parameter `name` as sizes; empty if it is not given. See [`param_ints`].
///
/// # Errors
/// As [`param_ints`]; also if an element is negative.
pub(crate) fn param_sizes(cx: &HostCx<'_>, name: &str, operand: usize) -> Result<Vec<usize>> {
    let ints = param_ints(cx, name, operand)?.unwrap_or_default();
    let size = |&int: &i64| {
        let message = || format!("{name} must not be negative, got {int}");
        usize::try_from(int).map_err(|_| Error::new(ErrorKind::Attribute, Phase::Run, message()))
    };
    ints.iter().map(size).collect()
}

fn wrong(name: &str, attr: &Attr) -> Error {
    Error::new(ErrorKind::Attribute, Phase::Run, format!("{name} must be integers, got {attr}"))
}
