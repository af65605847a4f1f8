//! Pseudo-random numbers.

/// Pseudo-random numbers (xorshift).
pub(super) struct Draws(pub(super) u64);

impl Draws {
    /// Draws a number below `limit`.
    pub(super) fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit.max(1) as u64) as usize
    }

    /// Draws `count` of the numbers below `rank`, in any order.
    pub(super) fn axes(&mut self, rank: usize, count: usize) -> Vec<i32> {
        let mut all: Vec<i32> = (0..rank as i32).collect();
        for index in (1..rank).rev() {
            all.swap(index, self.below(index + 1));
        }
        all.truncate(count);
        all
    }
}
