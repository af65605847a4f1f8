//! Loads and stores: elements of any dtype between memory and lanes.

use shapeflow_shape_fns::DType;

use super::selected_value::VectorIds;
use super::selector::{SelectMode, Selector};
use crate::codegen::repr::{Repr, size_of};
use crate::codegen::simd::asm::opcode::{self, Opcode};
use crate::codegen::simd::asm::{VectorIsa, VectorLen};
use crate::codegen::simd::ir::roles::TAIL_MASK;
use crate::codegen::simd::ir::{MemRef, Tail, VectorId, VectorInstKind};
use crate::lower::kernel_body::{AccessPattern, InstId};

/// Byte shuffle: the low byte of each of four 4-byte lanes, moved to the lowest bytes. 0x80 gives 0.
const LOW_BYTES: u128 = 0x8080_8080_8080_8080_8080_8080_0c08_0400;
/// Byte shuffle: the low 2 bytes of each of four 4-byte lanes, moved to the lowest bytes.
const LOW_HALVES: u128 = 0x8080_8080_8080_8080_0d0c_0908_0504_0100;

impl Selector<'_> {
    /// Returns the load instruction for elements of `dtype`. [`Selector::finish_load`] completes it.
    pub fn load_op(dtype: DType) -> Opcode {
        match dtype {
            DType::F16 => opcode::PH_TO_PS,
            DType::BF16 | DType::U16 => opcode::ZX_WD,
            DType::I16 => opcode::SX_WD,
            DType::Bool | DType::U8 => opcode::ZX_BD,
            DType::I8 => opcode::SX_BD,
            _ => opcode::MOV_LOAD,
        }
    }

    /// Completes a load by [`Selector::load_op`]: raw lanes become lanes of `dtype`.
    pub fn finish_load(&mut self, dtype: DType, x: VectorId) -> VectorId {
        match dtype {
            DType::BF16 => self.shift(opcode::SLL_D, x, 16),
            DType::Bool => {
                let zero = self.splat(0, 8);
                self.op2(opcode::SUB_D, zero, x)
            }
            _ => x,
        }
    }

    /// Selects the load of a whole vector, by the instruction `op`.
    pub fn load_from(&mut self, op: Opcode, mem: MemRef) -> VectorId {
        let len = self.vector_len();
        self.block.push(VectorInstKind::Load { op, len, mem, tail: Tail::Whole }, &[])
    }

    /// Loads the elements of a load or scratch slot.
    pub fn load(&mut self, slot: u32) -> VectorIds {
        let access = self.code.slots[slot as usize];
        let dtype = access.dtype;
        // Each copy of a body has address registers of its own for the slots that it loads.
        let slot = self.copy * self.code.slots.len() as u32 + slot;
        let memory_bytes = size_of(dtype);
        let op = Selector::load_op(dtype);
        // Outside the inner loop: one element, repeated in every lane.
        let SelectMode::Step { ahead: first_element, masked, .. } = self.plan.mode else {
            let mem = MemRef::Slot(slot, 0);
            let one = match memory_bytes {
                1 => self.load_from(opcode::SPLAT_B, mem),
                2 => self.load_from(opcode::SPLAT_W, mem),
                4 => self.load_from(opcode::SPLAT_PS, mem),
                _ => self.load_from(opcode::SPLAT_PD, mem),
            };
            let one = if memory_bytes < 4 { self.op1(op, one) } else { one };
            return VectorIds::repeated(self.finish_load(dtype, one), 1);
        };
        let lane_bytes = Repr::of(dtype).bytes();
        let lanes_per_vector = self.vector_len().bytes() / lane_bytes;
        let step = access.pattern.step() as u32;
        let staged = masked && (memory_bytes < 4 && self.isa != VectorIsa::Avx512 || step != 1);
        if staged {
            self.block.push_effect(VectorInstKind::Stage { slot, out: false, offset: 0 }, &[]);
        }
        (0..self.vectors(lane_bytes))
            .map(|j| {
                let offset = j as u32 * lanes_per_vector * memory_bytes;
                let slot_offset = ((first_element * memory_bytes + offset) * step) as i32;
                let mem = MemRef::Slot(slot, slot_offset);
                let x = if staged {
                    self.load_from(op, MemRef::Frame(self.layout.staging + offset))
                } else if step > 1 {
                    self.strided_vector(step, memory_bytes, slot, slot_offset)
                } else if !masked {
                    self.load_from(op, mem)
                } else if self.isa == VectorIsa::Avx512 {
                    let (len, tail) = (self.vector_len(), tail_mask(j, lane_bytes));
                    // The mask has one bit for each lane of the instruction, so 8-byte elements need 8-byte lanes.
                    let op = if lane_bytes == 8 { opcode::MOV_LOAD_Q } else { op };
                    self.block.push(VectorInstKind::Load { op, len, mem, tail }, &[])
                } else {
                    let tail = self.tail_lanes(j, lane_bytes);
                    self.block.push(VectorInstKind::LoadMasked { wide: lane_bytes == 8, mem }, &[tail])
                };
                self.finish_load(dtype, x)
            })
            .collect()
    }

    /// Stores a value to a store or scratch slot.
    pub fn store(&mut self, slot: u32, v: InstId) {
        let access = self.code.slots[slot as usize];
        let dtype = access.dtype;
        let memory_bytes = size_of(dtype);
        let x = self.vectors_of(v);
        let SelectMode::Step { ahead: first_element, masked, .. } = self.plan.mode else {
            let bits = match dtype {
                DType::F16 => self.op_imm(opcode::PS_TO_PH, &[x[0]], Some(0)),
                _ => self.memory_bits(dtype, x[0]),
            };
            self.block.push_effect(
                VectorInstKind::StoreOne { bytes: memory_bytes as u8, slot, offset: 0 },
                &[bits],
            );
            return;
        };
        let lane_bytes = Repr::of(dtype).bytes();
        let lanes_per_vector = self.vector_len().bytes() / lane_bytes;
        if access.pattern == AccessPattern::Splat {
            // All elements have one address, so only the last is stored. `last` holds the elements of the last step:
            // one vector of 4-byte lanes, or two of 8-byte lanes.
            let last = &x[x.len() - (lane_bytes / 4) as usize..];
            for (j, x) in last.iter().enumerate() {
                let mem = MemRef::Frame(self.layout.staging + j as u32 * lanes_per_vector * memory_bytes);
                self.store_vector(dtype, *x, mem, Tail::Whole);
            }
            self.block.push_effect(VectorInstKind::StoreLast { slot, masked }, &[]);
            return;
        }
        let staged = masked && self.isa != VectorIsa::Avx512;
        let vectors_per_pack = (self.vector_len().bytes() / (memory_bytes * lanes_per_vector)) as usize;
        let packs = self.isa == VectorIsa::Avx2 && memory_bytes < 4 && dtype != DType::F16;
        if packs && !masked && x.len().is_multiple_of(vectors_per_pack) {
            let len = self.vector_len();
            for (j, x) in x.chunks(vectors_per_pack).enumerate() {
                let packed = self.pack(dtype, x);
                let mem = MemRef::Slot(slot, (first_element * memory_bytes + j as u32 * len.bytes()) as i32);
                let store =
                    VectorInstKind::Store { op: opcode::MOV_STORE, len, imm: None, mem, tail: Tail::Whole };
                self.block.push_effect(store, &[packed]);
            }
            return;
        }
        for (j, x) in x.iter().copied().enumerate() {
            let offset = j as u32 * lanes_per_vector * memory_bytes;
            let (mem, tail) = if staged {
                (MemRef::Frame(self.layout.staging + offset), Tail::Whole)
            } else {
                let tail = if masked { tail_mask(j, lane_bytes) } else { Tail::Whole };
                (MemRef::Slot(slot, (first_element * memory_bytes + offset) as i32), tail)
            };
            self.store_vector(dtype, x, mem, tail);
        }
        if staged {
            self.block.push_effect(VectorInstKind::Stage { slot, out: true, offset: 0 }, &[]);
        }
    }

    /// Stores one vector of elements of `dtype`, narrowed to their size in memory.
    pub fn store_vector(&mut self, dtype: DType, x: VectorId, mem: MemRef, tail: Tail) {
        let bits = if dtype == DType::F16 { x } else { self.memory_bits(dtype, x) };
        let wide = self.isa == VectorIsa::Avx512;
        let len = self.vector_len();
        let (op, len, imm, value) = match (size_of(dtype), wide) {
            (2, _) if dtype == DType::F16 => (opcode::PS_TO_PH, len, Some(0), bits),
            (1, true) => (opcode::DOWN_DB, len, None, bits),
            (2, true) => (opcode::DOWN_DW, len, None, bits),
            (1, false) => {
                let order = self.splat_pattern(LOW_BYTES);
                let packed = self.op2(opcode::SHUFFLE_B, bits, order);
                let high = self.high_half(packed);
                (opcode::STORE_Q, VectorLen::X, None, self.op2(opcode::UNPACK_LOW_D, packed, high))
            }
            (2, false) => (opcode::MOV_STORE, VectorLen::X, None, self.low_words(bits)),
            (8, _) if tail != Tail::Whole => (opcode::MOV_STORE_Q, len, None, bits),
            _ => (opcode::MOV_STORE, len, None, bits),
        };
        self.block.push_effect(VectorInstKind::Store { op, len, imm, mem, tail }, &[value]);
    }

    /// AVX2: the memory format of two vectors of 2-byte elements, or four of 1-byte elements, as one vector.
    fn pack(&mut self, dtype: DType, x: &[VectorId]) -> VectorId {
        // Every lane is in range, so no pack saturates. A pack works on each 16 bytes by itself; the permutations put
        // the elements in order.
        let [words, bytes] = match dtype {
            DType::I8 | DType::I16 => [opcode::PACK_SDW, opcode::PACK_SWB],
            _ => [opcode::PACK_UDW, opcode::PACK_UWB],
        };
        let bits: VectorIds = x.iter().map(|x| self.memory_bits(dtype, *x)).collect();
        let words: VectorIds = bits.chunks(2).map(|pair| self.op2(words, pair[0], pair[1])).collect();
        let [low, high] = words[..] else {
            return self.op_imm(opcode::PERMUTE_Q, &[words[0]], Some(0xd8));
        };
        let mixed = self.op2(bytes, low, high);
        let pairs = self.op_imm(opcode::PERMUTE_Q, &[mixed], Some(0xd8));
        self.op_imm(opcode::SHUFFLE_D, &[pairs], Some(0xd8))
    }

    /// Packs the low 2 bytes of each 4-byte lane into the lower half of a vector.
    pub fn low_words(&mut self, x: VectorId) -> VectorId {
        if self.isa == VectorIsa::Avx512 {
            return self.op1(opcode::DOWN_DW, x);
        }
        let order = self.splat_pattern(LOW_HALVES);
        let packed = self.op2(opcode::SHUFFLE_B, x, order);
        self.op_imm(opcode::PERMUTE_Q, &[packed], Some(8))
    }
}

/// AVX-512: returns the mask for vector `j` of a masked step, with lanes of `bytes` bytes.
fn tail_mask(j: usize, bytes: u32) -> Tail {
    Tail::Mask(if bytes == 8 { TAIL_MASK + 1 + j as u8 } else { TAIL_MASK })
}
