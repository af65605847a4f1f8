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

/// Returns the numbers of the lanes of two vectors of `N` lanes, taken in turn. The lanes of the second vector have the
/// numbers from `N` on.
const fn turns<const N: usize>() -> [[u8; N]; 2] {
    let (mut lane, mut turns) = (0, [[0; N]; 2]);
    while lane < 2 * N {
        turns[lane / N][lane % N] = (lane / 2 + lane % 2 * N) as u8;
        lane += 1;
    }
    turns
}

macro_rules! vectors {
    (
        $Name:ident $T:ident $count:literal $Mask:ident,
        $splat:ident $min:ident $max:ident $mask_max:ident $greater:ident $compress:ident $permute:ident
        $permute_two:ident $load_some:ident $store_some:ident $indices:ident
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
            const FEW: usize = 16;

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
                    let partners = $permute($indices(const { partners(DISTANCE) }), other.0);
                    let lanes = const { lanes_with(BIT) } as $Mask;
                    $Name($mask_max($min(self.0, partners), lanes, self.0, partners))
                }
            }

            #[inline(always)]
            unsafe fn interleaved(self, other: Self) -> [Self; 2] {
                // SAFETY: the caller's promise.
                unsafe {
                    [0, 1].map(|half| $Name($permute_two(self.0, $indices(const { turns::<$count>() }[half]), other.0)))
                }
            }

            #[inline(always)]
            unsafe fn reversed(self) -> Self {
                // SAFETY: the caller's promise.
                unsafe { $Name($permute($indices(const { partners($count - 1) }), self.0)) }
            }

            #[inline(always)]
            unsafe fn split(self, pivot: Self, low: *mut $T, high: *mut $T) -> usize {
                // SAFETY: the caller's promise. The larger keys are stored last, over what the first store wrote
                // between the keys that are at most the pivot and the larger keys.
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

#[inline(always)]
unsafe fn indices_of_16(bytes: [u8; 16]) -> __m512i {
    // SAFETY: the processor has AVX-512, as the caller promises.
    unsafe { _mm512_cvtepu8_epi32(_mm_loadu_si128(bytes.as_ptr().cast())) }
}

#[inline(always)]
unsafe fn indices_of_8(bytes: [u8; 8]) -> __m512i {
    // SAFETY: the processor has AVX-512, as the caller promises.
    unsafe { _mm512_cvtepu8_epi64(_mm_loadl_epi64(bytes.as_ptr().cast())) }
}

vectors! {
    Words u32 16 __mmask16,
    _mm512_set1_epi32 _mm512_min_epu32 _mm512_max_epu32 _mm512_mask_max_epu32 _mm512_cmpgt_epu32_mask
    _mm512_maskz_compress_epi32 _mm512_permutexvar_epi32
    _mm512_permutex2var_epi32 _mm512_mask_loadu_epi32 _mm512_mask_storeu_epi32 indices_of_16
}
vectors! {
    Doubles u64 8 __mmask8,
    _mm512_set1_epi64 _mm512_min_epu64 _mm512_max_epu64 _mm512_mask_max_epu64 _mm512_cmpgt_epu64_mask
    _mm512_maskz_compress_epi64 _mm512_permutexvar_epi64
    _mm512_permutex2var_epi64 _mm512_mask_loadu_epi64 _mm512_mask_storeu_epi64 indices_of_8
}

/// Sorts keys.
#[target_feature(enable = "avx512f,popcnt")]
pub(super) fn sort_u32(keys: &mut [u32]) {
    // SAFETY: the processor has AVX-512.
    unsafe { quicksort::<Words, 8>(keys) }
}

/// Sorts keys.
#[target_feature(enable = "avx512f,popcnt")]
pub(super) fn sort_u64(keys: &mut [u64]) {
    // SAFETY: the processor has AVX-512.
    unsafe { quicksort::<Doubles, 8>(keys) }
}
