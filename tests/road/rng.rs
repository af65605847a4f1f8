//! `Rng`: a pseudo-random number generator whose stream depends only on its seed.

/// The SplitMix64 generator.
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    /// Creates the generator of a seed. Nearby seeds give unrelated streams.
    pub fn new(seed: u64) -> Rng {
        let mut rng = Rng(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5851_f42d_4c95_7f2d);
        rng.next_u64();
        rng
    }

    /// Returns 64 uniform bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a number in `0..limit`, or 0 if `limit` is 0.
    pub fn below(&mut self, limit: usize) -> usize {
        if limit == 0 { 0 } else { (self.next_u64() % limit as u64) as usize }
    }

    /// Returns a number in `low..=high`.
    pub fn range_inclusive(&mut self, low: i64, high: i64) -> i64 {
        let span = (i128::from(high) - i128::from(low) + 1).max(1) as u128;
        (i128::from(low) + (u128::from(self.next_u64()) % span) as i128) as i64
    }

    /// Returns true with probability `numerator / denominator`.
    pub fn chance(&mut self, numerator: usize, denominator: usize) -> bool {
        self.below(denominator) < numerator
    }

    /// Returns a random element of a non-empty list.
    pub fn choose<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.below(list.len())]
    }

    /// Returns an item of a list of `(item, weight)`, with a probability proportional to its weight.
    pub fn choose_weighted(&mut self, list: &[(&'static str, usize)]) -> &'static str {
        let total = list.iter().map(|(_, weight)| weight).sum();
        let mut position = self.below(total);
        for (item, weight) in list {
            if position < *weight {
                return item;
            }
            position -= weight;
        }
        unreachable!("the position is below the sum of the weights")
    }

    /// Returns a number in [0, 1).
    pub fn unit_f64(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Returns a random permutation of `0..count`.
    pub fn permutation(&mut self, count: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..count).collect();
        for last in (1..count).rev() {
            order.swap(last, self.below(last + 1));
        }
        order
    }
}
