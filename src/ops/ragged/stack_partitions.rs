//! `stack_dynamic_partitions` and counts: rows by the numbers that values name.

use shapeflow_shape_fns::{DType, TensorShape};

use crate::error::{ErrorKind, Result};
use crate::graph::{AnyValue, IntoOperand, IntoParam, RaggedValue, Value};
use crate::ops::SliceItem;
use crate::ops::segment::counts;

use super::counts::with_count_of;
use super::errors::refuse;
use super::select::take;

impl<'g> RaggedValue<'g> {
    /// Makes row `i` of all items of `data` whose partition is `i`, in their order.
    ///
    /// `data [d.., ..], partitions [d..] -> [num_partitions, (r), ..]`. Data and partitions are dense or ragged; the
    /// partitions are i32 or i64 and have the first axes of `data`. A scalar is the partition of all data as one item.
    /// As TensorFlow's `tf.ragged.stack_dynamic_partitions`. Runs on the host.
    ///
    /// ```
    /// use shapeflow::{Graph, RaggedValue};
    ///
    /// let g = Graph::new();
    /// let (data, partitions) = (g.constant([1, 2, 3, 4, 5])?, g.constant([3, 0, 2, 2, 3])?);
    /// let rt = RaggedValue::stack_dynamic_partitions(data, partitions, 5)?;
    /// assert_eq!(g.compile(rt)?.run_named(&[])?.ragged_at(0)?.to_string(), "[[2], [], [3, 4], [1, 5], []]");
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The partitions have an unknown rank or another dtype, or other first axes than `data`. The run fails if the
    /// first axes differ, or a partition is negative or not less than `num_partitions`.
    #[track_caller]
    pub fn stack_dynamic_partitions(
        data: impl Into<AnyValue<'g>>,
        partitions: impl Into<AnyValue<'g>>,
        num_partitions: impl IntoParam<'g>,
    ) -> Result<RaggedValue<'g>> {
        let (data, partitions) = (data.into(), partitions.into());
        partitions.graph().in_call("stack_dynamic_partitions", || {
            let partitions = match data {
                AnyValue::Ragged(data) => with_splits_dtype(partitions, data.row_splits().dtype())?,
                AnyValue::Dense(_) => partitions,
            };
            let (data, partitions) = flattened(data, partitions)?;
            let order = partitions.argsort(0, false)?;
            let rowids = partitions.gather(order, 0)?;
            RaggedValue::from_value_rowids(take(data, order)?, rowids, num_partitions)
        })
    }

    /// Splits the rows into `count` values: value `k` holds the items of `self` whose partition is `k`, in their order.
    ///
    /// `[d.., ..], partitions [d..] -> count × [(k), ..]`, any dtype. The partitions are dense or ragged, i32 or i64,
    /// and have the first axes of `self`. A value is dense if its items have no ragged axis. As TensorFlow's
    /// `tf.dynamic_partition`. Runs on the host; it is composed of [`RaggedValue::stack_dynamic_partitions`] and of a
    /// selection of each row.
    ///
    /// ```
    /// use shapeflow::{Graph, ragged};
    ///
    /// let g = Graph::new();
    /// let rt = g.ragged_constant(&ragged![[1, 2], [3], [4, 5]])?;
    /// let parts = rt.dynamic_partition(g.constant([1, 0, 1])?, 2)?;
    /// let results = g.compile(&parts[..])?.run_named(&[])?;
    /// assert_eq!(results.ragged_at(0)?.to_string(), "[[3]]");
    /// assert_eq!(results.ragged_at(1)?.to_string(), "[[1, 2], [4, 5]]");
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// `count` is 0 or more than 65,536; else as [`RaggedValue::stack_dynamic_partitions`].
    #[track_caller]
    pub fn dynamic_partition(
        self,
        partitions: impl Into<AnyValue<'g>>,
        count: usize,
    ) -> Result<Vec<AnyValue<'g>>> {
        self.in_call("dynamic_partition", || {
            if !(1..=MAX_PARTS).contains(&count) {
                let message = format!("the number of parts must be between 1 and {MAX_PARTS}, got {count}");
                return Err(refuse(self.graph(), ErrorKind::Attribute, message));
            }
            let rows = RaggedValue::stack_dynamic_partitions(self, partitions, count)?;
            (0..count).map(|part| rows.slice_with(&[SliceItem::at(part as i64)])).collect()
        })
    }

    /// Counts the occurrences of each number below `size` in every row: `[n, (r)] -> i64[n, size]`. If `binary`, a
    /// number that occurs counts 1, which makes rows of indices "multi-hot" rows.
    ///
    /// i32 or i64. Numbers of `size` or more are dropped; a negative one fails the run. As TensorFlow's
    /// `RaggedBincount` without weights. Runs on the host.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor, ragged};
    ///
    /// let g = Graph::new();
    /// let rt = g.ragged_constant(&ragged![[1, 1, 0], [], [2]])?;
    /// let [counts] = g.compile(rt.bincount(3, false)?)?.run(&[])?;
    /// assert_eq!(counts, Tensor::from([[1i64, 2, 0], [0, 0, 0], [0, 0, 1]]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// There is more than one partition, or `size` is negative, or the dtype is not i32 or i64.
    #[doc(alias = "multi_hot")]
    #[track_caller]
    pub fn bincount(self, size: impl IntoParam<'g>, binary: bool) -> Result<Value<'g>> {
        self.in_call("bincount", || self.count_rows(size, counts::no_weights(self.graph())?, binary))
    }

    /// Adds up the weights of each number below `size` in every row: `[n, (r)] -> [n, size]`.
    ///
    /// i32 or i64. `weights` is i32, i64, f32 or f64 with the same number of flat values, or empty, which makes every
    /// weight 1. As TensorFlow's `RaggedBincount`. Runs on the host.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor, ragged};
    ///
    /// let g = Graph::new();
    /// let rt = g.ragged_constant(&ragged![[1, 0, 1], [], [2]])?;
    /// let weights = g.constant([0.5f32, 2.0, 1.0, 4.0])?;
    /// let [sums] = g.compile(rt.bincount_weighted(3, weights)?)?.run(&[])?;
    /// assert_eq!(sums, Tensor::from([[2.0f32, 1.5, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 4.0]]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`bincount`](Self::bincount).
    #[track_caller]
    pub fn bincount_weighted(
        self,
        size: impl IntoParam<'g>,
        weights: impl IntoOperand<'g>,
    ) -> Result<Value<'g>> {
        let location = std::panic::Location::caller();
        self.in_call("bincount_weighted", || {
            let weights = weights.into_own_operand(self.graph(), location);
            self.count_rows(size, weights, false)
        })
    }

    fn count_rows(self, size: impl IntoParam<'g>, weights: Value<'g>, binary: bool) -> Result<Value<'g>> {
        let flat = self.flat_values();
        if self.ragged_rank() != 1 || flat.shape().rank() != Some(1) {
            let message = format!("counted rows must hold numbers, got {}", self.shape_text());
            return Err(refuse(self.graph(), ErrorKind::Shape, message)
                .with_help("use merge_dims, or flat_values().bincount for counts of all numbers"));
        }
        let splits = self.with_row_splits_dtype(crate::DType::I64)?.row_splits();
        let call = self.graph().op(&counts::RAGGED).data(splits).data(flat).size("size", size);
        call.data(weights).attr("binary_output", binary).finish()
    }
}

/// Returns partitions whose numbers and row splits have the dtype of the row splits of the data.
fn with_splits_dtype<'g>(partitions: AnyValue<'g>, dtype: DType) -> Result<AnyValue<'g>> {
    let numbers = partitions.flat_values();
    if !matches!(numbers.dtype(), DType::I32 | DType::I64) {
        let message = format!("partitions must be i32 or i64, got {}", numbers.dtype());
        return Err(refuse(partitions.graph(), ErrorKind::DType, message));
    }
    match partitions {
        AnyValue::Dense(numbers) => numbers.cast(dtype).map(AnyValue::Dense),
        AnyValue::Ragged(ragged) => ragged.cast(dtype).map(AnyValue::Ragged),
    }
}

/// The greatest number of values of a [`RaggedValue::dynamic_partition`].
const MAX_PARTS: usize = 1 << 16;

/// Merges the axes of the partitions into one axis, of the partitions and of the data. Both get the same number of
/// items.
fn flattened<'g>(data: AnyValue<'g>, partitions: AnyValue<'g>) -> Result<(AnyValue<'g>, Value<'g>)> {
    let graph = partitions.graph();
    let rank = match partitions {
        AnyValue::Ragged(ragged) => ragged.shape().rank(),
        AnyValue::Dense(numbers) => numbers.shape().rank(),
    };
    let rank = rank.ok_or_else(|| {
        refuse(graph, ErrorKind::Shape, "the partitions must have a known rank".to_string())
    })?;
    match (data, partitions) {
        // A scalar is the partition of the data as a whole.
        (AnyValue::Dense(data), AnyValue::Dense(number)) if rank == 0 => {
            Ok((data.expand_dims(0)?.into(), number.reshape([1i64])?))
        }
        (AnyValue::Ragged(data), AnyValue::Dense(number)) if rank == 0 => {
            Ok((data.expand_dims(0)?.into(), number.reshape([1i64])?))
        }
        (data, AnyValue::Dense(numbers)) if rank == 1 => {
            let requirement = "the number of partitions must be the number of items of data,";
            Ok((data, with_count_of(numbers.into(), data, requirement)?.flat_values()))
        }
        (AnyValue::Dense(data), AnyValue::Dense(numbers)) => joined(data, numbers, rank),
        (data, partitions) => {
            let splits = [data, partitions].into_iter().find_map(|value| value.partitions().first().copied());
            let dtype = splits.expect("one of both is ragged").row_splits().dtype();
            let [data, partitions] = data.rows(dtype)?.with_equal_rows(partitions.rows(dtype)?)?;
            flattened(data.values(), partitions.values())
        }
    }
}

/// Merges the first `rank` axes of dense data and of dense partitions, which have these axes.
fn joined<'g>(data: Value<'g>, numbers: Value<'g>, rank: usize) -> Result<(AnyValue<'g>, Value<'g>)> {
    let (graph, shape, numbers_shape) = (data.graph(), data.shape(), numbers.shape());
    let same = |(a, b)| graph.same_dim(a, b) != Some(false);
    let sizes = shape.dims().filter(|sizes| sizes.len() >= rank);
    let sizes = sizes.filter(|sizes| sizes.iter().zip(numbers_shape.dims().unwrap_or_default()).all(same));
    let Some((outer, inner)) = sizes.map(|sizes| sizes.split_at(rank)) else {
        let message =
            format!("data must begin with the axes of the partitions, {numbers_shape}, got {shape}");
        return Err(refuse(graph, ErrorKind::Shape, message));
    };
    // A difference of the sizes fails the run.
    let numbers = numbers.ensure_shape(TensorShape::new(outer.iter().cloned()))?;
    let count = outer.iter().cloned().reduce(|a, b| a * b).expect("the rank is at least 2");
    let data = data.reshape([std::slice::from_ref(&count), inner].concat())?;
    Ok((data.into(), numbers.reshape([count])?))
}
