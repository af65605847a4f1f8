//! Arrays of the crate ndarray as tensors and views, and tensors as arrays (feature `ndarray`).

use std::sync::Arc;

use ndarray::{Array, ArrayBase, ArrayViewD, ArrayViewMutD, Data, Dimension, IxDyn, RawData};

use super::element::{Element, as_bytes};
use super::{Tensor, TensorView};
use crate::error::{Error, ErrorKind, Phase, Result, at_caller};

/// The memory that a tensor takes over from an array: `len` elements of `vector`, from `first` on.
struct ArrayElements<T> {
    vector: Vec<T>,
    first: usize,
    len: usize,
}

impl<T: Element> AsRef<[u8]> for ArrayElements<T> {
    fn as_ref(&self) -> &[u8] {
        as_bytes(&self.vector[self.first..self.first + self.len])
    }
}

/// Makes a tensor of the elements of an array. The tensor takes over the memory of an array in standard layout
/// (row-major, without gaps), except for bools, which are copied. The elements of any other array are copied.
///
/// ```
/// use ndarray::array;
/// use shapeflow::Tensor;
///
/// let array = array![[1.0f32, 2.0, 3.0], [4.0, 5.0, 6.0]];
/// let address = array.as_ptr();
/// let tensor = Tensor::try_from(array)?;
/// assert_eq!(tensor.as_slice::<f32>()?.as_ptr(), address);
/// assert_eq!(tensor.as_array::<f32>()?.sum(), 21.0);
///
/// let transposed = Tensor::try_from(array![[1, 2], [3, 4]].reversed_axes())?;
/// assert_eq!(transposed, Tensor::from([[1, 3], [2, 4]]));
/// # Ok::<(), shapeflow::Error>(())
/// ```
///
/// # Errors
/// `Memory`: the allocation of a copy fails.
impl<T: Element, D: Dimension> TryFrom<Array<T, D>> for Tensor {
    type Error = Error;

    fn try_from(array: Array<T, D>) -> Result<Tensor> {
        if !array.is_standard_layout() {
            let mut tensor = Tensor::allocate(T::DTYPE, array.shape())?;
            let elements = tensor.as_mut_slice()?.iter_mut();
            elements.zip(&array).for_each(|(to, from)| *to = *from);
            return Ok(tensor);
        }
        let sizes = array.shape().to_vec();
        let len = array.len();
        let (vector, first) = array.into_raw_vec_and_offset();
        // An array without elements has no offset.
        let elements = ArrayElements { vector, first: first.unwrap_or(0), len };
        Tensor::from_owner(T::DTYPE, &sizes, Arc::new(elements))
    }
}

impl Tensor {
    /// Borrows the elements as an array of the crate ndarray (feature `ndarray`).
    ///
    /// ```
    /// use ndarray::Axis;
    /// use shapeflow::Tensor;
    ///
    /// let tensor = Tensor::from([[1, 2, 3], [4, 5, 6]]);
    /// assert_eq!(tensor.as_array::<i32>()?.index_axis(Axis(1), 2).sum(), 9);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// `DType`: the elements are not `T`.
    #[track_caller]
    pub fn as_array<T: Element>(&self) -> Result<ArrayViewD<'_, T>> {
        let elements = self.as_slice()?;
        let array = ArrayViewD::from_shape(IxDyn(self.sizes()), elements);
        Ok(array.expect("a tensor has as many elements as its sizes need"))
    }

    /// Borrows the elements for writing as an array of the crate ndarray (feature `ndarray`). Shared elements are
    /// copied first.
    ///
    /// ```
    /// use ndarray::Axis;
    /// use shapeflow::Tensor;
    ///
    /// let mut tensor = Tensor::from([[1.0, 2.0], [3.0, 4.0]]);
    /// tensor.as_array_mut::<f64>()?.index_axis_mut(Axis(0), 0).fill(0.5);
    /// assert_eq!(tensor, Tensor::from([[0.5, 0.5], [3.0, 4.0]]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// `DType`: the elements are not `T`. `Memory`: the allocation of the copy fails.
    #[track_caller]
    pub fn as_array_mut<T: Element>(&mut self) -> Result<ArrayViewMutD<'_, T>> {
        let sizes = IxDyn(self.sizes());
        let array = ArrayViewMutD::from_shape(sizes, self.as_mut_slice()?);
        Ok(array.expect("a tensor has as many elements as its sizes need"))
    }
}

impl<'a> TensorView<'a> {
    /// Borrows the elements of an array of the crate ndarray (feature `ndarray`) without copying. The axes of the array
    /// may be transposed or reversed.
    ///
    /// ```
    /// use ndarray::array;
    /// use shapeflow::{DType, Graph, TensorView};
    ///
    /// let g = Graph::new();
    /// let x = g.input("x", DType::F32, shapeflow::shape!["n", 2])?;
    /// let exe = g.compile(x * 2.0)?;
    /// let array = array![[1.0f32, 2.0, 3.0], [4.0, 5.0, 6.0]];
    /// let [doubled] = exe.run(&[TensorView::from_array(&array.t())?])?;
    /// assert_eq!(doubled.as_array::<f32>()?, (&array.t() * 2.0).into_dyn());
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Shape`: the array is a part of a larger array with gaps between its elements, or it repeats elements. An array
    /// without elements has neither.
    #[track_caller]
    pub fn from_array<T, S, D>(array: &'a ArrayBase<S, D>) -> Result<TensorView<'a>>
    where
        T: Element,
        S: Data + RawData<Elem = T>,
        D: Dimension,
    {
        at_caller(|| {
            if array.is_empty() {
                return TensorView::new::<T>(array.shape(), &[]);
            }
            let Some(elements) = array.as_slice_memory_order() else {
                let (sizes, strides) = (array.shape(), array.strides());
                let message = format!(
                    "the elements of an array must lie next to each other in memory, got sizes {sizes:?} with strides \
                     {strides:?}"
                );
                let error = Error::new(ErrorKind::Shape, Phase::Run, message);
                return Err(error.with_help("copy the array with `as_standard_layout` first"));
            };
            // A reversed axis starts at its highest address.
            let reversed = array.shape().iter().zip(array.strides()).filter(|(_, stride)| **stride < 0);
            let first = reversed.map(|(size, stride)| size.saturating_sub(1) * stride.unsigned_abs()).sum();
            TensorView::with_strides(array.shape(), array.strides(), elements, first)
        })
    }
}

#[cfg(test)]
mod tests {
    use ndarray::{Axis, array, s};

    use super::*;

    #[test]
    fn views_of_every_layout_hold_the_elements_of_the_array() {
        let array = Array::from_iter(0..24i64).into_shape_with_order((2, 3, 4)).unwrap();
        for order in [[0, 1, 2], [2, 0, 1], [1, 2, 0], [2, 1, 0]] {
            for reversed in 0..8 {
                let mut view = array.view().permuted_axes(order);
                (0..3).filter(|axis| reversed >> axis & 1 == 1).for_each(|axis| view.invert_axis(Axis(axis)));
                let expected: Vec<i64> = view.iter().copied().collect();
                let lent = TensorView::from_array(&view).unwrap().to_tensor().unwrap();
                assert_eq!((lent.sizes(), lent.as_slice::<i64>().unwrap()), (view.shape(), &expected[..]));
                assert_eq!(Tensor::try_from(view.to_owned()).unwrap(), lent);
                assert_eq!(lent.as_array::<i64>().unwrap(), view.into_dyn());
            }
        }
    }

    #[test]
    fn arrays_with_gaps_are_copied_or_refused() {
        let array = array![[1u8, 2, 3], [4, 5, 6]];
        let error = TensorView::from_array(&array.slice(s![.., ..2])).map(drop).unwrap_err();
        assert_eq!(
            error.message(),
            "the elements of an array must lie next to each other in memory, got sizes [2, 2] with strides [3, 1]"
        );
        let part = array.slice_move(s![1.., 1..]);
        assert_eq!(Tensor::try_from(part).unwrap(), Tensor::from([[5u8, 6]]));
        let column = array![[true, false], [false, true]].slice_move(s![.., 1]);
        assert_eq!(Tensor::try_from(column).unwrap(), Tensor::from([false, true]));
    }

    #[test]
    fn arrays_without_elements_or_axes_are_tensors() {
        let part = Array::<f32, _>::zeros((2, 3, 4)).slice_move(s![.., 1..1, ..2]);
        assert_eq!(TensorView::from_array(&part).unwrap().sizes(), [2, 0, 2]);
        let empty = Tensor::try_from(Array::<f32, _>::zeros((0, 3))).unwrap();
        assert_eq!((empty.sizes(), empty.as_array::<f32>().unwrap().len()), (&[0, 3][..], 0));
        let scalar = Tensor::try_from(ndarray::arr0(7i32)).unwrap();
        assert_eq!((scalar.sizes().len(), scalar.as_array::<i32>().unwrap().first()), (0, Some(&7)));
        assert_eq!(
            scalar.as_array::<i64>().unwrap_err().message(),
            scalar.as_slice::<i64>().unwrap_err().message()
        );
        let reversed =
            TensorView::from_array(&Array::<f32, _>::zeros((0, 3)).view().reversed_axes()).map(|v| v.len());
        assert_eq!(reversed.unwrap(), 0);
    }
}
