//! Keys of elements: unsigned integers in the order of the elements.

use half::{bf16, f16};
use shapeflow_shape_fns::DType;

use crate::error::Result;
use crate::tensor::TensorView;

/// Returns a key for every element of a row-major tensor of bools, integers or floats. Keys have the order of the
/// elements; NaN has the largest key, and zeros of both signs have one key.
pub(crate) fn order_keys(x: &TensorView<'_>) -> Result<Vec<u64>> {
    const SIGN: u64 = 1 << 63;
    macro_rules! of {
        ($T:ty, $key:expr) => {{
            let elements: &[$T] = x.as_slice()?;
            elements.iter().map(|element| $key(*element)).collect()
        }};
    }
    let signed = |x: i64| x as u64 ^ SIGN;
    let halves = |to_f64: fn(u16) -> f64| -> Result<Vec<u64>> {
        Ok(x.as_bits::<u16>()?.iter().map(|bits| float_key(to_f64(*bits))).collect())
    };
    Ok(match x.dtype() {
        DType::Bool => of!(bool, u64::from),
        DType::I8 => of!(i8, |x| signed(i64::from(x))),
        DType::I16 => of!(i16, |x| signed(i64::from(x))),
        DType::I32 => of!(i32, |x| signed(i64::from(x))),
        DType::I64 => of!(i64, signed),
        DType::U8 => of!(u8, u64::from),
        DType::U16 => of!(u16, u64::from),
        DType::U32 => of!(u32, u64::from),
        DType::U64 => of!(u64, |x| x),
        DType::F32 => of!(f32, |x| float_key(f64::from(x))),
        DType::F64 => of!(f64, float_key),
        DType::F16 => halves(|bits| f16::from_bits(bits).to_f64())?,
        _ => halves(|bits| bf16::from_bits(bits).to_f64())?,
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
        let keys = order_keys(&tensor(&[4], &[i8::MIN, -1, 0, i8::MAX]).view()).unwrap();
        assert!(keys.is_sorted_by(|a, b| a < b));
    }
}
