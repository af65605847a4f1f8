//! [`with_wide_vectors`] and [`wide!`]: loops that the compiler vectorizes, with the vectors of the running processor.

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

/// Defines a function that is compiled for AVX2 if the processor has it. The results are the same: no operation
/// changes its rounding.
///
/// In contrast to a closure for [`with_wide_vectors`], the function may be long: the compiler always inlines it.
macro_rules! wide {
    ($(#[$meta:meta])* $visibility:vis fn $name:ident$(<$T:ident: $Bound:path>)?(
        $($argument:ident: $type:ty),* $(,)?
    ) $(-> $result:ty)? $body:block) => {
        $(#[$meta])*
        $visibility fn $name$(<$T: $Bound>)?($($argument: $type),*) $(-> $result)? {
            #[inline(always)]
            fn plain$(<$T: $Bound>)?($($argument: $type),*) $(-> $result)? $body
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            if $crate::tiles::has_avx2() {
                #[target_feature(enable = "avx2")]
                fn wide$(<$T: $Bound>)?($($argument: $type),*) $(-> $result)? {
                    plain($($argument),*)
                }
                // SAFETY: the processor has AVX2.
                return unsafe { wide($($argument),*) };
            }
            plain($($argument),*)
        }
    };
}
pub(crate) use wide;

#[cfg(test)]
mod tests {
    use super::with_wide_vectors;

    wide! {
        fn add_all<T: std::ops::AddAssign>(to: &mut [T], from: Vec<T>) -> usize {
            let count = from.len();
            to.iter_mut().zip(from).for_each(|(to, from)| *to += from);
            count
        }
    }

    #[test]
    fn results_are_those_of_the_function() {
        let mut sums = [1, 2, 3];
        assert_eq!((add_all(&mut sums, vec![4, 5, 6]), sums), (3, [5, 7, 9]));
    }

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
