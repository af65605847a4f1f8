//! [`Register`]: a vector of floats, either a register of a known processor or a plain array.

use std::ops::Add;

/// A vector of floats.
///
/// # Safety
/// Functions may run only on a processor with these vectors. Pointers need no alignment; each function states how many
/// elements it reads or writes.
pub(super) trait Register: Copy {
    type Element: Copy + Add<Output = Self::Element>;
    const LANES: usize;

    unsafe fn zero() -> Self;
    /// Reads `LANES` elements.
    unsafe fn load(from: *const Self::Element) -> Self;
    /// Writes `LANES` elements.
    unsafe fn store(self, to: *mut Self::Element);
    /// Reads the first `count` elements, at most `LANES`. The other lanes are 0.
    unsafe fn load_first(from: *const Self::Element, count: usize) -> Self;
    /// Writes the first `count` elements, at most `LANES`.
    unsafe fn store_first(self, to: *mut Self::Element, count: usize);
    /// Reads one element into every lane.
    unsafe fn splat(from: *const Self::Element) -> Self;
    unsafe fn add(self, other: Self) -> Self;
    /// Returns `self · factor + sum`, rounded once if the processor has fused multiply-adds.
    unsafe fn mul_add(self, factor: Self, sum: Self) -> Self;
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use super::Register;

    /// Returns the mask of the first `count` of 8 lanes.
    #[inline(always)]
    unsafe fn mask_256(count: usize) -> __m256i {
        const LANES: [i32; 16] = [-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0];
        // SAFETY: the caller's promise: `count` is at most 8.
        unsafe { _mm256_loadu_si256(LANES.as_ptr().add(8 - count).cast()) }
    }

    /// Returns the mask of the first `count` of 4 lanes.
    #[inline(always)]
    unsafe fn mask_256_double(count: usize) -> __m256i {
        // SAFETY: the caller's promise: `count` is at most 4.
        unsafe { mask_256(2 * count) }
    }

    /// Returns the mask of the first `count` of 16 lanes.
    #[inline(always)]
    fn mask_512(count: usize) -> __mmask16 {
        ((1u32 << count) - 1) as __mmask16
    }

    /// Returns the mask of the first `count` of 8 lanes.
    #[inline(always)]
    fn mask_512_double(count: usize) -> __mmask8 {
        mask_512(count) as __mmask8
    }

    macro_rules! register {
        (
            $t:ident $element:ident $lanes:literal
            $zero:ident $load:ident $store:ident $set:ident $add:ident $fma:ident
            ($from:ident, $mask:ident) => $masked_load:expr, $masked_store:ident $mask_of:ident
        ) => {
            // SAFETY of every function: the caller's promise.
            impl Register for $t {
                type Element = $element;
                const LANES: usize = $lanes;

                #[inline(always)]
                unsafe fn zero() -> $t {
                    // SAFETY: as above.
                    unsafe { $zero() }
                }

                #[inline(always)]
                unsafe fn load(from: *const $element) -> $t {
                    // SAFETY: as above.
                    unsafe { $load(from) }
                }

                #[inline(always)]
                unsafe fn store(self, to: *mut $element) {
                    // SAFETY: as above.
                    unsafe { $store(to, self) }
                }

                #[inline(always)]
                unsafe fn load_first($from: *const $element, count: usize) -> $t {
                    // SAFETY: as above.
                    unsafe {
                        let $mask = $mask_of(count);
                        $masked_load
                    }
                }

                #[inline(always)]
                unsafe fn store_first(self, to: *mut $element, count: usize) {
                    // SAFETY: as above.
                    unsafe { $masked_store(to, $mask_of(count), self) }
                }

                #[inline(always)]
                unsafe fn splat(from: *const $element) -> $t {
                    // SAFETY: as above.
                    unsafe { $set(from.read_unaligned()) }
                }

                #[inline(always)]
                unsafe fn add(self, other: $t) -> $t {
                    // SAFETY: as above.
                    unsafe { $add(self, other) }
                }

                #[inline(always)]
                unsafe fn mul_add(self, factor: $t, sum: $t) -> $t {
                    // SAFETY: as above.
                    unsafe { $fma(self, factor, sum) }
                }
            }
        };
    }

    register!(
        __m256 f32 8
        _mm256_setzero_ps _mm256_loadu_ps _mm256_storeu_ps _mm256_set1_ps _mm256_add_ps _mm256_fmadd_ps
        (from, mask) => _mm256_maskload_ps(from, mask), _mm256_maskstore_ps mask_256
    );
    register!(
        __m256d f64 4
        _mm256_setzero_pd _mm256_loadu_pd _mm256_storeu_pd _mm256_set1_pd _mm256_add_pd _mm256_fmadd_pd
        (from, mask) => _mm256_maskload_pd(from, mask), _mm256_maskstore_pd mask_256_double
    );
    register!(
        __m512 f32 16
        _mm512_setzero_ps _mm512_loadu_ps _mm512_storeu_ps _mm512_set1_ps _mm512_add_ps _mm512_fmadd_ps
        (from, mask) => _mm512_maskz_loadu_ps(mask, from), _mm512_mask_storeu_ps mask_512
    );
    register!(
        __m512d f64 8
        _mm512_setzero_pd _mm512_loadu_pd _mm512_storeu_pd _mm512_set1_pd _mm512_add_pd _mm512_fmadd_pd
        (from, mask) => _mm512_maskz_loadu_pd(mask, from), _mm512_mask_storeu_pd mask_512_double
    );
}

/// Implements [`Register`] for arrays, which the compiler keeps in the baseline vectors of the target.
macro_rules! plain {
    ($element:ident) => {
        impl<const LANES: usize> Register for [$element; LANES] {
            type Element = $element;
            const LANES: usize = LANES;

            #[inline(always)]
            unsafe fn zero() -> Self {
                [0.0; LANES]
            }

            #[inline(always)]
            unsafe fn load(from: *const $element) -> Self {
                // SAFETY: the caller's promise.
                unsafe { from.cast::<Self>().read_unaligned() }
            }

            #[inline(always)]
            unsafe fn store(self, to: *mut $element) {
                // SAFETY: the caller's promise.
                unsafe { to.cast::<Self>().write_unaligned(self) }
            }

            #[inline(always)]
            unsafe fn load_first(from: *const $element, count: usize) -> Self {
                // SAFETY: the caller's promise.
                std::array::from_fn(|lane| match lane < count {
                    true => unsafe { from.add(lane).read_unaligned() },
                    false => 0.0,
                })
            }

            #[inline(always)]
            unsafe fn store_first(self, to: *mut $element, count: usize) {
                for (lane, element) in self.into_iter().enumerate().take(count) {
                    // SAFETY: the caller's promise.
                    unsafe { to.add(lane).write_unaligned(element) };
                }
            }

            #[inline(always)]
            unsafe fn splat(from: *const $element) -> Self {
                // SAFETY: the caller's promise.
                [unsafe { from.read_unaligned() }; LANES]
            }

            #[inline(always)]
            unsafe fn add(self, other: Self) -> Self {
                std::array::from_fn(|lane| self[lane] + other[lane])
            }

            #[inline(always)]
            unsafe fn mul_add(self, factor: Self, sum: Self) -> Self {
                std::array::from_fn(|lane| match cfg!(target_arch = "aarch64") {
                    true => self[lane].mul_add(factor[lane], sum[lane]),
                    false => self[lane] * factor[lane] + sum[lane],
                })
            }
        }
    };
}

plain!(f32);
plain!(f64);
