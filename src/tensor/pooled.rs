//! Tensors in the memory of a [`BufferPool`].

use shapeflow_shape_fns::DType;

use super::allowance::check_allowance;
use super::buffer_pool::{BufferPool, FreeBuffer, MIN_POOLED};
use super::layout::Layout;
use super::storage::Storage;
use super::{Buffer, Tensor, size_of_element};
use crate::error::Result;

impl BufferPool {
    /// Makes a tensor with unspecified elements. Bools are valid.
    ///
    /// # Errors
    /// As [`Tensor::zeros`].
    pub(crate) fn allocate(&self, dtype: DType, sizes: &[usize]) -> Result<Tensor> {
        self.tensor(dtype, sizes, false)
    }

    /// Makes a tensor as [`Tensor::zeros`] does.
    pub(crate) fn zeros(&self, dtype: DType, sizes: &[usize]) -> Result<Tensor> {
        self.tensor(dtype, sizes, true)
    }

    /// Makes a tensor whose elements are zero if `zeroed`, else unspecified. Bools are valid.
    fn tensor(&self, dtype: DType, sizes: &[usize], zeroed: bool) -> Result<Tensor> {
        if dtype.size_bytes().is_none() {
            return Tensor::zeros(dtype, sizes);
        }
        let layout = Layout::row_major(sizes)?;
        let len = layout.byte_len(size_of_element(dtype)?)?;
        check_allowance(len)?;
        let (bools, pooled) = (dtype == DType::Bool, len >= MIN_POOLED);
        let entry = if pooled { self.take(len, bools) } else { None };
        let mut buffer = match entry {
            // The entry may later serve a larger tensor of bools, so all its bytes must become valid bools.
            Some(FreeBuffer { memory, bools: false }) if bools => {
                let size = memory.len();
                let mut buffer = Buffer::initialized(memory, size);
                buffer.bytes_mut().fill(0);
                buffer.shorten(len);
                buffer
            }
            Some(FreeBuffer { memory, .. }) if bools && !zeroed => Buffer::initialized(memory, len),
            Some(FreeBuffer { memory, .. }) => {
                let mut buffer = Buffer::unspecified(memory, len);
                if zeroed {
                    buffer.bytes_mut().fill(0);
                }
                buffer
            }
            None if zeroed || bools => Buffer::zeroed(len)?,
            None => Buffer::new(len)?,
        };
        if pooled {
            buffer.return_to(self.return_handle(bools));
        }
        Ok(Tensor { dtype, layout, storage: Storage::of(buffer) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZES: [usize; 2] = [256, 1024];

    fn address(tensor: &Tensor) -> usize {
        tensor.view().bytes().as_ptr().addr()
    }

    #[test]
    fn memory_of_dropped_tensors_is_reused() {
        let pool = BufferPool::new(2);
        let first = pool.allocate(DType::F32, &SIZES).unwrap();
        let first_address = address(&first);
        let second = first.clone();
        drop(first);
        assert_ne!(
            address(&pool.allocate(DType::F32, &SIZES).unwrap()),
            first_address,
            "a clone still uses the memory"
        );
        drop(second);
        // Both entries have the same size. The pool gives out both entries before it allocates memory.
        let tensors = [(); 2].map(|()| pool.allocate(DType::I32, &[200, 1024]).unwrap());
        assert!(tensors.iter().any(|tensor| address(tensor) == first_address));
        assert_eq!(tensors[0].view().bytes().len(), 4 * 200 * 1024);
        drop(tensors);
        let whole = pool.allocate(DType::F32, &SIZES).unwrap();
        assert_eq!(whole.len(), 256 * 1024, "a shortened buffer is pooled at its full size");
        assert_ne!(
            address(&pool.allocate(DType::F32, &[100, 1024]).unwrap()),
            first_address,
            "more than half would be wasted"
        );
    }

    #[test]
    fn reused_bools_are_valid_and_zeros_are_zero() {
        let pool = BufferPool::new(1);
        let mut bytes = pool.allocate(DType::U8, &[1 << 20]).unwrap();
        bytes.as_mut_slice::<u8>().unwrap().fill(7);
        drop(bytes);
        let mut flags = pool.allocate(DType::Bool, &[1 << 20]).unwrap();
        assert!(flags.as_slice::<bool>().unwrap().iter().all(|flag| !flag));
        flags.as_mut_slice::<bool>().unwrap().fill(true);
        drop(flags);
        let flags = pool.allocate(DType::Bool, &[1 << 20]).unwrap();
        assert!(flags.as_slice::<bool>().unwrap().iter().all(|flag| *flag), "the bools are reused unchanged");
        drop(flags);
        assert!(
            pool.zeros(DType::U8, &[1 << 20])
                .unwrap()
                .as_slice::<u8>()
                .unwrap()
                .iter()
                .all(|byte| *byte == 0)
        );
    }

    #[test]
    fn a_pool_keeps_at_most_its_capacity_and_tensors_outlive_it() {
        let pool = BufferPool::new(1);
        let tensors = [(); 3].map(|()| pool.allocate(DType::F32, &SIZES).unwrap());
        drop(tensors);
        assert_eq!(pool.len(), 1);
        pool.clear();
        assert!(pool.len() == 0);
        let last = pool.allocate(DType::F32, &SIZES).unwrap();
        drop(pool);
        assert_eq!(last.len(), 256 * 1024);
    }
}
