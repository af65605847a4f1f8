//! `Pool`: where the parts of a kernel run.

use std::fmt;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use super::launch::Lane;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::lower::code::Code;
use crate::lower::kernel::Kernel;

/// Fork-join over `0..tiles`, to run kernels on threads of the caller's choice.
pub trait ThreadPool: Send + Sync + fmt::Debug {
    /// How many threads work at once.
    fn threads(&self) -> usize;
    /// Calls `f` once for each number below `tiles`, on any threads, and returns when all calls have.
    fn for_each(&self, tiles: usize, f: &(dyn Fn(usize) + Sync));
}

/// The pool of an executable: one thread, or several.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pool {
    shared: Option<Arc<dyn ThreadPool>>,
}

/// Nanoseconds of work from which several threads are faster than one.
const BREAK_EVEN: i64 = 200_000;

impl Pool {
    pub(crate) fn new(shared: Option<Arc<dyn ThreadPool>>) -> Pool {
        Pool { shared: shared.filter(|pool| pool.threads() > 1) }
    }

    pub(crate) fn is_one(&self) -> bool {
        self.shared.is_none()
    }

    pub(super) fn threads(&self) -> usize {
        self.shared.as_ref().map_or(1, |pool| pool.threads().max(1))
    }

    /// Whether several threads pay for so many elements of a kernel.
    pub(crate) fn pays(&self, kernel: &Kernel, elements: i64) -> bool {
        self.shared.is_some() && elements.saturating_mul(work(kernel)) / NANOSECOND > BREAK_EVEN
    }

    /// Runs `f` on every part; true if a check failed in one.
    pub(crate) fn run<P: Sync>(
        &self,
        parts: &[P],
        lanes: &mut Vec<Lane>,
        f: &(dyn Fn(&P, &mut Lane, &mut i64) -> Result<()> + Sync),
    ) -> Result<bool> {
        let Some(pool) = &self.shared else {
            let mut failed = 0;
            if lanes.is_empty() {
                lanes.push(Lane::default());
            }
            parts.iter().try_for_each(|part| f(part, &mut lanes[0], &mut failed))?;
            return Ok(failed != 0);
        };
        let threads = pool.threads().min(parts.len()).max(1);
        while lanes.len() < threads {
            lanes.push(Lane::default());
        }
        let free: Mutex<Vec<Lane>> = Mutex::new(std::mem::take(lanes));
        let failed = AtomicBool::new(false);
        let error: Mutex<Option<Error>> = Mutex::new(None);
        let next = AtomicI64::new(0);
        pool.for_each(threads, &|_| {
            let mut lane = lock(&free).pop().unwrap_or_default();
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                let Some(part) = parts.get(number as usize) else { break };
                let mut fault = 0;
                if let Err(e) = f(part, &mut lane, &mut fault) {
                    lock(&error).get_or_insert(e);
                }
                if fault != 0 {
                    failed.store(true, Ordering::Relaxed);
                }
            }
            lock(&free).push(lane);
        });
        lanes.append(&mut lock(&free));
        if next.load(Ordering::Relaxed) < parts.len() as i64 {
            let message = "the thread pool returned before it ran every tile";
            return Err(Error::new(ErrorKind::Custom, Phase::Run, message));
        }
        match lock(&error).take() {
            Some(error) => Err(error),
            None => Ok(failed.load(Ordering::Relaxed)),
        }
    }
}

/// What [`work`] counts in a nanosecond.
pub(super) const NANOSECOND: i64 = 45;

/// The time that an element of a kernel takes: a fifteenth of a nanosecond for moving it, and a forty-fifth for each
/// instruction.
pub(super) fn work(kernel: &Kernel) -> i64 {
    let of_variant = |code: &Code| code.passes.iter().map(|pass| pass.body.len()).sum::<usize>();
    let insts = kernel.variants.iter().map(|variant| of_variant(&variant.code)).max().unwrap_or(0);
    3 + insts as i64
}

/// Locks, also after a panic elsewhere: what these locks hold is valid at any time.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// So many threads: the one that calls, and those of a rayon pool.
#[cfg(feature = "threads")]
pub(crate) fn rayon_pool(threads: usize) -> Result<Arc<dyn ThreadPool>> {
    struct Rayon(rayon::ThreadPool);

    impl fmt::Debug for Rayon {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "{} threads", self.0.current_num_threads() + 1)
        }
    }

    impl ThreadPool for Rayon {
        fn threads(&self) -> usize {
            self.0.current_num_threads() + 1
        }

        fn for_each(&self, tiles: usize, f: &(dyn Fn(usize) + Sync)) {
            // The calling thread begins at once, and does what others have not begun by the time they wake.
            self.0.in_place_scope(|scope| {
                for tile in 1..tiles {
                    scope.spawn(move |_| f(tile));
                }
                f(0);
            });
        }
    }

    let pool =
        rayon::ThreadPoolBuilder::new().num_threads(threads.saturating_sub(1).max(1)).build().map_err(
            |error| Error::new(ErrorKind::Memory, Phase::Compile, format!("threads were refused: {error}")),
        )?;
    Ok(Arc::new(Rayon(pool)))
}
