//! `broadcast_to_rows`: a value repeated for the rows of another one.

use std::panic::Location;

use crate::error::Result;
use crate::graph::RaggedValue;
use crate::ops::IntoRaggedOperand;

impl<'g> RaggedValue<'g> {
    /// Broadcasts `other` to the rows and the inner axes of `self`, as an operator of both does. `other` is ragged, a
    /// scalar, or a dense value. Its axes of size 1 are repeated.
    ///
    /// `[n, (r), ..], [n, 1, ..] -> [n, (r), ..]`; the dtypes may differ. As TensorFlow's `tf.broadcast_to` with the
    /// shape of `self`. It is composed of gathers and broadcasts, which fuse into kernels.
    ///
    /// ```
    /// use shapeflow::{Graph, ragged};
    ///
    /// let g = Graph::new();
    /// let rt = g.ragged_constant(&ragged![[10, 20], [30]])?;
    /// let rows = rt.broadcast_to_rows(g.constant([[1.5], [2.5]])?)?;
    /// let rows = g.compile(rows)?.run_named(&[])?.ragged_at(0)?;
    /// assert_eq!(rows, ragged![[1.5, 1.5], [2.5]]);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// `other` does not broadcast to the rows of `self`. If this is not known now, the run fails.
    #[track_caller]
    pub fn broadcast_to_rows(self, other: impl IntoRaggedOperand<'g>) -> Result<RaggedValue<'g>> {
        let location = Location::caller();
        self.in_call("broadcast_to_rows", || {
            let (rows, flat) = other.beside(self, location)?.with_rows(self, location)?;
            let spread = flat.broadcast_to(rows.flat_values().shape())?;
            // The splits of `rows` have the checks of both values.
            rows.with_flat_values(spread)
        })
    }
}
