//! Integers of host ops: read from any integer dtype, written in the dtypes of indices (i16, u16, i32, i64).

use shapeflow_shape_fns::DType;

use crate::error::Result;
use crate::expr::Scalar;
use crate::tensor::{Tensor, TensorView};

/// Returns the elements of an integer tensor in row-major order.
pub(crate) fn ints(x: &TensorView<'_>) -> Vec<i64> {
    match x.dtype() {
        DType::I64 => return x.to_vec::<i64>().expect("the elements are i64"),
        DType::I32 => {
            let elements = x.to_vec::<i32>().expect("the elements are i32");
            return elements.into_iter().map(i64::from).collect();
        }
        _ => {}
    }
    let element = |position: usize| Scalar::from_bytes(x.dtype(), x.element(position)?);
    (0..x.len()).filter_map(element).map(Scalar::to_i64).collect()
}

/// Makes a tensor of i16, u16, i32 or i64 from integers, which wrap.
///
/// # Errors
/// The number of values is not the product of `sizes`, or the allocation fails.
pub(crate) fn int_tensor(
    dtype: DType,
    sizes: &[usize],
    values: impl Iterator<Item = usize>,
) -> Result<Tensor> {
    match dtype {
        DType::I16 => Tensor::from_vec(sizes, values.map(|value| value as i16).collect()),
        DType::U16 => Tensor::from_vec(sizes, values.map(|value| value as u16).collect()),
        DType::I32 => Tensor::from_vec(sizes, values.map(|value| value as i32).collect()),
        _ => Tensor::from_vec(sizes, values.map(|value| value as i64).collect()),
    }
}
