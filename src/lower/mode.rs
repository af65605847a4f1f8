//! [`Mode`]: how a box is run.

use smallvec::SmallVec;

use super::boxes::BoxPlan;
use super::code::{Class, Code, InstOp, SlotUse};
use crate::tensor::size_of_element;
use crate::tiles::StridedCopy;

/// How a box is run.
#[derive(Clone, Debug)]
pub(crate) enum Mode {
    /// By the machine code, on the buffers themselves.
    Direct,
    /// By the machine code, with these slots copied to or from contiguous memory of the thread.
    Staged(SmallVec<[usize; 2]>),
    /// As a copy from one slot to another.
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
    /// Bytes of the buffer that is copied to.
    bytes: usize,
}

impl BoxCopy {
    pub(super) fn new(plan: &BoxPlan, from: usize, to: usize, size: i64, bytes: i64) -> BoxCopy {
        let (size, bytes) = (size as usize, bytes as usize);
        let whole = copy(plan, [from, to], &plan.extents(), size, bytes);
        BoxCopy { from, to, whole, size, bytes }
    }

    /// The copy of a part of the box: a rectangle of these extents, in the order of [`BoxPlan::extents`].
    pub(crate) fn part(&self, plan: &BoxPlan, extents: &[i64]) -> StridedCopy {
        copy(plan, [self.from, self.to], extents, self.size, self.bytes)
    }
}

fn copy(plan: &BoxPlan, slots: [usize; 2], extents: &[i64], size: usize, bytes: usize) -> StridedCopy {
    let [from, to] = slots.map(|slot| -> SmallVec<[isize; 6]> {
        let slot = &plan.slots[slot];
        let strides = slot.outer.iter().chain([&slot.row]).chain(&slot.loops).chain([&slot.inner]);
        strides.map(|stride| *stride as isize).collect()
    });
    let extents: SmallVec<[usize; 6]> = extents.iter().map(|extent| *extent as usize).collect();
    StridedCopy::new(&to, &from, &extents, size, bytes)
}

/// The two slots of a body that only copies.
pub(super) fn plain_copy(code: &Code) -> Option<(usize, usize)> {
    let [pass] = &code.passes[..] else { return None };
    let [load, store] = &pass.body[..] else { return None };
    match (&load.op, &store.op) {
        (InstOp::Load(from), InstOp::Store { slot, .. })
            if pass.folds.is_empty() && code.epilogue.is_empty() && load.dtype == store.dtype =>
        {
            Some((*from as usize, *slot as usize))
        }
        _ => None,
    }
}

/// Direct, unless a slot does not move as the code takes it to.
pub(super) fn staged(plan: &BoxPlan, code: &Code) -> Mode {
    let moved = |&number: &usize| {
        let kind = &code.slots[number];
        let size = size_of_element(kind.dtype).map_or(0, |size| size as i64);
        kind.class != Class::Splat
            && plan.slots[number].inner != size * kind.class.step()
            && plan.n > 1
            && matches!(kind.used, SlotUse::Load | SlotUse::Store)
    };
    let staged: SmallVec<[usize; 2]> = (0..plan.slots.len()).filter(moved).collect();
    if staged.is_empty() { Mode::Direct } else { Mode::Staged(staged) }
}
