//! [`cannot_compile`]: the error for a kernel that cannot be compiled.

use crate::error::{Error, ErrorKind, Phase};

/// Returns a compile error with `reason`: the message of a verifier, a library or the operating system.
pub(super) fn cannot_compile(reason: impl std::fmt::Display) -> Error {
    Error::new(ErrorKind::Compile, Phase::Compile, format!("machine code cannot be made: {reason}"))
}
