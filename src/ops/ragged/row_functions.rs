//! `argmax`, `argmin`, `softmax` and `log_softmax` of each row.

use crate::error::Result;
use crate::graph::{AnyValue, RaggedValue, Value};

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
        let (_, exps, sums) = self.shifted_exps()?;
        self.with_flat_values((exps / sums).ok()?)
    }

    /// Returns `x - log Σ exp(x)` of each row along the last partitioned axis. Floats. The maximum of a row is subtracted first.
    ///
    /// `[.., (r), ..] -> [.., (r), ..]`. As TensorFlow's `tf.nn.log_softmax` of every row. TensorFlow's own dispatch on a
    /// ragged tensor normalizes over the values of all rows. It is composed of reductions of rows on the host and of ops that
    /// fuse into kernels.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor, ragged};
    ///
    /// let g = Graph::new();
    /// let rt = g.ragged_constant(&ragged![[1000.0, 1000.0], [], [3.0]])?;
    /// let y = g.compile(rt.log_softmax()?)?.run_named(&[])?.ragged_at(0)?;
    /// y.flat_values().allclose(&Tensor::from([-0.6931, -0.6931, 0.0]), 1e-3, 1e-12).unwrap();
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The elements are not floats.
    #[track_caller]
    pub fn log_softmax(self) -> Result<RaggedValue<'g>> {
        let _call = self.graph().open_call();
        let (shifted, _, sums) = self.shifted_exps()?;
        self.with_flat_values((shifted - sums.log()?).ok()?)
    }

    /// Returns the elements less the maximum of their row, the exponentials of the differences, and the sum of these
    /// exponentials in the row of each element.
    fn shifted_exps(self) -> Result<(Value<'g>, Value<'g>, Value<'g>)> {
        let partitions = self.partitions();
        let (_, rest) = partitions.split_at(partitions.len() - 1);
        let rowids = RaggedValue::new(self.flat_values(), rest).value_rowids()?;
        let most = reduce_last(self, "max")?.flat_values().gather(rowids, 0)?;
        let shifted = (self.flat_values() - most).ok()?;
        let exps = self.with_flat_values(shifted.exp()?)?;
        let sums = reduce_last(exps, "sum")?.flat_values().gather(rowids, 0)?;
        Ok((shifted, exps.flat_values(), sums))
    }
}
