//! Whether a kernel may store a result over an operand.

use shapeflow_shape_fns::DType;

use super::boxes::BoxPlan;
use super::code::{Code, InstOp, SlotUse};
use super::kernel::{BufferIx, Kernel};
use super::mode::Mode;
use super::plan::KernelPlan;

/// Whether `plan` stores every element of `written` over the element of `read` from which it comes, after it has loaded
/// that for the last time: then both may have the same bytes. `root` gives the buffer whose bytes a buffer has.
pub(crate) fn may_overwrite(
    kernel: &Kernel,
    plan: &KernelPlan,
    root: &dyn Fn(BufferIx) -> BufferIx,
    read: BufferIx,
    written: BufferIx,
) -> bool {
    let [whole] = &plan.boxes[..] else { return false };
    // What fails is computed again, from its operands.
    if kernel.can_fail || matches!(whole.mode, Mode::Copy(_)) {
        return false;
    }
    let code = &kernel.variants[whole.variant].code;
    let slots_of = |wanted: BufferIx| {
        let slots = whole.slots.iter().enumerate().filter(|(_, slot)| slot.buffer.map(root) == Some(wanted));
        slots.map(|(number, _)| number).collect::<Vec<usize>>()
    };
    let (loads, stores) = (slots_of(root(read)), slots_of(written));
    let [store] = stores[..] else { return false };
    loads.iter().all(|&load| are_elementwise(whole, code, load, store))
        && loads_come_first(code, &loads, store)
}

/// Whether two slots stand at the same element everywhere in the box.
fn are_elementwise(whole: &BoxPlan, code: &Code, load: usize, store: usize) -> bool {
    let (from, to) = (&whole.slots[load], &whole.slots[store]);
    let (kind, stored) = (code.slots[load], code.slots[store]);
    kind.used == SlotUse::Load
        && stored.used == SlotUse::Store
        && kind.class == stored.class
        && kind.dtype.size_bytes() == stored.dtype.size_bytes()
        // Memory of bools, which may be the caller's, holds no other bytes at any time.
        && (kind.dtype == stored.dtype || stored.dtype != DType::Bool)
        && (from.base, &from.outer, from.row, from.inner, &from.loops)
            == (to.base, &to.outer, to.row, to.inner, &to.loops)
}

/// Whether nothing is loaded by `loads` once `store` has stored, and nothing else is stored beside it: the stores of a
/// body come last in it, in any order among themselves and the loads that only they need.
fn loads_come_first(code: &Code, loads: &[usize], store: usize) -> bool {
    let bodies: Vec<_> = code.passes.iter().map(|pass| &pass.body).chain([&code.epilogue]).collect();
    let stores = |op: &InstOp| matches!(op, InstOp::Store { .. });
    let is_it = |op: &InstOp| matches!(op, InstOp::Store { slot, .. } if *slot as usize == store);
    let Some(at) = bodies.iter().position(|body| body.iter().any(|inst| is_it(&inst.op))) else {
        return false;
    };
    let loads = |op: &InstOp| matches!(op, InstOp::Load(slot) if loads.contains(&(*slot as usize)));
    bodies[at].iter().filter(|inst| stores(&inst.op)).count() == 1
        && !bodies[at + 1..].iter().any(|body| body.iter().any(|inst| loads(&inst.op) || is_it(&inst.op)))
}
