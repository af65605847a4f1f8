//! [`lock`]: locks a mutex even if an earlier holder panicked.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks `mutex`, also after a holder panicked. The data must be valid after every statement of a holder.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
