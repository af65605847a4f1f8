//! [`Philox`]: the generator Philox 4x32-10 of Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (2011).

/// A position in the stream of a key. A block of four numbers depends only on the key and the counter.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Philox {
    key: [u32; 2],
    counter: u128,
}

/// The words of a number, the lowest first.
fn words(value: u64) -> [u32; 2] {
    [value as u32, (value >> 32) as u32]
}

impl Philox {
    pub(crate) fn new(key: u64, counter: [u64; 2]) -> Philox {
        Philox { key: words(key), counter: u128::from(counter[1]) << 64 | u128::from(counter[0]) }
    }

    /// Makes the generator of two seeds. The first block of a fixed key mixes the seeds, so that similar seeds have
    /// unrelated streams.
    pub(super) fn of_seeds(seeds: [u64; 2]) -> Philox {
        let mixed = Philox::new(0x0246_1e29_3ec8_f720, seeds).block(0);
        Philox { key: [mixed[0], mixed[1]], counter: u128::from(mixed[3]) << 96 | u128::from(mixed[2]) << 64 }
    }

    /// Returns the key and the counter.
    pub(super) fn state(self) -> (u64, [u64; 2]) {
        let key = u64::from(self.key[1]) << 32 | u64::from(self.key[0]);
        (key, [self.counter as u64, (self.counter >> 64) as u64])
    }

    /// Returns block number `number`, counted from this position.
    pub(crate) fn block(self, number: u64) -> [u32; 4] {
        let counter = self.counter.wrapping_add(u128::from(number));
        let ([a, b], [c, d]) = (words(counter as u64), words((counter >> 64) as u64));
        let (mut x, mut key) = ([a, b, c, d], self.key);
        for _ in 0..10 {
            let (first, second) =
                (words(u64::from(x[0]) * 0xd251_1f53), words(u64::from(x[2]) * 0xcd9e_8d57));
            x = [second[1] ^ x[1] ^ key[0], second[0], first[1] ^ x[3] ^ key[1], first[0]];
            key = [key[0].wrapping_add(0x9e37_79b9), key[1].wrapping_add(0xbb67_ae85)];
        }
        x
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The test vectors of the authors' library.
    #[test]
    fn blocks_are_those_of_the_paper() {
        assert_eq!(Philox::new(0, [0, 0]).block(0), [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]);
        let ones = Philox::new(u64::MAX, [u64::MAX; 2]).block(0);
        assert_eq!(ones, [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]);
        let pi = Philox::new(0x299f_31d0_a409_3822, [0x85a3_08d3_243f_6a88, 0x0370_7344_1319_8a2e]).block(0);
        assert_eq!(pi, [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1]);
    }

    #[test]
    fn blocks_count_from_the_position() {
        let start = Philox::new(7, [u64::MAX, 3]);
        assert_eq!(start.block(1), Philox::new(7, [0, 4]).block(0));
        let seeded = Philox::of_seeds([1, 2]);
        let (key, counter) = seeded.state();
        assert_eq!(Philox::new(key, counter).block(5), seeded.block(5));
    }
}
