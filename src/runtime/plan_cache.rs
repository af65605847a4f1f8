//! [`PlanCache`]: the plans of a segment, each for some sizes. The cache forgets the least recently used plans.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::segment_plan::SegmentPlan;

/// The values of the symbols that a plan depends on.
pub(crate) type PlanKey = SmallVec<[i64; 8]>;

/// The plans of a segment. If the plans take more bytes than a limit, the cache forgets the least recently used plans.
pub(super) struct PlanCache {
    numbers: FxHashMap<PlanKey, usize>,
    /// The plans by number. `older` and `newer` link them in the order of their last uses.
    entries: Vec<CachedPlan>,
    /// Numbers of entries without a plan.
    free: Vec<usize>,
    oldest: usize,
    newest: usize,
    bytes: usize,
    limit: usize,
}

struct CachedPlan {
    key: PlanKey,
    /// `None` if the entry is free.
    plan: Option<Arc<SegmentPlan>>,
    bytes: usize,
    older: usize,
    newer: usize,
}

/// The number that stands for no entry.
const NONE: usize = usize::MAX;

impl PlanCache {
    /// Creates a cache for at most `limit` bytes of plans. The cache keeps the newest plan even if this plan takes
    /// more.
    pub(super) fn new(limit: usize) -> PlanCache {
        PlanCache {
            numbers: FxHashMap::default(),
            entries: Vec::new(),
            free: Vec::new(),
            oldest: NONE,
            newest: NONE,
            bytes: 0,
            limit,
        }
    }

    /// Returns the plan for these values, which now counts as used last.
    pub(super) fn get(&mut self, key: &[i64]) -> Option<Arc<SegmentPlan>> {
        let number = *self.numbers.get(key)?;
        if number != self.newest {
            self.unlink(number);
            self.link_newest(number);
        }
        self.entries[number].plan.clone()
    }

    /// Stores the plan for these values, and forgets old plans if the limit demands it.
    pub(super) fn insert(&mut self, key: PlanKey, plan: Arc<SegmentPlan>) {
        if let Some(&number) = self.numbers.get(&key) {
            // Another thread made the same plan meanwhile.
            self.remove(number);
        }
        let bytes = plan.bytes() + 2 * size_of::<PlanKey>() + size_of::<CachedPlan>();
        let entry = CachedPlan { key: key.clone(), plan: Some(plan), bytes, older: NONE, newer: NONE };
        let number = match self.free.pop() {
            Some(number) => {
                self.entries[number] = entry;
                number
            }
            None => {
                self.entries.push(entry);
                self.entries.len() - 1
            }
        };
        self.numbers.insert(key, number);
        self.link_newest(number);
        self.bytes += bytes;
        while self.bytes > self.limit && self.oldest != number {
            self.remove(self.oldest);
        }
    }

    /// Forgets all plans.
    pub(super) fn clear(&mut self) {
        *self = PlanCache::new(self.limit);
    }

    fn remove(&mut self, number: usize) {
        self.unlink(number);
        let entry = &mut self.entries[number];
        entry.plan = None;
        self.bytes -= entry.bytes;
        self.numbers.remove(&entry.key);
        self.free.push(number);
    }

    fn unlink(&mut self, number: usize) {
        let CachedPlan { older, newer, .. } = self.entries[number];
        match older {
            NONE => self.oldest = newer,
            older => self.entries[older].newer = newer,
        }
        match newer {
            NONE => self.newest = older,
            newer => self.entries[newer].older = older,
        }
    }

    fn link_newest(&mut self, number: usize) {
        let last = std::mem::replace(&mut self.newest, number);
        (self.entries[number].older, self.entries[number].newer) = (last, NONE);
        match last {
            NONE => self.oldest = number,
            last => self.entries[last].newer = number,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::{SegmentMemory, SegmentSizes};

    /// Returns a plan that differs from other plans in the size of its arena.
    fn plan(arena: usize) -> Arc<SegmentPlan> {
        let memory = SegmentMemory { arena, ..SegmentMemory::default() };
        Arc::new(SegmentPlan { steps: Vec::new(), sizes: SegmentSizes::default(), memory })
    }

    fn key(value: i64) -> PlanKey {
        PlanKey::from_slice(&[value])
    }

    /// Returns a cache with room for `count` empty plans.
    fn with_room(count: usize) -> PlanCache {
        let mut one = PlanCache::new(0);
        one.insert(key(0), plan(0));
        PlanCache::new(count * one.bytes)
    }

    #[test]
    fn the_least_recently_used_plan_is_forgotten() {
        let mut cache = with_room(3);
        for value in 0..3 {
            cache.insert(key(value), plan(value as usize));
        }
        assert_eq!(cache.get(&[0]).unwrap().memory.arena, 0);
        cache.insert(key(3), plan(3));
        let kept: Vec<bool> = (0..4).map(|value| cache.get(&[value]).is_some()).collect();
        assert_eq!(kept, [true, false, true, true]);
        cache.insert(key(2), plan(7));
        assert_eq!((cache.get(&[2]).unwrap().memory.arena, cache.numbers.len()), (7, 3));
    }

    #[test]
    fn the_newest_plan_is_kept_even_above_the_limit() {
        let mut cache = PlanCache::new(0);
        for value in 0..5 {
            cache.insert(key(value), plan(0));
            assert!(cache.get(&[value]).is_some());
            assert_eq!((cache.numbers.len(), cache.entries.len() <= 2), (1, true));
        }
    }

    #[test]
    fn the_order_of_uses_matches_a_list() {
        let (mut cache, mut used) = (with_room(8), Vec::new());
        // A linear congruential generator gives keys without a pattern.
        let mut state = 1u64;
        for _ in 0..20_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let value = (state >> 33) as i64 % 13;
            let known = used.iter().position(|used| *used == value);
            assert_eq!(cache.get(&[value]).is_some(), known.is_some());
            match known {
                Some(position) => drop(used.remove(position)),
                None => cache.insert(key(value), plan(0)),
            }
            used.push(value);
            if used.len() > 8 {
                used.remove(0);
            }
        }
        assert_eq!((cache.numbers.len(), cache.entries.len()), (8, 9));
    }
}
