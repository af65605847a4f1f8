//! [`TensorViewMut`]: elements borrowed for writing.

use std::panic::Location;
use std::sync::Arc;

use shapeflow_shape_fns::DType;

use super::TensorView;
use super::element::{self, Element, check_bits, check_dtype, check_unsigned};
use super::layout::{check_count, check_values};
use super::role::TensorRole;
use super::strings::StringBuffer;
use crate::error::{Error, ErrorKind, Phase, Result, at_caller};

/// Row-major elements borrowed from the caller for writing, so that a run writes its outputs in place.
pub struct TensorViewMut<'a> {
    dtype: DType,
    sizes: &'a [usize],
    len: usize,
    data: ViewMutData<'a>,
    role: TensorRole,
}

/// The elements of a view. Their number is the product of the sizes.
///
/// Invariants: the address of the bytes is aligned for the type that holds the bits of an element; the bytes of bools
/// are 0 or 1, also after generated code has written them.
enum ViewMutData<'a> {
    Bytes(&'a mut [u8]),
    Strings(&'a mut Arc<StringBuffer>),
}

impl<'a> TensorViewMut<'a> {
    /// Makes a view of a slice. The address needs only the alignment of `T`.
    ///
    /// ```
    /// use shapeflow::{Tensor, TensorViewMut};
    ///
    /// let mut data = [0.0f32; 2];
    /// TensorViewMut::new(&[2], &mut data)?.copy_from(&Tensor::from([1.0f32, 2.0]))?;
    /// assert_eq!(data, [1.0, 2.0]);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Shape`: `data.len()` is not the product of the sizes.
    #[track_caller]
    pub fn new<T: Element>(sizes: &'a [usize], data: &'a mut [T]) -> Result<TensorViewMut<'a>> {
        check_count(sizes, data.len())?;
        let len = data.len();
        // SAFETY: code that writes through the view keeps bools valid, which is an invariant of `ViewMutData`.
        let bytes = unsafe { element::as_bytes_mut(data) };
        Ok(TensorViewMut {
            dtype: T::DTYPE,
            sizes,
            len,
            data: ViewMutData::Bytes(bytes),
            role: TensorRole::default(),
        })
    }

    /// Makes a view of elements given as their bits. `T` is as for [`TensorView::from_bits`].
    ///
    /// # Errors
    /// `DType`: `T` is not the type of the bits of `dtype`. `Shape`: `data` does not hold exactly the elements that the
    /// sizes need.
    #[track_caller]
    pub fn from_bits<T: Element>(
        dtype: DType,
        sizes: &'a [usize],
        data: &'a mut [T],
    ) -> Result<TensorViewMut<'a>> {
        at_caller(|| {
            let len = check_values(data.len(), check_bits::<T>(dtype)?, sizes)?;
            // SAFETY: as in `new`.
            let bytes = unsafe { element::as_bytes_mut(data) };
            Ok(TensorViewMut {
                dtype,
                sizes,
                len,
                data: ViewMutData::Bytes(bytes),
                role: TensorRole::default(),
            })
        })
    }

    /// Makes the view of a tensor of strings. Only [`TensorViewMut::copy_from`] writes strings, and it replaces all
    /// strings at once.
    pub(super) fn of_strings(sizes: &'a [usize], len: usize, strings: &'a mut Arc<StringBuffer>) -> Self {
        TensorViewMut {
            dtype: DType::String,
            sizes,
            len,
            data: ViewMutData::Strings(strings),
            role: TensorRole::default(),
        }
    }

    /// Makes the view of a tensor, which has the same invariants.
    pub(super) fn of_bytes(dtype: DType, sizes: &'a [usize], len: usize, bytes: &'a mut [u8]) -> Self {
        TensorViewMut { dtype, sizes, len, data: ViewMutData::Bytes(bytes), role: TensorRole::default() }
    }

    /// Makes a view of the bytes of a row of another view. The elements have a fixed size.
    pub(crate) fn of_row(dtype: DType, sizes: &'a [usize], bytes: &'a mut [u8]) -> Self {
        TensorViewMut::of_bytes(dtype, sizes, sizes.iter().product(), bytes)
    }

    /// Returns the view with a role, which errors about it name.
    pub(crate) fn with_role(self, role: TensorRole) -> TensorViewMut<'a> {
        TensorViewMut { role, ..self }
    }

    /// Returns the dtype of the elements.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Returns the size of each axis.
    pub fn sizes(&self) -> &'a [usize] {
        self.sizes
    }

    /// Returns the number of elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the elements in row-major order for writing.
    ///
    /// # Errors
    /// `DType`: the elements are not `T`.
    #[track_caller]
    pub fn as_mut_slice<T: Element>(&mut self) -> Result<&mut [T]> {
        check_dtype::<T>(self.dtype).map_err(|error| self.role.name(error))?;
        self.typed()
    }

    /// Returns the bits of the elements in row-major order for writing. `T` is as for [`TensorView::from_bits`].
    ///
    /// # Errors
    /// `DType`: `T` is not the type of the bits.
    #[track_caller]
    pub fn as_mut_bits<T: Element>(&mut self) -> Result<&mut [T]> {
        check_bits::<T>(self.dtype).map_err(|error| self.role.name(error))?;
        self.typed()
    }

    /// Returns the bits of the elements as unsigned integers for writing, as [`TensorView::as_unsigned`] does for
    /// reading.
    ///
    /// # Errors
    /// `DType`: `T` is not the unsigned integer of the width, or the elements are bools.
    pub(crate) fn as_mut_unsigned<T: Element>(&mut self) -> Result<&mut [T]> {
        check_unsigned::<T>(self.dtype)?;
        self.typed()
    }

    /// Returns the slice. The caller has checked that `T` is as wide and as aligned as the type of the bits.
    fn typed<T: Element>(&mut self) -> Result<&mut [T]> {
        match &mut self.data {
            ViewMutData::Bytes([]) => Ok(&mut []),
            // SAFETY: `ViewMutData` guarantees alignment and valid bools; the callers have checked `T`.
            ViewMutData::Bytes(bytes) => Ok(unsafe { element::from_bytes_mut(bytes) }),
            ViewMutData::Strings(_) => check_dtype::<T>(DType::String).map(|()| &mut [][..]),
        }
    }

    /// Borrows the elements for reading.
    pub fn as_view(&self) -> TensorView<'_> {
        match &self.data {
            ViewMutData::Bytes(bytes) => TensorView::of_bytes(self.dtype, self.sizes, self.len, bytes),
            ViewMutData::Strings(strings) => TensorView::of_strings(self.sizes, strings.view()),
        }
    }

    /// Borrows the elements for writing, for a shorter lifetime.
    pub fn reborrow(&mut self) -> TensorViewMut<'_> {
        let data = match &mut self.data {
            ViewMutData::Bytes(bytes) => ViewMutData::Bytes(bytes),
            ViewMutData::Strings(strings) => ViewMutData::Strings(strings),
        };
        TensorViewMut { dtype: self.dtype, sizes: self.sizes, len: self.len, data, role: self.role }
    }

    /// Copies the elements of `source` into this view.
    ///
    /// # Errors
    /// `DType`: the dtypes differ, or are variant. `Shape`: the sizes differ.
    #[track_caller]
    pub fn copy_from<'s>(&mut self, source: impl Into<TensorView<'s>>) -> Result<()> {
        let source = source.into();
        self.check_source(source.dtype(), source.sizes())?;
        if self.dtype == DType::Variant {
            let message = "the elements of a variant tensor cannot be written in place";
            return Err(Error::new(ErrorKind::DType, Phase::Run, message).or_at(Location::caller()));
        }
        match &mut self.data {
            ViewMutData::Strings(strings) => {
                **strings = Arc::new(StringBuffer::copy_of(source.as_strings()?)?)
            }
            ViewMutData::Bytes(bytes) => source.copy_bytes_to(bytes),
        }
        Ok(())
    }

    /// Checks that elements of this dtype and these sizes can be copied into the view.
    ///
    /// # Errors
    /// As [`TensorViewMut::copy_from`].
    #[track_caller]
    pub(crate) fn check_source(&self, dtype: DType, sizes: &[usize]) -> Result<()> {
        if self.dtype != dtype {
            let message = format!("the source must have dtype {}, got {dtype}", self.dtype);
            let error = Error::new(ErrorKind::DType, Phase::Run, message).or_at(Location::caller());
            return Err(self.role.name(error));
        }
        if self.sizes != sizes {
            let message = format!("the source must have sizes {:?}, got {sizes:?}", self.sizes);
            let error = Error::new(ErrorKind::Shape, Phase::Run, message).or_at(Location::caller());
            return Err(self.role.name(error));
        }
        Ok(())
    }

    /// Returns all bytes for writing; empty for strings. The caller writes only 0 and 1 into bools.
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        match &mut self.data {
            ViewMutData::Bytes(bytes) => bytes,
            ViewMutData::Strings(_) => &mut [],
        }
    }

    /// Returns all bytes for writing, for the lifetime of the view; `None` for strings.
    pub(crate) fn into_bytes(self) -> Option<&'a mut [u8]> {
        match self.data {
            ViewMutData::Bytes(bytes) => Some(bytes),
            ViewMutData::Strings(_) => None,
        }
    }

    /// Returns the bytes of element number `linear`; `None` past the end and for strings.
    pub(crate) fn element_mut(&mut self, linear: usize) -> Option<&mut [u8]> {
        let size = self.byte_len().checked_div(self.len)?;
        self.bytes_mut().chunks_exact_mut(size.max(1)).nth(linear)
    }

    /// Returns the number of bytes; zero for strings.
    pub(crate) fn byte_len(&self) -> usize {
        match &self.data {
            ViewMutData::Bytes(bytes) => bytes.len(),
            ViewMutData::Strings(_) => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::Tensor;

    #[test]
    fn writes_through_a_view_reach_the_callers_memory() {
        let mut data = [0i64; 4];
        let mut view = TensorViewMut::new(&[2, 2], &mut data).unwrap();
        view.reborrow().as_mut_slice::<i64>().unwrap()[3] = 7;
        view.copy_from(TensorView::with_strides(&[2, 2], &[1, 2], &[1i64, 2, 3, 4], 0).unwrap()).unwrap();
        assert_eq!(view.as_view().as_slice::<i64>().unwrap(), [1, 3, 2, 4]);
        assert_eq!(
            view.copy_from(TensorView::new(&[4], &[1i64; 4]).unwrap()).unwrap_err().message(),
            "the source must have sizes [2, 2], got [4]"
        );
        assert_eq!(
            view.copy_from(TensorView::new(&[2, 2], &[1.0f32; 4]).unwrap()).unwrap_err().kind(),
            ErrorKind::DType
        );
        assert!(view.as_mut_slice::<u64>().is_err());
        assert_eq!(data, [1, 3, 2, 4]);
        assert!(TensorViewMut::new(&[3], &mut data).is_err());
    }

    #[test]
    fn strings_and_bits_are_written_in_place() {
        let mut strings = Tensor::zeros(DType::String, &[2]).unwrap();
        let mut view = strings.view_mut().unwrap();
        view.copy_from(Tensor::from_strings(&[2], &["", "b"]).unwrap().view()).unwrap();
        assert!(view.as_mut_slice::<u8>().is_err() && view.bytes_mut().is_empty());
        assert_eq!(strings.as_strings().unwrap().at(1), b"b");
        let mut bits = [0.0f32; 2];
        let mut view = TensorViewMut::from_bits(DType::C64, &[1], &mut bits).unwrap();
        view.as_mut_bits::<f32>().unwrap()[1] = 2.0;
        assert!(view.as_mut_bits::<u32>().is_err());
        assert_eq!(bits, [0.0, 2.0]);
    }
}
