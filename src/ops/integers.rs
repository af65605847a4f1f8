//! Integers of host ops: read from any integer dtype, written in the dtypes of indices (i16, u16, i32, i64).

use shapeflow_shape_fns::DType;

use crate::error::{Error, ErrorKind, Phase, Result};
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

/// Makes a tensor of i16, u16, i32 or i64 from integers. Integers beyond 16 bits wrap.
///
/// # Errors
/// An integer does not fit i32, the number of values is not the product of `sizes`, or the allocation fails.
pub(crate) fn int_tensor(
    dtype: DType,
    sizes: &[usize],
    values: impl Iterator<Item = usize>,
) -> Result<Tensor> {
    match dtype {
        DType::I16 => Tensor::from_vec(sizes, values.map(|value| value as i16).collect()),
        DType::U16 => Tensor::from_vec(sizes, values.map(|value| value as u16).collect()),
        DType::I32 => {
            let mut largest = 0;
            let narrow = |value: usize| {
                largest = largest.max(value);
                value as i32
            };
            let narrow: Vec<i32> = values.map(narrow).collect();
            if i32::try_from(largest).is_err() {
                let message = format!("an element of the result must fit i32, got {largest}");
                return Err(Error::new(ErrorKind::Shape, Phase::Run, message));
            }
            Tensor::from_vec(sizes, narrow)
        }
        _ => Tensor::from_vec(sizes, values.map(|value| value as i64).collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_integer_beyond_32_bits_is_an_error() {
        let of = |value: usize| int_tensor(DType::I32, &[2], [7, value].into_iter());
        assert_eq!(of(i32::MAX as usize).unwrap(), Tensor::from([7, i32::MAX]));
        assert_eq!(
            of(1 << 31).unwrap_err().message(),
            "an element of the result must fit i32, got 2147483648"
        );
    }
}
