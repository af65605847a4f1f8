//! [`RandomWords`]: the words of a stream of random bits, drawn one by one.

use super::philox::Philox;
use super::samples::{unit_f32, unit_f64};

/// Draws words of 32 bits, and numbers that are made of the next words.
pub(crate) struct RandomWords {
    stream: Philox,
    block: [u32; 4],
    /// The number of words that are drawn.
    drawn: u64,
}

impl RandomWords {
    pub(crate) fn new(stream: Philox) -> RandomWords {
        RandomWords { stream, block: [0; 4], drawn: 0 }
    }

    /// Returns 32 random bits.
    pub(crate) fn word(&mut self) -> u32 {
        let place = (self.drawn % 4) as usize;
        if place == 0 {
            self.block = self.stream.block(self.drawn / 4);
        }
        self.drawn += 1;
        self.block[place]
    }

    /// Returns 64 random bits.
    fn wide_word(&mut self) -> u64 {
        let low = self.word();
        u64::from(self.word()) << 32 | u64::from(low)
    }

    /// Returns a number in [0, 1) of 23 random bits.
    pub(crate) fn unit_f32(&mut self) -> f32 {
        unit_f32(self.word())
    }

    /// Returns a number in [0, 1) of 52 random bits.
    pub(super) fn unit_f64(&mut self) -> f64 {
        let first = self.word();
        unit_f64(first, self.word())
    }

    /// Returns an integer that is uniform in [0, limit); 0 if `limit` is 0.
    pub(crate) fn below(&mut self, limit: u32) -> u32 {
        below(limit.into(), u32::MAX.into(), || self.word().into()) as u32
    }

    /// Does the same as [`RandomWords::below`] with 64 bits.
    pub(super) fn wide_below(&mut self, limit: u64) -> u64 {
        below(limit, u64::MAX, || self.wide_word())
    }
}

/// Returns an integer that is uniform in [0, limit). `draw` gives integers that are uniform in [0, greatest], where
/// `greatest + 1` is a power of 2. Rejects the `(greatest + 1) % limit` least integers, so that `limit` divides the
/// number of integers that it accepts.
fn below(limit: u64, greatest: u64, mut draw: impl FnMut() -> u64) -> u64 {
    if limit == 0 {
        draw();
        return 0;
    }
    let rejected = (greatest % limit + 1) % limit;
    loop {
        let bits = draw();
        if bits >= rejected {
            return bits % limit;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_the_words_of_the_blocks() {
        let stream = Philox::of_seeds([3, 4]);
        let mut words = RandomWords::new(stream);
        let expected: Vec<u32> = (0..3).flat_map(|number| stream.block(number)).collect();
        let first: Vec<u32> = (0..5).map(|_| words.word()).collect();
        assert_eq!(first, expected[..5]);
        assert_eq!(words.wide_word(), u64::from(expected[6]) << 32 | u64::from(expected[5]));
        assert_eq!(words.below(8), expected[7] % 8);
    }

    #[test]
    fn integers_below_a_limit_are_equally_likely() {
        // Of the 16 integers below 16, the first one is dropped: 15 integers remain for 5 results.
        let mut counts = [0; 5];
        for bits in 0..16 {
            let mut draws = [bits, 15].into_iter();
            let made = below(5, 15, || draws.next().unwrap());
            if draws.next().is_some() {
                counts[made as usize] += 1;
            }
        }
        assert_eq!(counts, [3; 5]);
        let mut words = RandomWords::new(Philox::of_seeds([5, 6]));
        for limit in [1, 2, 3, 1000, u32::MAX] {
            assert!((0..100).all(|_| words.below(limit) < limit));
            assert!((0..100).all(|_| words.wide_below(limit.into()) < limit.into()));
        }
        assert_eq!((words.below(0), words.wide_below(1 << 63) >> 63), (0, 0));
    }
}
