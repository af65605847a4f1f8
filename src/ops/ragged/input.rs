//! Ragged constants and inputs of a graph.

use shapeflow_shape_fns::{DType, Dim, IntoDim, TensorShape, Unknown};

use crate::error::Result;
use crate::graph::{Graph, RaggedValue, RowPartitionValue};
use crate::ragged::{FLAT_VALUES, ROW_SPLITS, RaggedTensor, RowPartition};
use crate::tensor::Tensor;

impl Graph {
    /// Adds a ragged constant.
    ///
    /// # Errors
    /// Memory is refused.
    #[track_caller]
    pub fn ragged_constant(&self, ragged: &RaggedTensor) -> Result<RaggedValue<'_>> {
        let _call = self.open_call();
        let flat = self.constant(ragged.flat_values())?;
        let partition = |rows: &RowPartition| {
            let splits = self.constant(rows.row_splits())?;
            let uniform = rows.uniform_row_length().map(|length| Dim::known(length as i64));
            RowPartitionValue::new("row_splits", splits, splits, uniform)
        };
        let partitions = ragged.partitions().iter().map(partition).collect::<Result<Vec<_>>>()?;
        Ok(RaggedValue::new(flat, &partitions))
    }

    /// Adds a ragged input: a [`RaggedTensor`] that is fed when the graph runs. `inner` has the sizes of the inner
    /// axes.
    ///
    /// The input `name` has the parts `name/flat_values` and `name/row_splits/i`; [`RaggedTensor::feeds`] gives all of
    /// them. Row splits are i64, and the run checks them. Texts name the unknown sizes: `history.rows` is the number of
    /// rows of `history`, `history.rows.1` the number of rows of its partition 1, and `history.values` the number of
    /// its flat values.
    ///
    /// ```
    /// use shapeflow::{DType, Graph, RaggedTensor, TensorView, ragged, shape};
    ///
    /// let g = Graph::new();
    /// let history = g.ragged_input("history", DType::F32, 1, shape![])?;
    /// let exe = g.compile([("sums", history.reduce_sum(1)?.dense()?)])?;
    /// let parts = ragged![[1.0f32, 2.0], [], [4.0]].feeds("history");
    /// let feeds: Vec<(&str, TensorView)> = parts.iter().map(|(name, part)| (name.as_str(), part.view())).collect();
    /// let results = exe.run_named(&feeds)?;
    /// assert_eq!(results.tensor("sums")?.to_vec::<f32>()?, [3.0, 0.0, 4.0]);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// `ragged_rank` is 0; else as [`Graph::input`].
    #[track_caller]
    pub fn ragged_input(
        &self,
        name: &str,
        dtype: DType,
        ragged_rank: usize,
        inner: impl Into<TensorShape>,
    ) -> Result<RaggedValue<'_>> {
        let _call = self.open_call();
        let values = TensorShape::new([Unknown.into_dim()]);
        let flat = self.input(&format!("{name}{FLAT_VALUES}"), dtype, values.concatenate(&inner.into()))?;
        let mut splits = Vec::new();
        for index in 0..ragged_rank {
            let rows = Unknown.into_dim();
            let shape = TensorShape::new([rows + 1]);
            splits.push(self.input(&format!("{name}{ROW_SPLITS}{index}"), DType::I64, shape)?);
        }
        RaggedValue::from_nested_row_splits(flat, &splits)
    }
}

impl RaggedTensor {
    /// Returns the parts of the tensor with the names of the input `name`, for
    /// [`Executable::run_named`](crate::Executable::run_named).
    pub fn feeds(&self, name: &str) -> Vec<(String, Tensor)> {
        let flat = (format!("{name}{FLAT_VALUES}"), self.flat_values().clone());
        let splits = self.nested_row_splits().into_iter().enumerate();
        let splits = splits.map(|(index, splits)| (format!("{name}{ROW_SPLITS}{index}"), splits.clone()));
        std::iter::once(flat).chain(splits).collect()
    }
}
