//! `Draws`: numbers without a pattern, the same in every run with the same seed.

/// A stream of numbers (SplitMix64).
#[derive(Clone, Debug)]
pub struct Draws(u64);

impl Draws {
    /// The stream of a seed; nearby seeds give unrelated streams.
    pub fn new(seed: u64) -> Draws {
        let mut draws = Draws(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5851_f42d_4c95_7f2d);
        draws.bits();
        draws
    }

    /// 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number in `0..limit`; 0 for a limit of 0.
    pub fn below(&mut self, limit: usize) -> usize {
        if limit == 0 { 0 } else { (self.bits() % limit as u64) as usize }
    }

    /// A number in `low..=high`.
    pub fn within(&mut self, low: i64, high: i64) -> i64 {
        let span = (i128::from(high) - i128::from(low) + 1).max(1) as u128;
        (i128::from(low) + (u128::from(self.bits()) % span) as i128) as i64
    }

    /// True in `part` of `whole` cases.
    pub fn chance(&mut self, part: usize, whole: usize) -> bool {
        self.below(whole) < part
    }

    /// One of a list that is not empty.
    pub fn pick<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.below(list.len())]
    }

    /// A number in [0, 1).
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// The numbers `0..count` in another order.
    pub fn shuffled(&mut self, count: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..count).collect();
        for last in (1..count).rev() {
            order.swap(last, self.below(last + 1));
        }
        order
    }
}
