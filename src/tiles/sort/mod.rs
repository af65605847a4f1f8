//! [`SortKey`]: sorts unsigned integers by vector instructions.
//!
//! `quick` is a quicksort: it splits keys at pivots until they fit into registers. `lanes` sorts keys in registers by
//! networks; its trait lists the vector operations that this needs. `avx512` and `avx2` implement the trait.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "x86_64")]
mod lanes;
#[cfg(target_arch = "x86_64")]
mod quick;

#[cfg(target_arch = "x86_64")]
use super::cpu::{has_avx2, has_avx512};

/// Unsigned integers that vector instructions sort.
pub(crate) trait SortKey: Copy + Ord + Default {
    /// Sorts keys. Returns false, and does not change the keys, if the processor has no suitable instructions.
    fn sort_keys(keys: &mut [Self]) -> bool;

    /// Returns the next smaller integer, if there is one.
    #[cfg(target_arch = "x86_64")]
    fn before(self) -> Option<Self>;
}

macro_rules! impl_sort_keys {
    ($T:ident, $sort:ident) => {
        impl SortKey for $T {
            #[cfg(target_arch = "x86_64")]
            fn sort_keys(keys: &mut [$T]) -> bool {
                if !std::arch::is_x86_feature_detected!("popcnt") {
                    return false;
                }
                if has_avx512() {
                    // SAFETY: the processor has AVX-512 and popcnt.
                    unsafe { avx512::$sort(keys) };
                    return true;
                }
                if has_avx2() {
                    // SAFETY: the processor has AVX2 and popcnt.
                    unsafe { avx2::$sort(keys) };
                    return true;
                }
                false
            }

            #[cfg(target_arch = "x86_64")]
            fn before(self) -> Option<$T> {
                self.checked_sub(1)
            }

            #[cfg(not(target_arch = "x86_64"))]
            fn sort_keys(_: &mut [$T]) -> bool {
                false
            }
        }
    };
}

impl_sort_keys!(u32, sort_u32);
impl_sort_keys!(u64, sort_u64);

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    /// Returns keys of one kind: random, few distinct, equal, ascending, descending, nearly ascending, or extreme.
    fn keys(kind: usize, len: usize) -> Vec<u64> {
        let random = |i: usize| (i as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
        (0..len)
            .map(|i| match kind {
                0 => random(i).wrapping_mul(0xff51_afd7_ed55_8ccd),
                1 => random(i) % 3,
                2 => 7,
                3 => i as u64,
                4 => (len - i) as u64,
                5 if i % 50 == 0 => random(i),
                5 => i as u64,
                6 => [0, u64::MAX, 1, u64::MAX - 1][random(i) as usize % 4],
                _ => (i % 2) as u64 * u64::MAX,
            })
            .collect()
    }

    fn check(sort_u32: fn(&mut [u32]), sort_u64: fn(&mut [u64])) {
        for len in (0..=300).chain([511, 512, 1000, 1023, 1024, 4097, 20_000]) {
            for kind in 0..8 {
                let mut wide = keys(kind, len);
                let mut narrow: Vec<u32> = wide.iter().map(|key| *key as u32).collect();
                let (mut sorted_wide, mut sorted_narrow) = (wide.clone(), narrow.clone());
                sorted_wide.sort_unstable();
                sorted_narrow.sort_unstable();
                sort_u64(&mut wide);
                sort_u32(&mut narrow);
                assert!(wide == sorted_wide && narrow == sorted_narrow, "{len} keys of kind {kind}");
            }
        }
    }

    #[test]
    fn keys_are_sorted_by_vectors_of_512_bits() {
        if has_avx512() {
            // SAFETY: the processor has AVX-512, and so popcnt.
            check(|keys| unsafe { avx512::sort_u32(keys) }, |keys| unsafe { avx512::sort_u64(keys) });
        }
    }

    #[test]
    fn keys_are_sorted_by_vectors_of_256_bits() {
        if has_avx2() {
            // SAFETY: the processor has AVX2, and so popcnt.
            check(|keys| unsafe { avx2::sort_u32(keys) }, |keys| unsafe { avx2::sort_u64(keys) });
        }
    }
}
