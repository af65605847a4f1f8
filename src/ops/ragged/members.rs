//! What a ragged value consists of: row splits, row lengths, row ids and flat values.

use shapeflow_shape_fns::Dim;

use super::counts::with_count_of;
use super::errors::{check_graphs, refuse};
use super::numbers::dim_param;
use crate::dtype::type_text;
use crate::error::{ErrorKind, Result};
use crate::graph::{RaggedValue, RowPartitionValue, Value};
use crate::ops::SliceItem;

impl<'g> RaggedValue<'g> {
    /// Returns the row splits of the outermost partition.
    ///
    /// `[n + 1]`, i32 or i64. As TensorFlow's `RaggedTensor.row_splits`. Adds no op, so it returns no `Result`: every
    /// partition has its row splits, and [`row_lengths`](RaggedValue::row_lengths) computes other encodings.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor, ragged};
    ///
    /// let g = Graph::new();
    /// let splits = g.ragged_constant(&ragged![[1, 2], [], [3]])?.row_splits();
    /// let [splits] = g.compile(splits)?.run(&[])?;
    /// assert_eq!(splits, Tensor::from([0i64, 2, 2, 3]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// None.
    pub fn row_splits(self) -> Value<'g> {
        self.partition().row_splits()
    }

    /// Returns the row splits of each partition, outermost first.
    ///
    /// As [`RaggedValue::row_splits`] for each partition. As TensorFlow's `RaggedTensor.nested_row_splits`.
    ///
    /// # Errors
    /// None.
    pub fn nested_row_splits(self) -> Vec<Value<'g>> {
        self.partitions().into_iter().map(RowPartitionValue::row_splits).collect()
    }

    /// Returns the number of rows.
    ///
    /// The result is a dimension, for every dtype of the elements. As TensorFlow's `RaggedTensor.nrows`. Adds
    /// no op.
    ///
    /// ```
    /// use shapeflow::{Graph, ragged};
    ///
    /// let g = Graph::new();
    /// let rt = g.ragged_constant(&ragged![[1, 2], [], [3]])?;
    /// assert_eq!(rt.nrows().to_string(), "3");
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// None.
    pub fn nrows(self) -> Dim {
        self.partition().nrows()
    }

    /// Returns the length of each row, `[n]`.
    ///
    /// The lengths have the dtype of the row splits. As TensorFlow's `RaggedTensor.row_lengths`. Fuses into kernels.
    /// Adds ops, so it returns a `Result` as every such method does; [`row_splits`](RaggedValue::row_splits) adds none.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor, ragged};
    ///
    /// let g = Graph::new();
    /// let lengths = g.ragged_constant(&ragged![[1, 2], [], [3]])?.row_lengths()?;
    /// let [lengths] = g.compile(lengths)?.run(&[])?;
    /// assert_eq!(lengths, Tensor::from([2i64, 0, 1]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// None for a value of the library's constructors.
    #[track_caller]
    pub fn row_lengths(self) -> Result<Value<'g>> {
        self.in_call("row_lengths", || self.partition().row_lengths())
    }

    /// Returns the start of each row in the values, `[n]`.
    ///
    /// The positions have the dtype of the row splits. As TensorFlow's `RaggedTensor.row_starts`. Fuses into
    /// kernels.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor, ragged};
    ///
    /// let g = Graph::new();
    /// let starts = g.ragged_constant(&ragged![[1, 2], [], [3]])?.row_starts()?;
    /// let [starts] = g.compile(starts)?.run(&[])?;
    /// assert_eq!(starts, Tensor::from([0i64, 2, 2]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`RaggedValue::row_lengths`].
    #[track_caller]
    pub fn row_starts(self) -> Result<Value<'g>> {
        self.in_call("row_starts", || self.partition().row_starts())
    }

    /// Returns the end of each row in the values, `[n]`.
    ///
    /// The positions have the dtype of the row splits. As TensorFlow's `RaggedTensor.row_limits`. Fuses into
    /// kernels.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor, ragged};
    ///
    /// let g = Graph::new();
    /// let limits = g.ragged_constant(&ragged![[1, 2], [], [3]])?.row_limits()?;
    /// let [limits] = g.compile(limits)?.run(&[])?;
    /// assert_eq!(limits, Tensor::from([2i64, 2, 3]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`RaggedValue::row_lengths`].
    #[track_caller]
    pub fn row_limits(self) -> Result<Value<'g>> {
        self.in_call("row_limits", || self.partition().row_limits())
    }

    /// Returns the row of each value, `[nvals]`. It is computed once for each partition. Runs on the host.
    ///
    /// The ids have the dtype of the row splits. As TensorFlow's `RaggedTensor.value_rowids`.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor, ragged};
    ///
    /// let g = Graph::new();
    /// let rowids = g.ragged_constant(&ragged![[1, 2], [], [3]])?.value_rowids()?;
    /// let [rowids] = g.compile(rowids)?.run(&[])?;
    /// assert_eq!(rowids, Tensor::from([0i64, 0, 2]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`RaggedValue::row_lengths`].
    #[track_caller]
    pub fn value_rowids(self) -> Result<Value<'g>> {
        self.in_call("value_rowids", || {
            let nvals = dim_param(self.values().count()?);
            self.partition().kept_or(|encodings| &mut encodings.rowids, || self.row_splits().rowids(nvals))
        })
    }

    /// Returns other flat values with the partitions of `self`. Both have the same number of values.
    ///
    /// `[n, (r), ..], flat [nvals, ..] -> [n, (r), ..]`, any dtype. As TensorFlow's `RaggedTensor.with_flat_values`.
    /// Adds no op, unless the run must check the numbers of values.
    ///
    /// ```
    /// use shapeflow::{Graph, ragged};
    ///
    /// let g = Graph::new();
    /// let rt = g.ragged_constant(&ragged![[1, 2], [3]])?;
    /// let y = rt.with_flat_values(g.constant([10, 20, 30])?)?;
    /// let y = g.compile(y)?.run_named(&[])?.ragged_at(0)?;
    /// assert_eq!(y, ragged![[10, 20], [30]]);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The numbers of values are known to differ. If they are not known, the run fails unless they are equal.
    #[track_caller]
    pub fn with_flat_values(self, flat: Value<'g>) -> Result<RaggedValue<'g>> {
        self.in_call("with_flat_values", || {
            let own = self.flat_values().into();
            let flat = with_count_of(flat.into(), own, "the number of flat values must be")?.flat_values();
            Ok(RaggedValue::new(flat, &self.partitions()))
        })
    }

    /// Applies `f` to the flat values. As TensorFlow's `tf.ragged.map_flat_values`.
    ///
    /// `[n, (r), ..] -> [n, (r), ..]`, any dtype. Adds no op but the ops of `f`. If the number of their values is
    /// unknown, adds a check too, which runs on the host.
    ///
    /// ```
    /// use shapeflow::{Graph, ragged};
    ///
    /// let g = Graph::new();
    /// let rt = g.ragged_constant(&ragged![[1, 2, 3], [], [4, 5], [6]])?;
    /// let doubled = rt.map_flat_values(|x| (x * 2).ok())?;
    /// let results = g.compile(doubled)?.run_named(&[])?;
    /// assert_eq!(results.ragged_at(0)?.to_string(), "[[2, 4, 6], [], [8, 10], [12]]");
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// `f` fails, or is known to change the number of values. If the number is not known, the run fails unless it
    /// stays.
    #[track_caller]
    pub fn map_flat_values(self, f: impl FnOnce(Value<'g>) -> Result<Value<'g>>) -> Result<RaggedValue<'g>> {
        self.in_call("map_flat_values", || self.with_mapped_values(f(self.flat_values())?.ok()?))
    }

    /// Returns these rows with the values that [`RaggedValue::map_flat_values`] made.
    #[track_caller]
    fn with_mapped_values(self, made: Value<'g>) -> Result<RaggedValue<'g>> {
        let given = self.flat_values();
        check_graphs(self.graph(), made)?;
        let (before, after) = (given.shape(), made.shape());
        let sizes = before.dim(0).zip(after.dim(0));
        if sizes.is_none_or(|(given, made)| self.graph().same_dim(given, made) == Some(false)) {
            let message = format!(
                "the closure of map_flat_values must keep the number of values, got {} from {}",
                type_text(made.dtype(), &after),
                type_text(given.dtype(), &before)
            );
            return Err(refuse(self.graph(), ErrorKind::Shape, message)
                .with_help("to drop elements use boolean_mask"));
        }
        let requirement = "the closure of map_flat_values must keep the number of values,";
        let made = with_count_of(made.into(), given.into(), requirement)?.flat_values();
        Ok(RaggedValue::new(made, &self.partitions()))
    }
}

impl<'g> RowPartitionValue<'g> {
    /// Returns the length of each row, `[n]`. As [`RaggedValue::row_lengths`].
    ///
    /// # Errors
    /// None for a partition of the library's constructors.
    #[track_caller]
    pub fn row_lengths(self) -> Result<Value<'g>> {
        self.graph().in_call("row_lengths", || {
            self.kept_or(
                |encodings| &mut encodings.lengths,
                || (self.row_limits()? - self.row_starts()?).ok(),
            )
        })
    }

    /// Returns the start of each row in the values, `[n]`. As [`RaggedValue::row_starts`].
    ///
    /// # Errors
    /// None for a partition of the library's constructors.
    #[track_caller]
    pub fn row_starts(self) -> Result<Value<'g>> {
        self.graph().in_call("row_starts", || {
            let starts = || self.row_splits().slice_with(&[SliceItem::span(0, -1)]);
            self.kept_or(|encodings| &mut encodings.starts, starts)
        })
    }

    /// Returns the end of each row in the values, `[n]`. As [`RaggedValue::row_limits`].
    ///
    /// # Errors
    /// None for a partition of the library's constructors.
    #[track_caller]
    pub fn row_limits(self) -> Result<Value<'g>> {
        self.graph().in_call("row_limits", || {
            self.kept_or(|encodings| &mut encodings.limits, || self.row_splits().slice_with(&[(1..).into()]))
        })
    }
}
