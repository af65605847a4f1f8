//! Stores of pairs of elements, such as complex numbers: two vectors become two vectors of pairs.

use super::selected_value::VectorIds;
use super::selector::{SelectMode, Selector};
use crate::codegen::repr::size_of;
use crate::codegen::simd::asm::opcode;
use crate::codegen::simd::ir::{MemRef, Tail, ValueOrigin, VectorId, VectorInstKind};
use crate::lower::kernel_body::InstId;

impl Selector<'_> {
    /// Stores pairs: the two values of each element of the step go to adjacent elements of a slot. Elements have 4 or 8
    /// bytes.
    pub fn store_pair(&mut self, slot: u32, values: [InstId; 2]) {
        let dtype = self.code.slots[slot as usize].dtype;
        let size = size_of(dtype);
        let parts: [VectorIds; 2] = values.map(|v| self.vectors_of(v).iter().copied().collect());
        let SelectMode::Step { ahead, masked, .. } = self.plan.mode else {
            for (offset, part) in [0, size].into_iter().zip(&parts) {
                let store = VectorInstKind::StoreOne { bytes: size as u8, slot, offset: offset as i32 };
                self.block.push_effect(store, &[part[0]]);
            }
            return;
        };
        let len = self.vector_len();
        if masked {
            for (offset, part) in [0, size].into_iter().zip(&parts) {
                for (j, x) in part.iter().enumerate() {
                    let mem = MemRef::Frame(self.layout.staging + j as u32 * len.bytes());
                    self.store_vector(dtype, *x, mem, Tail::Whole);
                }
                self.block.push_effect(VectorInstKind::Stage { slot, out: true, offset }, &[]);
            }
            return;
        }
        for (j, (x, y)) in parts[0].iter().zip(parts[1].iter()).enumerate() {
            for half in [0, 1] {
                let pairs = self.interleaved(*x, *y, half, size);
                let offset = 2 * ahead * size + (2 * j as u32 + half) * len.bytes();
                self.store_vector(dtype, pairs, MemRef::Slot(slot, offset as i32), Tail::Whole);
            }
        }
    }

    /// Selects half of the pairs (lane of `x`, lane of `y`) as one vector: the lower half of the lanes for `half` 0,
    /// the upper half for `half` 1. Lanes have `size` bytes.
    fn interleaved(&mut self, x: VectorId, y: VectorId, half: u32, size: u32) -> VectorId {
        let count = self.vector_len().bytes() / size;
        let words = size / 4;
        let lanes = (0..count).map(|lane| (half * count + lane) / 2);
        let order = lanes.flat_map(|lane| (0..words).map(move |word| lane * words + word));
        let order = self.pool.lanes(order);
        let order = self.block.value_from(ValueOrigin::Pool(order));
        let [x, y] = [x, y].map(|part| self.op2(opcode::PERMUTE_PS, order, part));
        let odd = (0..count).filter(|lane| lane % 2 == 1).fold(0, |lanes, lane| lanes | 1 << lane);
        self.blend(x, y, odd, size)
    }
}
