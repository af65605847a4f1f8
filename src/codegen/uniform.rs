//! Uniformity: the instructions of a body that have one value for the whole inner loop.
//!
//! Emitters compute uniform instructions once, before the inner loop.

use crate::lower::kernel_body::{AccessPattern, Inst, InstId, InstOp, KernelBody, LaneLayout, SlotUse};

/// Returns for each instruction of a body whether it is uniform. A store never is.
pub(super) fn uniform_insts(code: &KernelBody, body: &[Inst]) -> Vec<bool> {
    let mut uniform = Vec::with_capacity(body.len());
    for inst in body {
        uniform.push(is_uniform(code, inst, &uniform));
    }
    uniform
}

/// Returns whether every offset of a gather is uniform. The offsets are then added to the slot's address once, before
/// the inner loop. `uniform` has an entry for each instruction of the body.
pub(super) fn has_uniform_offsets(uniform: &[bool], offsets: &[(InstId, u32)]) -> bool {
    offsets.iter().all(|(v, _)| uniform[v.0 as usize])
}

/// Returns whether `inst` is uniform. `before[i]` is whether the earlier instruction `i` is uniform.
fn is_uniform(code: &KernelBody, inst: &Inst, before: &[bool]) -> bool {
    let of = |v: InstId| before[v.0 as usize];
    let splat = |slot: u32| code.slots[slot as usize].pattern == AccessPattern::Splat;
    match &inst.op {
        InstOp::Const(_) | InstOp::Scalar(_) => true,
        InstOp::Iota(slot) => splat(*slot),
        InstOp::Load(slot) => splat(*slot) && code.slots[*slot as usize].used == SlotUse::Load,
        InstOp::Gather { slot, offsets } => splat(*slot) && has_uniform_offsets(before, offsets),
        InstOp::Reduced(_) => code.layout == LaneLayout::Row,
        InstOp::Store { .. } | InstOp::StorePair { .. } => false,
        InstOp::Unary(_, a) | InstOp::Cast(a) | InstOp::Bitcast(a) => of(*a),
        InstOp::CheckIndex { value, .. } => of(*value),
        InstOp::Binary(_, a, b) => of(*a) && of(*b),
        InstOp::MulAdd(a, b, c) | InstOp::Select(a, b, c) => of(*a) && of(*b) && of(*c),
    }
}
