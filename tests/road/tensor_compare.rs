//! Converts elements of any numeric dtype to numbers, and compares tensors element by element.

use half::{bf16, f16};
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

/// Returns the elements in row-major order.
pub fn numbers(tensor: &Tensor) -> Vec<Number> {
    macro_rules! ints {
        ($T:ty) => {
            tensor.to_vec::<$T>().unwrap().into_iter().map(|x| Number::Int(x.into())).collect()
        };
    }
    let halves = |widen: fn(u16) -> f64| {
        tensor.to_bits::<u16>().unwrap().into_iter().map(|bits| Number::Float(widen(bits))).collect()
    };
    match tensor.dtype() {
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
        other => panic!("{other} must be a numeric dtype or bool"),
    }
}

/// Returns a tensor of any numeric dtype or bool from floats, each cast as by `as`.
pub fn tensor_of(dtype: DType, sizes: &[usize], elements: &[f64]) -> Tensor {
    macro_rules! cast {
        ($T:ty) => {
            Tensor::from_vec(sizes, elements.iter().map(|&x| x as $T).collect::<Vec<_>>())
        };
    }
    let bits = |narrow: fn(f64) -> u16| {
        Tensor::from_bits(dtype, sizes, &elements.iter().map(|&x| narrow(x)).collect::<Vec<_>>())
    };
    match dtype {
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
        other => panic!("{other} must be a numeric dtype or bool"),
    }
    .unwrap()
}

/// Tolerance of floats: `|got - expected| <= absolute + relative · |expected|`.
#[derive(Clone, Copy, Debug)]
pub struct Bound {
    pub relative: f64,
    pub absolute: f64,
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
        a == b || (a - b).is_finite() && (a - b).abs() <= bound.absolute + bound.relative * b.abs()
    };
    let differing: Vec<usize> = (0..got.len()).filter(|&index| !close(got[index], expected[index])).collect();
    let first = *differing.first()?;
    let count = format!("{} of {} differ", differing.len(), got.len());
    Some(format!("{:?} was expected at {first}, got {:?} ({count})", expected[first], got[first]))
}
