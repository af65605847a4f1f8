//! Keys of elements: 64-bit integers that are equal if the elements are equal.

use shapeflow_shape_fns::DType;

use crate::error::Result;
use crate::tensor::TensorView;

/// Calls the macro `$keyed` with the Rust type of the elements of `$x`, the elements, and a function that maps an
/// element to its key. A NaN, which equals nothing, has no key. `$otherwise` is the value for other dtypes.
macro_rules! by_key {
    ($x:expr, $keyed:ident, $otherwise:expr) => {
        match $x.dtype() {
            DType::Bool => $keyed!(bool, $x.as_slice()?, |x: bool| Some(u64::from(x))),
            DType::I8 | DType::U8 => $keyed!(u8, $x.as_unsigned()?, |x: u8| Some(u64::from(x))),
            DType::I16 | DType::U16 => $keyed!(u16, $x.as_unsigned()?, |x: u16| Some(u64::from(x))),
            DType::I32 | DType::U32 => $keyed!(u32, $x.as_unsigned()?, |x: u32| Some(u64::from(x))),
            DType::I64 | DType::U64 => $keyed!(u64, $x.as_unsigned()?, |x: u64| Some(x)),
            // Adding 0.0 turns -0.0 into 0.0 and changes no other number.
            DType::F32 => {
                $keyed!(f32, $x.as_slice()?, |x: f32| (!x.is_nan()).then(|| u64::from((x + 0.0).to_bits())))
            }
            DType::F64 => $keyed!(f64, $x.as_slice()?, |x: f64| (!x.is_nan()).then(|| (x + 0.0).to_bits())),
            DType::F16 => $keyed!(u16, $x.as_bits()?, |bits: u16| half_key(bits, 0x7c00)),
            DType::BF16 => $keyed!(u16, $x.as_bits()?, |bits: u16| half_key(bits, 0x7f80)),
            _ => $otherwise,
        }
    };
}
pub(super) use by_key;

/// Returns the key of an f16 or bf16, `None` for NaN. `infinity` is the bits of the dtype's infinity.
pub(super) fn half_key(bits: u16, infinity: u16) -> Option<u64> {
    let size = bits & 0x7fff;
    (size <= infinity).then_some(if size == 0 { 0 } else { u64::from(bits) })
}

/// Returns the key of every element of a row-major tensor of bools, integers or floats; none for other dtypes.
pub(super) fn keys(x: &TensorView<'_>) -> Result<Vec<Option<u64>>> {
    macro_rules! keyed {
        ($T:ty, $elements:expr, $key:expr) => {{
            let elements: &[$T] = $elements;
            elements.iter().map(|element| $key(*element)).collect()
        }};
    }
    Ok(by_key!(x, keyed, Vec::new()))
}
