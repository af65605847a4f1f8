//! [`SharedBytes`]: bytes that belong to another owner, such as a mapped file.

use std::any::Any;
use std::sync::Arc;

use shapeflow_shape_fns::DType;

use super::Tensor;
use super::element::{check_aligned, size_of_element};
use super::layout::{Layout, check_values};
use super::storage::Storage;
use crate::error::Result;

/// Read-only bytes of an owner outside this crate. A clone shares the owner.
#[derive(Clone)]
pub(crate) struct SharedBytes {
    start: *const u8,
    len: usize,
    /// Keeps the bytes alive.
    _owner: Arc<dyn Any + Send + Sync>,
}

// SAFETY: the bytes are only read, and the owner, which keeps them alive, may be sent and shared.
unsafe impl Send for SharedBytes {}
// SAFETY: as above.
unsafe impl Sync for SharedBytes {}

impl SharedBytes {
    /// Returns the bytes of `owner`. They keep the owner alive.
    pub(crate) fn new<T: AsRef<[u8]> + Send + Sync + 'static>(owner: Arc<T>) -> SharedBytes {
        let bytes: &[u8] = (*owner).as_ref();
        SharedBytes { start: bytes.as_ptr(), len: bytes.len(), _owner: owner }
    }

    #[cfg(any(feature = "graphdef", feature = "safetensors"))]
    /// Maps a file into memory. The system reads a page of the file when the page is first used.
    ///
    /// # Errors
    /// `Io`: the file cannot be opened or mapped.
    pub(crate) fn map_file(path: &std::path::Path) -> Result<SharedBytes> {
        use crate::error::{Error, ErrorKind, Phase};
        let failed = |error: std::io::Error| {
            Error::new(ErrorKind::Io, Phase::Run, format!("{}: {error}", path.display()))
        };
        let file = std::fs::File::open(path).map_err(failed)?;
        // SAFETY: the bytes are only read. The docs of every function that maps a file demand that nothing changes the
        // file while tensors use it.
        let map = unsafe { memmap2::Mmap::map(&file) }.map_err(failed)?;
        Ok(SharedBytes::new(Arc::new(map)))
    }

    /// Returns the bytes.
    pub(crate) fn bytes(&self) -> &[u8] {
        // SAFETY: `new` took the address and the length from the owner. The owner is alive, and `self` shares it, so
        // nobody has exclusive access to it.
        unsafe { std::slice::from_raw_parts(self.start, self.len) }
    }

    #[cfg(any(feature = "graphdef", feature = "safetensors"))]
    /// Returns a part of the bytes; `None` if the range exceeds them.
    pub(crate) fn slice(&self, range: std::ops::Range<usize>) -> Option<SharedBytes> {
        let part = self.bytes().get(range)?;
        Some(SharedBytes { start: part.as_ptr(), len: part.len(), _owner: self._owner.clone() })
    }
}

impl Tensor {
    /// Makes a tensor of elements that `owner` holds, row-major and in the byte order of this machine: a mapped file, a
    /// buffer of another crate. The tensor keeps the owner alive and shares its bytes if they are aligned for the
    /// elements; it copies them otherwise. Bools are copied: a bool is true if its byte is not 0.
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
    /// `DType`: `dtype` is string. `Shape`: the bytes are not as many as the sizes need. `Memory`: the allocation fails.
    pub fn from_owner<T>(dtype: DType, sizes: &[usize], owner: Arc<T>) -> Result<Tensor>
    where
        T: AsRef<[u8]> + Send + Sync + 'static,
    {
        Tensor::from_shared(dtype, sizes, &SharedBytes::new(owner))
    }

    /// Makes a tensor of elements that `bytes` hold in the byte order of this machine. The tensor shares the bytes if
    /// they are aligned for its elements; it copies them otherwise. Bools are copied: a bool is true if its byte is not 0.
    ///
    /// # Errors
    /// `DType`: `dtype` is string. `Shape`: `bytes` is not as long as the sizes need. `Memory`: the allocation fails.
    pub(crate) fn from_shared(dtype: DType, sizes: &[usize], bytes: &SharedBytes) -> Result<Tensor> {
        let layout = Layout::row_major(sizes)?;
        check_values(bytes.bytes().len(), size_of_element(dtype)?, sizes)?;
        if dtype != DType::Bool && check_aligned(dtype, bytes.bytes()).is_ok() {
            return Ok(Tensor { dtype, layout, storage: Storage::Shared(bytes.clone()) });
        }
        let mut tensor = Tensor::allocate(dtype, sizes)?;
        let is_bool = dtype == DType::Bool;
        let target = tensor.storage.unshared_bytes()?;
        for (to, from) in target.iter_mut().zip(bytes.bytes()) {
            *to = if is_bool { u8::from(*from != 0) } else { *from };
        }
        Ok(tensor)
    }
}

#[cfg(test)]
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
        assert_eq!(Tensor::from_shared(DType::F32, &[3], &bytes).unwrap_err().kind(), ErrorKind::Shape);
        assert!(bytes.slice(10..17).is_none());
    }
}
