//! [`ArenaPlan`]: gives each buffer an offset in an arena. A buffer is in use from one step to a later step.

/// Places buffers in an arena. Buffers that are in use at the same step do not overlap.
///
/// A buffer goes to the lowest free offset at which it fits. Buffers must come in the order of their first steps.
#[derive(Default)]
pub(crate) struct ArenaPlan {
    /// Free ranges below `bytes`, as `(offset, length)`: sorted, and joined with their neighbors.
    free: Vec<(usize, usize)>,
    live: Vec<LiveBuffer>,
    bytes: usize,
}

/// A buffer that is in use at the current step.
struct LiveBuffer {
    last_step: usize,
    offset: usize,
    bytes: usize,
}

impl ArenaPlan {
    /// Returns the number of bytes of the arena.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns the offset of a buffer of `bytes` bytes that is in use from `first_step` to `last_step`, both included.
    /// Returns `None` if the arena would be larger than memory.
    pub(crate) fn place(&mut self, first_step: usize, last_step: usize, bytes: usize) -> Option<usize> {
        let mut live = std::mem::take(&mut self.live);
        live.retain(|buffer| {
            let lives_on = buffer.last_step >= first_step;
            if !lives_on {
                self.release(buffer.offset, buffer.bytes);
            }
            lives_on
        });
        self.live = live;
        let offset = self.reserve(bytes)?;
        self.live.push(LiveBuffer { last_step, offset, bytes });
        Some(offset)
    }

    /// Takes `bytes` bytes out of the first free range that fits, or lets the arena grow.
    fn reserve(&mut self, bytes: usize) -> Option<usize> {
        if let Some(index) = self.free.iter().position(|(_, free)| *free >= bytes) {
            let (offset, free) = self.free[index];
            if free == bytes {
                self.free.remove(index);
            } else {
                self.free[index] = (offset + bytes, free - bytes);
            }
            return Some(offset);
        }
        // A free range at the end of the arena grows with the arena.
        let offset = match self.free.last().copied() {
            Some((offset, free)) if offset + free == self.bytes => {
                self.free.pop();
                offset
            }
            _ => self.bytes,
        };
        self.bytes = offset.checked_add(bytes)?;
        Some(offset)
    }

    /// Adds a range to the free ranges, and joins the range with its neighbors.
    fn release(&mut self, offset: usize, bytes: usize) {
        if bytes == 0 {
            return;
        }
        let free = &mut self.free;
        let index = free.partition_point(|(other, _)| *other < offset);
        free.insert(index, (offset, bytes));
        if index + 1 < free.len() && offset + bytes == free[index + 1].0 {
            free[index].1 += free[index + 1].1;
            free.remove(index + 1);
        }
        if index > 0 && free[index - 1].0 + free[index - 1].1 == free[index].0 {
            free[index - 1].1 += free[index].1;
            free.remove(index);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_used_again_after_the_last_step() {
        let mut plan = ArenaPlan::default();
        assert_eq!(plan.place(0, 1, 64), Some(0));
        assert_eq!(plan.place(1, 2, 128), Some(64));
        assert_eq!(plan.place(2, 3, 64), Some(0), "the first buffer is dead");
        assert_eq!(plan.place(3, 3, 192), Some(64), "the free range at the end grows");
        assert_eq!(plan.bytes(), 256);
        assert_eq!(plan.place(4, 4, 256), Some(0), "neighbors are joined");
        assert_eq!(plan.bytes(), 256);
    }

    #[test]
    fn an_arena_larger_than_memory_is_refused() {
        let mut plan = ArenaPlan::default();
        assert_eq!(plan.place(0, 1, 64), Some(0));
        assert_eq!(plan.place(0, 1, usize::MAX), None);
    }

    #[test]
    fn buffers_that_live_at_the_same_step_do_not_overlap() {
        // A linear congruential generator gives lengths and lifetimes without a pattern.
        let mut state = 1u64;
        let mut random_below = |bound: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % bound
        };
        let (mut plan, mut placed) = (ArenaPlan::default(), Vec::new());
        for step in 0..300 {
            let (last, bytes) = (step + random_below(8) as usize, random_below(9) as usize * 64);
            let offset = plan.place(step, last, bytes).unwrap();
            assert!(offset + bytes <= plan.bytes());
            placed.push((step, last, offset, bytes));
        }
        for (index, &(_, last, offset, bytes)) in placed.iter().enumerate() {
            for &(later, _, other, other_bytes) in &placed[index + 1..] {
                let shared = (offset + bytes).min(other + other_bytes).saturating_sub(offset.max(other));
                assert!(later > last || shared == 0, "{offset}..+{bytes} and {other}..+{other_bytes}");
            }
        }
    }
}
