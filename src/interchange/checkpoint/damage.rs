//! The error of a damaged checkpoint.

use std::fmt;

use crate::error::{Error, ErrorKind, Phase, Result};

/// Returns the error of a damaged checkpoint.
pub(super) fn damaged<T>(message: impl fmt::Display) -> Result<T> {
    Err(Error::new(ErrorKind::Parse, Phase::Build, message.to_string()))
}
