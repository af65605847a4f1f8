//! Constants and conversions of every dtype. The conversions of dtypes that no primitive operation takes (complex,
//! quantized, floats of 8 bits, integers of 4 bits) are built from operations on the other dtypes.

use shapeflow_shape_fns::DType;

use super::{BinaryOp, Expr, ExprKind, Scalar, eval_cast, scalar_dtype};

impl Expr {
    /// Makes a constant from `value`, of the dtype of `self`. If this dtype is an integer type that does not hold a
    /// finite `value`, such as 0.5, the graph of the op does not compile. [`OpDef::floats`](crate::OpDef::floats)
    /// refuses integers when the op is added.
    pub fn like(&self, value: f64) -> Expr {
        Expr::number(self.dtype(), value)
    }

    /// Makes a constant from `value`, of dtype `dtype`; see [`Expr::like`].
    pub fn number(dtype: DType, value: f64) -> Expr {
        match scalar_dtype(dtype) {
            // The verifier refuses a constant of another dtype than its value.
            Some(_) if !is_held(dtype, value) => Expr::stored(dtype, Scalar::F64(value)),
            Some(_) if dtype.is_float8() => Expr::constant(value).cast(dtype),
            Some(stored) => Expr::stored(dtype, eval_cast(Scalar::F64(value), stored)),
            None => match dtype.part() {
                Some(part) => Expr::complex(Expr::number(part, value), Expr::number(part, 0.0)),
                // Strings and variants have no numbers. This constant has another dtype than `dtype`, so the verifier
                // refuses the body of the op.
                None => Expr::constant(false),
            },
        }
    }

    /// Makes a constant of `dtype` from its value in the storage dtype.
    pub(crate) fn stored(dtype: DType, value: Scalar) -> Expr {
        Expr::new(dtype, ExprKind::Const(value))
    }

    /// Converts to another dtype. Float to integer truncates toward zero and saturates, and NaN becomes 0; integer to
    /// integer wraps; a bool is `x != 0`; a real number becomes the real part of a complex number. A quantized type
    /// converts as its integer.
    pub fn cast(self, dtype: DType) -> Expr {
        if self.dtype() == dtype {
            return self;
        }
        convert(&self, dtype).unwrap_or_else(|| Expr::new(dtype, ExprKind::Cast(self)))
    }

    /// Reads the same bits as another dtype of the same size.
    pub fn bitcast(self, dtype: DType) -> Expr {
        if self.dtype() == dtype { self } else { Expr::new(dtype, ExprKind::Bitcast(self)) }
    }
}

/// Returns whether a dtype holds a value. A float holds every value, rounded. An integer holds an infinite value as its
/// least or greatest number.
fn is_held(dtype: DType, value: f64) -> bool {
    let back = |stored| eval_cast(eval_cast(Scalar::F64(value), stored), DType::F64);
    !dtype.is_integer() || !value.is_finite() || back(dtype) == Scalar::F64(value)
}

/// Returns whether the primitive conversion between dtypes takes `dtype`: bool, integers and floats.
fn is_primitive(dtype: DType) -> bool {
    dtype == DType::Bool || dtype.is_integer() || dtype.is_float()
}

/// Builds the conversion of `x` to `dtype` if the dtype of `x` or `dtype` is not primitive. Returns `None` if both are
/// primitive, or if there is no such conversion.
fn convert(x: &Expr, dtype: DType) -> Option<Expr> {
    let from = x.dtype();
    if is_primitive(from) && is_primitive(dtype) {
        return None;
    }
    if from.is_complex() {
        return Some(match dtype.part() {
            Some(part) => Expr::complex(x.real().cast(part), x.imag().cast(part)),
            None => x.real().cast(dtype),
        });
    }
    if !is_primitive(from) {
        let bits = x.clone().bitcast(scalar_dtype(from)?);
        let value = if from.is_float8() { decode(from, bits) } else { bits };
        return Some(value.cast(dtype));
    }
    if let Some(part) = dtype.part() {
        let real = x.clone().cast(part);
        let zero = real.like(0.0);
        return Some(Expr::complex(real, zero));
    }
    let bits = match dtype {
        DType::F8E5M2 | DType::F8E4M3FN if from.is_float() => encode(x, dtype),
        DType::I4 => {
            let bits = x.clone().cast(DType::I8);
            let four = bits.like(4.0);
            bits.binary(BinaryOp::Shl, four.clone()).binary(BinaryOp::Shr, four)
        }
        DType::U4 => {
            let bits = x.clone().cast(DType::U8);
            let mask = bits.like(15.0);
            bits & mask
        }
        _ if dtype.is_quantized() => x.clone().cast(scalar_dtype(dtype)?),
        _ => return None,
    };
    Some(bits.bitcast(dtype))
}

/// The layout of a float of 8 bits.
struct SmallFloat {
    /// The number of fraction bits.
    fraction: u32,
    bias: u64,
    /// The bits of the value after the largest finite number: the infinity, or the NaN of a format without infinities.
    overflow: u64,
    nan: u64,
}

impl SmallFloat {
    fn of(dtype: DType) -> SmallFloat {
        match dtype {
            DType::F8E5M2 => SmallFloat { fraction: 2, bias: 15, overflow: 0x7c, nan: 0x7e },
            _ => SmallFloat { fraction: 3, bias: 7, overflow: 0x7f, nan: 0x7f },
        }
    }
}

/// Returns the f32 whose bits in the format `dtype` are `bits`, a `u8`.
fn decode(dtype: DType, bits: Expr) -> Expr {
    if dtype == DType::F8E5M2 {
        // The bits of an f8e5m2 number are the upper half of an f16.
        let wide = bits.cast(DType::U16);
        let eight = wide.like(8.0);
        return wide.binary(BinaryOp::Shl, eight).bitcast(DType::F16).cast(DType::F32);
    }
    let SmallFloat { fraction, bias, .. } = SmallFloat::of(dtype);
    let wide = bits.cast(DType::U32);
    let word = |bits: u32| Expr::constant(bits);
    let magnitude = &wide & &word(0x7f);
    let sign = (&wide & &word(0x80)).binary(BinaryOp::Shl, word(24));
    // The shifted bits, read as an f32, are too small by a power of 2. The product is exact, also for subnormal
    // numbers.
    let scaled = magnitude.clone().binary(BinaryOp::Shl, word(23 - fraction)).bitcast(DType::F32);
    let scale = Expr::constant(f32::from_bits(((254 - bias) as u32) << 23));
    let finite = (scaled * scale).bitcast(DType::U32);
    let value = magnitude.equal(word(0x7f)).select(word(f32::NAN.to_bits()), finite);
    (value | sign).bitcast(DType::F32)
}

/// Returns the bits, a `u8`, of the number of format `dtype` that is nearest to `x`, ties to even. A number that is
/// too large becomes the infinity, or NaN in a format without infinities.
fn encode(x: &Expr, dtype: DType) -> Expr {
    let x = if x.dtype() == DType::F64 { x.clone() } else { x.clone().cast(DType::F32) };
    let (word, wide_fraction, wide_bias) = match x.dtype() {
        DType::F64 => (DType::U64, 52, 1023),
        _ => (DType::U32, 23, 127),
    };
    let SmallFloat { fraction, bias, overflow, nan } = SmallFloat::of(dtype);
    let bits = |bits: u64| Expr::constant(Scalar::from_bits(word, bits).expect("words are integers"));
    let shift = wide_fraction - fraction;
    let magnitude = x.clone().abs();
    let raw = magnitude.clone().bitcast(word);
    let odd = raw.clone().binary(BinaryOp::Shr, bits(shift.into())) & bits(1);
    let rounded = (&raw + &bits((1 << (shift - 1)) - 1) + odd).binary(BinaryOp::Shr, bits(shift.into()));
    let normal = rounded - bits((wide_bias - bias) << fraction);
    // The unit in the last place of `offset` is the distance between subnormal numbers of `dtype`. So the sum of
    // `offset` and the magnitude is rounded to a subnormal number, whose bits are the low bits of the sum.
    let exponent = 1 + wide_bias - bias - u64::from(fraction) + u64::from(wide_fraction);
    let offset = bits(exponent << wide_fraction);
    let subnormal = (magnitude.clone() + offset.clone().bitcast(x.dtype())).bitcast(word) - offset;
    let least_normal = bits((1 + wide_bias - bias) << wide_fraction).bitcast(x.dtype());
    let finite = magnitude.clone().less(least_normal).select(subnormal, normal).minimum(bits(overflow));
    let magnitude = magnitude.clone().equal(magnitude).select(finite, bits(nan));
    let sign_shift = if word == DType::U64 { 56 } else { 24 };
    let sign = x.bitcast(word).binary(BinaryOp::Shr, bits(sign_shift)) & bits(0x80);
    (magnitude | sign).cast(DType::U8)
}
