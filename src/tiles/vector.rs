//! [`Gemv`]: the product of a vector and a matrix. The product takes about the time of one read of the matrix from
//! memory.

use super::cpu::has_fma;

/// The strides of a matrix: element `(i, j)` is at `i * along + j * across`. `i` indexes the vector, `j` the result.
/// One of the two strides is 1.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MatrixStrides {
    pub along: usize,
    pub across: usize,
}

/// A float type that a vector and a matrix can be multiplied in.
pub(crate) trait Gemv: Copy {
    /// Computes `out[j] = Σ_i vector[i] · matrix(i, j)`. The value of `out[j]` does not depend on `out.len()`.
    ///
    /// # Safety
    /// All elements of the `vector.len() × out.len()` matrix with these strides are readable at `matrix`, which is
    /// aligned for its elements.
    unsafe fn gemv(vector: &[Self], matrix: *const Self, strides: MatrixStrides, out: &mut [Self]);
}

/// Matrix rows that are read at once, if `across == 1`.
const ROWS: usize = 8;
/// Results that stay in the L1 cache while rows are added to them, if `across == 1`.
const BLOCK: usize = 2048;
/// Partial sums of one result, if `along == 1`.
const SUMS: usize = 16;
/// Results that are computed at once, if `along == 1`.
const RESULTS: usize = 4;

macro_rules! impl_gemv {
    ($t:ident, $fused:ident, $plain:ident) => {
        impl Gemv for $t {
            unsafe fn gemv(vector: &[$t], matrix: *const $t, strides: MatrixStrides, out: &mut [$t]) {
                #[cfg(target_arch = "x86_64")]
                if has_fma() {
                    // SAFETY: the caller's promise; the processor has AVX2 and FMA.
                    return unsafe { $fused(vector, matrix, strides, out) };
                }
                // SAFETY: the caller's promise.
                unsafe { $plain(vector, matrix, strides, out) }
            }
        }

        /// # Safety
        /// As [`Gemv::gemv`]; the processor has AVX2 and FMA.
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx2,fma")]
        unsafe fn $fused(vector: &[$t], matrix: *const $t, strides: MatrixStrides, out: &mut [$t]) {
            // SAFETY: the caller's promise.
            unsafe { gemv(vector, matrix, strides, out, 0.0, |a, b, c| $t::mul_add(a, b, c)) }
        }

        /// # Safety
        /// As [`Gemv::gemv`].
        unsafe fn $plain(vector: &[$t], matrix: *const $t, strides: MatrixStrides, out: &mut [$t]) {
            // SAFETY: the caller's promise.
            unsafe { gemv(vector, matrix, strides, out, 0.0, |a, b, c| a * b + c) }
        }
    };
}

impl_gemv!(f32, fused_f32, plain_f32);
impl_gemv!(f64, fused_f64, plain_f64);

/// Implements [`Gemv::gemv`] with `mul_add(a, b, c)`, which returns `a · b + c`.
///
/// # Safety
/// As [`Gemv::gemv`].
#[inline(always)]
unsafe fn gemv<T: Copy + std::ops::Add<Output = T>>(
    vector: &[T],
    matrix: *const T,
    strides: MatrixStrides,
    out: &mut [T],
    zero: T,
    mul_add: impl Fn(T, T, T) -> T + Copy,
) {
    // SAFETY: the row lies in the matrix, as the caller promises.
    let row = |i: usize, from: usize, len: usize, step: usize| unsafe {
        std::slice::from_raw_parts(matrix.add(i * step + from), len)
    };
    if strides.along != 1 {
        for begin in (0..out.len()).step_by(BLOCK) {
            let end = (begin + BLOCK).min(out.len());
            let out = &mut out[begin..end];
            let len = out.len();
            out.fill(zero);
            let mut i = 0;
            while i + ROWS <= vector.len() {
                let factors: [T; ROWS] = std::array::from_fn(|r| vector[i + r]);
                let rows: [&[T]; ROWS] = std::array::from_fn(|r| row(i + r, begin, len, strides.along));
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
                for (sum, &element) in out.iter_mut().zip(row(i, begin, len, strides.along)) {
                    *sum = mul_add(factor, element, *sum);
                }
            }
        }
        return;
    }
    let (parts, rest) = vector.as_chunks::<SUMS>();
    let mut j = 0;
    while j < out.len() {
        // The last group may have fewer results. The last group then repeats the last row and does not store the
        // repeated sums.
        let count = RESULTS.min(out.len() - j);
        let rows: [_; RESULTS] = std::array::from_fn(|r| {
            let (parts, rest) =
                row(j + r.min(count - 1), 0, vector.len(), strides.across).as_chunks::<SUMS>();
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
    fn both_layouts_match_a_naive_sum() {
        for len in [0usize, 1, 7, 8, 15, 16, 33, 200] {
            for results in [1usize, 2, 3, 4, 5, 31, 64, 2050] {
                let vector: Vec<f32> = (0..len).map(|i| (i as f32 * 0.618).fract() - 0.5).collect();
                let matrix: Vec<f32> = (0..len * results).map(|i| (i as f32 * 0.414).fract() - 0.5).collect();
                let want: Vec<f64> = (0..results)
                    .map(|j| (0..len).map(|i| vector[i] as f64 * matrix[i * results + j] as f64).sum())
                    .collect();
                let mut transposed = vec![0.0f32; len * results];
                for i in 0..len {
                    for j in 0..results {
                        transposed[j * len + i] = matrix[i * results + j];
                    }
                }
                for (data, strides) in [
                    (&matrix, MatrixStrides { along: results, across: 1 }),
                    (&transposed, MatrixStrides { along: 1, across: len }),
                ] {
                    let mut out = vec![f32::NAN; results];
                    // SAFETY: the matrix has `len × results` elements.
                    unsafe { f32::gemv(&vector, data.as_ptr(), strides, &mut out) };
                    for (got, want) in out.iter().zip(&want) {
                        assert!(
                            near((*got).into(), *want, len),
                            "{len} x {results} {strides:?}: {got} {want}"
                        );
                    }
                    let mut plain = vec![f32::NAN; results];
                    // SAFETY: as above.
                    unsafe { plain_f32(&vector, data.as_ptr(), strides, &mut plain) };
                    for (got, want) in plain.iter().zip(&want) {
                        assert!(
                            near((*got).into(), *want, len),
                            "{len} x {results} {strides:?}: {got} {want}"
                        );
                    }
                }
            }
        }
    }
}
