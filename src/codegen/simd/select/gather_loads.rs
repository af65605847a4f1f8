//! Gathers: loads whose addresses depend on values of the body.
//!
//! Uniform offsets are added to the slot's address once. The elements of the slot are then loaded as from any other
//! slot. With varying offsets, elements are inserted into a vector one by one.

use smallvec::SmallVec;

use super::selected_value::VectorIds;
use super::selector::{SelectMode, Selector};
use crate::codegen::repr::{Repr, size_of};
use crate::codegen::simd::asm::{VectorLen, opcode};
use crate::codegen::simd::ir::{
    GatherGroup, LaneScalar, MemRef, Tail, ValueOrigin, VectorId, VectorInstKind,
};
use crate::codegen::uniform::has_uniform_offsets;
use crate::lower::kernel_body::InstId;

impl Selector<'_> {
    /// Adds uniform offsets to the address of a slot. Each offset is a checked index and the scalar with its stride.
    pub fn displace_slot(&mut self, slot: u32, offsets: &[(InstId, u32)]) {
        for (k, (v, _)) in offsets.iter().enumerate() {
            let offset = k as u32;
            if self.body.index[v.0 as usize] {
                let word = self.index_word(*v);
                self.block.push_effect(VectorInstKind::DisplaceBy { slot, offset, word, passed: false }, &[]);
            } else {
                let vector = self.vectors_of(*v)[0];
                self.block.push_effect(VectorInstKind::Displace { slot, offset }, &[vector]);
            }
        }
    }

    /// Selects the instructions that load the elements of a gather slot.
    pub fn gather(&mut self, slot: u32, offsets: &[(InstId, u32)]) -> VectorIds {
        let SelectMode::Step { ahead, masked, .. } = self.plan.mode else {
            self.displace_slot(slot, offsets);
            return self.load(slot);
        };
        let slot_at_row = has_uniform_offsets(&self.body.uniform, offsets);
        if slot_at_row && !self.plan.variant.strided_rows {
            return self.load(slot);
        }
        let dtype = self.code.slots[slot as usize].dtype;
        let len = self.vector_len();
        let narrow_offsets = self.plan.variant.narrow_offsets && !slot_at_row;
        if narrow_offsets {
            let mut sums = VectorIds::default();
            for (v, stride) in offsets {
                let stride = self.layout.lane_scalar(LaneScalar::Stride { scalar: *stride });
                let stride = self.block.value_from(ValueOrigin::Frame(stride));
                let words = self.index_words(*v);
                let moved = self.map(&words, |s, word| s.op2(opcode::MUL_D, word, stride));
                sums = match sums.is_empty() {
                    true => moved,
                    false => self.zip(&sums, &moved, |s, a, b| s.op2(opcode::ADD_D, a, b)),
                };
            }
            self.keep_offsets(0, &sums);
        } else if !slot_at_row {
            for (k, (v, _)) in offsets.iter().enumerate() {
                let x = self.vectors_of(*v);
                self.keep_offsets(k, &x);
            }
        }
        let (bytes, size) = (Repr::of(dtype).bytes(), size_of(dtype));
        let lanes_per_vector = len.bytes() / bytes;
        let count = lanes_per_vector.min(16 / size);
        (0..self.vectors(bytes) as u32)
            .map(|j| {
                let groups: SmallVec<[VectorId; 4]> = (0..lanes_per_vector / count)
                    .map(|part| {
                        let lane = j * lanes_per_vector + part * count;
                        let group = GatherGroup {
                            lane,
                            ahead: ahead + lane,
                            count,
                            slot_at_row,
                            masked,
                            narrow_offsets,
                        };
                        self.block.push(VectorInstKind::Gather { slot, group }, &[])
                    })
                    .collect();
                let raw = self.assembled(&groups);
                let x = if size < 4 { self.op1(Selector::load_op(dtype), raw) } else { raw };
                self.finish_load(dtype, x)
            })
            .collect()
    }

    /// Stores the lanes of `x` to area `k` of the frame for offsets: one lane for each element of a step.
    fn keep_offsets(&mut self, k: usize, x: &VectorIds) {
        let len = self.vector_len();
        for (j, x) in x.iter().enumerate() {
            let mem = MemRef::Frame(self.layout.offsets[k] + j as u32 * len.bytes());
            let store =
                VectorInstKind::Store { op: opcode::MOV_STORE, len, imm: None, mem, tail: Tail::Whole };
            self.block.push_effect(store, &[*x]);
        }
    }

    /// Selects one vector that consists of 16-byte parts.
    fn assembled(&mut self, parts: &[VectorId]) -> VectorId {
        let pair = |s: &mut Self, a: VectorId, b: VectorId| {
            s.block
                .push(VectorInstKind::Op { op: opcode::INSERT_128, len: VectorLen::Y, imm: Some(1) }, &[a, b])
        };
        match *parts {
            [a, b, c, d] => {
                let (low, high) = (pair(self, a, b), pair(self, c, d));
                self.join(low, high)
            }
            [a, b] => pair(self, a, b),
            [one] => one,
            _ => unreachable!("a vector has one, two or four parts of 16 bytes"),
        }
    }
}
