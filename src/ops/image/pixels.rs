//! The elements of images as f32.

use std::borrow::Cow;

use shapeflow_shape_fns::DType;

use crate::error::Result;
use crate::expr::Scalar;
use crate::tensor::{TensorView, reserved_vec};

/// Returns the elements of a row-major tensor of numbers as f32.
///
/// # Errors
/// `Memory`: the allocation fails.
pub(super) fn floats<'a>(x: &'a TensorView<'_>) -> Result<Cow<'a, [f32]>> {
    if let Ok(same) = x.as_slice::<f32>() {
        return Ok(Cow::Borrowed(same));
    }
    let mut all = reserved_vec(x.len())?;
    macro_rules! convert {
        ($($dtype:ident: $number:ty),*) => {
            match x.dtype() {
                $(DType::$dtype => all.extend(x.as_slice::<$number>()?.iter().map(|x| f64::from(*x) as f32)),)*
                DType::I64 => all.extend(x.as_slice::<i64>()?.iter().map(|x| *x as f64 as f32)),
                DType::U64 => all.extend(x.as_slice::<u64>()?.iter().map(|x| *x as f64 as f32)),
                dtype => {
                    let size = dtype.size_bytes().expect("the dtype rule accepts numbers only");
                    all.extend(x.bytes().chunks_exact(size).map(|bytes| {
                        let scalar = Scalar::from_bytes(dtype, bytes);
                        scalar.expect("the dtype rule accepts numbers only").to_f64() as f32
                    }));
                }
            }
        };
    }
    convert!(U8: u8, I8: i8, U16: u16, I16: i16, U32: u32, I32: i32, F64: f64);
    Ok(Cow::Owned(all))
}
