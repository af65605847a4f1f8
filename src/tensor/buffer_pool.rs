//! [`Shelf`]: memory of tensors that are gone, for those to come.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use shapeflow_shape_fns::DType;

use super::layout::Layout;
use super::storage::Storage;
use super::{Buffer, Tensor, size_of_element};
use crate::error::Result;

/// Memory of tensors that are gone, for those to come: whose pages the system need not clear again, nor map.
///
/// Tensors made here give their memory back when the last of them is dropped, wherever that is; of what no later tensor
/// needs, the oldest is freed.
pub(crate) struct Shelf(Arc<Home>);

pub(super) struct Home {
    kept: Mutex<Vec<Kept>>,
    /// Buffers that are kept at most.
    most: usize,
}

struct Kept {
    /// As long as it was made.
    buffer: Buffer,
    /// Whether all its bytes are 0 or 1.
    bools: bool,
}

/// Where a buffer goes when it is dropped.
pub(super) struct Return {
    home: Weak<Home>,
    bools: bool,
}

/// The allocator hands out smaller buffers as fast, from memory that it keeps.
const LEAST: usize = 128 << 10;

impl Shelf {
    /// A shelf that keeps so many buffers.
    pub(crate) fn new(most: usize) -> Shelf {
        Shelf(Arc::new(Home { kept: Mutex::default(), most }))
    }

    /// Elements that are unspecified until they are written; those of bools are bools.
    ///
    /// # Errors
    /// As [`Tensor::zeros`].
    pub(crate) fn allocate(&self, dtype: DType, sizes: &[usize]) -> Result<Tensor> {
        self.tensor(dtype, sizes, false)
    }

    /// As [`Tensor::zeros`].
    pub(crate) fn zeros(&self, dtype: DType, sizes: &[usize]) -> Result<Tensor> {
        self.tensor(dtype, sizes, true)
    }

    fn tensor(&self, dtype: DType, sizes: &[usize], zeroed: bool) -> Result<Tensor> {
        if dtype == DType::String {
            return Tensor::zeros(dtype, sizes);
        }
        let layout = Layout::row_major(sizes)?;
        let len = layout.byte_len(size_of_element(dtype)?)?;
        let (bools, returns) = (dtype == DType::Bool, len >= LEAST);
        let kept = if returns { self.0.take(len, bools) } else { None };
        let mut buffer = match kept {
            Some(Kept { mut buffer, bools: kept_bools }) => {
                if bools && !kept_bools {
                    buffer.bytes_mut().fill(0);
                }
                buffer.set_len(len);
                if zeroed {
                    buffer.bytes_mut().fill(0);
                } else if !bools {
                    buffer.freeze();
                }
                buffer
            }
            None if zeroed || bools => Buffer::zeroed(len)?,
            None => Buffer::new(len)?,
        };
        if returns {
            buffer.goes_to(Return { home: Arc::downgrade(&self.0), bools });
        }
        Ok(Tensor { dtype, layout, storage: Storage::of(buffer) })
    }

    /// Frees what is kept.
    pub(crate) fn clear(&self) {
        self.0.lock().clear();
    }
}

impl Home {
    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Kept>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The smallest buffer that is kept and has room for `len` bytes, unless half of it would be wasted.
    fn take(&self, len: usize, bools: bool) -> Option<Kept> {
        let mut kept = self.lock();
        let fitting = kept.iter().enumerate().filter(|(_, kept)| {
            let room = kept.buffer.room();
            room >= len && room / 2 <= len
        });
        let (at, _) = fitting.min_by_key(|(_, kept)| (kept.buffer.room(), kept.bools != bools))?;
        Some(kept.remove(at))
    }
}

impl Return {
    /// Keeps `buffer`, if the shelf is still there.
    pub(super) fn keep(self, buffer: Buffer) {
        let Some(home) = self.home.upgrade() else { return };
        let mut kept = home.lock();
        let freed = (kept.len() >= home.most && !kept.is_empty()).then(|| kept.remove(0));
        if home.most > 0 {
            kept.push(Kept { buffer, bools: self.bools });
        }
        drop(kept);
        drop(freed);
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
    fn memory_of_tensors_that_are_gone_is_used_again() {
        let shelf = Shelf::new(2);
        let first = shelf.allocate(DType::F32, &SIZES).unwrap();
        let place = address(&first);
        let second = first.clone();
        drop(first);
        assert_ne!(address(&shelf.allocate(DType::F32, &SIZES).unwrap()), place, "a clone still has it");
        drop(second);
        // Another is as large, but this one came back later: both are used before the allocator is asked.
        let places = [(); 2].map(|()| shelf.allocate(DType::I32, &[200, 1024]).unwrap());
        assert!(places.iter().any(|tensor| address(tensor) == place));
        assert_eq!(places[0].view().bytes().len(), 4 * 200 * 1024);
        drop(places);
        let whole = shelf.allocate(DType::F32, &SIZES).unwrap();
        assert_eq!(whole.len(), 256 * 1024, "a buffer that was cut is whole again");
        assert_ne!(
            address(&shelf.allocate(DType::F32, &[100, 1024]).unwrap()),
            place,
            "half would be wasted"
        );
    }

    #[test]
    fn bools_and_zeros_are_what_they_are() {
        let shelf = Shelf::new(1);
        let mut bytes = shelf.allocate(DType::U8, &[1 << 20]).unwrap();
        bytes.as_mut_slice::<u8>().unwrap().fill(7);
        drop(bytes);
        let mut flags = shelf.allocate(DType::Bool, &[1 << 20]).unwrap();
        assert!(flags.as_slice::<bool>().unwrap().iter().all(|flag| !flag));
        flags.as_mut_slice::<bool>().unwrap().fill(true);
        drop(flags);
        let flags = shelf.allocate(DType::Bool, &[1 << 20]).unwrap();
        assert!(flags.as_slice::<bool>().unwrap().iter().all(|flag| *flag), "still bools");
        drop(flags);
        assert!(
            shelf
                .zeros(DType::U8, &[1 << 20])
                .unwrap()
                .as_slice::<u8>()
                .unwrap()
                .iter()
                .all(|byte| *byte == 0)
        );
    }

    #[test]
    fn a_shelf_keeps_so_many_and_nothing_after_it_is_gone() {
        let shelf = Shelf::new(1);
        let tensors = [(); 3].map(|()| shelf.allocate(DType::F32, &SIZES).unwrap());
        drop(tensors);
        assert_eq!(shelf.0.lock().len(), 1);
        shelf.clear();
        assert!(shelf.0.lock().is_empty());
        let last = shelf.allocate(DType::F32, &SIZES).unwrap();
        drop(shelf);
        assert_eq!(last.len(), 256 * 1024);
    }
}
