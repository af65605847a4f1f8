//! [`LoopNest`]: the numbers of outer and row axes of a kernel, and the axis that the vector lanes run along.

use super::access::varies_with;
use super::kernel_body::LaneLayout;
use crate::expr::{Axis, Index};

/// The loop nest of a kernel: axes `0..outer` are outer axes, `outer..outer + row` are row axes.
#[derive(Clone, Copy)]
pub(crate) struct LoopNest {
    pub outer: usize,
    pub row: usize,
    pub layout: LaneLayout,
}

impl LoopNest {
    /// Returns the axis that vector lanes run along.
    pub(super) fn inner_axis(self) -> Option<usize> {
        match self.layout {
            LaneLayout::Row => (self.outer + self.row).checked_sub(1),
            LaneLayout::Column => self.outer.checked_sub(1),
        }
    }

    /// Returns whether an index varies along the row.
    pub(super) fn varies_in_row(self, index: &Index) -> bool {
        let mut axes = (self.outer as u32..(self.outer + self.row) as u32).map(Axis);
        axes.any(|axis| varies_with(index, axis))
    }
}
