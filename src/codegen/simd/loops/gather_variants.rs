//! The two code variants for elements that are gathered one by one: with 4-byte offsets, and with 8-byte offsets.

use super::function::FunctionEmitter;
use crate::codegen::simd::asm::{Alu, Cond, RAX};
use crate::codegen::simd::ir::{LoopBody, frame_mem};
use crate::codegen::simd::select::CodeVariant;

impl FunctionEmitter<'_> {
    /// Calls `emit` once for a body that gathers no elements one by one. For other bodies, calls `emit` twice: for
    /// offsets whose sum fits in a 4-byte lane, and for larger offsets. Larger offsets are rare, so their code is cold.
    pub fn with_offset_variants(
        &mut self,
        body: &LoopBody<'_>,
        emit: &mut dyn FnMut(&mut Self, CodeVariant),
    ) {
        let offsets = body.element_offsets();
        if offsets.is_empty() {
            return emit(self, CodeVariant::default());
        }
        // If each `limit * stride` is at most this, the sum of all offsets fits in an i32.
        let max = i32::MAX / offsets.len() as i32;
        let jump_if_far = |f: &mut Self, far| {
            for (limit, stride) in offsets {
                let asm = &mut f.asm;
                asm.mov(RAX, frame_mem(f.layout.scalars[limit as usize]));
                asm.imul(RAX, frame_mem(f.layout.scalars[stride as usize]));
                asm.alu_imm(Alu::Cmp, RAX, max);
                asm.jump_if(Cond::Greater, far);
                asm.alu_imm(Alu::Cmp, RAX, -max);
                asm.jump_if(Cond::Less, far);
            }
        };
        self.either(jump_if_far, &mut |f, far| {
            emit(f, CodeVariant { narrow_offsets: !far, cold: far, ..CodeVariant::default() });
        });
    }
}
