//! [`may_overwrite`]: whether a kernel may store a result over one of its operands.

use shapeflow_shape_fns::DType;
use smallvec::SmallVec;

use super::box_plan::BoxPlan;
use super::kernel::{BufferIx, Kernel};
use super::kernel_body::{AccessPattern, InstOp, KernelBody, SlotType, SlotUse};
use super::launch_mode::LaunchMode;
use super::plan::KernelPlan;

/// Returns whether buffers `read` and `written` may share their bytes.
///
/// The buffers may share bytes if the kernel reads an element of `read` only to compute the element of `written` at the
/// same offset, and loads the element of `read` before it stores the element of `written`. `root` returns the buffer
/// that owns the bytes of a buffer, which may be an alias.
pub(crate) fn may_overwrite(
    kernel: &Kernel,
    plan: &KernelPlan,
    root: &dyn Fn(BufferIx) -> BufferIx,
    read: BufferIx,
    written: BufferIx,
) -> bool {
    let [whole] = &plan.boxes[..] else { return false };
    // After a failed check the step is computed again from its operands, which must therefore survive.
    if kernel.can_fail || matches!(whole.mode, LaunchMode::Copy(_)) {
        return false;
    }
    let body = &kernel.variants[whole.variant].body;
    let slots_of = |wanted: BufferIx| {
        let slots = whole.slots.iter().enumerate().filter(|(_, slot)| slot.buffer.map(root) == Some(wanted));
        slots.map(|(number, _)| number).collect::<SmallVec<[usize; 4]>>()
    };
    let (loads, stores) = (slots_of(root(read)), slots_of(written));
    let [store] = stores[..] else { return false };
    loads.iter().all(|&load| have_same_offsets(whole, body, load, store))
        && loads_come_first(body, &loads, store)
}

/// Returns whether a load slot and a store slot have the same offset at every point of the box, and elements of one
/// size. A store of bools must also have a load of bools.
fn have_same_offsets(whole: &BoxPlan, body: &KernelBody, load: usize, store: usize) -> bool {
    let (from, to) = (&whole.slots[load], &whole.slots[store]);
    let (kind, stored) = (body.slots[load], body.slots[store]);
    kind.used == SlotUse::Load
        && stored.used == SlotUse::Store
        && kind.pattern == stored.pattern
        && kind.dtype.size_bytes() == stored.dtype.size_bytes()
        // Memory of bools may belong to the caller, so it never holds other bytes than 0 and 1, even during a run.
        && (kind.dtype == stored.dtype || stored.dtype != DType::Bool)
        && (&from.outer, from.row, from.inner, &from.loops) == (&to.outer, to.row, to.inner, &to.loops)
        && (from.base == to.base || is_second_of_pair(stored, to.base, from.base))
}

/// Returns whether `offset` is the second element of the pair that a store puts at `base`.
fn is_second_of_pair(stored: SlotType, base: i64, offset: i64) -> bool {
    let size = stored.dtype.size_bytes().expect("elements of kernel slots have a fixed size");
    stored.pattern == AccessPattern::Strided(2) && offset == base + size as i64
}

/// Returns whether every load of an element runs before `store` stores this element.
///
/// Emitters move the stores of a body to its end, and also the loads that feed only stores. At the end, these stores
/// and loads run in any order. So `store` must be the only store of its body, and no later body may load or store
/// again.
fn loads_come_first(body: &KernelBody, loads: &[usize], store: usize) -> bool {
    let bodies: Vec<_> = body.passes.iter().map(|pass| &pass.body).chain([&body.epilogue]).collect();
    let is_store = |op: &InstOp| matches!(op, InstOp::Store { .. } | InstOp::StorePair { .. });
    let is_this_store = |op: &InstOp| is_store(op) && op.slot() == Some(store as u32);
    let Some(index) = bodies.iter().position(|body| body.iter().any(|inst| is_this_store(&inst.op))) else {
        return false;
    };
    let is_load = |op: &InstOp| matches!(op, InstOp::Load(slot) if loads.contains(&(*slot as usize)));
    bodies[index].iter().filter(|inst| is_store(&inst.op)).count() == 1
        && !bodies[index + 1..]
            .iter()
            .any(|body| body.iter().any(|inst| is_load(&inst.op) || is_this_store(&inst.op)))
}
