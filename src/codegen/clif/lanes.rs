//! `EmittedValue`: a value as Cranelift values, in the forms that were asked for so far.

use cranelift_codegen::ir::{Type, Value, types};
use smallvec::SmallVec;

use crate::codegen::repr::Repr;

impl Repr {
    /// The 128-bit vector type with such lanes.
    pub fn vector(self) -> Type {
        match self {
            Repr::I32 | Repr::Mask => types::I32X4,
            Repr::I64 => types::I64X2,
            Repr::F32 => types::F32X4,
            Repr::F64 => types::F64X2,
        }
    }

    /// The type of one lane.
    pub fn scalar(self) -> Type {
        match self {
            Repr::I32 | Repr::Mask => types::I32,
            Repr::I64 => types::I64,
            Repr::F32 => types::F32,
            Repr::F64 => types::F64,
        }
    }

    /// The number of vectors that hold `elems` elements.
    pub fn vectors(self, elems: u32) -> usize {
        (elems * self.bytes()).div_ceil(16) as usize
    }
}

/// Vectors of one value, in element order.
pub(super) type Vecs = SmallVec<[Value; 8]>;
/// Scalars of one value, in element order; a single one if it is the same for all elements.
pub(super) type Lanes = SmallVec<[Value; 16]>;

/// An emitted value. At least one form is present; others are made when first asked for.
#[derive(Clone)]
pub(super) struct Val {
    pub repr: Repr,
    /// One value for all elements: one vector with equal lanes, one scalar.
    pub uniform: bool,
    /// A constant, by its lane bits: made anew where it is used unless it was hoisted.
    pub constant: Option<u64>,
    /// Vectors; of a mask, those with 32-bit lanes.
    pub vecs: Option<Vecs>,
    /// Of a mask, the vectors with 64-bit lanes.
    pub wide: Option<Vecs>,
    pub lanes: Option<Lanes>,
}

impl Val {
    fn empty(repr: Repr, uniform: bool) -> Val {
        Val { repr, uniform, constant: None, vecs: None, wide: None, lanes: None }
    }

    pub fn of_vecs(repr: Repr, uniform: bool, vecs: Vecs) -> Val {
        Val { vecs: Some(vecs), ..Val::empty(repr, uniform) }
    }

    pub fn of_wide_mask(uniform: bool, wide: Vecs) -> Val {
        Val { wide: Some(wide), ..Val::empty(Repr::Mask, uniform) }
    }

    pub fn of_lanes(repr: Repr, uniform: bool, lanes: Lanes) -> Val {
        Val { lanes: Some(lanes), ..Val::empty(repr, uniform) }
    }

    pub fn of_constant(repr: Repr, bits: u64) -> Val {
        Val { constant: Some(bits), ..Val::empty(repr, true) }
    }
}

/// The scalar of element `j`.
pub(super) fn lane(lanes: &Lanes, j: usize) -> Value {
    if lanes.len() == 1 { lanes[0] } else { lanes[j] }
}
