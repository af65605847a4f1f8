//! [`overwrites`]: whether a kernel may store its result where an operand is.

use super::code::{Code, Inst, InstOp, Layout, SlotUse};
use super::kernel::{BufferIx, Kernel};
use super::mode::Mode;
use super::plan::{BoxPlan, KernelPlan};

/// Whether the result of a kernel may take the bytes of an operand that nobody reads later: every load of the operand
/// is at the element that is stored, and comes before the store. `roots` has the buffer whose bytes each buffer has.
pub(crate) fn overwrites(kernel: &Kernel, plan: &KernelPlan, operand: BufferIx, roots: &[BufferIx]) -> bool {
    // What fails is looked for in the operands afterwards.
    let [result] = kernel.writes[..] else { return false };
    !kernel.can_fail
        && plan.boxes.iter().all(|part| {
            let code = &kernel.variants[part.variant].code;
            matches!(part.mode, Mode::Direct) && fits(code, part, [operand, result], roots)
        })
}

fn fits(code: &Code, part: &BoxPlan, [operand, result]: [BufferIx; 2], roots: &[BufferIx]) -> bool {
    let root = |slot: usize| part.slots[slot].buffer.map(|buffer| roots[buffer.at()]);
    let slots_of = |buffer| (0..part.slots.len()).filter(move |&slot| root(slot) == Some(buffer));
    let mut stores = slots_of(result);
    let (Some(store), None) = (stores.next(), stores.next()) else { return false };
    let (to, kind) = (&part.slots[store], code.slots[store]);
    let same_elements = slots_of(operand).all(|slot| {
        let (from, other) = (&part.slots[slot], code.slots[slot]);
        (other.used, other.class, other.dtype) == (SlotUse::Load, kind.class, kind.dtype)
            && (from.base, &from.outer, from.row) == (to.base, &to.outer, to.row)
            && (from.inner, &from.loops) == (to.inner, &to.loops)
    });
    // One store, of a value for which all that the last pass loads is needed.
    let is_store = |inst: &Inst| matches!(inst.op, InstOp::Store { slot, .. } if slot as usize == store);
    let stores = |body: &[Inst]| body.iter().filter(|inst| is_store(inst)).count();
    let last = code.passes.last().map_or(0, |pass| stores(&pass.body));
    let all: usize = code.passes.iter().map(|pass| stores(&pass.body)).sum();
    let elsewhere = code.passes.last().is_some_and(|pass| !pass.folds.is_empty());
    same_elements
        && code.layout == Layout::Row
        && code.epilogue.is_empty()
        && !elsewhere
        && (last, all) == (1, 1)
}
