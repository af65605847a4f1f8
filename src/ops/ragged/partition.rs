//! Constructors of ragged values, and the encodings of their row partitions.

use shapeflow_shape_fns::{DType, Dim, IntoDim, counted};

use super::counts::count_check;
use super::errors::{check_encoding, refuse};
use super::numbers::{convert_splits, dim_param, dim_value, number, own_dim};
use super::splits::{CHECKED, FROM_ROWIDS};
use crate::error::{ErrorKind, Result};
use crate::graph::{AnyValue, Graph, IntoOptionalParam, RaggedValue, RowPartitionValue, Value};
use crate::ops::concat;
use crate::ragged::{Encoding, Unchecked};

/// Returns the splits of rows of these lengths.
pub(super) fn splits_of_lengths<'g>(lengths: Value<'g>) -> Result<Value<'g>> {
    let zero = number(lengths.graph(), lengths.dtype(), 0)?.reshape([1i64])?;
    concat(&[zero, lengths.cumsum(0)?], 0)
}

impl<'g> AnyValue<'g> {
    /// Returns the size of axis 0; see [`own_dim`].
    pub(super) fn count(self) -> Result<Dim> {
        match self {
            AnyValue::Dense(value) => own_dim(value, 0),
            AnyValue::Ragged(value) => value.own_nrows(),
        }
    }

    /// Puts a partition around values. They are poisoned if their splits have another dtype.
    pub(super) fn split_by(self, partition: RowPartitionValue<'g>) -> RaggedValue<'g> {
        let (mut partitions, flat) = (self.partitions(), self.flat_values());
        let same = self.check_splits_dtype(partition.row_splits().dtype());
        partitions.insert(0, partition);
        RaggedValue::new(flat.or_poison(same.map(|()| flat)), &partitions)
    }

    /// Checks that row splits have the dtype of the splits of ragged values.
    pub(super) fn check_splits_dtype(self, dtype: DType) -> Result<()> {
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

impl<'g> From<Value<'g>> for Encoding<Value<'g>> {
    fn from(data: Value<'g>) -> Encoding<Value<'g>> {
        Encoding { data, is_checked: true }
    }
}

impl<'g> From<Unchecked<Value<'g>>> for Encoding<Value<'g>> {
    fn from(data: Unchecked<Value<'g>>) -> Encoding<Value<'g>> {
        Encoding { data: data.0, is_checked: false }
    }
}

/// Makes a partition of values from splits, which the run checks if `source` is checked. `encoding` and `source` say
/// what the splits come from.
fn partition_of<'g>(
    values: AnyValue<'g>,
    encoding: &'static str,
    source: Encoding<Value<'g>>,
    splits: Value<'g>,
) -> Result<RowPartitionValue<'g>> {
    values.check_splits_dtype(splits.dtype())?;
    let call = splits.graph().op(&CHECKED).data(splits).size("nvals", dim_param(values.count()?));
    let call = call.attr("encoding", encoding.split(' ').next().unwrap_or(encoding));
    let splits = call.attr("validate", source.is_checked).finish()?;
    let splits = if source.is_checked { splits } else { clamped(splits, values)? };
    RowPartitionValue::new(encoding, source.data, splits, None)
}

/// Clamps splits that no check scans to the range from 0 to the number of values, so that no row is longer than all
/// values together. Correct splits do not change.
fn clamped<'g>(splits: Value<'g>, values: AnyValue<'g>) -> Result<Value<'g>> {
    let (graph, dtype) = (splits.graph(), splits.dtype());
    splits.maximum(number(graph, dtype, 0)?)?.minimum(dim_value(graph, values.count()?)?.cast(dtype)?)
}

impl<'g> RaggedValue<'g> {
    /// Splits values at positions: row `i` holds `values[splits[i]..splits[i + 1]]`.
    ///
    /// `values [nvals, ..], splits [n+1] -> [n, (r), ..]`; values may be ragged; splits are i32 or i64. The run fails
    /// unless the splits start at 0, never decrease, and end at `nvals`. Two ragged values made from the same splits
    /// are known to match. As TensorFlow's `RaggedTensor.from_row_splits`.
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
    /// The values are a scalar, the splits are not a vector of i32 or i64, or ragged values have splits of another
    /// dtype.
    #[track_caller]
    pub fn from_row_splits(
        values: impl Into<AnyValue<'g>>,
        splits: impl Into<Encoding<Value<'g>>>,
    ) -> Result<RaggedValue<'g>> {
        let (values, splits) = (values.into(), splits.into());
        values.graph().in_call("from_row_splits", || {
            check_encoding(values.graph(), "row_splits", splits.data)?;
            Ok(values.split_by(partition_of(values, "row_splits", splits, splits.data)?))
        })
    }

    /// Splits values into rows of given lengths, `[n]`. Otherwise as [`RaggedValue::from_row_splits`].
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
    pub fn from_row_lengths(
        values: impl Into<AnyValue<'g>>,
        lengths: impl Into<Encoding<Value<'g>>>,
    ) -> Result<RaggedValue<'g>> {
        let (values, lengths) = (values.into(), lengths.into());
        values.graph().in_call("from_row_lengths", || {
            check_encoding(values.graph(), "row_lengths", lengths.data)?;
            let partition = partition_of(values, "row_lengths", lengths, splits_of_lengths(lengths.data)?)?;
            if lengths.is_checked {
                partition.keep_source(
                    |encodings| &mut encodings.lengths,
                    lengths.data,
                    partition.own_nrows()?,
                )?;
            }
            Ok(values.split_by(partition))
        })
    }

    /// Splits values into rows that start at given positions, `[n]`. Otherwise as [`RaggedValue::from_row_splits`].
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
    pub fn from_row_starts(
        values: impl Into<AnyValue<'g>>,
        starts: impl Into<Encoding<Value<'g>>>,
    ) -> Result<RaggedValue<'g>> {
        let (values, starts) = (values.into(), starts.into());
        values.graph().in_call("from_row_starts", || {
            check_encoding(values.graph(), "row_starts", starts.data)?;
            let dtype = starts.data.dtype();
            let last = dim_value(values.graph(), values.count()?)?.reshape([1i64])?;
            let last = convert_splits(last, dtype)?;
            let splits = concat(&[starts.data, last], 0)?;
            // Starts alone do not say where the last row ends.
            let source = Encoding { data: splits, ..starts };
            let partition = partition_of(values, "row_starts", source, splits)?;
            if starts.is_checked {
                partition.keep_source(
                    |encodings| &mut encodings.starts,
                    starts.data,
                    partition.own_nrows()?,
                )?;
            }
            Ok(values.split_by(partition))
        })
    }

    /// Splits values into rows that end at given positions, `[n]`. Otherwise as [`RaggedValue::from_row_splits`].
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
    pub fn from_row_limits(
        values: impl Into<AnyValue<'g>>,
        limits: impl Into<Encoding<Value<'g>>>,
    ) -> Result<RaggedValue<'g>> {
        let (values, limits) = (values.into(), limits.into());
        values.graph().in_call("from_row_limits", || {
            check_encoding(values.graph(), "row_limits", limits.data)?;
            let zero = number(values.graph(), limits.data.dtype(), 0)?.reshape([1i64])?;
            let splits = concat(&[zero, limits.data], 0)?;
            let partition = partition_of(values, "row_limits", limits, splits)?;
            if limits.is_checked {
                partition.keep_source(
                    |encodings| &mut encodings.limits,
                    limits.data,
                    partition.own_nrows()?,
                )?;
            }
            Ok(values.split_by(partition))
        })
    }

    /// Puts value `i` into row `rowids[i]`. Row ids ascend. `nrows` is the number of rows: an integer, a
    /// [`Dim`](crate::Dim), a value, or `None` if the last row id gives the number.
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
    /// let four = RaggedValue::from_value_rowids(g.constant([1, 2, 3])?, g.constant([0i64, 0, 2])?, 4)?;
    /// assert_eq!(g.compile(four)?.run_named(&[])?.ragged_at(0)?, ragged![[1, 2], [], [3], []]);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`RaggedValue::from_row_splits`]. The run fails if a row id is less than the one before, negative, or not
    /// less than `nrows`. Without `nrows`, the run fails if a row id needs more than 2^24 rows and more than 64 rows
    /// for each value.
    #[track_caller]
    pub fn from_value_rowids(
        values: impl Into<AnyValue<'g>>,
        rowids: impl Into<Encoding<Value<'g>>>,
        nrows: impl IntoOptionalParam<'g>,
    ) -> Result<RaggedValue<'g>> {
        let (values, rowids) = (values.into(), rowids.into());
        let nrows = nrows.into_optional_param();
        values.graph().in_call("from_value_rowids", || {
            check_encoding(values.graph(), "value_rowids", rowids.data)?;
            let mut call = values.graph().op(&FROM_ROWIDS).data(rowids.data);
            // Row ids alone do not say how many empty rows follow the last value.
            let encoding = if nrows.is_some() { "value_rowids and nrows" } else { "value_rowids" };
            if let Some(nrows) = nrows {
                call = call.size("nrows", nrows);
            }
            let splits = call.attr("validate", rowids.is_checked).finish()?;
            let data = if encoding == "value_rowids" { rowids.data } else { splits };
            let partition = partition_of(values, encoding, Encoding { data, ..rowids }, splits)?;
            if rowids.is_checked {
                partition.keep_source(|encodings| &mut encodings.rowids, rowids.data, values.count()?)?;
            }
            Ok(values.split_by(partition))
        })
    }

    /// Splits values into rows of one length. The axis is uniform. Without `nrows`, the number of values gives the
    /// number of rows; there are no rows of length 0.
    ///
    /// `values [nvals, ..] -> [nrows, length, ..]`, any dtype. It is composed of other ops, and no value moves. As
    /// TensorFlow's `RaggedTensor.from_uniform_row_length`.
    ///
    /// ```
    /// use shapeflow::{Graph, RaggedValue};
    ///
    /// let g = Graph::new();
    /// let pairs = RaggedValue::from_uniform_row_length(g.constant([1, 2, 3, 4])?, 2, None)?;
    /// let empty = RaggedValue::from_uniform_row_length(g.constant([0i32; 0])?, 0, Some(3.into()))?;
    /// let results = g.compile((("pairs", pairs), ("empty", empty)))?.run_named(&[])?;
    /// assert_eq!(results.ragged("pairs")?.to_string(), "[[1, 2], [3, 4]]");
    /// assert_eq!(results.ragged("empty")?.to_string(), "[[], [], []]");
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// `length` or `nrows` is negative, or the number of values is known not to be `nrows * length`. If it is not
    /// known, the run fails.
    #[track_caller]
    pub fn from_uniform_row_length(
        values: impl Into<AnyValue<'g>>,
        length: impl IntoDim,
        nrows: Option<Dim>,
    ) -> Result<RaggedValue<'g>> {
        let (values, length) = (values.into(), length.into_dim());
        let graph = values.graph();
        graph.in_call("from_uniform_row_length", || {
            let sizes = [("the row length", Some(&length)), ("nrows", nrows.as_ref())];
            let known =
                |(name, size): (_, Option<&Dim>)| size.and_then(Dim::as_known).map(|size| (name, size));
            if let Some((name, size)) = sizes.into_iter().filter_map(known).find(|(_, size)| *size < 0) {
                let message = format!("{name} must not be negative, got {size}");
                return Err(refuse(graph, ErrorKind::Shape, message));
            }
            let count = values.count()?;
            let rows = match (nrows, length.as_known()) {
                (Some(rows), _) => rows,
                (None, Some(0)) => Dim::known(0),
                (None, _) => count.ceil_div(&length)?,
            };
            let requirement =
                format!("the number of values in {rows} of {length} must be", rows = counted(&rows, "row"));
            let needed = rows.clone() * length.clone();
            let Some(check) = count_check(values, &needed, &requirement)? else {
                return Ok(values.split_by(uniform_partition(values, rows, length)?));
            };
            let guard = |part: Value<'g>| check.guard(part);
            let partition = uniform_partition(values, rows, length)?.guarded(&guard)?;
            Ok(values.guarded(&guard)?.split_by(partition))
        })
    }

    /// Splits flat values by several row splits, outermost first. As TensorFlow's
    /// `RaggedTensor.from_nested_row_splits`.
    ///
    /// As [`RaggedValue::from_row_splits`] for each partition, the innermost first.
    ///
    /// # Errors
    /// There are no splits; otherwise as [`RaggedValue::from_row_splits`].
    #[track_caller]
    pub fn from_nested_row_splits<E: Copy + Into<Encoding<Value<'g>>>>(
        flat: Value<'g>,
        splits: &[E],
    ) -> Result<RaggedValue<'g>> {
        flat.graph().in_call("from_nested_row_splits", || {
            let nested = splits.iter().rev().try_fold(AnyValue::Dense(flat), |values, splits| {
                RaggedValue::from_row_splits(values, *splits).map(AnyValue::Ragged)
            });
            nested?.ragged()
        })
    }

    /// Splits flat values by several row lengths, outermost first. As TensorFlow's
    /// `RaggedTensor.from_nested_row_lengths`.
    ///
    /// As [`RaggedValue::from_row_lengths`] for each partition, the innermost first.
    ///
    /// # Errors
    /// There are no lengths; otherwise as [`RaggedValue::from_row_lengths`].
    #[track_caller]
    pub fn from_nested_row_lengths<E: Copy + Into<Encoding<Value<'g>>>>(
        flat: Value<'g>,
        lengths: &[E],
    ) -> Result<RaggedValue<'g>> {
        flat.graph().in_call("from_nested_row_lengths", || {
            let nested = lengths.iter().rev().try_fold(AnyValue::Dense(flat), |values, lengths| {
                RaggedValue::from_row_lengths(values, *lengths).map(AnyValue::Ragged)
            });
            nested?.ragged()
        })
    }
}

/// Makes the partition of values into `rows` rows of `length` values.
pub(super) fn uniform_partition<'g>(
    values: AnyValue<'g>,
    rows: Dim,
    length: Dim,
) -> Result<RowPartitionValue<'g>> {
    let dtype = values.partitions().first().map_or(DType::I64, |rows| rows.row_splits().dtype());
    uniform_rows(values.graph(), dtype, rows, length)
}

/// Makes a partition of `rows` rows of `length` values whose splits are of `dtype`.
pub(super) fn uniform_rows<'g>(
    graph: &'g Graph,
    dtype: DType,
    rows: Dim,
    length: Dim,
) -> Result<RowPartitionValue<'g>> {
    let count = rows.checked_mul(&length)?;
    let numbers = graph.range(0i64, rows + 1, 1i64)?;
    let scaled = (numbers * dim_value(graph, length.clone())?).ok()?;
    let splits = match count.as_known() {
        Some(count) if count <= i64::from(i32::MAX) => scaled.cast(dtype)?,
        _ => convert_splits(scaled, dtype)?,
    };
    RowPartitionValue::new("uniform", splits, splits, Some(length))
}
