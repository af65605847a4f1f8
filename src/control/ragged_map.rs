//! `RaggedValue::map` and `RaggedValue::map_rows`: loops over the rows of a ragged value.

use std::panic::Location;

use super::loop_options::LoopOptions;
use super::scan_kernel::ScanKind;
use crate::error::Result;
use crate::graph::{AnyValue, RaggedValue, Value};

impl<'g> RaggedValue<'g> {
    /// Calls `f` with each row, and stacks its results: `[n, (r), …] -> [n, b, …]` if `f` returns `[b, …]`.
    ///
    /// A row has the shape `[?, …]`; it is ragged if `self` has several partitions. All results must have the same
    /// sizes. Any dtype but variant. As TensorFlow's `tf.map_fn`. Runs on the host; `f` is compiled once.
    ///
    /// ```
    /// use shapeflow::{Graph, ragged};
    ///
    /// let g = Graph::new();
    /// let rt = g.ragged_constant(&ragged![[3.0f32, 4.0], [], [1.0, 2.0, 2.0]])?;
    /// let norms = rt.map(|row| (row.dense()? * row.dense()?).reduce_sum(0)?.sqrt())?;
    /// let [norms] = g.compile(norms)?.run(&[])?;
    /// assert_eq!(norms.to_vec::<f32>()?, [5.0, 0.0, 3.0]);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// `f` fails, or a result is a tensor list.
    #[doc(alias = "map_fn")]
    #[doc(alias = "vmap")]
    #[track_caller]
    pub fn map(self, f: impl FnMut(AnyValue<'g>) -> Result<Value<'g>>) -> Result<Value<'g>> {
        self.each_row(ScanKind::Map, f, Location::caller()).map(|results| results[0])
    }

    /// Calls `f` with each row, and returns the rows that it returns, which may have any lengths:
    /// `[n, (r), …] -> [n, (s), b, …]` if `f` returns `[?, b, …]`.
    ///
    /// A row has the shape `[?, …]`; it is ragged if `self` has several partitions. As TensorFlow's
    /// `tf.map_fn` with a `RaggedTensorSpec` for the results. Runs on the host; `f` is compiled once.
    ///
    /// ```
    /// use shapeflow::{Graph, SliceItem, ragged};
    ///
    /// let g = Graph::new();
    /// let rt = g.ragged_constant(&ragged![[1, 2, 3], [], [4, 5]])?;
    /// let mirrored = rt.map_rows(|row| {
    ///     let row = row.dense()?;
    ///     shapeflow::concat(&[row, row.slice_with(&[SliceItem::from(..).step(-1)])?], 0)
    /// })?;
    /// let results = g.compile(mirrored)?.run_named(&[])?;
    /// assert_eq!(results.ragged_at(0)?.to_string(), "[[1, 2, 3, 3, 2, 1], [], [4, 5, 5, 4]]");
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// `f` fails, or a result is a scalar, has an unknown rank or is a tensor list.
    #[doc(alias = "map_fn")]
    #[track_caller]
    pub fn map_rows(self, f: impl FnMut(AnyValue<'g>) -> Result<Value<'g>>) -> Result<RaggedValue<'g>> {
        let parts = self.each_row(ScanKind::MapRows, f, Location::caller())?;
        RaggedValue::from_row_splits(parts[0], parts[1])
    }

    fn each_row(
        self,
        kind: ScanKind,
        mut f: impl FnMut(AnyValue<'g>) -> Result<Value<'g>>,
        location: &'static Location<'static>,
    ) -> Result<Vec<Value<'g>>> {
        let text = format!("{}({}{})", kind.op(), self.dtype(), self.shape_text());
        let call = self.graph().open_ragged_call(kind.op(), text, location);
        let mut body = |_: &[Value<'g>], bounds: &[Value<'g>]| {
            let row = self.values_between(bounds[0], bounds[1])?;
            let _left = call.leave();
            Ok((Vec::new(), vec![f(row)?]))
        };
        call.attempt(|| {
            // The starts and limits of all rows are computed once, before the loop.
            let bounds = [self.row_starts()?, self.row_limits()?];
            let options = LoopOptions::new();
            let (_, results) = self.graph().scan_rows(kind, &options, &[], &bounds, &mut body, location)?;
            Ok(results)
        })
    }
}
