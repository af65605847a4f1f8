//! Products of a vector and a matrix, which are bound by reading the matrix once.

use super::cpu::has_fma;

/// Where the elements of the matrix are: `element(i, j)` at `i * along + j * across`, one of which is 1; `i` counts
/// along the vector, `j` across the results.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Matrix {
    pub along: usize,
    pub across: usize,
}

/// A float that products are computed in.
pub(crate) trait Element: Copy {
    /// `out[j] = Σ_i vector[i] · matrix(i, j)`. What an element is does not depend on how many others there are.
    ///
    /// # Safety
    /// `matrix` points to as many elements as `at` says for `vector.len()` and `out.len()`.
    unsafe fn vector_product(vector: &[Self], matrix: *const Self, at: Matrix, out: &mut [Self]);
}

/// Rows of the matrix that are read at once where results lie side by side.
const ROWS: usize = 8;
/// Results that stay in the nearest cache while rows are added to them.
const BLOCK: usize = 2048;
/// Sums that a result is collected in where the elements of a sum lie side by side.
const SUMS: usize = 16;
/// Results computed at once there.
const RESULTS: usize = 4;

macro_rules! element {
    ($t:ident, $fused:ident, $plain:ident) => {
        impl Element for $t {
            unsafe fn vector_product(vector: &[$t], matrix: *const $t, at: Matrix, out: &mut [$t]) {
                #[cfg(target_arch = "x86_64")]
                if has_fma() {
                    // SAFETY: the caller's, and the processor has what the function is compiled for.
                    return unsafe { $fused(vector, matrix, at, out) };
                }
                // SAFETY: the caller's.
                unsafe { $plain(vector, matrix, at, out) }
            }
        }

        /// # Safety
        /// As [`Element::vector_product`]; the processor has AVX2 and FMA.
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx2,fma")]
        unsafe fn $fused(vector: &[$t], matrix: *const $t, at: Matrix, out: &mut [$t]) {
            // SAFETY: the caller's.
            unsafe { product(vector, matrix, at, out, 0.0, |a, b, c| $t::mul_add(a, b, c)) }
        }

        /// # Safety
        /// As [`Element::vector_product`].
        unsafe fn $plain(vector: &[$t], matrix: *const $t, at: Matrix, out: &mut [$t]) {
            // SAFETY: the caller's.
            unsafe { product(vector, matrix, at, out, 0.0, |a, b, c| a * b + c) }
        }
    };
}

element!(f32, fused_f32, plain_f32);
element!(f64, fused_f64, plain_f64);

/// # Safety
/// As [`Element::vector_product`].
#[inline(always)]
unsafe fn product<T: Copy + std::ops::Add<Output = T>>(
    vector: &[T],
    matrix: *const T,
    at: Matrix,
    out: &mut [T],
    zero: T,
    mul_add: impl Fn(T, T, T) -> T + Copy,
) {
    // SAFETY: rows lie within the matrix, as the caller promises.
    let row = |i: usize, from: usize, len: usize, step: usize| unsafe {
        std::slice::from_raw_parts(matrix.add(i * step + from), len)
    };
    if at.along != 1 {
        for begin in (0..out.len()).step_by(BLOCK) {
            let end = (begin + BLOCK).min(out.len());
            let out = &mut out[begin..end];
            let len = out.len();
            out.fill(zero);
            let mut i = 0;
            while i + ROWS <= vector.len() {
                let factors: [T; ROWS] = std::array::from_fn(|r| vector[i + r]);
                let rows: [&[T]; ROWS] = std::array::from_fn(|r| row(i + r, begin, len, at.along));
                for j in 0..len {
                    let mut sum = out[j];
                    for r in 0..ROWS {
                        sum = mul_add(factors[r], rows[r][j], sum);
                    }
                    out[j] = sum;
                }
                i += ROWS;
            }
            for (i, &factor) in vector.iter().enumerate().skip(i) {
                for (sum, &element) in out.iter_mut().zip(row(i, begin, len, at.along)) {
                    *sum = mul_add(factor, element, *sum);
                }
            }
        }
        return;
    }
    let (parts, rest) = vector.as_chunks::<SUMS>();
    let mut j = 0;
    while j < out.len() {
        // Fewer results than a group at the end: the last row again, whose sums are not stored.
        let count = RESULTS.min(out.len() - j);
        let rows: [_; RESULTS] = std::array::from_fn(|r| {
            let (parts, rest) = row(j + r.min(count - 1), 0, vector.len(), at.across).as_chunks::<SUMS>();
            (&parts[..vector.len() / SUMS], rest)
        });
        let mut sums = [[zero; SUMS]; RESULTS];
        for (i, part) in parts.iter().enumerate() {
            for r in 0..RESULTS {
                let elements = &rows[r].0[i];
                for s in 0..SUMS {
                    sums[r][s] = mul_add(part[s], elements[s], sums[r][s]);
                }
            }
        }
        for r in 0..count {
            let mut width = SUMS;
            while width > 1 {
                width /= 2;
                for s in 0..width {
                    sums[r][s] = sums[r][s] + sums[r][s + width];
                }
            }
            let rest = rest.iter().zip(rows[r].1);
            out[j + r] = rest.fold(sums[r][0], |sum, (&a, &b)| mul_add(a, b, sum));
        }
        j += count;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(got: f64, want: f64, size: usize) -> bool {
        (got - want).abs() <= 1e-7 * (size as f64 + 1.0)
    }

    #[test]
    fn both_layouts_give_the_product() {
        for along in [0usize, 1, 7, 8, 15, 16, 33, 200] {
            for across in [1usize, 2, 3, 4, 5, 31, 64, 2050] {
                let vector: Vec<f32> = (0..along).map(|i| (i as f32 * 0.618).fract() - 0.5).collect();
                let matrix: Vec<f32> =
                    (0..along * across).map(|i| (i as f32 * 0.414).fract() - 0.5).collect();
                let want: Vec<f64> = (0..across)
                    .map(|j| (0..along).map(|i| vector[i] as f64 * matrix[i * across + j] as f64).sum())
                    .collect();
                let mut turned = vec![0.0f32; along * across];
                for i in 0..along {
                    for j in 0..across {
                        turned[j * along + i] = matrix[i * across + j];
                    }
                }
                for (data, at) in [
                    (&matrix, Matrix { along: across, across: 1 }),
                    (&turned, Matrix { along: 1, across: along }),
                ] {
                    let mut out = vec![f32::NAN; across];
                    // SAFETY: the matrix has `along` by `across` elements.
                    unsafe { f32::vector_product(&vector, data.as_ptr(), at, &mut out) };
                    for (got, want) in out.iter().zip(&want) {
                        assert!(near((*got).into(), *want, along), "{along} x {across} {at:?}: {got} {want}");
                    }
                    let mut plain = vec![f32::NAN; across];
                    // SAFETY: as above.
                    unsafe { plain_f32(&vector, data.as_ptr(), at, &mut plain) };
                    for (got, want) in plain.iter().zip(&want) {
                        assert!(near((*got).into(), *want, along), "{along} x {across} {at:?}: {got} {want}");
                    }
                }
            }
        }
    }
}
