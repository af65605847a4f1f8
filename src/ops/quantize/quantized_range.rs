//! `QuantizedRange`: the integers of a quantized dtype and the numbers they stand for in mode `MIN_FIRST`.

use shapeflow_shape_fns::DType;

use crate::expr::{Expr, scalar_dtype};
use crate::ops::rounding::round_half_away;

/// The integers of a quantized dtype, evenly spaced over a range of f32 numbers.
pub(super) struct QuantizedRange {
    dtype: DType,
    pub(super) min: Expr,
    pub(super) max: Expr,
}

/// Returns the lowest and the highest integer of a quantized dtype.
pub(super) fn bounds(dtype: DType) -> (i64, i64) {
    let integer = scalar_dtype(dtype).and_then(DType::integer_range);
    let (low, high) = integer.expect("the dtype rules of quantized ops require a quantized dtype");
    (low as i64, high as i64)
}

impl QuantizedRange {
    pub(super) fn new(dtype: DType, min: Expr, max: Expr) -> QuantizedRange {
        QuantizedRange { dtype, min, max }
    }

    /// Returns the number of steps of the range: one less than the number of integers.
    pub(super) fn count(&self) -> f64 {
        let (low, high) = bounds(self.dtype);
        (high - low) as f64
    }

    /// Returns the difference of the ends of the range, computed in f32 as in TensorFlow, as an f64.
    pub(super) fn width(&self) -> Expr {
        (&self.max - &self.min).cast(DType::F64)
    }

    fn is_empty(&self) -> Expr {
        self.min.clone().equal(self.max.clone())
    }

    /// Returns the integer that stands for `x`, an f32. The range is moved so that it starts at a multiple of the step.
    pub(super) fn quantize(&self, x: Expr) -> Expr {
        let (low, high) = bounds(self.dtype);
        let number = |value: f64| Expr::number(DType::F32, value);
        let scale = (Expr::constant(self.count()) / self.width()).cast(DType::F32);
        let scale = self.is_empty().select(number(0.0), scale);
        let offset = round_half_away(&self.min * &scale) - number(low as f64);
        // 2_147_483_520 is the greatest f32 that fits an i32.
        let (least, most) = ((low as f64).max(-2_147_483_648.0), (high as f64).min(2_147_483_520.0));
        let steps = round_half_away(x * scale) - offset;
        steps.maximum(number(least)).minimum(number(most)).cast(self.dtype)
    }

    /// Returns the number that integer `x` stands for, as an f32: `(x - low) * scale + start`.
    pub(super) fn dequantize(&self, x: Expr) -> Expr {
        let (start, scale) = self.start_and_scale();
        (x.cast(DType::F32) - self.low()) * scale + start
    }

    /// Returns the number that integer `x` stands for, as an f32: `(start - low * scale) + x * scale`. TensorFlow's
    /// kernel of `QuantizedConcat` rounds in this order.
    pub(super) fn dequantize_from_zero(&self, x: Expr) -> Expr {
        let (start, scale) = self.start_and_scale();
        let of_zero = start - self.low() * &scale;
        of_zero + x.cast(DType::F32) * scale
    }

    /// Returns the lowest integer as an f32.
    fn low(&self) -> Expr {
        Expr::number(DType::F32, bounds(self.dtype).0 as f64)
    }

    /// Returns the number that the lowest integer stands for, and the distance of two numbers, both f32.
    fn start_and_scale(&self) -> (Expr, Expr) {
        let scale = (self.width() / Expr::constant(self.count())).cast(DType::F32);
        let aligned = round_half_away(&self.min / &scale) * &scale;
        (self.is_empty().select(self.min.clone(), aligned), scale)
    }

    /// Returns the number that `x`, an i64, stands for. Unlike [`QuantizedRange::dequantize`], it multiplies in f64.
    pub(super) fn dequantize_exactly(&self, x: Expr) -> Expr {
        let (low, high) = bounds(self.dtype);
        let integers = (high - low + 1) as f64;
        // `step` is `width / count`, with the roundings of TensorFlow.
        let width_plus_step = self.width() * Expr::constant(integers / self.count());
        let step = width_plus_step / Expr::constant(integers);
        let narrow = step.clone().cast(DType::F32);
        let start = (round_half_away(&self.min / &narrow) * narrow).cast(DType::F64);
        let offset = x.cast(DType::F64) - Expr::constant(low as f64);
        let number = (start + offset * step).cast(DType::F32);
        self.is_empty().select(self.min.clone(), number)
    }

    /// Returns the integer that stands for `x`, an f32, as an i64, which may be outside the range of the dtype. Unlike
    /// [`QuantizedRange::quantize`], it multiplies in f64.
    pub(super) fn quantize_unclamped(&self, x: Expr) -> Expr {
        let (low, high) = bounds(self.dtype);
        let integers = (high - low + 1) as f64;
        let scale = Expr::constant(integers) / (self.width() * Expr::constant(integers / self.count()));
        let start = round_half_away(self.min.clone().cast(DType::F64) * &scale);
        // Above this bound, adding `low` doesn't wrap.
        let least = Expr::constant((i64::MIN + (1 << 32)) as f64);
        let steps = (round_half_away(x.cast(DType::F64) * scale) - start).maximum(least).cast(DType::I64);
        let low = Expr::constant(low);
        self.is_empty().select(low.clone(), steps + low)
    }

    /// Does the same as [`QuantizedRange::quantize_unclamped`], but returns the nearest integer of the dtype, as an
    /// i64.
    pub(super) fn quantize_exactly(&self, x: Expr) -> Expr {
        let (low, high) = bounds(self.dtype);
        self.quantize_unclamped(x).maximum(Expr::constant(low)).minimum(Expr::constant(high))
    }
}
