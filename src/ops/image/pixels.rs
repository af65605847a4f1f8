//! The elements of images as f32.

use std::borrow::Cow;

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
    let element = |position: usize| {
        let bytes = x.element(position).expect("the position is in the tensor");
        let scalar = Scalar::from_bytes(x.dtype(), bytes).expect("the dtype rule accepts numbers only");
        scalar.to_f64() as f32
    };
    let mut all = reserved_vec(x.len())?;
    all.extend((0..x.len()).map(element));
    Ok(Cow::Owned(all))
}
