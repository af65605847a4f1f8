//! Conversion between dtypes, by value and by bits.

use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{InstBuilder, Value, types};
use shapeflow_shape_fns::DType;

use super::body_analysis::cast_by_lanes;
use super::emitted_value::{EmittedValue, Scalars, Vecs, lane};
use super::emitter::{ElementGroup, Emitter};
use crate::codegen::legalize::{INTEGER_BIAS, bits_of_true, compares_unsigned, integer_limits};
use crate::codegen::repr::{Repr, is_narrow};
use crate::lower::kernel_body::InstId;

impl Emitter<'_, '_> {
    /// Emits the conversion of `a` to `to`.
    pub fn cast(&mut self, group: &mut ElementGroup<'_>, a: InstId, to: DType) -> EmittedValue {
        let from = group.inst(a).dtype;
        if from == to {
            return group.val(a).clone();
        }
        let repr = Repr::of(to);
        if from == DType::Bool {
            return self.cast_from_bool(group, a, to);
        }
        if cast_by_lanes(from, to) {
            return self.cast_lanes(group, a, from, to);
        }
        let single = group.has_single_lane();
        let x = self.vecs(group, a);
        if to == DType::Bool {
            let mask = self.map(&x, |e, x| {
                let zero = e.splat_bits(Repr::of(from), 0);
                match from.is_float() {
                    true => e.b.ins().fcmp(FloatCC::NotEqual, x, zero),
                    false => e.b.ins().icmp(IntCC::NotEqual, x, zero),
                }
            });
            return match Repr::of(from).bytes() {
                8 => EmittedValue::of_wide_mask(group.uniform, mask),
                _ => EmittedValue::of_vecs(repr, group.uniform, mask),
            };
        }
        let unsigned = compares_unsigned(from);
        let result = match (Repr::of(from), repr) {
            (Repr::I32, Repr::I32) => self.settle(to, x),
            (Repr::I32, Repr::I64) => self.widen(&x, single, |e, x| match unsigned {
                true => e.b.ins().uwiden_low(x),
                false => e.b.ins().swiden_low(x),
            }),
            (Repr::I32, Repr::F64) => self.widen(&x, single, |e, x| {
                if unsigned {
                    let wide = e.b.ins().uwiden_low(x);
                    e.b.ins().fcvt_from_uint(types::F64X2, wide)
                } else {
                    let wide = e.b.ins().swiden_low(x);
                    e.b.ins().fcvt_from_sint(types::F64X2, wide)
                }
            }),
            (Repr::I32, Repr::F32) | (Repr::I64, Repr::F64) => {
                let rounded = self.map(&x, |e, x| match unsigned {
                    true => e.b.ins().fcvt_from_uint(repr.vector(), x),
                    false => e.b.ins().fcvt_from_sint(repr.vector(), x),
                });
                self.settle(to, rounded)
            }
            (Repr::I64, Repr::I32) => {
                let low = self.narrow(&x, |e, a, b| e.even_words(a, b));
                self.settle(to, low)
            }
            (Repr::F32, Repr::F32) => self.settle(to, x),
            (Repr::F32, Repr::F64) => self.widen(&x, single, |e, x| e.b.ins().fvpromote_low(x)),
            (Repr::F64, Repr::F32) => {
                let single_precision = self.narrow(&x, |e, a, b| {
                    let (a, b) = (e.b.ins().fvdemote(a), e.b.ins().fvdemote(b));
                    e.low_halves(a, b)
                });
                self.settle(to, single_precision)
            }
            (Repr::F32, Repr::I32) => self.map(&x, |e, x| e.float_to_integer(to, x)),
            (Repr::F64, Repr::I32) => {
                let wide = self.map(&x, |e, x| e.double_to_integer(to, x));
                self.narrow(&wide, |e, a, b| e.even_words(a, b))
            }
            // i64 and u64 have the same lanes.
            (Repr::I64, Repr::I64) => x,
            (Repr::I64, Repr::F32)
            | (Repr::F32, Repr::I64)
            | (Repr::F64, Repr::I64 | Repr::F64)
            | (Repr::Mask, _)
            | (_, Repr::Mask) => unreachable!("equal dtypes, bools and casts by lanes are emitted above"),
        };
        EmittedValue::of_vecs(repr, group.uniform, result)
    }

    /// Emits the conversion of a bool: 0 or 1.
    fn cast_from_bool(&mut self, group: &mut ElementGroup<'_>, a: InstId, to: DType) -> EmittedValue {
        let repr = Repr::of(to);
        let mask = self.mask(group, a, repr.bytes());
        let one = bits_of_true(to);
        let lanes = if repr.bytes() == 8 { Repr::I64 } else { Repr::I32 };
        let result = self.map(&mask, |e, mask| {
            let one = e.splat_bits(lanes, one);
            let chosen = e.b.ins().band(mask, one);
            e.cast_bits(repr.vector(), chosen)
        });
        EmittedValue::of_vecs(repr, group.uniform, result)
    }

    /// Emits a cast that [`cast_by_lanes`] names, scalar by scalar: between a 64-bit integer and a float.
    fn cast_lanes(
        &mut self,
        group: &mut ElementGroup<'_>,
        a: InstId,
        from: DType,
        to: DType,
    ) -> EmittedValue {
        let repr = Repr::of(to);
        let x = self.lanes(group, a);
        let result: Scalars = (0..group.lanes())
            .map(|j| {
                let x = lane(&x, j);
                match (from.is_float(), from == DType::U64 || to == DType::U64) {
                    (true, false) => self.b.ins().fcvt_to_sint_sat(types::I64, x),
                    (true, true) => self.b.ins().fcvt_to_uint_sat(types::I64, x),
                    (false, false) => self.b.ins().fcvt_from_sint(repr.scalar(), x),
                    (false, true) => self.b.ins().fcvt_from_uint(repr.scalar(), x),
                }
            })
            .collect();
        if matches!(to, DType::F16 | DType::BF16) {
            let vecs = self.gather_lanes(repr, group.uniform, &result);
            return EmittedValue::of_vecs(repr, group.uniform, self.settle(to, vecs));
        }
        EmittedValue::of_lanes(repr, group.uniform, result)
    }

    /// Emits the conversion of `f32` lanes to an integer of at most 32 bits. The conversion saturates, and NaN becomes
    /// 0.
    fn float_to_integer(&mut self, to: DType, x: Value) -> Value {
        if to == DType::U32 {
            return self.b.ins().fcvt_to_uint_sat(types::I32X4, x);
        }
        let wide = self.b.ins().fcvt_to_sint_sat(types::I32X4, x);
        if !is_narrow(to) {
            return wide;
        }
        let (low, high) = integer_limits(to);
        let (low, high) = (self.splat_i32(low as i32 as u32), self.splat_i32(high as i32 as u32));
        let raised = self.b.ins().smax(wide, low);
        self.b.ins().smin(raised, high)
    }

    /// Emits the conversion of `f64` lanes to an integer of at most 32 bits, in the low half of each lane. The
    /// conversion saturates, and NaN becomes 0.
    fn double_to_integer(&mut self, to: DType, x: Value) -> Value {
        let (low, high) = integer_limits(to);
        let no_nan = self.b.ins().fcmp(FloatCC::Equal, x, x);
        let no_nan = self.cast_bits(types::F64X2, no_nan);
        let x = self.b.ins().band(x, no_nan);
        let low = self.splat_bits(Repr::F64, (low as f64).to_bits());
        let high = self.splat_bits(Repr::F64, (high as f64).to_bits());
        let above_low = self.b.ins().fcmp(FloatCC::LessThan, low, x);
        let above_low = self.cast_bits(types::F64X2, above_low);
        let x = self.b.ins().bitselect(above_low, x, low);
        let below_high = self.b.ins().fcmp(FloatCC::LessThan, x, high);
        let below_high = self.cast_bits(types::F64X2, below_high);
        let x = self.b.ins().bitselect(below_high, x, high);
        let integral = self.b.ins().trunc(x);
        let bias = self.splat_bits(Repr::F64, INTEGER_BIAS.to_bits());
        let biased = self.b.ins().fadd(integral, bias);
        self.cast_bits(types::I64X2, biased)
    }

    /// Emits the bits of `a` as another dtype of the same size.
    pub fn bitcast(&mut self, group: &mut ElementGroup<'_>, a: InstId, to: DType) -> EmittedValue {
        let from = group.inst(a).dtype;
        if from == to {
            return group.val(a).clone();
        }
        let repr = Repr::of(to);
        let x = self.vecs(group, a);
        let bits: Vecs = match from {
            DType::F16 | DType::BF16 => self.half_to_bits(from, &x),
            DType::Bool => self.map(&x, |e, x| {
                let one = e.splat_i32(1);
                e.b.ins().band(x, one)
            }),
            _ => x,
        };
        let result = match to {
            DType::F16 | DType::BF16 => {
                let bits = self.settle(DType::U16, bits);
                self.half_from_bits(to, &bits)
            }
            DType::Bool => self.map(&bits, |e, x| {
                let zero = e.splat_i32(0);
                e.b.ins().icmp(IntCC::NotEqual, x, zero)
            }),
            _ if is_narrow(to) => self.settle(to, bits),
            _ => self.map(&bits, |e, x| e.cast_bits(repr.vector(), x)),
        };
        EmittedValue::of_vecs(repr, group.uniform, result)
    }
}
