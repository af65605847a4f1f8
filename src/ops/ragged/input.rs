//! Ragged constants and inputs of a graph.

use shapeflow_shape_fns::{DType, Dim, IntoDim, TensorShape, Unknown};

use super::errors::refuse;
use crate::error::{ErrorKind, Result};
use crate::graph::{Graph, RaggedValue, RowPartitionValue};
use crate::ragged::{FLAT_VALUES, ROW_SPLITS, RaggedTensor, RowPartition};
use crate::tensor::Tensor;

/// The rows of the ragged axes of an input: a number of axes (`1`), a name for the number of rows (`"users"`), a
/// dimension, or one name or dimension for each ragged axis, outermost first (`["users", "sessions"]`,
/// `shape!["users", ?]`).
pub trait IntoRows {
    #[doc(hidden)]
    fn into_rows(self) -> Vec<Dim>;
}

impl IntoRows for usize {
    fn into_rows(self) -> Vec<Dim> {
        (0..self).map(|_| Unknown.into_dim()).collect()
    }
}

impl IntoRows for &str {
    fn into_rows(self) -> Vec<Dim> {
        vec![self.into_dim()]
    }
}

impl<const N: usize> IntoRows for [&str; N] {
    fn into_rows(self) -> Vec<Dim> {
        self.into_iter().map(IntoDim::into_dim).collect()
    }
}

impl IntoRows for Dim {
    fn into_rows(self) -> Vec<Dim> {
        vec![self]
    }
}

impl IntoRows for &Dim {
    fn into_rows(self) -> Vec<Dim> {
        vec![self.clone()]
    }
}

/// One dimension for each ragged axis; none for an unknown rank.
impl IntoRows for TensorShape {
    fn into_rows(self) -> Vec<Dim> {
        self.dims().unwrap_or_default().to_vec()
    }
}

impl Graph {
    /// Adds a ragged constant.
    ///
    /// The constant has the shape and the dtype of `ragged`. As TensorFlow's `tf.ragged.constant`. Adds no op that
    /// runs.
    ///
    /// ```
    /// use shapeflow::{Graph, ragged};
    ///
    /// let g = Graph::new();
    /// let rt = g.ragged_constant(&ragged![[1, 2], [3]])?;
    /// let rt = g.compile(rt)?.run_named(&[])?.ragged_at(0)?;
    /// assert_eq!(rt, ragged![[1, 2], [3]]);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// Row splits from an [`Unchecked`](crate::Unchecked) encoding are wrong, or memory is refused.
    #[track_caller]
    pub fn ragged_constant(&self, ragged: &RaggedTensor) -> Result<RaggedValue<'_>> {
        self.in_call("ragged_constant", || {
            ragged.check_splits().map_err(|error| refuse(self, error.kind(), error.message().to_string()))?;
            let flat = self.constant(ragged.flat_values())?;
            let partition = |rows: &RowPartition| {
                let splits = self.constant(rows.row_splits())?;
                let uniform = rows.uniform_row_length().map(|length| Dim::known(length as i64));
                RowPartitionValue::new("row_splits", splits, splits, uniform)
            };
            let partitions = ragged.partitions().iter().map(partition).collect::<Result<Vec<_>>>()?;
            Ok(RaggedValue::new(flat, &partitions))
        })
    }

    /// Adds a ragged input: a [`RaggedTensor`] that is fed when the graph runs. `rows` has the number of rows of each
    /// ragged axis, and `inner` the sizes of the inner axes.
    ///
    /// `1` for `rows` is one ragged axis of any number of rows, and `2` is two. `"users"` is one ragged axis of `users`
    /// rows; other inputs may have the same dimension. `["users", "sessions"]` is two ragged axes: row `i` has the
    /// sessions of user `i`, and there are `sessions` sessions in all.
    ///
    /// The input `name` has the parts `name/flat_values` and `name/row_splits/i`, which
    /// [`Executable::feed`](crate::Executable::feed) feeds together. Row splits are i64, and the run checks them;
    /// [`ragged_input_with_row_splits_dtype`](Self::ragged_input_with_row_splits_dtype) takes i32 splits. Texts name
    /// the unknown sizes: `history.rows` is the number of rows of `history`, `history.rows.1` is the number of rows of
    /// its partition 1, and `history.values` is the number of its flat values.
    ///
    /// As TensorFlow's `tf.compat.v1.ragged.placeholder`. Adds no op that runs, but the check of the row splits.
    ///
    /// ```
    /// use shapeflow::{DType, Graph, Tensor, ragged, shape};
    ///
    /// let g = Graph::new();
    /// let history = g.ragged_input("history", DType::F32, "users", shape![])?;
    /// let bonus = g.input("bonus", DType::F32, shape!["users"])?;
    /// let totals = (history.reduce_sum(1)?.dense()? + bonus).ok()?;
    /// assert_eq!(totals.shape().to_string(), "[users]");
    /// let exe = g.compile([("totals", totals)])?;
    /// let (rows, bonus) = (ragged![[1.0f32, 2.0], [], [4.0]], Tensor::from([0.5f32, 0.5, 0.0]));
    /// let results = exe.feed("history", &rows).feed("bonus", &bonus).run()?;
    /// assert_eq!(results.tensor("totals")?.to_vec::<f32>()?, [3.5, 0.5, 4.0]);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// `rows` is 0 or empty, or has a negative number; else as [`Graph::input`].
    #[track_caller]
    pub fn ragged_input(
        &self,
        name: &str,
        dtype: DType,
        rows: impl IntoRows,
        inner: impl Into<TensorShape>,
    ) -> Result<RaggedValue<'_>> {
        self.in_call("ragged_input", || {
            self.ragged_input_with_row_splits_dtype(name, dtype, rows, inner, DType::I64)
        })
    }

    /// Adds a ragged input whose row splits are of `row_splits_dtype`, i32 or i64.
    ///
    /// As [`Graph::ragged_input`], whose row splits are i64. [`Executable::feed`](crate::Executable::feed) converts the
    /// row splits of a fed tensor to this dtype, and refuses splits that do not fit.
    ///
    /// ```
    /// use shapeflow::{DType, Graph, ragged, shape};
    ///
    /// let g = Graph::new();
    /// let x = g.ragged_input_with_row_splits_dtype("x", DType::F32, 1, shape![], DType::I32)?;
    /// assert_eq!(x.row_splits().dtype(), DType::I32);
    /// let lengths = x.row_lengths()?;
    /// let results = g.compile([("lengths", lengths)])?.feed("x", &ragged![[1.0f32, 2.0], []]).run()?;
    /// assert_eq!(results.tensor("lengths")?.to_vec::<i32>()?, [2, 0]);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// `row_splits_dtype` is neither i32 nor i64; else as [`Graph::ragged_input`].
    #[track_caller]
    pub fn ragged_input_with_row_splits_dtype(
        &self,
        name: &str,
        dtype: DType,
        rows: impl IntoRows,
        inner: impl Into<TensorShape>,
        row_splits_dtype: DType,
    ) -> Result<RaggedValue<'_>> {
        self.in_call("ragged_input_with_row_splits_dtype", || {
            if !matches!(row_splits_dtype, DType::I32 | DType::I64) {
                let message = format!("row_splits must be i32 or i64, got {row_splits_dtype}");
                return Err(refuse(self, ErrorKind::DType, message));
            }
            // A refused call leaves no input behind.
            let rows = rows.into_rows();
            if rows.is_empty() {
                let message = "a ragged input must have at least one ragged axis, got none".to_string();
                return Err(refuse(self, ErrorKind::Shape, message));
            }
            if let Some(negative) = rows.iter().find(|rows| rows.as_known().is_some_and(|rows| rows < 0)) {
                let message = format!("a number of rows must not be negative, got {negative}");
                return Err(refuse(self, ErrorKind::Shape, message));
            }
            let values = TensorShape::new([Unknown.into_dim()]);
            let flat =
                self.input(&format!("{name}{FLAT_VALUES}"), dtype, values.concatenate(&inner.into()))?;
            let mut splits = Vec::new();
            for (index, rows) in rows.into_iter().enumerate() {
                let shape = TensorShape::new([rows + 1]);
                splits.push(self.input(&format!("{name}{ROW_SPLITS}{index}"), row_splits_dtype, shape)?);
            }
            RaggedValue::from_nested_row_splits(flat, &splits)
        })
    }
}

impl RaggedTensor {
    /// Returns the parts of the tensor with the names of the input `name`: the flat values, then the row splits of each
    /// partition, the outermost first. [`Executable::inputs`](crate::Executable::inputs) has them in this order. The
    /// row splits keep their dtype, which must be the dtype of the input's row splits.
    ///
    /// [`Executable::feed`](crate::Executable::feed) takes a ragged tensor itself. The parts are for
    /// [`Executable::run_named`](crate::Executable::run_named), and for a [`Runner`](crate::Runner) or a
    /// [`BoundRun`](crate::BoundRun), which take views by position.
    ///
    /// ```
    /// use shapeflow::{DType, Graph, TensorView, ragged, shape};
    ///
    /// let g = Graph::new();
    /// let prices = g.ragged_input("prices", DType::F32, "users", shape![])?;
    /// let exe = g.compile([("sums", prices.reduce_sum(1)?.dense()?)])?;
    /// let names: Vec<&str> = exe.inputs().iter().map(|port| port.name.as_str()).collect();
    /// assert_eq!(names, ["prices/flat_values", "prices/row_splits/0"]);
    ///
    /// let parts = ragged![[1.0f32, 2.0], [], [4.0]].feeds("prices");
    /// let views: Vec<TensorView<'_>> = parts.iter().map(|(_, tensor)| tensor.view()).collect();
    /// assert_eq!(exe.runner().run(&views)?[0].to_vec::<f32>()?, [3.0, 0.0, 4.0]);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    pub fn feeds(&self, name: &str) -> Vec<(String, Tensor)> {
        let flat = (format!("{name}{FLAT_VALUES}"), self.flat_values().clone());
        let splits = self.nested_row_splits().into_iter().enumerate();
        let splits = splits.map(|(index, splits)| (format!("{name}{ROW_SPLITS}{index}"), splits.clone()));
        std::iter::once(flat).chain(splits).collect()
    }
}
