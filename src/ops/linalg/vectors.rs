//! Inner loops over vectors, which are contiguous elements of a matrix.

use super::number::MatrixNumber;
use crate::tiles::wide;

/// The number of partial sums of a dot product, which the processor adds at once.
const SUMS: usize = 16;

/// The length below which a loop takes less time than a call of a function with wide vectors.
const SHORT: usize = 8;

/// Adds `factor · from` to `to`.
#[inline]
pub(super) fn add_scaled<T: MatrixNumber>(to: &mut [T], factor: T, from: &[T]) {
    if to.len() < SHORT { add_multiples(to, factor, from) } else { add_scaled_wide(to, factor, from) }
}

wide! {
    fn add_scaled_wide<T: MatrixNumber>(to: &mut [T], factor: T, from: &[T]) {
        add_multiples(to, factor, from);
    }
}

#[inline(always)]
fn add_multiples<T: MatrixNumber>(to: &mut [T], factor: T, from: &[T]) {
    for (x, y) in to.iter_mut().zip(from) {
        *x += factor * *y;
    }
}

/// Subtracts `Σ factors[i] · rows[i]` from `to`. Row `i` begins at element `i · stride` of `rows`.
#[inline]
pub(super) fn subtract_scaled_rows<T: MatrixNumber>(to: &mut [T], factors: &[T], rows: &[T], stride: usize) {
    if to.len() < SHORT {
        for (i, factor) in factors.iter().enumerate() {
            add_multiples(to, -*factor, &rows[i * stride..][..to.len()]);
        }
    } else {
        subtract_rows_wide(to, factors, rows, stride);
    }
}

wide! {
    fn subtract_rows_wide<T: MatrixNumber>(to: &mut [T], factors: &[T], rows: &[T], stride: usize) {
        // Four rows at once read and write `to` once.
        let (fours, rest) = factors.as_chunks::<4>();
        for (i, [p, q, r, s]) in fours.iter().enumerate() {
            let [a, b, c, d] = [0, 1, 2, 3].map(|k| &rows[(4 * i + k) * stride..][..to.len()]);
            for ((((to, a), b), c), d) in to.iter_mut().zip(a).zip(b).zip(c).zip(d) {
                *to -= (*p * *a + *q * *b) + (*r * *c + *s * *d);
            }
        }
        for (i, factor) in (4 * fours.len()..).zip(rest) {
            add_multiples(to, -*factor, &rows[i * stride..][..to.len()]);
        }
    }
}

/// Returns `Σ a[i] · b[i]` of vectors of one length.
#[inline]
pub(super) fn dot<T: MatrixNumber>(a: &[T], b: &[T]) -> T {
    if a.len() < SUMS { short_sum(a, b, |a, b| a * b) } else { dot_wide(a, b) }
}

wide! {
    fn dot_wide<T: MatrixNumber>(a: &[T], b: &[T]) -> T {
        sum_of(a, b, |a, b| a * b)
    }
}

/// Returns `Σ conj(a[i]) · b[i]` of vectors of one length.
#[inline]
pub(super) fn inner_product<T: MatrixNumber>(a: &[T], b: &[T]) -> T {
    if a.len() < SUMS { short_sum(a, b, |a, b| a.conj() * b) } else { inner_product_wide(a, b) }
}

wide! {
    fn inner_product_wide<T: MatrixNumber>(a: &[T], b: &[T]) -> T {
        sum_of(a, b, |a, b| a.conj() * b)
    }
}

/// Returns `Σ |a[i]|²`.
#[inline]
pub(super) fn square_norm<T: MatrixNumber>(a: &[T]) -> f64 {
    let square = |x: T, _| T::from_real(x.square_magnitude());
    if a.len() < SUMS { short_sum(a, a, square).real() } else { square_norm_wide(a) }
}

wide! {
    fn square_norm_wide<T: MatrixNumber>(a: &[T]) -> f64 {
        sum_of(a, a, |a, _| T::from_real(a.square_magnitude())).real()
    }
}

/// Returns the length of the vector `[x, y]`. No square overflows, and only the square of a negligible part underflows.
#[inline]
pub(super) fn length(x: f64, y: f64) -> f64 {
    let square = x * x + y * y;
    // Squares in this range are as precise as the numbers.
    if (1e-280..1e280).contains(&square) { square.sqrt() } else { x.hypot(y) }
}

/// Returns the sum of `f(a[i], b[i])` for all `i`.
#[inline(always)]
fn sum_of<T: MatrixNumber>(a: &[T], b: &[T], f: impl Fn(T, T) -> T) -> T {
    let (a_chunks, a_rest) = a.as_chunks::<SUMS>();
    let (b_chunks, b_rest) = b.as_chunks::<SUMS>();
    let mut sums = [T::zero(); SUMS];
    for (a, b) in a_chunks.iter().zip(b_chunks) {
        for i in 0..SUMS {
            sums[i] += f(a[i], b[i]);
        }
    }
    sums.into_iter().fold(short_sum(a_rest, b_rest, f), |sum, part| sum + part)
}

/// As [`sum_of`], without partial sums.
#[inline(always)]
fn short_sum<T: MatrixNumber>(a: &[T], b: &[T], f: impl Fn(T, T) -> T) -> T {
    a.iter().zip(b).fold(T::zero(), |sum, (a, b)| sum + f(*a, *b))
}

wide! {
    /// Adds `factor · conj(a[i])` to `to[i]` for all `i`, and returns `Σ a[i] · b[i]`; the vectors have one length.
    pub(super) fn dot_and_add_conjugates<T: MatrixNumber>(a: &[T], b: &[T], factor: T, to: &mut [T]) -> T {
        let (a_chunks, a_rest) = a.as_chunks::<SUMS>();
        let (b_chunks, b_rest) = b.as_chunks::<SUMS>();
        let (to_chunks, to_rest) = to.as_chunks_mut::<SUMS>();
        let mut sum = T::zero();
        for ((a, b), to) in a_rest.iter().zip(b_rest).zip(to_rest) {
            sum += *a * *b;
            *to += factor * a.conj();
        }
        let mut sums = [T::zero(); SUMS];
        for ((a, b), to) in a_chunks.iter().zip(b_chunks).zip(to_chunks) {
            for i in 0..SUMS {
                sums[i] += a[i] * b[i];
                to[i] += factor * a[i].conj();
            }
        }
        sums.into_iter().fold(sum, |sum, part| sum + part)
    }
}

wide! {
    /// Subtracts `x · conj(b[i]) + y · conj(a[i])` from `to[i]` for all `i`.
    pub(super) fn subtract_two_scaled<T: MatrixNumber>(to: &mut [T], x: T, b: &[T], y: T, a: &[T]) {
        for ((to, b), a) in to.iter_mut().zip(b).zip(a) {
            *to -= x * b.conj() + y * a.conj();
        }
    }
}

wide! {
    /// Replaces two vectors by `cos · x - conj(sin) · y` and `sin · x + cos · y`.
    pub(super) fn rotate<T: MatrixNumber>(x: &mut [T], y: &mut [T], cos: f64, sin: T) {
        for (x, y) in x.iter_mut().zip(y) {
            let (a, b) = (*x, *y);
            *x = a.scaled(cos) - sin.conj() * b;
            *y = sin * a + b.scaled(cos);
        }
    }
}

wide! {
    /// Replaces two vectors by `conj(x) · a + conj(y) · b` and `x · b - y · a`.
    pub(super) fn turn<T: MatrixNumber>(a: &mut [T], b: &mut [T], x: T, y: T) {
        for (a, b) in a.iter_mut().zip(b) {
            (*a, *b) = (x.conj() * *a + y.conj() * *b, x * *b - y * *a);
        }
    }
}

/// The rotation of two vectors `x` and `y` into `cos · x - sin · y` and `sin · x + cos · y`.
#[derive(Clone, Copy)]
pub(super) struct Rotation {
    pub(super) cos: f64,
    pub(super) sin: f64,
}

wide! {
    /// Rotates `y` and `z`, then `x` and `y`.
    pub(super) fn rotate_three(
        x: &mut [f64],
        y: &mut [f64],
        z: &mut [f64],
        first: Rotation,
        second: Rotation,
    ) {
        for ((x, y), z) in x.iter_mut().zip(y).zip(z) {
            let between = first.cos * *y - first.sin * *z;
            *z = first.sin * *y + first.cos * *z;
            *y = second.sin * *x + second.cos * between;
            *x = second.cos * *x - second.sin * between;
        }
    }
}
