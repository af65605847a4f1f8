//! Operands of instructions: constants, and the forms of a value (see [`SelectedValue`]).

use super::selected_value::{SelectedValue, VectorIds};
use super::selector::{SelectMode, Selector};
use crate::codegen::repr::{Repr, lane_bits};
use crate::codegen::simd::asm::opcode;
use crate::codegen::simd::ir::{ValueOrigin, VectorId};
use crate::expr::Scalar;
use crate::lower::kernel_body::InstId;

impl Selector<'_> {
    /// Returns a constant with `bits` in every lane. Lanes have `bytes` bytes, 4 or 8.
    pub fn splat(&mut self, bits: u64, bytes: u32) -> VectorId {
        let offset = self.pool.splat(bits, bytes);
        self.block.value_from(ValueOrigin::Pool(offset))
    }

    /// Returns a constant with `value` in every lane.
    pub fn splat_of(&mut self, value: Scalar) -> VectorId {
        self.splat(lane_bits(value), Repr::of(value.dtype()).bytes())
    }

    /// Returns a constant that repeats 16 bytes.
    pub fn splat_pattern(&mut self, pattern: u128) -> VectorId {
        let offset = self.pool.pattern(pattern);
        self.block.value_from(ValueOrigin::Pool(offset))
    }

    /// Returns the mask of the remaining elements in vector `j` of a masked step, with lanes of `bytes` bytes.
    pub fn tail_lanes(&mut self, j: usize, bytes: u32) -> VectorId {
        let offset = if bytes == 4 { self.layout.masks[0] } else { self.layout.masks[1 + j] };
        self.block.value_from(ValueOrigin::Frame(offset))
    }

    /// Returns whether `v` is computed before the code that is being selected: that code is a step of the inner loop,
    /// and `v` is uniform. The step reads the value from the constant pool, the frame or a register.
    pub fn is_hoisted(&self, v: InstId) -> bool {
        self.plan.mode != SelectMode::OneElement && self.body.uniform[v.0 as usize]
    }

    /// Reads a uniform value from its origin, in a step of the inner loop.
    fn uniform_value(&mut self, v: InstId) -> VectorId {
        let origin = self.plan.uniforms[v.0 as usize];
        self.block.value_from(origin.expect("every uniform value that a step reads has an origin"))
    }

    /// Returns the vectors of `v`. A mask has lanes of 4 bytes.
    pub fn vectors_of(&mut self, v: InstId) -> VectorIds {
        if self.is_hoisted(v) {
            let bytes = Repr::of(self.dtype(v)).bytes();
            let one = self.uniform_value(v);
            return VectorIds::repeated(one, self.vectors(bytes));
        }
        let val = &self.values[v.0 as usize];
        if !val.vectors.is_empty() {
            return val.vectors;
        }
        let SelectedValue { wide_mask, index_words, .. } = *val;
        let made = match (wide_mask.is_empty(), index_words.is_empty()) {
            (_, false) => self.widen(&index_words, opcode::ZX_DQ),
            (false, true) => self.narrow_pairs(&wide_mask, Selector::even_words),
            (true, true) => unreachable!("{v:?} is selected before its users"),
        };
        self.values[v.0 as usize].vectors = made;
        made
    }

    /// Returns the low 4 bytes of the checked index `v`, in lanes of 4 bytes.
    pub fn index_words(&mut self, v: InstId) -> VectorIds {
        if self.is_hoisted(v) {
            let one = self.uniform_value(v);
            let word = self.op_imm(opcode::SHUFFLE_D, &[one], Some(0xa0));
            return VectorIds::repeated(word, self.vectors(4));
        }
        let words = self.values[v.0 as usize].index_words;
        if !words.is_empty() {
            return words;
        }
        let x = self.vectors_of(v);
        self.narrow_pairs(&x, Selector::even_words)
    }

    /// Returns the mask `v` with lanes of `bytes` bytes.
    pub fn mask(&mut self, v: InstId, bytes: u32) -> VectorIds {
        if bytes == 4 {
            return self.vectors_of(v);
        }
        if self.is_hoisted(v) {
            let one = self.uniform_value(v);
            return VectorIds::repeated(one, self.vectors(8));
        }
        let wide = self.values[v.0 as usize].wide_mask;
        if !wide.is_empty() {
            return wide;
        }
        let narrow = self.vectors_of(v);
        let made = self.widen(&narrow, opcode::SX_DQ);
        self.values[v.0 as usize].wide_mask = made;
        made
    }

    /// Returns whether the mask `v` exists only with 8-byte lanes.
    pub fn is_wide(&self, v: InstId) -> bool {
        let val = &self.values[v.0 as usize];
        !val.wide_mask.is_empty() && val.vectors.is_empty()
    }
}
