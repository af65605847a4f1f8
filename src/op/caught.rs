//! `caught`: a panic in a part of an op that a user wrote becomes an error.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::error::{Error, ErrorKind, Phase, Result};

/// Runs the named `part` of an op (`"body"`, `"kernel"`, `"shape function"`, `"dtype rule"`).
///
/// # Errors
/// The error of `run`, or an error that quotes the panic of `run`.
pub(crate) fn caught<T>(op: &str, part: &str, run: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| Err(panicked(op, part, &*panic)))
}

fn panicked(op: &str, part: &str, payload: &(dyn Any + Send)) -> Error {
    let said = payload
        .downcast_ref::<&str>()
        .map(|text| (*text).to_string())
        .or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no message".to_string());
    Error::new(ErrorKind::Custom, Phase::Build, format!("the {part} of {op} panicked: {said}"))
}
