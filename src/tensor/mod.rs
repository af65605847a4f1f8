//! [`Tensor`] and its views: elements of one dtype with concrete sizes.
//!
//! **In**: Rust slices, vectors, nested arrays and strings; elements of dtypes without a Rust type come as their bits
//! (`u16` for f16). A caller may also lend memory, to be read ([`TensorView`]) or written ([`TensorViewMut`]) by a run.
//!
//! **Out**: typed slices, text, comparisons, and bytes that kernels read and write. A [`Tensor`] is row-major
//! and shares its elements copy-on-write; a [`TensorView`] may be strided. Every buffer starts at a multiple of 64
//! bytes. A [`BufferPool`] reuses the memory of dropped tensors.
//!
//! **Who calls it**: programs make inputs and read outputs; `eval`, `runtime` and `exec` allocate outputs, arenas and
//! workspaces; `graph` and `interchange` keep constants.
//!
//! **Absent**: arithmetic, broadcasting, symbolic sizes and conversion between dtypes. Ops do this work. The unsafe
//! code here upholds two invariants: the bytes of elements are aligned for the Rust type that holds the bits of an
//! element ([`Tensor::from_bits`]), and the bytes of bools are 0 or 1.

mod aligned_memory;
mod allowance;
#[cfg(feature = "arrow")]
pub(crate) mod arrow;
mod buffer;
mod buffer_pool;
mod compare;
mod datum;
mod element;
mod format;
mod from_owner;
mod in_place;
mod layout;
#[cfg_attr(not(feature = "graphdef"), expect(dead_code, reason = "only an import makes tensor lists"))]
mod list;
mod literal;
#[cfg(feature = "ndarray")]
mod ndarray;
mod pooled;
mod role;
mod rows;
mod shared_bytes;
mod storage;
mod strided;
mod strings;
mod strings_builder;
mod tensor_map;
#[cfg_attr(not(feature = "graphdef"), expect(dead_code, reason = "only an import makes tensor lists"))]
mod variant;
mod view;
mod view_elements;
mod view_mut;

use std::panic::{RefUnwindSafe, UnwindSafe};

use shapeflow_shape_fns::DType;

pub(crate) use aligned_memory::{collected_vec, filled_vec, reserved_vec};
pub(crate) use allowance::{Allowance, check_allowance, with_allowance};
pub(crate) use buffer::Buffer;
pub(crate) use buffer_pool::BufferPool;
#[cfg(feature = "strings")]
pub(crate) use datum::Datum;
pub use element::Element;
#[cfg(any(feature = "graphdef", feature = "npz", feature = "safetensors", feature = "strings"))]
pub(crate) use element::normalized_byte;
pub(crate) use element::size_of_element;
#[cfg(feature = "npz")]
pub(crate) use element::storage;
pub(crate) use layout::{index_of, place_text, same_sizes};
pub(crate) use list::TensorList;
pub(crate) use role::TensorRole;
pub(crate) use shared_bytes::SharedBytes;
pub use strings::Strings;
pub use strings_builder::StringsBuilder;
pub use tensor_map::TensorMap;
pub use view::TensorView;
pub use view_mut::TensorViewMut;

use crate::error::{Result, at_caller};
use element::check_dtype;
use layout::{Layout, check_count};
use storage::Storage;
use strings::StringBuffer;

/// A row-major tensor with concrete sizes, the input and output of a run.
///
/// A clone shares the elements, and a write to shared elements copies them first. `==` compares dtype, sizes
/// and bits; [`Tensor::allclose`] compares values.
///
/// ```
/// use shapeflow::Tensor;
///
/// let tensor = Tensor::from_slice(&[2, 3], &[1, 2, 3, 4, 5, 6])?;
/// assert_eq!(tensor.sizes(), [2, 3]);
/// assert_eq!(tensor.to_string(), "i32[2, 3]\n[[1, 2, 3],\n [4, 5, 6]]");
/// # Ok::<(), shapeflow::Error>(())
/// ```
#[derive(Clone)]
pub struct Tensor {
    dtype: DType,
    layout: Layout,
    storage: Storage,
}

// No method leaves a tensor half changed when it panics.
impl UnwindSafe for Tensor {}
impl RefUnwindSafe for Tensor {}

impl Tensor {
    /// Copies `data`, row-major, into a tensor of these sizes.
    ///
    /// ```
    /// use shapeflow::Tensor;
    ///
    /// let tensor = Tensor::from_slice(&[2, 3], &[1, 2, 3, 4, 5, 6])?;
    /// assert_eq!(tensor, Tensor::from([[1, 2, 3], [4, 5, 6]]));
    /// assert!(Tensor::from_slice(&[2, 2], &[1, 2, 3]).is_err());
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Shape`: `data.len()` is not the product of the sizes. `Memory`: the allocation fails.
    #[track_caller]
    pub fn from_slice<T: Element>(sizes: &[usize], data: &[T]) -> Result<Tensor> {
        TensorView::new(sizes, data)?.to_tensor()
    }

    /// Copies `data` as [`Tensor::from_slice`] does. The copy is needed because a vector lacks the alignment of
    /// tensors.
    ///
    /// # Errors
    /// As [`Tensor::from_slice`].
    #[track_caller]
    pub fn from_vec<T: Element>(sizes: &[usize], data: Vec<T>) -> Result<Tensor> {
        Tensor::from_slice(sizes, &data)
    }

    /// Copies elements given as their bits. `T` is `u16` for f16 and bf16, the integer of the same width and sign for a
    /// quantized dtype, `u8` for a float of 8 bits and for u4, `i8` for i4, and the element type for every other dtype.
    /// A complex number takes two elements of `bits`, `f32` or `f64`: the real part, then the imaginary part.
    ///
    /// ```
    /// use shapeflow::{DType, Tensor};
    ///
    /// let halves = Tensor::from_bits(DType::F16, &[2], &[0x3c00u16, 0x4000])?; // 1.0 and 2.0
    /// assert_eq!((halves.dtype(), halves.len()), (DType::F16, 2));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// `DType`: `T` is not the type of the bits of `dtype`. `Shape`: `bits` does not hold exactly the elements that the
    /// sizes need. `Memory`: the allocation fails.
    #[track_caller]
    pub fn from_bits<T: Element>(dtype: DType, sizes: &[usize], bits: &[T]) -> Result<Tensor> {
        TensorView::from_bits(dtype, sizes, bits)?.to_tensor()
    }

    /// Copies byte strings into a tensor of these sizes.
    ///
    /// ```
    /// use shapeflow::Tensor;
    ///
    /// let words = Tensor::from_strings(&[2], &["a", "bc"])?;
    /// assert_eq!(words.as_strings()?.get(1), Some(&b"bc"[..]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Shape`: `strings.len()` is not the product of the sizes. `Memory`: an allocation fails.
    #[track_caller]
    pub fn from_strings<S: AsRef<[u8]>>(sizes: &[usize], strings: &[S]) -> Result<Tensor> {
        at_caller(|| {
            check_count(sizes, strings.len())?;
            let bytes = strings.iter().map(|string| string.as_ref().len()).sum();
            let mut copies = StringsBuilder::with_capacity(strings.len(), bytes)?;
            for string in strings {
                copies.push(string.as_ref())?;
            }
            copies.finish(sizes)
        })
    }

    /// Makes a tensor whose elements are zero, `false`, empty strings, or empty lists.
    ///
    /// ```
    /// use shapeflow::{DType, Tensor};
    ///
    /// assert_eq!(Tensor::zeros(DType::F32, &[2, 1])?, Tensor::from([[0.0f32], [0.0]]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Shape`: the elements take more than `isize::MAX` bytes. `Memory`: the allocation fails.
    #[track_caller]
    pub fn zeros(dtype: DType, sizes: &[usize]) -> Result<Tensor> {
        at_caller(|| {
            let layout = Layout::row_major(sizes)?;
            if dtype == DType::String {
                let strings = StringBuffer::empty_strings(layout.len)?;
                return Ok(Tensor { dtype, layout, storage: Storage::of_strings(strings) });
            }
            if dtype == DType::Variant {
                let mut lists = reserved_vec(layout.len)?;
                lists.resize_with(layout.len, || TensorList::new(DType::F32, None, 0));
                return Ok(Tensor { dtype, layout, storage: Storage::Lists(lists.into()) });
            }
            let buffer = Buffer::zeroed(layout.byte_len(size_of_element(dtype)?)?)?;
            Ok(Tensor { dtype, layout, storage: Storage::of(buffer) })
        })
    }

    /// Makes a tensor whose elements are all `value`.
    ///
    /// ```
    /// use shapeflow::Tensor;
    ///
    /// assert_eq!(Tensor::full(&[3], 7i64)?, Tensor::from([7i64, 7, 7]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::zeros`].
    #[track_caller]
    pub fn full<T: Element>(sizes: &[usize], value: T) -> Result<Tensor> {
        at_caller(|| {
            let mut tensor = Tensor::allocate(T::DTYPE, sizes)?;
            tensor.as_mut_slice()?.fill(value);
            Ok(tensor)
        })
    }

    /// Makes a tensor of rank 0. Like `Box::new`, it aborts the process if the allocation fails.
    pub fn scalar<T: Element>(value: T) -> Tensor {
        literal::tensor(&[], &[value])
    }

    /// Makes a tensor whose elements are unspecified until they are written. Bools are `false`, strings are empty.
    pub(crate) fn allocate(dtype: DType, sizes: &[usize]) -> Result<Tensor> {
        if matches!(dtype, DType::Bool | DType::String | DType::Variant) {
            return Tensor::zeros(dtype, sizes);
        }
        let layout = Layout::row_major(sizes)?;
        let buffer = Buffer::new(layout.byte_len(size_of_element(dtype)?)?)?;
        Ok(Tensor { dtype, layout, storage: Storage::of(buffer) })
    }

    /// Returns the dtype of the elements.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Returns the size of each axis.
    pub fn sizes(&self) -> &[usize] {
        &self.layout.sizes
    }

    /// Returns the stride of each axis, in elements.
    pub fn strides(&self) -> &[isize] {
        &self.layout.strides
    }

    /// Returns the number of elements.
    pub fn len(&self) -> usize {
        self.layout.len
    }

    /// Returns whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.layout.len == 0
    }

    /// Returns the number of bytes of the elements; of the handles, if the elements are lists.
    pub(crate) fn element_bytes(&self) -> usize {
        match &self.storage {
            Storage::Bytes(_) | Storage::Shared(_) => {
                self.len().saturating_mul(self.dtype.size_bytes().unwrap_or_default())
            }
            Storage::Strings(strings) => {
                strings.bytes.len().saturating_add(strings.offsets.len().saturating_mul(size_of::<usize>()))
            }
            Storage::Lists(lists) => lists.len().saturating_mul(size_of::<TensorList>()),
        }
    }

    /// Returns the elements in row-major order.
    ///
    /// # Errors
    /// `DType`: the elements are not `T`.
    #[track_caller]
    pub fn as_slice<T: Element>(&self) -> Result<&[T]> {
        self.view().as_slice()
    }

    /// Returns the elements in row-major order for writing. Shared elements are copied first.
    ///
    /// ```
    /// use shapeflow::Tensor;
    ///
    /// let mut tensor = Tensor::from([1.0f32, 2.0]);
    /// tensor.as_mut_slice::<f32>()?[0] = 5.0;
    /// assert_eq!(tensor.to_vec::<f32>()?, [5.0, 2.0]);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// `DType`: the elements are not `T`. `Memory`: the allocation of the copy fails.
    #[track_caller]
    pub fn as_mut_slice<T: Element>(&mut self) -> Result<&mut [T]> {
        check_dtype::<T>(self.dtype)?;
        let bytes = self.storage.unshared_bytes()?;
        if bytes.is_empty() {
            return Ok(&mut []);
        }
        // SAFETY: `Storage` guarantees alignment and valid bools, and `T` is the type of the elements.
        Ok(unsafe { element::from_bytes_mut(bytes) })
    }

    /// Returns the bits of the elements in row-major order. `T` is as for [`Tensor::from_bits`].
    ///
    /// # Errors
    /// `DType`: `T` is not the type of the bits.
    #[track_caller]
    pub fn as_bits<T: Element>(&self) -> Result<&[T]> {
        at_caller(|| self.view().as_bits())
    }

    /// Copies the bits of the elements, in row-major order, into a vector.
    ///
    /// # Errors
    /// As [`Tensor::as_bits`].
    #[track_caller]
    pub fn to_bits<T: Element>(&self) -> Result<Vec<T>> {
        at_caller(|| self.as_bits().map(<[T]>::to_vec))
    }

    /// Returns the strings in row-major order.
    ///
    /// ```
    /// use shapeflow::Tensor;
    ///
    /// let words = Tensor::from(["a", "bc"]);
    /// assert_eq!(words.as_strings()?.iter().map(<[u8]>::len).sum::<usize>(), 3);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// `DType`: the elements are not strings.
    #[track_caller]
    pub fn as_strings(&self) -> Result<Strings<'_>> {
        self.view().as_strings()
    }

    /// Copies the elements, in row-major order, into a vector.
    ///
    /// ```
    /// use shapeflow::Tensor;
    ///
    /// assert_eq!(Tensor::from([[1i64, 2], [3, 4]]).to_vec::<i64>()?, [1, 2, 3, 4]);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// `DType`: the elements are not `T`.
    #[track_caller]
    pub fn to_vec<T: Element>(&self) -> Result<Vec<T>> {
        self.as_slice().map(<[T]>::to_vec)
    }

    /// Returns the only element.
    ///
    /// ```
    /// use shapeflow::Tensor;
    ///
    /// assert_eq!(Tensor::from([[2.5f32]]).item::<f32>()?, 2.5);
    /// assert!(Tensor::from([1.0f32, 2.0]).item::<f32>().is_err());
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// `DType`: the element is not `T`. `Shape`: the tensor does not have exactly one element.
    #[track_caller]
    pub fn item<T: Element>(&self) -> Result<T> {
        self.view().item()
    }

    /// Returns a tensor of other sizes that shares the elements.
    ///
    /// ```
    /// use shapeflow::Tensor;
    ///
    /// let tensor = Tensor::from([1, 2, 3, 4, 5, 6]).reshape(&[2, 3])?;
    /// assert_eq!(tensor, Tensor::from([[1, 2, 3], [4, 5, 6]]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Shape`: the product of `sizes` is not the number of elements.
    #[track_caller]
    pub fn reshape(&self, sizes: &[usize]) -> Result<Tensor> {
        check_count(sizes, self.len())?;
        Ok(Tensor { dtype: self.dtype, layout: Layout::row_major(sizes)?, storage: self.storage.clone() })
    }

    /// Borrows the elements for reading.
    pub fn view(&self) -> TensorView<'_> {
        match &self.storage {
            Storage::Bytes(buffer) => {
                TensorView::of_bytes(self.dtype, &self.layout.sizes, self.layout.len, buffer.bytes())
            }
            Storage::Shared(shared) => {
                TensorView::of_bytes(self.dtype, &self.layout.sizes, self.layout.len, shared.bytes())
            }
            Storage::Strings(strings) => TensorView::of_strings(&self.layout.sizes, strings.view()),
            Storage::Lists(lists) => TensorView::of_lists(&self.layout.sizes, lists),
        }
    }

    /// Borrows the elements for writing. Shared elements are copied first.
    ///
    /// # Errors
    /// `Memory`: the allocation of the copy fails.
    #[track_caller]
    pub fn view_mut(&mut self) -> Result<TensorViewMut<'_>> {
        at_caller(|| {
            let Layout { sizes, len, .. } = &self.layout;
            match &mut self.storage {
                Storage::Strings(strings) => Ok(TensorViewMut::of_strings(sizes, *len, strings)),
                bytes => Ok(TensorViewMut::of_bytes(self.dtype, sizes, *len, bytes.unshared_bytes()?)),
            }
        })
    }
}

/// Compares dtype, sizes and bits: a NaN equals the same NaN, and 0.0 is not -0.0.
impl PartialEq for Tensor {
    fn eq(&self, other: &Tensor) -> bool {
        if self.dtype != other.dtype || self.layout.sizes != other.layout.sizes {
            return false;
        }
        match (&self.storage, &other.storage) {
            (Storage::Strings(left), Storage::Strings(right)) => left.view() == right.view(),
            (Storage::Lists(left), Storage::Lists(right)) => left == right,
            _ => self.view().bytes() == other.view().bytes(),
        }
    }
}

impl Eq for Tensor {}

#[cfg(test)]
mod tests;
