//! Arithmetic and comparison of lanes.

use shapeflow_shape_fns::DType;

use super::Isa;
use super::block::{Kind, V};
use super::op::{self, Vop};
use super::select::{Refusal, Selector};
use super::values::Vecs;
use crate::codegen::clif::{Repr, bits_of, is_narrow};
use crate::expr::{BinaryOp, Scalar, UnaryOp};
use crate::lower::code::{InstOp, Vid};

pub(super) const SIGN_32: u64 = 1 << 31;
pub(super) const SIGN_64: u64 = 1 << 63;

impl Selector<'_> {
    pub fn constant(&self, v: Vid) -> Option<Scalar> {
        match self.body[v.0 as usize].op {
            InstOp::Const(scalar) => Some(scalar),
            _ => None,
        }
    }

    /// Integer lanes modulo the width of a narrow `dtype`.
    pub fn wrap(&mut self, dtype: DType, x: V) -> V {
        if !is_narrow(dtype) {
            return x;
        }
        let spare = 32 - bits_of(dtype);
        if dtype.is_signed() {
            let up = self.shift(op::SLL_D, x, spare);
            self.shift(op::SRA_D, up, spare)
        } else {
            let kept = self.splat(u64::from(u32::MAX >> spare), 4);
            self.op2(op::AND_D, x, kept)
        }
    }

    pub fn shift(&mut self, op: Vop, x: V, count: u32) -> V {
        self.op_imm(op, &[x], Some(count as u8))
    }

    /// Rounds to nearest even at 16 bits; a NaN stays one.
    pub fn round_bf16(&mut self, x: V) -> V {
        let shifted = self.shift(op::SRL_D, x, 16);
        let one = self.splat(1, 4);
        let odd = self.op2(op::AND_D, shifted, one);
        let half = self.splat(0x7fff, 4);
        let sum = self.op2(op::ADD_D, x, half);
        let sum = self.op2(op::ADD_D, sum, odd);
        let kept = self.splat(0xffff_0000, 4);
        let rounded = self.op2(op::AND_D, sum, kept);
        let nan = self.compare_float(false, 3, x, x);
        let quiet = self.splat(0x7fc0_0000, 4);
        self.choose(nan, quiet, rounded)
    }

    pub fn unary(&mut self, op: UnaryOp, a: Vid) -> Result<Vecs, Refusal> {
        let dtype = self.dtype(a);
        let repr = Repr::of(dtype);
        let x = self.vecs(a)?;
        Ok(self.map(&x, |s, x| {
            let result = s.unary_one(op, dtype, repr, x);
            match op {
                UnaryOp::Sqrt => s.settle(dtype, result),
                UnaryOp::Neg | UnaryOp::Abs | UnaryOp::Not => s.wrap(dtype, result),
                _ => result,
            }
        }))
    }

    fn unary_one(&mut self, op: UnaryOp, dtype: DType, repr: Repr, x: V) -> V {
        let (float, wide) = (dtype.is_float(), repr.bytes() == 8);
        let sign = if wide { SIGN_64 } else { SIGN_32 };
        let round = if wide { op::ROUND_PD } else { op::ROUND_PS };
        match op {
            UnaryOp::Neg if float => {
                let sign = self.splat(sign, repr.bytes());
                self.op2(op::XOR_PS, x, sign)
            }
            UnaryOp::Neg => {
                let zero = self.splat(0, 8);
                self.op2(if wide { op::SUB_Q } else { op::SUB_D }, zero, x)
            }
            UnaryOp::Abs if float => {
                let magnitude = self.splat(sign - 1, repr.bytes());
                self.op2(op::AND_PS, x, magnitude)
            }
            UnaryOp::Abs if !dtype.is_signed() => x,
            UnaryOp::Abs if !wide => self.op1(op::ABS_D, x),
            UnaryOp::Abs if self.isa == Isa::Avx512 => self.op1(op::ABS_Q, x),
            UnaryOp::Abs => {
                let zero = self.splat(0, 8);
                let minus = self.op2(op::GT_Q, zero, x);
                let flipped = self.op2(op::XOR_D, x, minus);
                self.op2(op::SUB_Q, flipped, minus)
            }
            UnaryOp::Sqrt => self.op1(if wide { op::SQRT_PD } else { op::SQRT_PS }, x),
            // The upper bit keeps inexact results silent.
            UnaryOp::Round => self.op_imm(round, &[x], Some(8)),
            UnaryOp::Floor => self.op_imm(round, &[x], Some(9)),
            UnaryOp::Ceil => self.op_imm(round, &[x], Some(10)),
            UnaryOp::Trunc => self.op_imm(round, &[x], Some(11)),
            UnaryOp::Not => self.not(x),
        }
    }

    pub fn binary(&mut self, op: BinaryOp, a: Vid, b: Vid) -> Result<Vecs, Refusal> {
        let dtype = self.dtype(a);
        match op {
            BinaryOp::Div | BinaryOp::Rem if !dtype.is_float() => return self.divide(op, a, b),
            BinaryOp::Rem => return Err("a remainder of floats"),
            BinaryOp::Shl | BinaryOp::Shr => return self.shifts(op, a, b),
            _ => {}
        }
        let (x, y) = (self.vecs(a)?, self.vecs(b)?);
        if op.is_comparison() {
            return Ok(self.zip(&x, &y, |s, x, y| s.compare(dtype, op, x, y)));
        }
        if matches!(op, BinaryOp::Min | BinaryOp::Max) && dtype.is_float() {
            let first_plain = self.constant(a).is_some_and(|c| !c.is_nan() && c.to_f64() != 0.0);
            let second_known = self.never_nan(b);
            let max = op == BinaryOp::Max;
            let wide = dtype == DType::F64;
            return Ok(self.zip(&x, &y, |s, x, y| s.extremum(max, wide, x, y, second_known, first_plain)));
        }
        Ok(self.zip(&x, &y, |s, x, y| {
            let result = s.combine(dtype, op, x, y);
            match op {
                BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Div => s.settle(dtype, result),
                _ => result,
            }
        }))
    }

    /// Whether a float value is surely not NaN.
    fn never_nan(&self, v: Vid) -> bool {
        match self.body[v.0 as usize].op {
            InstOp::Const(scalar) => !scalar.is_nan(),
            InstOp::Cast(from) => !self.dtype(from).is_float(),
            _ => false,
        }
    }

    /// The larger or smaller of two floats: NaN if either is, the first if equal.
    ///
    /// `maxps p, q` is `p > q ? p : q`, so with the operands in reverse order it takes the first of
    /// equals and lets only a NaN of the second through; all bits set is a NaN, so that the mask of
    /// those can be merged in. If the first is known to be neither NaN nor zero, equal means the same
    /// bits and the plain order is enough.
    fn extremum(&mut self, max: bool, wide: bool, x: V, y: V, second_known: bool, first_plain: bool) -> V {
        let op = match (max, wide) {
            (true, false) => op::MAX_PS,
            (true, true) => op::MAX_PD,
            (false, false) => op::MIN_PS,
            (false, true) => op::MIN_PD,
        };
        if first_plain {
            return self.op2(op, x, y);
        }
        let best = self.op2(op, y, x);
        if second_known {
            return best;
        }
        let nan = self.compare_float(wide, 3, y, y);
        self.op2(op::OR_PS, best, nan)
    }

    /// A comparison of floats by its number (0 equal, 1 less, 2 less or equal, 3 unordered, 4 not equal,
    /// 7 ordered) as a mask.
    pub fn compare_float(&mut self, wide: bool, imm: u8, x: V, y: V) -> V {
        let op = if wide { op::CMP_PD } else { op::CMP_PS };
        match self.isa {
            Isa::Avx512 => self.block.push(Kind::Compare { op, imm, wide }, &[x, y]),
            _ => self.op_imm(op, &[x, y], Some(imm)),
        }
    }

    pub fn compare(&mut self, dtype: DType, op: BinaryOp, x: V, y: V) -> V {
        let wide = Repr::of(dtype).bytes() == 8;
        let imm = match op {
            BinaryOp::Eq => 0,
            BinaryOp::Ne => 4,
            BinaryOp::Lt => 1,
            _ => 2,
        };
        if dtype.is_float() {
            return self.compare_float(wide, imm, x, y);
        }
        let unsigned = matches!(dtype, DType::U32 | DType::U64);
        if self.isa == Isa::Avx512 {
            let op = match (wide, unsigned) {
                (false, false) => op::CMP_D,
                (false, true) => op::CMP_UD,
                (true, false) => op::CMP_Q,
                (true, true) => op::CMP_UQ,
            };
            return self.block.push(Kind::Compare { op, imm, wide }, &[x, y]);
        }
        let (equal, greater) = if wide { (op::EQ_Q, op::GT_Q) } else { (op::EQ_D, op::GT_D) };
        let (mut x, mut y) = (x, y);
        if unsigned && matches!(op, BinaryOp::Lt | BinaryOp::Le) {
            let sign = if wide { self.splat(SIGN_64, 8) } else { self.splat(SIGN_32, 4) };
            x = self.op2(op::XOR_D, x, sign);
            y = self.op2(op::XOR_D, y, sign);
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

    /// One vector of an operation, before it is settled; bools are masks of any lane size.
    pub fn combine(&mut self, dtype: DType, op: BinaryOp, x: V, y: V) -> V {
        let wide = Repr::of(dtype).bytes() == 8;
        if dtype == DType::Bool {
            return self.logical(op, x, y);
        }
        if dtype.is_float() {
            let [single, double] = match op {
                BinaryOp::Add => [op::ADD_PS, op::ADD_PD],
                BinaryOp::Sub => [op::SUB_PS, op::SUB_PD],
                BinaryOp::Mul => [op::MUL_PS, op::MUL_PD],
                BinaryOp::Div => [op::DIV_PS, op::DIV_PD],
                _ => return self.extremum(op == BinaryOp::Max, wide, x, y, false, false),
            };
            return self.op2(if wide { double } else { single }, x, y);
        }
        let pick = |ops: [Vop; 2]| if wide { ops[1] } else { ops[0] };
        match op {
            BinaryOp::Add => self.op2(pick([op::ADD_D, op::ADD_Q]), x, y),
            BinaryOp::Sub => self.op2(pick([op::SUB_D, op::SUB_Q]), x, y),
            BinaryOp::Mul if wide && self.isa != Isa::Avx512 => self.multiply_wide(x, y),
            BinaryOp::Mul => self.op2(pick([op::MUL_D, op::MUL_Q]), x, y),
            BinaryOp::Or => self.op2(op::OR_D, x, y),
            BinaryOp::Xor => self.op2(op::XOR_D, x, y),
            BinaryOp::Min | BinaryOp::Max => self.extremum_of_integers(dtype, op == BinaryOp::Max, x, y),
            _ => self.op2(op::AND_D, x, y),
        }
    }

    fn extremum_of_integers(&mut self, dtype: DType, max: bool, x: V, y: V) -> V {
        let wide = Repr::of(dtype).bytes() == 8;
        let unsigned = matches!(dtype, DType::U32 | DType::U64);
        if wide && self.isa != Isa::Avx512 {
            let less = self.compare(dtype, BinaryOp::Lt, x, y);
            return if max { self.choose(less, y, x) } else { self.choose(less, x, y) };
        }
        let op = match (max, wide, unsigned) {
            (false, false, false) => op::MIN_SD,
            (false, false, true) => op::MIN_UD,
            (false, true, false) => op::MIN_SQ,
            (false, true, true) => op::MIN_UQ,
            (true, false, false) => op::MAX_SD,
            (true, false, true) => op::MAX_UD,
            (true, true, false) => op::MAX_SQ,
            (true, true, true) => op::MAX_UQ,
        };
        self.op2(op, x, y)
    }

    /// The low 64 bits of products, from those of 32-bit halves.
    fn multiply_wide(&mut self, x: V, y: V) -> V {
        let (x_high, y_high) = (self.shift(op::SRL_Q, x, 32), self.shift(op::SRL_Q, y, 32));
        let one = self.op2(op::MUL_UDQ, x_high, y);
        let other = self.op2(op::MUL_UDQ, x, y_high);
        let cross = self.op2(op::ADD_Q, one, other);
        let cross = self.shift(op::SLL_Q, cross, 32);
        let low = self.op2(op::MUL_UDQ, x, y);
        self.op2(op::ADD_Q, low, cross)
    }

    pub fn logical(&mut self, op: BinaryOp, x: V, y: V) -> V {
        match op {
            BinaryOp::And | BinaryOp::Min => self.op2(op::AND_D, x, y),
            BinaryOp::Or | BinaryOp::Max => self.op2(op::OR_D, x, y),
            BinaryOp::Eq => {
                let differ = self.op2(op::XOR_D, x, y);
                self.not(differ)
            }
            BinaryOp::Lt => {
                let not = self.not(x);
                self.op2(op::AND_D, not, y)
            }
            BinaryOp::Le => {
                let not = self.not(x);
                self.op2(op::OR_D, not, y)
            }
            _ => self.op2(op::XOR_D, x, y),
        }
    }

    pub fn mul_add(&mut self, a: Vid, b: Vid, c: Vid) -> Result<Vecs, Refusal> {
        let dtype = self.dtype(a);
        let (x, y, z) = (self.vecs(a)?, self.vecs(b)?, self.vecs(c)?);
        Ok((0..x.len())
            .map(|j| match dtype {
                DType::F32 | DType::F64 => {
                    self.block.push(Kind::Fma { double: dtype == DType::F64 }, &[x[j], y[j], z[j]])
                }
                // The product of two halves is exact in f32.
                _ => {
                    let product = self.op2(op::MUL_PS, x[j], y[j]);
                    let sum = self.op2(op::ADD_PS, product, z[j]);
                    self.settle(dtype, sum)
                }
            })
            .collect())
    }
}
