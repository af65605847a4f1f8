//! [`RaggedTensor`]: a tensor whose rows have different lengths, with the data of a run.
//!
//! **In**: flat values and row partitions in any of TensorFlow's encodings, nested Rust vectors, dense and sparse
//! tensors.
//!
//! **Out**: flat values, row partitions, dense and sparse tensors, text.
//!
//! **Who calls it**: programs make and read ragged tensors; the host kernels of `ops/ragged` read partitions; `exec`
//! returns ragged results.
//!
//! **Absent**: arithmetic and values of a graph. [`RaggedValue`](crate::RaggedValue) has those.

#[cfg(feature = "arrow")]
mod arrow;
mod construct;
mod dense;
mod display;
mod encoding;
mod merge;
mod mistake;
mod nested;
mod partition;
mod parts;
mod rows;
mod select;
#[cfg(feature = "serde")]
mod serde;
mod sparse;
mod unchecked;

use shapeflow_shape_fns::{DType, Dim, IntoDim, TensorShape, Unknown};

pub(crate) use dense::{PaddedCopy, broadcast_default};
pub(crate) use encoding::{
    ints as splits_tensor, rowids_of_splits, rows_of_rowids, splits_of_rowids, splits_of_unchecked_rowids,
    with_ints,
};
pub(crate) use mistake::{first_mistake, message_of, mistake_in_last_split};
pub use nested::{IntoNested, Nested, NestedElement, OwnedElement};
pub use partition::RowPartition;
pub(crate) use parts::{FLAT_VALUES, ROW_SPLITS, UNIFORM_ROWS, join_parts, ragged_name, row_splits_of};
pub(crate) use rows::take_rows;
pub use sparse::SparseParts;
pub use unchecked::{Encoding, Unchecked};

use crate::error::{Error, ErrorKind, Phase, Result, at_caller};
use crate::tensor::{Element, Tensor};

/// A tensor whose rows have different lengths: flat values, and a [`RowPartition`] for each partitioned axis.
///
/// Axis 0 counts the rows. Each partition adds one axis, which is ragged or uniform. The remaining axes are the inner
/// axes of the flat values.
///
/// # Members of TensorFlow's `tf.RaggedTensor`
///
/// | TensorFlow | here |
/// |---|---|
/// | `from_row_splits` | [`from_row_splits`](Self::from_row_splits) |
/// | `from_row_lengths` | [`from_row_lengths`](Self::from_row_lengths) |
/// | `from_row_starts` | [`from_row_starts`](Self::from_row_starts) |
/// | `from_row_limits` | [`from_row_limits`](Self::from_row_limits) |
/// | `from_value_rowids` | [`from_value_rowids`](Self::from_value_rowids) |
/// | `from_uniform_row_length` | [`from_uniform_row_length`](Self::from_uniform_row_length) |
/// | `from_nested_row_splits` | [`from_nested_row_splits`](Self::from_nested_row_splits) |
/// | `from_nested_row_lengths` | [`from_nested_row_lengths`](Self::from_nested_row_lengths) |
/// | `from_nested_value_rowids` | [`from_nested_value_rowids`](Self::from_nested_value_rowids) |
/// | `from_tensor` | [`from_tensor`](Self::from_tensor), [`from_tensor_lengths`](Self::from_tensor_lengths), [`from_tensor_nested_lengths`](Self::from_tensor_nested_lengths), [`from_tensor_padding`](Self::from_tensor_padding) |
/// | `from_sparse` | [`from_sparse`](Self::from_sparse) |
/// | `validate=False` | [`Unchecked`] |
/// | `tf.ragged.constant` | [`ragged!`](macro@crate::ragged), [`from_nested`](Self::from_nested) |
/// | `dtype`, `shape`, `get_shape` | [`dtype`](Self::dtype), [`shape`](Self::shape) |
/// | `flat_values`, `values` | [`flat_values`](Self::flat_values), [`values`](Self::values) |
/// | `row_splits`, `nested_row_splits` | [`row_splits`](Self::row_splits), [`nested_row_splits`](Self::nested_row_splits) |
/// | `uniform_row_length`, `ragged_rank` | [`uniform_row_length`](Self::uniform_row_length), [`ragged_rank`](Self::ragged_rank) |
/// | `nrows`, `row_lengths` | [`nrows`](Self::nrows), [`row_lengths`](Self::row_lengths), [`row_lengths_along`](Self::row_lengths_along) |
/// | `row_starts`, `row_limits`, `value_rowids` | [`row_starts`](Self::row_starts), [`row_limits`](Self::row_limits), [`value_rowids`](Self::value_rowids) |
/// | `nested_row_lengths`, `nested_value_rowids` | [`nested_row_lengths`](Self::nested_row_lengths), [`nested_value_rowids`](Self::nested_value_rowids) |
/// | `bounding_shape` | [`bounding_shape`](Self::bounding_shape), [`bounding_shape_along`](Self::bounding_shape_along) |
/// | `with_values`, `with_flat_values` | [`with_values`](Self::with_values), [`with_flat_values`](Self::with_flat_values) |
/// | `with_row_splits_dtype` | [`with_row_splits_dtype`](Self::with_row_splits_dtype) |
/// | `merge_dims` | [`merge_dims`](Self::merge_dims) |
/// | `to_list` | [`to_nested`](Self::to_nested) |
/// | `numpy` | [`row`](Self::row) for the rows, [`to_tensor`](Self::to_tensor) for rows of one length |
/// | `to_tensor`, `to_sparse` | [`to_tensor`](Self::to_tensor), [`to_tensor_with`](Self::to_tensor_with), [`to_sparse`](Self::to_sparse) |
/// | `__getitem__`: `rt[i]`, `rt[i, j]`, `rt[a:b, …]` | [`row`](Self::row), [`at`](Self::at), [`slice_with`](Self::slice_with) |
/// | `__eq__`, `__ne__` | `==` and `!=`, which give a `bool` |
/// | `__repr__` | `Display`, `Debug` |
/// | operators, comparisons | none: [`RaggedValue`](crate::RaggedValue) has them |
/// | `consumers` | none: a tensor with data has no consumers |
/// | `__bool__`, `__nonzero__`, `__hash__` | none: Rust takes only a `bool` as a condition; in Python these fail in the run |
///
/// A clone shares the elements. `==` compares dtypes, partitions and bits.
///
/// ```
/// use shapeflow::{RaggedTensor, ragged};
///
/// let rt = ragged![[3, 1, 4, 1], [], [5, 9, 2], [6], []];
/// assert_eq!(rt.to_string(), "[[3, 1, 4, 1], [], [5, 9, 2], [6], []]");
/// assert_eq!(rt.shape().to_string(), "[5, ?]");
/// assert_eq!(rt, RaggedTensor::from_row_splits([3, 1, 4, 1, 5, 9, 2, 6], [0i64, 4, 4, 7, 8, 8])?);
/// # Ok::<(), shapeflow::Error>(())
/// ```
///
#[doc = include_str!("manual.md")]
#[derive(Clone, PartialEq, Eq)]
pub struct RaggedTensor {
    /// The flat values. Axis 0 counts the values of the innermost partition.
    flat: Tensor,
    /// The partitions, outermost first; at least one. The number of values of a partition is the number of rows of the
    /// next partition.
    partitions: Vec<RowPartition>,
}

/// A dense or a ragged tensor: the values of a ragged tensor, one of its rows, or a slice.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RaggedItem {
    /// A tensor without partitions.
    Dense(Tensor),
    /// A tensor with at least one partition.
    Ragged(RaggedTensor),
}

impl RaggedItem {
    /// Makes a dense item if there are no partitions.
    pub(crate) fn of(flat: Tensor, partitions: Vec<RowPartition>) -> RaggedItem {
        if partitions.is_empty() {
            return RaggedItem::Dense(flat);
        }
        RaggedItem::Ragged(RaggedTensor { flat, partitions })
    }

    /// Returns the dense tensor.
    ///
    /// # Errors
    /// The item is ragged.
    #[track_caller]
    pub fn dense(self) -> Result<Tensor> {
        at_caller(|| match self {
            RaggedItem::Dense(tensor) => Ok(tensor),
            RaggedItem::Ragged(ragged) => {
                Err(shape_error(format!("the item must be dense, got a ragged tensor {}", ragged.shape())))
            }
        })
    }

    /// Returns the ragged tensor.
    ///
    /// # Errors
    /// The item is dense.
    #[track_caller]
    pub fn ragged(self) -> Result<RaggedTensor> {
        at_caller(|| match self {
            RaggedItem::Ragged(ragged) => Ok(ragged),
            RaggedItem::Dense(tensor) => Err(shape_error(format!(
                "the item must be ragged, got a dense tensor {}{:?}",
                tensor.dtype(),
                tensor.sizes()
            ))),
        })
    }

    /// Returns the flat values and the partitions.
    pub(crate) fn into_parts(self) -> (Tensor, Vec<RowPartition>) {
        match self {
            RaggedItem::Dense(flat) => (flat, Vec::new()),
            RaggedItem::Ragged(RaggedTensor { flat, partitions }) => (flat, partitions),
        }
    }
}

impl From<Tensor> for RaggedItem {
    fn from(tensor: Tensor) -> RaggedItem {
        RaggedItem::Dense(tensor)
    }
}

impl From<&Tensor> for RaggedItem {
    fn from(tensor: &Tensor) -> RaggedItem {
        RaggedItem::Dense(tensor.clone())
    }
}

impl From<RaggedTensor> for RaggedItem {
    fn from(ragged: RaggedTensor) -> RaggedItem {
        RaggedItem::Ragged(ragged)
    }
}

impl<T: Element> From<Vec<T>> for RaggedItem {
    fn from(values: Vec<T>) -> RaggedItem {
        RaggedItem::Dense(values.into())
    }
}

impl<T: Element, const A: usize> From<[T; A]> for RaggedItem {
    fn from(values: [T; A]) -> RaggedItem {
        RaggedItem::Dense(values.into())
    }
}

impl<T: Element, const A: usize, const B: usize> From<[[T; B]; A]> for RaggedItem {
    fn from(values: [[T; B]; A]) -> RaggedItem {
        RaggedItem::Dense(values.into())
    }
}

/// Makes an error about shapes, found when data are read.
pub(crate) fn shape_error(message: String) -> Error {
    Error::new(ErrorKind::Shape, Phase::Run, message)
}

impl RaggedTensor {
    /// Returns the dtype of the elements.
    pub fn dtype(&self) -> DType {
        self.flat.dtype()
    }

    /// Returns the flat values: the elements without any partition.
    pub fn flat_values(&self) -> &Tensor {
        &self.flat
    }

    /// Returns the values that the outermost partition splits into rows.
    ///
    /// ```
    /// use shapeflow::ragged;
    ///
    /// let rt = ragged![[[3, 1], [4]], [], [[1, 5, 9]]];
    /// assert_eq!(rt.values().ragged()?.to_string(), "[[3, 1], [4], [1, 5, 9]]");
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    pub fn values(&self) -> RaggedItem {
        RaggedItem::of(self.flat.clone(), self.partitions[1..].to_vec())
    }

    /// Returns the partitions, outermost first.
    pub fn partitions(&self) -> &[RowPartition] {
        &self.partitions
    }

    /// Returns the outermost partition.
    pub fn partition(&self) -> &RowPartition {
        &self.partitions[0]
    }

    /// Returns the number of partitions.
    pub fn ragged_rank(&self) -> usize {
        self.partitions.len()
    }

    /// Returns the number of axes: the number of partitions plus the rank of the flat values.
    pub fn rank(&self) -> usize {
        self.partitions.len() + self.flat.sizes().len()
    }

    /// Returns the shape. A ragged axis has an unknown size, every other axis has a known one.
    ///
    /// ```
    /// use shapeflow::{RaggedTensor, ragged};
    ///
    /// assert_eq!(ragged![[0], [1, 2]].shape().to_string(), "[2, ?]");
    /// let pairs = RaggedTensor::from_row_splits([[1, 2], [3, 4]], [0i64, 2, 2])?;
    /// assert_eq!(pairs.shape().to_string(), "[2, ?, 2]");
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    pub fn shape(&self) -> TensorShape {
        let known = |size: usize| Dim::known(i64::try_from(size).unwrap_or(i64::MAX));
        let axes = self.partitions.iter().map(|partition| partition.uniform_row_length().map(known));
        let inner = self.flat.sizes()[1..].iter().map(|&size| Some(known(size)));
        let rows = std::iter::once(Some(known(self.nrows())));
        TensorShape::new(rows.chain(axes).chain(inner).map(|dim| dim.unwrap_or_else(|| Unknown.into_dim())))
    }

    /// Checks the row splits of every partition. Constructors do not check [`Unchecked`] encodings.
    ///
    /// # Errors
    /// Row splits do not start at 0, decrease, or do not end at the number of values.
    pub(crate) fn check_splits(&self) -> Result<()> {
        let counts = self.partitions[1..].iter().map(RowPartition::nrows).chain([self.flat.sizes()[0]]);
        for (partition, nvals) in self.partitions.iter().zip(counts) {
            let splits = partition.row_splits();
            let mistake = with_ints!(splits, |ints| {
                first_mistake(ints, nvals).map(|mistake| message_of("row_splits", &mistake, ints, nvals))
            });
            if let Some(message) = mistake {
                return Err(shape_error(message));
            }
        }
        Ok(())
    }

    /// Returns the dtype of the row splits, i32 or i64.
    pub fn row_splits_dtype(&self) -> DType {
        self.partition().row_splits().dtype()
    }

    /// Returns the splits of the outermost partition: row `i` holds the values from `splits[i]` up to `splits[i + 1]`.
    pub fn row_splits(&self) -> &Tensor {
        self.partition().row_splits()
    }

    /// Returns the splits of each partition, outermost first.
    pub fn nested_row_splits(&self) -> Vec<&Tensor> {
        self.partitions.iter().map(RowPartition::row_splits).collect()
    }

    /// Returns the length of every row if the outermost partition is uniform.
    pub fn uniform_row_length(&self) -> Option<usize> {
        self.partition().uniform_row_length()
    }

    /// Returns the number of rows.
    pub fn nrows(&self) -> usize {
        self.partition().nrows()
    }

    /// Returns the length of each row.
    ///
    /// ```
    /// use shapeflow::ragged;
    ///
    /// let rt = ragged![[[3, 1, 4], [1]], [], [[5, 9], [2]], [[6]], []];
    /// assert_eq!(rt.row_lengths().to_vec::<i64>()?, [2, 0, 2, 1, 0]);
    /// assert_eq!(rt.row_lengths_along(2)?.ragged()?.to_string(), "[[3, 1], [], [2, 1], [1], []]");
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    pub fn row_lengths(&self) -> &Tensor {
        self.partition().row_lengths()
    }

    /// Returns the length of each row along `axis`, nested as the axes before `axis` nest the rows. Along axis 0 the
    /// result is a scalar, the number of rows.
    ///
    /// # Errors
    /// The axis does not exist.
    #[track_caller]
    pub fn row_lengths_along(&self, axis: i64) -> Result<RaggedItem> {
        at_caller(|| {
            let axis = self.axis(axis)?;
            if axis == 0 {
                return Ok(encoding::full(self.row_splits_dtype(), &[], self.nrows())?.into());
            }
            let Some(partition) = self.partitions.get(axis - 1) else {
                let length = self.flat.sizes()[axis - self.partitions.len()];
                let sizes = &self.flat.sizes()[..axis - self.partitions.len()];
                let lengths = encoding::full(self.row_splits_dtype(), sizes, length)?;
                return Ok(RaggedItem::of(lengths, self.partitions.clone()));
            };
            Ok(RaggedItem::of(partition.row_lengths().clone(), self.partitions[..axis - 1].to_vec()))
        })
    }

    /// Returns the number of an axis from the start. A negative `axis` counts from the end.
    pub(crate) fn axis(&self, axis: i64) -> Result<usize> {
        let rank = self.rank() as i64;
        let index = if axis < 0 { axis + rank } else { axis };
        if (0..rank).contains(&index) {
            return Ok(index as usize);
        }
        Err(shape_error(format!("an axis must be in [{}, {rank}), got {axis}", -rank)))
    }

    /// Returns the start of each row in the values.
    pub fn row_starts(&self) -> &Tensor {
        self.partition().row_starts()
    }

    /// Returns the end of each row in the values.
    pub fn row_limits(&self) -> &Tensor {
        self.partition().row_limits()
    }

    /// Returns, for each value, the number of the row that holds the value.
    ///
    /// ```
    /// use shapeflow::ragged;
    ///
    /// let rt = ragged![[3, 1, 4, 1], [], [5, 9, 2], [6], []];
    /// assert_eq!(rt.value_rowids().to_vec::<i64>()?, [0, 0, 0, 0, 2, 2, 2, 3]);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    pub fn value_rowids(&self) -> &Tensor {
        self.partition().value_rowids()
    }

    /// Returns the row lengths of each partition, outermost first.
    pub fn nested_row_lengths(&self) -> Vec<&Tensor> {
        self.partitions.iter().map(RowPartition::row_lengths).collect()
    }

    /// Returns the value rowids of each partition, outermost first.
    pub fn nested_value_rowids(&self) -> Vec<&Tensor> {
        self.partitions.iter().map(RowPartition::value_rowids).collect()
    }

    /// Returns the smallest sizes of a dense tensor that holds every row.
    ///
    /// ```
    /// use shapeflow::ragged;
    ///
    /// assert_eq!(ragged![[1, 2, 3, 4], [5], [], [6, 7, 8, 9], [10]].bounding_shape(), [5, 4]);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    pub fn bounding_shape(&self) -> Vec<usize> {
        let axes = self.partitions.iter().map(RowPartition::longest_row);
        std::iter::once(self.nrows()).chain(axes).chain(self.flat.sizes()[1..].iter().copied()).collect()
    }

    /// Returns the size of [`bounding_shape`](Self::bounding_shape) along an axis: the number of rows for axis 0, and
    /// the length of the longest row for a ragged axis. A negative axis counts from the end.
    ///
    /// ```
    /// use shapeflow::ragged;
    ///
    /// assert_eq!(ragged![[1, 2, 3, 4], [5], []].bounding_shape_along(-1)?, 4);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The axis does not exist.
    #[track_caller]
    pub fn bounding_shape_along(&self, axis: i64) -> Result<usize> {
        at_caller(|| {
            let axis = self.axis(axis)?;
            let Some(index) = axis.checked_sub(1) else { return Ok(self.nrows()) };
            let inner = || self.flat.sizes()[axis - self.partitions.len()];
            Ok(self.partitions.get(index).map_or_else(inner, RowPartition::longest_row))
        })
    }
}
