//! Converts elements of any numeric dtype to numbers, and compares tensors element by element.

use half::{bf16, f16};
use num_complex::Complex64;
use shapeflow::{DType, Tensor};

/// An element of a tensor.
#[derive(Clone, Copy, Debug)]
pub enum Number {
    /// An integer or bool.
    Int(i128),
    /// A float, widened to f64, which is exact.
    Float(f64),
}

impl Number {
    /// Returns whether two elements are equal; zeros of different signs differ, and any NaN equals any NaN.
    pub fn is_same(self, other: Number) -> bool {
        match (self, other) {
            (Number::Int(a), Number::Int(b)) => a == b,
            (Number::Float(a), Number::Float(b)) => a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan(),
            _ => false,
        }
    }
}

/// Returns the value of a float of 8 bits.
pub fn float8_value(dtype: DType, bits: u8) -> f64 {
    let (fraction_bits, bias) = if dtype == DType::F8E5M2 { (2, 15) } else { (3, 7) };
    let (magnitude, sign) = (bits & 0x7f, if bits < 0x80 { 1.0 } else { -1.0 });
    let fraction = f64::from(magnitude % (1 << fraction_bits)) / f64::from(1 << fraction_bits);
    let exponent = i32::from(magnitude >> fraction_bits);
    match (dtype, magnitude) {
        (DType::F8E5M2, 0x7c) => sign * f64::INFINITY,
        (DType::F8E5M2, 0x7d..) | (_, 0x7f) => f64::NAN,
        _ if exponent == 0 => sign * fraction * f64::powi(2.0, 1 - bias),
        _ => sign * (1.0 + fraction) * f64::powi(2.0, exponent - bias),
    }
}

/// Returns the bits of the finite float of 8 bits that is nearest to `x`, or of a NaN.
pub fn nearest_float8(dtype: DType, x: f64) -> u8 {
    if x.is_nan() {
        return 0x7f;
    }
    let distance = |bits: &u8| (float8_value(dtype, *bits) - x.clamp(-1e6, 1e6)).abs();
    let finite = (0..=255u8).filter(|bits| float8_value(dtype, *bits).is_finite());
    finite.min_by(|a, b| distance(a).total_cmp(&distance(b))).unwrap()
}

/// Returns the elements in row-major order, the parts of a complex number one after the other.
pub fn numbers(tensor: &Tensor) -> Vec<Number> {
    macro_rules! ints {
        ($T:ty) => {
            tensor.to_vec::<$T>().unwrap().into_iter().map(|x| Number::Int(x.into())).collect()
        };
    }
    let halves = |widen: fn(u16) -> f64| {
        tensor.to_bits::<u16>().unwrap().into_iter().map(|bits| Number::Float(widen(bits))).collect()
    };
    macro_rules! bits {
        ($T:ty, $of:expr) => {
            tensor.to_bits::<$T>().unwrap().into_iter().map($of).collect()
        };
    }
    let float8 = |bits: u8| Number::Float(float8_value(tensor.dtype(), bits));
    match tensor.dtype() {
        DType::C64 => bits!(f32, |x| Number::Float(x.into())),
        DType::C128 => bits!(f64, Number::Float),
        DType::QI8 | DType::I4 => bits!(i8, |x| Number::Int(x.into())),
        DType::QU8 | DType::U4 => bits!(u8, |x| Number::Int(x.into())),
        DType::QI16 => bits!(i16, |x| Number::Int(x.into())),
        DType::QU16 => bits!(u16, |x| Number::Int(x.into())),
        DType::QI32 => bits!(i32, |x| Number::Int(x.into())),
        DType::F8E5M2 | DType::F8E4M3FN => bits!(u8, float8),
        DType::Bool => ints!(bool),
        DType::I8 => ints!(i8),
        DType::I16 => ints!(i16),
        DType::I32 => ints!(i32),
        DType::I64 => ints!(i64),
        DType::U8 => ints!(u8),
        DType::U16 => ints!(u16),
        DType::U32 => ints!(u32),
        DType::U64 => ints!(u64),
        DType::F16 => halves(|bits| f16::from_bits(bits).to_f64()),
        DType::BF16 => halves(|bits| bf16::from_bits(bits).to_f64()),
        DType::F32 => tensor.to_vec::<f32>().unwrap().into_iter().map(|x| Number::Float(x.into())).collect(),
        DType::F64 => tensor.to_vec::<f64>().unwrap().into_iter().map(Number::Float).collect(),
        other => panic!("the elements must be numbers or bools, got {other}"),
    }
}

/// Returns a tensor of any dtype but string and variant. Each element is cast from a float as by `as`; a complex number
/// takes two floats.
pub fn tensor_of(dtype: DType, sizes: &[usize], elements: &[f64]) -> Tensor {
    macro_rules! cast {
        ($T:ty) => {
            Tensor::from_vec(sizes, elements.iter().map(|&x| x as $T).collect::<Vec<_>>())
        };
    }
    let bits = |narrow: fn(f64) -> u16| {
        Tensor::from_bits(dtype, sizes, &elements.iter().map(|&x| narrow(x)).collect::<Vec<_>>())
    };
    macro_rules! stored {
        ($of:expr) => {
            Tensor::from_bits(dtype, sizes, &elements.iter().map($of).collect::<Vec<_>>())
        };
    }
    match dtype {
        DType::C64 => stored!(|&x| x as f32),
        DType::C128 => stored!(|&x| x),
        DType::QI8 => stored!(|&x| x as i8),
        DType::QU8 => stored!(|&x| x as u8),
        DType::QI16 => stored!(|&x| x as i16),
        DType::QU16 => stored!(|&x| x as u16),
        DType::QI32 => stored!(|&x| x as i32),
        DType::I4 => stored!(|&x| x.clamp(-8.0, 7.0) as i8),
        DType::U4 => stored!(|&x| x.clamp(0.0, 15.0) as u8),
        DType::F8E5M2 | DType::F8E4M3FN => stored!(|&x| nearest_float8(dtype, x)),
        DType::Bool => Tensor::from_vec(sizes, elements.iter().map(|&x| x != 0.0).collect()),
        DType::I8 => cast!(i8),
        DType::I16 => cast!(i16),
        DType::I32 => cast!(i32),
        DType::I64 => cast!(i64),
        DType::U8 => cast!(u8),
        DType::U16 => cast!(u16),
        DType::U32 => cast!(u32),
        DType::U64 => cast!(u64),
        DType::F16 => bits(|x| f16::from_f64(x).to_bits()),
        DType::BF16 => bits(|x| bf16::from_f64(x).to_bits()),
        DType::F32 => cast!(f32),
        DType::F64 => cast!(f64),
        other => panic!("the elements must be numbers or bools, got {other}"),
    }
    .unwrap()
}

/// Tolerance of floats: `|got - expected| <= absolute + relative · |expected|`.
#[derive(Clone, Copy, Debug)]
pub struct Bound {
    pub relative: f64,
    pub absolute: f64,
}

impl Bound {
    /// Returns whether a float is within the tolerance. A NaN is close to any NaN, an infinity only to itself: the
    /// tolerance of an expected infinity is infinite, so an infinite difference needs its own test.
    pub fn allows(self, got: f64, expected: f64) -> bool {
        let difference = (got - expected).abs();
        got == expected
            || got.is_nan() && expected.is_nan()
            || difference.is_finite() && difference <= self.absolute + self.relative * expected.abs()
    }

    /// Returns whether a complex number is within the tolerance. The magnitude of a finite number decides; each part of
    /// any other number must be within the tolerance.
    pub fn allows_complex(self, got: Complex64, expected: Complex64) -> bool {
        if !expected.is_finite() {
            return self.allows(got.re, expected.re) && self.allows(got.im, expected.im);
        }
        got.is_finite() && (got - expected).norm() <= self.absolute + self.relative * expected.norm()
    }
}

/// Returns a description of the first difference, or `None`. Without a bound, floats must have equal bits.
pub fn difference(got: &Tensor, expected: &Tensor, bound: Option<Bound>) -> Option<String> {
    if got.dtype() != expected.dtype() || got.sizes() != expected.sizes() {
        let text = |tensor: &Tensor| format!("{}{:?}", tensor.dtype(), tensor.sizes());
        return Some(format!("{} was expected, got {}", text(expected), text(got)));
    }
    let (got, expected) = (numbers(got), numbers(expected));
    let close = |a: Number, b: Number| {
        if a.is_same(b) {
            return true;
        }
        let (Some(bound), Number::Float(a), Number::Float(b)) = (bound, a, b) else { return false };
        bound.allows(a, b)
    };
    let differing: Vec<usize> = (0..got.len()).filter(|&index| !close(got[index], expected[index])).collect();
    let first = *differing.first()?;
    let count = format!("{} of {} differ", differing.len(), got.len());
    Some(format!("{:?} was expected at {first}, got {:?} ({count})", expected[first], got[first]))
}
