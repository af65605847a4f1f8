//! `Cancel`: how a run learns that another thread cancels it.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::{Error, ErrorKind, Phase, Result};

/// The token of a run; no token by default. The run ends with an error once the token is true.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Cancel<'a>(Option<&'a AtomicBool>);

impl<'a> Cancel<'a> {
    pub(crate) fn new(token: Option<&'a AtomicBool>) -> Cancel<'a> {
        Cancel(token)
    }

    /// Returns whether the run has a token.
    pub(crate) fn has_token(self) -> bool {
        self.0.is_some()
    }

    /// Returns the token, or a token that is never true.
    pub(crate) fn token(self) -> &'a AtomicBool {
        static NEVER: AtomicBool = AtomicBool::new(false);
        self.0.unwrap_or(&NEVER)
    }

    /// Returns whether the run must end.
    #[inline]
    pub(crate) fn is_cancelled(self) -> bool {
        self.0.is_some_and(|token| token.load(Ordering::Relaxed))
    }

    /// Checks that the run may go on.
    ///
    /// # Errors
    /// The token is true.
    #[inline]
    pub(crate) fn check(self) -> Result<()> {
        if self.is_cancelled() { Err(Cancel::error()) } else { Ok(()) }
    }

    /// Returns the error of a cancelled run.
    #[cold]
    pub(crate) fn error() -> Error {
        Error::new(ErrorKind::Cancelled, Phase::Run, "the run was cancelled")
    }
}
