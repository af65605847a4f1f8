//! `Repr`: the kind of vector lane that holds elements of a dtype; element sizes in memory.

use shapeflow_shape_fns::DType;

use crate::expr::Scalar;
use crate::lower::kernel_body::SlotType;

/// The kind of a vector lane.
///
/// Integers below 32 bits are sign- or zero-extended to `I32` and wrapped after arithmetic that can leave their range.
/// `f16` and `bf16` are held as `F32` and rounded after every operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Repr {
    I32,
    I64,
    F32,
    F64,
    /// A bool: 0 or -1 in a 4-byte lane. An emitter may also hold it in 8-byte lanes, for use with 8-byte values.
    Mask,
}

impl Repr {
    /// Returns the kind of lane that holds a `dtype`.
    ///
    /// # Panics
    /// `dtype` is complex or a string: the verifier of kernels refuses these.
    pub fn of(dtype: DType) -> Repr {
        match dtype {
            DType::Bool => Repr::Mask,
            DType::I8 | DType::I16 | DType::I32 | DType::U8 | DType::U16 | DType::U32 => Repr::I32,
            DType::I64 | DType::U64 => Repr::I64,
            DType::F16 | DType::BF16 | DType::F32 => Repr::F32,
            DType::F64 => Repr::F64,
            _ => unreachable!("the verifier refuses kernels that compute {dtype}"),
        }
    }

    /// Returns the number of bytes of one lane.
    pub fn bytes(self) -> u32 {
        match self {
            Repr::I64 | Repr::F64 => 8,
            Repr::I32 | Repr::F32 | Repr::Mask => 4,
        }
    }
}

/// Returns the bits of one lane that holds `value`. For a 4-byte lane, only the low 32 bits count.
pub(super) fn lane_bits(value: Scalar) -> u64 {
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

/// Returns the number of bytes of an element in memory.
pub(super) fn size_of(dtype: DType) -> u32 {
    dtype.size_bytes().expect("the verifier refuses slots whose elements have no size") as u32
}

/// Returns the number of bytes from an element of a slot to the next along the inner axis; 0 for a splat slot.
pub(super) fn element_pitch(slot: &SlotType) -> u32 {
    size_of(slot.dtype) * slot.pattern.step() as u32
}

/// Returns the number of bits of an element in memory.
pub(super) fn bits_of(dtype: DType) -> u32 {
    8 * size_of(dtype)
}

/// Returns whether `dtype` is an integer type narrower than its lanes.
pub(super) fn is_narrow(dtype: DType) -> bool {
    matches!(dtype, DType::I8 | DType::I16 | DType::U8 | DType::U16)
}
