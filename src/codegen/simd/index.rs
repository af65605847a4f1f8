//! Index arithmetic in general registers: integers that are the same for all elements, and that only say where
//! gathered rows are.

use rustc_hash::FxHashMap;
use shapeflow_shape_fns::DType;

use super::allocate::frame_at;
use super::block::{Block, Kind};
use super::encode::Asm;
use super::gather::is_placed;
use super::machine::Machine;
use super::scalar::{Alu, Cond, RAX, RCX, RDX};
use super::select::Selector;
use crate::codegen::clif::size_of;
use crate::expr::BinaryOp;
use crate::lower::code::{Code, Inst, InstOp, SlotUse, Vid};

/// What is done with integers of 64 bits, which hold those of fewer by value.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum IndexOp {
    Const(i32),
    /// A run-time scalar, which is in the frame.
    Scalar,
    Iota(u32),
    Load(u32),
    Binary(BinaryOp),
    Select,
    Cast,
    /// The value if it lies below a run-time scalar, else 0 and the run fails.
    Check(u32),
}

/// One step of index arithmetic, from words of the frame to another.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct IndexInst {
    pub op: IndexOp,
    pub dtype: DType,
    pub from: [u32; 3],
    pub to: u32,
    /// Whether rax holds the operand that is needed first.
    pub passed: bool,
    /// Whether something needs the result that does not find it in rax.
    pub kept: bool,
}

impl IndexInst {
    /// The operand that is needed first.
    fn first(&self) -> Option<u32> {
        match self.op {
            IndexOp::Binary(_) | IndexOp::Cast | IndexOp::Check(_) => Some(self.from[0]),
            IndexOp::Select => Some(self.from[2]),
            _ => None,
        }
    }

    /// Whether the first two operands may change places.
    fn commutes(&self) -> bool {
        matches!(self.op, IndexOp::Binary(BinaryOp::Add | BinaryOp::Mul | BinaryOp::Min | BinaryOp::Max))
    }
}

/// Lets results go on in rax to instructions right behind those that make them.
pub(super) fn chain(block: &mut Block) {
    let mut uses: FxHashMap<u32, u32> = FxHashMap::default();
    for inst in &block.insts {
        match inst.kind {
            Kind::Index(inst) => inst.from.iter().for_each(|word| *uses.entry(*word).or_default() += 1),
            Kind::DisplaceBy { word, .. } => *uses.entry(word).or_default() += 1,
            _ => {}
        }
    }
    for at in 1..block.insts.len() {
        let [made, user] = &mut block.insts[at - 1..=at] else { continue };
        let Kind::Index(made) = &mut made.kind else { continue };
        let passed = match &mut user.kind {
            Kind::Index(user) => {
                if user.commutes() && user.from[1] == made.to {
                    user.from.swap(0, 1);
                }
                user.passed = user.first() == Some(made.to);
                user.passed
            }
            Kind::DisplaceBy { word, passed, .. } => {
                *passed = *word == made.to;
                *passed
            }
            _ => false,
        };
        made.kept = uses.get(&made.to).is_some_and(|uses| *uses > u32::from(passed));
    }
}

fn index_op(inst: &Inst) -> Option<IndexOp> {
    use BinaryOp::{Add, Eq, Le, Lt, Max, Min, Mul, Ne, Sub};
    let plain = matches!(inst.dtype, DType::I32 | DType::I64);
    Some(match inst.op {
        InstOp::Const(value) if plain => IndexOp::Const(i32::try_from(value.to_i64()).ok()?),
        InstOp::Scalar(_) => IndexOp::Scalar,
        InstOp::Iota(slot) => IndexOp::Iota(slot),
        InstOp::Load(slot) if inst.dtype.is_integer() && inst.dtype != DType::U64 => IndexOp::Load(slot),
        InstOp::Binary(op @ (Add | Sub | Mul | Min | Max), ..) if plain => IndexOp::Binary(op),
        InstOp::Binary(op @ (Lt | Le | Eq | Ne), ..) => IndexOp::Binary(op),
        InstOp::Select(..) if plain => IndexOp::Select,
        InstOp::Cast(_) if plain => IndexOp::Cast,
        InstOp::CheckIndex { limit, .. } => IndexOp::Check(limit),
        _ => return None,
    })
}

/// Which instructions of a body, of which folds read `roots`, are index arithmetic: nothing but gathered rows comes
/// from them.
pub(super) fn of_body(insts: &[Inst], uniform: &[bool], roots: &[Vid]) -> Vec<bool> {
    if !insts.iter().any(|inst| matches!(inst.op, InstOp::Gather { .. })) {
        return vec![false; insts.len()];
    }
    let mut index: Vec<bool> =
        insts.iter().zip(uniform).map(|(inst, uniform)| *uniform && index_op(inst).is_some()).collect();
    loop {
        let mut used = vec![false; insts.len()];
        let mut elsewhere = vec![false; insts.len()];
        roots.iter().for_each(|root| elsewhere[root.0 as usize] = true);
        let mut sound = index.clone();
        for (at, inst) in insts.iter().enumerate() {
            let row = matches!(&inst.op, InstOp::Gather { offsets, .. } if is_placed(uniform, offsets));
            inst.op.for_each_operand(|v| {
                let v = v.0 as usize;
                used[v] = true;
                elsewhere[v] |= !row && !index[at];
                sound[at] &= index[v];
            });
        }
        for at in 0..insts.len() {
            sound[at] &= used[at] && !elsewhere[at];
        }
        if sound == index {
            return index;
        }
        index = sound;
    }
}

/// Whether a code has such instructions.
pub(super) fn longest(code: &Code) -> usize {
    if code.slots.iter().all(|slot| slot.used != SlotUse::Gather) {
        return 0;
    }
    code.passes.iter().map(|pass| pass.body.len()).chain([code.epilogue.len()]).max().unwrap_or(0)
}

impl Selector<'_> {
    /// Selects an instruction of index arithmetic.
    pub fn index(&mut self, at: usize) {
        let Some(op) = index_op(&self.body[at]) else { return };
        let word = |v: Vid| match self.body[v.0 as usize].op {
            InstOp::Scalar(k) => self.layout.scalars[k as usize],
            _ => self.layout.index + 8 * v.0,
        };
        if op == IndexOp::Scalar {
            return;
        }
        let mut from = [0; 3];
        let mut next = from.iter_mut();
        self.body[at].op.for_each_operand(|v| {
            if let Some(from) = next.next() {
                *from = word(v);
            }
        });
        let inst = IndexInst {
            op,
            dtype: self.body[at].dtype,
            from,
            to: word(Vid(at as u32)),
            passed: false,
            kept: true,
        };
        self.block.effect(Kind::Index(inst), &[]);
    }
}

impl Machine<'_> {
    /// Emits one step of index arithmetic.
    pub fn index(&self, asm: &mut Asm, inst: IndexInst) {
        let second = frame_at(inst.from[1]);
        if let Some(first) = inst.first()
            && !inst.passed
        {
            asm.mov(RAX, frame_at(first));
        }
        match inst.op {
            IndexOp::Const(value) => asm.mov_imm(RAX, value),
            IndexOp::Scalar => {}
            IndexOp::Iota(slot) => {
                asm.mov(RAX, frame_at(self.layout.start(self.level, slot)));
                if let Some(shift) = self.ahead {
                    shift.add_to(asm, RAX, slot);
                }
            }
            IndexOp::Load(slot) => {
                let memory = self.slot(asm, slot, 0);
                let dtype = self.code.slots[slot as usize].dtype;
                if dtype.is_signed() {
                    asm.load_signed(RAX, memory, size_of(dtype));
                } else {
                    asm.load_low(RAX, memory, size_of(dtype));
                }
            }
            IndexOp::Binary(op) => {
                match op {
                    BinaryOp::Add => asm.alu(Alu::Add, RAX, second),
                    BinaryOp::Sub => asm.alu(Alu::Sub, RAX, second),
                    BinaryOp::Mul => asm.imul(RAX, second),
                    BinaryOp::Min | BinaryOp::Max => {
                        asm.mov(RCX, second);
                        asm.alu(Alu::Cmp, RCX, RAX);
                        asm.move_if(if op == BinaryOp::Min { Cond::Less } else { Cond::Greater }, RAX, RCX);
                    }
                    _ => {
                        asm.mov(RCX, RAX);
                        asm.mov_imm(RAX, 0);
                        asm.mov_imm(RDX, 1);
                        asm.alu(Alu::Cmp, RCX, second);
                        let cond = match op {
                            BinaryOp::Lt => Cond::Less,
                            BinaryOp::Le => Cond::LessEqual,
                            BinaryOp::Eq => Cond::Equal,
                            _ => Cond::NotEqual,
                        };
                        asm.move_if(cond, RAX, RDX);
                    }
                }
                if inst.dtype == DType::I32 {
                    asm.extend_word(RAX, RAX);
                }
            }
            IndexOp::Select => {
                asm.alu_imm(Alu::Cmp, frame_at(inst.from[0]), 0);
                asm.move_if(Cond::NotEqual, RAX, second);
            }
            IndexOp::Cast if inst.dtype == DType::I32 => asm.extend_word(RAX, RAX),
            IndexOp::Cast => {}
            IndexOp::Check(limit) => {
                asm.alu(Alu::Cmp, RAX, frame_at(self.layout.scalars[limit as usize]));
                let fine = asm.label();
                // As unsigned numbers, negative ones are above every limit.
                asm.jump_if(Cond::Below, fine);
                asm.mov_imm(RAX, 0);
                if self.ahead.is_none_or(|shift| !shift.guess) {
                    asm.store_imm(frame_at(self.layout.failed), 1);
                }
                asm.bind(fine);
            }
        }
        if inst.kept {
            asm.store(frame_at(inst.to), RAX);
        }
    }
}
