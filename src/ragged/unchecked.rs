//! [`Unchecked`]: an encoding of a row partition that is used without a scan for mistakes.

use crate::tensor::Tensor;

/// An encoding of a row partition that a constructor uses without a scan: row splits, lengths, starts, limits, or row
/// ids. As `validate=False` of TensorFlow's constructors.
///
/// Every constructor of [`RaggedTensor`](crate::RaggedTensor), [`RowPartition`](crate::RowPartition) and
/// [`RaggedValue`](crate::RaggedValue) that takes an encoding accepts a checked or an unchecked encoding. A wrong
/// unchecked encoding gives rows with wrong values, or an error. A wrong encoding never gives access outside the
/// values, and no row is longer than all values together. A run refuses an encoding whose rows do not end at the last
/// value. [`Graph::ragged_constant`](crate::Graph::ragged_constant) refuses every wrong encoding.
///
/// ```
/// use shapeflow::{DType, Graph, RaggedTensor, RaggedValue, Tensor, Unchecked, shape};
///
/// let rt = RaggedTensor::from_row_lengths([1, 2, 3], Unchecked([2, 1]))?;
/// assert_eq!(rt.to_string(), "[[1, 2], [3]]");
///
/// let g = Graph::new();
/// let x = g.input("x", DType::F32, shape![?])?;
/// let lengths = g.input("lengths", DType::I64, shape![?])?;
/// let sums = RaggedValue::from_row_lengths(x, Unchecked(lengths))?.reduce_sum(1)?;
/// let (x, lengths) = (Tensor::from([1.0f32, 2.0, 3.0]), Tensor::from([2i64, 1]));
/// let sums = g.compile([("sums", sums)])?.feed("x", &x).feed("lengths", &lengths).run()?;
/// assert_eq!(sums.tensor("sums")?, &Tensor::from([3.0f32, 3.0]));
/// # Ok::<(), shapeflow::Error>(())
/// ```
#[doc(alias = "validate")]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Unchecked<T>(pub T);

/// An encoding of a row partition, and whether it is checked.
///
/// Integers, tensors and values of a graph convert into checked encodings, and [`Unchecked`] ones into unchecked
/// encodings.
#[derive(Clone, Copy, Debug)]
pub struct Encoding<T> {
    pub(crate) data: T,
    pub(crate) is_checked: bool,
}

impl<T: Into<Tensor>> From<T> for Encoding<Tensor> {
    fn from(data: T) -> Encoding<Tensor> {
        Encoding { data: data.into(), is_checked: true }
    }
}

impl<T: Into<Tensor>> From<Unchecked<T>> for Encoding<Tensor> {
    fn from(data: Unchecked<T>) -> Encoding<Tensor> {
        Encoding { data: data.0.into(), is_checked: false }
    }
}
