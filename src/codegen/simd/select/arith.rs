//! Arithmetic and comparison of lanes.

use shapeflow_shape_fns::DType;

use super::selected_value::VectorIds;
use super::selector::Selector;
use crate::codegen::legalize::{BitOp, MaskOp, MinMaxRule, Settle, compares_unsigned, fuses};
use crate::codegen::repr::Repr;
use crate::codegen::simd::asm::VectorIsa;
use crate::codegen::simd::asm::opcode::{self, Opcode};
use crate::codegen::simd::ir::{VectorId, VectorInstKind};
use crate::expr::math::LARGE_ANGLE;
use crate::expr::{AngleFunction, BinaryOp, UnaryOp};
use crate::lower::kernel_body::InstId;

/// Predicate of a float comparison: `a <= b`.
pub(crate) const LESS_OR_EQUAL: u8 = 2;
/// Predicate of a float comparison: at least one operand is NaN.
pub(crate) const UNORDERED: u8 = 3;
/// Predicate of a float comparison: no operand is NaN.
pub(crate) const ORDERED: u8 = 7;

/// The sign bit of a 4-byte lane.
pub(crate) const SIGN_32: u64 = 1 << 31;
/// The sign bit of an 8-byte lane.
pub(crate) const SIGN_64: u64 = 1 << 63;

impl Selector<'_> {
    /// Rounds an `f32` lane to the nearest `bf16`, ties to even. A NaN becomes the quiet NaN.
    pub fn round_bf16(&mut self, x: VectorId) -> VectorId {
        let shifted = self.shift(opcode::SRL_D, x, 16);
        let one = self.splat(1, 4);
        let odd = self.op2(opcode::AND_D, shifted, one);
        let half = self.splat(0x7fff, 4);
        let sum = self.op2(opcode::ADD_D, x, half);
        let sum = self.op2(opcode::ADD_D, sum, odd);
        let kept = self.splat(0xffff_0000, 4);
        let rounded = self.op2(opcode::AND_D, sum, kept);
        let nan = self.compare_float(false, UNORDERED, x, x);
        let quiet = self.splat(0x7fc0_0000, 4);
        self.choose(nan, quiet, rounded)
    }

    /// Selects a unary operation.
    pub fn unary(&mut self, op: UnaryOp, a: InstId) -> VectorIds {
        let dtype = self.dtype(a);
        let repr = Repr::of(dtype);
        let x = self.vectors_of(a);
        self.map(&x, |s, x| {
            let result = s.unary_one(op, dtype, repr, x);
            s.settle_by(Settle::after_unary(op, dtype), result)
        })
    }

    /// Selects one vector of a unary operation, before its [`Settle`] step.
    fn unary_one(&mut self, op: UnaryOp, dtype: DType, repr: Repr, x: VectorId) -> VectorId {
        let (float, wide) = (dtype.is_float(), repr.bytes() == 8);
        let sign = if wide { SIGN_64 } else { SIGN_32 };
        let round = if wide { opcode::ROUND_PD } else { opcode::ROUND_PS };
        match op {
            UnaryOp::Neg if float => {
                let sign = self.splat(sign, repr.bytes());
                self.op2(opcode::XOR_PS, x, sign)
            }
            UnaryOp::Neg => {
                let zero = self.splat(0, 8);
                self.op2(if wide { opcode::SUB_Q } else { opcode::SUB_D }, zero, x)
            }
            UnaryOp::Abs if float => {
                let magnitude = self.splat(sign - 1, repr.bytes());
                self.op2(opcode::AND_PS, x, magnitude)
            }
            UnaryOp::Abs if !dtype.is_signed() => x,
            UnaryOp::Abs if !wide => self.op1(opcode::ABS_D, x),
            UnaryOp::Abs if self.isa == VectorIsa::Avx512 => self.op1(opcode::ABS_Q, x),
            UnaryOp::Abs => {
                let zero = self.splat(0, 8);
                let minus = self.op2(opcode::GT_Q, zero, x);
                let flipped = self.op2(opcode::XOR_D, x, minus);
                self.op2(opcode::SUB_Q, flipped, minus)
            }
            UnaryOp::Sqrt => self.op1(if wide { opcode::SQRT_PD } else { opcode::SQRT_PS }, x),
            // Bit 3 of the rounding mode suppresses the inexact exception.
            UnaryOp::Round => self.op_imm(round, &[x], Some(8)),
            UnaryOp::Floor => self.op_imm(round, &[x], Some(9)),
            UnaryOp::Ceil => self.op_imm(round, &[x], Some(10)),
            UnaryOp::Trunc => self.op_imm(round, &[x], Some(11)),
            UnaryOp::Not => self.not(x),
        }
    }

    /// Selects a binary operation on values that are not bools.
    pub fn binary(&mut self, op: BinaryOp, a: InstId, b: InstId) -> VectorIds {
        let dtype = self.dtype(a);
        match op {
            BinaryOp::Div | BinaryOp::Rem if !dtype.is_float() => return self.divide(op, a, b),
            BinaryOp::Rem => return self.remainder(a, b),
            BinaryOp::Shl | BinaryOp::Shr => return self.shifts(op, a, b),
            BinaryOp::LargeAngle(function) => return self.large_angle(function, a, b),
            _ => {}
        }
        let (x, y) = (self.vectors_of(a), self.vectors_of(b));
        if op.is_comparison() {
            return self.zip(&x, &y, |s, x, y| s.compare(dtype, op, x, y));
        }
        if matches!(op, BinaryOp::Min | BinaryOp::Max) && dtype.is_float() {
            let rule = MinMaxRule::of(self.body.insts, a, b);
            let max = op == BinaryOp::Max;
            let wide = dtype == DType::F64;
            return self.zip(&x, &y, |s, x, y| s.extremum(max, wide, x, y, rule));
        }
        self.zip(&x, &y, |s, x, y| {
            let result = s.combine(dtype, op, x, y);
            s.settle_by(Settle::after_binary(op, dtype), result)
        })
    }

    /// Selects the remainder of floats. That of single floats is computed in doubles: it is the same number, because
    /// the remainder of two numbers of a format is a number of the format.
    fn remainder(&mut self, a: InstId, b: InstId) -> VectorIds {
        let (x, y) = (self.vectors_of(a), self.vectors_of(b));
        let of_doubles = |s: &mut Self, x, y| s.block.push(VectorInstKind::Remainder, &[x, y]);
        if Repr::of(self.dtype(a)) == Repr::F64 {
            return self.zip(&x, &y, of_doubles);
        }
        let (x, y) = (self.widen(&x, opcode::PS_TO_PD), self.widen(&y, opcode::PS_TO_PD));
        let wide = self.zip(&x, &y, of_doubles);
        let halves = self.map(&wide, |s, x| s.op1(opcode::PD_TO_PS, x));
        self.narrow_pairs(&halves, Selector::join)
    }

    /// Selects [`BinaryOp::LargeAngle`].
    fn large_angle(&mut self, function: AngleFunction, usual: InstId, angle: InstId) -> VectorIds {
        let (usual, angle) = (self.vectors_of(usual), self.vectors_of(angle));
        self.zip(&usual, &angle, |s, usual, angle| {
            let magnitude = s.splat(SIGN_64 - 1, 8);
            let magnitude = s.op2(opcode::AND_PS, angle, magnitude);
            let least = s.splat(LARGE_ANGLE.to_bits(), 8);
            let is_large = s.compare_float(true, LESS_OR_EQUAL, least, magnitude);
            s.block.push(VectorInstKind::LargeAngle(function), &[is_large, usual, angle])
        })
    }

    /// Selects the larger (`max`) or smaller of two floats, f64 if `wide`. See [`MinMaxRule`].
    fn extremum(&mut self, max: bool, wide: bool, x: VectorId, y: VectorId, rule: MinMaxRule) -> VectorId {
        let op = match (max, wide) {
            (true, false) => opcode::MAX_PS,
            (true, true) => opcode::MAX_PD,
            (false, false) => opcode::MIN_PS,
            (false, true) => opcode::MIN_PD,
        };
        match rule {
            MinMaxRule::InOrder => self.op2(op, x, y),
            MinMaxRule::Swapped => self.op2(op, y, x),
            MinMaxRule::SwappedWithNan => {
                let best = self.op2(op, y, x);
                let nan = self.compare_float(wide, UNORDERED, y, y);
                self.op2(opcode::OR_PS, best, nan)
            }
        }
    }

    /// Selects a comparison of floats as a mask. `imm` is the predicate: 0 equal, 1 less, 2 [`LESS_OR_EQUAL`],
    /// 3 [`UNORDERED`], 4 not equal, 7 [`ORDERED`].
    pub fn compare_float(&mut self, wide: bool, imm: u8, x: VectorId, y: VectorId) -> VectorId {
        let op = if wide { opcode::CMP_PD } else { opcode::CMP_PS };
        match self.isa {
            VectorIsa::Avx512 => self.block.push(VectorInstKind::Compare { op, imm, wide }, &[x, y]),
            _ => self.op_imm(op, &[x, y], Some(imm)),
        }
    }

    /// Selects a comparison as a mask.
    pub fn compare(&mut self, dtype: DType, op: BinaryOp, x: VectorId, y: VectorId) -> VectorId {
        let wide = Repr::of(dtype).bytes() == 8;
        // The predicate. Floats and the integers of AVX-512 number these four alike.
        let imm = match op {
            BinaryOp::Eq => 0,
            BinaryOp::Ne => 4,
            BinaryOp::Lt => 1,
            BinaryOp::Le => LESS_OR_EQUAL,
            _ => unreachable!("{op:?} is no comparison"),
        };
        if dtype.is_float() {
            return self.compare_float(wide, imm, x, y);
        }
        let unsigned = compares_unsigned(dtype);
        if self.isa == VectorIsa::Avx512 {
            let op = match (wide, unsigned) {
                (false, false) => opcode::CMP_D,
                (false, true) => opcode::CMP_UD,
                (true, false) => opcode::CMP_Q,
                (true, true) => opcode::CMP_UQ,
            };
            return self.block.push(VectorInstKind::Compare { op, imm, wide }, &[x, y]);
        }
        let (equal, greater) = if wide { (opcode::EQ_Q, opcode::GT_Q) } else { (opcode::EQ_D, opcode::GT_D) };
        let (mut x, mut y) = (x, y);
        if unsigned && matches!(op, BinaryOp::Lt | BinaryOp::Le) {
            let sign = if wide { self.splat(SIGN_64, 8) } else { self.splat(SIGN_32, 4) };
            x = self.op2(opcode::XOR_D, x, sign);
            y = self.op2(opcode::XOR_D, y, sign);
        }
        match op {
            BinaryOp::Eq => self.op2(equal, x, y),
            BinaryOp::Ne => {
                let same = self.op2(equal, x, y);
                self.not(same)
            }
            BinaryOp::Lt => self.op2(greater, y, x),
            _ => {
                let above = self.op2(greater, x, y);
                self.not(above)
            }
        }
    }

    /// Selects one vector of a binary operation. Its lanes are values of the dtype only after `settle`. Bools are masks
    /// with lanes of 4 or of 8 bytes.
    pub fn combine(&mut self, dtype: DType, op: BinaryOp, x: VectorId, y: VectorId) -> VectorId {
        let wide = Repr::of(dtype).bytes() == 8;
        if dtype == DType::Bool {
            return self.logical(op, x, y);
        }
        if dtype.is_float() {
            let [single, double] = match op {
                BinaryOp::Add => [opcode::ADD_PS, opcode::ADD_PD],
                BinaryOp::Sub => [opcode::SUB_PS, opcode::SUB_PD],
                BinaryOp::Mul => [opcode::MUL_PS, opcode::MUL_PD],
                BinaryOp::Div => [opcode::DIV_PS, opcode::DIV_PD],
                BinaryOp::Min | BinaryOp::Max => {
                    return self.extremum(op == BinaryOp::Max, wide, x, y, MinMaxRule::SwappedWithNan);
                }
                _ => unreachable!("no vector instruction computes {op:?} of floats"),
            };
            return self.op2(if wide { double } else { single }, x, y);
        }
        let pick = |ops: [Opcode; 2]| if wide { ops[1] } else { ops[0] };
        match op {
            BinaryOp::Add => self.op2(pick([opcode::ADD_D, opcode::ADD_Q]), x, y),
            BinaryOp::Sub => self.op2(pick([opcode::SUB_D, opcode::SUB_Q]), x, y),
            BinaryOp::Mul if wide && self.isa != VectorIsa::Avx512 => self.multiply_wide(x, y),
            BinaryOp::Mul => self.op2(pick([opcode::MUL_D, opcode::MUL_Q]), x, y),
            BinaryOp::Or => self.op2(opcode::OR_D, x, y),
            BinaryOp::Xor => self.op2(opcode::XOR_D, x, y),
            BinaryOp::Min | BinaryOp::Max => self.extremum_of_integers(dtype, op == BinaryOp::Max, x, y),
            BinaryOp::And => self.op2(opcode::AND_D, x, y),
            _ => unreachable!("{op:?} of integers is selected elsewhere"),
        }
    }

    fn extremum_of_integers(&mut self, dtype: DType, max: bool, x: VectorId, y: VectorId) -> VectorId {
        let wide = Repr::of(dtype).bytes() == 8;
        let unsigned = compares_unsigned(dtype);
        if wide && self.isa != VectorIsa::Avx512 {
            let less = self.compare(dtype, BinaryOp::Lt, x, y);
            return if max { self.choose(less, y, x) } else { self.choose(less, x, y) };
        }
        let op = match (max, wide, unsigned) {
            (false, false, false) => opcode::MIN_SD,
            (false, false, true) => opcode::MIN_UD,
            (false, true, false) => opcode::MIN_SQ,
            (false, true, true) => opcode::MIN_UQ,
            (true, false, false) => opcode::MAX_SD,
            (true, false, true) => opcode::MAX_UD,
            (true, true, false) => opcode::MAX_SQ,
            (true, true, true) => opcode::MAX_UQ,
        };
        self.op2(op, x, y)
    }

    /// Selects the low 64 bits of a product, from the products of 32-bit halves.
    fn multiply_wide(&mut self, x: VectorId, y: VectorId) -> VectorId {
        let (x_high, y_high) = (self.shift(opcode::SRL_Q, x, 32), self.shift(opcode::SRL_Q, y, 32));
        let one = self.op2(opcode::MUL_UDQ, x_high, y);
        let other = self.op2(opcode::MUL_UDQ, x, y_high);
        let cross = self.op2(opcode::ADD_Q, one, other);
        let cross = self.shift(opcode::SLL_Q, cross, 32);
        let low = self.op2(opcode::MUL_UDQ, x, y);
        self.op2(opcode::ADD_Q, low, cross)
    }

    /// Selects an operation on masks.
    pub fn logical(&mut self, op: BinaryOp, x: VectorId, y: VectorId) -> VectorId {
        let rule = MaskOp::of(op);
        let op = match rule.op {
            BitOp::And => opcode::AND_D,
            BitOp::Or => opcode::OR_D,
            BitOp::Xor => opcode::XOR_D,
        };
        let x = if rule.negates_first { self.not(x) } else { x };
        let result = self.op2(op, x, y);
        if rule.negates_result { self.not(result) } else { result }
    }

    /// Selects `a * b + c`, see [`fuses`].
    pub fn mul_add(&mut self, a: InstId, b: InstId, c: InstId) -> VectorIds {
        let dtype = self.dtype(a);
        let (x, y, z) = (self.vectors_of(a), self.vectors_of(b), self.vectors_of(c));
        (0..x.len())
            .map(|j| {
                if fuses(dtype) {
                    let fma = VectorInstKind::Fma { double: dtype == DType::F64 };
                    return self.block.push(fma, &[x[j], y[j], z[j]]);
                }
                let product = self.op2(opcode::MUL_PS, x[j], y[j]);
                let sum = self.op2(opcode::ADD_PS, product, z[j]);
                self.settle(dtype, sum)
            })
            .collect()
    }
}
