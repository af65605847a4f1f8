//! [`ElementProps`]: properties of a value's elements. [`DTypeClass`]: a set of dtypes.

use shapeflow::DType;

use crate::rng::Rng;

/// Properties of a value's elements, which decide how exactly two backends must agree on it.
#[derive(Clone, Copy, Default, Debug)]
pub struct ElementProps {
    /// Floats are integers of small magnitude. Sums of such floats are exact in any order, as long as the dtype holds
    /// the sums exactly.
    pub small_integers: bool,
    /// The value depends on a reduction of floats.
    pub reduced: bool,
    /// The value depends on a reduction of floats that are not small integers. The rounding of the value varies with
    /// the order of the reduction.
    pub rounding_varies: bool,
    /// Floats may be huge, infinite or NaN.
    pub extreme: bool,
    /// Zeros may have either sign.
    pub zero_sign_unknown: bool,
}

impl ElementProps {
    /// The properties of small integers.
    pub const INTEGERS: ElementProps = ElementProps {
        small_integers: true,
        reduced: false,
        rounding_varies: false,
        extreme: false,
        zero_sign_unknown: false,
    };
}

/// A set of dtypes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum DTypeClass {
    Any,
    /// Integers and floats.
    Number,
    /// Integers, floats and complex numbers.
    Numeric,
    /// Signed integers and floats.
    Signed,
    Float,
    Complex,
    /// Bool, numbers and quantized types.
    Equatable,
    Int,
    Bool,
    /// Bool and integers: the dtypes of bitwise ops.
    Bits,
    /// The dtypes of indices.
    Index,
}

/// All dtypes; the first [`FREQUENT`] are drawn more often.
const DTYPES: [DType; 24] = [
    DType::F32,
    DType::F64,
    DType::I32,
    DType::I64,
    DType::U8,
    DType::Bool,
    DType::C64,
    DType::I8,
    DType::I16,
    DType::U16,
    DType::U32,
    DType::U64,
    DType::F16,
    DType::BF16,
    DType::C128,
    DType::QI8,
    DType::QU8,
    DType::QI16,
    DType::QU16,
    DType::QI32,
    DType::F8E5M2,
    DType::F8E4M3FN,
    DType::I4,
    DType::U4,
];

const FREQUENT: usize = 7;

/// Returns whether elements may have fractions.
pub fn has_fractions(dtype: DType) -> bool {
    dtype.is_float() || dtype.is_complex() || dtype.is_float8()
}

impl DTypeClass {
    pub fn contains(self, dtype: DType) -> bool {
        match self {
            DTypeClass::Any => true,
            DTypeClass::Number => dtype.is_integer() || dtype.is_float(),
            DTypeClass::Numeric => dtype.is_numeric(),
            DTypeClass::Signed => (dtype.is_integer() || dtype.is_float()) && dtype.is_signed(),
            DTypeClass::Float => dtype.is_float(),
            DTypeClass::Complex => dtype.is_complex(),
            DTypeClass::Equatable => dtype == DType::Bool || dtype.is_numeric() || dtype.is_quantized(),
            DTypeClass::Int => dtype.is_integer(),
            DTypeClass::Bool => dtype == DType::Bool,
            DTypeClass::Bits => dtype == DType::Bool || dtype.is_integer(),
            DTypeClass::Index => matches!(dtype, DType::I32 | DType::I64),
        }
    }

    /// Draws a dtype of the class.
    pub fn sample(self, rng: &mut Rng) -> DType {
        loop {
            let count = if rng.chance(5, 6) { FREQUENT } else { DTYPES.len() };
            let dtype = DTYPES[rng.below(count)];
            if self.contains(dtype) {
                return dtype;
            }
        }
    }
}
