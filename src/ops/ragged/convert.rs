//! The rank of ragged values, merged rows, and conversions between row splits and segment ids.

use super::errors::refuse;
use super::splits::{CHECKED, FROM_ROWIDS, ROWIDS};
use crate::error::{ErrorKind, Result};
use crate::graph::{IntoParam, RaggedValue, Value};

impl<'g> RaggedValue<'g> {
    /// Returns the number of axes.
    ///
    /// A value `[n, (r)]` of any dtype has rank 2. As TensorFlow's `tf.rank`. Adds no op.
    ///
    /// ```
    /// use shapeflow::{Graph, ragged};
    ///
    /// let g = Graph::new();
    /// let rt = g.ragged_constant(&ragged![[1, 2], [3]])?;
    /// assert_eq!(rt.rank()?, 2);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The flat values have an unknown rank.
    #[track_caller]
    pub fn rank(self) -> Result<usize> {
        self.in_call("rank", || super::reduce::rank_of(self))
    }

    /// Merges the axes of the two outermost partitions: the rows of each row are joined.
    ///
    /// `[n, (r), (s), ..] -> [n, (s), ..]`, any dtype. As TensorFlow's `RaggedTensor.merge_dims` for axes 1 and 2.
    /// It is composed of gathers of splits; no flat value moves.
    ///
    /// ```
    /// use shapeflow::{Graph, ragged};
    ///
    /// let g = Graph::new();
    /// let rt = g.ragged_constant(&ragged![[[1, 2], [3]], [[4]]])?;
    /// let y = rt.merge_rows()?;
    /// let y = g.compile(y)?.run_named(&[])?.ragged_at(0)?;
    /// assert_eq!(y, ragged![[1, 2, 3], [4]]);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// There is only one partition.
    #[track_caller]
    pub fn merge_rows(self) -> Result<RaggedValue<'g>> {
        self.in_call("merge_rows", || {
            if self.ragged_rank() < 2 {
                let message = format!("there must be two partitions to merge, got {}", self.shape_text());
                return Err(refuse(self.graph(), ErrorKind::Shape, message));
            }
            self.merge_dims(1, 2)?.ragged()
        })
    }
}

impl<'g> Value<'g> {
    /// Returns, for each value, the number of the row that holds the value. `self` are row splits. As TensorFlow's
    /// `tf.ragged.row_splits_to_segment_ids`.
    ///
    /// `[n+1] -> [nvals]`, i32 or i64. `nvals` is the last split. Runs on the host, which checks the splits.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let y = g.constant([0, 2, 2, 3])?.row_splits_to_segment_ids(3)?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from([0, 0, 2]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// `self` is not a vector of i32 or i64. The run fails unless the splits start at 0, never decrease, and end at
    /// `nvals`.
    #[track_caller]
    pub fn row_splits_to_segment_ids(self, nvals: impl IntoParam<'g>) -> Result<Value<'g>> {
        self.graph().in_call("row_splits_to_segment_ids", || {
            let nvals = nvals.into_param();
            let splits = self.graph().op(&CHECKED).data(self).size("nvals", nvals.clone()).finish()?;
            splits.rowids(nvals)
        })
    }

    /// Returns the number of the row of each of the `nvals` flat values. `self` is row splits that were checked
    /// already.
    pub(super) fn rowids(self, nvals: impl IntoParam<'g>) -> Result<Value<'g>> {
        self.graph().op(&ROWIDS).data(self).size("nvals", nvals).finish()
    }

    /// Returns the row splits of ascending segment ids. As TensorFlow's `tf.ragged.segment_ids_to_row_splits`.
    ///
    /// `[nvals] -> [num_segments+1]`, i32 or i64. Runs on the host.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let y = g.constant([0, 0, 2])?.segment_ids_to_row_splits(3)?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from([0, 2, 2, 3]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// `self` is not a vector of i32 or i64. The run fails unless the ids ascend and are less than `num_segments`.
    #[track_caller]
    pub fn segment_ids_to_row_splits(self, num_segments: impl IntoParam<'g>) -> Result<Value<'g>> {
        self.graph().in_call("segment_ids_to_row_splits", || {
            self.graph().op(&FROM_ROWIDS).data(self).size("nrows", num_segments).finish()
        })
    }
}
