//! `EmittedValue`: a value of a body in the forms that were asked for so far, each as Cranelift values.

use cranelift_codegen::ir::{Type, Value, types};
use smallvec::SmallVec;

use crate::codegen::repr::Repr;

impl Repr {
    /// Returns the 128-bit vector type with lanes of this kind.
    pub fn vector(self) -> Type {
        match self {
            Repr::I32 | Repr::Mask => types::I32X4,
            Repr::I64 => types::I64X2,
            Repr::F32 => types::F32X4,
            Repr::F64 => types::F64X2,
        }
    }

    /// Returns the type of one lane.
    pub fn scalar(self) -> Type {
        match self {
            Repr::I32 | Repr::Mask => types::I32,
            Repr::I64 => types::I64,
            Repr::F32 => types::F32,
            Repr::F64 => types::F64,
        }
    }

    /// Returns the number of vectors that hold `elems` elements.
    pub fn vectors(self, elems: u32) -> usize {
        (elems * self.bytes()).div_ceil(16) as usize
    }
}

/// The vectors of one value, in element order.
pub(super) type Vecs = SmallVec<[Value; 8]>;
/// The scalars of one value, in element order. A uniform value has a single one.
pub(super) type Scalars = SmallVec<[Value; 16]>;

/// An emitted value. The value has at least one form, or is a constant. A missing form is made when an instruction
/// first takes it.
#[derive(Clone)]
pub(super) struct EmittedValue {
    pub repr: Repr,
    /// Whether all elements are equal. Then there is one vector with equal lanes, or one scalar.
    pub uniform: bool,
    /// For a constant: its lane bits. Without another form here, each user loads the constant for itself.
    pub constant: Option<u64>,
    /// Vectors whose lanes have the size of `repr`: for a mask, 4 bytes.
    pub vecs: Option<Vecs>,
    /// For a mask: vectors with lanes of 8 bytes.
    pub wide: Option<Vecs>,
    /// Scalars, one per element, or a single one for a uniform value.
    pub lanes: Option<Scalars>,
}

impl EmittedValue {
    fn empty(repr: Repr, uniform: bool) -> EmittedValue {
        EmittedValue { repr, uniform, constant: None, vecs: None, wide: None, lanes: None }
    }

    pub fn of_vecs(repr: Repr, uniform: bool, vecs: Vecs) -> EmittedValue {
        EmittedValue { vecs: Some(vecs), ..EmittedValue::empty(repr, uniform) }
    }

    pub fn of_wide_mask(uniform: bool, wide: Vecs) -> EmittedValue {
        EmittedValue { wide: Some(wide), ..EmittedValue::empty(Repr::Mask, uniform) }
    }

    pub fn of_lanes(repr: Repr, uniform: bool, lanes: Scalars) -> EmittedValue {
        EmittedValue { lanes: Some(lanes), ..EmittedValue::empty(repr, uniform) }
    }

    pub fn of_constant(repr: Repr, bits: u64) -> EmittedValue {
        EmittedValue { constant: Some(bits), ..EmittedValue::empty(repr, true) }
    }
}

/// Returns the scalar of element `j`. A uniform value has the same scalar for every element.
pub(super) fn lane(lanes: &Scalars, j: usize) -> Value {
    if lanes.len() == 1 { lanes[0] } else { lanes[j] }
}
