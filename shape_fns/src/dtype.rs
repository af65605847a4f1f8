//! [`DType`]: the type of a tensor's elements.

use std::fmt;
use std::str::FromStr;

use crate::{Result, ShapeError};

/// The type of a tensor's elements.
///
/// `Display` writes the short name (`f32`). `FromStr` parses this name and TensorFlow's names (`float32`, `DT_FLOAT`).
#[non_exhaustive]
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum DType {
    /// Bool, one byte.
    Bool,
    /// Signed, 8 bits.
    I8,
    /// Signed, 16 bits.
    I16,
    /// Signed, 32 bits.
    I32,
    /// Signed, 64 bits.
    I64,
    /// Unsigned, 8 bits.
    U8,
    /// Unsigned, 16 bits.
    U16,
    /// Unsigned, 32 bits.
    U32,
    /// Unsigned, 64 bits.
    U64,
    /// IEEE half precision.
    F16,
    /// Brain float: the upper 16 bits of an `f32`.
    BF16,
    /// IEEE single precision.
    F32,
    /// IEEE double precision.
    F64,
    /// A pair of `f32`: real and imaginary part.
    C64,
    /// A pair of `f64`: real and imaginary part.
    C128,
    /// A byte string of any length.
    String,
    /// Quantized, signed, 8 bits.
    QI8,
    /// Quantized, unsigned, 8 bits.
    QU8,
    /// Quantized, signed, 16 bits.
    QI16,
    /// Quantized, unsigned, 16 bits.
    QU16,
    /// Quantized, signed, 32 bits.
    QI32,
    /// A list of tensors, the state of TensorFlow's `TensorList` ops.
    Variant,
    /// A float of 8 bits: 5 of exponent, 2 of fraction; it has infinities.
    F8E5M2,
    /// A float of 8 bits: 4 of exponent, 3 of fraction; it has no infinities and one NaN of each sign.
    F8E4M3FN,
    /// Signed, 4 bits, from -8 to 7; an element takes one byte.
    I4,
    /// Unsigned, 4 bits, from 0 to 15; an element takes one byte.
    U4,
}

/// Every dtype with its short name, TensorFlow's Python name, TensorFlow's enum name, and its size in bytes (0 if the
/// size is not fixed).
static TABLE: [(DType, &str, &str, &str, usize); 26] = [
    (DType::Bool, "bool", "bool", "DT_BOOL", 1),
    (DType::I8, "i8", "int8", "DT_INT8", 1),
    (DType::I16, "i16", "int16", "DT_INT16", 2),
    (DType::I32, "i32", "int32", "DT_INT32", 4),
    (DType::I64, "i64", "int64", "DT_INT64", 8),
    (DType::U8, "u8", "uint8", "DT_UINT8", 1),
    (DType::U16, "u16", "uint16", "DT_UINT16", 2),
    (DType::U32, "u32", "uint32", "DT_UINT32", 4),
    (DType::U64, "u64", "uint64", "DT_UINT64", 8),
    (DType::F16, "f16", "float16", "DT_HALF", 2),
    (DType::BF16, "bf16", "bfloat16", "DT_BFLOAT16", 2),
    (DType::F32, "f32", "float32", "DT_FLOAT", 4),
    (DType::F64, "f64", "float64", "DT_DOUBLE", 8),
    (DType::C64, "c64", "complex64", "DT_COMPLEX64", 8),
    (DType::C128, "c128", "complex128", "DT_COMPLEX128", 16),
    (DType::String, "string", "string", "DT_STRING", 0),
    (DType::QI8, "qi8", "qint8", "DT_QINT8", 1),
    (DType::QU8, "qu8", "quint8", "DT_QUINT8", 1),
    (DType::QI16, "qi16", "qint16", "DT_QINT16", 2),
    (DType::QU16, "qu16", "quint16", "DT_QUINT16", 2),
    (DType::QI32, "qi32", "qint32", "DT_QINT32", 4),
    (DType::Variant, "variant", "variant", "DT_VARIANT", 0),
    (DType::F8E5M2, "f8e5m2", "float8_e5m2", "DT_FLOAT8_E5M2", 1),
    (DType::F8E4M3FN, "f8e4m3fn", "float8_e4m3fn", "DT_FLOAT8_E4M3FN", 1),
    (DType::I4, "i4", "int4", "DT_INT4", 1),
    (DType::U4, "u4", "uint4", "DT_UINT4", 1),
];

impl DType {
    /// Returns every dtype in declaration order.
    pub fn all() -> impl Iterator<Item = DType> {
        TABLE.iter().map(|row| row.0)
    }

    /// Returns the short name, which `Display` writes: `f32`, `i64`, `bool`, `qi8`.
    pub fn name(self) -> &'static str {
        TABLE[self as usize].1
    }

    /// Returns TensorFlow's Python name: `float32`, `int64`, `qint8`.
    pub fn tensorflow_name(self) -> &'static str {
        TABLE[self as usize].2
    }

    /// Returns the size of one element in bytes, or `None` for strings and variants.
    pub fn size_bytes(self) -> Option<usize> {
        match TABLE[self as usize].4 {
            0 => None,
            bytes => Some(bytes),
        }
    }

    /// Returns whether this is a float with arithmetic: `f16`, `bf16`, `f32` or `f64`. Floats of 8 bits have none.
    pub fn is_float(self) -> bool {
        matches!(self, DType::F16 | DType::BF16 | DType::F32 | DType::F64)
    }

    /// Returns whether this is an integer with arithmetic: signed or unsigned, of 8 to 64 bits. Bool, quantized types
    /// and integers of 4 bits are not.
    pub fn is_integer(self) -> bool {
        matches!(
            self,
            DType::I8
                | DType::I16
                | DType::I32
                | DType::I64
                | DType::U8
                | DType::U16
                | DType::U32
                | DType::U64
        )
    }

    /// Returns whether elements can be negative: floats, signed integers, complex and signed quantized types.
    pub fn is_signed(self) -> bool {
        !matches!(
            self,
            DType::Bool
                | DType::U8
                | DType::U16
                | DType::U32
                | DType::U64
                | DType::String
                | DType::QU8
                | DType::QU16
                | DType::Variant
                | DType::U4
        )
    }

    /// Returns whether this is a complex type.
    pub fn is_complex(self) -> bool {
        matches!(self, DType::C64 | DType::C128)
    }

    /// Returns whether this is a quantized integer.
    pub fn is_quantized(self) -> bool {
        matches!(self, DType::QI8 | DType::QU8 | DType::QI16 | DType::QU16 | DType::QI32)
    }

    /// Returns the dtype of the real and the imaginary part of a complex number, or `None` for every other dtype.
    pub fn part(self) -> Option<DType> {
        match self {
            DType::C64 => Some(DType::F32),
            DType::C128 => Some(DType::F64),
            _ => None,
        }
    }

    /// Returns whether this is a float of 8 bits. Ops move and convert such elements, but do no arithmetic on them.
    pub fn is_float8(self) -> bool {
        matches!(self, DType::F8E5M2 | DType::F8E4M3FN)
    }

    /// Returns whether this is an integer of 4 bits. Ops move and convert such elements, but do no arithmetic on them.
    pub fn is_int4(self) -> bool {
        matches!(self, DType::I4 | DType::U4)
    }

    /// Returns whether arithmetic is defined: floats, integers and complex numbers.
    pub fn is_numeric(self) -> bool {
        self.is_float() || self.is_integer() || self.is_complex()
    }

    /// Returns the least and the greatest value of an integer type or bool, or `None` for every other type.
    pub fn integer_range(self) -> Option<(i128, i128)> {
        if self == DType::Bool {
            return Some((0, 1));
        }
        if !self.is_integer() {
            return None;
        }
        let bits = 8 * self.size_bytes()? as u32;
        Some(if self.is_signed() {
            (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1)
        } else {
            (0, (1i128 << bits) - 1)
        })
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for DType {
    type Err = ShapeError;

    fn from_str(text: &str) -> Result<DType> {
        TABLE.iter().find(|row| text == row.1 || text == row.2 || text == row.3).map(|row| row.0).ok_or_else(
            || ShapeError::new(format_args!("a dtype must be one of f32, i64, bool, …, got {text:?}")),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_rows_are_in_declaration_order_and_names_parse() {
        for (position, (dtype, short, long, proto, _)) in TABLE.iter().enumerate() {
            assert_eq!(*dtype as usize, position);
            for text in [short, long, proto] {
                assert_eq!(text.parse::<DType>(), Ok(*dtype));
            }
            assert_eq!(dtype.to_string(), *short);
        }
        assert!("float".parse::<DType>().is_err());
    }

    #[test]
    fn integer_ranges_follow_the_bit_width() {
        assert_eq!(DType::I8.integer_range(), Some((-128, 127)));
        assert_eq!(DType::U64.integer_range(), Some((0, u64::MAX as i128)));
        assert_eq!(DType::Bool.integer_range(), Some((0, 1)));
        assert_eq!(DType::F32.integer_range(), None);
    }
}
