//! [`ProgramState`]: what the runs of a compiled program change and share.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use super::lock::lock;
use super::packed_constants::PackedConstants;
use super::plan_cache::{PlanCache, PlanKey};
use super::segment_plan::SegmentPlan;
use super::thread_pool::Pool;
use crate::error::Result;
use crate::op::PreparedSlot;
use crate::tensor::BufferPool;

/// What the runs of a compiled program change and share: plans, memory of results, packed constants, prepared data of
/// host kernels, and counters.
///
/// The program itself is immutable. Any number of threads may use the state at once.
pub(crate) struct ProgramState {
    pub threads: Pool,
    /// Bytes that a run may use for results and intermediate values.
    pub memory_limit: Option<usize>,
    /// Memory of dropped results, for later results.
    pub buffers: BufferPool,
    pub packed: PackedConstants,
    /// For each segment: its plans.
    plans: Vec<Mutex<PlanCache>>,
    /// For each step: the data that the step's host kernel prepared.
    prepared: Box<[PreparedSlot]>,
    counters: Counters,
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
    /// Returns the state of a program that has not run. The program has `segments` segments and `steps` steps. Each
    /// segment keeps plans of at most `plan_bytes / segments` bytes, or its newest plan if this plan takes more. The
    /// state keeps the memory of at most `results` tensors.
    pub(crate) fn new(
        threads: Pool,
        memory_limit: Option<usize>,
        segments: usize,
        steps: usize,
        plan_bytes: usize,
        results: usize,
    ) -> ProgramState {
        ProgramState {
            threads,
            memory_limit,
            buffers: BufferPool::new(results),
            packed: PackedConstants::default(),
            plans: (0..segments).map(|_| Mutex::new(PlanCache::new(plan_bytes / segments))).collect(),
            prepared: (0..steps).map(|_| PreparedSlot::default()).collect(),
            counters: Counters::default(),
        }
    }

    /// Returns the slot in which the host kernel of a step keeps its prepared data.
    pub(crate) fn prepared(&self, step: usize) -> &PreparedSlot {
        &self.prepared[step]
    }

    /// Returns the plan of a segment for these values of its symbols. Calls `make` if there is no such plan yet.
    ///
    /// # Errors
    /// The errors of `make`.
    pub(crate) fn plan(
        &self,
        segment: usize,
        key: PlanKey,
        make: impl FnOnce() -> Result<SegmentPlan>,
    ) -> Result<Arc<SegmentPlan>> {
        let plans = &self.plans[segment];
        let known = lock(plans).get(&key);
        if let Some(plan) = known {
            self.count_plan_hit();
            return Ok(plan);
        }
        self.counters.plan_misses.fetch_add(1, Ordering::Relaxed);
        // Planning takes time, so it happens without the lock.
        let plan = Arc::new(make()?);
        self.counters.arena_bytes.fetch_max(plan.memory.arena, Ordering::Relaxed);
        lock(plans).insert(key, plan.clone());
        Ok(plan)
    }

    /// Frees the plans and the memory that are kept for later runs.
    pub(crate) fn forget(&self) {
        self.plans.iter().for_each(|plans| lock(plans).clear());
        self.buffers.clear();
    }

    /// Counts a run that found its plan. The plan may also be the last plan of the thread, which is outside this state.
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
    use crate::runtime::{SegmentMemory, SegmentSizes};

    fn plan(arena: usize) -> Result<SegmentPlan> {
        let memory = SegmentMemory { arena, ..SegmentMemory::default() };
        Ok(SegmentPlan { steps: Vec::new(), sizes: SegmentSizes::default(), memory })
    }

    #[test]
    fn each_segment_makes_a_plan_once_for_each_key() {
        let state = ProgramState::new(Pool::new(None), None, 2, 0, 1 << 20, 0);
        let arena = |segment, key, arena| {
            state.plan(segment, PlanKey::from_slice(&[key]), || plan(arena)).unwrap().memory.arena
        };
        assert_eq!([arena(0, 1, 64), arena(0, 2, 128), arena(0, 1, 0), arena(1, 1, 32)], [64, 128, 64, 32]);
        let counts = state.counts();
        assert_eq!((counts.plan_hits, counts.plan_misses, counts.arena_bytes), (1, 3, 128));
    }

    #[test]
    fn a_plan_that_fails_is_made_again() {
        let state = ProgramState::new(Pool::new(None), None, 1, 0, 1, 0);
        assert!(state.plan(0, PlanKey::new(), || Err(Error::msg("no memory"))).is_err());
        assert!(state.plan(0, PlanKey::new(), || plan(0)).is_ok());
    }
}
