//! Constructors of ragged values, and the encodings of their row partitions.

use shapeflow_shape_fns::{DType, Dim, PartialElements, TensorShape};

use super::splits::{CHECKED, FROM_ROWIDS};
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::graph::{AnyValue, Graph, Param, RaggedValue, RowPartitionValue, Value};
use crate::ops::concat;

/// Makes an error of the open builder call of a graph, with the line of the call.
pub(super) fn refuse(graph: &Graph, kind: ErrorKind, message: String) -> Error {
    let error = Error::new(kind, Phase::Build, message);
    match graph.read().call {
        Some(location) => error.at(location),
        None => error,
    }
}

pub(super) fn dim_param<'g>(dim: Dim) -> Param<'g> {
    Param::Elements(PartialElements::scalar(dim))
}

/// Returns a constant scalar of the dtype of row splits.
pub(super) fn number<'g>(graph: &'g Graph, dtype: DType, number: i64) -> Result<Value<'g>> {
    match dtype {
        DType::I32 => graph.constant(number as i32),
        _ => graph.constant(number),
    }
}

/// Returns the splits of rows of these lengths.
pub(super) fn splits_of_lengths<'g>(lengths: Value<'g>) -> Result<Value<'g>> {
    let zero = number(lengths.graph(), lengths.dtype(), 0)?.reshape([1i64])?;
    concat(&[zero, lengths.cumsum(0)?], 0)
}

impl<'g> AnyValue<'g> {
    /// Returns the size of axis 0.
    pub(super) fn count(self) -> Result<Dim> {
        match self {
            AnyValue::Dense(value) => value.dim(0),
            AnyValue::Ragged(value) => Ok(value.partition().nrows()),
        }
    }

    /// Puts a partition around values.
    pub(super) fn split_by(self, partition: RowPartitionValue<'g>) -> RaggedValue<'g> {
        let mut partitions = self.partitions();
        partitions.insert(0, partition);
        RaggedValue::new(self.flat_values(), &partitions)
    }

    /// Checks that row splits have the dtype of the splits of ragged values.
    fn check_splits_dtype(self, dtype: DType) -> Result<()> {
        match self.partitions().first().map(|rows| rows.row_splits().dtype()) {
            Some(inner) if inner != dtype => Err(refuse(
                self.graph(),
                ErrorKind::DType,
                format!("all row_splits must have one dtype, got {dtype} and {inner}"),
            )
            .with_help("use with_row_splits_dtype to convert one of them")),
            _ => Ok(()),
        }
    }
}

/// Makes a partition of values from splits that the run checks. `encoding` and `source` say what the splits come from.
fn checked_partition<'g>(
    values: AnyValue<'g>,
    encoding: &'static str,
    source: Value<'g>,
    splits: Value<'g>,
) -> Result<RowPartitionValue<'g>> {
    values.check_splits_dtype(splits.dtype())?;
    let checked =
        splits.graph().op(&CHECKED).data(splits).size("nvals", dim_param(values.count()?)).finish()?;
    RowPartitionValue::new(encoding, source, checked, None)
}

impl<'g> RaggedValue<'g> {
    /// Splits values at positions: row `i` holds `values[splits[i]..splits[i + 1]]`.
    ///
    /// `values [nvals, ..], splits [n+1] -> [n, (r), ..]`; values may be ragged; splits are i32 or i64. The run fails unless
    /// the splits start at 0, never decrease, and end at `nvals`. Two ragged values made from the same splits are known to
    /// match. As TensorFlow's `RaggedTensor.from_row_splits`.
    ///
    /// It is composed of a check of the splits, which runs on the host; no value moves.
    ///
    /// ```
    /// use shapeflow::{DType, Graph, RaggedValue, TensorView, shape};
    ///
    /// let g = Graph::new();
    /// let x = g.input("x", DType::F32, shape![?])?;
    /// let splits = g.input("splits", DType::I64, shape![4])?;
    /// let rt = RaggedValue::from_row_splits(x, splits)?;
    /// assert_eq!(rt.shape_text(), "[3, (r0)]");
    /// let mean = rt.reduce_mean(1)?.dense()?;
    /// let splits = TensorView::new(&[4], &[0i64, 2, 3, 5])?;
    /// let [y] = g.compile(mean)?.run(&[TensorView::new(&[5], &[1.0f32, 2.0, 3.0, 4.0, 5.0])?, splits])?;
    /// assert_eq!(y.to_vec::<f32>()?, [1.5, 3.0, 4.5]);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The values are a scalar, the splits are not a vector of i32 or i64, or ragged values have splits of another dtype.
    #[track_caller]
    pub fn from_row_splits(values: impl Into<AnyValue<'g>>, splits: Value<'g>) -> Result<RaggedValue<'g>> {
        let _call = splits.graph().open_call();
        let values = values.into();
        Ok(values.split_by(checked_partition(values, "row_splits", splits, splits)?))
    }

    /// Splits values into rows of given lengths, `[n]`. Else as [`RaggedValue::from_row_splits`].
    ///
    /// As TensorFlow's `RaggedTensor.from_row_lengths`. A running sum on the host gives the splits.
    ///
    /// ```
    /// use shapeflow::{Graph, RaggedValue, ragged};
    ///
    /// let g = Graph::new();
    /// let rt = RaggedValue::from_row_lengths(g.constant([1, 2, 3])?, g.constant([2i64, 0, 1])?)?;
    /// let rt = g.compile(rt)?.run_named(&[])?.ragged_at(0)?;
    /// assert_eq!(rt, ragged![[1, 2], [], [3]]);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`RaggedValue::from_row_splits`].
    #[track_caller]
    pub fn from_row_lengths(values: impl Into<AnyValue<'g>>, lengths: Value<'g>) -> Result<RaggedValue<'g>> {
        let _call = lengths.graph().open_call();
        let values = values.into();
        let partition = checked_partition(values, "row_lengths", lengths, splits_of_lengths(lengths)?)?;
        let kept = lengths.index()?;
        partition.keep(|record| record.lengths = Some(kept));
        Ok(values.split_by(partition))
    }

    /// Splits values into rows that start at given positions, `[n]`. Else as [`RaggedValue::from_row_splits`].
    ///
    /// As TensorFlow's `RaggedTensor.from_row_starts`.
    ///
    /// ```
    /// use shapeflow::{Graph, RaggedValue, ragged};
    ///
    /// let g = Graph::new();
    /// let rt = RaggedValue::from_row_starts(g.constant([1, 2, 3])?, g.constant([0i64, 2, 2])?)?;
    /// let rt = g.compile(rt)?.run_named(&[])?.ragged_at(0)?;
    /// assert_eq!(rt, ragged![[1, 2], [], [3]]);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`RaggedValue::from_row_splits`].
    #[track_caller]
    pub fn from_row_starts(values: impl Into<AnyValue<'g>>, starts: Value<'g>) -> Result<RaggedValue<'g>> {
        let _call = starts.graph().open_call();
        let values = values.into();
        let last = match values {
            AnyValue::Dense(value) => value.shape_tensor_as(starts.dtype())?.slice_with(&[(..1).into()])?,
            AnyValue::Ragged(value) => {
                let splits = value.partition().row_splits().shape_tensor_as(starts.dtype())?;
                (splits - 1i64).ok()?
            }
        };
        let splits = concat(&[starts, last], 0)?;
        Ok(values.split_by(checked_partition(values, "row_starts", starts, splits)?))
    }

    /// Splits values into rows that end at given positions, `[n]`. Else as [`RaggedValue::from_row_splits`].
    ///
    /// As TensorFlow's `RaggedTensor.from_row_limits`.
    ///
    /// ```
    /// use shapeflow::{Graph, RaggedValue, ragged};
    ///
    /// let g = Graph::new();
    /// let rt = RaggedValue::from_row_limits(g.constant([1, 2, 3])?, g.constant([2i64, 2, 3])?)?;
    /// let rt = g.compile(rt)?.run_named(&[])?.ragged_at(0)?;
    /// assert_eq!(rt, ragged![[1, 2], [], [3]]);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`RaggedValue::from_row_splits`].
    #[track_caller]
    pub fn from_row_limits(values: impl Into<AnyValue<'g>>, limits: Value<'g>) -> Result<RaggedValue<'g>> {
        let _call = limits.graph().open_call();
        let values = values.into();
        let zero = number(limits.graph(), limits.dtype(), 0)?.reshape([1i64])?;
        let splits = concat(&[zero, limits], 0)?;
        Ok(values.split_by(checked_partition(values, "row_limits", limits, splits)?))
    }

    /// Puts value `i` into row `rowids[i]`. Row ids ascend. Without `nrows`, the last row id gives the number of rows.
    ///
    /// `values [nvals, ..], rowids [nvals] -> [nrows, (r), ..]`. As TensorFlow's `RaggedTensor.from_value_rowids`.
    ///
    /// The values have any dtype. The splits are computed on the host; it is composed of other ops.
    ///
    /// ```
    /// use shapeflow::{Graph, RaggedValue, ragged};
    ///
    /// let g = Graph::new();
    /// let rt = RaggedValue::from_value_rowids(g.constant([1, 2, 3])?, g.constant([0i64, 0, 2])?, None)?;
    /// let rt = g.compile(rt)?.run_named(&[])?.ragged_at(0)?;
    /// assert_eq!(rt, ragged![[1, 2], [], [3]]);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`RaggedValue::from_row_splits`]. The run fails if a row id is less than the one before, negative, or not less than
    /// `nrows`.
    #[track_caller]
    pub fn from_value_rowids(
        values: impl Into<AnyValue<'g>>,
        rowids: Value<'g>,
        nrows: Option<Param<'g>>,
    ) -> Result<RaggedValue<'g>> {
        let _call = rowids.graph().open_call();
        let values = values.into();
        let mut call = rowids.graph().op(&FROM_ROWIDS).data(rowids);
        // Row ids alone do not say how many empty rows follow the last value.
        let encoding = if nrows.is_some() { "value_rowids and nrows" } else { "value_rowids" };
        if let Some(nrows) = nrows {
            call = call.size("nrows", nrows);
        }
        let splits = call.finish()?;
        let source = if encoding == "value_rowids" { rowids } else { splits };
        Ok(values.split_by(checked_partition(values, encoding, source, splits)?))
    }

    /// Splits values into rows of one length. The axis is uniform.
    ///
    /// `values [nvals, ..] -> [nvals / length, length, ..]`, any dtype. No value moves; the splits are composed of other
    /// ops. As TensorFlow's `RaggedTensor.from_uniform_row_length`.
    ///
    /// ```
    /// use shapeflow::{Graph, RaggedValue, ragged};
    ///
    /// let g = Graph::new();
    /// let rt = RaggedValue::from_uniform_row_length(g.constant([1, 2, 3, 4])?, 2)?;
    /// let rt = g.compile(rt)?.run_named(&[])?.ragged_at(0)?;
    /// assert_eq!((rt.to_string(), rt.uniform_row_length()), ("[[1, 2], [3, 4]]".to_string(), Some(2)));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// `length` is less than 1, or the number of values is not a multiple of it.
    #[track_caller]
    pub fn from_uniform_row_length(values: impl Into<AnyValue<'g>>, length: i64) -> Result<RaggedValue<'g>> {
        let values = values.into();
        let graph = values.flat_values().graph();
        let _call = graph.open_call();
        if length < 1 {
            let message = format!("the row length must be at least 1, got {length}");
            return Err(refuse(graph, ErrorKind::Shape, message));
        }
        // The number of rows is the number of groups of one number per value.
        let numbers = graph.range(0i64, values.count()?, 1i64)?;
        let rows = numbers.reshape([-1, length])?.dim(0)?;
        Ok(values.split_by(uniform_partition(values, rows, Dim::known(length))?))
    }

    /// Splits flat values by several row splits, outermost first. As TensorFlow's `RaggedTensor.from_nested_row_splits`.
    ///
    /// As [`RaggedValue::from_row_splits`] for each partition, the innermost first.
    ///
    /// # Errors
    /// There are no splits; else as [`RaggedValue::from_row_splits`].
    #[track_caller]
    pub fn from_nested_row_splits(flat: Value<'g>, splits: &[Value<'g>]) -> Result<RaggedValue<'g>> {
        let _call = flat.graph().open_call();
        let nested = splits.iter().rev().try_fold(AnyValue::Dense(flat), |values, splits| {
            RaggedValue::from_row_splits(values, *splits).map(AnyValue::Ragged)
        });
        nested?.ragged()
    }

    /// Splits flat values by several row lengths, outermost first. As TensorFlow's `RaggedTensor.from_nested_row_lengths`.
    ///
    /// As [`RaggedValue::from_row_lengths`] for each partition, the innermost first.
    ///
    /// # Errors
    /// There are no lengths; else as [`RaggedValue::from_row_lengths`].
    #[track_caller]
    pub fn from_nested_row_lengths(flat: Value<'g>, lengths: &[Value<'g>]) -> Result<RaggedValue<'g>> {
        let _call = flat.graph().open_call();
        let nested = lengths.iter().rev().try_fold(AnyValue::Dense(flat), |values, lengths| {
            RaggedValue::from_row_lengths(values, *lengths).map(AnyValue::Ragged)
        });
        nested?.ragged()
    }
}

/// Makes the partition of values into `rows` rows of `length` values.
pub(super) fn uniform_partition<'g>(
    values: AnyValue<'g>,
    rows: Dim,
    length: Dim,
) -> Result<RowPartitionValue<'g>> {
    let graph = values.flat_values().graph();
    let dtype = values.partitions().first().map_or(DType::I64, |rows| rows.row_splits().dtype());
    let numbers = graph.range(0i64, rows + 1, 1i64)?;
    let scaled = (numbers * dim_value(graph, length.clone())?).ok()?;
    let splits = scaled.cast(dtype)?;
    RowPartitionValue::new("uniform", splits, splits, Some(length))
}

/// Returns a dimension as an i64 scalar.
pub(super) fn dim_value(graph: &Graph, dim: Dim) -> Result<Value<'_>> {
    // A range from the dimension up to the next number has the dimension as its only element.
    graph.range(&dim, dim.clone() + 1, 1i64)?.reshape(TensorShape::new([]))
}
