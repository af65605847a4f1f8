//! [`Product`]: products of matrices, a tile of the result at a time in registers.
//!
//! The scheme is the one of BLIS. Rows of the right operand are brought together in panels as wide as a tile, which
//! stay in the nearest cache while all rows of a block of the left operand pass; that block stays in the second
//! cache while panels pass. An operand that would be packed for few uses is read where it is.

mod blocks;
mod cache;
mod kernel;
mod pack;
mod packed;
mod register;
#[cfg(test)]
mod tests;
mod tile;

use blocks::{Blocks, Panels, panels, parts};
use cache::{Ahead, LINE};
pub(crate) use kernel::Float;
use kernel::{Kernel, ROWS, WIDE_ROWS};
use pack::{Slab, pack};
pub(crate) use packed::Packed;
use tile::{Tile, TileFn, UNROLL};

/// The elements of a matrix: `(i, j)` at `i * row + j * column`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Strided<T> {
    pub at: *const T,
    pub row: usize,
    pub column: usize,
}

impl<T> Strided<T> {
    /// The matrix from an element on.
    ///
    /// # Safety
    /// There is such an element.
    unsafe fn from(&self, row: usize, column: usize) -> Strided<T> {
        // SAFETY: the caller's.
        Strided { at: unsafe { self.at.add(row * self.row + column * self.column) }, ..*self }
    }
}

/// `out = a · b`, of `m × k` and `k × n` elements; rows of the result are `out_row` apart.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Product<T> {
    pub m: usize,
    pub k: usize,
    pub n: usize,
    pub a: Strided<T>,
    pub b: Strided<T>,
    /// The same as `b`, if there is such.
    pub packed: Option<Packed<T>>,
    pub out: *mut T,
    pub out_row: usize,
}

/// Panels that the left operand meets from which it pays to pack it, where its rows are contiguous or are not.
const USES: [usize; 2] = [16, 4];

impl<T: Float> Product<T> {
    /// Elements of memory that [`Product::run`] works in.
    pub(crate) fn room(&self) -> usize {
        self.room_for(T::kernel())
    }

    /// Computes the product. Every element is a sum over `k` cut by `k` alone: it does not depend on `m`, on `n`, nor
    /// on how the operands are stored.
    ///
    /// # Safety
    /// The operands can be read, with what lies between their elements, `packed` is what [`Packed::pack`] has made of
    /// the columns of a matrix of `k` rows, and the result and [`Product::room`] elements
    /// at `room` written, the result and the operands at any alignment; what is written overlaps nothing else.
    pub(crate) unsafe fn run(&self, room: *mut T) {
        // SAFETY: the caller's, and the kernel is the processor's.
        unsafe { self.run_by(T::kernel(), room) }
    }

    fn room_for(&self, kernel: &'static Kernel<T>) -> usize {
        let plan = Plan::new(self, kernel);
        plan.left().saturating_add(plan.right())
    }

    /// # Safety
    /// As [`Product::run`]; the processor has what the kernel is made for.
    unsafe fn run_by(&self, kernel: &'static Kernel<T>, room: *mut T) {
        let plan = Plan::new(self, kernel);
        if self.k == 0 {
            for i in 0..self.m {
                for j in 0..self.n {
                    // SAFETY: the caller's.
                    unsafe { self.out.add(i * self.out_row + j).write_unaligned(T::default()) };
                }
            }
        }
        for (column, columns) in parts(self.n, plan.blocks.columns) {
            for (step, depth) in parts(self.k, plan.blocks.depth) {
                for (row, rows) in parts(self.m, plan.blocks.rows) {
                    // SAFETY: the block lies in the operands and the result; the rest is the caller's.
                    unsafe {
                        let a = self.a.from(row, step);
                        let b = self.b.from(step, column);
                        let out = self.out.add(row * self.out_row + column);
                        let (right, first) = match &self.packed {
                            Some(packed) => (packed.block(step, depth, column).cast_mut(), false),
                            None => (room.add(plan.left()), row == 0),
                        };
                        let block = Block { plan: &plan, a, b, right, out, rows, depth, columns, first };
                        block.run(step > 0, room);
                    }
                }
            }
        }
    }
}

/// How a product is computed.
struct Plan<'a, T: 'static> {
    product: &'a Product<T>,
    kernel: &'static Kernel<T>,
    blocks: Blocks,
    /// Columns of a panel.
    panel: usize,
    /// Whether the left operand is packed.
    left: bool,
    /// Whether the right operand is read where it is.
    in_place: bool,
    /// Whether packed panels of the right operand are kept for several blocks of rows.
    kept: bool,
}

impl<'a, T: Float> Plan<'a, T> {
    fn new(product: &'a Product<T>, kernel: &'static Kernel<T>) -> Plan<'a, T> {
        let Product { m, k, n, a, b, packed, .. } = *product;
        let panel = kernel.panel();
        let blocks = Blocks::new([m, k, n], panel, size_of::<T>());
        let uses = USES[usize::from(a.column != 1)];
        let in_place = m <= ROWS && b.column == 1 && packed.is_none();
        let kept = blocks.rows < m || packed.is_some();
        Plan { product, kernel, blocks, panel, left: n > uses * panel, in_place, kept }
    }

    /// Elements of a packed block of the left operand.
    fn left(&self) -> usize {
        if self.left { (self.blocks.rows * self.blocks.depth).next_multiple_of(LINE) } else { 0 }
    }

    /// Elements of packed panels of the right operand: one, or those that several blocks of rows meet.
    fn right(&self) -> usize {
        if self.product.packed.is_some() {
            return 0;
        }
        let columns = if self.kept { self.blocks.columns.next_multiple_of(self.panel) } else { self.panel };
        columns * self.blocks.depth
    }
}

/// A block of the left operand times a block of the right one.
struct Block<'a, T: 'static> {
    plan: &'a Plan<'a, T>,
    a: Strided<T>,
    b: Strided<T>,
    /// Packed panels of the right operand: those that are kept, or the present one. They are written where `first`.
    right: *mut T,
    out: *mut T,
    rows: usize,
    depth: usize,
    columns: usize,
    /// Whether the right operand is packed for this block, which no other has met it before.
    first: bool,
}

impl<T: Float> Block<'_, T> {
    /// # Safety
    /// As [`Product::run`], for the block.
    unsafe fn run(&self, add: bool, room: *mut T) {
        let Block { plan, a, b, right, rows, depth, .. } = *self;
        let lanes = plan.kernel.lanes;
        let wide = plan.in_place && rows <= WIDE_ROWS;
        // SAFETY: the caller's; a panel that is not whole is packed, and what stands after its rows is not stored.
        unsafe {
            if plan.left {
                for Panels { at, rows, count } in panels(rows) {
                    for at in (0..count).map(|number| at + number * rows) {
                        let slab =
                            Slab { at: a.from(at, 0).at, along: a.column, across: a.row, depth, count: rows };
                        if a.column == 1 {
                            Ahead::rows(a.at.wrapping_add((at + rows) * a.row), a.row, rows, 1).before(depth);
                        }
                        pack(room.add(at * depth), rows, &slab);
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
                let packed = if plan.kept { right.add(column * depth) } else { right };
                let here = b.from(0, column);
                if self.first && !whole {
                    let slab = Slab { at: here.at, along: b.row, across: b.column, depth, count: columns };
                    pack(packed, vectors * lanes, &slab);
                }
                let mut ahead = self.ahead(column + columns, packed);
                let mut unpacked = whole && self.first;
                for Panels { mut at, rows, mut count } in panels(rows) {
                    // The tile that copies what passes is the first.
                    while count > 0 {
                        let tiles = if unpacked && !plan.in_place { 1 } else { count };
                        let (left, a_row, a_step) = match plan.left {
                            true => (room.add(at * depth).cast_const(), 1, rows),
                            false => (a.from(at, 0).at, a.row, a.column),
                        };
                        let (b, b_step) = match unpacked {
                            true => (here.at, b.row),
                            false => (packed.cast_const(), vectors * lanes),
                        };
                        let out_row = plan.product.out_row;
                        let tile = Tile {
                            count: tiles,
                            depth,
                            a: left,
                            a_row,
                            a_step,
                            a_next: if plan.left { rows * depth } else { rows * a.row },
                            b,
                            b_step,
                            copy: packed,
                            out: self.out.add(at * out_row + column),
                            out_row,
                            columns,
                            add,
                            ahead,
                        };
                        self.function(rows, vectors, unpacked)(&tile);
                        ahead = ahead.after(tiles);
                        unpacked &= plan.in_place;
                        (at, count) = (at + tiles * rows, count - tiles);
                    }
                }
                column += columns;
            }
        }
    }

    /// The panel of the right operand that comes next, brought near while tiles of the present one are computed.
    fn ahead(&self, column: usize, packed: *mut T) -> Ahead<T> {
        let Block { plan, b, depth, .. } = *self;
        let tiles = self.rows.div_ceil(ROWS);
        let next = packed.wrapping_add(plan.panel * depth).cast_const();
        match self.first {
            _ if column >= self.columns || plan.in_place => Ahead::none(b.at),
            true if b.column == 1 => Ahead::rows(b.at.wrapping_add(column), b.row, depth, tiles),
            // Columns right after each other, line by line.
            true if b.row == 1 && b.column == depth => {
                Ahead::rows(b.at.wrapping_add(column * depth), plan.panel, depth, tiles)
            }
            true => Ahead::none(b.at),
            false if plan.left => Ahead::run(next, plan.panel * depth, tiles, depth / UNROLL),
            false => Ahead::rows(next, plan.panel, depth, tiles),
        }
    }

    /// The function for a tile whose right operand is packed or is not.
    fn function(&self, rows: usize, vectors: usize, unpacked: bool) -> TileFn<T> {
        let Plan { kernel, left, in_place, .. } = *self.plan;
        match (unpacked, in_place) {
            (true, true) if vectors > kernel.vectors => kernel.wide[rows - 1],
            (true, true) => kernel.strided[rows - 1][vectors - 1],
            (true, false) => kernel.copying[rows - 1],
            (false, _) if left => kernel.packed[rows - 1][vectors - 1],
            (false, _) => kernel.strided[rows - 1][vectors - 1],
        }
    }
}
