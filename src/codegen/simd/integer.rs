//! Integers where lanes need care: shifts, division, checked indices.

use shapeflow_shape_fns::DType;

use super::Isa;
use super::arith::{SIGN_32, SIGN_64};
use super::block::{Home, Kind, LaneOp, V};
use super::op;
use super::select::{Refusal, Selector};
use super::values::Vecs;
use crate::codegen::clif::{Repr, bits_of};
use crate::expr::BinaryOp;
use crate::lower::code::Vid;

impl Selector<'_> {
    /// Shifts take their count modulo the width of the dtype, also where lanes are wider.
    pub fn shifts(&mut self, op: BinaryOp, a: Vid, b: Vid) -> Result<Vecs, Refusal> {
        let dtype = self.dtype(a);
        let wide = Repr::of(dtype).bytes() == 8;
        let left = op == BinaryOp::Shl;
        let signed = !left && dtype.is_signed();
        let modulus = u64::from(bits_of(dtype)) - 1;
        let x = self.vecs(a)?;
        // Without an arithmetic shift of 8-byte lanes, negative ones are flipped before and after.
        let by_flip = signed && wide && self.isa != Isa::Avx512;
        let fixed = self.constant(b).map(|count| (count.to_i64() as u64 & modulus) as u8);
        let counts = match fixed {
            Some(_) => None,
            None => {
                let counts = self.vecs(b)?;
                let mask = self.splat(modulus, if wide { 8 } else { 4 });
                Some(self.map(&counts, |s, count| s.op2(op::AND_D, count, mask)))
            }
        };
        let [by_number, by_lane] = match (left, signed && !by_flip, wide) {
            (true, _, false) => [op::SLL_D, op::SLLV_D],
            (true, _, true) => [op::SLL_Q, op::SLLV_Q],
            (false, false, false) => [op::SRL_D, op::SRLV_D],
            (false, false, true) => [op::SRL_Q, op::SRLV_Q],
            (false, true, false) => [op::SRA_D, op::SRAV_D],
            (false, true, true) => [op::SRA_Q, op::SRAV_Q],
        };
        Ok((0..x.len())
            .map(|j| {
                let mut value = x[j];
                let minus = by_flip.then(|| {
                    let zero = self.splat(0, 8);
                    self.op2(op::GT_Q, zero, x[j])
                });
                if let Some(minus) = minus {
                    value = self.op2(op::XOR_D, value, minus);
                }
                value = match (fixed, &counts) {
                    (Some(count), _) => self.op_imm(by_number, &[value], Some(count)),
                    (None, Some(counts)) => self.op2(by_lane, value, counts[j]),
                    (None, None) => value,
                };
                if let Some(minus) = minus {
                    value = self.op2(op::XOR_D, value, minus);
                }
                if left { self.wrap(dtype, value) } else { value }
            })
            .collect())
    }

    /// Fails the run if any element of a mask is set, with lanes of so many bytes; `j` is its vector.
    /// What is ahead fails when its turn comes.
    fn fail_if(&mut self, bad: V, j: usize, bytes: u32) {
        if self.ahead {
            return;
        }
        let mut failing = bad;
        if self.masked() {
            let live = self.live(j, bytes);
            failing = self.op2(op::AND_D, bad, live);
        }
        self.block.effect(Kind::Fail, &[failing]);
    }

    /// An index, in lanes of its own size, if it lies below its limit; otherwise 0, and the run fails.
    pub fn check_index(&mut self, value: Vid, limit: u32) -> Result<Vecs, Refusal> {
        let index = self.vecs(value)?;
        let bytes = Repr::of(self.dtype(value)).bytes();
        let limit = self.layout.spread.limit(limit, bytes).ok_or("a limit has no place")?;
        let limit = self.block.at(Home::Frame(limit));
        // As unsigned numbers, negative ones are above every limit.
        let good = self.map(&index, |s, index| match (s.isa, bytes) {
            (Isa::Avx512, 4) => s.compare(DType::U32, BinaryOp::Lt, index, limit),
            (Isa::Avx512, _) => s.compare(DType::U64, BinaryOp::Lt, index, limit),
            (Isa::Avx2, 4) => {
                let sign = s.splat(SIGN_32, 4);
                let flipped = s.op2(op::XOR_D, index, sign);
                s.op2(op::GT_D, limit, flipped)
            }
            (Isa::Avx2, _) => {
                let sign = s.splat(SIGN_64, 8);
                let flipped = s.op2(op::XOR_D, index, sign);
                s.op2(op::GT_Q, limit, flipped)
            }
        });
        if self.masked() {
            for (j, good) in good.iter().enumerate() {
                let bad = self.not(*good);
                self.fail_if(bad, j, bytes);
            }
        } else if let Some(all) = good.iter().copied().reduce(|a, b| self.op2(op::AND_D, a, b)) {
            let bad = self.not(all);
            self.fail_if(bad, 0, bytes);
        }
        Ok(self.zip(&index, &good, |s, index, good| s.op2(op::AND_D, index, good)))
    }

    /// Integer quotient or remainder toward zero. A zero divisor fails the run and acts as 1.
    pub fn divide(&mut self, op: BinaryOp, a: Vid, b: Vid) -> Result<Vecs, Refusal> {
        let dtype = self.dtype(a);
        let bytes = Repr::of(dtype).bytes();
        let rem = op == BinaryOp::Rem;
        let (x, mut y) = (self.vecs(a)?, self.vecs(b)?);
        if self.constant(b).is_none_or(|c| c.to_i64() == 0) {
            y = (0..y.len())
                .map(|j| {
                    let zero = self.splat(0, 8);
                    let bad = self.compare(dtype, BinaryOp::Eq, y[j], zero);
                    self.fail_if(bad, j, bytes);
                    let one = self.splat(1, bytes);
                    let instead = self.op2(op::AND_D, bad, one);
                    self.op2(op::OR_D, y[j], instead)
                })
                .collect();
        }
        if bytes == 8 {
            let signed = dtype.is_signed();
            return Ok(self
                .zip(&x, &y, |s, x, y| s.block.push(Kind::Lanes(LaneOp::Divide { signed, rem }), &[x, y])));
        }
        // Quotients of 32-bit integers differ from an integer by more than f64 rounds.
        let (wide_x, wide_y) = (self.integer_to_double(dtype, &x), self.integer_to_double(dtype, &y));
        let quotients = self.zip(&wide_x, &wide_y, |s, x, y| {
            let quotient = s.op2(op::DIV_PD, x, y);
            s.double_to_low_word(quotient)
        });
        let quotients = self.narrow_pairs(&quotients, Selector::even_words);
        Ok((0..x.len())
            .map(|j| {
                let mut result = quotients[j];
                if rem {
                    let product = self.op2(op::MUL_D, result, y[j]);
                    result = self.op2(op::SUB_D, x[j], product);
                }
                self.wrap(dtype, result)
            })
            .collect())
    }
}
