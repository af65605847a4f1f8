//! Dtype rules of ops on files.

use shapeflow_shape_fns::{Attrs, DType};

use super::attrs::listed;
use crate::dtype;
use crate::error::Result;

/// Checks the dtypes of operands, each with its name.
///
/// # Errors
/// An operand has another dtype.
pub(super) fn check(operands: &[DType], expected: &[(&str, DType)]) -> Result<()> {
    for ((name, expected), got) in expected.iter().zip(operands) {
        if got != expected {
            return dtype::refuse(format!("{name} must be {expected}, got {got}"));
        }
    }
    Ok(())
}

/// The dtype rule of an op that decodes a file to u8.
pub(super) fn decodes_to_u8(operands: &[DType], _: &Attrs) -> Result<Vec<DType>> {
    check(operands, &[("contents", DType::String)])?;
    Ok(vec![DType::U8])
}

/// The dtype rule of an op that decodes a file to the dtype in attribute `name`, which must be one of `choices`.
pub(super) fn decodes_to(
    operands: &[DType],
    attrs: &Attrs,
    name: &str,
    choices: &[DType],
) -> Result<Vec<DType>> {
    check(operands, &[("contents", DType::String)])?;
    let wanted = attrs.dtype(name);
    if !choices.contains(&wanted) {
        return dtype::refuse(format!("{name} must be {}, got {wanted}", listed(choices)));
    }
    Ok(vec![wanted])
}
