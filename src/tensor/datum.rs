//! [`Datum`]: the value of one element of any dtype.

use std::fmt;

use half::{bf16, f16};
use shapeflow_shape_fns::DType;

/// The value of one element, for printing and comparing.
#[derive(Clone, Copy, Debug)]
pub(super) enum Datum<'a> {
    Bool(bool),
    Int(i128),
    F32(f32),
    F64(f64),
    Complex(Float, Float),
    Bytes(&'a [u8]),
}

/// The real or imaginary part of a complex number. Its precision decides how many digits print.
#[derive(Clone, Copy, Debug)]
pub(super) enum Float {
    F32(f32),
    F64(f64),
}

impl Float {
    /// Returns the value as an `f64`.
    pub(super) fn value(self) -> f64 {
        match self {
            Float::F32(value) => value.into(),
            Float::F64(value) => value,
        }
    }
}

impl<'a> Datum<'a> {
    /// Reads an element of `dtype` from its bytes. Returns [`Datum::Bytes`] for a string, and if the number of bytes
    /// does not fit `dtype`.
    pub(super) fn read(dtype: DType, bytes: &'a [u8]) -> Datum<'a> {
        macro_rules! read {
            ($type:ty, $bytes:expr) => {
                match <[u8; size_of::<$type>()]>::try_from($bytes) {
                    Ok(bytes) => <$type>::from_ne_bytes(bytes),
                    Err(_) => return Datum::Bytes(bytes),
                }
            };
        }
        let (first, second) = bytes.split_at(bytes.len() / 2);
        match dtype {
            DType::Bool => Datum::Bool(read!(u8, bytes) != 0),
            DType::I8 | DType::QI8 => Datum::Int(read!(i8, bytes).into()),
            DType::I16 | DType::QI16 => Datum::Int(read!(i16, bytes).into()),
            DType::I32 | DType::QI32 => Datum::Int(read!(i32, bytes).into()),
            DType::I64 => Datum::Int(read!(i64, bytes).into()),
            DType::U8 | DType::QU8 => Datum::Int(read!(u8, bytes).into()),
            DType::U16 | DType::QU16 => Datum::Int(read!(u16, bytes).into()),
            DType::U32 => Datum::Int(read!(u32, bytes).into()),
            DType::U64 => Datum::Int(read!(u64, bytes).into()),
            DType::F16 => Datum::F32(f16::from_bits(read!(u16, bytes)).to_f32()),
            DType::BF16 => Datum::F32(bf16::from_bits(read!(u16, bytes)).to_f32()),
            DType::F32 => Datum::F32(read!(f32, bytes)),
            DType::F64 => Datum::F64(read!(f64, bytes)),
            DType::C64 => Datum::Complex(Float::F32(read!(f32, first)), Float::F32(read!(f32, second))),
            DType::C128 => Datum::Complex(Float::F64(read!(f64, first)), Float::F64(read!(f64, second))),
            _ => Datum::Bytes(bytes),
        }
    }
}

impl fmt::Display for Datum<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Datum::Bool(value) => write!(f, "{value}"),
            Datum::Int(value) => write!(f, "{value}"),
            // `Debug` prints the point of 1.0 and the exponent of 1e30; `Display` omits them.
            Datum::F32(value) => write!(f, "{value:?}"),
            Datum::F64(value) => write!(f, "{value:?}"),
            Datum::Complex(Float::F32(real), Float::F32(imaginary)) => write!(f, "{real:?}{imaginary:+?}i"),
            Datum::Complex(real, imaginary) => write!(f, "{:?}{:+?}i", real.value(), imaginary.value()),
            Datum::Bytes(bytes) => write!(f, "{:?}", String::from_utf8_lossy(bytes)),
        }
    }
}
