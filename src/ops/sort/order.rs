//! Keys of elements: unsigned integers in the order of the elements.

use std::ops::Range;

use half::{bf16, f16};
use shapeflow_shape_fns::DType;

use crate::error::Result;
use crate::tensor::TensorView;

/// Returns a key for every element of a row-major tensor of bools, integers or floats. Keys have the order of the
/// elements; NaN has the largest key, and zeros of both signs have one key.
pub(crate) fn order_keys(x: &TensorView<'_>) -> Result<Vec<u64>> {
    if let Some(keys) = narrow_keys(x)? {
        return Ok(keys.into_iter().map(u64::from).collect());
    }
    Ok(match x.dtype() {
        DType::I64 => x.as_slice::<i64>()?.iter().map(|x| *x as u64 ^ 1 << 63).collect(),
        DType::U64 => x.as_slice::<u64>()?.to_vec(),
        _ => x.as_slice::<f64>()?.iter().map(|x| float_key(*x)).collect(),
    })
}

fn float_key(x: f64) -> u64 {
    if x.is_nan() {
        return u64::MAX;
    }
    // Adding 0.0 turns -0.0 into 0.0 and changes no other number.
    let bits = (x + 0.0).to_bits();
    // The bits of negative numbers descend as the numbers ascend.
    if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }
}

/// Returns [`order_keys`] of 32 bits, for a dtype of at most 4 bytes.
///
/// # Errors
/// The view is not row-major.
pub(super) fn narrow_keys(x: &TensorView<'_>) -> Result<Option<Vec<u32>>> {
    let mut keys = Vec::new();
    Ok(narrow_keys_of(x, 0..x.sizes().iter().product(), &mut keys)?.then_some(keys))
}

/// Replaces `keys` by the [`narrow_keys`] of the elements at these row-major positions. Returns false for a dtype of
/// more than 4 bytes.
///
/// # Errors
/// The view is not row-major.
pub(super) fn narrow_keys_of(x: &TensorView<'_>, range: Range<usize>, keys: &mut Vec<u32>) -> Result<bool> {
    keys.clear();
    macro_rules! extend {
        ($elements:expr, $key:expr) => {
            keys.extend($elements[range].iter().map(|element| $key(*element)))
        };
    }
    let signed = |x: i32| x as u32 ^ 1 << 31;
    match x.dtype() {
        DType::Bool => extend!(x.as_slice::<bool>()?, u32::from),
        DType::I8 => extend!(x.as_slice::<i8>()?, |x| signed(i32::from(x))),
        DType::I16 => extend!(x.as_slice::<i16>()?, |x| signed(i32::from(x))),
        DType::I32 => extend!(x.as_slice::<i32>()?, signed),
        DType::U8 => extend!(x.as_slice::<u8>()?, u32::from),
        DType::U16 => extend!(x.as_slice::<u16>()?, u32::from),
        DType::U32 => extend!(x.as_slice::<u32>()?, |x| x),
        DType::F32 => extend!(x.as_slice::<f32>()?, single_key),
        DType::F16 => extend!(x.as_bits::<u16>()?, |bits| single_key(f16::from_bits(bits).to_f32())),
        DType::BF16 => extend!(x.as_bits::<u16>()?, |bits| single_key(bf16::from_bits(bits).to_f32())),
        _ => return Ok(false),
    }
    Ok(true)
}

/// Returns [`float_key`] of 32 bits.
pub(super) fn single_key(x: f32) -> u32 {
    let bits = (x + 0.0).to_bits();
    // The sign bit, and for a negative number all other bits, change.
    let key = bits ^ ((bits as i32 >> 31) as u32 | 1 << 31);
    if x.is_nan() { u32::MAX } else { key }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::tensor;

    #[test]
    fn keys_have_the_order_of_elements() {
        let infinity = f64::INFINITY;
        let x = [-infinity, -2.0, -1e-300, -0.0, 0.0, 1e-300, 2.0, infinity, f64::NAN];
        let keys = order_keys(&tensor(&[x.len()], &x).view()).unwrap();
        assert!(keys.is_sorted() && keys[3] == keys[4] && keys[7] < keys[8]);
        let singles = x.map(|x| x as f32);
        let keys = narrow_keys(&tensor(&[x.len()], &singles).view()).unwrap().unwrap();
        assert!(keys.is_sorted() && keys[3] == keys[4] && keys[7] < keys[8]);
        let keys = order_keys(&tensor(&[4], &[i8::MIN, -1, 0, i8::MAX]).view()).unwrap();
        assert!(keys.is_sorted_by(|a, b| a < b));
    }
}
