//! [`ShapeError`]: the reason why a shape, a dimension or a parameter was refused.

use std::fmt;

/// The result of a function of this crate that can fail.
pub type Result<T, E = ShapeError> = std::result::Result<T, E>;

/// The reason for a refusal: the requirement, then the actual value. If one operand is to blame, the error holds its
/// index.
///
/// [`ShapeError::help`] proposes a fix if there is an evident fix.
///
/// The message names neither the op nor the line of the program; the caller of the shape function adds both.
#[derive(Clone, PartialEq, Eq)]
pub struct ShapeError(Box<Details>);

#[derive(Clone, PartialEq, Eq)]
struct Details {
    message: String,
    operand: Option<usize>,
    help: Option<String>,
    guard_origin: Option<u32>,
}

impl ShapeError {
    /// Makes an error with a message that blames no operand.
    #[cold]
    pub fn new(message: impl fmt::Display) -> ShapeError {
        ShapeError(Box::new(Details {
            message: message.to_string(),
            operand: None,
            help: None,
            guard_origin: None,
        }))
    }

    /// Returns the error with operand `index` to blame, unless the error blames an operand already.
    #[must_use]
    pub fn operand(mut self, index: usize) -> ShapeError {
        self.0.operand.get_or_insert(index);
        self
    }

    /// Returns the error with a proposed fix such as `transpose b with .t()`, unless the error has a proposed fix
    /// already.
    #[must_use]
    pub fn with_help(mut self, help: impl fmt::Display) -> ShapeError {
        self.0.help.get_or_insert_with(|| help.to_string());
        self
    }

    /// Calls [`ShapeError::with_help`] if `help` is `Some`.
    #[must_use]
    pub fn with_help_if(self, help: Option<impl fmt::Display>) -> ShapeError {
        match help {
            Some(help) => self.with_help(help),
            None => self,
        }
    }

    /// Returns the proposed fix.
    pub fn help(&self) -> Option<&str> {
        self.0.help.as_deref()
    }

    /// Returns the message: the requirement, then the actual value.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Returns the error with the node that required the condition which does not hold.
    pub(crate) fn required_by(mut self, origin: u32) -> ShapeError {
        self.0.guard_origin = Some(origin);
        self
    }

    /// Returns the node that required the condition which does not hold, if the condition is of an earlier call.
    pub fn guard_origin(&self) -> Option<u32> {
        self.0.guard_origin
    }

    /// Returns the index of the operand to blame, if there is one.
    pub fn blamed_operand(&self) -> Option<usize> {
        self.0.operand
    }
}

impl fmt::Display for ShapeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl fmt::Debug for ShapeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for ShapeError {}

/// Returns from the function with a [`ShapeError`] made from a format string.
macro_rules! bail {
    ($($arg:tt)*) => { return Err($crate::ShapeError::new(format_args!($($arg)*))) };
}
pub(crate) use bail;
