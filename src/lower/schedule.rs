//! `schedule`: expressions of one variant of a kernel to passes of straight-line code.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use shapeflow_shape_fns::{DType, Dim};

use super::access::{depends_on, step_along};
use super::code::{Class, Code, FoldStep, Inst, InstOp, Layout, Pass, SlotType, SlotUse, Vid};
use super::kernel::{Address, BufferInfo, BufferIx, ScalarArg, Variant, inner_axis};
use super::order::{At, Order};
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::expr::{Atom, Axis, BinaryOp, Expr, ExprKind, Index};

/// A value that the kernel stores.
#[derive(Clone)]
pub(crate) struct Root {
    pub expr: Expr,
    pub buffer: BufferIx,
    pub index: Vec<Index>,
}

/// The loop nest a variant runs in.
#[derive(Clone, Copy)]
pub(crate) struct Nest {
    pub outer: usize,
    pub row: usize,
    pub layout: Layout,
}

/// Expressions of at least this many operations are kept for later passes rather than computed again.
const HEAVY: u32 = 6;

/// Where an instruction stands: a pass, or the end of a row.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Block {
    Pass(usize),
    RowEnd,
}

struct Scheduler<'a> {
    nest: Nest,
    buffers: &'a [BufferInfo],
    inner: Option<Axis>,
    order: Order<'a>,
    passes: Vec<Pass>,
    epilogue: Vec<Inst>,
    /// Where each block computes an expression.
    done: FxHashMap<Block, Vec<Option<Vid>>>,
    slots: Vec<SlotType>,
    addresses: Vec<Address>,
    slot_of: FxHashMap<At, u32>,
    scratch_of: FxHashMap<At, u32>,
    scalars: Vec<ScalarArg>,
    folded: Vec<DType>,
    fold_of: FxHashMap<At, u32>,
}

/// Schedules the roots of one variant, of which `order` is the [`post_order`](crate::expr::post_order), and says
/// whether a check may fail at run time.
pub(crate) fn schedule(
    nest: Nest,
    roots: &[Root],
    order: &[&Expr],
    buffers: &[BufferInfo],
) -> Result<(Variant, bool)> {
    let order = Order::new(order, nest);
    let can_fail = order.can_fail;
    let mut this = Scheduler {
        nest,
        buffers,
        inner: inner_axis(nest.outer, nest.row, nest.layout).map(|axis| Axis(axis as u32)),
        order,
        passes: Vec::new(),
        epilogue: Vec::new(),
        done: FxHashMap::default(),
        slots: Vec::new(),
        addresses: Vec::new(),
        slot_of: FxHashMap::default(),
        scratch_of: FxHashMap::default(),
        scalars: Vec::new(),
        folded: Vec::new(),
        fold_of: FxHashMap::default(),
    };
    this.emit_folds()?;
    for root in roots {
        this.emit_store(root)?;
    }
    if this.passes.is_empty() {
        this.passes.push(Pass::default());
    }
    let code = Code {
        layout: nest.layout,
        loops: this.loops(),
        slots: this.slots,
        scalars: this.scalars.len() as u32,
        folded: this.folded,
        passes: this.passes,
        epilogue: this.epilogue,
    };
    Ok((Variant { code: Arc::new(code), slots: this.addresses, scalars: this.scalars }, can_fail))
}

impl Scheduler<'_> {
    fn loops(&self) -> u32 {
        let loops = match self.nest.layout {
            Layout::Row => self.nest.row.saturating_sub(1),
            Layout::Column => self.nest.row,
        };
        loops as u32
    }

    fn pass(&mut self, number: usize) -> &mut Pass {
        while self.passes.len() <= number {
            self.passes.push(Pass::default());
        }
        &mut self.passes[number]
    }

    /// Emits every fold, those of earlier passes first.
    fn emit_folds(&mut self) -> Result<()> {
        let is_fold = |expr: &Expr| matches!(expr.kind(), ExprKind::Reduce { .. });
        let mut folds: Vec<At> =
            (0..self.order.exprs.len()).filter(|at| is_fold(self.order.exprs[*at])).collect();
        let pass_of = |this: &Self, fold: At| this.order.facts[this.order.parts[fold][0]].ready;
        folds.sort_by_key(|fold| pass_of(self, *fold));
        for (number, fold) in folds.iter().enumerate() {
            self.fold_of.insert(*fold, number as u32);
            self.folded.push(self.order.exprs[*fold].dtype());
        }
        for (number, fold) in folds.iter().enumerate() {
            let expr = self.order.exprs[*fold];
            if let ExprKind::Reduce { op, .. } = expr.kind() {
                let pass = pass_of(self, *fold);
                let value = self.emit(Block::Pass(pass), self.order.parts[*fold][0])?;
                let step = FoldStep { op: *op, value, dtype: expr.dtype(), into: number as u32 };
                self.pass(pass).folds.push(step);
            }
        }
        Ok(())
    }

    fn emit_store(&mut self, root: &Root) -> Result<()> {
        let at = self.order.place(&root.expr);
        let facts = self.order.facts[at];
        let in_row = self.nest.row == 0 || root.index.iter().any(|index| self.nest.varies_in_row(index));
        let block = if in_row { Block::Pass(facts.ready) } else { Block::RowEnd };
        let value = self.emit(block, at)?;
        let class = self.class(&root.index);
        let address = Address::Element { buffer: root.buffer, index: root.index.clone() };
        let slot = self.new_slot(SlotType { dtype: root.expr.dtype(), class, used: SlotUse::Store }, address);
        self.push(block, root.expr.dtype(), InstOp::Store { slot, value });
        Ok(())
    }

    fn class(&self, index: &[Index]) -> Class {
        match self.inner {
            Some(inner) if index.iter().any(|index| depends_on(index, inner)) => Class::Contiguous,
            _ => Class::Splat,
        }
    }

    fn new_slot(&mut self, kind: SlotType, address: Address) -> u32 {
        self.slots.push(kind);
        self.addresses.push(address);
        self.slots.len() as u32 - 1
    }

    fn scalar(&mut self, scalar: ScalarArg) -> u32 {
        let known = self.scalars.iter().position(|other| *other == scalar);
        known.unwrap_or_else(|| {
            self.scalars.push(scalar);
            self.scalars.len() - 1
        }) as u32
    }

    fn push(&mut self, block: Block, dtype: DType, op: InstOp) -> Vid {
        let body = match block {
            Block::Pass(number) => &mut self.pass(number).body,
            Block::RowEnd => &mut self.epilogue,
        };
        body.push(Inst { dtype, op });
        Vid(body.len() as u32 - 1)
    }

    /// Where a block computes an expression, if it does.
    fn done(&self, block: Block, at: At) -> Option<Vid> {
        self.done.get(&block).and_then(|done| done[at])
    }

    /// The same of one that it has computed.
    fn made(&self, block: Block, at: At) -> Vid {
        self.done(block, at).expect("parts are emitted before what is made of them")
    }

    /// Emits `root` and what it needs into `block`, parts first, without recursion over shared nodes.
    fn emit(&mut self, block: Block, root: At) -> Result<Vid> {
        let count = self.order.exprs.len();
        self.done.entry(block).or_insert_with(|| vec![None; count]);
        let mut stack = vec![(root, false)];
        let mut last = None;
        while let Some((at, parts_done)) = stack.pop() {
            if let Some(done) = self.done(block, at) {
                last = Some(done);
                continue;
            }
            if !parts_done && !self.is_leaf_here(block, at) {
                stack.push((at, true));
                stack.extend(self.order.parts[at].iter().rev().map(|part| (*part, false)));
                continue;
            }
            let vid = self.emit_one(block, at)?;
            if let Some(done) = self.done.get_mut(&block) {
                done[at] = Some(vid);
            }
            last = Some(vid);
        }
        Ok(last.expect("the root is emitted last"))
    }

    /// What is read rather than computed in this block.
    fn is_leaf_here(&self, block: Block, at: At) -> bool {
        matches!(self.order.exprs[at].kind(), ExprKind::Reduce { .. }) || self.kept_in(block, at).is_some()
    }

    /// The earlier pass whose result of `expr` is kept for this block.
    fn kept_in(&self, block: Block, at: At) -> Option<usize> {
        let Block::Pass(number) = block else { return None };
        let facts = self.order.facts[at];
        let worth =
            self.nest.layout == Layout::Row && facts.in_row && facts.cost >= HEAVY && facts.ready < number;
        (worth && self.done(Block::Pass(facts.ready), at).is_some()).then_some(facts.ready)
    }

    fn emit_one(&mut self, block: Block, at: At) -> Result<Vid> {
        let expr = self.order.exprs[at];
        if let Some(earlier) = self.kept_in(block, at) {
            let slot = self.keep(earlier, at);
            return Ok(self.push(block, expr.dtype(), InstOp::Load(slot)));
        }
        let vid = |this: &Self, part: usize| this.made(block, this.order.parts[at][part]);
        let op = match expr.kind() {
            ExprKind::Const(value) => InstOp::Const(*value),
            ExprKind::Size(dim) => InstOp::Scalar(self.scalar(ScalarArg::Size(dim.clone()))),
            ExprKind::Iota(index) => return self.emit_iota(block, at, index),
            ExprKind::Load { source, index } => return self.emit_load(block, at, *source, index),
            ExprKind::LoadFlat { source, position } => {
                let address = Address::Flat { buffer: BufferIx(*source), position: (**position).clone() };
                InstOp::Load(self.load_slot(at, std::slice::from_ref(position), &[], address))
            }
            ExprKind::Unary(op, _) => InstOp::Unary(*op, vid(self, 0)),
            ExprKind::Binary(op, ..) => InstOp::Binary(*op, vid(self, 0), vid(self, 1)),
            ExprKind::MulAdd(..) => InstOp::MulAdd(vid(self, 0), vid(self, 1), vid(self, 2)),
            ExprKind::Select(..) => InstOp::Select(vid(self, 0), vid(self, 1), vid(self, 2)),
            ExprKind::Cast(_) => InstOp::Cast(vid(self, 0)),
            ExprKind::Bitcast(_) => InstOp::Bitcast(vid(self, 0)),
            ExprKind::Reduce { .. } => InstOp::Folded(self.fold_of[&at]),
            ExprKind::CheckIndex { limit, .. } => {
                let value = vid(self, 0);
                InstOp::CheckIndex { value, limit: self.scalar(ScalarArg::Size(limit.clone())) }
            }
            ExprKind::Case(..) => {
                return Err(Error::new(
                    ErrorKind::Compile,
                    Phase::Compile,
                    "a piecewise body cannot be scheduled",
                ));
            }
        };
        Ok(self.push(block, expr.dtype(), op))
    }

    /// A scratch slot that `pass` fills with `expr`.
    fn keep(&mut self, pass: usize, at: At) -> u32 {
        if let Some(&slot) = self.scratch_of.get(&at) {
            return slot;
        }
        let expr = self.order.exprs[at];
        let kind = SlotType { dtype: expr.dtype(), class: Class::Contiguous, used: SlotUse::Scratch };
        let slot = self.new_slot(kind, Address::Row);
        let value = self.made(Block::Pass(pass), at);
        self.push(Block::Pass(pass), expr.dtype(), InstOp::Store { slot, value });
        self.scratch_of.insert(at, slot);
        slot
    }

    fn load_slot(&mut self, at: At, index: &[Index], dims: &[Dim], address: Address) -> u32 {
        if let Some(&slot) = self.slot_of.get(&at) {
            return slot;
        }
        let dtype = self.order.exprs[at].dtype();
        let class = match (self.class(index), self.inner) {
            (Class::Contiguous, Some(inner)) => {
                Class::of_load(dtype.size_bytes(), step_along(index, inner, dims))
            }
            (class, _) => class,
        };
        let slot = self.new_slot(SlotType { dtype, class, used: SlotUse::Load }, address);
        self.slot_of.insert(at, slot);
        slot
    }

    fn emit_iota(&mut self, block: Block, at: At, index: &Index) -> Result<Vid> {
        let (fixed, values) = split_values(index)?;
        let class = self.class(std::slice::from_ref(&fixed));
        let slot = match self.slot_of.get(&at) {
            Some(&slot) => slot,
            None => {
                let kind = SlotType { dtype: DType::I64, class, used: SlotUse::Iota };
                let slot = self.new_slot(kind, Address::Iota(fixed));
                self.slot_of.insert(at, slot);
                slot
            }
        };
        let mut sum = self.push(block, DType::I64, InstOp::Iota(slot));
        for (value, coefficient) in values {
            let value = self.made(block, self.order.place(&value));
            let scale = self.scalar(ScalarArg::Size(coefficient));
            let scale = self.push(block, DType::I64, InstOp::Scalar(scale));
            let term = self.push(block, DType::I64, InstOp::Binary(BinaryOp::Mul, value, scale));
            sum = self.push(block, DType::I64, InstOp::Binary(BinaryOp::Add, sum, term));
        }
        Ok(sum)
    }

    fn emit_load(&mut self, block: Block, at: At, source: u32, index: &[Index]) -> Result<Vid> {
        let (expr, buffer) = (self.order.exprs[at], BufferIx(source));
        let mut fixed = Vec::with_capacity(index.len());
        // Each run-time value with its coefficient on every axis of the buffer.
        let mut values: Vec<(Expr, Vec<Dim>)> = Vec::new();
        for (axis, index_here) in index.iter().enumerate() {
            let (rest, found) = split_values(index_here)?;
            fixed.push(rest);
            for (value, coefficient) in found {
                let known = values.iter().position(|(other, _)| *other == value).unwrap_or_else(|| {
                    values.push((value, vec![Dim::known(0); index.len()]));
                    values.len() - 1
                });
                values[known].1[axis] = coefficient;
            }
        }
        let class = self.class(&fixed);
        let address = Address::Element { buffer, index: fixed };
        if values.is_empty() {
            let slot = self.load_slot(at, index, &self.buffers[buffer.at()].dims, address);
            return Ok(self.push(block, expr.dtype(), InstOp::Load(slot)));
        }
        let slot = match self.slot_of.get(&at) {
            Some(&slot) => slot,
            None => {
                let kind = SlotType { dtype: expr.dtype(), class, used: SlotUse::Gather };
                let slot = self.new_slot(kind, address);
                self.slot_of.insert(at, slot);
                slot
            }
        };
        let mut offsets = Vec::with_capacity(values.len());
        for (value, coefficients) in values {
            let vid = self.made(block, self.order.place(&value));
            offsets.push((vid, self.scalar(ScalarArg::GatherStride { slot, coefficients })));
        }
        Ok(self.push(block, expr.dtype(), InstOp::Gather { slot, offsets: offsets.into() }))
    }
}

/// An index without its run-time values, and these with their coefficients.
fn split_values(index: &Index) -> Result<(Index, Vec<(Expr, Dim)>)> {
    let mut fixed = index.clone();
    let mut values = Vec::new();
    fixed.terms.retain(|(atom, coefficient)| match atom {
        Atom::Value(expr) => {
            values.push((expr.clone(), coefficient.clone()));
            false
        }
        _ => true,
    });
    let mut nested = false;
    fixed.for_each_value(&mut |_| nested = true);
    if nested {
        let message = "a run-time index inside a quotient cannot be scheduled";
        return Err(Error::new(ErrorKind::Compile, Phase::Compile, message));
    }
    Ok((fixed, values))
}
