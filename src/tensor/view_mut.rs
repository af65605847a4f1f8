//! [`TensorViewMut`]: borrowed elements that a run writes.

use std::fmt;

use shapeflow_shape_fns::DType;

use super::element::{self, Element, check_bits, check_dtype};
use super::layout::{check_count, whole};
use super::{TensorView, format};
use crate::error::{Error, ErrorKind, Phase, Result};

/// Elements of the caller, borrowed for writing; row-major.
pub struct TensorViewMut<'a> {
    dtype: DType,
    sizes: &'a [usize],
    len: usize,
    data: Data<'a>,
}

/// As many elements as the sizes have; bytes are aligned for the type of an element's bits, and those of
/// bools are 0 or 1: generated code writes nothing else.
enum Data<'a> {
    Bytes(&'a mut [u8]),
    Strings(&'a mut [Box<[u8]>]),
}

impl<'a> TensorViewMut<'a> {
    /// A row-major view of a slice, at any alignment of `T`.
    ///
    /// # Errors
    /// `Shape`: `data.len()` is not the product of the sizes.
    #[track_caller]
    pub fn new<T: Element>(sizes: &'a [usize], data: &'a mut [T]) -> Result<TensorViewMut<'a>> {
        check_count(sizes, data.len())?;
        let len = data.len();
        // SAFETY: writers of a view keep bools valid, which is its invariant.
        let bytes = unsafe { element::as_bytes_mut(data) };
        Ok(TensorViewMut { dtype: T::DTYPE, sizes, len, data: Data::Bytes(bytes) })
    }

    /// A row-major view of the bits of elements, of the types that [`TensorView::from_bits`] takes.
    ///
    /// # Errors
    /// `DType`: the bits of `dtype` are not `T`. `Shape`: another number of elements than the sizes have.
    pub fn from_bits<T: Element>(
        dtype: DType,
        sizes: &'a [usize],
        data: &'a mut [T],
    ) -> Result<TensorViewMut<'a>> {
        let len = whole(data.len(), check_bits::<T>(dtype)?, sizes)?;
        // SAFETY: as in `new`.
        let bytes = unsafe { element::as_bytes_mut(data) };
        Ok(TensorViewMut { dtype, sizes, len, data: Data::Bytes(bytes) })
    }

    /// A row-major view of strings.
    ///
    /// # Errors
    /// `Shape`: `data.len()` is not the product of the sizes.
    pub fn from_strings(sizes: &'a [usize], data: &'a mut [Box<[u8]>]) -> Result<TensorViewMut<'a>> {
        check_count(sizes, data.len())?;
        Ok(TensorViewMut { dtype: DType::String, sizes, len: data.len(), data: Data::Strings(data) })
    }

    /// The view of a tensor, whose invariants are this view's.
    pub(super) fn of_bytes(dtype: DType, sizes: &'a [usize], len: usize, bytes: &'a mut [u8]) -> Self {
        TensorViewMut { dtype, sizes, len, data: Data::Bytes(bytes) }
    }

    /// The bytes of a view of this dtype and these sizes, as [`TensorViewMut::bytes_mut`] gave them.
    pub(crate) fn of_view(dtype: DType, sizes: &'a [usize], bytes: &'a mut [u8]) -> Self {
        TensorViewMut { dtype, sizes, len: sizes.iter().product(), data: Data::Bytes(bytes) }
    }

    /// The type of the elements.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The size of every axis.
    pub fn sizes(&self) -> &'a [usize] {
        self.sizes
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The elements in row-major order.
    ///
    /// # Errors
    /// `DType`: the elements are not `T`.
    pub fn as_mut_slice<T: Element>(&mut self) -> Result<&mut [T]> {
        check_dtype::<T>(self.dtype)?;
        self.typed()
    }

    /// The bits of the elements in row-major order, of the types that [`TensorView::from_bits`] takes.
    ///
    /// # Errors
    /// `DType`: the bits are not `T`.
    pub fn as_mut_bits<T: Element>(&mut self) -> Result<&mut [T]> {
        check_bits::<T>(self.dtype)?;
        self.typed()
    }

    /// The slice, once `T` is known to be the type of the bits.
    fn typed<T: Element>(&mut self) -> Result<&mut [T]> {
        match &mut self.data {
            Data::Bytes([]) => Ok(&mut []),
            // SAFETY: `Data` promises alignment and valid bools; the callers have checked `T`.
            Data::Bytes(bytes) => Ok(unsafe { element::from_bytes_mut(bytes) }),
            Data::Strings(_) => check_dtype::<T>(DType::String).map(|()| &mut [][..]),
        }
    }

    /// The strings in row-major order.
    ///
    /// # Errors
    /// `DType`: the elements are not strings.
    pub fn as_mut_strings(&mut self) -> Result<&mut [Box<[u8]>]> {
        match &mut self.data {
            Data::Strings(strings) => Ok(strings),
            Data::Bytes(_) => Err(Error::new(
                ErrorKind::DType,
                Phase::Run,
                format!("the elements are {}, asked for as string", self.dtype),
            )),
        }
    }

    /// The same elements, to be read.
    pub fn as_view(&self) -> TensorView<'_> {
        match &self.data {
            Data::Bytes(bytes) => TensorView::of_bytes(self.dtype, self.sizes, self.len, bytes),
            Data::Strings(strings) => TensorView::of_strings(self.sizes, strings),
        }
    }

    /// The same elements, borrowed for a shorter time.
    pub fn reborrow(&mut self) -> TensorViewMut<'_> {
        let data = match &mut self.data {
            Data::Bytes(bytes) => Data::Bytes(bytes),
            Data::Strings(strings) => Data::Strings(strings),
        };
        TensorViewMut { dtype: self.dtype, sizes: self.sizes, len: self.len, data }
    }

    /// Every element becomes that of `source`.
    ///
    /// # Errors
    /// `DType`, `Shape`: another dtype or other sizes.
    pub fn copy_from(&mut self, source: TensorView<'_>) -> Result<()> {
        if self.dtype != source.dtype() {
            let message = format!("elements of {} are needed, got {}", self.dtype, source.dtype());
            return Err(Error::new(ErrorKind::DType, Phase::Run, message));
        }
        if self.sizes != source.sizes() {
            let message = format!("sizes {:?} are needed, got {:?}", self.sizes, source.sizes());
            return Err(Error::new(ErrorKind::Shape, Phase::Run, message));
        }
        match &mut self.data {
            Data::Strings(strings) => strings.clone_from_slice(source.as_strings()?),
            Data::Bytes(bytes) => source.copy_bytes_to(bytes),
        }
        Ok(())
    }

    /// All bytes; none for strings. Into bools only 0 and 1 are written.
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        match &mut self.data {
            Data::Bytes(bytes) => bytes,
            Data::Strings(_) => &mut [],
        }
    }

    /// The bytes of element number `linear`; `None` past the end and for strings.
    pub(crate) fn element_mut(&mut self, linear: usize) -> Option<&mut [u8]> {
        let size = self.byte_len().checked_div(self.len)?;
        self.bytes_mut().chunks_exact_mut(size.max(1)).nth(linear)
    }

    /// The number of bytes; zero for strings.
    pub(crate) fn byte_len(&self) -> usize {
        match &self.data {
            Data::Bytes(bytes) => bytes.len(),
            Data::Strings(_) => 0,
        }
    }
}

impl fmt::Display for TensorViewMut<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        format::write(f, &self.as_view())
    }
}

impl fmt::Debug for TensorViewMut<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        format::write(f, &self.as_view())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_through_a_view_is_the_callers() {
        let mut data = [0i64; 4];
        let mut view = TensorViewMut::new(&[2, 2], &mut data).unwrap();
        view.reborrow().as_mut_slice::<i64>().unwrap()[3] = 7;
        view.copy_from(TensorView::with_strides(&[2, 2], &[1, 2], &[1i64, 2, 3, 4], 0).unwrap()).unwrap();
        assert_eq!(view.as_view().as_slice::<i64>().unwrap(), [1, 3, 2, 4]);
        assert_eq!(
            view.copy_from(TensorView::new(&[4], &[1i64; 4]).unwrap()).unwrap_err().message(),
            "sizes [2, 2] are needed, got [4]"
        );
        assert_eq!(
            view.copy_from(TensorView::new(&[2, 2], &[1.0f32; 4]).unwrap()).unwrap_err().kind(),
            ErrorKind::DType
        );
        assert!(view.as_mut_slice::<u64>().is_err() && view.as_mut_strings().is_err());
        assert_eq!(data, [1, 3, 2, 4]);
        assert!(TensorViewMut::new(&[3], &mut data).is_err());
    }

    #[test]
    fn strings_and_bits_are_written_as_what_they_are() {
        let mut strings: Vec<Box<[u8]>> = vec![Box::default(); 2];
        let mut view = TensorViewMut::from_strings(&[2], &mut strings).unwrap();
        view.as_mut_strings().unwrap()[1] = Box::from(*b"b");
        assert!(view.as_mut_slice::<u8>().is_err() && view.bytes_mut().is_empty());
        assert_eq!(&*strings[1], b"b");
        let mut bits = [0.0f32; 2];
        let mut view = TensorViewMut::from_bits(DType::C64, &[1], &mut bits).unwrap();
        view.as_mut_bits::<f32>().unwrap()[1] = 2.0;
        assert!(view.as_mut_bits::<u32>().is_err());
        assert_eq!(bits, [0.0, 2.0]);
    }
}
