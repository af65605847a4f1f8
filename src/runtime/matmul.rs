//! [`MatMul`]: batched matmuls and convolutions, cut into tiles for the threads of the executable.

use std::sync::Arc;

use smallvec::SmallVec;

use super::memory::Memory;
use super::output_tiles::{MatMulSizes, OutputTile};
use super::packed_operand::{PackedOperand, RightMatrices};
use super::thread_pool::Pool;
use super::workspace::{Workspace, first_workspace};
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::lower::kernel::BufferIx;
use crate::lower::plan::BufferUse;
use crate::op::{Cancel, ContractionSpec};
use crate::tiles::{Float, Gemm, Gemv, LeftMatrix, MatrixStrides, NestedAxes, SmallMatrices, StridedMatrix};

/// A planned matmul: `out = a · b` for every matrix of a batch. `b` and `out` are row-major, and `b` may be transposed.
/// The rows of `a` may be windows of images or volumes, which overlap in memory.
#[derive(Clone, Debug)]
pub(crate) struct MatMul {
    pub a: BufferIx,
    pub b: BufferIx,
    pub out: BufferIx,
    /// Whether the elements are `f64`; otherwise they are `f32`.
    pub double: bool,
    /// The number of rows of a matrix of `a` and of `out`.
    pub m: usize,
    /// The number of columns of a matrix of `a`, and of rows of a matrix of `b`.
    pub k: usize,
    /// The number of columns of a matrix of `b` and of `out`.
    pub n: usize,
    /// The offsets of the rows of a matrix of `a`.
    pub rows: NestedAxes,
    /// The offsets of the columns of a matrix of `a`.
    pub columns: NestedAxes,
    pub transpose_b: bool,
    /// For each matmul of the batch: the index of its matrix in `a`, in `b` and in `out`.
    pub batch: Vec<[usize; 3]>,
    /// The matrices of `b`, if they were packed ahead of the run.
    pub packed: Option<Arc<PackedOperand>>,
}

/// The numbers of rows of a left matrix for which packing the right matrix ahead of the run pays. With fewer rows, the
/// kernel reads the unpacked matrix as fast. With more rows, packing the right matrix in each run takes a small part of
/// the time.
const PACKED_ROWS: std::ops::RangeInclusive<usize> = 3..=512;

impl MatMul {
    /// Plans the matmul of buffers with these sizes. The batch axes of `a` and `b` broadcast to the batch axes of
    /// `out`.
    pub(crate) fn new([a, b, out]: [(BufferIx, &[usize]); 3], spec: ContractionSpec, double: bool) -> MatMul {
        let (transpose_a, transpose_b) = match spec {
            ContractionSpec::Matrices { transpose_a, transpose_b } => (transpose_a, transpose_b),
            ContractionSpec::Windows { strides, dilations } => {
                return MatMul::of_windows([a, b, out], &strides, &dilations, double);
            }
        };
        let last_two = |sizes: &[usize], transposed: bool| {
            let (rows, columns) = (sizes[sizes.len() - 2], sizes[sizes.len() - 1]);
            if transposed { (columns, rows) } else { (rows, columns) }
        };
        let (m, k) = last_two(a.1, transpose_a);
        let (_, n) = last_two(b.1, transpose_b);
        let batch_sizes = &out.1[..out.1.len() - 2];
        let matrix_index = |sizes: &[usize], position: &[usize]| {
            let axes = &sizes[..sizes.len() - 2];
            let skipped = position.len() - axes.len();
            axes.iter()
                .zip(&position[skipped..])
                .fold(0, |index, (&size, &axis)| index * size + if size == 1 { 0 } else { axis })
        };
        let count: usize = batch_sizes.iter().product();
        let mut batch = Vec::with_capacity(count);
        let mut position: SmallVec<[usize; 4]> = SmallVec::from_elem(0, batch_sizes.len());
        for number in 0..count {
            batch.push([matrix_index(a.1, &position), matrix_index(b.1, &position), number]);
            for axis in (0..position.len()).rev() {
                position[axis] += 1;
                if position[axis] < batch_sizes[axis] {
                    break;
                }
                position[axis] = 0;
            }
        }
        let (row, column) = if transpose_a { (1, m) } else { (k, 1) };
        let (rows, columns) = (NestedAxes::one(m, row), NestedAxes::one(k, column));
        let (a, b, out) = (a.0, b.0, out.0);
        MatMul { a, b, out, double, m, k, n, rows, columns, transpose_b, batch, packed: None }.merged()
    }

    /// Plans the matmul of the windows of images or volumes with filters. `strides` and `dilations` have one entry for
    /// each spatial axis.
    fn of_windows(
        [a, b, out]: [(BufferIx, &[usize]); 3],
        strides: &[usize],
        dilations: &[usize],
        double: bool,
    ) -> MatMul {
        let [_, extents @ .., channels] = a.1 else { panic!("images have channels, got {:?}", a.1) };
        let [window @ .., _, n] = b.1 else { panic!("filters have channels, got {:?}", b.1) };
        let [count, positions @ .., _] = out.1 else { panic!("images have channels, got {:?}", out.1) };
        let ranks = [extents, window, positions, dilations].map(<[usize]>::len);
        assert!(ranks == [strides.len(); 4], "windows have one entry for each spatial axis, got {ranks:?}");
        // The distance between neighbors along each spatial axis, and between images, in elements.
        let mut distances: SmallVec<[usize; 3]> = SmallVec::from_elem(0, extents.len());
        let mut image = *channels;
        for (distance, extent) in distances.iter_mut().zip(extents).rev() {
            *distance = image;
            image = image.saturating_mul(*extent);
        }
        let spatial = |sizes: &[usize], steps: &[usize]| -> SmallVec<[(usize, usize); 3]> {
            let axes = sizes.iter().zip(steps).zip(&distances);
            axes.map(|((size, step), distance)| (*size, step.saturating_mul(*distance))).collect()
        };
        let rows = NestedAxes::new([(*count, image)].into_iter().chain(spatial(positions, strides)));
        let columns = NestedAxes::new(spatial(window, dilations).into_iter().chain([(*channels, 1)]));
        let (m, k, n, batch) = (rows.len(), columns.len(), *n, vec![[0; 3]]);
        let (a, b, out) = (a.0, b.0, out.0);
        MatMul { a, b, out, double, m, k, n, rows, columns, transpose_b: false, batch, packed: None }
    }

    /// Merges the batch into one matmul if the matrices of `a` are adjacent and all of them are multiplied by the same
    /// matrix: the rows of these matrices are then the rows of one matrix.
    fn merged(mut self) -> MatMul {
        let Some(&[_, right, _]) = self.batch.first() else { return self };
        let are_rows =
            self.batch.iter().enumerate().all(|(number, indices)| *indices == [number, right, number]);
        if let Some(m) = self.m.checked_mul(self.batch.len())
            && are_rows
            && self.rows == NestedAxes::one(self.m, self.k)
        {
            self.m = m;
            self.rows = NestedAxes::one(m, self.k);
            self.batch.truncate(1);
        }
        self
    }

    /// Returns the matrices of `b`.
    pub(crate) fn right_matrices(&self) -> RightMatrices {
        let (transposed, run) = (self.transpose_b, self.columns.run());
        RightMatrices { k: self.k, n: self.n, run, transposed, double: self.double }
    }

    /// Returns whether the matmul is faster with `b` packed ahead.
    pub(crate) fn is_worth_packing(&self) -> bool {
        PACKED_ROWS.contains(&self.m) && self.n > 1 && !self.is_of_small_matrices()
    }

    /// Returns the number of bytes that `a`, `b` or `out` (`operand` 0, 1 or 2) must have; `None` if no memory can have
    /// that number of bytes.
    fn bytes(&self, operand: usize) -> Option<usize> {
        let MatMul { m, k, n, .. } = *self;
        let elements = [self.left_len()?, k.checked_mul(n)?, m.checked_mul(n)?][operand];
        let matrices = self.batch.iter().map(|indices| indices[operand] + 1).max().unwrap_or(0);
        let size = if self.double { 8 } else { 4 };
        elements.checked_mul(matrices)?.checked_mul(size)
    }

    /// Returns the number of elements from the first to the last element of a matrix of `a`; `None` if no memory can
    /// have that number of elements.
    fn left_len(&self) -> Option<usize> {
        match (self.rows.last_offset(), self.columns.last_offset()) {
            (Some(row), Some(column)) => row.checked_add(column)?.checked_add(1),
            // There are no rows or no columns.
            _ => Some(0),
        }
    }
}

/// The number of multiplications of a tile in a run with a cancellation token. A thread takes some milliseconds for
/// such a tile.
const CANCELLABLE_TILE: usize = 64 << 20;

/// The maximum number of tiles into which a run with a token cuts a matmul.
const MAX_CUTS: usize = 1024;

/// The greatest number of rows and columns of a small matrix.
const MAX_SMALL: usize = 16;

/// The number of multiplications of a part of a batch of small matrices: a thread computes it, and a run may end after
/// it.
const SMALL_TILE: usize = 1 << 20;

/// The number of multiplications from which several threads are faster than one.
const BREAK_EVEN: usize = 12 << 20;

impl MatMul {
    fn sizes(&self) -> MatMulSizes {
        MatMulSizes { batch: self.batch.len(), m: self.m, k: self.k, n: self.n }
    }

    /// Computes all matrices of the result.
    ///
    /// # Errors
    /// A buffer does not fit the plan, memory for a thread is refused, or the run is cancelled.
    pub(crate) fn run(
        &self,
        memory: &mut Memory<'_>,
        pool: &Pool,
        workspaces: &mut Vec<Workspace>,
        cancel: Cancel<'_>,
    ) -> Result<()> {
        for (operand, buffer) in [self.a, self.b, self.out].into_iter().enumerate() {
            let bytes = self.bytes(operand).ok_or_else(|| too_large(self))?;
            memory.check(&BufferUse { buffer, bytes, stored: operand == 2 })?;
        }
        let elements = self.m.saturating_mul(self.n).saturating_mul(self.batch.len());
        if elements == 0 {
            return Ok(());
        }
        let addresses = [memory.address(self.a), memory.address(self.b), memory.address(self.out)];
        let run_tile = |tile: &OutputTile, workspace: &mut Workspace| {
            cancel.check()?;
            // SAFETY: the buffers were checked to hold all matrices of the batch. `out` is neither operand: a plan
            // gives no two values the same memory while both are in use. Tiles do not overlap, and `memory` is borrowed
            // exclusively until all tiles have run.
            unsafe {
                match self.double {
                    true => self.run_tile::<f64>(addresses, tile, workspace),
                    false => self.run_tile::<f32>(addresses, tile, workspace),
                }
            }
        };
        let work = elements.saturating_mul(self.k);
        if self.is_of_small_matrices() {
            return self.run_small(addresses, work, pool, workspaces, cancel);
        }
        // With a token, even one thread cuts a large matmul, so that the run can end between two tiles.
        let cuts = if cancel.has_token() { (work / CANCELLABLE_TILE).min(MAX_CUTS) } else { 0 };
        if (pool.is_single_thread() || work < BREAK_EVEN) && cuts <= 1 {
            let workspace = first_workspace(workspaces);
            return self.sizes().whole_matrices().try_for_each(|tile| run_tile(&tile, workspace));
        }
        pool.run(&self.sizes().tiles(pool.threads().max(cuts)), workspaces, &|tile, workspace, _| {
            run_tile(tile, workspace)
        })?;
        Ok(())
    }

    /// Returns whether one loop computes all matmuls of the batch, with the same results as the tiles.
    fn is_of_small_matrices(&self) -> bool {
        let columns = match self.double {
            true => SmallMatrices::<f64>::max_columns(),
            false => SmallMatrices::<f32>::max_columns(),
        };
        let is_small = self.m <= MAX_SMALL && self.k <= MAX_SMALL && self.n <= columns.min(MAX_SMALL);
        // A matrix of one row or of one column is a vector, which `gemv` multiplies.
        let are_matrices = self.m > 1 && self.n > 1 && self.batch.len() > 1;
        is_small && are_matrices && !self.transpose_b && self.packed.is_none()
    }

    /// Computes the matmuls of a batch of small matrices.
    ///
    /// # Errors
    /// The run is cancelled.
    fn run_small(
        &self,
        [a, b, out]: [usize; 3],
        work: usize,
        pool: &Pool,
        workspaces: &mut Vec<Workspace>,
        cancel: Cancel<'_>,
    ) -> Result<()> {
        let MatMul { m, k, n, rows, columns, .. } = *self;
        let run = |batch: &[[usize; 3]]| {
            cancel.check()?;
            macro_rules! run {
                ($t:ident) => {{
                    let (a, b, out) = (a as *const $t, b as *const $t, out as *mut $t);
                    let (a_row, a_column) = (rows.stride(), columns.stride());
                    // SAFETY: as for the tiles in `run`. No two matmuls of the batch write the same matrix.
                    unsafe { SmallMatrices { m, k, n, batch, a, a_row, a_column, b, out }.run() }
                }};
            }
            match self.double {
                true => run!(f64),
                false => run!(f32),
            }
            Ok(())
        };
        let cut = (SMALL_TILE / (m * k * n).max(1)).max(1);
        let batches: Vec<&[[usize; 3]]> = self.batch.chunks(cut).collect();
        if pool.is_single_thread() || work < BREAK_EVEN {
            return batches.into_iter().try_for_each(run);
        }
        pool.run(&batches, workspaces, &|batch, _, _| run(batch))?;
        Ok(())
    }

    /// Computes one tile.
    ///
    /// # Safety
    /// The addresses hold the matrices that `self` describes, with elements `T`. `out` does not overlap the operands,
    /// and nothing else accesses the tile.
    unsafe fn run_tile<T: Gemv + Float>(
        &self,
        addresses: [usize; 3],
        tile: &OutputTile,
        workspace: &mut Workspace,
    ) -> Result<()> {
        let MatMul { m, k, n, .. } = *self;
        let [a, b, out] = addresses;
        let [a_matrix, b_matrix, out_matrix] = self.batch[tile.batch_index];
        let (row, column) = (tile.rows.start, tile.columns.start);
        let (b_row, b_column) = self.right_matrices().strides();
        let MatMul { rows, columns, .. } = *self;
        // SAFETY: the caller's promise. A tile lies within its matrix and starts where packed columns start. A matrix
        // of one row or one column is a vector without gaps, and then the tile of `out` is a vector without gaps too.
        unsafe {
            // The matrices of a batch of more than one matmul have no gaps.
            let start = (a as *const T).add(a_matrix * m * k);
            let a = LeftMatrix { start, first_row: row, rows, columns };
            let b = (b as *const T).add(b_matrix * k * n + column * b_column);
            let out = (out as *mut T).add(out_matrix * m * n + row * n + column);
            let aligned = [start, b, out.cast_const()].iter().all(|address| address.is_aligned());
            let is_vector = columns.run() == k && columns.stride() == 1;
            if m == 1 && is_vector && aligned {
                let vector = std::slice::from_raw_parts(a.address(0, 0), k);
                let out = std::slice::from_raw_parts_mut(out, tile.columns.len());
                T::gemv(vector, b, MatrixStrides { along: b_row, across: b_column }, out);
                return Ok(());
            }
            if n == 1 && columns.run() == k && (columns.stride() == 1 || rows.stride() == 1) && aligned {
                let strides = MatrixStrides { along: columns.stride(), across: rows.stride() };
                let vector = std::slice::from_raw_parts(b, k);
                let mut row = 0;
                while row < tile.rows.len() {
                    let count = a.rows_in_run(row).min(tile.rows.len() - row);
                    let out = std::slice::from_raw_parts_mut(out.add(row), count);
                    T::gemv(vector, a.address(row, 0), strides, out);
                    row += count;
                }
                return Ok(());
            }
            let gemm = Gemm {
                m: tile.rows.len(),
                k,
                n: tile.columns.len(),
                a,
                b: StridedMatrix { start: b, row: b_row, column: b_column },
                packed: self.packed.as_ref().map(|packed| packed.matrix(b_matrix, n).from(column)),
                out,
                out_row: n,
            };
            let bytes = gemm.workspace_len().saturating_mul(size_of::<T>());
            gemm.run(workspace.scratch(bytes)? as *mut T);
        }
        Ok(())
    }
}

#[cold]
fn too_large(matmul: &MatMul) -> Error {
    let MatMul { m, k, n, .. } = *matmul;
    let message = format!("the product of [{m}, {k}] and [{k}, {n}] has more bytes than memory can have");
    Error::new(ErrorKind::Memory, Phase::Run, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matmul(m: usize, n: usize, batch: &[[usize; 3]]) -> MatMul {
        let buffer = BufferIx(0);
        MatMul {
            a: buffer,
            b: buffer,
            out: buffer,
            double: false,
            m,
            k: 1,
            n,
            rows: NestedAxes::one(m, 1),
            columns: NestedAxes::one(1, 1),
            transpose_b: false,
            batch: batch.to_vec(),
            packed: None,
        }
    }

    #[test]
    fn matrices_times_one_matrix_become_rows_of_one_matrix() {
        let merged = |batch: &[[usize; 3]]| {
            let MatMul { m, batch, .. } = matmul(4, 5, batch).merged();
            (m, batch)
        };
        assert_eq!(merged(&[[0, 0, 0], [1, 0, 1], [2, 0, 2]]), (12, vec![[0; 3]]));
        for batch in [&[][..], &[[0, 0, 0], [1, 1, 1]], &[[0, 0, 0], [0, 0, 1]], &[[0, 0, 0], [2, 0, 1]]] {
            assert_eq!(merged(batch), (4, batch.to_vec()));
        }
        let rows = NestedAxes::one(4, 2);
        let with_gaps = MatMul { rows, ..matmul(4, 5, &[[0, 0, 0], [1, 0, 1]]) };
        assert_eq!(with_gaps.merged().m, 4);
    }

    #[test]
    fn batch_axes_of_operands_broadcast() {
        let [a, b, out] = [0, 1, 2].map(BufferIx);
        let spec = ContractionSpec::Matrices { transpose_a: false, transpose_b: true };
        let matmul = MatMul::new([(a, &[2, 1, 4, 3]), (b, &[3, 5, 3]), (out, &[2, 3, 4, 5])], spec, false);
        assert_eq!((matmul.m, matmul.k, matmul.n), (4, 3, 5));
        assert_eq!(matmul.batch, [[0, 0, 0], [0, 1, 1], [0, 2, 2], [1, 0, 3], [1, 1, 4], [1, 2, 5]]);
    }

    #[test]
    fn tiles_cover_the_result_once() {
        for (m, n) in [(1, 1), (64, 4096), (65, 511), (65, 4097), (512, 3), (1000, 1000), (1023, 70)] {
            let matmul = matmul(m, n, &[[0; 3], [1; 3]]);
            let mut seen = vec![0; 2 * m * n];
            for threads in [1, 2, 3, 8, 100] {
                seen.fill(0);
                for OutputTile { batch_index, rows, columns } in matmul.sizes().tiles(threads) {
                    for row in rows {
                        columns.clone().for_each(|column| seen[(batch_index * m + row) * n + column] += 1);
                    }
                }
                assert!(seen.iter().all(|times| *times == 1), "{m} x {n} on {threads}");
            }
        }
    }
}
