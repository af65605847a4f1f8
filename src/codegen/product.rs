//! [`MatMul`]: products of matrices on the threads of the executable.

use std::ops::Range;
use std::sync::Arc;

use super::launch::Lane;
use super::memory::{Memory, broken};
use super::panels::Panels;
use super::pool::Pool;
use crate::error::Result;
use crate::lower::kernel::BufferIx;
use crate::lower::plan::BufferUse;
use crate::tiles::{Float, Gemm, Gemv, MatrixStrides, StridedMatrix};

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
    /// The matrices of `b` as they are read, where these were packed ahead.
    pub panels: Option<Arc<Panels>>,
}

impl MatMul {
    /// The same product of fewer matrices, where they can be the rows of one: right next to each other, and times
    /// the same matrix.
    pub(crate) fn merged(mut self) -> MatMul {
        let Some(&[_, right, _]) = self.batch.first() else { return self };
        let are_rows = self.batch.iter().enumerate().all(|(number, at)| *at == [number, right, number]);
        if let Some(m) = self.m.checked_mul(self.batch.len())
            && are_rows
            && !self.transpose_a
        {
            self.m = m;
            self.batch.truncate(1);
        }
        self
    }

    /// Elements from a row and from a column of a matrix of `b` to the next.
    pub(super) fn right_strides(&self) -> (usize, usize) {
        if self.transpose_b { (1, self.k) } else { (self.n, 1) }
    }

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

/// Columns of a part are a multiple of these, so that it begins where a packed panel does, and on a line of its own.
const COLUMNS: usize = 64;

/// Work of a part, in multiplications, from which it is cut in two: the threads may not be equally fast.
const LONG: usize = 1 << 30;

/// Matrices for each thread from which on none is cut.
const MATRICES: usize = 4;

/// Work, in multiplications, from which several threads are faster than one.
const BREAK_EVEN: usize = 12 << 20;

/// A rectangle of one matrix of the result.
struct Panel {
    matrix: usize,
    rows: Range<usize>,
    columns: Range<usize>,
}

impl MatMul {
    /// Cuts the result for so many threads, on which its elements do not depend: each is a sum over `k`.
    fn panels(&self, threads: usize) -> Vec<Panel> {
        let (rows, columns) = self.part(threads);
        let cut = |size: usize, each: usize| {
            (0..size).step_by(each).map(move |at| at..size.min(at.saturating_add(each)))
        };
        let mut panels = Vec::new();
        for matrix in 0..self.batch.len() {
            for rows in cut(self.m, rows) {
                let part = |columns| Panel { matrix, rows: rows.clone(), columns };
                panels.extend(cut(self.n, columns).map(part));
            }
        }
        panels
    }

    /// The most rows and columns of a part. A thread packs those of the operands by itself, so that few large parts are
    /// faster than many, and those without a side much longer than the other.
    fn part(&self, threads: usize) -> (usize, usize) {
        let MatMul { m, k, n, .. } = *self;
        if self.batch.len() / MATRICES >= threads {
            return (m, n);
        }
        let long = m.saturating_mul(n).saturating_mul(k) / threads > LONG;
        let parts = if long { 2 * threads } else { threads };
        let sides = (1..=parts).map(|across| {
            (m.div_ceil(parts.div_ceil(across)), n.div_ceil(across).next_multiple_of(COLUMNS).min(n))
        });
        sides.min_by_key(|(rows, columns)| rows.saturating_add(*columns)).unwrap_or((m, n))
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
        let run_panel = |panel: &Panel, lane: &mut Lane| {
            // SAFETY: the buffers were checked to hold all batches of their matrices, and `out` is not one of the
            // operands, which the program ensures as they are different values that live at once. Panels do not
            // overlap, and `memory` is borrowed until all have run.
            unsafe {
                if self.double {
                    self.run_panel::<f64>(addresses, panel, lane)
                } else {
                    self.run_panel::<f32>(addresses, panel, lane)
                }
            }
        };
        let work = [self.m, self.k, self.n, self.batch.len()];
        let work = work.iter().fold(1usize, |product, size| product.saturating_mul(*size));
        if pool.is_one() || work < BREAK_EVEN {
            if lanes.is_empty() {
                lanes.push(Lane::default());
            }
            return self.whole().try_for_each(|panel| run_panel(&panel, &mut lanes[0]));
        }
        pool.run(&self.panels(pool.threads()), lanes, &|panel, lane, _| run_panel(panel, lane))?;
        Ok(())
    }

    /// # Safety
    /// The addresses hold the matrices that `self` describes, of elements `T`; `out` does not overlap the operands,
    /// and nothing else touches the panel.
    unsafe fn run_panel<T: Gemv + Float>(
        &self,
        addresses: [usize; 3],
        panel: &Panel,
        lane: &mut Lane,
    ) -> Result<()> {
        let MatMul { m, k, n, .. } = *self;
        let [a, b, out] = addresses;
        let at = self.batch[panel.matrix];
        let (row, column) = (panel.rows.start, panel.columns.start);
        let (a_row, a_column) = if self.transpose_a { (1, m) } else { (k, 1) };
        let (b_row, b_column) = self.right_strides();
        // SAFETY: the caller's; a panel lies within its matrix, and was cut where a packed one begins. A matrix of one row or one column is a vector without
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
                T::gemv(vector, matrix, MatrixStrides { along, across }, out);
                return Ok(());
            }
            let gemm = Gemm {
                m: panel.rows.len(),
                k,
                n: panel.columns.len(),
                a: StridedMatrix { start: a, row: a_row, column: a_column },
                b: StridedMatrix { start: b, row: b_row, column: b_column },
                packed: self.panels.as_ref().map(|panels| panels.matrix(at[1], n).from(column)),
                out,
                out_row: n,
            };
            let bytes = gemm.workspace_len().saturating_mul(size_of::<T>());
            gemm.run(lane.scratch(bytes)? as *mut T);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn product(m: usize, n: usize, batch: &[[usize; 3]]) -> MatMul {
        let buffer = BufferIx(0);
        MatMul {
            a: buffer,
            b: buffer,
            out: buffer,
            double: false,
            m,
            k: 1,
            n,
            transpose_a: false,
            transpose_b: false,
            batch: batch.to_vec(),
            panels: None,
        }
    }

    #[test]
    fn matrices_times_one_are_the_rows_of_one() {
        let merged = |batch: &[[usize; 3]]| {
            let MatMul { m, batch, .. } = product(4, 5, batch).merged();
            (m, batch)
        };
        assert_eq!(merged(&[[0, 0, 0], [1, 0, 1], [2, 0, 2]]), (12, vec![[0; 3]]));
        for batch in [&[][..], &[[0, 0, 0], [1, 1, 1]], &[[0, 0, 0], [0, 0, 1]], &[[0, 0, 0], [2, 0, 1]]] {
            assert_eq!(merged(batch), (4, batch.to_vec()));
        }
        let turned = MatMul { transpose_a: true, ..product(4, 5, &[[0, 0, 0], [1, 0, 1]]) };
        assert_eq!(turned.merged().m, 4);
    }

    #[test]
    fn panels_cover_the_result_once() {
        for (m, n) in [(1, 1), (64, 4096), (65, 511), (65, 4097), (512, 3), (1000, 1000), (1023, 70)] {
            let product = product(m, n, &[[0; 3], [1; 3]]);
            let mut seen = vec![0; 2 * m * n];
            for threads in [1, 2, 3, 8, 100] {
                seen.fill(0);
                for Panel { matrix, rows, columns } in product.panels(threads) {
                    for row in rows {
                        columns.clone().for_each(|column| seen[(matrix * m + row) * n + column] += 1);
                    }
                }
                assert!(seen.iter().all(|times| *times == 1), "{m} x {n} on {threads}");
            }
        }
    }
}
