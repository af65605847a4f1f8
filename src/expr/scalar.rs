//! `Scalar`: one element of a tensor, with its dtype.

use std::fmt;
use std::hash::{Hash, Hasher};

use half::{bf16, f16};
use shapeflow_shape_fns::DType;

/// One element of a tensor.
///
/// Equality and hash compare dtype and bits: a NaN equals itself, and `-0.0` differs from `0.0`. An element of a
/// quantized dtype, of i4 or of u4 is held as its integer. A float of 8 bits is held as the `u8` of its bits. Complex
/// numbers and strings have no scalar.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Scalar {
    /// True or false.
    Bool(bool),
    /// Signed, 8 bits.
    I8(i8),
    /// Signed, 16 bits.
    I16(i16),
    /// Signed, 32 bits.
    I32(i32),
    /// Signed, 64 bits.
    I64(i64),
    /// Unsigned, 8 bits.
    U8(u8),
    /// Unsigned, 16 bits.
    U16(u16),
    /// Unsigned, 32 bits.
    U32(u32),
    /// Unsigned, 64 bits.
    U64(u64),
    /// IEEE half precision.
    F16(f16),
    /// The upper half of an `f32`.
    BF16(bf16),
    /// IEEE single precision.
    F32(f32),
    /// IEEE double precision.
    F64(f64),
}

/// Returns the dtype of the scalars that hold elements of `dtype`: the integer of the same size and sign for a
/// quantized dtype, i4 and u4, `u8` for a float of 8 bits, `None` for complex numbers and strings, else `dtype`.
pub(crate) fn scalar_dtype(dtype: DType) -> Option<DType> {
    match dtype {
        DType::QI8 | DType::I4 => Some(DType::I8),
        DType::QU8 | DType::U4 | DType::F8E5M2 | DType::F8E4M3FN => Some(DType::U8),
        DType::QI16 => Some(DType::I16),
        DType::QU16 => Some(DType::U16),
        DType::QI32 => Some(DType::I32),
        _ if dtype == DType::Bool || dtype.is_integer() || dtype.is_float() => Some(dtype),
        _ => None,
    }
}

/// The handle that stands for the empty string in an expression.
pub(super) const EMPTY_STRING: Scalar = Scalar::I64(0);

impl Scalar {
    /// Returns the dtype.
    pub fn dtype(self) -> DType {
        match self {
            Scalar::Bool(_) => DType::Bool,
            Scalar::I8(_) => DType::I8,
            Scalar::I16(_) => DType::I16,
            Scalar::I32(_) => DType::I32,
            Scalar::I64(_) => DType::I64,
            Scalar::U8(_) => DType::U8,
            Scalar::U16(_) => DType::U16,
            Scalar::U32(_) => DType::U32,
            Scalar::U64(_) => DType::U64,
            Scalar::F16(_) => DType::F16,
            Scalar::BF16(_) => DType::BF16,
            Scalar::F32(_) => DType::F32,
            Scalar::F64(_) => DType::F64,
        }
    }

    /// Returns the bits, zero-extended to 64.
    pub fn to_bits(self) -> u64 {
        match self {
            Scalar::Bool(x) => x as u64,
            Scalar::I8(x) => x as u8 as u64,
            Scalar::I16(x) => x as u16 as u64,
            Scalar::I32(x) => x as u32 as u64,
            Scalar::I64(x) => x as u64,
            Scalar::U8(x) => x as u64,
            Scalar::U16(x) => x as u64,
            Scalar::U32(x) => x as u64,
            Scalar::U64(x) => x,
            Scalar::F16(x) => x.to_bits() as u64,
            Scalar::BF16(x) => x.to_bits() as u64,
            Scalar::F32(x) => x.to_bits() as u64,
            Scalar::F64(x) => x.to_bits(),
        }
    }

    /// Makes the scalar with the low bits of `bits`; bits above the dtype's width are ignored. A bool is true unless
    /// its byte is 0. Returns `None` for a dtype without scalars.
    pub fn from_bits(dtype: DType, bits: u64) -> Option<Scalar> {
        Some(match scalar_dtype(dtype)? {
            DType::Bool => Scalar::Bool(bits as u8 != 0),
            DType::I8 => Scalar::I8(bits as i8),
            DType::I16 => Scalar::I16(bits as i16),
            DType::I32 => Scalar::I32(bits as i32),
            DType::I64 => Scalar::I64(bits as i64),
            DType::U8 => Scalar::U8(bits as u8),
            DType::U16 => Scalar::U16(bits as u16),
            DType::U32 => Scalar::U32(bits as u32),
            DType::U64 => Scalar::U64(bits),
            DType::F16 => Scalar::F16(f16::from_bits(bits as u16)),
            DType::BF16 => Scalar::BF16(bf16::from_bits(bits as u16)),
            DType::F32 => Scalar::F32(f32::from_bits(bits as u32)),
            DType::F64 => Scalar::F64(f64::from_bits(bits)),
            _ => return None,
        })
    }

    /// Reads the element at the start of `bytes`, in native byte order. Returns `None` if `bytes` is too short or the
    /// dtype has no scalars.
    pub fn from_bytes(dtype: DType, bytes: &[u8]) -> Option<Scalar> {
        let bits = match dtype.size_bytes()? {
            1 => *bytes.first()? as u64,
            2 => u16::from_ne_bytes(*bytes.first_chunk()?) as u64,
            4 => u32::from_ne_bytes(*bytes.first_chunk()?) as u64,
            8 => u64::from_ne_bytes(*bytes.first_chunk()?),
            _ => return None,
        };
        Scalar::from_bits(dtype, bits)
    }

    /// Writes the element to the start of `bytes`, in native byte order. Returns `None` and writes nothing if `bytes`
    /// is too short.
    pub fn write_bytes(self, bytes: &mut [u8]) -> Option<()> {
        let bits = self.to_bits();
        match self.dtype().size_bytes()? {
            1 => *bytes.first_mut()? = bits as u8,
            2 => *bytes.first_chunk_mut()? = (bits as u16).to_ne_bytes(),
            4 => *bytes.first_chunk_mut()? = (bits as u32).to_ne_bytes(),
            _ => *bytes.first_chunk_mut()? = bits.to_ne_bytes(),
        }
        Some(())
    }

    /// Returns the nearest `f64`.
    pub fn to_f64(self) -> f64 {
        match self {
            Scalar::Bool(x) => x as u8 as f64,
            Scalar::I8(x) => x as f64,
            Scalar::I16(x) => x as f64,
            Scalar::I32(x) => x as f64,
            Scalar::I64(x) => x as f64,
            Scalar::U8(x) => x as f64,
            Scalar::U16(x) => x as f64,
            Scalar::U32(x) => x as f64,
            Scalar::U64(x) => x as f64,
            Scalar::F16(x) => x.to_f64(),
            Scalar::BF16(x) => x.to_f64(),
            Scalar::F32(x) => x as f64,
            Scalar::F64(x) => x,
        }
    }

    /// Converts to `i64`: integers wrap, floats truncate toward zero and saturate, NaN becomes 0.
    pub fn to_i64(self) -> i64 {
        match self {
            Scalar::Bool(x) => x as i64,
            Scalar::I8(x) => x as i64,
            Scalar::I16(x) => x as i64,
            Scalar::I32(x) => x as i64,
            Scalar::I64(x) => x,
            Scalar::U8(x) => x as i64,
            Scalar::U16(x) => x as i64,
            Scalar::U32(x) => x as i64,
            Scalar::U64(x) => x as i64,
            Scalar::F16(x) => x.to_f32() as i64,
            Scalar::BF16(x) => x.to_f32() as i64,
            Scalar::F32(x) => x as i64,
            Scalar::F64(x) => x as i64,
        }
    }

    /// Returns whether this is a NaN.
    pub fn is_nan(self) -> bool {
        match self {
            Scalar::F16(x) => x.is_nan(),
            Scalar::BF16(x) => x.is_nan(),
            Scalar::F32(x) => x.is_nan(),
            Scalar::F64(x) => x.is_nan(),
            _ => false,
        }
    }

    /// Returns whether `self` and `other` have the same dtype, and either have the same bits or are both NaN.
    pub fn same(self, other: Scalar) -> bool {
        self == other || (self.dtype() == other.dtype() && self.is_nan() && other.is_nan())
    }

    /// Returns 0, or `false` for a bool and for a dtype without scalars.
    pub fn zero(dtype: DType) -> Scalar {
        Scalar::from_bits(dtype, 0).unwrap_or(Scalar::Bool(false))
    }

    /// Returns 1, or `true` for a bool; `false` for a dtype without scalars.
    pub fn one(dtype: DType) -> Scalar {
        Scalar::float_or_bits(dtype, 1, 1.0)
    }

    /// Returns the lowest value: -inf for floats, `false` for a bool and for a dtype without scalars.
    pub fn lowest(dtype: DType) -> Scalar {
        let dtype = scalar_dtype(dtype).unwrap_or(dtype);
        Scalar::float_or_bits(
            dtype,
            dtype.integer_range().map_or(0, |(low, _)| low as u64),
            f64::NEG_INFINITY,
        )
    }

    /// Returns the highest value: inf for floats, `true` for a bool; `false` for a dtype without scalars.
    pub fn highest(dtype: DType) -> Scalar {
        let dtype = scalar_dtype(dtype).unwrap_or(dtype);
        Scalar::float_or_bits(dtype, dtype.integer_range().map_or(1, |(_, high)| high as u64), f64::INFINITY)
    }

    /// Returns `float` for a float dtype, else the scalar with these `bits`.
    fn float_or_bits(dtype: DType, bits: u64, float: f64) -> Scalar {
        match dtype {
            DType::F16 => Scalar::F16(f16::from_f64(float)),
            DType::BF16 => Scalar::BF16(bf16::from_f64(float)),
            DType::F32 => Scalar::F32(float as f32),
            DType::F64 => Scalar::F64(float),
            _ => Scalar::from_bits(dtype, bits).unwrap_or(Scalar::Bool(false)),
        }
    }
}

impl PartialEq for Scalar {
    fn eq(&self, other: &Scalar) -> bool {
        self.dtype() == other.dtype() && self.to_bits() == other.to_bits()
    }
}

impl Eq for Scalar {}

impl Hash for Scalar {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.dtype().hash(state);
        self.to_bits().hash(state);
    }
}

macro_rules! from {
    ($($Variant:ident($rust:ty)),*) => {$(
        impl From<$rust> for Scalar {
            fn from(value: $rust) -> Scalar {
                Scalar::$Variant(value)
            }
        }
    )*};
}
from!(Bool(bool), I8(i8), I16(i16), I32(i32), I64(i64), U8(u8), U16(u16), U32(u32), U64(u64));
from!(F16(f16), BF16(bf16), F32(f32), F64(f64));

/// Prints the shortest digits that parse back to the same value. Very large and very small values get an exponent.
impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scientific = |size: f64| size.is_finite() && size != 0.0 && !(1e-5..1e16).contains(&size);
        match *self {
            Scalar::Bool(x) => x.fmt(f),
            Scalar::U64(x) => x.fmt(f),
            Scalar::F16(x) => x.to_f32().fmt(f),
            Scalar::BF16(x) => x.to_f32().fmt(f),
            Scalar::F32(x) if scientific(x.abs() as f64) => write!(f, "{x:e}"),
            Scalar::F32(x) => x.fmt(f),
            Scalar::F64(x) if scientific(x.abs()) => write!(f, "{x:e}"),
            Scalar::F64(x) => x.fmt(f),
            _ => self.to_i64().fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples() -> Vec<Scalar> {
        let mut all =
            vec![Scalar::F32(f32::NAN), Scalar::F64(-0.0), Scalar::F64(1e300), Scalar::U64(u64::MAX)];
        for dtype in DType::all().filter(|d| scalar_dtype(*d) == Some(*d)) {
            all.extend([
                Scalar::zero(dtype),
                Scalar::one(dtype),
                Scalar::lowest(dtype),
                Scalar::highest(dtype),
            ]);
        }
        all
    }

    #[test]
    fn written_bytes_read_back_as_the_same_scalar() {
        for value in samples() {
            let mut bytes = [0xaa; 9];
            value.write_bytes(&mut bytes).unwrap();
            assert_eq!(Scalar::from_bytes(value.dtype(), &bytes), Some(value));
            let size = value.dtype().size_bytes().unwrap();
            assert!(bytes[size..].iter().all(|b| *b == 0xaa));
            assert_eq!(value.write_bytes(&mut bytes[..size - 1]), None);
            assert_eq!(Scalar::from_bytes(value.dtype(), &bytes[..size - 1]), None);
        }
        assert_eq!(Scalar::from_bytes(DType::String, &[0; 16]), None);
        assert_eq!(Scalar::from_bytes(DType::QI8, &[255]), Some(Scalar::I8(-1)));
    }

    #[test]
    fn equality_compares_bits() {
        assert_eq!(Scalar::F32(f32::NAN), Scalar::F32(f32::NAN));
        assert_ne!(Scalar::F32(0.0), Scalar::F32(-0.0));
        assert_ne!(Scalar::I32(0), Scalar::U32(0));
        assert!(Scalar::F64(f64::NAN).same(Scalar::F64(-f64::NAN)));
    }

    #[test]
    fn lowest_one_and_highest_of_each_kind_of_dtype() {
        assert_eq!(Scalar::lowest(DType::I64), Scalar::I64(i64::MIN));
        assert_eq!(Scalar::highest(DType::U64), Scalar::U64(u64::MAX));
        assert_eq!(Scalar::lowest(DType::BF16), Scalar::BF16(bf16::NEG_INFINITY));
        assert_eq!((Scalar::one(DType::Bool), Scalar::one(DType::F16)), (true.into(), f16::ONE.into()));
        assert_eq!(
            (Scalar::lowest(DType::QI8), Scalar::highest(DType::QU8)),
            (i8::MIN.into(), u8::MAX.into())
        );
        assert_eq!((Scalar::lowest(DType::Bool), Scalar::highest(DType::Bool)), (false.into(), true.into()));
        assert_eq!((Scalar::one(DType::C64), Scalar::highest(DType::C64)), (false.into(), false.into()));
    }

    #[test]
    fn text_is_the_shortest_that_parses_back() {
        let text = |x: Scalar| x.to_string();
        assert_eq!(text(Scalar::F32(0.1)), "0.1");
        assert_eq!(text(Scalar::F64(-0.0)), "-0");
        assert_eq!(text(Scalar::F64(1e300)), "1e300");
        assert_eq!(text(Scalar::F32(f32::NEG_INFINITY)), "-inf");
        assert_eq!(text(Scalar::U64(u64::MAX)), "18446744073709551615");
        assert_eq!(text(Scalar::F16(f16::from_f32(1.5))), "1.5");
        assert_eq!(text(Scalar::Bool(true)), "true");
    }
}
