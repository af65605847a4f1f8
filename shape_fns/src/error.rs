//! [`ShapeError`]: why a shape, a dimension or a parameter was refused.

use std::fmt;

/// The result of everything in this crate that can refuse its arguments.
pub type Result<T, E = ShapeError> = std::result::Result<T, E>;

/// A refusal: the requirement first, then what was got, and the operand it was found in where one operand is to blame.
///
/// Where a likely fix can be told from the facts, [`ShapeError::help`] says it.
///
/// The message names neither the op nor the line that built it; whoever called the shape function adds both.
#[derive(Clone, PartialEq, Eq)]
pub struct ShapeError(Box<Inner>);

#[derive(Clone, PartialEq, Eq)]
struct Inner {
    message: String,
    operand: Option<usize>,
    help: Option<String>,
}

impl ShapeError {
    /// An error with this message, blaming no operand.
    #[cold]
    pub fn new(message: impl fmt::Display) -> ShapeError {
        ShapeError(Box::new(Inner { message: message.to_string(), operand: None, help: None }))
    }

    /// The same error, blaming operand `index` unless an operand is blamed already.
    #[must_use]
    pub fn operand(mut self, index: usize) -> ShapeError {
        self.0.operand.get_or_insert(index);
        self
    }

    /// The same error, with what the user may do about it, unless it says so already: `transpose b with .t()`.
    #[must_use]
    pub fn with_help(mut self, help: impl fmt::Display) -> ShapeError {
        self.0.help.get_or_insert_with(|| help.to_string());
        self
    }

    /// As [`ShapeError::with_help`], where there is something to do.
    #[must_use]
    pub fn with_help_if(self, help: Option<impl fmt::Display>) -> ShapeError {
        match help {
            Some(help) => self.with_help(help),
            None => self,
        }
    }

    /// What the user may do about it.
    pub fn help(&self) -> Option<&str> {
        self.0.help.as_deref()
    }

    /// The requirement, then what was got.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The position of the operand to blame, where it is one.
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

/// Returns early with a [`ShapeError`] made from a format string.
macro_rules! bail {
    ($($arg:tt)*) => { return Err($crate::ShapeError::new(format_args!($($arg)*))) };
}
pub(crate) use bail;
