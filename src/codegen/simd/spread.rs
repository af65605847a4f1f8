//! Elements that are gathered one by one: limits and strides of their offsets in vector lanes, and the code for those
//! that lie near each other beside that for all others.

use smallvec::SmallVec;

use super::Isa;
use super::allocate::frame_at;
use super::frame::Frame;
use super::function::{Body, Function};
use super::gather::is_placed;
use super::op;
use super::scalar::{Alu, Cond, RAX, RCX, RDX};
use super::select::Refusal;
use crate::codegen::clif::Repr;
use crate::lower::code::{Code, Inst, InstOp};

/// Vectors of the frame, each with a run-time scalar in all its lanes.
#[derive(Default)]
pub(super) struct Spread {
    /// Limits of checked indices by scalar and bytes of a lane, ready to be compared.
    limits: Vec<(u32, u32, u32)>,
    /// Strides by scalar, in lanes of 4 bytes.
    strides: Vec<(u32, u32)>,
}

impl Spread {
    pub fn new(code: &Code, isa: Isa, frame: &mut Frame) -> Spread {
        let mut spread = Spread::default();
        let level = code.loops as usize;
        let passes = code.passes.iter().map(|pass| (&pass.body, &pass.folds[..], level));
        for (insts, folds, level) in passes.chain([(&code.epilogue, &[][..], 0)]) {
            if !insts.iter().any(|inst| matches!(inst.op, InstOp::CheckIndex { .. })) {
                continue;
            }
            let body = Body::new(code, insts, folds, level);
            for (at, inst) in insts.iter().enumerate() {
                match &inst.op {
                    InstOp::CheckIndex { value, limit } if !body.index[at] => {
                        let bytes = Repr::of(insts[value.0 as usize].dtype).bytes();
                        if spread.limit(*limit, bytes).is_none() {
                            spread.limits.push((*limit, bytes, frame.vector(isa)));
                        }
                    }
                    InstOp::Gather { offsets, .. } if !is_placed(&body.uniform, offsets) => {
                        for (_, stride) in offsets {
                            if spread.stride(*stride).is_none() {
                                spread.strides.push((*stride, frame.vector(isa)));
                            }
                        }
                    }
                    _ => {}
                }
            }
        }
        spread
    }

    /// Where a limit is for lanes of so many bytes: as an unsigned number, without AVX-512 with its sign turned so
    /// that signed comparisons serve.
    pub fn limit(&self, scalar: u32, bytes: u32) -> Option<u32> {
        self.limits.iter().find(|limit| (limit.0, limit.1) == (scalar, bytes)).map(|limit| limit.2)
    }

    /// Where a stride is.
    pub fn stride(&self, scalar: u32) -> Option<u32> {
        self.strides.iter().find(|stride| stride.0 == scalar).map(|stride| stride.1)
    }
}

impl Body<'_> {
    /// The scalars that are limit and stride of each offset by which elements are gathered one by one.
    fn offsets(&self) -> Option<SmallVec<[(u32, u32); 4]>> {
        let limit = |inst: &Inst| match inst.op {
            InstOp::CheckIndex { limit, .. } => Some(limit),
            _ => None,
        };
        let mut found = SmallVec::new();
        for inst in self.insts {
            if let InstOp::Gather { offsets, .. } = &inst.op
                && !is_placed(&self.uniform, offsets)
            {
                for (v, stride) in offsets {
                    found.push((limit(&self.insts[v.0 as usize])?, *stride));
                }
            }
        }
        Some(found)
    }
}

impl Function<'_> {
    /// Fills the vectors of limits and strides.
    pub fn enter_spread(&mut self) {
        let (asm, layout, whole) = (&mut self.asm, &self.layout, self.isa.vector());
        for (scalar, bytes, home) in &layout.spread.limits {
            asm.mov(RAX, frame_at(layout.scalars[*scalar as usize]));
            if *bytes == 4 {
                // No lane holds more than i32 does.
                asm.mov_imm(RDX, i32::MIN);
                asm.mov(RCX, RDX);
                asm.neg(RDX);
                asm.alu(Alu::Cmp, RAX, RDX);
                asm.move_if(Cond::Greater, RAX, RDX);
            } else {
                asm.mov_imm(RCX, 1);
                asm.shl(RCX, 63);
            }
            if self.isa != Isa::Avx512 {
                asm.alu(Alu::Add, RAX, RCX);
            }
            asm.store(frame_at(layout.scratch), RAX);
            let splat = if *bytes == 4 { op::SPLAT_PS } else { op::SPLAT_Q };
            asm.vector(splat, whole, 0, 0, frame_at(layout.scratch).into(), None);
            asm.vector(op::MOV_STORE, whole, 0, 0, frame_at(*home).into(), None);
        }
        for (scalar, home) in &layout.spread.strides {
            let word = frame_at(layout.scalars[*scalar as usize]);
            asm.vector(op::SPLAT_PS, whole, 0, 0, word.into(), None);
            asm.vector(op::MOV_STORE, whole, 0, 0, frame_at(*home).into(), None);
        }
    }

    /// What `emit` does, twice where elements are gathered one by one: for those that lie so near each other that
    /// lanes of 4 bytes hold all offsets, and for others, which are rare: their code is brief.
    pub fn over_spread(
        &mut self,
        body: &Body<'_>,
        emit: &mut dyn FnMut(&mut Self) -> Result<(), Refusal>,
    ) -> Result<(), Refusal> {
        let Some(offsets) = body.offsets().filter(|offsets| !offsets.is_empty()) else { return emit(self) };
        let most = i32::MAX / offsets.len() as i32;
        let is_far = |f: &mut Self, far| {
            for (limit, stride) in offsets {
                let asm = &mut f.asm;
                asm.mov(RAX, frame_at(f.layout.scalars[limit as usize]));
                asm.imul(RAX, frame_at(f.layout.scalars[stride as usize]));
                asm.alu_imm(Alu::Cmp, RAX, most);
                asm.jump_if(Cond::Greater, far);
                asm.alu_imm(Alu::Cmp, RAX, -most);
                asm.jump_if(Cond::Less, far);
            }
        };
        self.either(is_far, &mut |f, far| {
            (f.near, f.brief) = (!far, far);
            let emitted = emit(f);
            (f.near, f.brief) = (false, false);
            emitted
        })
    }
}
