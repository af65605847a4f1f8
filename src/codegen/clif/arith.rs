//! Arithmetic and comparison on lanes.

use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{InstBuilder, Value, types};
use shapeflow_shape_fns::DType;
use smallvec::smallvec;

use super::emitter::{Emitter, Step};
use super::lanes::{Lanes, Repr, Val, Vecs, lane};
use super::memory::size_of;
use crate::expr::{BinaryOp, UnaryOp};
use crate::lower::code::{InstOp, Vid};

/// Bits of an element.
pub(in crate::codegen) fn bits_of(dtype: DType) -> u32 {
    8 * size_of(dtype)
}

/// Whether an integer dtype is narrower than its lanes.
pub(in crate::codegen) fn is_narrow(dtype: DType) -> bool {
    matches!(dtype, DType::I8 | DType::I16 | DType::U8 | DType::U16)
}

impl Emitter<'_, '_> {
    /// Integer lanes brought back into the range of `dtype`, modulo its width.
    pub fn wrap(&mut self, dtype: DType, x: Vecs) -> Vecs {
        if !is_narrow(dtype) {
            return x;
        }
        let spare = 32 - bits_of(dtype);
        self.map(&x, |e, x| {
            if dtype.is_signed() {
                let up = e.shift_left(x, spare);
                e.shift_right_signed(up, spare)
            } else {
                let mask = e.splat_i32(u32::MAX >> spare);
                e.b.ins().band(x, mask)
            }
        })
    }

    /// What lanes hold after arithmetic in `dtype`: wrapped or rounded to it.
    pub fn settle(&mut self, dtype: DType, x: Vecs) -> Vecs {
        if dtype.is_float() { self.round_to(dtype, x) } else { self.wrap(dtype, x) }
    }

    pub fn unary(&mut self, step: &mut Step<'_>, op: UnaryOp, a: Vid) -> Val {
        let dtype = step.inst(a).dtype;
        let repr = Repr::of(dtype);
        if repr == Repr::Mask {
            let wide = self.is_wide(step, a);
            let x = self.mask(step, a, if wide { 8 } else { 4 });
            let not = self.map(&x, |e, x| e.b.ins().bnot(x));
            return if wide {
                Val::of_wide_mask(step.uniform, not)
            } else {
                Val::of_vecs(repr, step.uniform, not)
            };
        }
        let x = self.vecs(step, a);
        let float = dtype.is_float();
        let result = self.map(&x, |e, x| match op {
            UnaryOp::Neg if float => e.b.ins().fneg(x),
            UnaryOp::Neg => e.b.ins().ineg(x),
            UnaryOp::Abs if float => e.b.ins().fabs(x),
            UnaryOp::Abs if dtype.is_signed() => e.b.ins().iabs(x),
            UnaryOp::Abs => x,
            UnaryOp::Sqrt => e.b.ins().sqrt(x),
            UnaryOp::Floor => e.b.ins().floor(x),
            UnaryOp::Ceil => e.b.ins().ceil(x),
            UnaryOp::Trunc => e.b.ins().trunc(x),
            UnaryOp::Round => e.b.ins().nearest(x),
            UnaryOp::Not => e.b.ins().bnot(x),
        });
        let result = match op {
            UnaryOp::Sqrt => self.round_to(dtype, result),
            UnaryOp::Neg | UnaryOp::Abs | UnaryOp::Not => self.wrap(dtype, result),
            _ => result,
        };
        Val::of_vecs(repr, step.uniform, result)
    }

    pub fn binary(&mut self, step: &mut Step<'_>, op: BinaryOp, a: Vid, b: Vid) -> Val {
        let dtype = step.inst(a).dtype;
        let repr = Repr::of(dtype);
        match op {
            _ if repr == Repr::Mask => return self.logical(step, op, a, b),
            BinaryOp::Div | BinaryOp::Rem if !dtype.is_float() => return self.divide(step, op, a, b),
            BinaryOp::Rem => return self.remainder(step, a, b),
            BinaryOp::Shl | BinaryOp::Shr => return self.shift(step, op, a, b),
            _ => {}
        }
        let (x, y) = (self.vecs(step, a), self.vecs(step, b));
        if op.is_comparison() {
            let mask = self.zip(&x, &y, |e, x, y| e.compare(dtype, op, x, y));
            return match repr.bytes() {
                8 => Val::of_wide_mask(step.uniform, mask),
                _ => Val::of_vecs(Repr::Mask, step.uniform, mask),
            };
        }
        let first_plain = self.constant(step, a).is_some_and(|c| !c.is_nan() && c.to_f64() != 0.0);
        let second_known = self.never_nan(step, b);
        let result = self.zip(&x, &y, |e, x, y| match (op, dtype.is_float()) {
            (BinaryOp::Min | BinaryOp::Max, true) => {
                e.extremum(op == BinaryOp::Max, x, y, second_known, first_plain)
            }
            _ => e.arithmetic(dtype, op, x, y),
        });
        let result = match op {
            BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Div => self.settle(dtype, result),
            _ => result,
        };
        Val::of_vecs(repr, step.uniform, result)
    }

    fn compare(&mut self, dtype: DType, op: BinaryOp, x: Value, y: Value) -> Value {
        if dtype.is_float() {
            let condition = match op {
                BinaryOp::Eq => FloatCC::Equal,
                BinaryOp::Ne => FloatCC::NotEqual,
                BinaryOp::Lt => FloatCC::LessThan,
                _ => FloatCC::LessThanOrEqual,
            };
            return self.b.ins().fcmp(condition, x, y);
        }
        let signed = dtype.is_signed() || is_narrow(dtype);
        let condition = match op {
            BinaryOp::Eq => IntCC::Equal,
            BinaryOp::Ne => IntCC::NotEqual,
            BinaryOp::Lt if signed => IntCC::SignedLessThan,
            BinaryOp::Lt => IntCC::UnsignedLessThan,
            _ if signed => IntCC::SignedLessThanOrEqual,
            _ => IntCC::UnsignedLessThanOrEqual,
        };
        self.b.ins().icmp(condition, x, y)
    }

    /// One vector of an operation that needs no care but settling.
    pub fn arithmetic(&mut self, dtype: DType, op: BinaryOp, x: Value, y: Value) -> Value {
        let signed = dtype.is_signed() || is_narrow(dtype);
        match (op, dtype.is_float()) {
            (BinaryOp::Add, true) => self.b.ins().fadd(x, y),
            (BinaryOp::Sub, true) => self.b.ins().fsub(x, y),
            (BinaryOp::Mul, true) => self.b.ins().fmul(x, y),
            (BinaryOp::Div, true) => self.b.ins().fdiv(x, y),
            (BinaryOp::Min | BinaryOp::Max, true) => self.extremum(op == BinaryOp::Max, x, y, false, false),
            (BinaryOp::Add, false) => self.b.ins().iadd(x, y),
            (BinaryOp::Sub, false) => self.b.ins().isub(x, y),
            (BinaryOp::Mul, false) => self.b.ins().imul(x, y),
            (BinaryOp::Min, false) if dtype == DType::Bool => self.b.ins().band(x, y),
            (BinaryOp::Max, false) if dtype == DType::Bool => self.b.ins().bor(x, y),
            (BinaryOp::Min, false) if signed => self.b.ins().smin(x, y),
            (BinaryOp::Min, false) => self.b.ins().umin(x, y),
            (BinaryOp::Max, false) if signed => self.b.ins().smax(x, y),
            (BinaryOp::Max, false) => self.b.ins().umax(x, y),
            (BinaryOp::Or, _) => self.b.ins().bor(x, y),
            (BinaryOp::Xor, _) => self.b.ins().bxor(x, y),
            _ => self.b.ins().band(x, y),
        }
    }

    /// The larger or smaller of two floats: NaN if either is, the first if equal.
    ///
    /// `maxps p, q` is `p > q ? p : q`, so with the operands in reverse order it takes the first of
    /// equals and lets only a NaN of the second through; all bits set is a NaN, so that the mask of
    /// those can be merged in. If the first is known to be neither NaN nor zero, equal means the same
    /// bits and the plain order is enough.
    fn extremum(&mut self, max: bool, x: Value, y: Value, second_known: bool, first_plain: bool) -> Value {
        let (p, q) = if first_plain { (x, y) } else { (y, x) };
        let own = self.b.func.dfg.value_type(x);
        let better = if max {
            self.b.ins().fcmp(FloatCC::LessThan, q, p)
        } else {
            self.b.ins().fcmp(FloatCC::LessThan, p, q)
        };
        let lanes = self.b.func.dfg.value_type(better);
        let better = self.cast_bits(own, better);
        let best = self.b.ins().bitselect(better, p, q);
        if second_known || first_plain {
            return best;
        }
        let nan = self.b.ins().fcmp(FloatCC::Unordered, y, y);
        let best = self.cast_bits(lanes, best);
        let merged = self.b.ins().bor(best, nan);
        self.cast_bits(own, merged)
    }

    /// Whether a float value is surely not NaN.
    fn never_nan(&self, step: &Step<'_>, v: Vid) -> bool {
        let inst = step.inst(v);
        match inst.op {
            InstOp::Const(scalar) => !scalar.is_nan(),
            InstOp::Cast(from) => !step.inst(from).dtype.is_float(),
            _ => false,
        }
    }

    fn logical(&mut self, step: &mut Step<'_>, op: BinaryOp, a: Vid, b: Vid) -> Val {
        let wide = self.is_wide(step, a) && self.is_wide(step, b);
        let bytes = if wide { 8 } else { 4 };
        let (x, y) = (self.mask(step, a, bytes), self.mask(step, b, bytes));
        let result = self.zip(&x, &y, |e, x, y| match op {
            BinaryOp::And | BinaryOp::Min => e.b.ins().band(x, y),
            BinaryOp::Or | BinaryOp::Max => e.b.ins().bor(x, y),
            BinaryOp::Eq => {
                let differ = e.b.ins().bxor(x, y);
                e.b.ins().bnot(differ)
            }
            BinaryOp::Lt => {
                let not = e.b.ins().bnot(x);
                e.b.ins().band(not, y)
            }
            BinaryOp::Le => {
                let not = e.b.ins().bnot(x);
                e.b.ins().bor(not, y)
            }
            _ => e.b.ins().bxor(x, y),
        });
        if wide {
            Val::of_wide_mask(step.uniform, result)
        } else {
            Val::of_vecs(Repr::Mask, step.uniform, result)
        }
    }

    /// A value computed scalar by scalar, wrapped and rounded.
    fn by_lanes(
        &mut self,
        step: &mut Step<'_>,
        dtype: DType,
        operands: [Vid; 2],
        mut f: impl FnMut(&mut Self, Value, Value) -> Value,
    ) -> Val {
        let [x, y] = operands.map(|v| self.lanes(step, v));
        let result: Lanes = (0..step.lanes()).map(|j| f(self, lane(&x, j), lane(&y, j))).collect();
        let repr = Repr::of(dtype);
        if !is_narrow(dtype) && !matches!(dtype, DType::F16 | DType::BF16) {
            return Val::of_lanes(repr, step.uniform, result);
        }
        let vecs = self.gather_lanes(repr, step.uniform, &result);
        Val::of_vecs(repr, step.uniform, self.settle(dtype, vecs))
    }

    /// Integer quotient or remainder toward zero. A zero divisor fails the run and acts as 1.
    fn divide(&mut self, step: &mut Step<'_>, op: BinaryOp, a: Vid, b: Vid) -> Val {
        let dtype = step.inst(a).dtype;
        let quotient = op == BinaryOp::Div;
        let lane_type = Repr::of(dtype).scalar();
        self.by_lanes(step, dtype, [a, b], |e, x, y| {
            let zero = e.b.ins().iconst(lane_type, 0);
            let one = e.b.ins().iconst(lane_type, 1);
            let bad = e.b.ins().icmp(IntCC::Equal, y, zero);
            e.fail_if(bad);
            if !dtype.is_signed() {
                let divisor = e.b.ins().select(bad, one, y);
                return if quotient { e.b.ins().udiv(x, divisor) } else { e.b.ins().urem(x, divisor) };
            }
            // By -1 the least value overflows: its quotient is a negation, every remainder is 0.
            let plus_one = e.b.ins().iadd(y, one);
            let special = e.b.ins().icmp(IntCC::UnsignedLessThanOrEqual, plus_one, one);
            let divisor = e.b.ins().select(special, one, y);
            if !quotient {
                return e.b.ins().srem(x, divisor);
            }
            let plain = e.b.ins().sdiv(x, divisor);
            let negated = e.b.ins().ineg(x);
            let minus = e.b.ins().icmp(IntCC::Equal, plus_one, zero);
            e.b.ins().select(minus, negated, plain)
        })
    }

    fn remainder(&mut self, step: &mut Step<'_>, a: Vid, b: Vid) -> Val {
        let dtype = step.inst(a).dtype;
        let function = self.remainder_function(Repr::of(dtype));
        self.by_lanes(step, dtype, [a, b], |e, x, y| {
            let call = e.b.ins().call(function, &[x, y]);
            e.b.inst_results(call)[0]
        })
    }

    /// Shifts take their count modulo the width of the dtype, also where lanes are wider.
    fn shift(&mut self, step: &mut Step<'_>, op: BinaryOp, a: Vid, b: Vid) -> Val {
        let dtype = step.inst(a).dtype;
        let repr = Repr::of(dtype);
        let modulus = i64::from(bits_of(dtype)) - 1;
        let shifted = |e: &mut Self, x: Value, count: Value| match op {
            BinaryOp::Shl => e.b.ins().ishl(x, count),
            _ if dtype.is_signed() => e.b.ins().sshr(x, count),
            _ => e.b.ins().ushr(x, count),
        };
        if !step.val(b).uniform {
            let mask = |e: &mut Self, count: Value| e.b.ins().band_imm_u(count, modulus);
            return self.by_lanes(step, dtype, [a, b], |e, x, count| {
                let count = mask(e, count);
                shifted(e, x, count)
            });
        }
        let count = match self.constant(step, b) {
            Some(count) => self.b.ins().iconst(types::I32, count.to_i64() & modulus),
            None => {
                let lanes = self.lanes(step, b);
                self.b.ins().band_imm_u(lanes[0], modulus)
            }
        };
        let x = self.vecs(step, a);
        let result = self.map(&x, |e, x| shifted(e, x, count));
        let result = if op == BinaryOp::Shl { self.wrap(dtype, result) } else { result };
        Val::of_vecs(repr, step.uniform, result)
    }

    pub fn mul_add(&mut self, step: &mut Step<'_>, a: Vid, b: Vid, c: Vid) -> Val {
        let dtype = step.inst(a).dtype;
        let (x, y, z) = (self.vecs(step, a), self.vecs(step, b), self.vecs(step, c));
        // The product of two halves is exact in f32, so that one rounding or two give the same.
        let fused = self.target.fused && matches!(dtype, DType::F32 | DType::F64);
        let result = (0..x.len())
            .map(|j| {
                if fused {
                    return self.b.ins().fma(x[j], y[j], z[j]);
                }
                let product = self.b.ins().fmul(x[j], y[j]);
                self.b.ins().fadd(product, z[j])
            })
            .collect();
        Val::of_vecs(Repr::of(dtype), step.uniform, self.round_to(dtype, result))
    }

    pub fn select(&mut self, step: &mut Step<'_>, condition: Vid, a: Vid, b: Vid) -> Val {
        let repr = Repr::of(step.inst(a).dtype);
        let mask = self.mask(step, condition, repr.bytes());
        let (x, y) = (self.vecs(step, a), self.vecs(step, b));
        let result = (0..mask.len()).map(|j| self.choose(mask[j], x[j], y[j])).collect();
        Val::of_vecs(repr, step.uniform, result)
    }

    pub fn check_index(&mut self, step: &mut Step<'_>, value: Vid, limit: u32) -> Val {
        let dtype = step.inst(value).dtype;
        let limit = self.scalar(limit);
        let zero = self.b.ins().iconst(types::I64, 0);
        let lanes = self.lanes(step, value);
        let mut result = Lanes::new();
        for j in 0..if lanes.len() == 1 { 1 } else { step.lanes() } {
            let index = match dtype {
                DType::I64 => lanes[j],
                _ => self.b.ins().sextend(types::I64, lanes[j]),
            };
            let bad = self.b.ins().icmp(IntCC::UnsignedGreaterThanOrEqual, index, limit);
            self.fail_if(bad);
            result.push(self.b.ins().select(bad, zero, index));
        }
        if result.len() == 1 && !step.single() {
            result = smallvec![result[0]; step.lanes()];
        }
        Val::of_lanes(Repr::I64, step.uniform, result)
    }
}
