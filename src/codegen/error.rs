//! [`cannot_compile`]: the error for code that this machine cannot compile.

use crate::error::{Error, ErrorKind, Phase};

/// Returns a compile error with `reason`, which a library or the operating system gave.
pub(super) fn cannot_compile(reason: impl std::fmt::Display) -> Error {
    Error::new(ErrorKind::Compile, Phase::Compile, format!("machine code cannot be made: {reason}"))
}
