//! [`SlotPlan`]: the byte offset and strides of one slot of a box.

use smallvec::SmallVec;

use super::kernel::BufferIx;

/// The base and the strides of a slot: in bytes within a buffer, or in units of its value for an iota.
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
    /// Returns the byte offset (of an iota, the value) at a position of the box whose loop indices are 0.
    pub(crate) fn offset_at(&self, outer: &[i64], row: i64, inner: i64) -> i64 {
        let outer: i64 = self.outer.iter().zip(outer).map(|(stride, index)| stride * index).sum();
        self.base + outer + self.row * row + self.inner * inner
    }

    /// Returns the stride along each loop of the box, in the order of
    /// [`BoxPlan::extents`](super::box_plan::BoxPlan::extents).
    pub(super) fn strides(&self) -> impl Iterator<Item = i64> {
        self.outer.iter().chain([&self.row]).chain(&self.loops).chain([&self.inner]).copied()
    }
}
