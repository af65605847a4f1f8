//! [`compress`]: moves the elements whose flags are set to the beginning of a row.

/// The number of elements whose flags are handled together.
const GROUP: usize = 8;

/// Counts the flags that are set.
pub(crate) fn count(flags: &[bool]) -> usize {
    // A byte can count 255 flags without overflow, so the compiler adds the flags in vectors of bytes.
    flags.chunks(255).map(|flags| usize::from(flags.iter().map(|flag| u8::from(*flag)).sum::<u8>())).sum()
}

/// Copies the elements whose flag is set to the beginning of `to`, in order, until `to` is full. An element has `N`
/// bytes. The elements of `to` after the copied ones may be overwritten too.
pub(crate) fn compress<const N: usize>(from: &[[u8; N]], flags: &[bool], to: &mut [[u8; N]]) {
    let len = from.len().min(flags.len());
    let (from, flags) = (&from[..len], &flags[..len]);
    #[cfg(target_arch = "x86_64")]
    let (mut read, mut written) = x86::compress_groups(from, flags, to);
    #[cfg(not(target_arch = "x86_64"))]
    let (mut read, mut written) = (0, 0);
    // The vector code leaves elements over. They are packed one by one, without branches.
    while read < len {
        let end = (read + GROUP).min(len);
        let mut packed = [[0u8; N]; GROUP];
        let mut count = 0;
        for (element, &flag) in from[read..end].iter().zip(&flags[read..end]) {
            packed[count % GROUP] = *element;
            count += usize::from(flag);
        }
        let count = count.min(to.len() - written);
        to[written..written + count].copy_from_slice(&packed[..count]);
        (read, written) = (end, written + count);
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use super::GROUP;
    use crate::tiles::cpu::has_avx2;

    /// `POSITIONS[mask]` lists the positions of the bits that are set in `mask`, in ascending order.
    static POSITIONS: [[u8; GROUP]; 256] = positions();

    const fn positions() -> [[u8; GROUP]; 256] {
        let mut positions = [[0; GROUP]; 256];
        let mut mask = 0;
        while mask < 256 {
            let (mut position, mut count) = (0, 0);
            while position < GROUP {
                if mask >> position & 1 == 1 {
                    positions[mask][count] = position as u8;
                    count += 1;
                }
                position += 1;
            }
            mask += 1;
        }
        positions
    }

    /// Compresses whole groups while `to` has room for a whole group. Returns the numbers of elements read and written.
    pub(super) fn compress_groups<const N: usize>(
        from: &[[u8; N]],
        flags: &[bool],
        to: &mut [[u8; N]],
    ) -> (usize, usize) {
        if !has_avx2() || !std::arch::is_x86_feature_detected!("popcnt") {
            return (0, 0);
        }
        match N {
            1 | 2 | 4 | 8 | 16 => {
                // SAFETY: the processor has AVX2 and popcnt.
                unsafe { by_vectors(from, flags, to) }
            }
            _ => (0, 0),
        }
    }

    /// Compresses as [`compress_groups`] does, by vector instructions.
    #[target_feature(enable = "avx2,popcnt")]
    fn by_vectors<const N: usize>(from: &[[u8; N]], flags: &[bool], to: &mut [[u8; N]]) -> (usize, usize) {
        let (from_groups, _) = from.as_chunks::<GROUP>();
        let (flag_groups, _) = flags.as_chunks::<GROUP>();
        let (mut read, mut written) = (0, 0);
        for (elements, flags) in from_groups.iter().zip(flag_groups) {
            let Some(target) = to.get_mut(written..written + GROUP) else { break };
            // A flag is a byte of 0 or 1. The multiplication moves flag `i` to bit `56 + i` and no two flags to the
            // same bit.
            let bytes = u64::from_le_bytes(flags.map(u8::from));
            let mask = (bytes.wrapping_mul(0x0102_0408_1020_4080) >> 56) as usize;
            // SAFETY: `elements` and `target` are whole groups.
            unsafe { compress_group::<N>(elements.as_ptr().cast(), mask, target.as_mut_ptr().cast()) };
            read += GROUP;
            written += mask.count_ones() as usize;
        }
        (read, written)
    }

    /// Returns the positions of the bits that are set in `mask`, one per byte.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn position_bytes(mask: usize) -> __m128i {
        _mm_cvtsi64_si128(i64::from_le_bytes(POSITIONS[mask & 255]))
    }

    /// Maps the position `p` of each element to the positions `2·p` and `2·p + 1` of the element's halves.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn halves(positions: __m128i) -> __m128i {
        let twice = _mm_unpacklo_epi8(positions, positions);
        _mm_add_epi8(_mm_add_epi8(twice, twice), _mm_set1_epi16(0x0100))
    }

    /// Compresses one group, whose flags are the bits of `mask`.
    ///
    /// # Safety
    /// `N` is 1, 2, 4, 8, or 16. Eight elements of `N` bytes are readable at `from` and writable at `to`.
    #[inline]
    #[target_feature(enable = "avx2,popcnt")]
    unsafe fn compress_group<const N: usize>(from: *const u8, mask: usize, to: *mut u8) {
        // SAFETY: each arm reads and writes at most eight elements of `N` bytes.
        unsafe {
            match N {
                1 => {
                    let elements = _mm_loadl_epi64(from.cast());
                    _mm_storel_epi64(to.cast(), _mm_shuffle_epi8(elements, position_bytes(mask)));
                }
                2 => {
                    let elements = _mm_loadu_si128(from.cast());
                    _mm_storeu_si128(to.cast(), _mm_shuffle_epi8(elements, halves(position_bytes(mask))));
                }
                4 => {
                    let positions = _mm256_cvtepu8_epi32(position_bytes(mask));
                    let elements = _mm256_loadu_si256(from.cast());
                    _mm256_storeu_si256(to.cast(), _mm256_permutevar8x32_epi32(elements, positions));
                }
                8 => {
                    let mut to = to;
                    for half in 0..2 {
                        let mask = mask >> (4 * half) & 15;
                        let positions = _mm256_cvtepu8_epi32(halves(position_bytes(mask)));
                        let elements = _mm256_loadu_si256(from.add(32 * half).cast());
                        _mm256_storeu_si256(to.cast(), _mm256_permutevar8x32_epi32(elements, positions));
                        to = to.add(8 * mask.count_ones() as usize);
                    }
                }
                _ => {
                    let mut to = to;
                    for position in 0..super::GROUP {
                        _mm_storeu_si128(to.cast(), _mm_loadu_si128(from.add(16 * position).cast()));
                        to = to.add(16 * (mask >> position & 1));
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
    fn flagged_elements_are_kept_in_order() {
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
