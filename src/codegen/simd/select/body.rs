//! Selection of a whole body, or of one part of it.

use shapeflow_shape_fns::DType;

use super::selected_value::{SelectedValue, VectorIds};
use super::selector::{SelectMode, Selector};
use crate::codegen::repr::Repr;
use crate::codegen::simd::asm::opcode::{self, Opcode};
use crate::codegen::simd::ir::{MemRef, Tail, ValueOrigin, VectorInstKind};
use crate::codegen::uniform::has_uniform_offsets;
use crate::expr::{BinaryOp, UnaryOp};
use crate::lower::kernel_body::{Inst, InstId, InstOp};

impl Selector<'_> {
    /// Selects a whole body for one element.
    pub fn select_all(&mut self) {
        (0..self.body.insts.len()).for_each(|index| self.inst(index));
    }

    /// Selects the varying instructions of a step, in the order `order`, or in the order of the body if `order` is
    /// empty.
    pub fn select_varying(&mut self, order: &[u32]) {
        if !order.is_empty() {
            return order.iter().for_each(|index| self.inst(*index as usize));
        }
        for index in 0..self.body.insts.len() {
            if !self.body.uniform[index] {
                self.inst(index);
            }
        }
    }

    /// Selects the uniform instructions. Keeps the value of each root, and each value that a varying instruction reads.
    /// A value that is in memory or in a pinned register stays there, and any other value is stored to the frame.
    /// A gather with uniform offsets reads a whole row: its offsets are added to the address of its slot. Returns the
    /// locations of the kept values.
    pub fn select_uniform(&mut self, roots: &[InstId]) -> Vec<Option<ValueOrigin>> {
        let body = self.body;
        let mut wanted = vec![false; body.insts.len()];
        let gathers_row = |inst: &'_ Inst| match &inst.op {
            InstOp::Gather { offsets, .. } => has_uniform_offsets(&body.uniform, offsets),
            _ => false,
        };
        for (index, inst) in body.insts.iter().enumerate() {
            if !body.uniform[index] && !gathers_row(inst) {
                inst.op.for_each_operand(|v| wanted[v.0 as usize] = true);
            }
        }
        roots.iter().for_each(|root| wanted[root.0 as usize] = true);
        let mut locations = vec![None; body.insts.len()];
        for (index, inst) in body.insts.iter().enumerate() {
            if !body.uniform[index] {
                if let InstOp::Gather { slot, offsets } = &inst.op
                    && gathers_row(inst)
                {
                    self.displace_slot(*slot, offsets);
                }
                continue;
            }
            self.inst(index);
            if wanted[index] && !body.index[index] {
                locations[index] = Some(self.keep_uniform(index));
            }
        }
        locations
    }

    /// Returns the location of a selected uniform value. Stores the value to the frame if it has no location.
    fn keep_uniform(&mut self, index: usize) -> ValueOrigin {
        // The value is still a scalar of index arithmetic; `vectors_of` makes vectors of it.
        if !self.values[index].index_words.is_empty() {
            self.vectors_of(InstId(index as u32));
        }
        let value = &self.values[index];
        let one = *value.vectors.first().or(value.wide_mask.first()).expect("a selected value has a form");
        let origin = self.block.values[one.0 as usize];
        if origin != ValueOrigin::Made {
            return origin;
        }
        let (offset, len) = (self.frame.vector(self.isa), self.vector_len());
        let mem = MemRef::Frame(offset);
        let store = VectorInstKind::Store { op: opcode::MOV_STORE, len, imm: None, mem, tail: Tail::Whole };
        self.block.push_effect(store, &[one]);
        ValueOrigin::Frame(offset)
    }

    /// Selects the instructions that addresses of gathered rows depend on, and sets the slots' addresses to these rows.
    pub fn select_addresses(&mut self, wanted: &[bool]) {
        let body = self.body;
        for (index, inst) in body.insts.iter().enumerate() {
            match &inst.op {
                _ if wanted[index] => self.inst(index),
                InstOp::Gather { slot, offsets }
                    if !body.uniform[index] && has_uniform_offsets(&body.uniform, offsets) =>
                {
                    self.displace_slot(*slot, offsets);
                }
                _ => {}
            }
        }
    }

    /// Selects instruction `index` of the body, and sets its entry of `values`.
    fn inst(&mut self, index: usize) {
        if self.body.index[index] {
            self.index_inst(index);
            return;
        }
        let inst = &self.body.insts[index];
        let dtype = inst.dtype;
        let mask = dtype == DType::Bool;
        // Whether the result is a mask with lanes of 8 bytes.
        let mut wide = false;
        let vectors: VectorIds = match &inst.op {
            InstOp::Const(scalar) => VectorIds::repeated(self.splat_of(*scalar), 1),
            InstOp::Scalar(k) => VectorIds::repeated(self.block.push(VectorInstKind::Scalar(*k), &[]), 1),
            InstOp::Iota(slot) => self.iota(*slot),
            InstOp::Load(slot) => self.load(*slot),
            InstOp::Gather { slot, offsets } => self.gather(*slot, offsets),
            InstOp::Unary(UnaryOp::Not, a) if mask => {
                wide = self.is_wide(*a);
                let x = self.mask(*a, if wide { 8 } else { 4 });
                self.map(&x, Selector::not)
            }
            InstOp::Unary(op, a) => self.unary(*op, *a),
            InstOp::Binary(op, a, b) if self.dtype(*a) == DType::Bool => {
                wide = self.is_wide(*a) && self.is_wide(*b);
                let bytes = if wide { 8 } else { 4 };
                let (x, y) = (self.mask(*a, bytes), self.mask(*b, bytes));
                self.zip(&x, &y, |s, x, y| s.logical(*op, x, y))
            }
            InstOp::Binary(op, a, b) => {
                wide = mask && Repr::of(self.dtype(*a)).bytes() == 8;
                self.binary(*op, *a, *b)
            }
            InstOp::MulAdd(a, b, c) => self.mul_add(*a, *b, *c),
            InstOp::Select(c, a, b) if mask => {
                wide = self.is_wide(*c) && self.is_wide(*a) && self.is_wide(*b);
                let bytes = if wide { 8 } else { 4 };
                let (m, x, y) = (self.mask(*c, bytes), self.mask(*a, bytes), self.mask(*b, bytes));
                (0..m.len()).map(|j| self.choose(m[j], x[j], y[j])).collect()
            }
            InstOp::Select(c, a, b) if let Some(op) = self.as_extremum(*c, *a, *b) => {
                let (x, y) = (self.vectors_of(*a), self.vectors_of(*b));
                self.zip(&x, &y, |s, x, y| s.op2(op, x, y))
            }
            InstOp::Select(c, a, b) => {
                let m = self.mask(*c, Repr::of(dtype).bytes());
                let (x, y) = (self.vectors_of(*a), self.vectors_of(*b));
                (0..m.len()).map(|j| self.choose(m[j], x[j], y[j])).collect()
            }
            InstOp::Cast(a) => {
                wide = mask && Repr::of(self.dtype(*a)).bytes() == 8;
                self.cast(*a, dtype)
            }
            InstOp::Bitcast(a) => self.bitcast(*a, dtype),
            InstOp::Reduced(k) => self.reduced(*k),
            InstOp::CheckIndex { value, limit } if self.dtype(*value) == DType::I32 => {
                let words = self.check_index(*value, *limit);
                self.values[index] = SelectedValue { index_words: words, ..SelectedValue::default() };
                return;
            }
            InstOp::CheckIndex { value, limit } => self.check_index(*value, *limit),
            InstOp::Store { slot, value } => {
                self.store(*slot, *value);
                self.values[index] = self.values[value.0 as usize];
                return;
            }
            InstOp::StorePair { slot, values } => {
                self.store_pair(*slot, *values);
                self.values[index] = self.values[values[0].0 as usize];
                return;
            }
        };
        // A mask of a single element is all ones or all zeros, so that it serves as lanes of either size.
        let either_width = mask && self.plan.mode == SelectMode::OneElement;
        if wide || either_width {
            self.values[index].wide_mask = vectors;
        }
        if !wide || either_width {
            self.values[index].vectors = vectors;
        }
    }

    /// Returns the instruction that computes `condition ? a : b`, if `a` and `b` are floats and the condition is
    /// `a < b` (a minimum) or `b < a` (a maximum). Like the hardware's, this result is `b` if one operand is NaN.
    fn as_extremum(&self, condition: InstId, a: InstId, b: InstId) -> Option<Opcode> {
        let InstOp::Binary(BinaryOp::Lt, less, more) = self.body.insts[condition.0 as usize].op else {
            return None;
        };
        let wide = match Repr::of(self.dtype(a)) {
            Repr::F32 => false,
            Repr::F64 => true,
            _ => return None,
        };
        match () {
            () if (less, more) == (a, b) => Some(if wide { opcode::MIN_PD } else { opcode::MIN_PS }),
            () if (less, more) == (b, a) => Some(if wide { opcode::MAX_PD } else { opcode::MAX_PS }),
            () => None,
        }
    }

    /// Selects the value of an iota slot. `ahead` is the number of elements between the start of the step and the first
    /// selected element. A ramp holds what each lane adds to the first value; the lanes of an iota along an outer axis
    /// are equal, so it has no ramp.
    fn iota(&mut self, slot: u32) -> VectorIds {
        let SelectMode::Step { ahead, .. } = self.plan.mode else {
            return VectorIds::repeated(self.block.push(VectorInstKind::Iota { slot, ahead: 0 }, &[]), 1);
        };
        let start = self.block.push(VectorInstKind::Iota { slot, ahead: ahead as i32 }, &[]);
        let bytes = self.vector_len().bytes();
        let ramp = self.layout.ramps[slot as usize];
        (0..self.vectors(8) as u32)
            .map(|j| match ramp {
                Some(ramp) => {
                    let ramp = self.block.value_from(ValueOrigin::Frame(ramp + j * bytes));
                    self.op2(opcode::ADD_Q, start, ramp)
                }
                None => start,
            })
            .collect()
    }
}
