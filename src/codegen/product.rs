//! [`MatMul`]: products of matrices, by the `gemm` crate, on the threads of the executable; a vector times a matrix by
//! a loop of our own.

use std::ops::Range;

use super::launch::Lane;
use super::memory::{Memory, broken};
use super::pool::Pool;
use crate::error::Result;
use crate::lower::kernel::BufferIx;
use crate::lower::plan::BufferUse;
use crate::tiles::{Element, Matrix};

/// `out = a · b` for every matrix of a batch; row-major, with either operand transposed.
#[derive(Clone, Debug)]
pub(crate) struct MatMul {
    pub a: BufferIx,
    pub b: BufferIx,
    pub out: BufferIx,
    pub double: bool,
    pub m: usize,
    pub k: usize,
    pub n: usize,
    pub transpose_a: bool,
    pub transpose_b: bool,
    /// Where the matrices of `a`, `b` and `out` start, in matrices.
    pub batch: Vec<[usize; 3]>,
}

impl MatMul {
    fn len(&self, which: usize, matrix: Option<usize>) -> usize {
        let matrices = self.batch.iter().map(|at| at[which] + 1).max().unwrap_or(0);
        matrix.and_then(|matrix| matrix.checked_mul(matrices)).unwrap_or(usize::MAX)
    }

    fn a_len(&self) -> usize {
        self.len(0, self.m.checked_mul(self.k))
    }

    fn b_len(&self) -> usize {
        self.len(1, self.k.checked_mul(self.n))
    }

    fn out_len(&self) -> usize {
        self.len(2, self.m.checked_mul(self.n))
    }
}

/// Rows or columns of a product that one thread computes, fewer at the end. Results do not depend on the cut: the
/// sums over `k` are cut by `k` alone as long as a part has more than 64 rows or columns.
const PANEL: usize = 256;

/// Work, in multiplications, from which several threads are faster than one.
const BREAK_EVEN: usize = 4 << 20;

/// A rectangle of one matrix of the result.
struct Panel {
    matrix: usize,
    rows: Range<usize>,
    columns: Range<usize>,
}

impl MatMul {
    /// Cuts the result by its sizes alone.
    fn panels(&self) -> Vec<Panel> {
        let cut = |size: usize, cut: bool| -> Vec<Range<usize>> {
            let count = if cut { (size / PANEL).max(1) } else { 1 };
            (0..count).map(|i| i * PANEL..if i + 1 == count { size } else { (i + 1) * PANEL }).collect()
        };
        let by_rows = self.m >= 2 * PANEL;
        // The sums of a vector's product are cut by nothing.
        let by_columns = !by_rows && (self.m > 64 || self.m == 1);
        let (rows, columns) = (cut(self.m, by_rows), cut(self.n, by_columns));
        let mut panels = Vec::with_capacity(self.batch.len() * rows.len() * columns.len());
        for matrix in 0..self.batch.len() {
            for rows in &rows {
                for columns in &columns {
                    panels.push(Panel { matrix, rows: rows.clone(), columns: columns.clone() });
                }
            }
        }
        panels
    }

    fn whole(&self) -> impl Iterator<Item = Panel> {
        (0..self.batch.len()).map(|matrix| Panel { matrix, rows: 0..self.m, columns: 0..self.n })
    }

    /// Computes the product; `lanes` as for a launch.
    pub(crate) fn run(&self, memory: &mut Memory<'_>, pool: &Pool, lanes: &mut Vec<Lane>) -> Result<()> {
        for (buffer, len, stored) in
            [(self.a, self.a_len(), false), (self.b, self.b_len(), false), (self.out, self.out_len(), true)]
        {
            let bytes = len.checked_mul(if self.double { 8 } else { 4 }).ok_or_else(|| broken(buffer))?;
            memory.check(&BufferUse { buffer, bytes, stored })?;
        }
        if self.out_len() == 0 {
            return Ok(());
        }
        let addresses = [memory.address(self.a), memory.address(self.b), memory.address(self.out)];
        let run_panel = |panel: &Panel| {
            // SAFETY: the buffers were checked to hold all batches of their matrices, and `out` is not one of the
            // operands, which the program ensures as they are different values that live at once. Panels do not
            // overlap, and `memory` is borrowed until all have run.
            unsafe {
                if self.double {
                    self.run_panel::<f64>(addresses, panel);
                } else {
                    self.run_panel::<f32>(addresses, panel);
                }
            }
        };
        let work = [self.m, self.k, self.n, self.batch.len()];
        let work = work.iter().fold(1usize, |product, size| product.saturating_mul(*size));
        if pool.is_one() || work < BREAK_EVEN {
            self.whole().for_each(|panel| run_panel(&panel));
            return Ok(());
        }
        pool.run(&self.panels(), lanes, &|panel, _, _| {
            run_panel(panel);
            Ok(())
        })?;
        Ok(())
    }

    /// # Safety
    /// The addresses hold the matrices that `self` describes, of elements `T`; `out` does not overlap the operands,
    /// and nothing else touches the panel.
    unsafe fn run_panel<T: One>(&self, addresses: [usize; 3], panel: &Panel) {
        let MatMul { m, k, n, .. } = *self;
        let [a, b, out] = addresses;
        let at = self.batch[panel.matrix];
        let (row, column) = (panel.rows.start, panel.columns.start);
        let (a_row, a_column) = if self.transpose_a { (1, m) } else { (k, 1) };
        let (b_row, b_column) = if self.transpose_b { (1, k) } else { (n, 1) };
        // SAFETY: the caller's; a panel lies within its matrix. A matrix of one row or one column is a vector without
        // gaps, and the result then too.
        unsafe {
            let a = (a as *const T).add(at[0] * m * k + row * a_row);
            let b = (b as *const T).add(at[1] * k * n + column * b_column);
            let out = (out as *mut T).add(at[2] * m * n + row * n + column);
            let aligned = [a, b, out.cast_const()].iter().all(|address| address.is_aligned());
            if (m == 1 || n == 1) && aligned {
                let count = panel.rows.len() * panel.columns.len();
                let (vector, matrix, along, across) =
                    if m == 1 { (a, b, b_row, b_column) } else { (b, a, a_column, a_row) };
                let vector = std::slice::from_raw_parts(vector, k);
                let out = std::slice::from_raw_parts_mut(out, count);
                return T::vector_product(vector, matrix, Matrix { along, across }, out);
            }
            gemm::gemm(
                panel.rows.len(),
                panel.columns.len(),
                k,
                out,
                1,
                n as isize,
                false,
                a,
                a_column as isize,
                a_row as isize,
                b,
                b_column as isize,
                b_row as isize,
                T::ONE,
                T::ONE,
                false,
                false,
                false,
                gemm::Parallelism::None,
            );
        }
    }
}

/// The factor that changes nothing.
trait One: Element + 'static {
    const ONE: Self;
}

impl One for f32 {
    const ONE: f32 = 1.0;
}

impl One for f64 {
    const ONE: f64 = 1.0;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panels_cover_the_result_once() {
        for (m, n) in [(1, 1), (64, 4096), (65, 511), (65, 4097), (512, 3), (1000, 1000), (1023, 70)] {
            let buffer = BufferIx(0);
            let product = MatMul {
                a: buffer,
                b: buffer,
                out: buffer,
                double: false,
                m,
                k: 1,
                n,
                transpose_a: false,
                transpose_b: false,
                batch: vec![[0; 3], [1; 3]],
            };
            let mut seen = vec![0; 2 * m * n];
            for Panel { matrix, rows, columns } in product.panels() {
                assert!(rows.len() > 64 || rows.len() == m, "{rows:?} of {m}");
                assert!(columns.len() > 64 || columns.len() == n, "{columns:?} of {n}");
                for row in rows {
                    columns.clone().for_each(|column| seen[(matrix * m + row) * n + column] += 1);
                }
            }
            assert!(seen.iter().all(|times| *times == 1), "{m} x {n}");
        }
    }
}
