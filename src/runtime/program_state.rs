//! [`ProgramState`]: what the runs of a compiled program change and share.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use rustc_hash::FxHashMap;

use super::lock::lock;
use super::packed_constants::PackedConstants;
use super::segment_plan::SegmentPlan;
use super::thread_pool::Pool;
use crate::error::Result;
use crate::op::Prepared;
use crate::tensor::BufferPool;

/// What the runs of a compiled program change and share: plans, memory of results, packed constants, what host kernels prepare,
/// counters.
///
/// The program itself is immutable. Any number of threads may use the state at once.
pub(crate) struct ProgramState {
    pub threads: Pool,
    /// Bytes that a run may use for results and intermediate values.
    pub memory_limit: Option<usize>,
    /// Memory of dropped results, for later ones.
    pub buffers: BufferPool,
    pub packed: PackedConstants,
    plans: PlanCache,
    /// By step: what its host kernel prepared.
    prepared: Mutex<FxHashMap<usize, Arc<Prepared>>>,
    counters: Counters,
}

/// The plans of each segment, by the values of the symbols on which they depend.
struct PlanCache {
    segments: Vec<Mutex<FxHashMap<Vec<i64>, Arc<SegmentPlan>>>>,
    /// The maximum number of plans of one segment.
    capacity: usize,
}

#[derive(Default)]
struct Counters {
    plan_hits: AtomicU64,
    plan_misses: AtomicU64,
    arena_bytes: AtomicUsize,
}

/// The counters of a [`ProgramState`] at one time.
pub(crate) struct Counts {
    /// Runs of a segment that found their plan.
    pub plan_hits: u64,
    /// Runs of a segment that made a plan.
    pub plan_misses: u64,
    /// Bytes of the largest arena of all plans.
    pub arena_bytes: usize,
}

impl ProgramState {
    /// The state of a program that has not run. It keeps at most `plans` plans for each of its `segments`, and the
    /// memory of at most `results` tensors.
    pub(crate) fn new(
        threads: Pool,
        memory_limit: Option<usize>,
        segments: usize,
        plans: usize,
        results: usize,
    ) -> ProgramState {
        ProgramState {
            threads,
            memory_limit,
            buffers: BufferPool::new(results),
            packed: PackedConstants::default(),
            plans: PlanCache { segments: (0..segments).map(|_| Mutex::default()).collect(), capacity: plans },
            prepared: Mutex::default(),
            counters: Counters::default(),
        }
    }

    /// Returns where the host kernel of a step keeps what it prepares.
    pub(crate) fn prepared(&self, step: usize) -> Arc<Prepared> {
        lock(&self.prepared).entry(step).or_default().clone()
    }

    /// Returns the plan of a segment for these values of its symbols. It calls `make` if there is none yet.
    ///
    /// # Errors
    /// Those of `make`.
    pub(crate) fn plan(
        &self,
        segment: usize,
        key: Vec<i64>,
        make: impl FnOnce() -> Result<SegmentPlan>,
    ) -> Result<Arc<SegmentPlan>> {
        let plans = &self.plans.segments[segment];
        if let Some(plan) = lock(plans).get(&key) {
            self.count_plan_hit();
            return Ok(plan.clone());
        }
        self.counters.plan_misses.fetch_add(1, Ordering::Relaxed);
        // Planning takes time, so it happens without the lock.
        let plan = Arc::new(make()?);
        self.counters.arena_bytes.fetch_max(plan.memory.arena, Ordering::Relaxed);
        let mut plans = lock(plans);
        if plans.len() >= self.plans.capacity {
            plans.clear();
        }
        plans.insert(key, plan.clone());
        Ok(plan)
    }

    /// Counts a run that found its plan elsewhere.
    pub(crate) fn count_plan_hit(&self) {
        self.counters.plan_hits.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn counts(&self) -> Counts {
        Counts {
            plan_hits: self.counters.plan_hits.load(Ordering::Relaxed),
            plan_misses: self.counters.plan_misses.load(Ordering::Relaxed),
            arena_bytes: self.counters.arena_bytes.load(Ordering::Relaxed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;
    use crate::runtime::SegmentMemory;

    fn plan(arena: usize) -> Result<SegmentPlan> {
        let memory = SegmentMemory { arena, ..SegmentMemory::default() };
        Ok(SegmentPlan { steps: Vec::new(), sizes: Vec::new(), memory })
    }

    #[test]
    fn each_segment_makes_a_plan_once_for_each_key() {
        let state = ProgramState::new(Pool::new(None), None, 2, 2, 0);
        let arena =
            |segment, key, arena| state.plan(segment, vec![key], || plan(arena)).unwrap().memory.arena;
        assert_eq!([arena(0, 1, 64), arena(0, 2, 128), arena(0, 1, 0), arena(1, 1, 32)], [64, 128, 64, 32]);
        assert_eq!(arena(0, 3, 16), 16, "a full cache starts again");
        assert_eq!(arena(0, 1, 8), 8);
        let counts = state.counts();
        assert_eq!((counts.plan_hits, counts.plan_misses, counts.arena_bytes), (1, 5, 128));
    }

    #[test]
    fn a_plan_that_fails_is_made_again() {
        let state = ProgramState::new(Pool::new(None), None, 1, 1, 0);
        assert!(state.plan(0, Vec::new(), || Err(Error::msg("no memory"))).is_err());
        assert!(state.plan(0, Vec::new(), || plan(0)).is_ok());
    }
}
