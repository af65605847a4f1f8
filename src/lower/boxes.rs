//! [`BoxPlan`]: a box of a kernel's domain with all sizes known.

use smallvec::SmallVec;

use super::kernel::BufferIx;
use super::mode::Mode;

/// Where a slot stands in a box: a byte offset into a buffer (or a start value) and strides in bytes.
#[derive(Clone, Debug)]
pub(crate) struct SlotPlan {
    /// None for iotas and scratch.
    pub buffer: Option<BufferIx>,
    pub base: i64,
    /// Strides of the axes that the driver walks.
    pub outer: SmallVec<[i64; 2]>,
    pub row: i64,
    pub inner: i64,
    pub loops: SmallVec<[i64; 2]>,
}

impl SlotPlan {
    /// Where it stands at a position of the box, in its buffer or as a value.
    pub(crate) fn at(&self, outer: &[i64], row: i64, inner: i64) -> i64 {
        let outer: i64 = self.outer.iter().zip(outer).map(|(stride, at)| stride * at).sum();
        self.base + outer + self.row * row + self.inner * inner
    }
}

/// One box of the domain.
#[derive(Clone, Debug)]
pub(crate) struct BoxPlan {
    pub variant: usize,
    /// Extents that the driver walks, outermost first.
    pub outer: SmallVec<[i64; 2]>,
    pub rows: i64,
    pub n: i64,
    pub loops: SmallVec<[i64; 2]>,
    pub slots: Vec<SlotPlan>,
    pub scalars: Vec<i64>,
    pub mode: Mode,
    /// Scratch bytes of one row, after those of staged slots.
    pub scratch: usize,
}

impl BoxPlan {
    /// Elements of one row.
    pub(crate) fn row_len(&self) -> i64 {
        self.loops.iter().product::<i64>() * self.n
    }

    /// How often each loop of the box runs, outermost first.
    pub(crate) fn extents(&self) -> SmallVec<[i64; 6]> {
        self.outer.iter().chain([&self.rows]).chain(&self.loops).chain([&self.n]).copied().collect()
    }

    /// The outer indices and the row at a position along all outer axes and rows together.
    pub(crate) fn position(&self, at: i64) -> (SmallVec<[i64; 4]>, i64) {
        let mut outer: SmallVec<[i64; 4]> = SmallVec::from_elem(0, self.outer.len());
        if at == 0 {
            return (outer, 0);
        }
        let rows = self.rows.max(1);
        let mut rest = at / rows;
        for (index, extent) in outer.iter_mut().zip(&self.outer).rev() {
            *index = rest % extent;
            rest /= extent;
        }
        (outer, at % rows)
    }

    /// Elements of the box.
    pub(crate) fn len(&self) -> i64 {
        self.outer.iter().product::<i64>().saturating_mul(self.rows).saturating_mul(self.row_len().max(1))
    }
}
