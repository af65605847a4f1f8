//! [`SlotPlan`]: the byte offset and strides of one slot in a [`BoxPlan`], a rectangular part of a kernel's domain.
//!
//! [`BoxPlan`]: super::box_plan::BoxPlan

use smallvec::SmallVec;

use super::kernel::BufferIx;

/// The base and the strides of a slot, in bytes within its buffer. The base and the strides of an iota are in units of
/// its value.
#[derive(Clone, Debug)]
pub(crate) struct SlotPlan {
    /// `None` for iotas and scratch.
    pub buffer: Option<BufferIx>,
    /// The offset of the box's first element.
    pub base: i64,
    /// The stride of each axis that the launch walks.
    pub outer: SmallVec<[i64; 2]>,
    /// The stride per row.
    pub row: i64,
    /// The stride per element of the inner axis.
    pub inner: i64,
    /// The stride of each loop that encloses the inner axis within a row.
    pub loops: SmallVec<[i64; 2]>,
}

impl SlotPlan {
    /// Returns the byte offset at a position of the box where the index of each loop in `loops` is 0; for an iota, the
    /// value there.
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
