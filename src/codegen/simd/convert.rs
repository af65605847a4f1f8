//! Conversion between dtypes, by value and by bits.

use shapeflow_shape_fns::DType;

use super::block::{Kind, LaneOp, V};
use super::op;
use super::select::{Refusal, Selector};
use super::values::Vecs;
use crate::codegen::clif::{Repr, is_narrow, lane_bits};
use crate::expr::{BinaryOp, Scalar, eval_cast};
use crate::lower::code::{InstOp, Vid};

/// Added to an integer below 2^51 in size, this puts its two's complement in the low bits.
const INTEGER_BIAS: f64 = 6_755_399_441_055_744.0;
/// 2^52: the low bits of a sum with it are an integer below.
const TWO_52: u64 = 0x4330_0000_0000_0000;
/// 2^84.
const TWO_84: u64 = 0x4530_0000_0000_0000;

impl Selector<'_> {
    /// `a` converted to `to`; to bool, as a mask with the lanes of `a`.
    pub fn cast(&mut self, a: Vid, to: DType) -> Result<Vecs, Refusal> {
        let from = self.dtype(a);
        if from == to {
            return self.vecs(a);
        }
        let repr = Repr::of(to);
        if from == DType::Bool {
            let mask = self.mask(a, repr.bytes())?;
            let one = lane_bits(eval_cast(Scalar::Bool(true), to));
            let one = self.splat(one, repr.bytes());
            return Ok(self.map(&mask, |s, mask| s.op2(op::AND_D, mask, one)));
        }
        let x = self.vecs(if from.is_float() { self.unclamped(a, to) } else { a })?;
        if to == DType::Bool {
            let zero = self.splat(0, 8);
            return Ok(self.map(&x, |s, x| s.compare(from, BinaryOp::Ne, x, zero)));
        }
        let unsigned = matches!(from, DType::U32 | DType::U64);
        Ok(match (Repr::of(from), repr) {
            (Repr::I32, Repr::I32) => self.map(&x, |s, x| s.wrap(to, x)),
            (Repr::I32, Repr::I64) => self.widen(&x, if unsigned { op::ZX_DQ } else { op::SX_DQ }),
            (Repr::I32, Repr::F64) => self.integer_to_double(from, &x),
            (Repr::I32, Repr::F32) => self.map(&x, |s, x| {
                let single = s.integer_to_single(unsigned, x);
                s.settle(to, single)
            }),
            (Repr::I64, Repr::F64) => self.map(&x, |s, x| s.wide_integer_to_double(unsigned, x)),
            (Repr::I64, Repr::F32) => {
                let halves = self.map(&x, |s, x| s.wide_integer_to_single(unsigned, x));
                let joined = self.narrow_pairs(&halves, Selector::join);
                self.map(&joined, |s, x| s.settle(to, x))
            }
            (Repr::I64, Repr::I32) => {
                let low = self.narrow_pairs(&x, Selector::even_words);
                self.map(&low, |s, x| s.wrap(to, x))
            }
            (Repr::F32, Repr::F32) => self.map(&x, |s, x| s.settle(to, x)),
            (Repr::F32, Repr::F64) => self.widen(&x, op::PS_TO_PD),
            (Repr::F64, Repr::F32) => {
                let halves = self.map(&x, |s, x| s.op1(op::PD_TO_PS, x));
                let joined = self.narrow_pairs(&halves, Selector::join);
                self.map(&joined, |s, x| s.settle(to, x))
            }
            (Repr::F32, Repr::I32) => self.map(&x, |s, x| s.single_to_integer(to, x)),
            (Repr::F64, Repr::I32) => {
                let low = self.map(&x, |s, x| s.double_to_integer(to, x));
                self.narrow_pairs(&low, Selector::even_words)
            }
            (Repr::F32, Repr::I64) => {
                let wide = self.widen(&x, op::PS_TO_PD);
                self.map(&wide, |s, x| s.double_to_wide_integer(to, x))
            }
            (Repr::F64, Repr::I64) => self.map(&x, |s, x| s.double_to_wide_integer(to, x)),
            _ => x,
        })
    }

    /// The float that a conversion to `to`, which saturates, makes the same integer of as of `a`: minima and maxima
    /// beyond its range are left out.
    fn unclamped(&self, mut a: Vid, to: DType) -> Vid {
        let Some((low, high)) = to.integer_range().filter(|_| to.is_integer()) else { return a };
        loop {
            let InstOp::Binary(op, x, y) = self.body[a.0 as usize].op else { return a };
            let (limit, of) = match (self.constant(x), self.constant(y)) {
                (None, Some(limit)) => (limit.to_f64(), x),
                (Some(limit), None) => (limit.to_f64(), y),
                _ => return a,
            };
            let is_beyond = match op {
                BinaryOp::Max => limit <= low as f64,
                BinaryOp::Min => limit >= high as f64,
                _ => false,
            };
            if !is_beyond || self.is_uniform(a) {
                return a;
            }
            a = of;
        }
    }

    /// 4-byte integers as f64, exactly.
    pub fn integer_to_double(&mut self, from: DType, x: &Vecs) -> Vecs {
        if from != DType::U32 {
            return self.widen(x, op::DQ_TO_PD);
        }
        let wide = self.widen(x, op::ZX_DQ);
        let bias = self.splat(TWO_52, 8);
        self.map(&wide, |s, x| {
            let biased = s.op2(op::OR_D, x, bias);
            s.op2(op::SUB_PD, biased, bias)
        })
    }

    fn integer_to_single(&mut self, unsigned: bool, x: V) -> V {
        if !unsigned {
            return self.op1(op::DQ_TO_PS, x);
        }
        // Both halves are exact; only their sum is rounded.
        let high = self.shift(op::SRL_D, x, 16);
        let high = self.op1(op::DQ_TO_PS, high);
        let unit = self.splat(u64::from(65536f32.to_bits()), 4);
        let high = self.op2(op::MUL_PS, high, unit);
        let mask = self.splat(0xffff, 4);
        let low = self.op2(op::AND_D, x, mask);
        let low = self.op1(op::DQ_TO_PS, low);
        self.op2(op::ADD_PS, high, low)
    }

    /// The halves of an integer as f64, each exact with a power of two added; only their sum is rounded.
    fn wide_integer_to_double(&mut self, unsigned: bool, x: V) -> V {
        let mut x = x;
        let mut both = f64::from_bits(TWO_84) + f64::from_bits(TWO_52);
        if !unsigned {
            // With its sign turned around, a signed integer is 2^63 above itself.
            let sign = self.splat(1 << 63, 8);
            x = self.op2(op::XOR_D, x, sign);
            both += (1u64 << 63) as f64;
        }
        let mask = self.splat(0xffff_ffff, 8);
        let low = self.op2(op::AND_D, x, mask);
        let bias = self.splat(TWO_52, 8);
        let low = self.op2(op::OR_D, low, bias);
        let high = self.shift(op::SRL_Q, x, 32);
        let bias = self.splat(TWO_84, 8);
        let high = self.op2(op::OR_D, high, bias);
        let both = self.splat(both.to_bits(), 8);
        let high = self.op2(op::SUB_PD, high, both);
        self.op2(op::ADD_PD, high, low)
    }

    /// f32 lanes in the lower half.
    fn wide_integer_to_single(&mut self, unsigned: bool, x: V) -> V {
        if !unsigned {
            return self.block.push(Kind::Lanes(LaneOp::I64ToF32), &[x]);
        }
        // From 2^63 on, half of it with the lost bit kept for rounding, then doubled.
        let zero = self.splat(0, 8);
        let large = self.compare(DType::I64, BinaryOp::Lt, x, zero);
        let one = self.splat(1, 8);
        let lost = self.op2(op::AND_D, x, one);
        let half = self.shift(op::SRL_Q, x, 1);
        let half = self.op2(op::OR_D, half, lost);
        let small = self.choose(large, half, x);
        let single = self.block.push(Kind::Lanes(LaneOp::I64ToF32), &[small]);
        let large = self.even_words(large, large);
        let again = self.op2(op::AND_PS, single, large);
        self.op2(op::ADD_PS, single, again)
    }

    /// f32 lanes to an integer of at most 32 bits, saturating; NaN is 0.
    fn single_to_integer(&mut self, to: DType, x: V) -> V {
        let top = self.splat(u64::from(2_147_483_648f32.to_bits()), 4);
        if to == DType::U32 {
            let zero = self.splat(0, 8);
            let x = self.op2(op::MAX_PS, x, zero);
            let upper = self.compare_float(false, 2, top, x);
            let taken = self.op2(op::AND_PS, upper, top);
            let rest = self.op2(op::SUB_PS, x, taken);
            let low = self.op1(op::PS_TO_DQ, rest);
            let sign = self.splat(1 << 31, 4);
            let given = self.op2(op::AND_D, upper, sign);
            let result = self.op2(op::XOR_D, low, given);
            let limit = self.splat(u64::from(4_294_967_296f32.to_bits()), 4);
            let over = self.compare_float(false, 2, limit, x);
            return self.op2(op::OR_D, result, over);
        }
        if is_narrow(to) {
            let (low, high) = to.integer_range().unwrap_or((0, 0));
            let mut x = x;
            if low < 0 {
                let ordered = self.compare_float(false, 7, x, x);
                x = self.op2(op::AND_PS, x, ordered);
            }
            // Of a NaN and a constant the maximum is the constant.
            let [low, high] = [low, high].map(|limit| self.splat(u64::from((limit as f32).to_bits()), 4));
            let raised = self.op2(op::MAX_PS, x, low);
            let lowered = self.op2(op::MIN_PS, raised, high);
            return self.op1(op::PS_TO_DQ, lowered);
        }
        // What is too large converts to the least value, whose complement is the greatest.
        let result = self.op1(op::PS_TO_DQ, x);
        let over = self.compare_float(false, 2, top, x);
        let result = self.op2(op::XOR_D, result, over);
        let ordered = self.compare_float(false, 7, x, x);
        self.op2(op::AND_D, result, ordered)
    }

    /// f64 lanes to an integer of at most 32 bits in the low half of each lane, saturating; NaN is 0.
    fn double_to_integer(&mut self, to: DType, x: V) -> V {
        let (low, high) = to.integer_range().unwrap_or((0, 0));
        let ordered = self.compare_float(true, 7, x, x);
        let x = self.op2(op::AND_PS, x, ordered);
        let (low, high) = (self.splat((low as f64).to_bits(), 8), self.splat((high as f64).to_bits(), 8));
        let raised = self.op2(op::MAX_PD, x, low);
        let lowered = self.op2(op::MIN_PD, raised, high);
        self.double_to_low_word(lowered)
    }

    /// f64 lanes below 2^51 in size, toward zero, in the low half of each lane.
    pub fn double_to_low_word(&mut self, x: V) -> V {
        let whole = self.op_imm(op::ROUND_PD, &[x], Some(11));
        let bias = self.splat(INTEGER_BIAS.to_bits(), 8);
        self.op2(op::ADD_PD, whole, bias)
    }

    /// f64 lanes to i64 or u64, saturating; NaN is 0.
    fn double_to_wide_integer(&mut self, to: DType, x: V) -> V {
        let top = self.splat(9_223_372_036_854_775_808f64.to_bits(), 8);
        let lanes = Kind::Lanes(LaneOp::F64ToI64);
        if to != DType::U64 {
            let result = self.block.push(lanes, &[x]);
            let over = self.compare_float(true, 2, top, x);
            let result = self.op2(op::XOR_D, result, over);
            let ordered = self.compare_float(true, 7, x, x);
            return self.op2(op::AND_D, result, ordered);
        }
        let zero = self.splat(0, 8);
        let x = self.op2(op::MAX_PD, x, zero);
        let upper = self.compare_float(true, 2, top, x);
        let taken = self.op2(op::AND_PS, upper, top);
        let rest = self.op2(op::SUB_PD, x, taken);
        let low = self.block.push(lanes, &[rest]);
        let sign = self.splat(1 << 63, 8);
        let given = self.op2(op::AND_D, upper, sign);
        let result = self.op2(op::XOR_D, low, given);
        let limit = self.splat(18_446_744_073_709_551_616f64.to_bits(), 8);
        let over = self.compare_float(true, 2, limit, x);
        self.op2(op::OR_D, result, over)
    }

    /// The bits of `a` as another dtype of the same size.
    pub fn bitcast(&mut self, a: Vid, to: DType) -> Result<Vecs, Refusal> {
        let from = self.dtype(a);
        let x = self.vecs(a)?;
        if from == to {
            return Ok(x);
        }
        Ok(self.map(&x, |s, x| {
            let bits = s.stored(from, x);
            s.value_of_bits(to, bits)
        }))
    }

    /// What memory holds of a value, in the low bits of its lanes.
    pub fn stored(&mut self, from: DType, x: V) -> V {
        match from {
            DType::F16 => {
                let half = self.op_imm(op::PS_TO_PH, &[x], Some(0));
                self.op1(op::ZX_WD, half)
            }
            DType::BF16 => self.shift(op::SRL_D, x, 16),
            DType::Bool => {
                let one = self.splat(1, 4);
                self.op2(op::AND_D, x, one)
            }
            _ => x,
        }
    }

    /// Lanes of `to` from bits in the low part of 4-byte lanes; of larger dtypes, the lanes themselves.
    fn value_of_bits(&mut self, to: DType, bits: V) -> V {
        match to {
            DType::F16 => {
                let low = self.words(bits);
                self.op1(op::PH_TO_PS, low)
            }
            DType::BF16 => self.shift(op::SLL_D, bits, 16),
            DType::Bool => {
                let zero = self.splat(0, 8);
                let kept = self.splat(0xff, 4);
                let byte = self.op2(op::AND_D, bits, kept);
                self.compare(DType::I32, BinaryOp::Ne, byte, zero)
            }
            _ if is_narrow(to) => self.wrap(to, bits),
            _ => bits,
        }
    }
}
