//! Other axes of ragged values: merge_dims, squeeze, reshape, split.

use shapeflow_shape_fns::{DType, Dim};

use super::errors::{known_int, refuse};
use super::numbers::{convert_splits, dim_value, own_dim};
use super::partition::uniform_rows;
use super::reduce_axes::IntoRaggedAxes;
use super::select::{axis_of, take};
use crate::error::{ErrorKind, Result};
use crate::graph::{AnyValue, IntoParam, IntoShapeArg, RaggedValue, RowPartitionValue, Value};

impl<'g> RaggedValue<'g> {
    /// Merges the axes from `outer` up to and including `inner` into one axis. Negative axes count from the end.
    ///
    /// Any dtype. As TensorFlow's `RaggedTensor.merge_dims`. It is composed of gathers of splits and of a reshape of
    /// the flat values.
    ///
    /// ```
    /// use shapeflow::{Graph, ragged};
    ///
    /// let g = Graph::new();
    /// let rt = g.ragged_constant(&ragged![[[1, 2], [3]], [], [[4]]])?;
    /// let results = g.compile(&[rt.merge_dims(0, 1)?, rt.merge_dims(1, 2)?])?.run_named(&[])?;
    /// assert_eq!(results.ragged_at(0)?.to_string(), "[[1, 2], [3], [4]]");
    /// assert_eq!(results.ragged_at(1)?.to_string(), "[[1, 2, 3], [], [4]]");
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// An axis does not exist, or `outer` is after `inner`.
    #[doc(alias = "flatten")]
    #[track_caller]
    pub fn merge_dims(self, outer: impl IntoParam<'g>, inner: impl IntoParam<'g>) -> Result<AnyValue<'g>> {
        self.in_call("merge_dims", || {
            let (outer, inner) = (axis_of(self, outer, 0)?, axis_of(self, inner, 0)?);
            if outer > inner {
                let message =
                    format!("the outer axis must not be after the inner axis, got {outer} and {inner}");
                return Err(refuse(self.graph(), ErrorKind::Shape, message));
            }
            let (graph, count) = (self.graph(), self.ragged_rank());
            let (mut flat, mut partitions) = (self.flat_values(), self.partitions());
            if inner > count {
                // Inner axes of the flat values join axis 0 of the flat values, or one another.
                let shape = flat.shape();
                let sizes = shape.dims().expect("the rank is known").to_vec();
                let (first, last) = (outer.saturating_sub(count), inner - count);
                let product = |sizes: &[Dim]| sizes.iter().cloned().fold(Dim::known(1), |a, b| a * b);
                let merged = product(&sizes[first..=last]);
                flat = flat.reshape([&sizes[..first], &[merged], &sizes[last + 1..]].concat())?;
                if outer <= count {
                    let rows = partitions[count - 1];
                    let factor = product(&sizes[1..=last]);
                    let splits = rows.row_splits();
                    let scaled = splits.cast(DType::I64)? * dim_value(graph, factor.clone())?;
                    let splits = convert_splits(scaled.ok()?, splits.dtype())?;
                    let uniform = rows.uniform_row_length().map(|length| length * factor);
                    partitions[count - 1] = RowPartitionValue::new("splits", splits, splits, uniform)?;
                }
            }
            // Partition `i` makes axis `i + 1` from axis `i`. Merging axes `outer..=inner` joins partitions
            // `outer..inner`.
            let joined = outer.min(count)..inner.min(count);
            if outer > 0 && !joined.is_empty() {
                let rows = partitions[outer - 1];
                let (mut splits, mut uniform) = (rows.row_splits(), rows.uniform_row_length());
                for next in &partitions[joined.clone()] {
                    splits = next.row_splits().gather(splits, 0)?;
                    uniform = uniform.zip(next.uniform_row_length()).map(|(a, b)| a * b);
                }
                if let Some(Err(error)) = uniform.as_ref().map(Dim::validate) {
                    return Err(refuse(graph, ErrorKind::Shape, error.to_string()));
                }
                partitions[outer - 1] = RowPartitionValue::new("splits", splits, splits, uniform)?;
            }
            partitions.drain(joined);
            Ok(AnyValue::of(flat, &partitions))
        })
    }

    /// Removes axes of size 1; `..` removes every axis whose size is known to be 1. The run fails if a row along a
    /// removed axis has another length than 1.
    ///
    /// Any dtype. As TensorFlow's `tf.squeeze`. It is composed of other ops; no value moves.
    ///
    /// ```
    /// use shapeflow::{Graph, ragged};
    ///
    /// let g = Graph::new();
    /// let rt = g.ragged_constant(&ragged![[[1, 2]], [[3]], [[]]])?;
    /// let squeezed = g.compile(rt.squeeze([1])?)?.run_named(&[])?.ragged_at(0)?;
    /// assert_eq!(squeezed.to_string(), "[[1, 2], [3], []]");
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// An axis does not exist, its size cannot be 1, or `axes` keeps the reduced axes.
    #[track_caller]
    pub fn squeeze(self, axes: impl IntoRaggedAxes) -> Result<AnyValue<'g>> {
        self.in_call("squeeze", || {
            let refuse = |message: &str| refuse(self.graph(), ErrorKind::Attribute, message.to_owned());
            if axes.keeps_dims() {
                return Err(refuse("squeeze removes axes, so it cannot keep them: omit keep_dims"));
            }
            let (rank, depth) = (super::reduce::rank_of(self)?, self.ragged_rank());
            let are_all = axes.are_all();
            let axes = axes
                .axes(rank)
                .ok_or_else(|| refuse("the axes of squeeze must be known when the graph is built"))?;
            let shape = self.shape();
            let mut sizes = shape.dims().expect("the rank is known").to_vec();
            sizes[0] = self.own_nrows()?;
            let is_one = |axis: usize| sizes[axis].as_known() == Some(1);
            let chosen: Vec<usize> = if are_all || axes.is_empty() {
                (0..rank).filter(|axis| is_one(*axis)).collect()
            } else {
                axes.into_iter().map(|axis| axis_of(self, axis, 0)).collect::<Result<_>>()?
            };
            let mut value = AnyValue::from(self);
            for (axis, rows) in
                self.partitions().into_iter().enumerate().map(|(index, rows)| (index + 1, rows))
            {
                if chosen.contains(&axis) && !is_one(axis) {
                    if rows.uniform_row_length().as_ref().and_then(Dim::as_known).is_some() {
                        return Err(not_one(self, axis, &sizes[axis].to_string()));
                    }
                    let ones = rows.row_lengths()?.equal(1)?.reduce_all(0)?;
                    let message = format!("every row along axis {axis} must have length 1");
                    value = value.guarded(&|part| part.checked(ones, &message))?;
                }
            }
            if chosen.contains(&0) && !is_one(0) {
                if sizes[0].is_known() {
                    return Err(not_one(self, 0, &sizes[0].to_string()));
                }
                let one = dim_value(self.graph(), sizes[0].clone())?.equal(1)?;
                value = value.guarded(&|part| part.checked(one, "axis 0 must have size 1"))?;
            }
            let mut flat = value.flat_values();
            let inner: Vec<i64> =
                chosen.iter().filter(|axis| **axis > depth).map(|axis| (axis - depth) as i64).collect();
            if !inner.is_empty() {
                flat = flat.squeeze(&inner)?;
            }
            let kept = value.partitions().into_iter().enumerate();
            let mut kept: Vec<RowPartitionValue<'g>> =
                kept.filter(|(index, _)| !chosen.contains(&(index + 1))).map(|(_, rows)| rows).collect();
            if chosen.contains(&0) {
                match kept.is_empty() {
                    true => flat = flat.squeeze([0])?,
                    false => drop(kept.remove(0)),
                }
            }
            Ok(AnyValue::of(flat, &kept))
        })
    }

    /// Returns the elements in a dense shape, whose number of elements is the same. A ragged shape of the result comes
    /// from [`with_flat_values`](Self::with_flat_values) of a value that has this shape.
    ///
    /// As TensorFlow's `tf.reshape`. Fuses into kernels.
    ///
    /// `[n, (r), ..] -> shape`, any dtype; as [`Value::reshape`] on the flat values.
    ///
    /// # Errors
    /// As [`Value::reshape`].
    #[track_caller]
    pub fn reshape(self, shape: impl IntoShapeArg<'g>) -> Result<Value<'g>> {
        self.in_call("reshape", || self.flat_values().reshape(shape))
    }

    /// Splits along axis 0 or a uniform axis into `num` parts of equal sizes.
    ///
    /// As TensorFlow's `tf.split`. It is composed of selections of rows and of splits of the flat values.
    ///
    /// ```
    /// use shapeflow::{AnyValue, Graph, ragged};
    ///
    /// let g = Graph::new();
    /// let rt = g.ragged_constant(&ragged![[1, 2], [], [3], [4, 5, 6]])?;
    /// let halves = rt.split_n(2, 0)?;
    /// let results = g.compile(&[halves[0], halves[1]].map(AnyValue::from))?.run_named(&[])?;
    /// assert_eq!(results.ragged_at(0)?.to_string(), "[[1, 2], []]");
    /// assert_eq!(results.ragged_at(1)?.to_string(), "[[3], [4, 5, 6]]");
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The axis is ragged or does not exist, or `num` cannot divide its size.
    #[track_caller]
    pub fn split_n(self, num: impl IntoParam<'g>, axis: impl IntoParam<'g>) -> Result<Vec<RaggedValue<'g>>> {
        self.in_call("split_n", || {
            let num = known_int(self.graph(), num, "num")?;
            self.split_by_numbers(axis, |numbers| numbers.split_n(num, 0))
        })
    }

    /// Splits along axis 0 or a uniform axis into parts of the given sizes. One size may be -1, the remainder.
    ///
    /// As [`RaggedValue::split_n`], but for the sizes.
    ///
    /// # Errors
    /// The axis is ragged or does not exist, or the sizes do not add up to its size.
    #[track_caller]
    pub fn split_sizes(
        self,
        sizes: impl IntoParam<'g>,
        axis: impl IntoParam<'g>,
    ) -> Result<Vec<RaggedValue<'g>>> {
        self.in_call("split_sizes", || self.split_by_numbers(axis, |numbers| numbers.split_sizes(sizes, 0)))
    }

    /// Splits the positions of an axis by `split`, and takes the positions of each part.
    fn split_by_numbers(
        self,
        axis: impl IntoParam<'g>,
        split: impl FnOnce(Value<'g>) -> Result<Vec<Value<'g>>>,
    ) -> Result<Vec<RaggedValue<'g>>> {
        let axis = axis_of(self, axis, 0)?;
        let size = match axis.checked_sub(1).and_then(|index| self.partitions().get(index).copied()) {
            None if axis == 0 => self.own_nrows()?,
            None => own_dim(self.flat_values(), axis - self.ragged_rank())?,
            Some(rows) => rows.uniform_row_length().ok_or_else(|| {
                let message =
                    format!("a ragged axis cannot be split, got axis {axis} of {}", self.shape_text());
                refuse(self.graph(), ErrorKind::Shape, message)
                    .with_help("use slice_with, which cuts each row, or to_tensor, which pads the rows")
            })?,
        };
        let parts = split(self.graph().range(0i64, size, 1i64)?)?;
        parts.into_iter().map(|numbers| self.take_along(axis, numbers)).collect()
    }

    /// Takes positions along axis 0 or along a uniform axis.
    fn take_along(self, axis: usize, numbers: Value<'g>) -> Result<RaggedValue<'g>> {
        let depth = self.ragged_rank();
        match axis {
            0 => take(self.into(), numbers)?.ragged(),
            1 => {
                let starts = self.row_starts()?;
                let numbers = numbers.cast(starts.dtype())?;
                let positions = (starts.expand_dims(1)? + numbers).ok()?.reshape([-1i64])?;
                let taken = take(self.values(), positions)?;
                let dtype = starts.dtype();
                Ok(taken.split_by(uniform_rows(
                    self.graph(),
                    dtype,
                    self.own_nrows()?,
                    own_dim(numbers, 0)?,
                )?))
            }
            axis if axis <= depth => {
                let values = self.values().ragged()?.take_along(axis - 1, numbers)?;
                Ok(self.with_values_unchecked(values.into()))
            }
            axis => self.map_flat_values(|flat| flat.gather(numbers, (axis - depth) as i64)),
        }
    }
}

fn not_one(value: RaggedValue<'_>, axis: usize, size: &str) -> crate::error::Error {
    let message = format!("a squeezed axis must have size 1, got {size} at axis {axis}");
    refuse(value.graph(), ErrorKind::Shape, message)
}
