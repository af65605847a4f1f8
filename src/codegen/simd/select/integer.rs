//! Integers: shifts, division, checked indices.

use shapeflow_shape_fns::DType;

use super::arith::{SIGN_32, SIGN_64};
use super::selected_value::VectorIds;
use super::selector::Selector;
use crate::codegen::legalize::{Settle, constant, shift_mask};
use crate::codegen::repr::Repr;
use crate::codegen::simd::asm::{VectorIsa, opcode};
use crate::codegen::simd::ir::{LaneScalar, ValueOrigin, VectorId, VectorInstKind};
use crate::expr::BinaryOp;
use crate::lower::kernel_body::InstId;

impl Selector<'_> {
    /// Selects a shift. The count is taken modulo the width of the dtype.
    pub fn shifts(&mut self, op: BinaryOp, a: InstId, b: InstId) -> VectorIds {
        let dtype = self.dtype(a);
        let wide = Repr::of(dtype).bytes() == 8;
        let left = op == BinaryOp::Shl;
        let signed = !left && dtype.is_signed();
        let count_mask = shift_mask(dtype);
        let x = self.vectors_of(a);
        // AVX2 has no arithmetic shift of 8-byte lanes. A logical shift is the same if negative lanes are complemented
        // before and after it.
        let by_flip = signed && wide && self.isa != VectorIsa::Avx512;
        let fixed = constant(self.body.insts, b).map(|count| (count.to_i64() as u64 & count_mask) as u8);
        let counts = match fixed {
            Some(_) => None,
            None => {
                let counts = self.vectors_of(b);
                let mask = self.splat(count_mask, if wide { 8 } else { 4 });
                Some(self.map(&counts, |s, count| s.op2(opcode::AND_D, count, mask)))
            }
        };
        let [by_number, by_lane] = match (left, signed && !by_flip, wide) {
            (true, _, false) => [opcode::SLL_D, opcode::SLLV_D],
            (true, _, true) => [opcode::SLL_Q, opcode::SLLV_Q],
            (false, false, false) => [opcode::SRL_D, opcode::SRLV_D],
            (false, false, true) => [opcode::SRL_Q, opcode::SRLV_Q],
            (false, true, false) => [opcode::SRA_D, opcode::SRAV_D],
            (false, true, true) => [opcode::SRA_Q, opcode::SRAV_Q],
        };
        (0..x.len())
            .map(|j| {
                let mut value = x[j];
                let is_negative = by_flip.then(|| {
                    let zero = self.splat(0, 8);
                    self.op2(opcode::GT_Q, zero, x[j])
                });
                if let Some(is_negative) = is_negative {
                    value = self.op2(opcode::XOR_D, value, is_negative);
                }
                value = match (fixed, &counts) {
                    (Some(count), _) => self.op_imm(by_number, &[value], Some(count)),
                    (None, Some(counts)) => self.op2(by_lane, value, counts[j]),
                    (None, None) => unreachable!("a shift has a constant count or lanes of counts"),
                };
                if let Some(is_negative) = is_negative {
                    value = self.op2(opcode::XOR_D, value, is_negative);
                }
                self.settle_by(Settle::after_binary(op, dtype), value)
            })
            .collect()
    }

    /// Fails the run if any lane of `bad` is set, which is vector `j` of a mask with lanes of `bytes` bytes. Lanes past
    /// the end of the row do not count. At a speculative position nothing fails.
    fn fail_if(&mut self, bad: VectorId, j: usize, bytes: u32) {
        if self.plan.speculative {
            return;
        }
        let mut failing = bad;
        if self.is_masked() {
            let tail = self.tail_lanes(j, bytes);
            failing = self.op2(opcode::AND_D, bad, tail);
        }
        self.block.push_effect(VectorInstKind::Fail, &[failing]);
    }

    /// Selects the check of an index. The result, in lanes of the index's size, is the index if it is in `[0, limit)`;
    /// otherwise 0, and the run fails.
    pub fn check_index(&mut self, value: InstId, limit: u32) -> VectorIds {
        let index = self.vectors_of(value);
        let bytes = Repr::of(self.dtype(value)).bytes();
        let limit = self.layout.lane_scalar(LaneScalar::Limit { scalar: limit, bytes });
        let limit = self.block.value_from(ValueOrigin::Frame(limit));
        // Compared as unsigned, a negative index is above every limit.
        let good = self.map(&index, |s, index| match (s.isa, bytes) {
            (VectorIsa::Avx512, 4) => s.compare(DType::U32, BinaryOp::Lt, index, limit),
            (VectorIsa::Avx512, _) => s.compare(DType::U64, BinaryOp::Lt, index, limit),
            (VectorIsa::Avx2, 4) => {
                let sign = s.splat(SIGN_32, 4);
                let flipped = s.op2(opcode::XOR_D, index, sign);
                s.op2(opcode::GT_D, limit, flipped)
            }
            (VectorIsa::Avx2, _) => {
                let sign = s.splat(SIGN_64, 8);
                let flipped = s.op2(opcode::XOR_D, index, sign);
                s.op2(opcode::GT_Q, limit, flipped)
            }
        });
        if self.is_masked() {
            for (j, good) in good.iter().enumerate() {
                let bad = self.not(*good);
                self.fail_if(bad, j, bytes);
            }
        } else if let Some(all) = good.iter().copied().reduce(|a, b| self.op2(opcode::AND_D, a, b)) {
            let bad = self.not(all);
            self.fail_if(bad, 0, bytes);
        }
        self.zip(&index, &good, |s, index, good| s.op2(opcode::AND_D, index, good))
    }

    /// Selects the integer quotient toward zero, or the remainder `x - y * quotient`. A zero divisor fails the run and
    /// acts as 1.
    pub fn divide(&mut self, op: BinaryOp, a: InstId, b: InstId) -> VectorIds {
        let dtype = self.dtype(a);
        let bytes = Repr::of(dtype).bytes();
        let rem = op == BinaryOp::Rem;
        let (x, mut y) = (self.vectors_of(a), self.vectors_of(b));
        if constant(self.body.insts, b).is_none_or(|c| c.to_i64() == 0) {
            y = (0..y.len())
                .map(|j| {
                    let zero = self.splat(0, 8);
                    let bad = self.compare(dtype, BinaryOp::Eq, y[j], zero);
                    self.fail_if(bad, j, bytes);
                    let one = self.splat(1, bytes);
                    let instead = self.op2(opcode::AND_D, bad, one);
                    self.op2(opcode::OR_D, y[j], instead)
                })
                .collect();
        }
        if bytes == 8 {
            let signed = dtype.is_signed();
            return self.zip(&x, &y, |s, x, y| s.block.push(VectorInstKind::Divide { signed, rem }, &[x, y]));
        }
        // The f64 quotient of 32-bit integers truncates to the right integer: a quotient that is not an integer differs
        // from the nearest integer by more than the rounding error.
        let (wide_x, wide_y) = (self.integer_to_double(dtype, &x), self.integer_to_double(dtype, &y));
        let quotients = self.zip(&wide_x, &wide_y, |s, x, y| {
            let quotient = s.op2(opcode::DIV_PD, x, y);
            s.double_to_low_word(quotient)
        });
        let quotients = self.narrow_pairs(&quotients, Selector::even_words);
        (0..x.len())
            .map(|j| {
                let mut result = quotients[j];
                if rem {
                    let product = self.op2(opcode::MUL_D, result, y[j]);
                    result = self.op2(opcode::SUB_D, x[j], product);
                }
                self.settle(dtype, result)
            })
            .collect()
    }
}
