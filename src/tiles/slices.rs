//! [`SliceMatMul`]: the matmul of two matrices that are given as Rust slices.

use std::ops::Range;

use super::matmul::{Float, Gemm, LeftMatrix, NestedAxes, StridedMatrix};

/// The matmul of two row-major matrices. An operand may hold its matrix transposed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SliceMatMul {
    /// `[m, k, n]`: the rows of the result, the inner size, and the columns of the result.
    pub sizes: [usize; 3],
    /// Whether the left operand is held as `[k, m]` instead of `[m, k]`, and the right operand as `[n, k]` instead of
    /// `[k, n]`.
    pub transposed: [bool; 2],
}

impl SliceMatMul {
    /// Computes some rows of the result. The workspace grows as needed; later calls use it again.
    pub(crate) fn run<T: Float>(
        &self,
        a: &[T],
        b: &[T],
        rows: Range<usize>,
        out: &mut [T],
        workspace: &mut Vec<T>,
    ) {
        let [m, k, n] = self.sizes;
        assert!(rows.start <= rows.end && rows.end <= m, "the rows lie in the result");
        assert!(m.checked_mul(k) == Some(a.len()), "the left operand has m · k elements");
        assert!(k.checked_mul(n) == Some(b.len()), "the right operand has k · n elements");
        assert!(rows.len().checked_mul(n) == Some(out.len()), "`out` has rows.len() · n elements");
        if out.is_empty() {
            return;
        }
        let [(a_row, a_column), (b_row, b_column)] = match self.transposed {
            [false, false] => [(k, 1), (n, 1)],
            [false, true] => [(k, 1), (1, k)],
            [true, false] => [(1, m), (n, 1)],
            [true, true] => [(1, m), (1, k)],
        };
        let a = LeftMatrix {
            start: a.as_ptr(),
            first_row: rows.start,
            rows: NestedAxes::one(m, a_row),
            columns: NestedAxes::one(k, a_column),
        };
        let b = StridedMatrix { start: b.as_ptr(), row: b_row, column: b_column };
        let gemm = Gemm { m: rows.len(), k, n, a, b, packed: None, out: out.as_mut_ptr(), out_row: n };
        let needed = gemm.workspace_len();
        if workspace.len() < needed {
            workspace.resize(needed, T::default());
        }
        // SAFETY: the assertions give the slices the sizes of their matrices, and the strides stay within these sizes.
        // The result and the workspace are borrowed mutably, so that they overlap nothing.
        unsafe { gemm.run(workspace.as_mut_ptr()) }
    }
}

#[cfg(test)]
mod tests {
    use super::SliceMatMul;

    #[test]
    fn rows_of_a_product_are_sums_of_products() {
        let mut workspace = Vec::new();
        for sizes @ [m, k, n] in [[0, 3, 2], [1, 0, 2], [3, 1, 1], [5, 7, 4], [19, 33, 21]] {
            for transposed in [[false, false], [false, true], [true, false], [true, true]] {
                let a: Vec<f64> = (0..m * k).map(|i| (i * 7 % 11) as f64 - 4.0).collect();
                let b: Vec<f64> = (0..k * n).map(|i| (i * 5 % 13) as f64 - 6.0).collect();
                let rows = m / 3..m;
                let mut out = vec![9.0; rows.len() * n];
                SliceMatMul { sizes, transposed }.run(&a, &b, rows.clone(), &mut out, &mut workspace);
                for (i, got) in rows.flat_map(|i| (0..n).map(move |j| (i, j))).zip(out) {
                    let left = |p: usize| if transposed[0] { a[p * m + i.0] } else { a[i.0 * k + p] };
                    let right = |p: usize| if transposed[1] { b[i.1 * k + p] } else { b[p * n + i.1] };
                    let sum: f64 = (0..k).map(|p| left(p) * right(p)).sum();
                    assert_eq!(got, sum, "{sizes:?} {transposed:?} {i:?}");
                }
            }
        }
    }
}
