//! Loads and indices as values: their slots, and the instructions that read them.

use std::borrow::Cow;

use shapeflow_shape_fns::{DType, Dim};

use super::{Scheduler, Section};
use crate::error::Result;
use crate::expr::{BinaryOp, Expr, Index};
use crate::lower::access::{split_values, step_along};
use crate::lower::expr_order::ExprIx;
use crate::lower::kernel::{Address, BufferIx, ScalarArg};
use crate::lower::kernel_body::{AccessPattern, InstId, InstOp, SlotType, SlotUse};

impl Scheduler<'_> {
    /// Returns the slot of a load at `element`, after adding it if needed. `dims` has the dims of the buffer.
    pub(super) fn load_slot(
        &mut self,
        index: ExprIx,
        element: &[Index],
        dims: &[Dim],
        address: Address,
    ) -> u32 {
        if let Some(&slot) = self.slot_of.get(&index) {
            return slot;
        }
        let dtype = self.order.exprs[index].dtype();
        let pattern = match (self.pattern(element), self.inner) {
            (AccessPattern::Contiguous, Some(inner)) => {
                AccessPattern::of_load(dtype.size_bytes(), step_along(element, inner, dims))
            }
            (pattern, _) => pattern,
        };
        let slot = self.new_slot(SlotType { dtype, pattern, used: SlotUse::Load }, address);
        self.slot_of.insert(index, slot);
        slot
    }

    /// Emits an index as a value: an iota slot, plus run-time values times their coefficients.
    pub(super) fn emit_iota(&mut self, section: Section, index: ExprIx, value: &Index) -> Result<InstId> {
        let (fixed, values) = split_values(value)?;
        let pattern = self.pattern(std::slice::from_ref(&fixed));
        let slot = match self.slot_of.get(&index) {
            Some(&slot) => slot,
            None => {
                let kind = SlotType { dtype: DType::I64, pattern, used: SlotUse::Iota };
                let slot = self.new_slot(kind, Address::Iota(fixed));
                self.slot_of.insert(index, slot);
                slot
            }
        };
        let mut sum = self.push(section, DType::I64, InstOp::Iota(slot));
        for (value, coefficient) in values {
            let value = self.operand_inst(section, self.order.index(&value));
            let scale = self.scalar(ScalarArg::Size(coefficient));
            let scale = self.push(section, DType::I64, InstOp::Scalar(scale));
            let term = self.push(section, DType::I64, InstOp::Binary(BinaryOp::Mul, value, scale));
            sum = self.push(section, DType::I64, InstOp::Binary(BinaryOp::Add, sum, term));
        }
        Ok(sum)
    }

    /// Emits a load: a gather if the index has run-time values.
    pub(super) fn emit_load(
        &mut self,
        section: Section,
        index: ExprIx,
        source: u32,
        element: &[Index],
    ) -> Result<InstId> {
        let (expr, buffer) = (self.order.exprs[index], BufferIx(source));
        let mut fixed = Vec::with_capacity(element.len());
        // Each run-time value with its coefficient on every axis of the buffer.
        let mut values: Vec<(Expr, Vec<Dim>)> = Vec::new();
        for (axis, axis_index) in element.iter().enumerate() {
            let (rest, found) = split_values(axis_index)?;
            fixed.push(rest);
            for (value, coefficient) in found {
                let known = values.iter().position(|(other, _)| *other == value).unwrap_or_else(|| {
                    values.push((value, vec![Dim::known(0); element.len()]));
                    values.len() - 1
                });
                values[known].1[axis] = coefficient;
            }
        }
        let pattern = self.pattern(&fixed);
        let address = Address::Element { buffer, index: fixed };
        if values.is_empty() {
            let mut dims = Cow::Borrowed(&self.buffers[buffer.index()].dims);
            if element.len() > dims.len() {
                // The last index chooses a part of a complex number.
                dims.to_mut().push(Dim::known(2));
            }
            let slot = self.load_slot(index, element, &dims, address);
            return Ok(self.push(section, expr.dtype(), InstOp::Load(slot)));
        }
        let slot = match self.slot_of.get(&index) {
            Some(&slot) => slot,
            None => {
                let kind = SlotType { dtype: expr.dtype(), pattern, used: SlotUse::Gather };
                let slot = self.new_slot(kind, address);
                self.slot_of.insert(index, slot);
                slot
            }
        };
        let mut offsets = Vec::with_capacity(values.len());
        for (value, coefficients) in values {
            let inst = self.operand_inst(section, self.order.index(&value));
            offsets.push((inst, self.scalar(ScalarArg::GatherStride { slot, coefficients })));
        }
        Ok(self.push(section, expr.dtype(), InstOp::Gather { slot, offsets: offsets.into() }))
    }
}
