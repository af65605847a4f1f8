//! `Allowance`: the bytes that a host kernel may allocate at once under the memory limit of its run.

use std::cell::Cell;

use shapeflow_shape_fns::counted;

use crate::error::{Error, ErrorKind, Phase, Result};

/// The bytes that a host kernel may allocate at once.
#[derive(Clone, Copy)]
pub(crate) struct Allowance {
    /// The memory limit of the run.
    pub limit: usize,
    /// The part of the limit that the run has not used.
    pub left: usize,
}

thread_local! {
    /// The allowance of the host kernel that runs on this thread.
    static CURRENT: Cell<Option<Allowance>> = const { Cell::new(None) };
}

/// Sets the allowance of this thread back when it is dropped, also by a panic.
struct Restored(Option<Allowance>);

impl Drop for Restored {
    fn drop(&mut self) {
        CURRENT.set(self.0);
    }
}

impl Allowance {
    /// Returns the error of a run that needs `bytes` more.
    pub(crate) fn exceeded(self, bytes: usize) -> Error {
        let message = format!(
            "the run must stay within the memory limit of {limit}, but needs {bytes} at once and has {left}",
            limit = counted(self.limit, "byte"),
            bytes = counted(bytes, "byte"),
            left = self.left
        );
        Error::new(ErrorKind::Memory, Phase::Run, message)
    }
}

/// Calls `run`. Each allocation of elements in it has at most the bytes of the allowance, and of the allowance around
/// it.
pub(crate) fn with_allowance<R>(allowance: Option<Allowance>, run: impl FnOnce() -> R) -> R {
    let Some(allowance) = allowance else { return run() };
    let outer = CURRENT.get();
    let inner = outer.filter(|outer| outer.left < allowance.left).unwrap_or(allowance);
    CURRENT.set(Some(inner));
    let _restored = Restored(outer);
    run()
}

/// Checks that this thread may allocate `bytes`.
///
/// # Errors
/// `Memory`: they exceed the allowance.
pub(crate) fn check_allowance(bytes: usize) -> Result<()> {
    match CURRENT.get() {
        Some(allowance) if bytes > allowance.left => Err(allowance.exceeded(bytes)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smaller_allowance_holds_and_ends_with_the_call() {
        let allowed = |left| Some(Allowance { limit: 100, left });
        with_allowance(allowed(10), || {
            assert!(check_allowance(10).is_ok());
            with_allowance(allowed(50), || assert!(check_allowance(11).is_err()));
            with_allowance(allowed(5), || {
                let error = check_allowance(6).unwrap_err();
                assert_eq!(
                    error.message(),
                    "the run must stay within the memory limit of 100 bytes, but needs 6 bytes at once and has 5"
                );
            });
            with_allowance(None, || assert!(check_allowance(11).is_err()));
            let panicked = std::panic::catch_unwind(|| with_allowance(allowed(1), || panic!("in a kernel")));
            assert!(panicked.is_err() && check_allowance(10).is_ok());
        });
        assert!(check_allowance(usize::MAX).is_ok());
    }
}
