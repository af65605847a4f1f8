//! [`schedule`]: makes the body of one kernel variant from the expressions of the variant. The body consists of passes
//! of straight-line code. A pass is one walk over the elements of a row.

mod loads;

use std::sync::Arc;

use rustc_hash::FxHashMap;
use shapeflow_shape_fns::DType;
use smallvec::SmallVec;

use super::access::has_axis;
use super::expr_order::{ExprIx, ExprOrder};
use super::kernel::{Address, BufferInfo, BufferIx, ScalarArg, Variant};
use super::kernel_body::{
    AccessPattern, Inst, InstId, InstOp, KernelBody, LaneLayout, Pass, ReduceStep, SlotType, SlotUse,
};
use super::loop_nest::LoopNest;
use super::root::Root;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::expr::{Axis, Expr, ExprKind, Index};

/// An expression of at least this many operations is costly: an earlier pass stores it to the scratch row, and a later
/// pass loads it there instead of computing it again.
const COSTLY: u32 = 6;

/// The instruction list that an instruction is in: a pass, or the epilogue.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Section {
    Pass(usize),
    Epilogue,
}

/// The parts of a kernel body that exist so far, and the instruction that computes each expression.
struct Scheduler<'a> {
    nest: LoopNest,
    buffers: &'a [BufferInfo],
    /// The axis that the vector lanes run along.
    inner: Option<Axis>,
    order: ExprOrder<'a>,
    passes: Vec<Pass>,
    epilogue: Vec<Inst>,
    /// For each section and expression: the instruction that computes it there.
    emitted: FxHashMap<Section, Vec<Option<InstId>>>,
    slots: Vec<SlotType>,
    /// For each slot: what the slot addresses.
    addresses: Vec<Address>,
    /// The slot of each load, gather and iota.
    slot_of: FxHashMap<ExprIx, u32>,
    /// The scratch slot of each expression that later passes read.
    scratch_of: FxHashMap<ExprIx, u32>,
    scalars: Vec<ScalarArg>,
    /// The dtype of each reduction result.
    reduced: Vec<DType>,
    /// The result number of each reduction.
    reduce_of: FxHashMap<ExprIx, u32>,
}

/// Schedules the roots of one variant. `order` is their [`post_order`](crate::expr::post_order). Also returns whether a
/// check may fail at run time.
pub(crate) fn schedule(
    nest: LoopNest,
    roots: &[Root],
    order: &[&Expr],
    buffers: &[BufferInfo],
) -> Result<(Variant, bool)> {
    let order = ExprOrder::new(order, nest);
    let can_fail = order.can_fail;
    let mut this = Scheduler {
        nest,
        buffers,
        inner: nest.inner_axis().map(|axis| Axis(axis as u32)),
        order,
        passes: Vec::new(),
        epilogue: Vec::new(),
        emitted: FxHashMap::default(),
        slots: Vec::new(),
        addresses: Vec::new(),
        slot_of: FxHashMap::default(),
        scratch_of: FxHashMap::default(),
        scalars: Vec::new(),
        reduced: Vec::new(),
        reduce_of: FxHashMap::default(),
    };
    this.emit_reduces()?;
    for root in roots {
        this.emit_store(root)?;
    }
    if this.passes.is_empty() {
        this.passes.push(Pass::default());
    }
    let body = KernelBody {
        layout: nest.layout,
        loops: this.loops(),
        slots: this.slots,
        scalars: this.scalars.len() as u32,
        reduced: this.reduced,
        passes: this.passes,
        epilogue: this.epilogue,
    };
    Ok((Variant { body: Arc::new(body), slots: this.addresses, scalars: this.scalars }, can_fail))
}

impl Scheduler<'_> {
    /// Returns the number of row axes that are loops around the inner axis.
    fn loops(&self) -> u32 {
        let loops = match self.nest.layout {
            LaneLayout::Row => self.nest.row.saturating_sub(1),
            LaneLayout::Column => self.nest.row,
        };
        loops as u32
    }

    /// Returns a pass by number, and makes it if it is missing.
    fn pass(&mut self, number: usize) -> &mut Pass {
        while self.passes.len() <= number {
            self.passes.push(Pass::default());
        }
        &mut self.passes[number]
    }

    /// Emits every reduction with its operand, in the order of their passes.
    fn emit_reduces(&mut self) -> Result<()> {
        let is_reduce = |expr: &Expr| matches!(expr.kind(), ExprKind::Reduce { .. });
        let mut reduces: Vec<ExprIx> =
            (0..self.order.exprs.len()).filter(|index| is_reduce(self.order.exprs[*index])).collect();
        let pass_of =
            |this: &Self, reduce: ExprIx| this.order.facts[this.order.operands[reduce][0]].first_pass;
        reduces.sort_by_key(|reduce| pass_of(self, *reduce));
        for (number, reduce) in reduces.iter().enumerate() {
            self.reduce_of.insert(*reduce, number as u32);
            self.reduced.push(self.order.exprs[*reduce].dtype());
        }
        for (number, reduce) in reduces.iter().enumerate() {
            let expr = self.order.exprs[*reduce];
            let ExprKind::Reduce { op, .. } = expr.kind() else {
                unreachable!("only reductions are kept above")
            };
            let pass = pass_of(self, *reduce);
            let value = self.emit(Section::Pass(pass), self.order.operands[*reduce][0])?;
            let step = ReduceStep { op: *op, value, dtype: expr.dtype(), into: number as u32 };
            self.pass(pass).reduces.push(step);
        }
        Ok(())
    }

    /// Emits a root and its store: in a pass if the address varies along the row or there are no row axes, else in the
    /// epilogue.
    fn emit_store(&mut self, root: &Root) -> Result<()> {
        let dtype = root.expr.dtype();
        let values: SmallVec<[ExprIx; 2]> = root.exprs().map(|expr| self.order.index(expr)).collect();
        let first_pass = values.iter().map(|value| self.order.facts[*value].first_pass).max();
        let in_row = self.nest.row == 0 || root.index.iter().any(|index| self.nest.varies_in_row(index));
        let section = if in_row { Section::Pass(first_pass.unwrap_or(0)) } else { Section::Epilogue };
        let mut insts: SmallVec<[InstId; 2]> = SmallVec::new();
        for value in values {
            insts.push(self.emit(section, value)?);
        }
        let address = |part: Option<i64>| {
            let index = root.index.iter().cloned().chain(part.map(Index::from)).collect();
            Address::Element { buffer: root.buffer, index }
        };
        let slot_type = |pattern| SlotType { dtype, pattern, used: SlotUse::Store };
        match (&insts[..], self.pattern(&root.index)) {
            (&[value], pattern) => {
                let slot = self.new_slot(slot_type(pattern), address(None));
                self.push(section, dtype, InstOp::Store { slot, value });
            }
            (&[real, imaginary], AccessPattern::Contiguous) => {
                let slot = self.new_slot(slot_type(AccessPattern::Strided(2)), address(Some(0)));
                self.push(section, dtype, InstOp::StorePair { slot, values: [real, imaginary] });
            }
            (parts, pattern) => {
                for (number, &value) in (0..).zip(parts) {
                    let slot = self.new_slot(slot_type(pattern), address(Some(number)));
                    self.push(section, dtype, InstOp::Store { slot, value });
                }
            }
        }
        Ok(())
    }

    /// Returns [`AccessPattern::Contiguous`] if an index varies along the inner axis, otherwise
    /// [`AccessPattern::Splat`].
    fn pattern(&self, index: &[Index]) -> AccessPattern {
        match self.inner {
            Some(inner) if index.iter().any(|index| has_axis(index, inner)) => AccessPattern::Contiguous,
            _ => AccessPattern::Splat,
        }
    }

    /// Adds a slot and returns its number.
    fn new_slot(&mut self, kind: SlotType, address: Address) -> u32 {
        self.slots.push(kind);
        self.addresses.push(address);
        self.slots.len() as u32 - 1
    }

    /// Returns the number of a run-time scalar, after adding it if it is new.
    fn scalar(&mut self, scalar: ScalarArg) -> u32 {
        let known = self.scalars.iter().position(|other| *other == scalar);
        known.unwrap_or_else(|| {
            self.scalars.push(scalar);
            self.scalars.len() - 1
        }) as u32
    }

    /// Appends an instruction to a section.
    fn push(&mut self, section: Section, dtype: DType, op: InstOp) -> InstId {
        let body = match section {
            Section::Pass(number) => &mut self.pass(number).body,
            Section::Epilogue => &mut self.epilogue,
        };
        body.push(Inst { dtype, op });
        InstId(body.len() as u32 - 1)
    }

    /// Returns the instruction of a section that computes an expression, if it has been emitted there.
    fn emitted(&self, section: Section, index: ExprIx) -> Option<InstId> {
        self.emitted.get(&section).and_then(|emitted| emitted[index])
    }

    /// Returns the instruction of a section that computes an expression, which must have been emitted there.
    fn operand_inst(&self, section: Section, index: ExprIx) -> InstId {
        self.emitted(section, index).expect("operands are emitted before their users")
    }

    /// Emits `root` and its operands into a section, operands first. Shared expressions are emitted once. An explicit
    /// stack replaces recursion, because expressions may be deep.
    fn emit(&mut self, section: Section, root: ExprIx) -> Result<InstId> {
        let count = self.order.exprs.len();
        self.emitted.entry(section).or_insert_with(|| vec![None; count]);
        let mut stack = vec![(root, false)];
        while let Some((index, operands_emitted)) = stack.pop() {
            if self.emitted(section, index).is_some() {
                continue;
            }
            if !operands_emitted && !self.is_leaf(section, index) {
                stack.push((index, true));
                stack.extend(self.order.operands[index].iter().rev().map(|operand| (*operand, false)));
                continue;
            }
            let inst = self.emit_one(section, index)?;
            self.emitted.get_mut(&section).expect("the section has an entry")[index] = Some(inst);
        }
        Ok(self.operand_inst(section, root))
    }

    /// Returns whether a section reads the value of an expression from a reduction result or from scratch. Otherwise
    /// the section computes the value from operands.
    fn is_leaf(&self, section: Section, index: ExprIx) -> bool {
        matches!(self.order.exprs[index].kind(), ExprKind::Reduce { .. })
            || self.scratch_pass(section, index).is_some()
    }

    /// Returns the earlier pass that stores an expression to scratch, if `section` should read the expression from
    /// scratch.
    fn scratch_pass(&self, section: Section, index: ExprIx) -> Option<usize> {
        let Section::Pass(number) = section else { return None };
        let facts = self.order.facts[index];
        let is_worthwhile = self.nest.layout == LaneLayout::Row
            && facts.in_row
            && facts.cost >= COSTLY
            && facts.first_pass < number;
        (is_worthwhile && self.emitted(Section::Pass(facts.first_pass), index).is_some())
            .then_some(facts.first_pass)
    }

    /// Emits one expression, whose operands have been emitted.
    fn emit_one(&mut self, section: Section, index: ExprIx) -> Result<InstId> {
        let expr = self.order.exprs[index];
        if let Some(earlier) = self.scratch_pass(section, index) {
            let slot = self.scratch_slot(earlier, index);
            return Ok(self.push(section, expr.dtype(), InstOp::Load(slot)));
        }
        let operand =
            |this: &Self, number: usize| this.operand_inst(section, this.order.operands[index][number]);
        let op = match expr.kind() {
            ExprKind::Const(value) => InstOp::Const(*value),
            ExprKind::Size(dim) => InstOp::Scalar(self.scalar(ScalarArg::Size(dim.clone()))),
            ExprKind::Iota(value) => return self.emit_iota(section, index, value),
            ExprKind::Load { source, index: element } => {
                return self.emit_load(section, index, *source, element);
            }
            ExprKind::LoadFlat { source, position } => {
                let buffer = BufferIx(*source);
                let parts =
                    if self.buffers[buffer.index()].dtype.part() == Some(expr.dtype()) { 2 } else { 1 };
                let address = Address::Flat { buffer, position: (**position).clone(), parts };
                InstOp::Load(self.load_slot(index, std::slice::from_ref(position), &[], address))
            }
            ExprKind::Unary(op, _) => InstOp::Unary(*op, operand(self, 0)),
            ExprKind::Binary(op, ..) => InstOp::Binary(*op, operand(self, 0), operand(self, 1)),
            ExprKind::MulAdd(..) => InstOp::MulAdd(operand(self, 0), operand(self, 1), operand(self, 2)),
            ExprKind::Select(..) => InstOp::Select(operand(self, 0), operand(self, 1), operand(self, 2)),
            ExprKind::Cast(_) => InstOp::Cast(operand(self, 0)),
            ExprKind::Bitcast(_) => InstOp::Bitcast(operand(self, 0)),
            ExprKind::Reduce { .. } => InstOp::Reduced(self.reduce_of[&index]),
            ExprKind::CheckIndex { limit, .. } => {
                let value = operand(self, 0);
                InstOp::CheckIndex { value, limit: self.scalar(ScalarArg::Size(limit.clone())) }
            }
            ExprKind::Complex(..) | ExprKind::Part(..) => {
                unreachable!("complex expressions are split into their parts before they are scheduled")
            }
            ExprKind::Case(..) => {
                return Err(Error::new(
                    ErrorKind::Compile,
                    Phase::Compile,
                    "a body must be split at its piecewise choices before it is scheduled",
                ));
            }
        };
        Ok(self.push(section, expr.dtype(), op))
    }

    /// Returns the scratch slot in which `pass` stores an expression, after adding the store if needed.
    fn scratch_slot(&mut self, pass: usize, index: ExprIx) -> u32 {
        if let Some(&slot) = self.scratch_of.get(&index) {
            return slot;
        }
        let expr = self.order.exprs[index];
        let kind =
            SlotType { dtype: expr.dtype(), pattern: AccessPattern::Contiguous, used: SlotUse::Scratch };
        let slot = self.new_slot(kind, Address::Scratch);
        let value = self.operand_inst(Section::Pass(pass), index);
        self.push(Section::Pass(pass), expr.dtype(), InstOp::Store { slot, value });
        self.scratch_of.insert(index, slot);
        slot
    }
}
