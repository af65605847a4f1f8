//! [`Tensor`]: elements of one dtype with concrete sizes, in a shared buffer.

mod aligned_memory;
mod buffer;
mod buffer_pool;
mod compare;
mod element;
mod format;
mod layout;
mod literal;
mod pooled;
mod storage;
mod strided;
mod view;
mod view_mut;

use std::fmt;
use std::sync::Arc;

use shapeflow_shape_fns::DType;

use aligned_memory::refused;
pub(crate) use buffer::Buffer;
pub(crate) use buffer_pool::BufferPool;
pub use element::Element;
pub(crate) use element::size_of_element;
pub use view::TensorView;
pub use view_mut::TensorViewMut;

use crate::error::Result;
use element::check_dtype;
use layout::{Layout, check_count};
use storage::{Storage, strings_of};

/// Elements of one dtype with concrete sizes, row-major: what a run takes and returns.
///
/// A clone shares the elements; writing to a shared tensor copies them first. `==` compares dtype, sizes
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

impl Tensor {
    /// A copy of `data` with these sizes, row-major.
    ///
    /// # Errors
    /// `Shape`: `data.len()` is not the product of the sizes. `Memory`: the allocation is refused.
    #[track_caller]
    pub fn from_slice<T: Element>(sizes: &[usize], data: &[T]) -> Result<Tensor> {
        TensorView::new(sizes, data)?.to_tensor()
    }

    /// As [`Tensor::from_slice`]; the elements are copied to memory of the alignment that kernels like.
    ///
    /// # Errors
    /// As [`Tensor::from_slice`].
    #[track_caller]
    pub fn from_vec<T: Element>(sizes: &[usize], data: Vec<T>) -> Result<Tensor> {
        Tensor::from_slice(sizes, &data)
    }

    /// A copy of the bits of elements: `u16` for f16 and bf16, the integer below a quantized type, pairs of
    /// `f32` or `f64` for complex numbers, the element itself for every other dtype.
    ///
    /// # Errors
    /// `DType`: the bits of `dtype` are not `T`. `Shape`: another number of elements than the sizes have.
    /// `Memory`: the allocation is refused.
    #[track_caller]
    pub fn from_bits<T: Element>(dtype: DType, sizes: &[usize], bits: &[T]) -> Result<Tensor> {
        TensorView::from_bits(dtype, sizes, bits)?.to_tensor()
    }

    /// A copy of strings of bytes.
    ///
    /// # Errors
    /// `Shape`: `strings.len()` is not the product of the sizes. `Memory`: the allocation is refused.
    pub fn from_strings<S: AsRef<[u8]>>(sizes: &[usize], strings: &[S]) -> Result<Tensor> {
        check_count(sizes, strings.len())?;
        let layout = Layout::row_major(sizes)?;
        let mut copies = strings_of(strings.len())?;
        for string in strings {
            let string = string.as_ref();
            let mut copy = Vec::new();
            copy.try_reserve_exact(string.len()).map_err(|_| refused(string.len()))?;
            copy.extend_from_slice(string);
            copies.push(copy.into_boxed_slice());
        }
        Ok(Tensor { dtype: DType::String, layout, storage: Storage::Strings(Arc::new(copies)) })
    }

    /// Zeros, `false`, or empty strings.
    ///
    /// # Errors
    /// `Shape`: more elements than memory can hold. `Memory`: the allocation is refused.
    pub fn zeros(dtype: DType, sizes: &[usize]) -> Result<Tensor> {
        let layout = Layout::row_major(sizes)?;
        if dtype == DType::String {
            let mut strings = strings_of(layout.len)?;
            strings.resize_with(layout.len, Box::default);
            return Ok(Tensor { dtype, layout, storage: Storage::Strings(Arc::new(strings)) });
        }
        let buffer = Buffer::zeroed(layout.byte_len(size_of_element(dtype)?)?)?;
        Ok(Tensor { dtype, layout, storage: Storage::of(buffer) })
    }

    /// Every element is `value`.
    ///
    /// # Errors
    /// As [`Tensor::zeros`].
    pub fn full<T: Element>(sizes: &[usize], value: T) -> Result<Tensor> {
        let mut tensor = Tensor::allocate(T::DTYPE, sizes)?;
        tensor.as_mut_slice()?.fill(value);
        Ok(tensor)
    }

    /// One element, rank 0. Like `Box::new`, it ends the process if there is no memory at all.
    pub fn scalar<T: Element>(value: T) -> Tensor {
        literal::tensor(&[], &[value])
    }

    /// Elements that are unspecified until they are written; bools are false.
    pub(crate) fn allocate(dtype: DType, sizes: &[usize]) -> Result<Tensor> {
        if matches!(dtype, DType::Bool | DType::String) {
            return Tensor::zeros(dtype, sizes);
        }
        let layout = Layout::row_major(sizes)?;
        let buffer = Buffer::new(layout.byte_len(size_of_element(dtype)?)?)?;
        Ok(Tensor { dtype, layout, storage: Storage::of(buffer) })
    }

    /// The type of the elements.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The size of every axis.
    pub fn sizes(&self) -> &[usize] {
        &self.layout.sizes
    }

    /// How many elements each axis steps over.
    pub fn strides(&self) -> &[isize] {
        &self.layout.strides
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.layout.len
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.layout.len == 0
    }

    /// The elements in row-major order.
    ///
    /// # Errors
    /// `DType`: the elements are not `T`.
    #[track_caller]
    pub fn as_slice<T: Element>(&self) -> Result<&[T]> {
        self.view().as_slice()
    }

    /// The elements in row-major order, to be written; copied first if they are shared.
    ///
    /// # Errors
    /// `DType`: the elements are not `T`. `Memory`: the copy is refused.
    pub fn as_mut_slice<T: Element>(&mut self) -> Result<&mut [T]> {
        check_dtype::<T>(self.dtype)?;
        let bytes = self.storage.unshared_bytes()?;
        if bytes.is_empty() {
            return Ok(&mut []);
        }
        // SAFETY: `Storage` promises alignment and valid bools, and `T` is the type of the elements.
        Ok(unsafe { element::from_bytes_mut(bytes) })
    }

    /// The bits of the elements in row-major order, of the types that [`Tensor::from_bits`] takes.
    ///
    /// # Errors
    /// `DType`: the bits are not `T`.
    pub fn as_bits<T: Element>(&self) -> Result<&[T]> {
        self.view().as_bits()
    }

    /// The bits of the elements in row-major order, copied.
    ///
    /// # Errors
    /// As [`Tensor::as_bits`].
    pub fn to_bits<T: Element>(&self) -> Result<Vec<T>> {
        self.as_bits().map(<[T]>::to_vec)
    }

    /// The strings in row-major order.
    ///
    /// # Errors
    /// `DType`: the elements are not strings.
    pub fn as_strings(&self) -> Result<&[Box<[u8]>]> {
        self.view().as_strings()
    }

    /// The elements in row-major order, copied.
    ///
    /// # Errors
    /// `DType`: the elements are not `T`.
    #[track_caller]
    pub fn to_vec<T: Element>(&self) -> Result<Vec<T>> {
        self.as_slice().map(<[T]>::to_vec)
    }

    /// The only element.
    ///
    /// # Errors
    /// `DType`: it is not `T`. `Shape`: more or fewer than one element.
    #[track_caller]
    pub fn item<T: Element>(&self) -> Result<T> {
        self.view().item()
    }

    /// The same elements with other sizes; shares them.
    ///
    /// # Errors
    /// `Shape`: another number of elements.
    #[track_caller]
    pub fn reshape(&self, sizes: &[usize]) -> Result<Tensor> {
        check_count(sizes, self.len())?;
        Ok(Tensor { dtype: self.dtype, layout: Layout::row_major(sizes)?, storage: self.storage.clone() })
    }

    /// The elements, borrowed.
    pub fn view(&self) -> TensorView<'_> {
        match &self.storage {
            Storage::Bytes(buffer) => {
                TensorView::of_bytes(self.dtype, &self.layout.sizes, self.layout.len, buffer.bytes())
            }
            Storage::Strings(strings) => TensorView::of_strings(&self.layout.sizes, strings),
        }
    }

    /// The elements, borrowed for writing; copied first if they are shared.
    ///
    /// # Errors
    /// `Memory`: the copy is refused.
    pub fn view_mut(&mut self) -> Result<TensorViewMut<'_>> {
        let Layout { sizes, len, .. } = &self.layout;
        match &mut self.storage {
            Storage::Strings(strings) => {
                TensorViewMut::from_strings(sizes, Arc::make_mut(strings).as_mut_slice())
            }
            bytes => Ok(TensorViewMut::of_bytes(self.dtype, sizes, *len, bytes.unshared_bytes()?)),
        }
    }
}

/// Equal dtype, sizes and bits: a NaN equals the same NaN, and 0.0 is not -0.0.
impl PartialEq for Tensor {
    fn eq(&self, other: &Tensor) -> bool {
        if self.dtype != other.dtype || self.layout.sizes != other.layout.sizes {
            return false;
        }
        match (&self.storage, &other.storage) {
            (Storage::Strings(left), Storage::Strings(right)) => left == right,
            _ => self.view().bytes() == other.view().bytes(),
        }
    }
}

impl Eq for Tensor {}

/// `f32[2, 3]` and the elements in nested brackets; long tensors are elided.
impl fmt::Display for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        format::write(f, &self.view())
    }
}

/// As `Display`.
impl fmt::Debug for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        format::write(f, &self.view())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    #[test]
    fn elements_go_in_and_come_out() {
        let tensor = Tensor::from_slice(&[2, 3], &[1.5f32, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap();
        assert_eq!(
            (tensor.dtype(), tensor.sizes(), tensor.strides()),
            (DType::F32, &[2, 3][..], &[3, 1][..])
        );
        assert_eq!((tensor.len(), tensor.view().bytes().as_ptr().addr() % 64), (6, 0));
        assert_eq!(tensor.to_vec::<f32>().unwrap()[..2], [1.5, 2.0]);
        assert_eq!(tensor.as_slice::<f64>().unwrap_err().kind(), ErrorKind::DType);
        assert_eq!(tensor.item::<f32>().unwrap_err().kind(), ErrorKind::Shape);
        assert_eq!(Tensor::scalar(7i64).item::<i64>().unwrap(), 7);
        assert_eq!(Tensor::full(&[3], true).unwrap().as_slice::<bool>().unwrap(), [true; 3]);
        assert_eq!(Tensor::zeros(DType::C128, &[2]).unwrap().to_bits::<f64>().unwrap(), [0.0; 4]);
        assert!(Tensor::from_vec(&[2], vec![1u8]).is_err());
        assert_eq!(Tensor::zeros(DType::F64, &[1 << 40, 1 << 21]).unwrap_err().kind(), ErrorKind::Shape);
        assert_eq!(Tensor::zeros(DType::F64, &[1 << 59]).unwrap_err().kind(), ErrorKind::Memory);
    }

    #[test]
    fn no_elements_are_a_tensor_too() {
        for dtype in DType::all() {
            let mut tensor = Tensor::zeros(dtype, &[3, 0]).unwrap();
            assert!(tensor.is_empty() && tensor.view().to_tensor().unwrap() == tensor);
            assert!(tensor.view_mut().unwrap().is_empty());
        }
        let mut tensor = Tensor::zeros(DType::I64, &[0]).unwrap();
        assert!(
            tensor.as_slice::<i64>().unwrap().is_empty() && tensor.as_mut_slice::<i64>().unwrap().is_empty()
        );
    }

    #[test]
    fn writing_copies_what_is_shared() {
        let mut tensor = Tensor::from_slice(&[4], &[1u16, 2, 3, 4]).unwrap();
        let address = tensor.view().bytes().as_ptr();
        tensor.as_mut_slice::<u16>().unwrap()[0] = 9;
        assert_eq!(tensor.view().bytes().as_ptr(), address);
        let square = tensor.reshape(&[2, 2]).unwrap();
        assert_eq!(square.view().bytes().as_ptr(), address);
        tensor.as_mut_slice::<u16>().unwrap()[1] = 8;
        assert_eq!(
            (tensor.to_vec::<u16>().unwrap(), square.to_vec::<u16>().unwrap()),
            (vec![9, 8, 3, 4], vec![9, 2, 3, 4])
        );
        assert!(tensor.as_mut_slice::<i16>().is_err() && tensor.reshape(&[5]).is_err());
    }

    #[test]
    fn strings_are_shared_and_copied_alike() {
        let mut tensor = Tensor::from_strings(&[2], &["a", "bc"]).unwrap();
        let before = tensor.clone();
        tensor.view_mut().unwrap().as_mut_strings().unwrap()[0] = Box::from(*b"x");
        assert_eq!(
            (&*tensor.as_strings().unwrap()[0], &*before.as_strings().unwrap()[0]),
            (&b"x"[..], &b"a"[..])
        );
        assert_ne!(tensor, before);
        assert!(tensor.as_slice::<u8>().is_err() && tensor.as_mut_slice::<u8>().is_err());
    }

    #[test]
    fn equality_is_of_bits() {
        assert_eq!(Tensor::from([f32::NAN, 1.0]), Tensor::from([f32::NAN, 1.0]));
        assert_ne!(Tensor::scalar(0.0f32), Tensor::scalar(-0.0f32));
        assert_ne!(Tensor::scalar(0i32), Tensor::scalar(0u32));
        assert_ne!(Tensor::from([1, 2]), Tensor::from([[1, 2]]));
    }

    #[test]
    fn tensors_cross_threads() {
        fn crosses<T: Send + Sync + 'static>() {}
        crosses::<Tensor>();
        crosses::<TensorView<'static>>();
        fn moves<T: Send>() {}
        moves::<TensorViewMut<'static>>();
    }
}
