//! `DTypeRule`: the dtypes of the outputs of an op.

use shapeflow_shape_fns::{Attrs, DType};

use crate::error::{Error, ErrorKind, Phase, Result};

/// Computes the dtypes of the outputs from the dtypes of the operands and the attributes.
pub type DTypeRule = fn(&[DType], &Attrs) -> Result<Vec<DType>>;

/// The dtype of the first operand.
pub(super) fn same_as_first(dtypes: &[DType], _: &Attrs) -> Result<Vec<DType>> {
    match dtypes.first() {
        Some(dtype) => Ok(vec![*dtype]),
        None => Err(Error::new(ErrorKind::DType, Phase::Build, "an op without operands needs a dtype rule")),
    }
}

/// The dtype of all operands, which must be a floating one.
pub(super) fn one_float(dtypes: &[DType], attrs: &Attrs) -> Result<Vec<DType>> {
    match dtypes {
        [first, others @ ..] if first.is_float() && others.iter().all(|other| other == first) => {
            same_as_first(dtypes, attrs)
        }
        _ => {
            let got = dtypes.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
            let message = format!("the operands must have one floating dtype, got {got}");
            Err(Error::new(ErrorKind::DType, Phase::Build, message))
        }
    }
}
