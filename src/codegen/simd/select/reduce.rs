//! Operands, accumulators and results of reductions.

use shapeflow_shape_fns::DType;
use smallvec::SmallVec;

use super::selected_value::VectorIds;
use super::selector::Selector;
use crate::codegen::legalize::{ends_with_zero, reduce_step};
use crate::codegen::repr::Repr;
use crate::codegen::simd::asm::{VectorIsa, VectorLen, opcode};
use crate::codegen::simd::ir::{MemRef, Tail, ValueOrigin, VectorId, VectorInstKind};
use crate::lower::kernel_body::{LaneLayout, ReduceStep};

impl Selector<'_> {
    /// Selects the result of reduction `k`. A row kernel has one result for the row. In a column kernel every lane has
    /// its own result, in the tile.
    pub fn reduced(&mut self, k: u32) -> VectorIds {
        if self.code.layout == LaneLayout::Row {
            let offset = self.layout.reduced[k as usize];
            return VectorIds::repeated(self.block.value_from(ValueOrigin::Frame(offset)), 1);
        }
        let reduce = reduce_step(self.code, k);
        let lanes = self.load_tile(reduce);
        self.map(&lanes, |s, x| s.finish_reduction(reduce, x))
    }

    /// Selects the last step of a reduction for accumulators `x`: the final addition of a float sum, and rounding or
    /// wrapping to the dtype.
    pub fn finish_reduction(&mut self, reduce: ReduceStep, mut x: VectorId) -> VectorId {
        if ends_with_zero(reduce) {
            let double = reduce.dtype == DType::F64;
            let zero = self.splat(0, 8);
            x = self.op2(if double { opcode::ADD_PD } else { opcode::ADD_PS }, x, zero);
        }
        self.settle(reduce.dtype, x)
    }

    /// Loads the accumulators of a column reduction.
    pub fn load_tile(&mut self, reduce: ReduceStep) -> VectorIds {
        let bytes = Repr::of(reduce.dtype).bytes();
        let len = self.vector_len();
        (0..self.vectors(bytes))
            .map(|j| {
                let mem = MemRef::Tile(reduce.into, bytes as u8, self.tile_offset(j));
                self.block
                    .push(VectorInstKind::Load { op: opcode::MOV_LOAD, len, mem, tail: Tail::Whole }, &[])
            })
            .collect()
    }

    /// Returns the offset in bytes of vector `j` of a step, from the accumulators of the step's first element.
    fn tile_offset(&self, j: usize) -> i32 {
        j as i32 * self.vector_len().bytes() as i32
    }

    /// Selects all copies of a body for a step of a column kernel, and reduces their elements into the tile, copy after
    /// copy.
    pub fn reduce_in_tile(&mut self, reduces: &[ReduceStep], order: &[u32]) {
        let mut sums: SmallVec<[VectorIds; 2]> = SmallVec::new();
        for copy in 0..self.body.copies as u32 {
            self.restart(self.plan.mode, copy);
            self.select_varying(order);
            for (index, reduce) in reduces.iter().enumerate() {
                let values = self.vectors_of(reduce.value);
                if copy == 0 {
                    sums.push(self.load_tile(*reduce));
                }
                let sum = sums[index];
                sums[index] =
                    self.zip(&sum, &values, |s, x, y| s.combine(reduce.dtype, reduce.op.combiner(), x, y));
            }
        }
        for (reduce, sum) in reduces.iter().zip(sums) {
            let bytes = Repr::of(reduce.dtype).bytes();
            for (j, x) in sum.iter().enumerate() {
                let mem = MemRef::Tile(reduce.into, bytes as u8, self.tile_offset(j));
                self.store_whole(mem, *x);
            }
        }
    }

    /// Selects the operands of a reduction in a step. In lanes past the end of the row, the operand is the identity.
    pub fn reduction_operands(&mut self, reduce: ReduceStep) -> VectorIds {
        let values = self.vectors_of(reduce.value);
        if !self.is_masked() {
            return values;
        }
        let bytes = Repr::of(reduce.dtype).bytes();
        let identity = self.splat_of(reduce.op.identity(reduce.dtype));
        (0..values.len())
            .map(|j| {
                let tail = self.tail_lanes(j, bytes);
                self.choose(tail, values[j], identity)
            })
            .collect()
    }

    /// Combines a vector into the accumulators at `mem`.
    pub fn reduce_into(&mut self, reduce: ReduceStep, mem: MemRef, value: VectorId) {
        let len = self.vector_len();
        let load = VectorInstKind::Load { op: opcode::MOV_LOAD, len, mem, tail: Tail::Whole };
        let before = self.block.push(load, &[]);
        let after = self.combine(reduce.dtype, reduce.op.combiner(), before, value);
        self.store_whole(mem, after);
    }

    /// Stores a whole vector.
    pub fn store_whole(&mut self, mem: MemRef, value: VectorId) {
        let len = self.vector_len();
        let store = VectorInstKind::Store { op: opcode::MOV_STORE, len, imm: None, mem, tail: Tail::Whole };
        self.block.push_effect(store, &[value]);
    }

    /// Selects the result of a reduction: combines the upper half of the lanes of its last vector with the lower half
    /// until one lane is left. Every lane of the returned vector holds the result.
    pub fn reduce_lanes(&mut self, reduce: ReduceStep, mut x: VectorId) -> VectorId {
        let combiner = reduce.op.combiner();
        let wide = Repr::of(reduce.dtype).bytes() == 8;
        if self.isa == VectorIsa::Avx512 {
            let high = self.high_half(x);
            x = self.combine(reduce.dtype, combiner, x, high);
        }
        let extract = VectorInstKind::Op { op: opcode::EXTRACT_128, len: VectorLen::Y, imm: Some(1) };
        let high = self.block.push(extract, &[x]);
        x = self.combine(reduce.dtype, combiner, x, high);
        let swaps: &[u8] = if wide { &[0x4e] } else { &[0x4e, 0xb1] };
        for order in swaps {
            let other = self.op_imm(opcode::SHUFFLE_D, &[x], Some(*order));
            x = self.combine(reduce.dtype, combiner, x, other);
        }
        let x = self.finish_reduction(reduce, x);
        self.op1(if wide { opcode::SPLAT_PD } else { opcode::SPLAT_PS }, x)
    }
}
