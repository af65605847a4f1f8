//! `Pixels`: a decoded image with elements of 8 or 16 bits.

use shapeflow_shape_fns::DType;

use super::damage::damage;
use crate::error::Result;
use crate::tensor::{Tensor, reserved_vec};

/// The number of bits of an element.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Depth {
    Eight,
    Sixteen,
}

/// The elements of an image.
pub(super) enum Samples {
    U8(Vec<u8>),
    U16(Vec<u16>),
}

/// An image `[height, width, channels]`, or an animation `[frames, height, width, channels]`.
pub(super) struct Pixels {
    pub sizes: Vec<usize>,
    pub samples: Samples,
}

impl Pixels {
    /// Returns a tensor of u8, u16 or f32. Samples of 8 bits are multiplied by 256 for u16. f32 elements are from 0 to
    /// 1.
    ///
    /// # Errors
    /// The dtype is not supported, or memory is refused.
    pub(super) fn into_tensor(self, dtype: DType) -> Result<Tensor> {
        let sizes = &self.sizes;
        match (self.samples, dtype) {
            (Samples::U8(all), DType::U8) => Tensor::from_vec(sizes, all),
            (Samples::U16(all), DType::U16) => Tensor::from_vec(sizes, all),
            (Samples::U8(all), DType::U16) => Tensor::from_vec(sizes, mapped(&all, |x| u16::from(x) << 8)?),
            (Samples::U8(all), DType::F32) => {
                Tensor::from_vec(sizes, mapped(&all, |x| f32::from(x) * (1.0 / 255.0))?)
            }
            (Samples::U16(all), DType::F32) => {
                Tensor::from_vec(sizes, mapped(&all, |x| f32::from(x) * (1.0 / 65535.0))?)
            }
            (_, other) => Err(damage(format!("dtype must be u8, u16 or f32, got {other}"))),
        }
    }
}

fn mapped<T: Copy, U>(all: &[T], f: impl Fn(T) -> U) -> Result<Vec<U>> {
    let mut made = reserved_vec(all.len())?;
    made.extend(all.iter().map(|x| f(*x)));
    Ok(made)
}
