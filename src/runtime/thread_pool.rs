//! [`Pool`]: the threads of an executable.

use std::fmt;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

#[cfg(feature = "threads")]
use shapeflow_shape_fns::counted;

use super::cost::{UNITS_PER_NANOSECOND, element_cost};
use super::lock::lock;
use super::workspace::{Workspace, first_workspace};
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::lower::kernel::Kernel;
use crate::op::Threads;

/// Threads that the caller provides, on which kernels run. One call of [`ThreadPool::for_each`] spreads `tiles` calls
/// over the threads, and waits until all have returned.
pub trait ThreadPool: Send + Sync + fmt::Debug {
    /// Returns the number of threads that work at once.
    fn threads(&self) -> usize;
    /// Calls `f` once for each number below `tiles`, on any threads. Returns after all calls have returned.
    fn for_each(&self, tiles: usize, f: &(dyn Fn(usize) + Sync));
}

/// The threads of an executable: only the calling thread, or a [`ThreadPool`].
#[derive(Clone, Debug, Default)]
pub(crate) struct Pool {
    shared: Option<Arc<dyn ThreadPool>>,
}

/// The number of nanoseconds of work above which several threads are faster than one.
const BREAK_EVEN: i64 = 200_000;

impl Pool {
    /// Returns a pool that runs on `shared`, or on the calling thread alone if `shared` has no second thread.
    pub(crate) fn new(shared: Option<Arc<dyn ThreadPool>>) -> Pool {
        Pool { shared: shared.filter(|pool| pool.threads() > 1) }
    }

    /// Returns the threads, unless the pool is the calling thread alone.
    pub(crate) fn shared(&self) -> Option<Arc<dyn ThreadPool>> {
        self.shared.clone()
    }

    /// Returns whether the pool is the calling thread alone.
    pub(crate) fn is_single_thread(&self) -> bool {
        self.shared.is_none()
    }

    /// Returns the number of threads, at least 1.
    pub(super) fn threads(&self) -> usize {
        self.shared.as_ref().map_or(1, |pool| pool.threads().max(1))
    }

    /// Returns whether several threads compute `elements` elements of a kernel faster than one.
    pub(crate) fn is_worth_threads(&self, kernel: &Kernel, elements: i64) -> bool {
        self.shared.is_some()
            && elements.saturating_mul(element_cost(kernel)) / UNITS_PER_NANOSECOND > BREAK_EVEN
    }

    /// Runs `f` on every item. Returns whether a check failed in any item: `f` sets its last argument to 1 then. Each
    /// thread has a workspace of its own.
    ///
    /// # Errors
    /// The first error of `f`, or a [`ThreadPool`] that does not run every item.
    pub(crate) fn run<I: Sync>(
        &self,
        items: &[I],
        workspaces: &mut Vec<Workspace>,
        f: &(dyn Fn(&I, &mut Workspace, &mut i64) -> Result<()> + Sync),
    ) -> Result<bool> {
        let Some(pool) = &self.shared else {
            let mut failed = 0;
            let workspace = first_workspace(workspaces);
            items.iter().try_for_each(|item| f(item, workspace, &mut failed))?;
            return Ok(failed != 0);
        };
        let threads = pool.threads().min(items.len()).max(1);
        while workspaces.len() < threads {
            workspaces.push(Workspace::default());
        }
        let free: Mutex<Vec<Workspace>> = Mutex::new(std::mem::take(workspaces));
        let failed = AtomicBool::new(false);
        let error: Mutex<Option<Error>> = Mutex::new(None);
        let next = AtomicI64::new(0);
        pool.for_each(threads, &|_| {
            // A pool of the caller may make more calls than `threads`.
            let mut workspace = lock(&free).pop().unwrap_or_default();
            loop {
                let index = next.fetch_add(1, Ordering::Relaxed);
                let Some(item) = items.get(index as usize) else { break };
                let mut item_failed = 0;
                if let Err(e) = f(item, &mut workspace, &mut item_failed) {
                    lock(&error).get_or_insert(e);
                    next.store(items.len() as i64, Ordering::Relaxed);
                }
                if item_failed != 0 {
                    failed.store(true, Ordering::Relaxed);
                }
            }
            lock(&free).push(workspace);
        });
        workspaces.append(&mut lock(&free));
        if next.load(Ordering::Relaxed) < items.len() as i64 {
            let message = "the thread pool returned before it ran every tile";
            return Err(Error::new(ErrorKind::Internal, Phase::Run, message));
        }
        match lock(&error).take() {
            Some(error) => Err(error),
            None => Ok(failed.load(Ordering::Relaxed)),
        }
    }
}

impl Threads for Pool {
    fn count(&self) -> usize {
        self.threads()
    }

    fn for_each(&self, parts: usize, f: &(dyn Fn(usize) + Sync)) {
        let next = AtomicI64::new(0);
        let work = || {
            loop {
                let part = next.fetch_add(1, Ordering::Relaxed) as usize;
                if part >= parts {
                    break;
                }
                f(part);
            }
        };
        if let Some(pool) = &self.shared {
            pool.for_each(pool.threads().min(parts).max(1), &|_| work());
        }
        // A pool of the caller may return before every part has run. The calling thread then runs the other parts.
        work();
    }
}

/// Returns a pool of `threads` threads, or of 2 if `threads` is less: the calling thread and the threads of a new rayon
/// pool.
///
/// # Errors
/// The system refuses threads.
#[cfg(feature = "threads")]
pub(crate) fn rayon_pool(threads: usize) -> Result<Arc<dyn ThreadPool>> {
    struct Rayon(rayon::ThreadPool);

    impl fmt::Debug for Rayon {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "{}", counted(self.0.current_num_threads() + 1, "thread"))
        }
    }

    impl ThreadPool for Rayon {
        fn threads(&self) -> usize {
            self.0.current_num_threads() + 1
        }

        fn for_each(&self, tiles: usize, f: &(dyn Fn(usize) + Sync)) {
            // The calling thread runs tile 0 while the other threads still wake up.
            self.0.in_place_scope(|scope| {
                for tile in 1..tiles {
                    scope.spawn(move |_| f(tile));
                }
                f(0);
            });
        }
    }

    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads.saturating_sub(1).max(1))
        .build()
        .map_err(|error| {
            Error::new(ErrorKind::Memory, Phase::Compile, format!("the system refused threads: {error}"))
        })?;
    Ok(Arc::new(Rayon(pool)))
}
