//! Primitive operations on scalars. Every emitter computes the same bits, except for NaN payloads.
//!
//! Operations on `f16` and `bf16` compute in `f32` and round to nearest even after each operation. For dtypes that
//! [`verify`](super::verify()) refuses, an operation returns its first argument.

use half::{bf16, f16};
use shapeflow_shape_fns::DType;

use super::scalar::scalar_dtype;
use super::{BinaryOp, ReduceOp, Scalar, UnaryOp};

macro_rules! integer_unary {
    ($Variant:ident, $op:expr, $x:expr, $abs:expr) => {
        Scalar::$Variant(match $op {
            UnaryOp::Neg => $x.wrapping_neg(),
            UnaryOp::Abs => $abs,
            UnaryOp::Not => !$x,
            UnaryOp::Sqrt | UnaryOp::Floor | UnaryOp::Ceil | UnaryOp::Trunc | UnaryOp::Round => $x,
        })
    };
}

macro_rules! float_unary {
    ($op:expr, $x:expr) => {
        match $op {
            UnaryOp::Neg => -$x,
            UnaryOp::Abs => $x.abs(),
            UnaryOp::Sqrt => $x.sqrt(),
            UnaryOp::Floor => $x.floor(),
            UnaryOp::Ceil => $x.ceil(),
            UnaryOp::Trunc => $x.trunc(),
            UnaryOp::Round => $x.round_ties_even(),
            UnaryOp::Not => $x,
        }
    };
}

/// Computes `op(x)`.
pub(crate) fn eval_unary(op: UnaryOp, x: Scalar) -> Scalar {
    match x {
        Scalar::Bool(x) => Scalar::Bool(if op == UnaryOp::Not { !x } else { x }),
        Scalar::I8(x) => integer_unary!(I8, op, x, x.wrapping_abs()),
        Scalar::I16(x) => integer_unary!(I16, op, x, x.wrapping_abs()),
        Scalar::I32(x) => integer_unary!(I32, op, x, x.wrapping_abs()),
        Scalar::I64(x) => integer_unary!(I64, op, x, x.wrapping_abs()),
        Scalar::U8(x) => integer_unary!(U8, op, x, x),
        Scalar::U16(x) => integer_unary!(U16, op, x, x),
        Scalar::U32(x) => integer_unary!(U32, op, x, x),
        Scalar::U64(x) => integer_unary!(U64, op, x, x),
        Scalar::F16(x) => Scalar::F16(f16::from_f32(float_unary!(op, x.to_f32()))),
        Scalar::BF16(x) => Scalar::BF16(bf16::from_f32(float_unary!(op, x.to_f32()))),
        Scalar::F32(x) => Scalar::F32(float_unary!(op, x)),
        Scalar::F64(x) => Scalar::F64(float_unary!(op, x)),
    }
}

macro_rules! integer_binary {
    ($Variant:ident, $op:expr, $a:expr, $b:expr) => {{
        let (a, b) = ($a, $b);
        Scalar::$Variant(match $op {
            BinaryOp::Add => a.wrapping_add(b),
            BinaryOp::Sub => a.wrapping_sub(b),
            BinaryOp::Mul => a.wrapping_mul(b),
            BinaryOp::Div if b == 0 => return None,
            BinaryOp::Div => a.wrapping_div(b),
            BinaryOp::Rem if b == 0 => return None,
            BinaryOp::Rem => a.wrapping_rem(b),
            BinaryOp::Min => a.min(b),
            BinaryOp::Max => a.max(b),
            BinaryOp::And => a & b,
            BinaryOp::Or => a | b,
            BinaryOp::Xor => a ^ b,
            BinaryOp::Shl => a.wrapping_shl(b as u32),
            BinaryOp::Shr => a.wrapping_shr(b as u32),
            BinaryOp::Eq => return Some(Scalar::Bool(a == b)),
            BinaryOp::Ne => return Some(Scalar::Bool(a != b)),
            BinaryOp::Lt => return Some(Scalar::Bool(a < b)),
            BinaryOp::Le => return Some(Scalar::Bool(a <= b)),
            BinaryOp::LargeAngle(_) => a,
        })
    }};
}

macro_rules! float_binary {
    ($op:expr, $a:expr, $b:expr) => {{
        let (a, b) = ($a, $b);
        match $op {
            BinaryOp::Add => a + b,
            BinaryOp::Sub => a - b,
            BinaryOp::Mul => a * b,
            BinaryOp::Div => a / b,
            BinaryOp::Rem => a % b,
            BinaryOp::Min => {
                if b < a || b.is_nan() {
                    b
                } else {
                    a
                }
            }
            BinaryOp::Max => {
                if b > a || b.is_nan() {
                    b
                } else {
                    a
                }
            }
            BinaryOp::Eq => return Some(Scalar::Bool(a == b)),
            BinaryOp::Ne => return Some(Scalar::Bool(a != b)),
            BinaryOp::Lt => return Some(Scalar::Bool(a < b)),
            BinaryOp::Le => return Some(Scalar::Bool(a <= b)),
            BinaryOp::And
            | BinaryOp::Or
            | BinaryOp::Xor
            | BinaryOp::Shl
            | BinaryOp::Shr
            | BinaryOp::LargeAngle(_) => a,
        }
    }};
}

fn bool_binary(op: BinaryOp, a: bool, b: bool) -> bool {
    match op {
        BinaryOp::And | BinaryOp::Min => a & b,
        BinaryOp::Or | BinaryOp::Max => a | b,
        BinaryOp::Xor | BinaryOp::Ne => a ^ b,
        BinaryOp::Eq => a == b,
        BinaryOp::Lt => !a & b,
        BinaryOp::Le => !a | b,
        _ => a,
    }
}

/// Computes `a op b`; `None` for an integer division by zero.
pub(crate) fn eval_binary(op: BinaryOp, a: Scalar, b: Scalar) -> Option<Scalar> {
    Some(match (a, b) {
        (Scalar::F32(a), Scalar::F32(b)) => Scalar::F32(float_binary!(op, a, b)),
        (Scalar::F64(a), Scalar::F64(b)) => Scalar::F64(match op {
            BinaryOp::LargeAngle(function) => function.where_large(a, b),
            _ => float_binary!(op, a, b),
        }),
        (Scalar::F16(a), Scalar::F16(b)) => {
            Scalar::F16(f16::from_f32(float_binary!(op, a.to_f32(), b.to_f32())))
        }
        (Scalar::BF16(a), Scalar::BF16(b)) => {
            Scalar::BF16(bf16::from_f32(float_binary!(op, a.to_f32(), b.to_f32())))
        }
        (Scalar::I8(a), Scalar::I8(b)) => integer_binary!(I8, op, a, b),
        (Scalar::I16(a), Scalar::I16(b)) => integer_binary!(I16, op, a, b),
        (Scalar::I32(a), Scalar::I32(b)) => integer_binary!(I32, op, a, b),
        (Scalar::I64(a), Scalar::I64(b)) => integer_binary!(I64, op, a, b),
        (Scalar::U8(a), Scalar::U8(b)) => integer_binary!(U8, op, a, b),
        (Scalar::U16(a), Scalar::U16(b)) => integer_binary!(U16, op, a, b),
        (Scalar::U32(a), Scalar::U32(b)) => integer_binary!(U32, op, a, b),
        (Scalar::U64(a), Scalar::U64(b)) => integer_binary!(U64, op, a, b),
        (Scalar::Bool(a), Scalar::Bool(b)) => Scalar::Bool(bool_binary(op, a, b)),
        _ => a,
    })
}

/// Computes `a * b + c` for floats. If `fused`, an f32 or f64 is rounded once. Otherwise the product is rounded too.
pub(crate) fn eval_mul_add(a: Scalar, b: Scalar, c: Scalar, fused: bool) -> Scalar {
    match (a, b, c) {
        (Scalar::F32(a), Scalar::F32(b), Scalar::F32(c)) => {
            Scalar::F32(if fused { a.mul_add(b, c) } else { a * b + c })
        }
        (Scalar::F64(a), Scalar::F64(b), Scalar::F64(c)) => {
            Scalar::F64(if fused { a.mul_add(b, c) } else { a * b + c })
        }
        // Machine code computes 16-bit floats in f32 by a product and a sum, never fused.
        (Scalar::F16(a), Scalar::F16(b), Scalar::F16(c)) => {
            Scalar::F16(f16::from_f32(a.to_f32() * b.to_f32() + c.to_f32()))
        }
        (Scalar::BF16(a), Scalar::BF16(b), Scalar::BF16(c)) => {
            Scalar::BF16(bf16::from_f32(a.to_f32() * b.to_f32() + c.to_f32()))
        }
        _ => a,
    }
}

macro_rules! cast {
    ($x:expr, $zero:expr, $dtype:expr) => {{
        let x = $x;
        match $dtype {
            DType::Bool => Scalar::Bool(x != $zero),
            DType::I8 => Scalar::I8(x as i8),
            DType::I16 => Scalar::I16(x as i16),
            DType::I32 => Scalar::I32(x as i32),
            DType::I64 => Scalar::I64(x as i64),
            DType::U8 => Scalar::U8(x as u8),
            DType::U16 => Scalar::U16(x as u16),
            DType::U32 => Scalar::U32(x as u32),
            DType::U64 => Scalar::U64(x as u64),
            DType::F16 => Scalar::F16(f16::from_f32(x as f32)),
            DType::BF16 => Scalar::BF16(bf16::from_f32(x as f32)),
            DType::F32 => Scalar::F32(x as f32),
            _ => Scalar::F64(x as f64),
        }
    }};
}

/// Converts `x` to `dtype`. Float to integer truncates toward zero and saturates, and NaN becomes 0; integer to integer
/// wraps; a conversion to bool gives `x != 0`; conversions to float round to nearest even.
///
/// A conversion to `f16` or `bf16` goes through `f32`, as in vector code and in TensorFlow. A dtype without scalars
/// (complex, string) gives `false`; callers notice that the result's dtype differs from the requested dtype.
pub(crate) fn eval_cast(x: Scalar, dtype: DType) -> Scalar {
    let Some(dtype) = scalar_dtype(dtype) else { return Scalar::Bool(false) };
    if x.dtype() == dtype {
        return x;
    }
    match x {
        Scalar::Bool(x) => cast!(x as u8, 0, dtype),
        Scalar::I8(x) => cast!(x, 0, dtype),
        Scalar::I16(x) => cast!(x, 0, dtype),
        Scalar::I32(x) => cast!(x, 0, dtype),
        Scalar::I64(x) => cast!(x, 0, dtype),
        Scalar::U8(x) => cast!(x, 0, dtype),
        Scalar::U16(x) => cast!(x, 0, dtype),
        Scalar::U32(x) => cast!(x, 0, dtype),
        Scalar::U64(x) => cast!(x, 0, dtype),
        Scalar::F16(x) => cast!(x.to_f32(), 0.0, dtype),
        Scalar::BF16(x) => cast!(x.to_f32(), 0.0, dtype),
        Scalar::F32(x) => cast!(x, 0.0, dtype),
        Scalar::F64(x) => cast!(x, 0.0, dtype),
    }
}

/// Reads the bits of `x` as another dtype of the same size.
pub(crate) fn eval_bitcast(x: Scalar, dtype: DType) -> Scalar {
    Scalar::from_bits(dtype, x.to_bits()).unwrap_or(x)
}

impl ReduceOp {
    /// Returns the initial value of a reduction over elements of `dtype`. A float sum starts at -0.0, because
    /// `-0.0 + x` is `x` for every `x`, also for -0.0; [`ReduceOp::finish`] turns an empty sum into 0.0.
    pub(crate) fn identity(self, dtype: DType) -> Scalar {
        match self {
            ReduceOp::Sum if dtype.is_float() => eval_cast(Scalar::F64(-0.0), dtype),
            ReduceOp::Sum => Scalar::zero(dtype),
            ReduceOp::Prod => Scalar::one(dtype),
            ReduceOp::Max => Scalar::lowest(dtype),
            ReduceOp::Min => Scalar::highest(dtype),
            ReduceOp::All => Scalar::Bool(true),
            ReduceOp::Any => Scalar::Bool(false),
        }
    }

    /// Returns the primitive operation that combines two partial results.
    pub(crate) fn combiner(self) -> BinaryOp {
        match self {
            ReduceOp::Sum => BinaryOp::Add,
            ReduceOp::Prod => BinaryOp::Mul,
            ReduceOp::Max => BinaryOp::Max,
            ReduceOp::Min => BinaryOp::Min,
            ReduceOp::All => BinaryOp::And,
            ReduceOp::Any => BinaryOp::Or,
        }
    }

    /// Combines two partial results of one dtype.
    pub(crate) fn combine(self, a: Scalar, b: Scalar) -> Scalar {
        // `None` means division by zero, and no combiner divides.
        eval_binary(self.combiner(), a, b).unwrap_or(a)
    }

    /// Applies the last step of a reduction: a float sum adds 0.0, which turns -0.0 into 0.0.
    pub(crate) fn finish(self, total: Scalar) -> Scalar {
        if self == ReduceOp::Sum && total.dtype().is_float() {
            self.combine(total, Scalar::zero(total.dtype()))
        } else {
            total
        }
    }
}

/// Returns whether `MulAdd` rounds once on this processor. A test checks that machine code rounds in the same way, so
/// that the interpreter and machine code agree.
pub(crate) fn fused_mul_add() -> bool {
    #[cfg(target_arch = "x86_64")]
    return std::is_x86_feature_detected!("fma") && std::is_x86_feature_detected!("avx");
    #[cfg(not(target_arch = "x86_64"))]
    true
}

/// Returns the dtype in which kernels accumulate a reduction over elements of `dtype`: `i32` for bool and for integers
/// narrower than 32 bits, `f32` for `f16` and `bf16`, else `dtype`.
#[cfg(test)]
pub(crate) fn accumulator(dtype: DType) -> DType {
    match dtype {
        DType::Bool | DType::I8 | DType::I16 | DType::U8 | DType::U16 => DType::I32,
        DType::F16 | DType::BF16 => DType::F32,
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn binary<T: Into<Scalar>>(op: BinaryOp, a: T, b: T) -> Scalar {
        eval_binary(op, a.into(), b.into()).unwrap()
    }

    #[test]
    fn integers_wrap_and_refuse_division_by_zero() {
        use BinaryOp::*;
        assert_eq!(binary(Add, i8::MAX, 1), Scalar::I8(i8::MIN));
        assert_eq!(binary(Div, i32::MIN, -1), Scalar::I32(i32::MIN));
        assert_eq!(binary(Rem, i64::MIN, -1), Scalar::I64(0));
        assert_eq!((binary(Div, -7, 2), binary(Rem, -7, 2)), (Scalar::I32(-3), Scalar::I32(-1)));
        assert_eq!(eval_binary(Div, Scalar::U8(1), Scalar::U8(0)), None);
        assert_eq!(eval_binary(Rem, Scalar::I64(1), Scalar::I64(0)), None);
        assert_eq!((binary(Shl, 1u8, 9), binary(Shr, -8i16, 17)), (Scalar::U8(2), Scalar::I16(-4)));
        assert_eq!(binary(Shl, 1i64, -1), Scalar::I64(i64::MIN));
        assert_eq!(eval_unary(UnaryOp::Abs, Scalar::I8(-128)), Scalar::I8(-128));
        assert_eq!(eval_unary(UnaryOp::Neg, Scalar::U8(1)), Scalar::U8(255));
    }

    #[test]
    fn minimum_and_maximum_keep_nan_and_the_first_of_equals() {
        for op in [BinaryOp::Min, BinaryOp::Max] {
            assert!(binary(op, f32::NAN, 1.0).is_nan() && binary(op, 1.0, f32::NAN).is_nan());
            assert_eq!((binary(op, 0.0, -0.0), binary(op, -0.0, 0.0)), (Scalar::F64(0.0), Scalar::F64(-0.0)));
        }
        assert_eq!(binary(BinaryOp::Max, f16::ONE, f16::INFINITY), Scalar::F16(f16::INFINITY));
        assert_eq!(binary(BinaryOp::Ne, f64::NAN, f64::NAN), Scalar::Bool(true));
        assert_eq!(binary(BinaryOp::Le, f64::NAN, f64::NAN), Scalar::Bool(false));
    }

    #[test]
    fn halves_round_after_each_operation() {
        let x = f16::from_f32(2048.0);
        assert_eq!(binary(BinaryOp::Add, x, f16::ONE), Scalar::F16(x));
        assert_eq!(binary(BinaryOp::Mul, f16::MAX, f16::MAX), Scalar::F16(f16::INFINITY));
        let y = bf16::from_f32(256.0);
        assert_eq!(binary(BinaryOp::Add, y, bf16::ONE), Scalar::BF16(y));
        let [a, b, c] = [1.5, -2.0, 3.5].map(|v| Scalar::F16(f16::from_f32(v)));
        assert_eq!(eval_mul_add(a, b, c, true), Scalar::F16(f16::from_f32(0.5)));
    }

    #[test]
    fn casts_saturate_wrap_and_round() {
        let cast = |x: Scalar, dtype| eval_cast(x, dtype);
        assert_eq!(cast(Scalar::F32(300.0), DType::U8), Scalar::U8(255));
        assert_eq!(cast(Scalar::F32(-1.5), DType::U32), Scalar::U32(0));
        assert_eq!(cast(Scalar::F64(f64::NAN), DType::I64), Scalar::I64(0));
        assert_eq!(cast(Scalar::F64(1e30), DType::I64), Scalar::I64(i64::MAX));
        assert_eq!(cast(Scalar::I32(-1), DType::U8), Scalar::U8(255));
        assert_eq!(cast(Scalar::I64(256), DType::Bool), Scalar::Bool(true));
        assert_eq!(cast(Scalar::F32(f32::NAN), DType::Bool), Scalar::Bool(true));
        assert_eq!(cast(Scalar::F32(-0.0), DType::Bool), Scalar::Bool(false));
        assert_eq!(cast(Scalar::Bool(true), DType::BF16), Scalar::BF16(bf16::ONE));
        assert_eq!(cast(Scalar::U64(u64::MAX), DType::F32), Scalar::F32(18446744073709551616.0));
        // Through f32, the value is rounded twice: f32 rounds the value down to a tie of f16.
        let above_tie = 1.0 + (0.5f64.powi(11)) + 0.5f64.powi(40);
        assert_eq!(cast(Scalar::F64(above_tie), DType::F16), Scalar::F16(f16::ONE));
        assert_eq!(eval_bitcast(Scalar::F32(1.0), DType::I32), Scalar::I32(0x3f80_0000));
        assert_eq!(eval_bitcast(Scalar::U16(0x3c00), DType::F16), Scalar::F16(f16::ONE));
    }

    #[test]
    fn reductions_start_from_an_exact_identity() {
        use ReduceOp::*;
        let numeric = DType::all().filter(|d| d.is_float() || d.is_integer());
        for dtype in numeric {
            for op in [Sum, Prod, Max, Min] {
                for value in
                    [Scalar::zero(dtype), Scalar::one(dtype), Scalar::lowest(dtype), Scalar::highest(dtype)]
                {
                    assert_eq!(op.combine(op.identity(dtype), value), value, "{op:?} {dtype}");
                }
            }
            assert_eq!(Sum.finish(Sum.identity(dtype)), Scalar::zero(dtype));
        }
        assert_eq!(Sum.combine(Sum.identity(DType::F32), Scalar::F32(-0.0)), Scalar::F32(-0.0));
        assert_eq!((All.identity(DType::Bool), Any.identity(DType::Bool)), (true.into(), false.into()));
    }
}
