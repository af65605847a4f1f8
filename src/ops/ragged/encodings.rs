//! Ragged values in other encodings: nested partitions, other splits, sparse and padded dense values.

use shapeflow_shape_fns::{DType, Dim, TensorShape, counted, shape};

use super::counts::with_count_of;
use super::errors::refuse;
use super::numbers::{convert_splits, dim_value, own_dim, size_value};
use crate::error::{ErrorKind, Result};
use crate::graph::{AnyValue, IntoParam, Param, RaggedValue, RowPartitionValue, Value};
use crate::ops::{SliceItem, concat};
use crate::ragged::Encoding;

impl<'g> RaggedValue<'g> {
    /// Puts flat values into rows by several row ids, outermost first. `nrows` gives the number of rows of each
    /// partition, or is empty, which makes the last row id give it.
    ///
    /// As TensorFlow's `RaggedTensor.from_nested_value_rowids`.
    ///
    /// `flat [nvals, ..], rowids [nvals] -> [nrows, (r), ..]` for one partition, any dtype. Composed of
    /// [`RaggedValue::from_value_rowids`] for each partition.
    ///
    /// ```
    /// use shapeflow::{Graph, IntoParam, RaggedValue, ragged};
    ///
    /// let g = Graph::new();
    /// let (flat, rowids) = (g.constant([1, 2, 3])?, g.constant([0i64, 0, 2])?);
    /// let rt = RaggedValue::from_nested_value_rowids(flat, &[rowids], &[3.into_param()])?;
    /// let rt = g.compile(rt)?.run_named(&[])?.ragged_at(0)?;
    /// assert_eq!(rt, ragged![[1, 2], [], [3]]);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// There are no row ids, or `nrows` has another length; else as [`RaggedValue::from_value_rowids`].
    #[track_caller]
    pub fn from_nested_value_rowids<I: Copy + Into<Encoding<Value<'g>>>>(
        flat: Value<'g>,
        rowids: &[I],
        nrows: &[Param<'g>],
    ) -> Result<RaggedValue<'g>> {
        flat.graph().in_call("from_nested_value_rowids", || {
            if !nrows.is_empty() && rowids.len() != nrows.len() {
                let message = format!(
                    "there must be one nrows for each of {}, got {}",
                    counted(rowids.len(), "row id"),
                    nrows.len()
                );
                return Err(refuse(flat.graph(), ErrorKind::Attribute, message));
            }
            let levels = rowids.iter().enumerate().rev();
            let nested = levels.into_iter().try_fold(AnyValue::Dense(flat), |values, (level, rowids)| {
                RaggedValue::from_value_rowids(values, *rowids, nrows.get(level).cloned())
                    .map(AnyValue::Ragged)
            });
            nested?.ragged()
        })
    }

    /// Makes a ragged value of the elements of a sparse matrix:
    /// `indices i64[k, 2], values [k], shape i64[2] -> [shape[0], (r)]`.
    ///
    /// As TensorFlow's `RaggedTensor.from_sparse`, which also refuses ranks other than 2.
    ///
    /// Any dtype. It is composed of other ops; the row splits are computed on the host.
    ///
    /// ```
    /// use shapeflow::{Graph, RaggedValue, ragged};
    ///
    /// let g = Graph::new();
    /// let (indices, values) = (g.constant([[0i64, 0], [0, 1], [2, 0]])?, g.constant([1, 2, 3])?);
    /// let rt = RaggedValue::from_sparse(indices, values, g.constant([3i64, 4])?)?;
    /// let rt = g.compile(rt)?.run_named(&[])?.ragged_at(0)?;
    /// assert_eq!(rt, ragged![[1, 2], [], [3]]);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The sparse tensor has another rank than 2. The run fails unless the indices are in row-major order, and the
    /// elements of each row start at column 0 and follow each other.
    #[track_caller]
    pub fn from_sparse(indices: Value<'g>, values: Value<'g>, shape: Value<'g>) -> Result<RaggedValue<'g>> {
        indices.graph().in_call("from_sparse", || {
            let sizes = indices.shape();
            let rank = sizes.dim(1).and_then(Dim::as_known);
            if sizes.rank() != Some(2) || rank.is_some_and(|rank| rank != 2) {
                let message =
                    format!("the sparse tensor must have rank 2 and indices [k, 2], got indices {sizes}");
                return Err(refuse(indices.graph(), ErrorKind::Shape, message));
            }
            let indices = indices.ensure_shape(shape![?, 2])?;
            let column = |axis: i64| indices.slice_with(&[SliceItem::All, SliceItem::at(axis)]);
            let nrows = shape.slice_with(&[SliceItem::at(0)])?;
            let ragged = RaggedValue::from_value_rowids(values, column(0)?, nrows)?;
            let follow = ragged.columns()?.equal(column(1)?)?.reduce_all(0)?;
            let message = "the elements of a row must start at column 0 and follow each other";
            AnyValue::from(ragged).guarded(&|part| part.checked(follow, message))?.ragged()
        })
    }

    /// Returns other values with the outermost partition of `self`. Both have the same number of values.
    ///
    /// `[n, (r), ..], values [nvals, ..] -> [n, (r), ..]`, any dtype. As TensorFlow's `RaggedTensor.with_values`.
    /// Adds no op, unless the run must check the numbers of values.
    ///
    /// ```
    /// use shapeflow::{Graph, ragged};
    ///
    /// let g = Graph::new();
    /// let rt = g.ragged_constant(&ragged![[1, 2], [3]])?;
    /// let y = rt.with_values(g.constant([10, 20, 30])?)?;
    /// let y = g.compile(y)?.run_named(&[])?.ragged_at(0)?;
    /// assert_eq!(y, ragged![[10, 20], [30]]);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The numbers of values are known to differ. If they are not known, the run fails unless they are equal.
    #[track_caller]
    pub fn with_values(self, values: impl Into<AnyValue<'g>>) -> Result<RaggedValue<'g>> {
        self.in_call("with_values", || {
            let values = with_count_of(values.into(), self.values(), "the number of values must be")?;
            Ok(self.with_values_unchecked(values))
        })
    }

    /// Returns the value with row splits of another dtype, i32 or i64.
    ///
    /// The shape and the elements stay. As TensorFlow's `RaggedTensor.with_row_splits_dtype`. It is composed of
    /// casts of the splits.
    ///
    /// ```
    /// use shapeflow::{DType, Graph, ragged};
    ///
    /// let g = Graph::new();
    /// let rt = g.ragged_constant(&ragged![[1, 2], [3]])?.with_row_splits_dtype(DType::I32)?;
    /// let splits = rt.row_splits();
    /// assert_eq!(splits.dtype(), DType::I32);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The dtype is neither i32 nor i64. The run fails if a split does not fit the dtype.
    #[track_caller]
    pub fn with_row_splits_dtype(self, dtype: DType) -> Result<RaggedValue<'g>> {
        self.in_call("with_row_splits_dtype", || {
            if !matches!(dtype, DType::I32 | DType::I64) {
                return Err(refuse(
                    self.graph(),
                    ErrorKind::DType,
                    format!("row_splits must be i32 or i64, got {dtype}"),
                ));
            }
            let convert = |rows: RowPartitionValue<'g>| {
                let splits = rows.row_splits();
                if splits.dtype() == dtype {
                    return Ok(rows);
                }
                let converted = convert_splits(splits, dtype)?;
                RowPartitionValue::new("converted splits", splits, converted, rows.uniform_row_length())
            };
            let partitions = self.partitions().into_iter().map(convert).collect::<Result<Vec<_>>>()?;
            Ok(RaggedValue::new(self.flat_values(), &partitions))
        })
    }

    /// Returns the length of every row if the outermost partition is uniform.
    ///
    /// `k` for the shape `[n, k, ..]`, and `None` for `[n, (r), ..]`; any dtype. As TensorFlow's
    /// `RaggedTensor.uniform_row_length`. Adds no op.
    ///
    /// ```
    /// use shapeflow::{Graph, RaggedValue};
    ///
    /// let g = Graph::new();
    /// let rt = RaggedValue::from_uniform_row_length(g.constant([1, 2, 3, 4])?, 2, None)?;
    /// assert_eq!(rt.uniform_row_length(), Some(2.into()));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// None.
    pub fn uniform_row_length(self) -> Option<Dim> {
        self.partition().uniform_row_length()
    }

    /// Returns the row lengths of each partition, outermost first.
    ///
    /// As [`RaggedValue::row_lengths`] for each partition: vectors of the dtype of the row splits. As TensorFlow's
    /// `RaggedTensor.nested_row_lengths`.
    ///
    /// # Errors
    /// As [`RaggedValue::row_lengths`].
    #[track_caller]
    pub fn nested_row_lengths(self) -> Result<Vec<Value<'g>>> {
        self.in_call("nested_row_lengths", || {
            self.partitions().into_iter().map(RowPartitionValue::row_lengths).collect()
        })
    }

    /// Returns the value rowids of each partition, outermost first.
    ///
    /// As [`RaggedValue::value_rowids`] for each partition: vectors of the dtype of the row splits. As TensorFlow's
    /// `RaggedTensor.nested_value_rowids`.
    ///
    /// # Errors
    /// As [`RaggedValue::row_lengths`].
    #[track_caller]
    pub fn nested_value_rowids(self) -> Result<Vec<Value<'g>>> {
        self.in_call("nested_value_rowids", || {
            let partitions = self.partitions();
            (0..partitions.len())
                .map(|level| RaggedValue::new(self.flat_values(), &partitions[level..]).value_rowids())
                .collect()
        })
    }

    /// Returns the lengths of the rows along an axis, in the structure of the axes before it. A negative `axis` counts
    /// from the end.
    ///
    /// Along axis 0, the result is the number of rows, a scalar. Along axis 1, the lengths are a vector `[n]`; along
    /// axis 2, they are ragged, `[n, (r)]`. Along an inner axis, all lengths are the size of the axis. They have the
    /// dtype of the row splits. As TensorFlow's `RaggedTensor.row_lengths` with `axis`. Fuses into kernels.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor, ragged};
    ///
    /// let g = Graph::new();
    /// let rt = g.ragged_constant(&ragged![[[1, 2], [3]], [[4]]])?;
    /// let [count, lengths] = [rt.row_lengths_along(0)?.dense()?, rt.row_lengths_along(1)?.dense()?];
    /// let [count, lengths] = g.compile([count, lengths])?.run(&[])?;
    /// assert_eq!((count, lengths), (Tensor::scalar(2i64), Tensor::from([2i64, 1])));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The axis does not exist, or the flat values have an unknown rank.
    #[track_caller]
    pub fn row_lengths_along(self, axis: impl IntoParam<'g>) -> Result<AnyValue<'g>> {
        self.in_call("row_lengths_along", || {
            let index = super::select::axis_of(self, axis, 0)?;
            let (partitions, dtype) = (self.partitions(), self.row_splits().dtype());
            if index == 0 {
                return dim_value(self.graph(), self.own_nrows()?)?.cast(dtype).map(AnyValue::Dense);
            }
            if let Some(rows) = partitions.get(index - 1) {
                return Ok(AnyValue::of(rows.row_lengths()?, &partitions[..index - 1]));
            }
            let shape = self.flat_values().shape();
            let outer = &shape.dims().expect("the rank is known")[..index - partitions.len()];
            let length = own_dim(self.flat_values(), index - partitions.len())?;
            let length = size_value(self.graph(), length, dtype)?;
            let lengths = length.broadcast_to(TensorShape::new(outer.iter().cloned()))?;
            Ok(AnyValue::of(lengths, &partitions))
        })
    }

    /// Returns the smallest sizes of a dense tensor that holds every row: `[rank]`, of the dtype of the row splits.
    ///
    /// As TensorFlow's `RaggedTensor.bounding_shape`, but a uniform axis keeps its length if there are no rows; in
    /// TensorFlow it then has 0. It is composed of other ops, which fuse into kernels.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor, ragged};
    ///
    /// let g = Graph::new();
    /// let rt = g.ragged_constant(&ragged![[1, 2, 3, 4], [5], [], [6, 7, 8, 9], [10]])?;
    /// let [sizes] = g.compile(rt.bounding_shape()?)?.run(&[])?;
    /// assert_eq!(sizes, Tensor::from([5i64, 4]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`RaggedValue::row_lengths`].
    #[track_caller]
    pub fn bounding_shape(self) -> Result<Value<'g>> {
        self.in_call("bounding_shape", || {
            let dtype = self.row_splits().dtype();
            let mut sizes = vec![dim_value(self.graph(), self.own_nrows()?)?.cast(dtype)?.reshape([1i64])?];
            for rows in self.partitions() {
                sizes.push(rows.longest_row()?.reshape([1i64])?);
            }
            sizes.push(self.flat_values().shape_tensor_as(dtype)?.slice_with(&[(1..).into()])?);
            concat(&sizes, 0)
        })
    }
}
