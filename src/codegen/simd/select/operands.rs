//! Operands of instructions: constants, and the forms of a selected value.

use super::selected_value::{SelectedValue, VectorIds};
use super::selector::{SelectMode, Selector};
use crate::codegen::repr::{Repr, lane_bits};
use crate::codegen::simd::asm::opcode;
use crate::codegen::simd::ir::{ValueOrigin, VectorId};
use crate::expr::Scalar;
use crate::lower::kernel_body::Vid;

impl Selector<'_> {
    /// A constant with `bits` in every lane of 4 or 8 bytes.
    pub fn splat(&mut self, bits: u64, bytes: u32) -> VectorId {
        let offset = self.pool.splat(bits, bytes);
        self.block.value_from(ValueOrigin::Pool(offset))
    }

    /// A constant with `value` in every lane.
    pub fn splat_of(&mut self, value: Scalar) -> VectorId {
        self.splat(lane_bits(value), Repr::of(value.dtype()).bytes())
    }

    /// A constant that repeats 16 bytes.
    pub fn splat_pattern(&mut self, pattern: u128) -> VectorId {
        let offset = self.pool.pattern(pattern);
        self.block.value_from(ValueOrigin::Pool(offset))
    }

    /// The mask of the remaining elements in vector `j` of a masked step, with lanes of `bytes` bytes.
    pub fn tail_lanes(&mut self, j: usize, bytes: u32) -> VectorId {
        let offset = if bytes == 4 { self.layout.masks[0] } else { self.layout.masks[1 + j] };
        self.block.value_from(ValueOrigin::Frame(offset))
    }

    /// Whether a step reads `v` as a uniform value.
    pub fn is_uniform(&self, v: Vid) -> bool {
        self.plan.mode != SelectMode::Once && self.body.uniform[v.0 as usize]
    }

    /// A uniform value inside a step.
    fn uniform_value(&mut self, v: Vid) -> VectorId {
        let origin = self.plan.uniforms[v.0 as usize];
        self.block.value_from(origin.expect("every uniform value that a step reads has a location"))
    }

    /// The vectors of `v`. A mask has lanes of 4 bytes.
    pub fn vectors_of(&mut self, v: Vid) -> VectorIds {
        if self.is_uniform(v) {
            let bytes = Repr::of(self.dtype(v)).bytes();
            let one = self.uniform_value(v);
            return VectorIds::repeated(one, self.vectors(bytes));
        }
        let val = &self.values[v.0 as usize];
        if !val.vectors.is_empty() {
            return val.vectors;
        }
        let SelectedValue { wide, words, .. } = *val;
        let made = match (wide.is_empty(), words.is_empty()) {
            (_, false) => self.widen(&words, opcode::ZX_DQ),
            (false, true) => self.narrow_pairs(&wide, Selector::even_words),
            (true, true) => unreachable!("{v:?} is selected before its users"),
        };
        self.values[v.0 as usize].vectors = made;
        made
    }

    /// The low words of the checked index `v`, in lanes of 4 bytes.
    pub fn index_words(&mut self, v: Vid) -> VectorIds {
        if self.is_uniform(v) {
            let one = self.uniform_value(v);
            let word = self.op_imm(opcode::SHUFFLE_D, &[one], Some(0xa0));
            return VectorIds::repeated(word, self.vectors(4));
        }
        let words = self.values[v.0 as usize].words;
        if !words.is_empty() {
            return words;
        }
        let x = self.vectors_of(v);
        self.narrow_pairs(&x, Selector::even_words)
    }

    /// The mask `v` with lanes of `bytes` bytes.
    pub fn mask(&mut self, v: Vid, bytes: u32) -> VectorIds {
        if bytes == 4 {
            return self.vectors_of(v);
        }
        if self.is_uniform(v) {
            let one = self.uniform_value(v);
            return VectorIds::repeated(one, self.vectors(8));
        }
        let wide = self.values[v.0 as usize].wide;
        if !wide.is_empty() {
            return wide;
        }
        let narrow = self.vectors_of(v);
        let made = self.widen(&narrow, opcode::SX_DQ);
        self.values[v.0 as usize].wide = made;
        made
    }

    /// Whether the mask `v` exists only with 8-byte lanes.
    pub fn is_wide(&self, v: Vid) -> bool {
        let val = &self.values[v.0 as usize];
        !val.wide.is_empty() && val.vectors.is_empty()
    }
}
