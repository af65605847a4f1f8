//! Conversion between dtypes, by value and by bits.

use shapeflow_shape_fns::DType;

use super::arith::{LESS_OR_EQUAL, ORDERED};
use super::selected_value::VectorIds;
use super::selector::Selector;
use crate::codegen::legalize::{INTEGER_BIAS, bits_of_true, compares_unsigned, constant, integer_limits};
use crate::codegen::repr::{Repr, is_narrow};
use crate::codegen::simd::asm::{VectorIsa, opcode};
use crate::codegen::simd::ir::VectorId;
use crate::expr::BinaryOp;
use crate::lower::kernel_body::{InstId, InstOp};

/// 2^32.
const TWO_32: f64 = 4_294_967_296.0;
/// The bits of the f64 2^52. For an integer `i` in `[0, 2^52)`, the bits of the f64 `2^52 + i` are these bits plus `i`.
const TWO_52: u64 = 0x4330_0000_0000_0000;
/// The bits of the f64 2^84. For an integer `i` in `[0, 2^32)`, the bits of `2^84 + i * 2^32` are these bits plus `i`.
const TWO_84: u64 = 0x4530_0000_0000_0000;

impl Selector<'_> {
    /// Selects the conversion of `a` to `to`. A bool result is a mask with the lane size of `a`.
    pub fn cast(&mut self, a: InstId, to: DType) -> VectorIds {
        let from = self.dtype(a);
        if from == to {
            return self.vectors_of(a);
        }
        let repr = Repr::of(to);
        if from == DType::Bool {
            let mask = self.mask(a, repr.bytes());
            let one = self.splat(bits_of_true(to), repr.bytes());
            return self.map(&mask, |s, mask| s.op2(opcode::AND_D, mask, one));
        }
        let x = self.vectors_of(if from.is_float() { self.unclamped(a, to) } else { a });
        if to == DType::Bool {
            let zero = self.splat(0, 8);
            return self.map(&x, |s, x| s.compare(from, BinaryOp::Ne, x, zero));
        }
        let unsigned = compares_unsigned(from);
        match (Repr::of(from), repr) {
            (Repr::I32, Repr::I32) => self.map(&x, |s, x| s.settle(to, x)),
            (Repr::I32, Repr::I64) => self.widen(&x, if unsigned { opcode::ZX_DQ } else { opcode::SX_DQ }),
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
                self.map(&low, |s, x| s.settle(to, x))
            }
            (Repr::F32, Repr::F32) => self.map(&x, |s, x| s.settle(to, x)),
            (Repr::F32, Repr::F64) => self.widen(&x, opcode::PS_TO_PD),
            (Repr::F64, Repr::F32) => {
                let halves = self.map(&x, |s, x| s.op1(opcode::PD_TO_PS, x));
                let joined = self.narrow_pairs(&halves, Selector::join);
                self.map(&joined, |s, x| s.settle(to, x))
            }
            (Repr::F32, Repr::I32) => self.map(&x, |s, x| s.single_to_integer(to, x)),
            (Repr::F64, Repr::I32) => {
                let low = self.map(&x, |s, x| s.double_to_integer(to, x));
                self.narrow_pairs(&low, Selector::even_words)
            }
            (Repr::F32, Repr::I64) => {
                let wide = self.widen(&x, opcode::PS_TO_PD);
                self.map(&wide, |s, x| s.double_to_wide_integer(to, x))
            }
            (Repr::F64, Repr::I64) => self.map(&x, |s, x| s.double_to_wide_integer(to, x)),
            // The same lanes: i64 and u64.
            (Repr::I64, Repr::I64) => x,
            (Repr::F64, Repr::F64) | (Repr::Mask, _) | (_, Repr::Mask) => {
                unreachable!("equal dtypes and bools are converted above")
            }
        }
    }

    /// Strips redundant clamps from the float `a`: each maximum with a constant that is at most the least value of the
    /// integer dtype `to`, and each minimum with a constant that is at least its greatest. Returns the operand that
    /// remains. The conversion to `to` saturates, so it needs no such clamp.
    fn unclamped(&self, mut a: InstId, to: DType) -> InstId {
        if !to.is_integer() {
            return a;
        }
        let (low, high) = integer_limits(to);
        loop {
            let InstOp::Binary(op, x, y) = self.body.insts[a.0 as usize].op else { return a };
            let (limit, operand) = match (constant(self.body.insts, x), constant(self.body.insts, y)) {
                (None, Some(limit)) => (limit.to_f64(), x),
                (Some(limit), None) => (limit.to_f64(), y),
                _ => return a,
            };
            let is_beyond = match op {
                BinaryOp::Max => limit <= low as f64,
                BinaryOp::Min => limit >= high as f64,
                _ => false,
            };
            if !is_beyond || self.is_hoisted(a) {
                return a;
            }
            a = operand;
        }
    }

    /// Selects the conversion of 4-byte integers to f64, which is exact.
    pub fn integer_to_double(&mut self, from: DType, x: &VectorIds) -> VectorIds {
        if from != DType::U32 {
            return self.widen(x, opcode::DQ_TO_PD);
        }
        let wide = self.widen(x, opcode::ZX_DQ);
        let bias = self.splat(TWO_52, 8);
        self.map(&wide, |s, x| {
            let biased = s.op2(opcode::OR_D, x, bias);
            s.op2(opcode::SUB_PD, biased, bias)
        })
    }

    /// Selects the conversion of 4-byte integers to f32.
    fn integer_to_single(&mut self, unsigned: bool, x: VectorId) -> VectorId {
        if !unsigned {
            return self.op1(opcode::DQ_TO_PS, x);
        }
        // `high * 2^16` and `low` are exact, so only the sum rounds.
        let high = self.shift(opcode::SRL_D, x, 16);
        let high = self.op1(opcode::DQ_TO_PS, high);
        let unit = self.splat(u64::from(65536f32.to_bits()), 4);
        let high = self.op2(opcode::MUL_PS, high, unit);
        let mask = self.splat(0xffff, 4);
        let low = self.op2(opcode::AND_D, x, mask);
        let low = self.op1(opcode::DQ_TO_PS, low);
        self.op2(opcode::ADD_PS, high, low)
    }

    /// Selects the conversion of 8-byte integers to f64.
    fn wide_integer_to_double(&mut self, unsigned: bool, x: VectorId) -> VectorId {
        if self.isa == VectorIsa::Avx512 {
            return self.op1(if unsigned { opcode::UQ_TO_PD } else { opcode::SQ_TO_PD }, x);
        }
        // The float `high` is 2^84 plus the upper half times 2^32, and `low` is 2^52 plus the lower half. Both are
        // exact, and so is `high - both`: only the last sum rounds.
        let mut x = x;
        let mut both = f64::from_bits(TWO_84) + f64::from_bits(TWO_52);
        if !unsigned {
            // The flipped sign bit adds 2^63 to a signed integer.
            let sign = self.splat(1 << 63, 8);
            x = self.op2(opcode::XOR_D, x, sign);
            both += (1u64 << 63) as f64;
        }
        let mask = self.splat(0xffff_ffff, 8);
        let low = self.op2(opcode::AND_D, x, mask);
        let bias = self.splat(TWO_52, 8);
        let low = self.op2(opcode::OR_D, low, bias);
        let high = self.shift(opcode::SRL_Q, x, 32);
        let bias = self.splat(TWO_84, 8);
        let high = self.op2(opcode::OR_D, high, bias);
        let both = self.splat(both.to_bits(), 8);
        let high = self.op2(opcode::SUB_PD, high, both);
        self.op2(opcode::ADD_PD, high, low)
    }

    /// Selects the conversion of 8-byte integers to f32, in the lower half of the vector.
    fn wide_integer_to_single(&mut self, unsigned: bool, x: VectorId) -> VectorId {
        if self.isa == VectorIsa::Avx512 {
            return self.op1(if unsigned { opcode::UQ_TO_PS } else { opcode::SQ_TO_PS }, x);
        }
        // An f64 holds 53 bits. If the integer may have more bits, its 11 low bits become 0, and bit 11 becomes 1 if
        // one of them was 1. An f64 holds the new integer exactly, and it rounds to the same f32 as the old one.
        let (low_bits, limit) = (self.splat(0x7ff, 8), self.splat(1 << 53, 8));
        let mut is_large = match unsigned {
            true => self.compare(DType::U64, BinaryOp::Lt, limit, x),
            false => self.compare(DType::I64, BinaryOp::Lt, limit, x),
        };
        if !unsigned {
            let limit = self.splat((-(1i64 << 53)) as u64, 8);
            let is_small = self.compare(DType::I64, BinaryOp::Lt, x, limit);
            is_large = self.op2(opcode::OR_D, is_large, is_small);
        }
        let low = self.op2(opcode::AND_D, x, low_bits);
        let carried = self.op2(opcode::ADD_Q, low, low_bits);
        let joined = self.op2(opcode::OR_D, x, carried);
        let kept = self.splat(!0x7ff, 8);
        let rounded = self.op2(opcode::AND_D, joined, kept);
        let exact = self.choose(is_large, rounded, x);
        let double = self.wide_integer_to_double(unsigned, exact);
        self.op1(opcode::PD_TO_PS, double)
    }

    /// Selects the conversion of f32 lanes to an integer of at most 32 bits. The conversion saturates, and turns NaN
    /// into 0.
    fn single_to_integer(&mut self, to: DType, x: VectorId) -> VectorId {
        // 2^31.
        let top = self.splat(u64::from(2_147_483_648f32.to_bits()), 4);
        if to == DType::U32 {
            let zero = self.splat(0, 8);
            let x = self.op2(opcode::MAX_PS, x, zero);
            // From 2^31 on: convert `x - 2^31`, then set the top bit of the integer.
            let upper = self.compare_float(false, LESS_OR_EQUAL, top, x);
            let subtracted = self.op2(opcode::AND_PS, upper, top);
            let rest = self.op2(opcode::SUB_PS, x, subtracted);
            let low = self.op1(opcode::PS_TO_DQ, rest);
            let sign = self.splat(1 << 31, 4);
            let top_bit = self.op2(opcode::AND_D, upper, sign);
            let result = self.op2(opcode::XOR_D, low, top_bit);
            let limit = self.splat(u64::from(4_294_967_296f32.to_bits()), 4);
            let over = self.compare_float(false, LESS_OR_EQUAL, limit, x);
            return self.op2(opcode::OR_D, result, over);
        }
        if is_narrow(to) {
            let (low, high) = integer_limits(to);
            let mut x = x;
            if low < 0 {
                let ordered = self.compare_float(false, ORDERED, x, x);
                x = self.op2(opcode::AND_PS, x, ordered);
            }
            // A NaN becomes 0: by the mask above, or for an unsigned dtype because the maximum of a NaN and the second
            // operand 0 is that operand.
            let [low, high] = [low, high].map(|limit| self.splat(u64::from((limit as f32).to_bits()), 4));
            let raised = self.op2(opcode::MAX_PS, x, low);
            let lowered = self.op2(opcode::MIN_PS, raised, high);
            return self.op1(opcode::PS_TO_DQ, lowered);
        }
        // The instruction converts every lane out of range to the least i32. If the lane is too large, flipping all
        // bits of the least i32 gives the greatest i32.
        let result = self.op1(opcode::PS_TO_DQ, x);
        let over = self.compare_float(false, LESS_OR_EQUAL, top, x);
        let result = self.op2(opcode::XOR_D, result, over);
        let ordered = self.compare_float(false, ORDERED, x, x);
        self.op2(opcode::AND_D, result, ordered)
    }

    /// Selects the conversion of f64 lanes to an integer of at most 32 bits, in the low half of each lane. The
    /// conversion saturates, and NaN becomes 0.
    fn double_to_integer(&mut self, to: DType, x: VectorId) -> VectorId {
        let (low, high) = integer_limits(to);
        let ordered = self.compare_float(true, ORDERED, x, x);
        let x = self.op2(opcode::AND_PS, x, ordered);
        let (low, high) = (self.splat((low as f64).to_bits(), 8), self.splat((high as f64).to_bits(), 8));
        let raised = self.op2(opcode::MAX_PD, x, low);
        let lowered = self.op2(opcode::MIN_PD, raised, high);
        self.double_to_low_word(lowered)
    }

    /// Selects the conversion toward zero of f64 lanes of magnitude below 2^51 to an integer, in the low half of each
    /// lane.
    pub fn double_to_low_word(&mut self, x: VectorId) -> VectorId {
        let whole = self.op_imm(opcode::ROUND_PD, &[x], Some(11));
        let bias = self.splat(INTEGER_BIAS.to_bits(), 8);
        self.op2(opcode::ADD_PD, whole, bias)
    }

    /// Selects the conversion of f64 lanes to i64 or u64. The conversion saturates, and NaN becomes 0.
    fn double_to_wide_integer(&mut self, to: DType, x: VectorId) -> VectorId {
        // 2^63.
        let top = self.splat(9_223_372_036_854_775_808f64.to_bits(), 8);
        if to != DType::U64 {
            let least = self.splat((-9_223_372_036_854_775_808f64).to_bits(), 8);
            let raised = self.op2(opcode::MAX_PD, x, least);
            let result = self.double_to_wide_bits(raised);
            let over = self.compare_float(true, LESS_OR_EQUAL, top, x);
            let greatest = self.splat(i64::MAX as u64, 8);
            let result = self.choose(over, greatest, result);
            let ordered = self.compare_float(true, ORDERED, x, x);
            return self.op2(opcode::AND_D, result, ordered);
        }
        let zero = self.splat(0, 8);
        let x = self.op2(opcode::MAX_PD, x, zero);
        // From 2^63 on: convert `x - 2^63`, then set the top bit of the integer.
        let upper = self.compare_float(true, LESS_OR_EQUAL, top, x);
        let subtracted = self.op2(opcode::AND_PS, upper, top);
        let rest = self.op2(opcode::SUB_PD, x, subtracted);
        let low = self.double_to_wide_bits(rest);
        let sign = self.splat(1 << 63, 8);
        let top_bit = self.op2(opcode::AND_D, upper, sign);
        let result = self.op2(opcode::XOR_D, low, top_bit);
        let limit = self.splat(18_446_744_073_709_551_616f64.to_bits(), 8);
        let over = self.compare_float(true, LESS_OR_EQUAL, limit, x);
        self.op2(opcode::OR_D, result, over)
    }

    /// Selects the conversion of f64 lanes toward zero to i64. Lanes from 2^63 on and lanes below -2^63 give an
    /// unspecified result.
    fn double_to_wide_bits(&mut self, x: VectorId) -> VectorId {
        if self.isa == VectorIsa::Avx512 {
            return self.op1(opcode::PD_TO_SQ, x);
        }
        // The integer is `high * 2^32 + low` with `0 <= low < 2^32`. The floats `high` and `low` are exact.
        let (down, up) = (self.splat((1.0 / TWO_32).to_bits(), 8), self.splat(TWO_32.to_bits(), 8));
        let whole = self.op_imm(opcode::ROUND_PD, &[x], Some(11));
        let high = self.op2(opcode::MUL_PD, whole, down);
        let high = self.op_imm(opcode::ROUND_PD, &[high], Some(9));
        let high_part = self.op2(opcode::MUL_PD, high, up);
        let low = self.op2(opcode::SUB_PD, whole, high_part);
        let bias = self.splat(INTEGER_BIAS.to_bits(), 8);
        let high = self.op2(opcode::ADD_PD, high, bias);
        let high = self.shift(opcode::SLL_Q, high, 32);
        let bias = self.splat(TWO_52, 8);
        let low = self.op2(opcode::ADD_PD, low, bias);
        let low = self.op2(opcode::XOR_D, low, bias);
        self.op2(opcode::OR_D, high, low)
    }

    /// Selects the bits of `a` as another dtype of the same size.
    pub fn bitcast(&mut self, a: InstId, to: DType) -> VectorIds {
        let from = self.dtype(a);
        let x = self.vectors_of(a);
        if from == to {
            return x;
        }
        self.map(&x, |s, x| {
            let bits = s.memory_bits(from, x);
            s.value_of_bits(to, bits)
        })
    }

    /// Selects the bits that a value of `from` has in memory, in the low bits of its lanes.
    pub fn memory_bits(&mut self, from: DType, x: VectorId) -> VectorId {
        match from {
            DType::F16 => {
                let half = self.op_imm(opcode::PS_TO_PH, &[x], Some(0));
                self.op1(opcode::ZX_WD, half)
            }
            DType::BF16 => self.shift(opcode::SRL_D, x, 16),
            DType::Bool => {
                let one = self.splat(1, 4);
                self.op2(opcode::AND_D, x, one)
            }
            _ => x,
        }
    }

    /// Selects the inverse of [`Selector::memory_bits`]: a value of `to` from its bits in the low bits of lanes. The
    /// other bits of the lanes do not matter.
    fn value_of_bits(&mut self, to: DType, bits: VectorId) -> VectorId {
        match to {
            DType::F16 => {
                let low = self.low_words(bits);
                self.op1(opcode::PH_TO_PS, low)
            }
            DType::BF16 => self.shift(opcode::SLL_D, bits, 16),
            DType::Bool => {
                let zero = self.splat(0, 8);
                let kept = self.splat(0xff, 4);
                let byte = self.op2(opcode::AND_D, bits, kept);
                self.compare(DType::I32, BinaryOp::Ne, byte, zero)
            }
            _ => self.settle(to, bits),
        }
    }
}
