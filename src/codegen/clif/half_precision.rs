//! `f16` and `bf16`, held as `f32`: rounding, and conversion from and to their bits by integer arithmetic.

use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{InstBuilder, Value, types};
use shapeflow_shape_fns::DType;

use super::emitted_value::Vecs;
use super::emitter::Emitter;
use crate::codegen::repr::Repr;

impl Emitter<'_, '_> {
    /// Emits a vector shift by a constant.
    pub fn shift_left(&mut self, x: Value, count: u32) -> Value {
        let count = self.b.ins().iconst(types::I32, i64::from(count));
        self.b.ins().ishl(x, count)
    }

    /// Emits a logical vector shift by a constant.
    pub fn shift_right(&mut self, x: Value, count: u32) -> Value {
        let count = self.b.ins().iconst(types::I32, i64::from(count));
        self.b.ins().ushr(x, count)
    }

    /// Emits an arithmetic vector shift by a constant.
    pub fn shift_right_signed(&mut self, x: Value, count: u32) -> Value {
        let count = self.b.ins().iconst(types::I32, i64::from(count));
        self.b.ins().sshr(x, count)
    }

    /// Rounds float bits to nearest even and clears the low `dropped` bits. The code adds `2^(dropped-1)`, or one less
    /// if the last kept bit is 0, before it clears. A carry out of the fraction increments the exponent, as it should.
    fn round_bits(&mut self, bits: Value, dropped: u32) -> Value {
        let shifted = self.shift_right(bits, dropped);
        let one = self.splat_i32(1);
        let odd = self.b.ins().band(shifted, one);
        let half = self.splat_i32((1 << (dropped - 1)) - 1);
        let sum = self.b.ins().iadd(bits, half);
        let sum = self.b.ins().iadd(sum, odd);
        let kept = self.splat_i32(u32::MAX << dropped);
        self.b.ins().band(sum, kept)
    }

    /// Rounds `f32` lanes to the nearest `bf16`, ties to even. A NaN becomes the quiet NaN.
    pub fn round_bf16(&mut self, x: Value) -> Value {
        let bits = self.cast_bits(types::I32X4, x);
        let rounded = self.round_bits(bits, 16);
        // The rounding of a NaN could carry into its exponent and sign, so a constant replaces it.
        let quiet = self.splat_i32(0x7fc0_0000);
        let nan = self.b.ins().fcmp(FloatCC::Unordered, x, x);
        let result = self.choose(nan, quiet, rounded);
        self.cast_bits(types::F32X4, result)
    }

    /// Rounds `f32` lanes to the nearest `f16`, ties to even. A NaN becomes the quiet NaN with the same sign.
    pub fn round_f16(&mut self, x: Value) -> Value {
        let bits = self.cast_bits(types::I32X4, x);
        let sign_mask = self.splat_i32(0x8000_0000);
        let sign = self.b.ins().band(bits, sign_mask);
        let magnitude = self.b.ins().bxor(bits, sign);
        let normal = self.round_bits(magnitude, 13);
        // `f16` has no finite value from 2^16 on. A magnitude from 65520 on rounds to at least 2^16.
        let below_2_16 = self.splat_i32(0x477f_ffff);
        let over = self.b.ins().icmp(IntCC::SignedGreaterThan, normal, below_2_16);
        let infinity = self.splat_i32(0x7f80_0000);
        let normal = self.choose(over, infinity, normal);
        // Below 2^-14, the last bit of an f16 has the value 2^-24. So has the last bit of an f32 in [0.5, 1), so the
        // addition of 0.5 rounds as f16 does.
        let absolute = self.cast_bits(types::F32X4, magnitude);
        let half = self.splat_bits(Repr::F32, 0x3f00_0000);
        let raised = self.b.ins().fadd(absolute, half);
        let small = self.b.ins().fsub(raised, half);
        let small = self.cast_bits(types::I32X4, small);
        let least_normal = self.splat_i32(0x3880_0000);
        let is_small = self.b.ins().icmp(IntCC::SignedLessThan, magnitude, least_normal);
        let result = self.choose(is_small, small, normal);
        let nan = self.b.ins().icmp(IntCC::SignedGreaterThan, magnitude, infinity);
        let quiet = self.splat_i32(0x7fc0_0000);
        let result = self.choose(nan, quiet, result);
        let result = self.b.ins().bor(result, sign);
        self.cast_bits(types::F32X4, result)
    }

    /// Emits the `f32` lanes of `f16` or `bf16` values. `bits` holds their 16 bits, zero-extended in 4-byte lanes.
    pub fn half_from_bits(&mut self, dtype: DType, bits: &Vecs) -> Vecs {
        self.map(bits, |e, x| {
            if dtype == DType::BF16 {
                let shifted = e.shift_left(x, 16);
                return e.cast_bits(types::F32X4, shifted);
            }
            let sign_mask = e.splat_i32(0x8000);
            let sign = e.b.ins().band(x, sign_mask);
            let magnitude = e.b.ins().bxor(x, sign);
            let magnitude = e.shift_left(magnitude, 13);
            // As f32 bits, the shifted value is too small by the factor 2^112, the difference of the exponent biases.
            // The product is exact, also for a subnormal.
            let scale = e.splat_bits(Repr::F32, 0x7780_0000);
            let scaled = e.cast_bits(types::F32X4, magnitude);
            let scaled = e.b.ins().fmul(scaled, scale);
            let scaled = e.cast_bits(types::I32X4, scaled);
            // An infinity or NaN gets the exponent bits of an f32 infinity or NaN.
            let finite = e.splat_i32(0x0f7f_ffff);
            let special = e.b.ins().icmp(IntCC::SignedGreaterThan, magnitude, finite);
            let exponent = e.splat_i32(0x7f80_0000);
            let special = e.b.ins().band(special, exponent);
            let sign = e.shift_left(sign, 16);
            let result = e.b.ins().bor(scaled, special);
            let result = e.b.ins().bor(result, sign);
            e.cast_bits(types::F32X4, result)
        })
    }

    /// Emits the 16 bits of `f32` lanes that hold values of `dtype`, `f16` or `bf16`. The bits are zero-extended in
    /// 4-byte lanes.
    pub fn half_to_bits(&mut self, dtype: DType, x: &Vecs) -> Vecs {
        self.map(x, |e, x| {
            let bits = e.cast_bits(types::I32X4, x);
            if dtype == DType::BF16 {
                return e.shift_right(bits, 16);
            }
            let magnitude_mask = e.splat_i32(0x7fff_ffff);
            let magnitude = e.b.ins().band(bits, magnitude_mask);
            let scaled = e.cast_bits(types::F32X4, magnitude);
            // 2^-112, the inverse of the factor in `half_from_bits`.
            let scale = e.splat_bits(Repr::F32, 0x0780_0000);
            let scaled = e.b.ins().fmul(scaled, scale);
            let scaled = e.cast_bits(types::I32X4, scaled);
            let finite = e.splat_i32(0x7f7f_ffff);
            let special = e.b.ins().icmp(IntCC::SignedGreaterThan, magnitude, finite);
            // Infinity and NaN keep their exponent, which is all ones. After the shift and the mask, five of these ones
            // are the exponent of the half.
            let scaled = e.choose(special, magnitude, scaled);
            let low = e.shift_right(scaled, 13);
            let low_mask = e.splat_i32(0x7fff);
            let low = e.b.ins().band(low, low_mask);
            let sign = e.shift_right(bits, 16);
            let sign_mask = e.splat_i32(0x8000);
            let sign = e.b.ins().band(sign, sign_mask);
            e.b.ins().bor(low, sign)
        })
    }
}
