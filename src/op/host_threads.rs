//! `HostThreads`: the threads of a run, among which a host kernel divides its work.

use std::fmt;

/// The number of nanoseconds of work above which several threads are faster than one.
const BREAK_EVEN: usize = 200_000;

/// The number of parts for each thread. There are more parts than threads, so that a thread whose part takes long runs
/// fewer parts.
const PARTS_PER_THREAD: usize = 4;

/// Threads that run the parts of one job.
pub(crate) trait Threads: Sync + fmt::Debug {
    /// Returns the number of threads that work at once.
    fn count(&self) -> usize;
    /// Calls `f` once for each number below `parts`, and returns after all calls have returned.
    fn for_each(&self, parts: usize, f: &(dyn Fn(usize) + Sync));
}

/// The threads of a run; the calling thread alone by default.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct HostThreads<'a>(Option<&'a dyn Threads>);

impl<'a> HostThreads<'a> {
    pub(crate) fn new(threads: &'a dyn Threads) -> HostThreads<'a> {
        HostThreads(Some(threads))
    }

    /// Returns the number of parts into which to divide work of `nanoseconds` nanoseconds: 1 if one thread is faster.
    pub(crate) fn parts(self, nanoseconds: usize) -> usize {
        match self.0.map_or(1, Threads::count) {
            1 => 1,
            threads if nanoseconds > BREAK_EVEN => threads * PARTS_PER_THREAD,
            _ => 1,
        }
    }

    /// Calls `f` once for each number below `parts`, and returns after all calls have returned.
    pub(crate) fn for_each(self, parts: usize, f: &(dyn Fn(usize) + Sync)) {
        match self.0.filter(|_| parts > 1) {
            Some(threads) => threads.for_each(parts, f),
            None => (0..parts).for_each(f),
        }
    }
}
