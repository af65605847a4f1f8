//! [`LaunchMode`]: how a launch runs a [`BoxPlan`](super::box_plan::BoxPlan).

use smallvec::SmallVec;

use super::kernel_body::{AccessPattern, InstOp, KernelBody, SlotUse};
use super::slot_plan::SlotPlan;
use crate::tensor::size_of_element;
use crate::tiles::StridedCopy;

/// How a launch runs a box, a rectangular part of a kernel's domain.
#[derive(Clone, Debug)]
pub(crate) enum LaunchMode {
    /// The machine code runs on the buffers themselves.
    Direct,
    /// The machine code runs on contiguous memory of the thread in place of these slots. The launch copies the slots to
    /// or from this memory.
    Staged(SmallVec<[usize; 2]>),
    /// The box is a copy from one slot to another.
    Copy(Box<BoxCopy>),
}

/// A box that is a copy from one slot to another.
#[derive(Clone, Debug)]
pub(crate) struct BoxCopy {
    pub from: usize,
    pub to: usize,
    /// The copy of the whole box.
    pub whole: StridedCopy,
    /// Bytes of an element.
    size: usize,
    /// Whether the stores bypass the caches.
    bypass: bool,
}

impl BoxCopy {
    /// Makes the copy between slots `from` and `to` of a box with these extents. An element has `size` bytes. With
    /// `bypass`, the stores bypass the caches.
    pub(super) fn new(
        slots: &[SlotPlan],
        from: usize,
        to: usize,
        extents: &[i64],
        size: i64,
        bypass: bool,
    ) -> BoxCopy {
        let size = size as usize;
        let whole = strided_copy(&slots[from], &slots[to], extents, size, bypass);
        BoxCopy { from, to, whole, size, bypass }
    }

    /// Returns the copy of a part of the box. The extents of the part have the order of
    /// [`BoxPlan::extents`](super::box_plan::BoxPlan::extents).
    pub(crate) fn part(&self, slots: &[SlotPlan], extents: &[i64]) -> StridedCopy {
        strided_copy(&slots[self.from], &slots[self.to], extents, self.size, self.bypass)
    }
}

fn strided_copy(from: &SlotPlan, to: &SlotPlan, extents: &[i64], size: usize, bypass: bool) -> StridedCopy {
    let [from, to] = [from, to]
        .map(|slot| -> SmallVec<[isize; 6]> { slot.strides().map(|stride| stride as isize).collect() });
    let extents: SmallVec<[usize; 6]> = extents.iter().map(|extent| *extent as usize).collect();
    StridedCopy::new(&to, &from, &extents, size, bypass)
}

/// Returns the load slot and the store slot of a body that only copies.
pub(super) fn copied_slots(body: &KernelBody) -> Option<(usize, usize)> {
    let [pass] = &body.passes[..] else { return None };
    let [load, store] = &pass.body[..] else { return None };
    match (&load.op, &store.op) {
        (InstOp::Load(from), InstOp::Store { slot, .. })
            if pass.reduces.is_empty() && body.epilogue.is_empty() && load.dtype == store.dtype =>
        {
            Some((*from as usize, *slot as usize))
        }
        _ => None,
    }
}

/// Returns the mode of a box whose inner axis has `n` elements. The mode is direct, unless a slot has another inner
/// stride than the body was compiled for.
pub(super) fn direct_or_staged(body: &KernelBody, slots: &[SlotPlan], n: i64) -> LaunchMode {
    let needs_staging = |&number: &usize| {
        let kind = &body.slots[number];
        let size = size_of_element(kind.dtype).expect("elements of kernel slots have a fixed size") as i64;
        kind.pattern != AccessPattern::Splat
            && slots[number].inner != size * kind.pattern.step()
            && n > 1
            && matches!(kind.used, SlotUse::Load | SlotUse::Store)
    };
    let staged: SmallVec<[usize; 2]> = (0..slots.len()).filter(needs_staging).collect();
    if staged.is_empty() { LaunchMode::Direct } else { LaunchMode::Staged(staged) }
}
