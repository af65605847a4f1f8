//! `argmax`, `argmin` and `softmax` of each row.

use crate::error::Result;
use crate::graph::{AnyValue, RaggedValue};

use super::reduce::reduce_last;

impl<'g> RaggedValue<'g> {
    /// Returns the position of the first maximum of each row along the last partitioned axis; -1 for an empty row. A NaN is a
    /// maximum. `[.., n, (r), ..] -> i64[.., n, ..]`. Runs on the host.
    ///
    /// TensorFlow's `tf.argmax` refuses ragged values; TensorFlow has no such op.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor, ragged};
    ///
    /// let g = Graph::new();
    /// let rt = g.ragged_constant(&ragged![[1, 7, 3], [5], []])?;
    /// let positions = rt.argmax()?.dense()?;
    /// let [positions] = g.compile(positions)?.run(&[])?;
    /// assert_eq!(positions, Tensor::from([1i64, 0, -1]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The elements are neither integers nor floats.
    #[track_caller]
    pub fn argmax(self) -> Result<AnyValue<'g>> {
        let _call = self.graph().open_call();
        reduce_last(self, "argmax")
    }

    /// Returns the position of the first minimum of each row, as [`RaggedValue::argmax`] does.
    ///
    /// # Errors
    /// As [`RaggedValue::argmax`].
    #[track_caller]
    pub fn argmin(self) -> Result<AnyValue<'g>> {
        let _call = self.graph().open_call();
        reduce_last(self, "argmin")
    }

    /// Returns `exp(x) / Σ exp(x)` of each row along the last partitioned axis. Floats. The maximum of a row is subtracted first.
    ///
    /// `[.., (r), ..] -> [.., (r), ..]`. As TensorFlow's `tf.nn.softmax` of every row. It is composed of reductions
    /// of rows on the host and of ops that fuse into kernels.
    ///
    /// ```
    /// use shapeflow::{Graph, ragged};
    ///
    /// let g = Graph::new();
    /// let rt = g.ragged_constant(&ragged![[0.0, 0.0], [3.0]])?;
    /// let y = rt.softmax()?;
    /// let y = g.compile(y)?.run_named(&[])?.ragged_at(0)?;
    /// assert_eq!(y, ragged![[0.5, 0.5], [1.0]]);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The elements are not floats.
    #[track_caller]
    pub fn softmax(self) -> Result<RaggedValue<'g>> {
        let _call = self.graph().open_call();
        let partitions = self.partitions();
        let (_, rest) = partitions.split_at(partitions.len() - 1);
        let rowids = RaggedValue::new(self.flat_values(), rest).value_rowids()?;
        let most = reduce_last(self, "max")?.flat_values().gather(rowids, 0)?;
        let exps = self.with_flat_values((self.flat_values() - most).ok()?.exp()?)?;
        let sums = reduce_last(exps, "sum")?.flat_values().gather(rowids, 0)?;
        exps.map_flat_values(|flat| (flat / sums).ok())
    }
}
