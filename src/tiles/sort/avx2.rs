//! Vectors of 256 bits.

use std::arch::x86_64::*;

use super::lanes::{Lanes, partners};
use super::quick::quicksort;

/// `ORDERS[mask]` lists the lanes of eight whose bits are not set in `mask`, then the others.
static ORDERS: [[u8; 8]; 256] = {
    let mut orders = [[0; 8]; 256];
    let mut mask = 0;
    while mask < 256 {
        orders[mask] = order(mask, 8);
        mask += 1;
    }
    orders
};

/// `PAIR_ORDERS[mask]` lists the halves of the lanes of four whose bits are not set in `mask`, then of the others.
static PAIR_ORDERS: [[u8; 8]; 16] = {
    let mut orders = [[0; 8]; 16];
    let mut mask = 0;
    while mask < 16 {
        orders[mask] = pairs(order(mask, 4));
        mask += 1;
    }
    orders
};

/// Returns the lanes of `lanes` whose bits are not set in `mask`, then the others.
const fn order(mask: usize, lanes: usize) -> [u8; 8] {
    let (mut order, mut count, mut bit) = ([0; 8], 0, 0);
    while bit < 2 {
        let mut lane = 0;
        while lane < lanes {
            if mask >> lane & 1 == bit {
                order[count] = lane as u8;
                count += 1;
            }
            lane += 1;
        }
        bit += 1;
    }
    order
}

/// Returns the numbers of the halves of the first four lanes.
const fn pairs(lanes: [u8; 8]) -> [u8; 8] {
    let (mut halves, mut half) = ([0; 8], 0);
    while half < 8 {
        halves[half] = 2 * lanes[half / 2] + half as u8 % 2;
        half += 1;
    }
    halves
}

/// Returns bytes that are set in the lanes, of `size` bytes, whose numbers have the bit `bit`.
const fn lanes_with(bit: usize, size: usize) -> [u8; 32] {
    let (mut byte, mut bytes) = (0, [0; 32]);
    while byte < 32 {
        if (byte / size) & bit != 0 {
            bytes[byte] = 255;
        }
        byte += 1;
    }
    bytes
}

/// Returns the 32-bit lanes of `vector` in another order.
///
/// # Safety
/// The processor has AVX2.
#[inline(always)]
unsafe fn permuted(vector: __m256i, lanes: &[u8; 8]) -> __m256i {
    // SAFETY: the caller's promise; the array has the 8 bytes that are read.
    unsafe {
        let lanes = _mm256_cvtepu8_epi32(_mm_loadl_epi64(lanes.as_ptr().cast()));
        _mm256_permutevar8x32_epi32(vector, lanes)
    }
}

/// A vector of 8 keys.
#[derive(Clone, Copy)]
pub(super) struct Words(__m256i);

/// A vector of 4 keys.
#[derive(Clone, Copy)]
pub(super) struct Doubles(__m256i);

impl Doubles {
    /// Returns all bits of the lanes whose key is larger than the key of `other`.
    ///
    /// # Safety
    /// The processor has AVX2.
    #[inline(always)]
    unsafe fn greater(self, other: Self) -> __m256i {
        // SAFETY: the caller's promise. Unsigned keys are ordered as signed keys with another sign bit.
        unsafe {
            let sign = _mm256_set1_epi64x(i64::MIN);
            _mm256_cmpgt_epi64(_mm256_xor_si256(self.0, sign), _mm256_xor_si256(other.0, sign))
        }
    }
}

macro_rules! common {
    ($Name:ident $T:ident $count:literal) => {
        type Key = $T;
        const COUNT: usize = $count;
        const SMALL_SORT_VECTORS: usize = 8;

        #[inline(always)]
        unsafe fn load(from: *const $T) -> Self {
            // SAFETY: the caller's promise.
            unsafe { $Name(_mm256_loadu_si256(from.cast())) }
        }

        #[inline(always)]
        unsafe fn load_first(from: *const $T, count: usize) -> Self {
            let mut keys = [$T::MAX; $count];
            // SAFETY: the caller's promise: `count` keys are readable, and fewer than the array has.
            unsafe {
                std::ptr::copy_nonoverlapping(from, keys.as_mut_ptr(), count);
                Self::load(keys.as_ptr())
            }
        }

        #[inline(always)]
        unsafe fn store(self, to: *mut $T) {
            // SAFETY: the caller's promise.
            unsafe { _mm256_storeu_si256(to.cast(), self.0) }
        }

        #[inline(always)]
        unsafe fn store_first(self, to: *mut $T, count: usize) {
            let mut keys = [0; $count];
            // SAFETY: the caller's promise: `count` keys are writable, and fewer than the array has.
            unsafe {
                self.store(keys.as_mut_ptr());
                std::ptr::copy_nonoverlapping(keys.as_ptr(), to, count);
            }
        }
    };
}

// The functions are inlined into functions for processors with AVX2.
impl Lanes for Words {
    common! { Words u32 8 }

    #[inline(always)]
    unsafe fn splat(key: u32) -> Self {
        // SAFETY: the caller's promise.
        unsafe { Words(_mm256_set1_epi32(key as i32)) }
    }

    #[inline(always)]
    unsafe fn min(self, other: Self) -> Self {
        // SAFETY: the caller's promise.
        unsafe { Words(_mm256_min_epu32(self.0, other.0)) }
    }

    #[inline(always)]
    unsafe fn max(self, other: Self) -> Self {
        // SAFETY: the caller's promise.
        unsafe { Words(_mm256_max_epu32(self.0, other.0)) }
    }

    #[inline(always)]
    unsafe fn exchange_with<const DISTANCE: usize, const BIT: usize>(self, other: Self) -> Self {
        // SAFETY: the caller's promise.
        unsafe {
            let partners = Words(permuted(other.0, const { &partners(DISTANCE) }));
            let lanes = _mm256_loadu_si256(const { &lanes_with(BIT, 4) }.as_ptr().cast());
            Words(_mm256_blendv_epi8(self.min(partners).0, self.max(partners).0, lanes))
        }
    }

    #[inline(always)]
    unsafe fn interleaved(self, other: Self) -> [Self; 2] {
        // SAFETY: the caller's promise.
        unsafe {
            let low = _mm256_unpacklo_epi32(self.0, other.0);
            let high = _mm256_unpackhi_epi32(self.0, other.0);
            [
                Words(_mm256_permute2x128_si256::<0x20>(low, high)),
                Words(_mm256_permute2x128_si256::<0x31>(low, high)),
            ]
        }
    }

    #[inline(always)]
    unsafe fn reversed(self) -> Self {
        // SAFETY: the caller's promise.
        unsafe { Words(permuted(self.0, const { &partners(7) })) }
    }

    #[inline(always)]
    unsafe fn split(self, pivot: Self, low: *mut u32, high: *mut u32) -> usize {
        // SAFETY: the caller's promise. Both stores write the same vector: its first keys stay at `low`, its last keys
        // before `high`.
        unsafe {
            let is_low = _mm256_cmpeq_epi32(self.max(pivot).0, pivot.0);
            let larger = !_mm256_movemask_ps(_mm256_castsi256_ps(is_low)) as usize & 255;
            let ordered = permuted(self.0, &ORDERS[larger]);
            _mm256_storeu_si256(low.cast(), ordered);
            _mm256_storeu_si256(high.sub(8).cast(), ordered);
            8 - larger.count_ones() as usize
        }
    }
}

// As above.
impl Lanes for Doubles {
    common! { Doubles u64 4 }

    #[inline(always)]
    unsafe fn splat(key: u64) -> Self {
        // SAFETY: the caller's promise.
        unsafe { Doubles(_mm256_set1_epi64x(key as i64)) }
    }

    #[inline(always)]
    unsafe fn min(self, other: Self) -> Self {
        // SAFETY: the caller's promise.
        unsafe { Doubles(_mm256_blendv_epi8(self.0, other.0, self.greater(other))) }
    }

    #[inline(always)]
    unsafe fn max(self, other: Self) -> Self {
        // SAFETY: the caller's promise.
        unsafe { Doubles(_mm256_blendv_epi8(other.0, self.0, self.greater(other))) }
    }

    #[inline(always)]
    unsafe fn exchange_with<const DISTANCE: usize, const BIT: usize>(self, other: Self) -> Self {
        // SAFETY: the caller's promise.
        unsafe {
            let partners = Doubles(permuted(other.0, const { &pairs(partners(DISTANCE)) }));
            let lanes = _mm256_loadu_si256(const { &lanes_with(BIT, 8) }.as_ptr().cast());
            Doubles(_mm256_blendv_epi8(self.min(partners).0, self.max(partners).0, lanes))
        }
    }

    #[inline(always)]
    unsafe fn interleaved(self, other: Self) -> [Self; 2] {
        // SAFETY: the caller's promise.
        unsafe {
            let low = _mm256_unpacklo_epi64(self.0, other.0);
            let high = _mm256_unpackhi_epi64(self.0, other.0);
            [
                Doubles(_mm256_permute2x128_si256::<0x20>(low, high)),
                Doubles(_mm256_permute2x128_si256::<0x31>(low, high)),
            ]
        }
    }

    #[inline(always)]
    unsafe fn reversed(self) -> Self {
        // SAFETY: the caller's promise.
        unsafe { Doubles(permuted(self.0, const { &pairs(partners(3)) })) }
    }

    #[inline(always)]
    unsafe fn split(self, pivot: Self, low: *mut u64, high: *mut u64) -> usize {
        // SAFETY: as in `Words::split`.
        unsafe {
            let larger = _mm256_movemask_pd(_mm256_castsi256_pd(self.greater(pivot))) as usize & 15;
            let ordered = permuted(self.0, &PAIR_ORDERS[larger]);
            _mm256_storeu_si256(low.cast(), ordered);
            _mm256_storeu_si256(high.sub(4).cast(), ordered);
            4 - larger.count_ones() as usize
        }
    }
}

/// Sorts keys.
#[target_feature(enable = "avx2,popcnt")]
pub(super) fn sort_u32(keys: &mut [u32]) {
    // SAFETY: the processor has AVX2.
    unsafe { quicksort::<Words, 4>(keys) }
}

/// Sorts keys.
#[target_feature(enable = "avx2,popcnt")]
pub(super) fn sort_u64(keys: &mut [u64]) {
    // SAFETY: the processor has AVX2.
    unsafe { quicksort::<Doubles, 4>(keys) }
}
