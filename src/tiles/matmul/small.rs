//! [`SmallMatrices`]: matmuls of many small matrices.

use super::register::Register;

/// The matmuls of a batch: `out = a · b` for small matrices. A matmul with a [`Gemm`](super::Gemm) of its own costs
/// more than the sums of a small matrix.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SmallMatrices<'a, T> {
    pub m: usize,
    pub k: usize,
    /// At most [`SmallMatrices::max_columns`].
    pub n: usize,
    /// For each matmul: the index of its matrix in `a`, in `b` and in `out`. No two matmuls have the same `out`.
    pub batch: &'a [[usize; 3]],
    /// Element `(i, p)` of a matrix is at `i * a_row + p * a_column`. The matrices follow each other without gaps.
    pub a: *const T,
    pub a_row: usize,
    pub a_column: usize,
    /// The matrices are row-major, and follow each other without gaps.
    pub b: *const T,
    /// The matrices are row-major, and follow each other without gaps.
    pub out: *mut T,
}

/// A function that computes the matmuls.
///
/// # Safety
/// As [`SmallMatrices::run`]; the processor has the function's instructions.
pub(super) type SmallFn<T> = unsafe fn(&SmallMatrices<'_, T>);

/// The number of rows whose sums are in registers at once.
const ROWS: usize = 4;

/// Computes the matmuls with vectors `R`.
///
/// # Safety
/// As [`SmallFn`]. A row of the result fits one vector.
#[inline(always)]
pub(super) unsafe fn compute_small<R: Register>(matrices: &SmallMatrices<'_, R::Element>) {
    let SmallMatrices { m, k, n, batch, a, a_row, b, out, .. } = *matrices;
    for [a_matrix, b_matrix, out_matrix] in batch {
        // SAFETY: the caller's promise.
        unsafe {
            let (a, b, out) = (a.add(a_matrix * m * k), b.add(b_matrix * k * n), out.add(out_matrix * m * n));
            let mut row = 0;
            while row < m {
                let (a, out) = (a.wrapping_add(row * a_row), out.add(row * n));
                match m - row {
                    1 => rows::<R, 1>(matrices, a, b, out),
                    2 => rows::<R, 2>(matrices, a, b, out),
                    3 => rows::<R, 3>(matrices, a, b, out),
                    _ => rows::<R, ROWS>(matrices, a, b, out),
                }
                row += ROWS;
            }
        }
    }
}

/// Computes `COUNT` rows of one result. The operands and the result begin at these rows.
///
/// # Safety
/// As [`compute_small`].
#[inline(always)]
unsafe fn rows<R: Register, const COUNT: usize>(
    matrices: &SmallMatrices<'_, R::Element>,
    a: *const R::Element,
    b: *const R::Element,
    out: *mut R::Element,
) {
    let SmallMatrices { k, n, a_row, a_column, .. } = *matrices;
    // SAFETY: the caller's promise.
    unsafe {
        let mut sums = [R::zero(); COUNT];
        for p in 0..k {
            let right = R::load_first(b.add(p * n), n);
            for (i, sum) in sums.iter_mut().enumerate() {
                let left = R::splat(a.wrapping_add(i * a_row + p * a_column));
                *sum = left.mul_add(right, *sum);
            }
        }
        for (i, sum) in sums.into_iter().enumerate() {
            sum.store_first(out.add(i * n), n);
        }
    }
}
