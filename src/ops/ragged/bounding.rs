//! `bounding_shape_along`: the smallest size that holds every row along one axis.

use super::numbers::{dim_value, number, own_dim, size_value};
use super::select::axis_of;
use crate::error::Result;
use crate::graph::{IntoParam, RaggedValue, RowPartitionValue, Value};

impl<'g> RaggedValue<'g> {
    /// Returns one size of [`RaggedValue::bounding_shape`]: the number of rows along axis 0, the length of the longest
    /// row along a ragged axis, the row length along a uniform axis, and the size of an inner axis. A negative `axis`
    /// counts from the end.
    ///
    /// `[n, (r), ..] -> []`, a scalar of the dtype of the row splits. As TensorFlow's `RaggedTensor.bounding_shape`
    /// with `axis`. It is composed of other ops, which fuse into kernels.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor, ragged};
    ///
    /// let g = Graph::new();
    /// let rt = g.ragged_constant(&ragged![[1, 2, 3, 4], [5], []])?;
    /// let [longest] = g.compile(rt.bounding_shape_along(1)?)?.run(&[])?;
    /// assert_eq!(longest, Tensor::scalar(4i64));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The axis does not exist, or the flat values have an unknown rank.
    #[track_caller]
    pub fn bounding_shape_along(self, axis: impl IntoParam<'g>) -> Result<Value<'g>> {
        self.in_call("bounding_shape_along", || {
            let (axis, depth, dtype) =
                (axis_of(self, axis, 0)?, self.ragged_rank(), self.row_splits().dtype());
            match axis {
                0 => dim_value(self.graph(), self.own_nrows()?)?.cast(dtype),
                axis if axis <= depth => self.partitions()[axis - 1].longest_row(),
                axis => size_value(self.graph(), own_dim(self.flat_values(), axis - depth)?, dtype),
            }
        })
    }
}

impl<'g> RowPartitionValue<'g> {
    /// Returns the length of the longest row, or the row length of a uniform partition, which may have no rows. A
    /// ragged partition without rows gives 0. A scalar of the dtype of the row splits.
    pub(super) fn longest_row(self) -> Result<Value<'g>> {
        let (graph, dtype) = (self.graph(), self.row_splits().dtype());
        match self.uniform_row_length() {
            Some(length) => size_value(graph, length, dtype),
            None => self.row_lengths()?.reduce_max(0)?.maximum(number(graph, dtype, 0)?),
        }
    }
}
