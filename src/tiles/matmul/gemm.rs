//! [`Gemm`]: one matmul of two matrices, and the loops over its blocks and tiles.

use super::blocks::{Blocks, RowPanels, depth_blocks, parts, row_panels};
use super::kernel::{Float, TileFunctions, WIDE_ROWS};
use super::left::{LeftMatrix, MAX_RUNS};
use super::pack::{UnpackedPanel, pack, pack_rows};
use super::packed::PackedMatrix;
use super::prefetcher::Prefetcher;
use super::strided::StridedMatrix;
use super::tile::{MAX_ROWS, Tile, TileFn, UNROLL};
use crate::tiles::cpu::CACHE_LINE;

/// The matmul `out = a · b` of an `m × k` and a `k × n` matrix.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gemm<T> {
    pub m: usize,
    pub k: usize,
    pub n: usize,
    pub a: LeftMatrix<T>,
    pub b: StridedMatrix<T>,
    /// The same matrix as `b`, if it was packed before.
    pub packed: Option<PackedMatrix<T>>,
    pub out: *mut T,
    /// Elements from one row of the result to the next.
    pub out_row: usize,
}

/// The left operand is packed if the right operand has more panels than this. Entry 0 is for a left operand with
/// contiguous rows, and entry 1 is for any other left operand.
const PANELS_TO_PACK_A: [usize; 2] = [16, 4];

impl<T: Float> Gemm<T> {
    /// Returns how many elements of workspace [`Gemm::run`] needs.
    pub(crate) fn workspace_len(&self) -> usize {
        self.workspace_len_for(T::kernel())
    }

    /// Computes the matmul.
    ///
    /// The order of additions depends only on `k` and on the length of the runs of columns of the left operand. So `m`,
    /// `n`, the strides of the rows and the strides of `b` change no element.
    ///
    /// # Safety
    /// The operands are readable, with all memory between their elements. [`PackedMatrix::pack`] made `packed` from the
    /// columns of a matrix of `k` rows, for the runs of `a`. The result and [`Gemm::workspace_len`] elements at
    /// `workspace` are writable and overlap nothing else. The result and the operands may have any alignment.
    pub(crate) unsafe fn run(&self, workspace: *mut T) {
        // SAFETY: the caller's promise; the kernel is for the running processor.
        unsafe { self.run_with(T::kernel(), workspace) }
    }

    pub(super) fn workspace_len_for(&self, kernel: &'static TileFunctions<T>) -> usize {
        let plan = Plan::new(self, kernel);
        plan.packed_a_len().saturating_add(plan.packed_b_len())
    }

    /// Computes the matmul with a given kernel.
    ///
    /// # Safety
    /// As [`Gemm::run`]; the processor has the instructions of the kernel.
    pub(super) unsafe fn run_with(&self, kernel: &'static TileFunctions<T>, workspace: *mut T) {
        let plan = Plan::new(self, kernel);
        if self.k == 0 {
            for i in 0..self.m {
                for j in 0..self.n {
                    // SAFETY: the caller's promise.
                    unsafe { self.out.add(i * self.out_row + j).write_unaligned(T::default()) };
                }
            }
        }
        for (column, columns) in parts(self.n, plan.blocks.columns) {
            for (step, depth) in depth_blocks(self.k, self.a.columns.run()) {
                for (row, rows) in parts(self.m, plan.blocks.rows) {
                    // SAFETY: the block lies in the operands and the result; otherwise the caller's promise.
                    unsafe {
                        let b = self.b.from(step, column);
                        let out = self.out.add(row * self.out_row + column);
                        let (packed_b, packs_b) = match &self.packed {
                            Some(packed) => (packed.block(step, depth, column).cast_mut(), false),
                            None => (workspace.add(plan.packed_a_len()), row == 0),
                        };
                        let plan = &plan;
                        let kernel =
                            MacroKernel { plan, row, step, b, packed_b, out, rows, depth, columns, packs_b };
                        kernel.run(step > 0, workspace);
                    }
                }
            }
        }
    }
}

/// How a matmul is computed.
struct Plan<'a, T: 'static> {
    gemm: &'a Gemm<T>,
    kernel: &'static TileFunctions<T>,
    blocks: Blocks,
    /// Columns of a panel.
    panel: usize,
    /// Whether the left operand is packed.
    packs_a: bool,
    /// Whether the right operand is read in place, except columns that fill no panel.
    b_in_place: bool,
    /// Whether all packed panels of the right operand are in memory: several blocks of rows use them, or they were
    /// packed before.
    keeps_b: bool,
}

impl<'a, T: Float> Plan<'a, T> {
    fn new(gemm: &'a Gemm<T>, kernel: &'static TileFunctions<T>) -> Plan<'a, T> {
        let Gemm { m, k, n, a, b, packed, .. } = *gemm;
        let panel = kernel.panel();
        let run = a.columns.run();
        let blocks = Blocks::new([m, k, n], run, panel, size_of::<T>());
        // Tiles read few runs in place.
        let packs_a = blocks.depth > run.saturating_mul(MAX_RUNS)
            || n > PANELS_TO_PACK_A[usize::from(a.columns.stride() != 1)] * panel;
        let b_in_place = m <= MAX_ROWS && b.column == 1 && packed.is_none();
        let keeps_b = blocks.rows < m || packed.is_some();
        Plan { gemm, kernel, blocks, panel, packs_a, b_in_place, keeps_b }
    }

    /// Returns the elements of workspace for a packed block of the left operand.
    fn packed_a_len(&self) -> usize {
        if self.packs_a { (self.blocks.rows * self.blocks.depth).next_multiple_of(CACHE_LINE) } else { 0 }
    }

    /// Returns the elements of workspace for packed panels of the right operand: one panel, or all that are kept.
    fn packed_b_len(&self) -> usize {
        if self.gemm.packed.is_some() {
            return 0;
        }
        let columns =
            if self.keeps_b { self.blocks.columns.next_multiple_of(self.panel) } else { self.panel };
        columns * self.blocks.depth
    }
}

/// The matmul of one block of the left operand and one block of the right operand.
struct MacroKernel<'a, T: 'static> {
    plan: &'a Plan<'a, T>,
    /// The first row of the block of the left operand.
    row: usize,
    /// The first column of the block of the left operand.
    step: usize,
    b: StridedMatrix<T>,
    /// Packed panels of the right operand: all panels if they are kept, else the current one. This block writes them if
    /// `packs_b`.
    packed_b: *mut T,
    out: *mut T,
    rows: usize,
    depth: usize,
    columns: usize,
    /// Whether this block packs the right operand. Later blocks of rows reuse the panels.
    packs_b: bool,
}

impl<T: Float> MacroKernel<'_, T> {
    /// Computes the block. Adds the values of the block to the result if `add`; otherwise overwrites the result with
    /// them.
    ///
    /// # Safety
    /// As [`Gemm::run`], for the block.
    unsafe fn run(&self, add: bool, workspace: *mut T) {
        let MacroKernel { plan, b, packed_b, rows, depth, .. } = *self;
        let a = &plan.gemm.a;
        let lanes = plan.kernel.lanes;
        let mut run_offsets = [0; MAX_RUNS];
        let (a_run, a_runs) = match plan.packs_a {
            true => (depth, &run_offsets[..1]),
            false => a.runs(self.step, depth, &mut run_offsets),
        };
        let wide = plan.b_in_place && rows <= WIDE_ROWS;
        // SAFETY: the caller's promise. A panel that does not fill its vectors is packed, so no load exceeds `b`. The
        // surplus columns are not stored.
        unsafe {
            if plan.packs_a {
                for RowPanels { start, rows, count } in row_panels(rows) {
                    for row in (0..count).map(|index| start + index * rows) {
                        self.pack_left(row, rows, workspace.add(row * depth));
                    }
                }
            }
            let mut column = 0;
            while column < self.columns {
                let rest = self.columns - column;
                let columns =
                    rest.min(if wide && rest >= 2 * plan.panel { 2 * plan.panel } else { plan.panel });
                let vectors = columns.div_ceil(lanes);
                let whole = b.column == 1 && columns >= plan.panel;
                let packed = if plan.keeps_b { packed_b.add(column * depth) } else { packed_b };
                let unpacked = b.from(0, column);
                if self.packs_b && !whole {
                    let panel = UnpackedPanel {
                        start: unpacked.start,
                        along: b.row,
                        across: b.column,
                        depth,
                        count: columns,
                    };
                    pack(packed, vectors * lanes, &panel);
                }
                let mut prefetcher = self.prefetcher(column + columns, packed);
                let mut is_unpacked = whole && self.packs_b;
                for RowPanels { start: mut row, rows, mut count } in row_panels(rows) {
                    while count > 0 {
                        // The first tile of a panel packs the panel while reading it, so the tile runs alone.
                        let tiles = if is_unpacked && !plan.b_in_place { 1 } else { count };
                        // The tiles of one call are `a_next` apart, so their rows lie in one run. The rows of a single
                        // tile may lie in several runs.
                        let row_in_a = self.row + row;
                        let (tiles, left, a_rows, a_step) = match plan.packs_a {
                            true => (
                                tiles,
                                workspace.add(row * depth).cast_const(),
                                std::array::from_fn(|i| i),
                                rows,
                            ),
                            false => (
                                tiles.min((a.rows_in_run(row_in_a) / rows).max(1)),
                                a.address(row_in_a, self.step),
                                a.row_offsets(row_in_a, rows),
                                a.columns.stride(),
                            ),
                        };
                        let (b, b_step) = match is_unpacked {
                            true => (unpacked.start, b.row),
                            false => (packed.cast_const(), vectors * lanes),
                        };
                        let out_row = plan.gemm.out_row;
                        let tile = Tile {
                            count: tiles,
                            a: left,
                            a_rows,
                            a_runs,
                            a_run,
                            a_step,
                            a_next: rows.wrapping_mul(if plan.packs_a { depth } else { a.rows.stride() }),
                            b,
                            b_step,
                            copy: packed,
                            out: self.out.add(row * out_row + column),
                            out_row,
                            columns,
                            add,
                            prefetcher,
                        };
                        self.function(rows, vectors, is_unpacked)(&tile);
                        prefetcher = prefetcher.after(tiles);
                        is_unpacked &= plan.b_in_place;
                        (row, count) = (row + tiles * rows, count - tiles);
                    }
                }
                column += columns;
            }
        }
    }

    /// Packs `rows` rows of the block of the left operand, from row `row` of the block on.
    ///
    /// # Safety
    /// As [`Gemm::run`]; `rows * self.depth` elements at `to` are writable.
    unsafe fn pack_left(&self, row: usize, rows: usize, to: *mut T) {
        let MacroKernel { plan, depth, .. } = *self;
        let (a, row) = (&plan.gemm.a, self.row + row);
        let (along, across) = (a.columns.stride(), a.rows.stride());
        let is_even = rows <= a.rows_in_run(row);
        for (column, count) in a.column_runs(self.step, depth) {
            let start = a.address(row, column);
            // SAFETY: the caller's promise, for the columns of one run.
            unsafe {
                let to = to.add((column - self.step) * rows);
                if is_even {
                    if along == 1 {
                        let next = start.wrapping_add(rows * across);
                        Prefetcher::rows(next, across, rows, 1).before_tile(count);
                    }
                    pack(to, rows, &UnpackedPanel { start, along, across, depth: count, count: rows });
                } else {
                    let starts = a.row_offsets(row, rows).map(|offset| start.wrapping_add(offset));
                    pack_rows(to, starts, rows, along, count);
                }
            }
        }
    }

    /// Returns a prefetcher of the right operand's panel that starts at `column`. This panel follows the
    /// panel at `packed`.
    fn prefetcher(&self, column: usize, packed: *mut T) -> Prefetcher<T> {
        let MacroKernel { plan, b, depth, .. } = *self;
        let tiles = self.rows.div_ceil(MAX_ROWS);
        let next = packed.wrapping_add(plan.panel * depth).cast_const();
        match self.packs_b {
            _ if column >= self.columns || plan.b_in_place => Prefetcher::none(b.start),
            true if b.column == 1 => Prefetcher::rows(b.start.wrapping_add(column), b.row, depth, tiles),
            // The columns are contiguous, so `depth` rows of the width of a panel cover the same memory as the panel.
            true if b.row == 1 && b.column == depth => {
                Prefetcher::rows(b.start.wrapping_add(column * depth), plan.panel, depth, tiles)
            }
            true => Prefetcher::none(b.start),
            false if plan.packs_a => Prefetcher::contiguous(next, plan.panel * depth, tiles, depth / UNROLL),
            false => Prefetcher::rows(next, plan.panel, depth, tiles),
        }
    }

    /// Returns the function for tiles of `rows` rows and `vectors` vectors. The tiles read the right operand in its own
    /// strides if `is_unpacked`.
    fn function(&self, rows: usize, vectors: usize, is_unpacked: bool) -> TileFn<T> {
        let Plan { kernel, packs_a, b_in_place, .. } = *self.plan;
        match (is_unpacked, b_in_place) {
            (true, true) if vectors > kernel.vectors => kernel.wide[rows - 1],
            (true, true) => kernel.strided[rows - 1][vectors - 1],
            (true, false) => kernel.copying[rows - 1],
            (false, _) if packs_a => kernel.packed[rows - 1][vectors - 1],
            (false, _) => kernel.strided[rows - 1][vectors - 1],
        }
    }
}
