//! `stack_dynamic_partitions` and counts: rows by the numbers that values name.

use crate::error::{ErrorKind, Result};
use crate::graph::{AnyValue, IntoOperand, IntoParam, RaggedValue, Value};
use crate::ops::segment::counts;

use super::partition::refuse;
use super::select::take;

impl<'g> RaggedValue<'g> {
    /// Makes row `i` of all items of `data` whose partition is `i`, in their order.
    ///
    /// `data [d.., ..], partitions [d..] -> [num_partitions, (r), ..]`. Data and partitions are dense or ragged; the
    /// partitions are i32 or i64 and have the first axes of `data`. As TensorFlow's
    /// `tf.ragged.stack_dynamic_partitions`. Runs on the host.
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
    /// The partitions have an unknown rank, or other first axes than `data`. The run fails if a partition is negative
    /// or not less than `num_partitions`.
    #[track_caller]
    pub fn stack_dynamic_partitions(
        data: impl Into<AnyValue<'g>>,
        partitions: impl Into<AnyValue<'g>>,
        num_partitions: impl IntoParam<'g>,
    ) -> Result<RaggedValue<'g>> {
        let (data, partitions) = (data.into(), partitions.into());
        let _call = partitions.graph().open_call();
        let (data, partitions) = flattened(data, partitions)?;
        let order = partitions.argsort(0, false)?;
        let rowids = partitions.gather(order, 0)?;
        RaggedValue::from_value_rowids(take(data, order)?, rowids, Some(num_partitions.into_param()))
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
        let _call = self.graph().open_call();
        self.count_rows(size, counts::no_weights(self.graph())?, binary)
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
        let _call = self.graph().open_call();
        let weights = weights.into_operand(self.flat_values(), std::panic::Location::caller());
        self.count_rows(size, weights, false)
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

/// Merges the axes of the partitions into one axis, of the partitions and of the data.
fn flattened<'g>(data: AnyValue<'g>, partitions: AnyValue<'g>) -> Result<(AnyValue<'g>, Value<'g>)> {
    let graph = partitions.graph();
    let differ = || {
        let message = "data must begin with the axes of the partitions".to_string();
        refuse(graph, ErrorKind::Shape, message).with_help("make both ragged with from_tensor, or both dense")
    };
    match (data, partitions) {
        (_, AnyValue::Ragged(ragged)) => {
            let AnyValue::Ragged(data) = data else { return Err(differ()) };
            let same = data.first_partition_matched(ragged)?;
            flattened(same, ragged.values())
        }
        (data, AnyValue::Dense(numbers)) => match (data, numbers.shape().rank()) {
            (_, None) => {
                let message = "the partitions must have a known rank".to_string();
                Err(refuse(graph, ErrorKind::Shape, message))
            }
            (_, Some(0)) => {
                Err(refuse(graph, ErrorKind::Shape, "the partitions must not be a scalar".to_string()))
            }
            (data, Some(1)) => Ok((data, numbers)),
            (AnyValue::Ragged(_), Some(_)) => Err(differ()),
            (AnyValue::Dense(data), Some(rank)) => {
                let (shape, numbers_shape) = (data.shape(), numbers.shape());
                let (Some(sizes), Some(named)) = (shape.dims(), numbers_shape.dims()) else {
                    return Err(differ());
                };
                let same = |(a, b)| graph.same_dim(a, b) != Some(false);
                if sizes.len() < rank || !sizes.iter().zip(named).all(same) {
                    return Err(differ());
                }
                // Both the data and the partitions get the joined size, so that a difference fails the run.
                let count = named.iter().cloned().reduce(|a, b| a * b).expect("the rank is at least 2");
                let data = data.reshape([std::slice::from_ref(&count), &sizes[rank..]].concat())?;
                Ok((data.into(), numbers.reshape([count])?))
            }
        },
    }
}

impl<'g> RaggedValue<'g> {
    /// Returns the values of `self`. The run of their users fails unless the outermost partition of `other` is the
    /// same, if this is not known now.
    pub(super) fn first_partition_matched(self, other: RaggedValue<'g>) -> Result<AnyValue<'g>> {
        let (ours, theirs) = (self.partition(), other.partition());
        if ours.is_same(theirs) {
            return Ok(self.values());
        }
        let call = self.graph().op(&super::splits::SAME).data(self.flat_values());
        let flat = call.data(ours.row_splits()).data(theirs.row_splits()).finish()?;
        Ok(AnyValue::of(flat, &self.partitions()[1..]))
    }
}
