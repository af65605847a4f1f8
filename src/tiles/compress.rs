//! [`compress`]: the elements of a row whose flags are set, side by side.

/// Elements whose flags are looked at together.
const GROUP: usize = 8;

/// How many flags are set.
pub(crate) fn count(flags: &[bool]) -> usize {
    // As many as a byte counts, so that a vector counts bytes.
    flags.chunks(255).map(|flags| usize::from(flags.iter().map(|flag| u8::from(*flag)).sum::<u8>())).sum()
}

/// Copies the elements of `N` bytes whose flag is set to the beginning of `to`, as many as it has room for; the rest
/// of `to` may be written too.
pub(crate) fn compress<const N: usize>(from: &[[u8; N]], flags: &[bool], to: &mut [[u8; N]]) {
    let len = from.len().min(flags.len());
    let (from, flags) = (&from[..len], &flags[..len]);
    #[cfg(target_arch = "x86_64")]
    let (mut at, mut done) = x86::groups(from, flags, to);
    #[cfg(not(target_arch = "x86_64"))]
    let (mut at, mut done) = (0, 0);
    // A block at a time is packed without branches where no vectors are.
    while at < len {
        let end = (at + GROUP).min(len);
        let mut packed = [[0u8; N]; GROUP];
        let mut count = 0;
        for (element, &flag) in from[at..end].iter().zip(&flags[at..end]) {
            packed[count % GROUP] = *element;
            count += usize::from(flag);
        }
        let count = count.min(to.len() - done);
        to[done..done + count].copy_from_slice(&packed[..count]);
        (at, done) = (end, done + count);
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use super::GROUP;
    use crate::tiles::cpu::has_avx2;

    /// For each set of flags the places of those set, in order.
    static PLACES: [[u8; GROUP]; 256] = places();

    const fn places() -> [[u8; GROUP]; 256] {
        let mut places = [[0; GROUP]; 256];
        let mut set = 0;
        while set < 256 {
            let (mut place, mut count) = (0, 0);
            while place < GROUP {
                if set >> place & 1 == 1 {
                    places[set][count] = place as u8;
                    count += 1;
                }
                place += 1;
            }
            set += 1;
        }
        places
    }

    /// Compresses whole groups while there is room for a group; says how many elements were looked at and written.
    pub(super) fn groups<const N: usize>(
        from: &[[u8; N]],
        flags: &[bool],
        to: &mut [[u8; N]],
    ) -> (usize, usize) {
        if !has_avx2() || !std::arch::is_x86_feature_detected!("popcnt") {
            return (0, 0);
        }
        match N {
            1 | 2 | 4 | 8 | 16 => {
                // SAFETY: the processor has what the function asks for.
                unsafe { by_vectors(from, flags, to) }
            }
            _ => (0, 0),
        }
    }

    #[target_feature(enable = "avx2,popcnt")]
    fn by_vectors<const N: usize>(from: &[[u8; N]], flags: &[bool], to: &mut [[u8; N]]) -> (usize, usize) {
        let (from_groups, _) = from.as_chunks::<GROUP>();
        let (flag_groups, _) = flags.as_chunks::<GROUP>();
        let (mut at, mut done) = (0, 0);
        for (elements, flags) in from_groups.iter().zip(flag_groups) {
            let Some(room) = to.get_mut(done..done + GROUP) else { break };
            // A flag is a byte of 0 or 1: the product brings flag `i` to bit `56 + i`, no two to the same bit.
            let bytes = u64::from_le_bytes(flags.map(u8::from));
            let set = (bytes.wrapping_mul(0x0102_0408_1020_4080) >> 56) as usize;
            // SAFETY: both sides have a group of elements.
            unsafe { one_group::<N>(elements.as_ptr().cast(), set, room.as_mut_ptr().cast()) };
            at += GROUP;
            done += set.count_ones() as usize;
        }
        (at, done)
    }

    /// The places of a set as bytes.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn place_bytes(set: usize) -> __m128i {
        _mm_cvtsi64_si128(i64::from_le_bytes(PLACES[set & 255]))
    }

    /// Two places for each of eight: those of its halves.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn halves(places: __m128i) -> __m128i {
        let twice = _mm_unpacklo_epi8(places, places);
        _mm_add_epi8(_mm_add_epi8(twice, twice), _mm_set1_epi16(0x0100))
    }

    /// # Safety
    /// Eight elements of `N` bytes, which is 1, 2, 4, 8 or 16, are readable at `from` and writable at `to`.
    #[inline]
    #[target_feature(enable = "avx2,popcnt")]
    unsafe fn one_group<const N: usize>(from: *const u8, set: usize, to: *mut u8) {
        // SAFETY: each arm moves no more than eight elements of `N` bytes.
        unsafe {
            match N {
                1 => {
                    let elements = _mm_loadl_epi64(from.cast());
                    _mm_storel_epi64(to.cast(), _mm_shuffle_epi8(elements, place_bytes(set)));
                }
                2 => {
                    let elements = _mm_loadu_si128(from.cast());
                    _mm_storeu_si128(to.cast(), _mm_shuffle_epi8(elements, halves(place_bytes(set))));
                }
                4 => {
                    let places = _mm256_cvtepu8_epi32(place_bytes(set));
                    let elements = _mm256_loadu_si256(from.cast());
                    _mm256_storeu_si256(to.cast(), _mm256_permutevar8x32_epi32(elements, places));
                }
                8 => {
                    let mut to = to;
                    for half in 0..2 {
                        let set = set >> (4 * half) & 15;
                        let places = _mm256_cvtepu8_epi32(halves(place_bytes(set)));
                        let elements = _mm256_loadu_si256(from.add(32 * half).cast());
                        _mm256_storeu_si256(to.cast(), _mm256_permutevar8x32_epi32(elements, places));
                        to = to.add(8 * set.count_ones() as usize);
                    }
                }
                _ => {
                    let mut to = to;
                    for place in 0..super::GROUP {
                        _mm_storeu_si128(to.cast(), _mm_loadu_si128(from.add(16 * place).cast()));
                        to = to.add(16 * (set >> place & 1));
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check<const N: usize>(flags: &[bool]) {
        let from: Vec<[u8; N]> =
            (0..flags.len()).map(|i| std::array::from_fn(|j| (i * 7 + j * 3 + i / 251) as u8)).collect();
        let wanted: Vec<[u8; N]> =
            from.iter().zip(flags).filter(|(_, flag)| **flag).map(|(x, _)| *x).collect();
        assert_eq!(count(flags), wanted.len());
        let mut got = vec![[0xa5; N]; wanted.len() + 1];
        let last = wanted.len();
        compress(&from, flags, &mut got[..last]);
        assert!(got[..last] == wanted && got[last] == [0xa5; N], "{N} bytes, {flags:?}");
    }

    #[test]
    fn elements_with_flags_are_kept() {
        for n in [0usize, 1, 7, 8, 9, 16, 31, 64, 255, 256, 1000] {
            for seed in 0..20u32 {
                let random = |i: usize| (i as u32 ^ seed).wrapping_mul(2_654_435_761) >> 20;
                let flags: Vec<bool> = (0..n)
                    .map(|i| match seed {
                        0 => false,
                        1 => true,
                        2 => i < n / 2,
                        3 => i >= n / 2,
                        _ => random(i) % 7 < seed % 7,
                    })
                    .collect();
                check::<1>(&flags);
                check::<2>(&flags);
                check::<4>(&flags);
                check::<8>(&flags);
                check::<16>(&flags);
                check::<3>(&flags);
            }
        }
    }
}
