//! Vectors of 512 bits.

use std::arch::x86_64::*;

use super::lanes::{Lanes, partners};
use super::quick::quicksort;

/// Returns the mask of the lanes whose numbers have the bit `bit`.
const fn lanes_with(bit: usize) -> u16 {
    let (mut lane, mut lanes) = (0, 0);
    while lane < 16 {
        if lane & bit != 0 {
            lanes |= 1 << lane;
        }
        lane += 1;
    }
    lanes
}

/// The number of vectors that a split of the quicksort reads together.
const SPLIT_BLOCK: usize = 8;

/// Returns the lane numbers of one half of two interleaved vectors, `a0 b0 a1 b1 ..`. The vectors have `N` lanes each.
/// The lanes of the second vector have the numbers from `N` on.
const fn interleaved<const N: usize>(half: usize) -> [u8; N] {
    let (mut lane, mut interleaved) = (0, [0; N]);
    while lane < N {
        let turn = half * N + lane;
        interleaved[lane] = (turn / 2 + turn % 2 * N) as u8;
        lane += 1;
    }
    interleaved
}

macro_rules! widened {
    ($name:ident $T:ident $count:literal) => {
        /// Widens lane numbers to the elements of a vector of indices.
        const fn $name(lanes: [u8; $count]) -> [$T; $count] {
            let (mut lane, mut widened) = (0, [0; $count]);
            while lane < $count {
                widened[lane] = lanes[lane] as $T;
                lane += 1;
            }
            widened
        }
    };
}
widened!(lanes_of_u32 u32 16);
widened!(lanes_of_u64 u64 8);

macro_rules! vectors {
    (
        $Name:ident $T:ident $count:literal $Mask:ident,
        $splat:ident $min:ident $max:ident $mask_max:ident $greater:ident $compress:ident $permute:ident
        $permute_two:ident $load_some:ident $store_some:ident $widened:ident
    ) => {
        /// A vector of 512 bits.
        #[derive(Clone, Copy)]
        pub(super) struct $Name(__m512i);

        impl $Name {
            /// Returns the mask of the first `count` lanes.
            #[inline(always)]
            fn first(count: usize) -> $Mask {
                ((1u32 << count) - 1) as $Mask
            }
        }

        // The functions are inlined into functions for processors with AVX-512.
        impl Lanes for $Name {
            type Key = $T;
            const COUNT: usize = $count;
            const SMALL_SORT_VECTORS: usize = 16;

            #[inline(always)]
            unsafe fn splat(key: $T) -> Self {
                // SAFETY: the caller's promise.
                unsafe { $Name($splat(key as _)) }
            }

            #[inline(always)]
            unsafe fn load(from: *const $T) -> Self {
                // SAFETY: the caller's promise.
                unsafe { $Name(_mm512_loadu_si512(from.cast())) }
            }

            #[inline(always)]
            unsafe fn load_first(from: *const $T, count: usize) -> Self {
                // SAFETY: the caller's promise: lanes outside the mask are not read.
                unsafe { $Name($load_some(_mm512_set1_epi32(-1), Self::first(count), from.cast())) }
            }

            #[inline(always)]
            unsafe fn store(self, to: *mut $T) {
                // SAFETY: the caller's promise.
                unsafe { _mm512_storeu_si512(to.cast(), self.0) }
            }

            #[inline(always)]
            unsafe fn store_first(self, to: *mut $T, count: usize) {
                // SAFETY: the caller's promise: lanes outside the mask are not written.
                unsafe { $store_some(to.cast(), Self::first(count), self.0) }
            }

            #[inline(always)]
            unsafe fn min(self, other: Self) -> Self {
                // SAFETY: the caller's promise.
                unsafe { $Name($min(self.0, other.0)) }
            }

            #[inline(always)]
            unsafe fn max(self, other: Self) -> Self {
                // SAFETY: the caller's promise.
                unsafe { $Name($max(self.0, other.0)) }
            }

            #[inline(always)]
            unsafe fn exchange_with<const DISTANCE: usize, const BIT: usize>(self, other: Self) -> Self {
                // SAFETY: the caller's promise.
                unsafe {
                    let lanes = const { &$widened(partners(DISTANCE)) }.as_ptr();
                    let partners = $permute(_mm512_loadu_si512(lanes.cast()), other.0);
                    let lanes = const { lanes_with(BIT) } as $Mask;
                    $Name($mask_max($min(self.0, partners), lanes, self.0, partners))
                }
            }

            #[inline(always)]
            unsafe fn interleaved(self, other: Self) -> [Self; 2] {
                // SAFETY: the caller's promise.
                unsafe {
                    let [low, high] = const { [$widened(interleaved(0)), $widened(interleaved(1))] };
                    [
                        $Name($permute_two(self.0, _mm512_loadu_si512(low.as_ptr().cast()), other.0)),
                        $Name($permute_two(self.0, _mm512_loadu_si512(high.as_ptr().cast()), other.0)),
                    ]
                }
            }

            #[inline(always)]
            unsafe fn reversed(self) -> Self {
                // SAFETY: the caller's promise.
                unsafe {
                    let lanes = const { &$widened(partners($count - 1)) }.as_ptr();
                    $Name($permute(_mm512_loadu_si512(lanes.cast()), self.0))
                }
            }

            #[inline(always)]
            unsafe fn split(self, pivot: Self, low: *mut $T, high: *mut $T) -> usize {
                // SAFETY: the caller's promise. The first store writes a whole vector: the keys that are at most the
                // pivot, then zeros. The zeros may lie where larger keys belong, so these are stored second.
                unsafe {
                    let larger = $greater(self.0, pivot.0);
                    let count = larger.count_ones() as usize;
                    _mm512_storeu_si512(low.cast(), $compress(!larger, self.0));
                    let larger = $compress(larger, self.0);
                    $store_some(high.sub(count).cast(), Self::first(count), larger);
                    $count - count
                }
            }
        }
    };
}

vectors! {
    Words u32 16 __mmask16,
    _mm512_set1_epi32 _mm512_min_epu32 _mm512_max_epu32 _mm512_mask_max_epu32 _mm512_cmpgt_epu32_mask
    _mm512_maskz_compress_epi32 _mm512_permutexvar_epi32
    _mm512_permutex2var_epi32 _mm512_mask_loadu_epi32 _mm512_mask_storeu_epi32 lanes_of_u32
}
vectors! {
    Doubles u64 8 __mmask8,
    _mm512_set1_epi64 _mm512_min_epu64 _mm512_max_epu64 _mm512_mask_max_epu64 _mm512_cmpgt_epu64_mask
    _mm512_maskz_compress_epi64 _mm512_permutexvar_epi64
    _mm512_permutex2var_epi64 _mm512_mask_loadu_epi64 _mm512_mask_storeu_epi64 lanes_of_u64
}

/// Sorts keys.
#[target_feature(enable = "avx512f,popcnt")]
pub(super) fn sort_u32(keys: &mut [u32]) {
    // SAFETY: the processor has AVX-512.
    unsafe { quicksort::<Words, SPLIT_BLOCK>(keys) }
}

/// Sorts keys.
#[target_feature(enable = "avx512f,popcnt")]
pub(super) fn sort_u64(keys: &mut [u64]) {
    // SAFETY: the processor has AVX-512.
    unsafe { quicksort::<Doubles, SPLIT_BLOCK>(keys) }
}
