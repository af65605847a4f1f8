//! [`TensorView`]: elements borrowed for reading, with their dtype, sizes and strides.

use std::panic::Location;

use shapeflow_shape_fns::DType;
use smallvec::SmallVec;

use super::element::{
    self, Element, check_aligned, check_bits, check_dtype, check_unsigned, size_of_element,
};
use super::layout::{Layout, check_count, check_values, row_major_strides};
use super::role::TensorRole;
use super::storage::Storage;
use super::strings::{StringBuffer, Strings};
use super::{Tensor, TensorList};
use crate::error::{Error, ErrorKind, Phase, Result, at_caller};

/// Elements borrowed from the caller, so that feeding them to a run copies nothing. A view owns its sizes, so that a
/// function can return it.
///
/// A view is row-major unless [`TensorView::with_strides`] made it.
///
/// ```
/// use shapeflow::{Result, TensorView};
///
/// fn rows_of_three(data: &[f32]) -> Result<TensorView<'_>> {
///     TensorView::new(&[data.len() / 3, 3], data)
/// }
/// assert_eq!(rows_of_three(&[1.0; 6])?.sizes(), [2, 3]);
/// # Ok::<(), shapeflow::Error>(())
/// ```
#[derive(Clone)]
pub struct TensorView<'a> {
    pub(super) dtype: DType,
    pub(super) sizes: SmallVec<[usize; 4]>,
    /// The strides in elements; `None` for row-major.
    pub(super) strides: Option<SmallVec<[isize; 4]>>,
    /// The product of the sizes.
    pub(super) len: usize,
    pub(super) data: ViewData<'a>,
    pub(super) role: TensorRole,
}

/// The elements of a view.
///
/// Invariants: every offset that sizes and strides reach is in the slice; the address of the bytes is aligned for the
/// type that holds the bits of an element; the bytes of bools are 0 or 1.
#[derive(Clone, Copy)]
pub(super) enum ViewData<'a> {
    /// Elements of `size` bytes. `first` is the offset of the element at index zero, in elements.
    Bytes {
        bytes: &'a [u8],
        first: usize,
        size: usize,
    },
    Strings(Strings<'a>),
    Lists(&'a [TensorList]),
}

impl<'a> ViewData<'a> {
    /// Returns the bytes of the element at an offset that sizes and strides reach; empty for a list.
    pub(super) fn element(self, offset: usize) -> &'a [u8] {
        match self {
            ViewData::Bytes { bytes, size, .. } => &bytes[offset * size..(offset + 1) * size],
            ViewData::Strings(strings) => strings.at(offset),
            ViewData::Lists(_) => &[],
        }
    }
}

impl<'a> TensorView<'a> {
    /// Makes a row-major view of a slice. The address needs only the alignment of `T`.
    ///
    /// ```
    /// use shapeflow::TensorView;
    ///
    /// let data = vec![1.0f32, 2.0, 3.0, 4.0];
    /// let view = TensorView::new(&[2, 2], &data)?; // borrows the data
    /// assert_eq!(view.sizes(), [2, 2]);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Shape`: `data.len()` is not the product of the sizes.
    #[track_caller]
    pub fn new<T: Element>(sizes: &[usize], data: &'a [T]) -> Result<TensorView<'a>> {
        check_count(sizes, data.len())?;
        let data_bytes = ViewData::Bytes { bytes: element::as_bytes(data), first: 0, size: size_of::<T>() };
        Ok(TensorView {
            dtype: T::DTYPE,
            sizes: sizes.into(),
            strides: None,
            len: data.len(),
            data: data_bytes,
            role: TensorRole::default(),
        })
    }

    /// Makes a row-major view of elements given as their bits. `T` is as for
    /// [`Tensor::from_bits`](crate::Tensor::from_bits). A complex number takes two elements of `data`, `f32` or `f64`:
    /// the real part, then the imaginary part.
    ///
    /// # Errors
    /// `DType`: `T` is not the type of the bits of `dtype`. `Shape`: `data` does not hold exactly the elements that the
    /// sizes need.
    #[track_caller]
    pub fn from_bits<T: Element>(dtype: DType, sizes: &[usize], data: &'a [T]) -> Result<TensorView<'a>> {
        let per_element = check_bits::<T>(dtype)?;
        let len = check_values(data.len(), per_element, sizes)?;
        let data =
            ViewData::Bytes { bytes: element::as_bytes(data), first: 0, size: per_element * size_of::<T>() };
        Ok(TensorView { dtype, sizes: sizes.into(), strides: None, len, data, role: TensorRole::default() })
    }

    /// Makes a row-major view of strings.
    ///
    /// # Errors
    /// `Shape`: `data.len()` is not the product of the sizes.
    #[track_caller]
    pub fn from_strings(sizes: &[usize], data: Strings<'a>) -> Result<TensorView<'a>> {
        let location = std::panic::Location::caller();
        check_count(sizes, data.len()).map_err(|error| error.or_at(location))?;
        Ok(TensorView::of_strings(sizes, data))
    }

    /// Makes a row-major view of bytes that hold elements of `dtype`.
    ///
    /// # Errors
    /// `DType`: `dtype` is string, or a byte of a bool is neither 0 nor 1. `Shape`: the length of `bytes` does not fit
    /// the sizes. `Feed`: the address is not aligned for the type of the elements' bits.
    pub(crate) fn from_bytes(dtype: DType, sizes: &[usize], bytes: &'a [u8]) -> Result<TensorView<'a>> {
        check_aligned(dtype, bytes)?;
        if dtype == DType::Bool && !element::are_bools(bytes) {
            return Err(Error::new(
                ErrorKind::DType,
                Phase::Run,
                "the bytes of bool elements must be 0 or 1",
            ));
        }
        let size = size_of_element(dtype)?;
        let len = check_values(bytes.len(), size, sizes)?;
        Ok(TensorView {
            dtype,
            sizes: sizes.into(),
            strides: None,
            len,
            data: ViewData::Bytes { bytes, first: 0, size },
            role: TensorRole::default(),
        })
    }

    /// Makes the view of a tensor or of a mutable view, which have the same invariants.
    pub(super) fn of_bytes(dtype: DType, sizes: &[usize], len: usize, bytes: &'a [u8]) -> TensorView<'a> {
        // The element size of an empty tensor is never used.
        let size = bytes.len().checked_div(len).unwrap_or(1);
        TensorView {
            dtype,
            sizes: sizes.into(),
            strides: None,
            len,
            data: ViewData::Bytes { bytes, first: 0, size },
            role: TensorRole::default(),
        }
    }

    /// Makes a view of strings, whose number must fit the sizes.
    pub(crate) fn of_strings(sizes: &[usize], strings: Strings<'a>) -> TensorView<'a> {
        TensorView {
            dtype: DType::String,
            sizes: sizes.into(),
            strides: None,
            len: strings.len(),
            data: ViewData::Strings(strings),
            role: TensorRole::default(),
        }
    }

    /// Returns the view with a role, which errors about it name.
    pub(crate) fn with_role(self, role: TensorRole) -> TensorView<'a> {
        TensorView { role, ..self }
    }

    /// Returns the dtype of the elements.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Returns the size of each axis.
    pub fn sizes(&self) -> &[usize] {
        &self.sizes
    }

    /// Returns the stride of each axis, in elements.
    pub fn strides(&self) -> Vec<isize> {
        match &self.strides {
            Some(strides) => strides.to_vec(),
            None => row_major_strides(&self.sizes).to_vec(),
        }
    }

    /// Returns the number of elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns whether the elements are contiguous in row-major order.
    pub fn is_row_major(&self) -> bool {
        self.strides.is_none()
    }

    /// Returns the elements in row-major order.
    ///
    /// ```
    /// use shapeflow::Tensor;
    ///
    /// let tensor = Tensor::from([[1i64, 2], [3, 4]]);
    /// assert_eq!(tensor.view().as_slice::<i64>()?, [1, 2, 3, 4]);
    /// assert!(tensor.view().as_slice::<f32>().is_err());
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// `DType`: the elements are not `T`. `Shape`: the view is not row-major; use [`TensorView::to_vec`].
    #[track_caller]
    pub fn as_slice<T: Element>(&self) -> Result<&'a [T]> {
        check_dtype::<T>(self.dtype).map_err(|error| self.role.name(error))?;
        self.typed()
    }

    /// Returns the bits of the elements in row-major order. `T` is as for [`TensorView::from_bits`].
    ///
    /// # Errors
    /// `DType`: `T` is not the type of the bits. `Shape`: the view is not row-major.
    #[track_caller]
    pub fn as_bits<T: Element>(&self) -> Result<&'a [T]> {
        at_caller(|| {
            check_bits::<T>(self.dtype).map_err(|error| self.role.name(error))?;
            self.typed()
        })
    }

    /// Returns the bits of the elements in row-major order as unsigned integers, for code that is the same for all
    /// dtypes of a width. A complex element is two such integers.
    ///
    /// # Errors
    /// `DType`: `T` is not the unsigned integer of the width, or the elements are bools. `Shape`: the view is not
    /// row-major.
    pub(crate) fn as_unsigned<T: Element>(&self) -> Result<&'a [T]> {
        check_unsigned::<T>(self.dtype)?;
        self.typed()
    }

    /// Returns the slice. The caller has checked that `T` is as wide and as aligned as the type of the bits.
    fn typed<T: Element>(&self) -> Result<&'a [T]> {
        match (self.data, &self.strides) {
            (_, Some(strides)) => {
                let message = format!(
                    "a slice needs row-major elements, got sizes {:?} with strides {strides:?}",
                    self.sizes
                );
                Err(self.role.name(Error::new(ErrorKind::Shape, Phase::Run, message)))
            }
            (ViewData::Bytes { .. }, None) if self.len == 0 => Ok(&[]),
            // SAFETY: `ViewData` guarantees alignment and valid bools; the callers have checked `T`.
            (ViewData::Bytes { bytes, .. }, None) => Ok(unsafe { element::from_bytes(bytes) }),
            (ViewData::Strings(_) | ViewData::Lists(_), None) => {
                check_dtype::<T>(self.dtype).map(|()| &[][..])
            }
        }
    }

    /// Copies the elements, in row-major order, into a vector.
    ///
    /// # Errors
    /// `DType`: the elements are not `T`.
    #[track_caller]
    pub fn to_vec<T: Element>(&self) -> Result<Vec<T>> {
        check_dtype::<T>(self.dtype).map_err(|error| self.role.name(error))?;
        if self.strides.is_none() {
            return self.typed().map(<[T]>::to_vec);
        }
        let tensor = self.to_tensor()?;
        tensor.as_slice().map(<[T]>::to_vec)
    }

    /// Returns the strings in row-major order.
    ///
    /// # Errors
    /// `DType`: the elements are not strings.
    #[track_caller]
    pub fn as_strings(&self) -> Result<Strings<'a>> {
        match self.data {
            ViewData::Strings(strings) => Ok(strings),
            ViewData::Bytes { .. } | ViewData::Lists(_) => {
                let message =
                    format!("the element type must be {}, the tensor's dtype, got string", self.dtype);
                let error = Error::new(ErrorKind::DType, Phase::Run, message).or_at(Location::caller());
                Err(self.role.name(error))
            }
        }
    }

    /// Returns the only element.
    ///
    /// # Errors
    /// `DType`: the element is not `T`. `Shape`: the view does not have exactly one element.
    #[track_caller]
    pub fn item<T: Element>(&self) -> Result<T> {
        check_dtype::<T>(self.dtype).map_err(|error| self.role.name(error))?;
        match self.len {
            // A view of one element is row-major for any strides, so `with_strides` stores no strides for the view.
            1 => self.typed().map(|only| only[0]),
            _ => {
                let message = format!("there must be exactly one element, got sizes {:?}", self.sizes);
                let error = Error::new(ErrorKind::Shape, Phase::Run, message).or_at(Location::caller());
                Err(self.role.name(error))
            }
        }
    }

    /// Copies the elements into a row-major tensor.
    ///
    /// ```
    /// use shapeflow::{Tensor, TensorView};
    ///
    /// let data = [1.0f32, 2.0];
    /// assert_eq!(TensorView::new(&[2], &data)?.to_tensor()?, Tensor::from([1.0f32, 2.0]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Memory`: the allocation fails.
    #[track_caller]
    pub fn to_tensor(&self) -> Result<Tensor> {
        at_caller(|| {
            if let ViewData::Strings(strings) = self.data {
                let storage = Storage::of_strings(StringBuffer::copy_of(strings)?);
                return Ok(Tensor { dtype: self.dtype, layout: Layout::row_major(&self.sizes)?, storage });
            }
            if let ViewData::Lists(lists) = self.data {
                return Tensor::from_lists(&self.sizes, lists);
            }
            let mut tensor = Tensor::allocate(self.dtype, &self.sizes)?;
            self.copy_bytes_to(tensor.view_mut()?.bytes_mut());
            Ok(tensor)
        })
    }

    /// Copies the elements, in row-major order, to `target`, which must have the same length. Copies no strings and
    /// no lists.
    pub(super) fn copy_bytes_to(&self, target: &mut [u8]) {
        match (self.data, &self.strides) {
            (ViewData::Bytes { bytes, .. }, None) => target.copy_from_slice(bytes),
            (ViewData::Bytes { size, .. }, Some(_)) => {
                for (slot, element) in target.chunks_exact_mut(size).zip(self.elements()) {
                    slot.copy_from_slice(element);
                }
            }
            (ViewData::Strings(_) | ViewData::Lists(_), _) => {}
        }
    }

    /// Returns the memory that contains the elements; empty for strings.
    pub(crate) fn bytes(&self) -> &'a [u8] {
        match self.data {
            ViewData::Bytes { bytes, .. } => bytes,
            ViewData::Strings(_) | ViewData::Lists(_) => &[],
        }
    }
}

impl<'a> From<&'a Tensor> for TensorView<'a> {
    fn from(tensor: &'a Tensor) -> TensorView<'a> {
        tensor.view()
    }
}

impl<'a> From<&TensorView<'a>> for TensorView<'a> {
    fn from(view: &TensorView<'a>) -> TensorView<'a> {
        view.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_view_borrows_data_that_fits_its_sizes() {
        let data = [1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0];
        let view = TensorView::new(&[2, 3], &data).unwrap();
        assert_eq!((view.dtype(), view.len(), view.strides()), (DType::F32, 6, vec![3, 1]));
        assert_eq!(view.as_slice::<f32>().unwrap().as_ptr(), data.as_ptr());
        assert_eq!(view.bytes().as_ptr(), data.as_ptr().cast());
        let error = TensorView::new(&[2, 2], &data).unwrap_err();
        assert_eq!(
            (error.kind(), error.message()),
            (ErrorKind::Shape, "sizes [2, 2] need 4 elements, got 6")
        );
        let error = view.as_slice::<i32>().unwrap_err();
        assert_eq!(
            (error.kind(), error.message()),
            (ErrorKind::DType, "the element type must be f32, the tensor's dtype, got i32")
        );
        assert!(TensorView::new::<f32>(&[usize::MAX, 2], &[]).is_err());
    }

    #[test]
    fn bits_and_bytes_must_fit_the_dtype() {
        let half = TensorView::from_bits(DType::F16, &[2], &[0x3c00u16, 0xc000]).unwrap();
        assert_eq!(half.as_bits::<u16>().unwrap(), [0x3c00, 0xc000]);
        assert!(half.as_slice::<u16>().is_err());
        let complex = TensorView::from_bits(DType::C64, &[1], &[1.0f32, -2.0]).unwrap();
        assert_eq!((complex.len(), complex.as_bits::<f32>().unwrap()), (1, &[1.0, -2.0][..]));
        assert!(TensorView::from_bits(DType::C64, &[2], &[1.0f32, -2.0]).is_err());
        assert!(TensorView::from_bits(DType::BF16, &[1], &[1i16]).is_err());
        let bytes = [0u8, 1, 1];
        assert_eq!(
            TensorView::from_bytes(DType::Bool, &[3], &bytes).unwrap().to_vec::<bool>().unwrap(),
            [false, true, true]
        );
        assert!(TensorView::from_bytes(DType::Bool, &[1], &[2]).is_err());
        let words = [0u64; 2];
        let bytes = element::as_bytes(&words);
        assert_eq!(TensorView::from_bytes(DType::I32, &[3], &bytes[4..]).unwrap().len(), 3);
        assert_eq!(
            TensorView::from_bytes(DType::I64, &[1], &bytes[4..12]).unwrap_err().kind(),
            ErrorKind::Feed
        );
        assert!(TensorView::from_bytes(DType::I64, &[1], &bytes[..7]).is_err());
    }
}
