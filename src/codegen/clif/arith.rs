//! Arithmetic and comparison on lanes.

use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{InstBuilder, Value, types};
use shapeflow_shape_fns::DType;
use smallvec::smallvec;

use super::emitted_value::{EmittedValue, Scalars, Vecs, lane};
use super::emitter::{ElementGroup, Emitter};
use crate::codegen::legalize::{
    BitOp, MaskOp, MinMaxRule, Settle, compares_unsigned, constant, fuses, shift_mask,
};
use crate::codegen::repr::Repr;
use crate::expr::math::LARGE_ANGLE;
use crate::expr::{AngleFunction, BinaryOp, UnaryOp};
use crate::lower::kernel_body::InstId;

impl Emitter<'_, '_> {
    /// Wraps or rounds lanes to values of `dtype`.
    pub fn settle(&mut self, dtype: DType, x: Vecs) -> Vecs {
        self.settle_by(Settle::of(dtype), x)
    }

    /// Applies the step `settle` to lanes.
    pub fn settle_by(&mut self, settle: Settle, x: Vecs) -> Vecs {
        match settle {
            Settle::Keep => x,
            Settle::SignExtend { spare } => self.map(&x, |e, x| {
                let up = e.shift_left(x, spare);
                e.shift_right_signed(up, spare)
            }),
            Settle::ZeroExtend { mask } => self.map(&x, |e, x| {
                let mask = e.splat_i32(mask);
                e.b.ins().band(x, mask)
            }),
            Settle::RoundF16 => self.map(&x, Emitter::round_f16),
            Settle::RoundBf16 => self.map(&x, Emitter::round_bf16),
        }
    }

    pub fn unary(&mut self, group: &mut ElementGroup<'_>, op: UnaryOp, a: InstId) -> EmittedValue {
        let dtype = group.inst(a).dtype;
        let repr = Repr::of(dtype);
        if repr == Repr::Mask {
            let wide = self.is_wide(group, a);
            let x = self.mask(group, a, if wide { 8 } else { 4 });
            let not = self.map(&x, |e, x| e.b.ins().bnot(x));
            return if wide {
                EmittedValue::of_wide_mask(group.uniform, not)
            } else {
                EmittedValue::of_vecs(repr, group.uniform, not)
            };
        }
        let x = self.vecs(group, a);
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
        let result = self.settle_by(Settle::after_unary(op, dtype), result);
        EmittedValue::of_vecs(repr, group.uniform, result)
    }

    pub fn binary(
        &mut self,
        group: &mut ElementGroup<'_>,
        op: BinaryOp,
        a: InstId,
        b: InstId,
    ) -> EmittedValue {
        let dtype = group.inst(a).dtype;
        let repr = Repr::of(dtype);
        match op {
            _ if repr == Repr::Mask => return self.logical(group, op, a, b),
            BinaryOp::Div | BinaryOp::Rem if !dtype.is_float() => return self.divide(group, op, a, b),
            BinaryOp::Rem => return self.remainder(group, a, b),
            BinaryOp::LargeAngle(function) => return self.large_angle(group, function, a, b),
            BinaryOp::Shl | BinaryOp::Shr => return self.shift(group, op, a, b),
            _ => {}
        }
        let (x, y) = (self.vecs(group, a), self.vecs(group, b));
        if op.is_comparison() {
            let mask = self.zip(&x, &y, |e, x, y| e.compare(dtype, op, x, y));
            return match repr.bytes() {
                8 => EmittedValue::of_wide_mask(group.uniform, mask),
                _ => EmittedValue::of_vecs(Repr::Mask, group.uniform, mask),
            };
        }
        let rule = MinMaxRule::of(group.body, a, b);
        let result = self.zip(&x, &y, |e, x, y| match (op, dtype.is_float()) {
            (BinaryOp::Min | BinaryOp::Max, true) => e.extremum(op == BinaryOp::Max, x, y, rule),
            _ => e.arithmetic(dtype, op, x, y),
        });
        let result = self.settle_by(Settle::after_binary(op, dtype), result);
        EmittedValue::of_vecs(repr, group.uniform, result)
    }

    fn compare(&mut self, dtype: DType, op: BinaryOp, x: Value, y: Value) -> Value {
        if dtype.is_float() {
            let condition = match op {
                BinaryOp::Eq => FloatCC::Equal,
                BinaryOp::Ne => FloatCC::NotEqual,
                BinaryOp::Lt => FloatCC::LessThan,
                BinaryOp::Le => FloatCC::LessThanOrEqual,
                _ => unreachable!("{op:?} is no comparison"),
            };
            return self.b.ins().fcmp(condition, x, y);
        }
        let signed = !compares_unsigned(dtype);
        let condition = match op {
            BinaryOp::Eq => IntCC::Equal,
            BinaryOp::Ne => IntCC::NotEqual,
            BinaryOp::Lt if signed => IntCC::SignedLessThan,
            BinaryOp::Lt => IntCC::UnsignedLessThan,
            BinaryOp::Le if signed => IntCC::SignedLessThanOrEqual,
            BinaryOp::Le => IntCC::UnsignedLessThanOrEqual,
            _ => unreachable!("{op:?} is no comparison"),
        };
        self.b.ins().icmp(condition, x, y)
    }

    /// Emits one vector of an elementwise operation. Its lanes are values of the dtype only after [`Emitter::settle`].
    pub fn arithmetic(&mut self, dtype: DType, op: BinaryOp, x: Value, y: Value) -> Value {
        let signed = !compares_unsigned(dtype);
        match (op, dtype.is_float()) {
            (BinaryOp::Add, true) => self.b.ins().fadd(x, y),
            (BinaryOp::Sub, true) => self.b.ins().fsub(x, y),
            (BinaryOp::Mul, true) => self.b.ins().fmul(x, y),
            (BinaryOp::Div, true) => self.b.ins().fdiv(x, y),
            (BinaryOp::Min | BinaryOp::Max, true) => {
                self.extremum(op == BinaryOp::Max, x, y, MinMaxRule::SwappedWithNan)
            }
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
            (BinaryOp::And, _) => self.b.ins().band(x, y),
            _ => unreachable!("{op:?} of {dtype} is emitted elsewhere"),
        }
    }

    /// Emits the larger or smaller of two floats as `p > q ? p : q` or `p < q ? p : q`. This is `q` if the operands are
    /// equal or one is NaN, so `rule` decides which operand is `q`. On x86-64 it becomes one `maxps` or `minps`.
    fn extremum(&mut self, max: bool, x: Value, y: Value, rule: MinMaxRule) -> Value {
        let (p, q) = if rule == MinMaxRule::InOrder { (x, y) } else { (y, x) };
        let float_type = self.b.func.dfg.value_type(x);
        let better = if max {
            self.b.ins().fcmp(FloatCC::LessThan, q, p)
        } else {
            self.b.ins().fcmp(FloatCC::LessThan, p, q)
        };
        let lanes = self.b.func.dfg.value_type(better);
        let better = self.cast_bits(float_type, better);
        let best = self.b.ins().bitselect(better, p, q);
        if rule != MinMaxRule::SwappedWithNan {
            return best;
        }
        let nan = self.b.ins().fcmp(FloatCC::Unordered, y, y);
        let best = self.cast_bits(lanes, best);
        let merged = self.b.ins().bor(best, nan);
        self.cast_bits(float_type, merged)
    }

    /// Emits an operation on masks.
    fn logical(&mut self, group: &mut ElementGroup<'_>, op: BinaryOp, a: InstId, b: InstId) -> EmittedValue {
        let wide = self.is_wide(group, a) && self.is_wide(group, b);
        let bytes = if wide { 8 } else { 4 };
        let (x, y) = (self.mask(group, a, bytes), self.mask(group, b, bytes));
        let rule = MaskOp::of(op);
        let result = self.zip(&x, &y, |e, x, y| {
            let x = if rule.negates_first { e.b.ins().bnot(x) } else { x };
            let result = match rule.op {
                BitOp::And => e.b.ins().band(x, y),
                BitOp::Or => e.b.ins().bor(x, y),
                BitOp::Xor => e.b.ins().bxor(x, y),
            };
            if rule.negates_result { e.b.ins().bnot(result) } else { result }
        });
        if wide {
            EmittedValue::of_wide_mask(group.uniform, result)
        } else {
            EmittedValue::of_vecs(Repr::Mask, group.uniform, result)
        }
    }

    /// Emits an operation `f` scalar by scalar, and wraps or rounds the results to `dtype`.
    fn by_lanes(
        &mut self,
        group: &mut ElementGroup<'_>,
        dtype: DType,
        operands: [InstId; 2],
        mut f: impl FnMut(&mut Self, Value, Value) -> Value,
    ) -> EmittedValue {
        let [x, y] = operands.map(|v| self.lanes(group, v));
        let result: Scalars = (0..group.lanes()).map(|j| f(self, lane(&x, j), lane(&y, j))).collect();
        let repr = Repr::of(dtype);
        if Settle::of(dtype) == Settle::Keep {
            return EmittedValue::of_lanes(repr, group.uniform, result);
        }
        let vecs = self.gather_lanes(repr, group.uniform, &result);
        EmittedValue::of_vecs(repr, group.uniform, self.settle(dtype, vecs))
    }

    /// Emits the integer quotient toward zero, or the remainder `x - y * quotient`. A zero divisor fails the run and
    /// acts as 1.
    fn divide(&mut self, group: &mut ElementGroup<'_>, op: BinaryOp, a: InstId, b: InstId) -> EmittedValue {
        let dtype = group.inst(a).dtype;
        let quotient = op == BinaryOp::Div;
        let lane_type = Repr::of(dtype).scalar();
        self.by_lanes(group, dtype, [a, b], |e, x, y| {
            let zero = e.b.ins().iconst(lane_type, 0);
            let one = e.b.ins().iconst(lane_type, 1);
            let bad = e.b.ins().icmp(IntCC::Equal, y, zero);
            e.fail_if(bad);
            if !dtype.is_signed() {
                let divisor = e.b.ins().select(bad, one, y);
                return if quotient { e.b.ins().udiv(x, divisor) } else { e.b.ins().urem(x, divisor) };
            }
            // The least value divided by -1 overflows. A quotient by -1 is the negation, and its remainder is 0. So the
            // divisors 0 and -1, for which `y + 1 <= 1` as unsigned, are replaced by 1.
            let plus_one = e.b.ins().iadd(y, one);
            let special = e.b.ins().icmp(IntCC::UnsignedLessThanOrEqual, plus_one, one);
            let divisor = e.b.ins().select(special, one, y);
            if !quotient {
                return e.b.ins().srem(x, divisor);
            }
            let plain = e.b.ins().sdiv(x, divisor);
            let negated = e.b.ins().ineg(x);
            let by_minus_one = e.b.ins().icmp(IntCC::Equal, plus_one, zero);
            e.b.ins().select(by_minus_one, negated, plain)
        })
    }

    /// Emits the remainder of floats, by calls.
    fn remainder(&mut self, group: &mut ElementGroup<'_>, a: InstId, b: InstId) -> EmittedValue {
        let dtype = group.inst(a).dtype;
        let function = self.remainder_function(Repr::of(dtype));
        self.by_lanes(group, dtype, [a, b], |e, x, y| {
            let call = e.b.ins().call(function, &[x, y]);
            e.b.inst_results(call)[0]
        })
    }

    /// Emits [`BinaryOp::LargeAngle`]: a call that is skipped if no lane of a vector has a large angle.
    fn large_angle(
        &mut self,
        group: &mut ElementGroup<'_>,
        function: AngleFunction,
        usual: InstId,
        angle: InstId,
    ) -> EmittedValue {
        let (usual, angle) = (self.vecs(group, usual), self.vecs(group, angle));
        let result = self.zip(&usual, &angle, |e, usual, angle| {
            let least = e.splat_bits(Repr::F64, LARGE_ANGLE.to_bits());
            let magnitude = e.b.ins().fabs(angle);
            let is_large = e.b.ins().fcmp(FloatCC::LessThanOrEqual, least, magnitude);
            let any = e.b.ins().vany_true(is_large);
            let (call, done) = (e.b.create_block(), e.b.create_block());
            let result = e.b.append_block_param(done, types::F64X2);
            e.b.ins().brif(any, call, &[], done, &[usual.into()]);
            e.b.set_cold_block(call);
            e.b.switch_to_block(call);
            let computed = e.call_angle_function(function, usual, angle);
            e.b.ins().jump(done, &[computed.into()]);
            e.b.switch_to_block(done);
            result
        });
        EmittedValue::of_vecs(Repr::F64, group.uniform, result)
    }

    /// Emits a shift. The count is taken modulo the width of the dtype.
    fn shift(&mut self, group: &mut ElementGroup<'_>, op: BinaryOp, a: InstId, b: InstId) -> EmittedValue {
        let dtype = group.inst(a).dtype;
        let repr = Repr::of(dtype);
        let count_mask = shift_mask(dtype) as i64;
        let shifted = |e: &mut Self, x: Value, count: Value| match op {
            BinaryOp::Shl => e.b.ins().ishl(x, count),
            _ if dtype.is_signed() => e.b.ins().sshr(x, count),
            _ => e.b.ins().ushr(x, count),
        };
        if !group.val(b).uniform {
            let mask = |e: &mut Self, count: Value| e.b.ins().band_imm_u(count, count_mask);
            return self.by_lanes(group, dtype, [a, b], |e, x, count| {
                let count = mask(e, count);
                shifted(e, x, count)
            });
        }
        let count = match constant(group.body, b) {
            Some(count) => self.b.ins().iconst(types::I32, count.to_i64() & count_mask),
            None => {
                let lanes = self.lanes(group, b);
                self.b.ins().band_imm_u(lanes[0], count_mask)
            }
        };
        let x = self.vecs(group, a);
        let result = self.map(&x, |e, x| shifted(e, x, count));
        let result = self.settle_by(Settle::after_binary(op, dtype), result);
        EmittedValue::of_vecs(repr, group.uniform, result)
    }

    /// Emits `a * b + c`. It rounds once if [`fuses`] says so and the machine can.
    pub fn mul_add(&mut self, group: &mut ElementGroup<'_>, a: InstId, b: InstId, c: InstId) -> EmittedValue {
        let dtype = group.inst(a).dtype;
        let (x, y, z) = (self.vecs(group, a), self.vecs(group, b), self.vecs(group, c));
        let fused = self.target.fused && fuses(dtype);
        let result = (0..x.len())
            .map(|j| {
                if fused {
                    return self.b.ins().fma(x[j], y[j], z[j]);
                }
                let product = self.b.ins().fmul(x[j], y[j]);
                self.b.ins().fadd(product, z[j])
            })
            .collect();
        EmittedValue::of_vecs(Repr::of(dtype), group.uniform, self.settle(dtype, result))
    }

    pub fn select(
        &mut self,
        group: &mut ElementGroup<'_>,
        condition: InstId,
        a: InstId,
        b: InstId,
    ) -> EmittedValue {
        let repr = Repr::of(group.inst(a).dtype);
        let mask = self.mask(group, condition, repr.bytes());
        let (x, y) = (self.vecs(group, a), self.vecs(group, b));
        let result = (0..mask.len()).map(|j| self.choose(mask[j], x[j], y[j])).collect();
        EmittedValue::of_vecs(repr, group.uniform, result)
    }

    /// Emits the check of an index. The result is the index as i64 if it is in `[0, limit)`; otherwise 0, and the run
    /// fails. `limit` is the number of a run-time scalar.
    pub fn check_index(&mut self, group: &mut ElementGroup<'_>, value: InstId, limit: u32) -> EmittedValue {
        let dtype = group.inst(value).dtype;
        let limit = self.scalar(limit);
        let zero = self.b.ins().iconst(types::I64, 0);
        let lanes = self.lanes(group, value);
        let mut result = Scalars::new();
        for j in 0..if lanes.len() == 1 { 1 } else { group.lanes() } {
            let index = match dtype {
                DType::I64 => lanes[j],
                _ => self.b.ins().sextend(types::I64, lanes[j]),
            };
            // Compared as unsigned, a negative index is above every limit.
            let bad = self.b.ins().icmp(IntCC::UnsignedGreaterThanOrEqual, index, limit);
            self.fail_if(bad);
            result.push(self.b.ins().select(bad, zero, index));
        }
        if result.len() == 1 && !group.has_single_lane() {
            result = smallvec![result[0]; group.lanes()];
        }
        EmittedValue::of_lanes(Repr::I64, group.uniform, result)
    }
}
