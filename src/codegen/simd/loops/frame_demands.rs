//! `frame_demands`: the needs of a kernel in the stack frame of its function.

use smallvec::SmallVec;

use crate::codegen::repr::Repr;
use crate::codegen::simd::ir::{AddressSlice, FrameDemands, LaneScalar, LoopBody};
use crate::codegen::uniform::has_uniform_offsets;
use crate::lower::kernel_body::{AccessPattern, Inst, InstOp, KernelBody, LaneLayout, Pass, SlotUse};

/// Returns the demands of `code`.
pub(super) fn frame_demands(code: &KernelBody) -> FrameDemands {
    let is_gathering = code.slots.iter().any(|slot| slot.used == SlotUse::Gather);
    let bodies = || code.passes.iter().map(|pass| &pass.body).chain([&code.epilogue]);
    let checks_index = |inst: &Inst| matches!(inst.op, InstOp::CheckIndex { .. });
    let longest_body = || bodies().map(Vec::len).max().unwrap_or(0);
    FrameDemands {
        gather_strides: gather_strides(code),
        reads_scalars: is_gathering || bodies().flatten().any(checks_index),
        lane_scalars: lane_scalars(code),
        index_words: if is_gathering { longest_body() } else { 0 },
        prefetch_copies: if is_gathering { prefetch_copies(code) } else { None },
        read_ahead: code.passes.iter().flat_map(|pass| slots_read_ahead(code, pass)).collect(),
    }
}

/// Returns, for each slot, the strides of its gather offsets, as indices of run-time scalars. All gathers of a slot
/// have the same strides.
fn gather_strides(code: &KernelBody) -> Vec<SmallVec<[u32; 2]>> {
    let mut strides = vec![SmallVec::new(); code.slots.len()];
    for inst in code.passes.iter().flat_map(|pass| &pass.body).chain(&code.epilogue) {
        if let InstOp::Gather { slot, offsets } = &inst.op {
            strides[*slot as usize] = offsets.iter().map(|(_, stride)| *stride).collect();
        }
    }
    strides
}

/// Returns the limits and strides that vector lanes need, in order of first use.
fn lane_scalars(code: &KernelBody) -> Vec<LaneScalar> {
    let mut found: Vec<LaneScalar> = Vec::new();
    let mut add = |scalar| {
        if !found.contains(&scalar) {
            found.push(scalar);
        }
    };
    let level = code.loops as usize;
    let passes = code.passes.iter().map(|pass| (&pass.body, &pass.reduces[..], level));
    for (insts, reduces, level) in passes.chain([(&code.epilogue, &[][..], 0)]) {
        if !insts.iter().any(|inst| matches!(inst.op, InstOp::CheckIndex { .. })) {
            continue;
        }
        let body = LoopBody::new(code, insts, reduces, level);
        for (index, inst) in insts.iter().enumerate() {
            match &inst.op {
                InstOp::CheckIndex { value, limit } if !body.index[index] => {
                    let bytes = Repr::of(insts[value.0 as usize].dtype).bytes();
                    add(LaneScalar::Limit { scalar: *limit, bytes });
                }
                InstOp::Gather { offsets, .. } if !has_uniform_offsets(&body.uniform, offsets) => {
                    offsets.iter().for_each(|(_, scalar)| add(LaneScalar::Stride { scalar: *scalar }));
                }
                _ => {}
            }
        }
    }
    found
}

/// Returns [`FrameDemands::prefetch_copies`]. The code prefetches if a pass gathers rows whose addresses it can compute
/// ahead, from slots.
fn prefetch_copies(code: &KernelBody) -> Option<usize> {
    if AddressSlice::of_passes(code).all(|slice| slice.slots.is_empty()) {
        return None;
    }
    let level = code.loops as usize;
    let copies = code.passes.iter().map(|pass| {
        let body = LoopBody::new(code, &pass.body, &pass.reduces, level);
        body.at_positions(code, pass).map_or(1, |body| body.copies)
    });
    Some(copies.max().unwrap_or(1))
}

/// Returns the slots that a pass reads ahead: loads of adjacent elements that no earlier pass reads. What an earlier
/// pass has read is in the caches.
pub(super) fn slots_read_ahead(code: &KernelBody, pass: &Pass) -> Vec<u32> {
    if code.layout != LaneLayout::Row || pass.reduces.is_empty() {
        return Vec::new();
    }
    let names = |pass: &Pass, slot: u32| pass.body.iter().any(|inst| inst.op.slot() == Some(slot));
    let earlier = || code.passes.iter().take_while(|earlier| !std::ptr::eq(*earlier, pass));
    let is_read_ahead = |slot: &u32| {
        let slot_type = &code.slots[*slot as usize];
        slot_type.used == SlotUse::Load
            && slot_type.pattern == AccessPattern::Contiguous
            && names(pass, *slot)
            && !earlier().any(|earlier| names(earlier, *slot))
    };
    (0..code.slots.len() as u32).filter(is_read_ahead).collect()
}
