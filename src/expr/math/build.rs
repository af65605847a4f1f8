//! Building blocks of the math functions: bit layouts of floats, and small expressions that several functions use.

use shapeflow_shape_fns::DType;

use crate::expr::{BinaryOp, Expr, Scalar, UnaryOp};

/// The bit layout of `f32` or `f64`.
#[derive(Clone, Copy)]
pub(super) struct FloatFormat {
    /// The unsigned integer of the same size.
    pub(super) word: DType,
    /// The number of fraction bits.
    pub(super) fraction: u32,
    /// The exponent bias, which is the exponent field of 1.0.
    pub(super) bias: u64,
    /// `1.5 · 2^fraction`. The sum of this number and a smaller number holds the smaller number, rounded to an integer,
    /// in its low bits.
    pub(super) magic: f64,
}

impl FloatFormat {
    /// Returns the format of an expression of dtype `f32` or `f64`.
    pub(super) fn of(x: &Expr) -> FloatFormat {
        if x.dtype() == DType::F64 {
            FloatFormat { word: DType::U64, fraction: 52, bias: 1023, magic: 6_755_399_441_055_744.0 }
        } else {
            FloatFormat { word: DType::U32, fraction: 23, bias: 127, magic: 12_582_912.0 }
        }
    }

    /// Returns whether this is the format of `f64`.
    pub(super) fn is_double(self) -> bool {
        self.word == DType::U64
    }

    /// Makes a constant word.
    pub(super) fn word(self, bits: u64) -> Expr {
        Expr::constant(Scalar::from_bits(self.word, bits).unwrap_or(Scalar::Bool(false)))
    }

    /// Makes the word in which only the sign bit is set.
    pub(super) fn sign(self) -> Expr {
        self.word(if self.is_double() { 1 << 63 } else { 1 << 31 })
    }

    /// Shifts an integer word into the exponent field.
    pub(super) fn to_exponent(self, word: &Expr) -> Expr {
        shift_left(self, word, self.fraction)
    }

    /// Returns `single` for `f32` and `double` for `f64`.
    pub(super) fn by_width<T>(self, single: T, double: T) -> T {
        if self.is_double() { double } else { single }
    }
}

/// Applies `f` in `f32` or `f64`; `f16` and `bf16` go through `f32`.
pub(super) fn in_float(x: Expr, f: impl FnOnce(&Expr) -> Expr) -> Expr {
    match x.dtype() {
        DType::F32 | DType::F64 => f(&x),
        half @ (DType::F16 | DType::BF16) => f(&x.cast(DType::F32)).cast(half),
        _ => refused(x),
    }
}

/// Applies `f` in `f64`, so that the errors of `f` vanish when a narrower result is rounded.
pub(super) fn in_double(x: Expr, f: impl FnOnce(&Expr) -> Expr) -> Expr {
    in_float(x, |x| {
        if FloatFormat::of(x).is_double() {
            return f(x);
        }
        f(&x.clone().cast(DType::F64)).cast(x.dtype())
    })
}

/// Applies a function of two arguments as [`in_float`] does.
pub(super) fn in_float2(x: Expr, y: Expr, f: impl FnOnce(&Expr, &Expr) -> Expr) -> Expr {
    match x.dtype() {
        // Ill-typed, so that `verify` refuses the expression.
        _ if x.dtype() != y.dtype() => x + y,
        DType::F32 | DType::F64 => f(&x, &y),
        half @ (DType::F16 | DType::BF16) => f(&x.cast(DType::F32), &y.cast(DType::F32)).cast(half),
        _ => refused(x),
    }
}

/// Makes an ill-typed node of `x`, which is not a float, so that `verify` refuses the expression.
fn refused(x: Expr) -> Expr {
    x.sqrt()
}

/// Makes `a * b + c`.
pub(super) fn fma(a: &Expr, b: &Expr, c: &Expr) -> Expr {
    a.clone().mul_add(b.clone(), c.clone())
}

/// Makes `a * factor + c`.
pub(super) fn fma_const(a: &Expr, factor: f64, c: &Expr) -> Expr {
    fma(a, &a.like(factor), c)
}

/// Makes `x * factor`.
pub(super) fn times(x: &Expr, factor: f64) -> Expr {
    x * x.like(factor)
}

/// Makes `x + term`.
pub(super) fn plus(x: &Expr, term: f64) -> Expr {
    x + x.like(term)
}

/// Evaluates the polynomial with these coefficients, the highest power first.
pub(super) fn horner(x: &Expr, coefficients: &[f64]) -> Expr {
    let mut terms = coefficients.iter().map(|coefficient| x.like(*coefficient));
    let first = terms.next().unwrap_or_else(|| x.like(0.0));
    terms.fold(first, |sum, term| fma(&sum, x, &term))
}

/// Reads the bits of a float as an unsigned word.
pub(super) fn bits(x: &Expr) -> Expr {
    x.clone().bitcast(FloatFormat::of(x).word)
}

/// Reads an unsigned word as the bits of a float.
pub(super) fn from_bits(word: &Expr) -> Expr {
    let dtype = if word.dtype() == DType::U64 { DType::F64 } else { DType::F32 };
    word.clone().bitcast(dtype)
}

pub(super) fn shift_left(format: FloatFormat, word: &Expr, count: u32) -> Expr {
    word.clone().binary(BinaryOp::Shl, format.word(count as u64))
}

pub(super) fn shift_right(format: FloatFormat, word: &Expr, count: u32) -> Expr {
    word.clone().binary(BinaryOp::Shr, format.word(count as u64))
}

/// Takes the smaller of `x` and a constant; NaN stays NaN. The operation is one instruction if the processor's minimum
/// returns its second operand for NaN.
pub(super) fn at_most(x: &Expr, limit: f64) -> Expr {
    let limit = x.like(limit);
    limit.clone().less(x.clone()).select(limit, x.clone())
}

/// Takes the larger of `x` and a constant; NaN stays NaN.
pub(super) fn at_least(x: &Expr, limit: f64) -> Expr {
    let limit = x.like(limit);
    x.clone().less(limit.clone()).select(limit, x.clone())
}

/// Gives the non-negative `magnitude` the sign of `x`.
pub(super) fn with_sign(magnitude: &Expr, x: &Expr) -> Expr {
    from_bits(&(bits(magnitude) | (bits(x) & FloatFormat::of(x).sign())))
}

/// Makes `if x == 0 { x } else { value }`, so that an odd function keeps the sign of zero.
pub(super) fn keep_zero(x: &Expr, value: Expr) -> Expr {
    x.clone().equal(x.like(0.0)).select(x.clone(), value)
}

pub(super) fn abs(x: &Expr) -> Expr {
    x.clone().abs()
}

/// Rounds to the nearest integer, ties to even.
pub(super) fn round(x: &Expr) -> Expr {
    x.clone().unary(UnaryOp::Round)
}
