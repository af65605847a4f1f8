//! Selection of index arithmetic, and a peephole pass over it.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::selector::Selector;
use crate::codegen::simd::ir::{
    IndexInst, IndexOp, IndexOperand, VectorBlock, VectorInstKind, condition, index_op,
};
use crate::expr::BinaryOp;
use crate::lower::kernel_body::{InstId, InstOp};

impl Selector<'_> {
    /// Selects an instruction that is index arithmetic.
    pub fn index_inst(&mut self, index: usize) {
        let op = index_op(&self.body.insts[index]).expect("the analysis marks only index arithmetic");
        let word = |v: InstId| match self.body.insts[v.0 as usize].op {
            InstOp::Scalar(k) => self.layout.scalars[k as usize],
            _ => self.index_word(v),
        };
        if op == IndexOp::Scalar {
            return;
        }
        let mut operands = SmallVec::<[IndexOperand; 4]>::new();
        self.body.insts[index].op.for_each_operand(|v| operands.push(IndexOperand::Word(word(v))));
        if let IndexOp::Select(_) = op {
            operands.insert(1, IndexOperand::Number(0));
        }
        let mut from = [IndexOperand::Number(0); 4];
        from.iter_mut().zip(operands).for_each(|(from, operand)| *from = operand);
        let inst = IndexInst {
            op,
            dtype: self.body.insts[index].dtype,
            from,
            to: word(InstId(index as u32)),
            passed: false,
            is_stored: true,
        };
        self.block.push_effect(VectorInstKind::Index(self.block.index.len() as u32), &[]);
        self.block.index.push(inst);
    }

    /// Returns the word of the frame for the result of index arithmetic.
    pub fn index_word(&self, v: InstId) -> u32 {
        self.layout.index + 8 * v.0
    }
}

/// Simplifies the index arithmetic of a block.
///
/// - A constant becomes an operand of its users, and a comparison becomes part of the selection that reads it.
/// - An instruction whose result nothing reads is removed.
/// - A result goes to the next instruction in rax, and to the frame only for other users.
///
/// `start` returns, for an iota slot, the word that holds its value as the block needs it. `None` if there is no such
/// word, because the block runs for another position.
pub(crate) fn chain_index_insts(block: &mut VectorBlock, start: impl Fn(u32) -> Option<u32>) {
    if block.index.is_empty() {
        return;
    }
    fold_operands(block, start);
    let uses = remove_unused(block);
    pass_in_register(block, &uses);
}

/// Replaces operands that are constants, iotas or comparisons. Index instructions are numbered in block order.
fn fold_operands(block: &mut VectorBlock, start: impl Fn(u32) -> Option<u32>) {
    // The instruction that computed each word so far.
    let mut made: FxHashMap<u32, IndexInst> = FxHashMap::default();
    for inst in &mut block.index {
        if let IndexOp::Select(BinaryOp::Ne) = inst.op
            && let [IndexOperand::Word(word), IndexOperand::Number(0), ..] = inst.from
            && let Some(IndexInst { op: IndexOp::Binary(op), from, .. }) = made.get(&word)
            && condition(*op).is_some()
        {
            inst.op = IndexOp::Select(*op);
            inst.from[..2].copy_from_slice(&from[..2]);
        }
        let arity = inst.arity();
        for operand in &mut inst.from[..arity] {
            let IndexOperand::Word(word) = *operand else { continue };
            *operand = match made.get(&word).map(|made| made.op) {
                Some(IndexOp::Const(value)) => IndexOperand::Number(value),
                Some(IndexOp::Iota(slot)) => IndexOperand::Word(start(slot).unwrap_or(word)),
                _ => IndexOperand::Word(word),
            };
        }
        made.insert(inst.to, *inst);
    }
}

/// Removes instructions whose result nothing reads, except checks, which may fail the run. Returns how often each word
/// is read.
fn remove_unused(block: &mut VectorBlock) -> FxHashMap<u32, u32> {
    let mut uses: FxHashMap<u32, u32> = FxHashMap::default();
    let mut wanted = vec![true; block.insts.len()];
    for (inst, wanted) in block.insts.iter().zip(&mut wanted).rev() {
        match inst.kind {
            VectorInstKind::Index(number) => {
                let inst = &block.index[number as usize];
                *wanted = uses.contains_key(&inst.to) || matches!(inst.op, IndexOp::Check(_));
                if *wanted {
                    inst.words().for_each(|word| *uses.entry(word).or_default() += 1);
                }
            }
            VectorInstKind::DisplaceBy { word, .. } => *uses.entry(word).or_default() += 1,
            _ => {}
        }
    }
    let mut wanted = wanted.into_iter();
    block.insts.retain(|_| wanted.next().expect("there is one entry per instruction"));
    uses
}

/// Marks the results that the next instruction takes from rax, and the results that must be stored for others. `uses`
/// says how often each word is read.
fn pass_in_register(block: &mut VectorBlock, uses: &FxHashMap<u32, u32>) {
    for index in 1..block.insts.len() {
        let VectorInstKind::Index(before) = block.insts[index - 1].kind else { continue };
        let made = block.index[before as usize];
        let passed = match &mut block.insts[index].kind {
            VectorInstKind::Index(user) => {
                let user = &mut block.index[*user as usize];
                if user.commutes() && user.from[1] == IndexOperand::Word(made.to) {
                    user.from.swap(0, 1);
                }
                user.passed = user.first() == Some(IndexOperand::Word(made.to));
                user.passed
            }
            VectorInstKind::DisplaceBy { word, passed, .. } => {
                *passed = *word == made.to;
                *passed
            }
            _ => false,
        };
        let is_stored = uses.get(&made.to).is_some_and(|uses| *uses > u32::from(passed));
        block.index[before as usize].is_stored = is_stored;
    }
}
