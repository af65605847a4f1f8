//! `IndexInst`: index arithmetic in general registers.
//!
//! Uniform integers whose only use is the address of gathered rows need no vectors. Each such integer becomes a word of
//! the frame.

use shapeflow_shape_fns::DType;

use crate::codegen::simd::asm::Cond;
use crate::codegen::uniform::has_uniform_offsets;
use crate::expr::BinaryOp;
use crate::lower::kernel_body::{Inst, InstId, InstOp};

/// An operation on 64-bit integers. A narrower integer is held with its value, sign- or zero-extended.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum IndexOp {
    Const(i32),
    /// A run-time scalar. The frame holds it already, so it needs no code.
    Scalar,
    /// The value of an iota slot.
    Iota(u32),
    /// The element of a load slot.
    Load(u32),
    /// `from[0] op from[1]`. The result of a comparison is 0 or 1.
    Binary(BinaryOp),
    /// `from[0] op from[1] ? from[2] : from[3]`, where `op` is this comparison.
    Select(BinaryOp),
    /// `from[0]`, wrapped to the dtype of the result.
    Cast,
    /// `Check(k)`: `from[0]` if it is at least 0 and less than run-time scalar `k` of the kernel; otherwise 0, and the
    /// run fails.
    Check(u32),
}

/// An operand: the word of 8 bytes at this offset of the frame, or a number.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum IndexOperand {
    Word(u32),
    Number(i32),
}

/// One instruction of index arithmetic. The result goes to the word of the frame at offset `to`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct IndexInst {
    pub op: IndexOp,
    /// The dtype of the result.
    pub dtype: DType,
    /// The operands; entries from [`IndexInst::arity`] on are unused.
    pub from: [IndexOperand; 4],
    pub to: u32,
    /// Whether the operand [`IndexInst::first`] is in rax already.
    pub passed: bool,
    /// Whether a later instruction reads the result from the frame.
    pub is_stored: bool,
}

impl IndexInst {
    /// Returns the operand that the code loads first.
    pub fn first(&self) -> Option<IndexOperand> {
        match self.op {
            IndexOp::Binary(_) | IndexOp::Cast | IndexOp::Check(_) => Some(self.from[0]),
            IndexOp::Select(_) => Some(self.from[3]),
            _ => None,
        }
    }

    /// Returns the number of entries of `from` that are operands.
    pub fn arity(&self) -> usize {
        match self.op {
            IndexOp::Const(_) | IndexOp::Scalar | IndexOp::Iota(_) | IndexOp::Load(_) => 0,
            IndexOp::Cast | IndexOp::Check(_) => 1,
            IndexOp::Binary(_) => 2,
            IndexOp::Select(_) => 4,
        }
    }

    /// Returns the frame offsets of the operands that are words.
    pub fn words(&self) -> impl Iterator<Item = u32> {
        self.from[..self.arity()].iter().filter_map(|operand| match operand {
            IndexOperand::Word(word) => Some(*word),
            IndexOperand::Number(_) => None,
        })
    }

    /// Returns whether the first two operands may be swapped.
    pub fn commutes(&self) -> bool {
        matches!(self.op, IndexOp::Binary(BinaryOp::Add | BinaryOp::Mul | BinaryOp::Min | BinaryOp::Max))
    }
}

/// Returns the condition under which the signed comparison `op` holds; `None` if `op` is no comparison.
pub(crate) fn condition(op: BinaryOp) -> Option<Cond> {
    match op {
        BinaryOp::Lt => Some(Cond::Less),
        BinaryOp::Le => Some(Cond::LessEqual),
        BinaryOp::Eq => Some(Cond::Equal),
        BinaryOp::Ne => Some(Cond::NotEqual),
        _ => None,
    }
}

/// Returns `inst` as index arithmetic, if it has such a form.
pub(crate) fn index_op(inst: &Inst) -> Option<IndexOp> {
    use BinaryOp::{Add, Eq, Le, Lt, Max, Min, Mul, Ne, Sub};
    let plain = matches!(inst.dtype, DType::I32 | DType::I64);
    Some(match inst.op {
        InstOp::Const(value) if plain => IndexOp::Const(i32::try_from(value.to_i64()).ok()?),
        InstOp::Scalar(_) => IndexOp::Scalar,
        InstOp::Iota(slot) => IndexOp::Iota(slot),
        InstOp::Load(slot) if inst.dtype.is_integer() && inst.dtype != DType::U64 => IndexOp::Load(slot),
        InstOp::Binary(op @ (Add | Sub | Mul | Min | Max), ..) if plain => IndexOp::Binary(op),
        InstOp::Binary(op @ (Lt | Le | Eq | Ne), ..) => IndexOp::Binary(op),
        InstOp::Select(..) if plain => IndexOp::Select(BinaryOp::Ne),
        InstOp::Cast(_) if plain => IndexOp::Cast,
        InstOp::CheckIndex { limit, .. } => IndexOp::Check(limit),
        _ => return None,
    })
}

/// Returns for each instruction of a body whether the instruction is index arithmetic: [`index_op`] has a form for the
/// instruction, and every use of its result leads to the address of a gathered row. Reductions read the `roots`, so the
/// roots are not index arithmetic.
pub(crate) fn index_insts(body: &[Inst], uniform: &[bool], roots: &[InstId]) -> Vec<bool> {
    if !body.iter().any(|inst| matches!(inst.op, InstOp::Gather { .. })) {
        return vec![false; body.len()];
    }
    let mut index: Vec<bool> =
        body.iter().zip(uniform).map(|(inst, uniform)| *uniform && index_op(inst).is_some()).collect();
    // Removes instructions with an operand or a use that is no index arithmetic, until none is left to remove.
    loop {
        let mut used = vec![false; body.len()];
        let mut used_elsewhere = vec![false; body.len()];
        roots.iter().for_each(|root| used_elsewhere[root.0 as usize] = true);
        let mut sound = index.clone();
        for (i, inst) in body.iter().enumerate() {
            let gathers_row =
                matches!(&inst.op, InstOp::Gather { offsets, .. } if has_uniform_offsets(uniform, offsets));
            inst.op.for_each_operand(|v| {
                let v = v.0 as usize;
                used[v] = true;
                used_elsewhere[v] |= !gathers_row && !index[i];
                sound[i] &= index[v];
            });
        }
        for i in 0..body.len() {
            sound[i] &= used[i] && !used_elsewhere[i];
        }
        if sound == index {
            return index;
        }
        index = sound;
    }
}
