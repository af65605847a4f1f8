//! [`TensorRole`]: which operand or output of an op a view is, for errors.

use std::fmt;

use crate::error::Error;

/// Which operand or output of an op a view is.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) enum TensorRole {
    /// None that errors name.
    #[default]
    Unnamed,
    Input(u32),
    Output(u32),
}

impl TensorRole {
    /// Names the view in an error about it.
    pub(super) fn name(self, error: Error) -> Error {
        match self {
            TensorRole::Unnamed => error,
            TensorRole::Input(_) | TensorRole::Output(_) => error.about(self),
        }
    }
}

impl fmt::Display for TensorRole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TensorRole::Unnamed => f.write_str("tensor"),
            TensorRole::Input(number) => write!(f, "input {number}"),
            TensorRole::Output(number) => write!(f, "output {number}"),
        }
    }
}
