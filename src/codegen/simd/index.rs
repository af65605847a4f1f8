//! Index arithmetic in general registers: integers that are the same for all elements, and that only say where
//! gathered rows are.

use rustc_hash::FxHashMap;
use shapeflow_shape_fns::DType;
use smallvec::SmallVec;

use super::allocate::frame_at;
use super::block::{Block, Kind};
use super::encode::{Asm, Gpr};
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
    /// The third operand if a comparison of the first two holds, else the fourth.
    Select(BinaryOp),
    Cast,
    /// The value if it lies below a run-time scalar, else 0 and the run fails.
    Check(u32),
}

/// What index arithmetic reads: a word of the frame, or a number.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Source {
    Word(u32),
    Number(i32),
}

/// One step of index arithmetic, to a word of the frame.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct IndexInst {
    pub op: IndexOp,
    pub dtype: DType,
    pub from: [Source; 4],
    pub to: u32,
    /// Whether rax holds the operand that is needed first.
    pub passed: bool,
    /// Whether something needs the result that does not find it in rax.
    pub kept: bool,
}

impl IndexInst {
    /// The operand that is needed first.
    fn first(&self) -> Option<Source> {
        match self.op {
            IndexOp::Binary(_) | IndexOp::Cast | IndexOp::Check(_) => Some(self.from[0]),
            IndexOp::Select(_) => Some(self.from[3]),
            _ => None,
        }
    }

    /// How many of the sources are operands.
    fn arity(&self) -> usize {
        match self.op {
            IndexOp::Const(_) | IndexOp::Scalar | IndexOp::Iota(_) | IndexOp::Load(_) => 0,
            IndexOp::Cast | IndexOp::Check(_) => 1,
            IndexOp::Binary(_) => 2,
            IndexOp::Select(_) => 4,
        }
    }

    /// The words of its operands.
    fn words(&self) -> impl Iterator<Item = u32> {
        self.from[..self.arity()].iter().filter_map(|source| match source {
            Source::Word(word) => Some(*word),
            Source::Number(_) => None,
        })
    }

    /// Whether the first two operands may change places.
    fn commutes(&self) -> bool {
        matches!(self.op, IndexOp::Binary(BinaryOp::Add | BinaryOp::Mul | BinaryOp::Min | BinaryOp::Max))
    }
}

/// Lets constants and comparisons be parts of the instructions that need them, and results go on in rax to
/// instructions right behind those that make them. `start` is the word of an iota's value if it is there as it is.
pub(super) fn chain(block: &mut Block, start: impl Fn(u32) -> Option<u32>) {
    if block.index.is_empty() {
        return;
    }
    let mut made: FxHashMap<u32, IndexInst> = FxHashMap::default();
    // They are numbered as they stand in the block.
    for inst in &mut block.index {
        if let IndexOp::Select(BinaryOp::Ne) = inst.op
            && let [Source::Word(word), Source::Number(0), ..] = inst.from
            && let Some(IndexInst { op: IndexOp::Binary(op), from, .. }) = made.get(&word)
            && condition(*op).is_some()
        {
            inst.op = IndexOp::Select(*op);
            inst.from[..2].copy_from_slice(&from[..2]);
        }
        let arity = inst.arity();
        for source in &mut inst.from[..arity] {
            let Source::Word(word) = *source else { continue };
            *source = match made.get(&word).map(|made| made.op) {
                Some(IndexOp::Const(value)) => Source::Number(value),
                Some(IndexOp::Iota(slot)) => Source::Word(start(slot).unwrap_or(word)),
                _ => Source::Word(word),
            };
        }
        made.insert(inst.to, *inst);
    }
    let mut uses: FxHashMap<u32, u32> = FxHashMap::default();
    let mut wanted = vec![true; block.insts.len()];
    for (inst, wanted) in block.insts.iter().zip(&mut wanted).rev() {
        match inst.kind {
            Kind::Index(at) => {
                let inst = &block.index[at as usize];
                *wanted = uses.contains_key(&inst.to) || matches!(inst.op, IndexOp::Check(_));
                if *wanted {
                    inst.words().for_each(|word| *uses.entry(word).or_default() += 1);
                }
            }
            Kind::DisplaceBy { word, .. } => *uses.entry(word).or_default() += 1,
            _ => {}
        }
    }
    let mut wanted = wanted.into_iter();
    block.insts.retain(|_| wanted.next().unwrap_or(true));
    for at in 1..block.insts.len() {
        let Kind::Index(before) = block.insts[at - 1].kind else { continue };
        let made = block.index[before as usize];
        let passed = match &mut block.insts[at].kind {
            Kind::Index(user) => {
                let user = &mut block.index[*user as usize];
                if user.commutes() && user.from[1] == Source::Word(made.to) {
                    user.from.swap(0, 1);
                }
                user.passed = user.first() == Some(Source::Word(made.to));
                user.passed
            }
            Kind::DisplaceBy { word, passed, .. } => {
                *passed = *word == made.to;
                *passed
            }
            _ => false,
        };
        let kept = uses.get(&made.to).is_some_and(|uses| *uses > u32::from(passed));
        block.index[before as usize].kept = kept;
    }
}

/// When a comparison holds.
fn condition(op: BinaryOp) -> Option<Cond> {
    match op {
        BinaryOp::Lt => Some(Cond::Less),
        BinaryOp::Le => Some(Cond::LessEqual),
        BinaryOp::Eq => Some(Cond::Equal),
        BinaryOp::Ne => Some(Cond::NotEqual),
        _ => None,
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
        InstOp::Select(..) if plain => IndexOp::Select(BinaryOp::Ne),
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
        let mut words = SmallVec::<[Source; 4]>::new();
        self.body[at].op.for_each_operand(|v| words.push(Source::Word(word(v))));
        if let IndexOp::Select(_) = op {
            words.insert(1, Source::Number(0));
        }
        let mut from = [Source::Number(0); 4];
        from.iter_mut().zip(words).for_each(|(from, word)| *from = word);
        let inst = IndexInst {
            op,
            dtype: self.body[at].dtype,
            from,
            to: word(Vid(at as u32)),
            passed: false,
            kept: true,
        };
        self.block.effect(Kind::Index(self.block.index.len() as u32), &[]);
        self.block.index.push(inst);
    }
}

impl Machine<'_> {
    /// Emits one step of index arithmetic.
    pub fn index(&self, asm: &mut Asm, inst: &IndexInst) {
        let second = inst.from[1];
        if let Some(first) = inst.first()
            && !inst.passed
        {
            asm.fetch(RAX, first);
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
                    BinaryOp::Add => asm.combine(Alu::Add, RAX, second),
                    BinaryOp::Sub => asm.combine(Alu::Sub, RAX, second),
                    BinaryOp::Mul => {
                        asm.fetch(RCX, second);
                        asm.imul(RAX, RCX);
                    }
                    BinaryOp::Min | BinaryOp::Max => {
                        asm.fetch(RCX, second);
                        asm.alu(Alu::Cmp, RCX, RAX);
                        asm.move_if(if op == BinaryOp::Min { Cond::Less } else { Cond::Greater }, RAX, RCX);
                    }
                    _ => {
                        asm.mov(RCX, RAX);
                        asm.mov_imm(RAX, 0);
                        asm.mov_imm(RDX, 1);
                        asm.combine(Alu::Cmp, RCX, second);
                        if let Some(cond) = condition(op) {
                            asm.move_if(cond, RAX, RDX);
                        }
                    }
                }
                if inst.dtype == DType::I32 {
                    asm.extend_word(RAX, RAX);
                }
            }
            IndexOp::Select(op) => {
                asm.fetch(RCX, inst.from[0]);
                asm.fetch(RDX, inst.from[2]);
                asm.combine(Alu::Cmp, RCX, second);
                if let Some(cond) = condition(op) {
                    asm.move_if(cond, RAX, RDX);
                }
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

impl Asm {
    fn fetch(&mut self, to: Gpr, from: Source) {
        match from {
            Source::Word(word) => self.mov(to, frame_at(word)),
            Source::Number(number) => self.mov_imm(to, number),
        }
    }

    fn combine(&mut self, op: Alu, to: Gpr, from: Source) {
        match from {
            Source::Word(word) => self.alu(op, to, frame_at(word)),
            Source::Number(number) => self.alu_imm(op, to, number),
        }
    }
}
