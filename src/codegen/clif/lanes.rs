//! `Repr`: how elements of a dtype are held in vector lanes, and `Val`: an emitted value in the forms asked for so far.

use cranelift_codegen::ir::{Type, Value, types};
use shapeflow_shape_fns::DType;
use smallvec::SmallVec;

use crate::expr::Scalar;

/// The kind of a vector lane.
///
/// Integers below 32 bits are held sign- or zero-extended and wrapped after arithmetic that can leave
/// their range; `f16` and `bf16` are held as `f32` and rounded after every operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::codegen) enum Repr {
    I32,
    I64,
    F32,
    F64,
    /// A bool as 0 or -1, in lanes of 32 bits; the same in lanes of 64 bits beside 8-byte values.
    Mask,
}

impl Repr {
    /// The lanes of `dtype`. Complex numbers and strings never reach an emitter: the verifier of
    /// codes refuses them.
    pub fn of(dtype: DType) -> Repr {
        match dtype {
            DType::Bool => Repr::Mask,
            DType::I64 | DType::U64 => Repr::I64,
            DType::F16 | DType::BF16 | DType::F32 => Repr::F32,
            DType::F64 => Repr::F64,
            _ => Repr::I32,
        }
    }

    /// Bytes of one lane.
    pub fn bytes(self) -> u32 {
        match self {
            Repr::I64 | Repr::F64 => 8,
            Repr::I32 | Repr::F32 | Repr::Mask => 4,
        }
    }

    /// Four or two lanes.
    pub fn vector(self) -> Type {
        match self {
            Repr::I32 | Repr::Mask => types::I32X4,
            Repr::I64 => types::I64X2,
            Repr::F32 => types::F32X4,
            Repr::F64 => types::F64X2,
        }
    }

    /// One lane.
    pub fn scalar(self) -> Type {
        match self {
            Repr::I32 | Repr::Mask => types::I32,
            Repr::I64 => types::I64,
            Repr::F32 => types::F32,
            Repr::F64 => types::F64,
        }
    }

    /// The vectors that hold `elems` elements.
    pub fn vectors(self, elems: u32) -> usize {
        (elems * self.bytes()).div_ceil(16) as usize
    }
}

/// The bits of one lane that holds `value`.
pub(in crate::codegen) fn lane_bits(value: Scalar) -> u64 {
    match value {
        Scalar::Bool(true) => u64::MAX,
        Scalar::Bool(false) => 0,
        Scalar::F16(x) => x.to_f32().to_bits() as u64,
        Scalar::BF16(x) => x.to_f32().to_bits() as u64,
        Scalar::I8(x) => x as i64 as u64,
        Scalar::I16(x) => x as i64 as u64,
        Scalar::I32(x) => x as i64 as u64,
        _ => value.to_bits(),
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
