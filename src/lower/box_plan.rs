//! [`BoxPlan`]: a rectangular part of a kernel's domain, for known sizes.

use smallvec::SmallVec;

use super::launch_mode::LaunchMode;
use super::slot_plan::SlotPlan;

/// A rectangular part of a kernel's domain, which one [`Variant`](super::kernel::Variant) of the kernel's body
/// computes.
///
/// The loops of the box, outermost first: `outer`, `rows`, `loops`, `n`.
#[derive(Clone, Debug)]
pub(crate) struct BoxPlan {
    /// Number of the variant of the kernel's body that computes the box.
    pub variant: usize,
    /// Extents of the loops that the launch walks, outermost first.
    pub outer: SmallVec<[i64; 2]>,
    /// Number of rows that one call of the machine code may run.
    pub rows: i64,
    /// Extent of the inner axis.
    pub n: i64,
    /// Extents of the loops that enclose the inner axis within a row, outermost first.
    pub loops: SmallVec<[i64; 2]>,
    /// For each slot of the variant's body: its byte offset and strides.
    pub slots: Vec<SlotPlan>,
    /// For each run-time scalar of the variant's body: its value.
    pub scalars: Vec<i64>,
    /// Whether the machine code runs on the buffers or on copies of them, or the box is a plain copy.
    pub mode: LaunchMode,
    /// Bytes of the scratch slots: the slots to which a pass of a row stores elements that a later pass of the same row
    /// loads. They lie in a thread's workspace, before the copies of staged slots ([`LaunchMode::Staged`]), which do
    /// not count.
    pub scratch: usize,
}

impl BoxPlan {
    /// Returns the number of elements of one row.
    pub(crate) fn row_len(&self) -> i64 {
        self.loops.iter().product::<i64>() * self.n
    }

    /// Returns the extent of each loop of the box, outermost first.
    pub(crate) fn extents(&self) -> SmallVec<[i64; 6]> {
        self.outer.iter().chain([&self.rows]).chain(&self.loops).chain([&self.n]).copied().collect()
    }

    /// Splits the number of a row of the box into the index along each loop of `outer`, and the index along `rows`. A
    /// box has no empty loop in `outer`.
    pub(crate) fn position(&self, row_number: i64) -> (SmallVec<[i64; 4]>, i64) {
        let mut outer: SmallVec<[i64; 4]> = SmallVec::from_elem(0, self.outer.len());
        if row_number == 0 {
            return (outer, 0);
        }
        let rows = self.rows.max(1);
        let mut rest = row_number / rows;
        for (outer_index, extent) in outer.iter_mut().zip(&self.outer).rev() {
            *outer_index = rest % extent;
            rest /= extent;
        }
        (outer, row_number % rows)
    }

    /// Returns the number of elements of the box; an empty row counts as one element.
    pub(crate) fn len(&self) -> i64 {
        self.outer.iter().product::<i64>().saturating_mul(self.rows).saturating_mul(self.row_len().max(1))
    }
}
