//! Converts tensors to the bytes that files hold, and back.

use shapeflow_shape_fns::DType;

use crate::error::Result;
use crate::tensor::{Tensor, normalized_byte, size_of_element};

/// Returns the number of bytes of a number. Byte orders differ in the order of these bytes. A complex element has two
/// numbers, and any other element has one.
fn number_size(dtype: DType, size: usize) -> usize {
    if dtype.is_complex() { size / 2 } else { size }
}

/// Reads a tensor from the bytes of its elements, which must have the tensor's length.
///
/// # Errors
/// `Shape`: too many elements. `Memory`: the allocation is refused. `DType`: strings.
pub(super) fn from_bytes(dtype: DType, sizes: &[usize], bytes: &[u8], big_endian: bool) -> Result<Tensor> {
    let mut tensor = Tensor::allocate(dtype, sizes)?;
    let size = size_of_element(dtype)?;
    let mut view = tensor.view_mut()?;
    let target = view.bytes_mut();
    if let Some(normalized) = normalized_byte(dtype) {
        target.iter_mut().zip(bytes).for_each(|(to, from)| *to = normalized(*from));
        return Ok(tensor);
    }
    let count = target.len().min(bytes.len());
    target[..count].copy_from_slice(&bytes[..count]);
    if big_endian != cfg!(target_endian = "big") {
        target.chunks_exact_mut(number_size(dtype, size).max(1)).for_each(<[u8]>::reverse);
    }
    Ok(tensor)
}

/// Returns the elements as little-endian bytes.
///
/// # Errors
/// `DType`: strings.
pub(super) fn to_bytes(tensor: &Tensor) -> Result<Vec<u8>> {
    let size = size_of_element(tensor.dtype())?;
    let mut bytes = tensor.view().bytes().to_vec();
    if cfg!(target_endian = "big") {
        bytes.chunks_exact_mut(number_size(tensor.dtype(), size).max(1)).for_each(<[u8]>::reverse);
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn byte_order_is_reversed_and_bools_are_0_or_1() {
        let tensor = from_bytes(DType::I16, &[2], &[1, 2, 3, 4], false).unwrap();
        assert_eq!(tensor.to_vec::<i16>().unwrap(), [0x0201, 0x0403]);
        assert_eq!(to_bytes(&tensor).unwrap(), [1, 2, 3, 4]);
        let tensor = from_bytes(DType::C64, &[1], &[0x3f, 0x80, 0, 0, 0x40, 0, 0, 0], true).unwrap();
        assert_eq!(tensor.to_bits::<f32>().unwrap(), [1.0, 2.0]);
        let tensor = from_bytes(DType::Bool, &[3], &[0, 1, 7], false).unwrap();
        assert_eq!(tensor.to_vec::<bool>().unwrap(), [false, true, true]);
        let tensor = from_bytes(DType::I4, &[3], &[0x0b, 0xfb, 7], false).unwrap();
        assert_eq!(tensor.to_bits::<i8>().unwrap(), [-5, -5, 7]);
    }
}
