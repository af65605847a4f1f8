//! [`with_wide_vectors`]: runs a loop that the compiler vectorizes, with the vectors of the running processor.

#[cfg(all(target_arch = "x86_64", not(miri)))]
use super::cpu::has_avx2;

/// Calls `f`, compiled for AVX2 if the processor has it. The results are the same: no operation changes its rounding.
///
/// The library itself is compiled for every x86-64 processor, so the compiler vectorizes its loops for SSE2. A loop in
/// `f` gets vectors of 256 bits if the compiler inlines `f` here, which it does for a closure with one caller. The loop
/// is best in an `#[inline(always)]` function of its own: in a closure, the compiler does not know that slices differ.
pub(crate) fn with_wide_vectors<R>(f: impl FnOnce() -> R) -> R {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    if has_avx2() {
        // SAFETY: the processor has AVX2.
        return unsafe { with_avx2(f) };
    }
    f()
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
#[target_feature(enable = "avx2")]
fn with_avx2<R>(f: impl FnOnce() -> R) -> R {
    f()
}

#[cfg(test)]
mod tests {
    use super::with_wide_vectors;

    #[test]
    fn results_are_those_of_the_closure() {
        let numbers: Vec<u32> = (0..1000).collect();
        let mut squares = vec![0; numbers.len()];
        let sum = with_wide_vectors(|| {
            squares.iter_mut().zip(&numbers).for_each(|(square, number)| *square = number * number);
            squares.iter().sum::<u32>()
        });
        assert_eq!(sum, (0..1000).map(|number| number * number).sum::<u32>());
        assert!(squares.iter().zip(0..).all(|(square, number)| *square == number * number));
    }
}
