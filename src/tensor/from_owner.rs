//! Tensors whose elements belong to another owner.

use std::sync::Arc;

use shapeflow_shape_fns::DType;

use super::element::{check_aligned, normalized_byte, size_of_element};
use super::layout::{Layout, check_values};
use super::storage::Storage;
use super::{SharedBytes, Tensor};
use crate::error::{Result, at_caller};

impl Tensor {
    /// Makes a tensor of elements that `owner` holds, row-major and in the byte order of this machine: a mapped file, a
    /// buffer of another crate. The tensor keeps the owner alive and shares its bytes if they are aligned for the
    /// elements; it copies them otherwise. Bools and integers of 4 bits are copied: a bool is true if its byte is not
    /// 0, and an integer of 4 bits is in the low bits of its byte.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use shapeflow::{DType, Tensor};
    ///
    /// let file = Arc::new(vec![1u8, 2, 3, 4, 5, 6]);
    /// let tensor = Tensor::from_owner(DType::U8, &[2, 3], file.clone())?;
    /// assert_eq!(tensor.as_slice::<u8>()?.as_ptr(), file.as_ptr());
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// `DType`: `dtype` is string or variant. `Shape`: the sizes need another number of bytes. `Memory`: the
    /// allocation fails.
    #[track_caller]
    pub fn from_owner<T>(dtype: DType, sizes: &[usize], owner: Arc<T>) -> Result<Tensor>
    where
        T: AsRef<[u8]> + Send + Sync + 'static,
    {
        at_caller(|| Tensor::from_shared(dtype, sizes, &SharedBytes::new(owner)))
    }

    /// Makes a tensor of elements that `bytes` hold in the byte order of this machine. The tensor shares the bytes if
    /// they are aligned for its elements; it copies them otherwise. Bools and integers of 4 bits are copied, see
    /// [`Tensor::from_owner`].
    ///
    /// # Errors
    /// `DType`: `dtype` is string or variant. `Shape`: `bytes` is not as long as the sizes need. `Memory`: the
    /// allocation fails.
    pub(crate) fn from_shared(dtype: DType, sizes: &[usize], bytes: &SharedBytes) -> Result<Tensor> {
        let layout = Layout::row_major(sizes)?;
        check_values(bytes.bytes().len(), size_of_element(dtype)?, sizes)?;
        let normalized = normalized_byte(dtype);
        if normalized.is_none() && check_aligned(dtype, bytes.bytes()).is_ok() {
            return Ok(Tensor { dtype, layout, storage: Storage::Shared(bytes.clone()) });
        }
        let mut tensor = Tensor::allocate(dtype, sizes)?;
        let target = tensor.storage.unshared_bytes()?;
        match normalized {
            Some(normalized) => {
                target.iter_mut().zip(bytes.bytes()).for_each(|(to, from)| *to = normalized(*from));
            }
            None => target.copy_from_slice(bytes.bytes()),
        }
        Ok(tensor)
    }
}

#[cfg(all(test, any(feature = "graphdef", feature = "safetensors")))]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    #[test]
    fn a_tensor_shares_bytes_until_it_is_written() {
        let owner = Arc::new(vec![1u8, 2, 3, 4, 5]);
        let bytes = SharedBytes::new(owner.clone());
        let mut tensor = Tensor::from_shared(DType::U8, &[2, 2], &bytes.slice(1..5).unwrap()).unwrap();
        drop(bytes);
        assert_eq!(tensor.view().bytes().as_ptr(), owner[1..].as_ptr());
        assert_eq!(tensor.clone().reshape(&[4]).unwrap().to_vec::<u8>().unwrap(), [2, 3, 4, 5]);
        tensor.as_mut_slice::<u8>().unwrap()[0] = 9;
        assert_eq!((tensor.to_vec::<u8>().unwrap()[0], owner[1]), (9, 2));
    }

    #[test]
    fn bytes_that_cannot_be_shared_are_copied_or_refused() {
        let owner = Arc::new([1u64, 0x0002_0000_0001_0000].map(u64::to_le_bytes).concat());
        let bytes = SharedBytes::new(owner.clone());
        let first_aligned = owner.as_ptr().align_offset(4);
        let misaligned = bytes.slice(first_aligned + 1..first_aligned + 5).unwrap();
        let copy = Tensor::from_shared(DType::I32, &[1], &misaligned).unwrap();
        assert_eq!(copy.view().bytes(), misaligned.bytes());
        let bools = Tensor::from_shared(DType::Bool, &[2], &SharedBytes::new(Arc::new([7u8, 0]))).unwrap();
        assert_eq!(bools.to_vec::<bool>().unwrap(), [true, false]);
        let nibbles = SharedBytes::new(Arc::new([0x1f_u8, 0x07]));
        let signed = Tensor::from_shared(DType::I4, &[2], &nibbles).unwrap();
        assert_eq!(signed.to_bits::<i8>().unwrap(), [-1, 7]);
        let unsigned = Tensor::from_shared(DType::U4, &[2], &nibbles).unwrap();
        assert_eq!(unsigned.to_bits::<u8>().unwrap(), [15, 7]);
        assert_eq!(Tensor::from_shared(DType::F32, &[3], &bytes).unwrap_err().kind(), ErrorKind::Shape);
        assert!(bytes.slice(10..17).is_none());
    }
}
