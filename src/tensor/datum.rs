//! [`Datum`]: the value of one element of any dtype.

use std::fmt;

use half::{bf16, f16};
use shapeflow_shape_fns::DType;

/// The value of one element, for printing and comparing. NaN equals nothing, and -0 equals 0.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Datum<'a> {
    Bool(bool),
    Int(i128),
    F32(f32),
    F64(f64),
    Complex(ComplexPart, ComplexPart),
    Bytes(&'a [u8]),
}

/// The real or imaginary part of a complex number. The precision of the part decides how many digits print.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum ComplexPart {
    F32(f32),
    F64(f64),
}

impl ComplexPart {
    /// Returns the value as an `f64`.
    pub(super) fn value(self) -> f64 {
        match self {
            ComplexPart::F32(value) => value.into(),
            ComplexPart::F64(value) => value,
        }
    }
}

impl<'a> Datum<'a> {
    /// Reads an element of `dtype` from its bytes. Returns [`Datum::Bytes`] for a string, and if the number of bytes
    /// does not fit `dtype`.
    pub(crate) fn read(dtype: DType, bytes: &'a [u8]) -> Datum<'a> {
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
            DType::I8 | DType::QI8 | DType::I4 => Datum::Int(read!(i8, bytes).into()),
            DType::I16 | DType::QI16 => Datum::Int(read!(i16, bytes).into()),
            DType::I32 | DType::QI32 => Datum::Int(read!(i32, bytes).into()),
            DType::I64 => Datum::Int(read!(i64, bytes).into()),
            DType::U8 | DType::QU8 | DType::U4 => Datum::Int(read!(u8, bytes).into()),
            DType::U16 | DType::QU16 => Datum::Int(read!(u16, bytes).into()),
            DType::U32 => Datum::Int(read!(u32, bytes).into()),
            DType::U64 => Datum::Int(read!(u64, bytes).into()),
            DType::F16 => Datum::F32(f16::from_bits(read!(u16, bytes)).to_f32()),
            DType::BF16 => Datum::F32(bf16::from_bits(read!(u16, bytes)).to_f32()),
            DType::F8E5M2 | DType::F8E4M3FN => Datum::F32(float8(dtype, read!(u8, bytes))),
            DType::F32 => Datum::F32(read!(f32, bytes)),
            DType::F64 => Datum::F64(read!(f64, bytes)),
            DType::C64 => {
                Datum::Complex(ComplexPart::F32(read!(f32, first)), ComplexPart::F32(read!(f32, second)))
            }
            DType::C128 => {
                Datum::Complex(ComplexPart::F64(read!(f64, first)), ComplexPart::F64(read!(f64, second)))
            }
            _ => Datum::Bytes(bytes),
        }
    }
}

/// Returns the value of a float of 8 bits.
fn float8(dtype: DType, bits: u8) -> f32 {
    let (fraction, bias, has_infinity) = match dtype {
        DType::F8E5M2 => (2, 15, true),
        _ => (3, 7, false),
    };
    let exponent = i32::from(bits & 0x7f) >> fraction;
    let last = 0x7f >> fraction;
    let digits = f32::from(bits & ((1 << fraction) - 1)) / f32::from(1u8 << fraction);
    let magnitude = match exponent {
        0 => digits * f32::powi(2.0, 1 - bias),
        _ if exponent == last && has_infinity && digits == 0.0 => f32::INFINITY,
        _ if exponent == last && (has_infinity || bits & 0x7f == 0x7f) => f32::NAN,
        _ => (1.0 + digits) * f32::powi(2.0, exponent - bias),
    };
    if bits & 0x80 == 0 { magnitude } else { -magnitude }
}

impl fmt::Display for Datum<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Datum::Bool(value) => write!(f, "{value}"),
            Datum::Int(value) => write!(f, "{value}"),
            // `Debug` prints the point of 1.0 and the exponent of 1e30; `Display` omits them.
            Datum::F32(value) => write!(f, "{value:?}"),
            Datum::F64(value) => write!(f, "{value:?}"),
            Datum::Complex(ComplexPart::F32(real), ComplexPart::F32(imaginary)) => {
                write!(f, "{real:?}{imaginary:+?}i")
            }
            Datum::Complex(real, imaginary) => write!(f, "{:?}{:+?}i", real.value(), imaginary.value()),
            Datum::Bytes(bytes) => write!(f, "{:?}", String::from_utf8_lossy(bytes)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_of_8_bits_have_the_values_of_their_formats() {
        let f8e5m2 = |bits| float8(DType::F8E5M2, bits);
        let f8e4m3fn = |bits| float8(DType::F8E4M3FN, bits);
        assert_eq!([0x3c, 0xc4, 0x7b, 0x01].map(f8e5m2), [1.0, -4.0, 57344.0, 2f32.powi(-16)]);
        assert_eq!((f8e5m2(0x7c), f8e5m2(0xfc)), (f32::INFINITY, f32::NEG_INFINITY));
        assert_eq!([0x38, 0xc8, 0x7e, 0x01].map(f8e4m3fn), [1.0, -4.0, 448.0, 2f32.powi(-9)]);
        assert!(f8e5m2(0x7d).is_nan() && f8e4m3fn(0x7f).is_nan() && f8e4m3fn(0xff).is_nan());
    }
}
