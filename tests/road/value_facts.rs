//! [`Facts`] of a value, and [`Class`]es of dtypes.

use shapeflow::DType;

use crate::random_numbers::Draws;

/// What may be said of a value's elements.
#[derive(Clone, Copy, Default, Debug)]
pub struct Facts {
    /// Its floats are whole and small, so that sums are exact in any order, unless they grow.
    pub whole: bool,
    /// It depends on a fold of floats.
    pub folded: bool,
    /// It depends on a fold of floats that are not whole: the order of the fold shows.
    pub loose: bool,
    /// Its floats may be huge, infinite or NaN.
    pub wild: bool,
    /// The sign of its zeros is not decided.
    pub unsigned_zero: bool,
}

/// A set of dtypes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Class {
    Any,
    Number,
    Signed,
    Float,
    Int,
    Bool,
    Bits,
    /// What may be an index.
    Index,
}

const DTYPES: [DType; 13] = [
    DType::F32,
    DType::F64,
    DType::I32,
    DType::I64,
    DType::U8,
    DType::Bool,
    DType::I8,
    DType::I16,
    DType::U16,
    DType::U32,
    DType::U64,
    DType::F16,
    DType::BF16,
];

impl Class {
    pub fn holds(self, dtype: DType) -> bool {
        match self {
            Class::Any => true,
            Class::Number => dtype != DType::Bool,
            Class::Signed => dtype.is_signed(),
            Class::Float => dtype.is_float(),
            Class::Int => dtype.is_integer(),
            Class::Bool => dtype == DType::Bool,
            Class::Bits => dtype == DType::Bool || dtype.is_integer(),
            Class::Index => matches!(dtype, DType::I32 | DType::I64),
        }
    }

    /// A dtype of the class; the six first are the most frequent.
    pub fn draw(self, draws: &mut Draws) -> DType {
        loop {
            let among = if draws.chance(5, 6) { 6 } else { DTYPES.len() };
            let dtype = DTYPES[draws.below(among)];
            if self.holds(dtype) {
                return dtype;
            }
        }
    }
}
