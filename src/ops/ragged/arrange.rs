//! `reverse` and `tile` of ragged values.

use shapeflow_shape_fns::counted;

use super::errors::{known_ints, refuse};
use super::reduce::{rank_of, sorted_axes};
use super::reduce_axes::IntoRaggedAxes;
use super::select::take;
use crate::error::{ErrorKind, Result};
use crate::graph::{AnyValue, IntoParam, RaggedValue, RowPartitionValue};
use crate::ops::SliceItem;

impl<'g> RaggedValue<'g> {
    /// Reverses the order along axes: the rows along axis 0, and the items of each row along axis 1. `axes` is an axis,
    /// several axes, or `..` for all axes. A negative axis counts from the end.
    ///
    /// `[n, (r), ..] -> [n, (r), ..]`, any dtype. As TensorFlow's `tf.reverse`. It is composed of gathers, which
    /// fuse into kernels.
    ///
    /// ```
    /// use shapeflow::{AnyValue, Graph, ragged};
    ///
    /// let g = Graph::new();
    /// let rt = g.ragged_constant(&ragged![[1, 2], [3]])?;
    /// let results = g.compile(&[rt.reverse(1)?, rt.reverse([0, 1])?].map(AnyValue::from))?.run_named(&[])?;
    /// assert_eq!(results.ragged_at(0)?, ragged![[2, 1], [3]]);
    /// assert_eq!(results.ragged_at(1)?, ragged![[3], [2, 1]]);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// An axis does not exist or occurs twice.
    #[doc(alias = "flip")]
    #[track_caller]
    pub fn reverse(self, axes: impl IntoRaggedAxes) -> Result<RaggedValue<'g>> {
        self.in_call("reverse", || sorted_axes(self, axes)?.into_iter().try_fold(self, RaggedValue::reversed))
    }

    /// Reverses the order along one axis.
    fn reversed(self, axis: usize) -> Result<RaggedValue<'g>> {
        let depth = self.ragged_rank();
        if axis > depth {
            return self.map_flat_values(|flat| flat.reverse([(axis - depth) as i64]));
        }
        if axis == 0 {
            let numbers = self.graph().range(0i64, self.own_nrows()?, 1i64)?.reverse([0])?;
            return take(self.into(), numbers)?.ragged();
        }
        if axis > 1 {
            let values = self.values().ragged()?.reversed(axis - 1)?;
            return Ok(self.with_values_unchecked(values.into()));
        }
        let rowids = self.value_rowids()?;
        let (starts, limits) = (self.row_starts()?.gather(rowids, 0)?, self.row_limits()?.gather(rowids, 0)?);
        let numbers = self.graph().range(0i64, self.values().count()?, 1i64)?.cast(starts.dtype())?;
        let positions = (starts + limits - numbers - 1).ok()?;
        Ok(self.with_values_unchecked(take(self.values(), positions)?))
    }

    /// Repeats the value `multiples[i]` times along each axis `i`: the rows along axis 0, and the items of each row
    /// along axis 1.
    ///
    /// `[n, (r), ..] -> [n * multiples[0], (r * multiples[1]), ..]`, any dtype. As TensorFlow's `tf.tile`. It is
    /// composed of gathers, which fuse into kernels.
    ///
    /// ```
    /// use shapeflow::{AnyValue, Graph, ragged};
    ///
    /// let g = Graph::new();
    /// let rt = g.ragged_constant(&ragged![[1, 2], [3]])?;
    /// let results = g.compile(&[rt.tile([1, 2])?, rt.tile([2, 1])?].map(AnyValue::from))?.run_named(&[])?;
    /// assert_eq!(results.ragged_at(0)?, ragged![[1, 2, 1, 2], [3, 3]]);
    /// assert_eq!(results.ragged_at(1)?, ragged![[1, 2], [3], [1, 2], [3]]);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// There is not one multiple for each axis, or a multiple is negative.
    #[track_caller]
    pub fn tile(self, multiples: impl IntoParam<'g>) -> Result<RaggedValue<'g>> {
        self.in_call("tile", || {
            let multiples = known_ints(self.graph(), multiples, "multiples")?;
            let (rank, depth) = (rank_of(self)?, self.ragged_rank());
            if multiples.len() != rank {
                let message = format!(
                    "there must be one multiple for each of {rank}, got {}",
                    multiples.len(),
                    rank = counted(rank, "axis")
                );
                return Err(refuse(self.graph(), ErrorKind::Shape, message));
            }
            if let Some(multiple) = multiples.iter().find(|multiple| **multiple < 0) {
                let message = format!("a multiple must not be negative, got {multiple}");
                return Err(refuse(self.graph(), ErrorKind::Attribute, message));
            }
            let (outer, inner) = multiples.split_at(depth + 1);
            let inner = [&[1], inner].concat();
            let tiled = if inner.iter().all(|multiple| *multiple == 1) {
                self
            } else {
                self.map_flat_values(|flat| flat.tile(&inner[..]))?
            };
            // The inner axes come first, so that an outer axis repeats their repetitions.
            let axes = outer.iter().enumerate().rev();
            axes.filter(|(_, multiple)| **multiple != 1)
                .try_fold(tiled, |value, (axis, multiple)| value.repeated(axis, *multiple))
        })
    }

    /// Repeats the value along axis 0 or along a partitioned axis.
    fn repeated(self, axis: usize, multiple: i64) -> Result<RaggedValue<'g>> {
        let numbers = |count| self.graph().range(0i64, count, 1i64);
        match axis {
            0 => take(self.into(), numbers(self.own_nrows()?)?.tile([multiple])?)?.ragged(),
            1 if multiple == 0 => self.slice_with(&[SliceItem::All, SliceItem::span(0, 0)])?.ragged(),
            1 => {
                // Each row is taken `multiple` times, and the copies are joined to one row.
                let each = numbers(self.own_nrows()?)?.expand_dims(1)?.tile([1, multiple])?;
                let numbers = each.reshape([self.own_nrows()? * multiple])?;
                let copies = take(self.into(), numbers)?.ragged()?;
                let splits = copies.row_splits().slice_with(&[SliceItem::from(..).step(multiple)])?;
                let uniform = self.partition().uniform_row_length().map(|length| length * multiple);
                let rows = RowPartitionValue::new("splits", splits, splits, uniform)?;
                Ok(copies.values().split_by(rows))
            }
            axis => {
                let values = self.values().ragged()?.repeated(axis - 1, multiple)?;
                Ok(self.with_values_unchecked(AnyValue::Ragged(values)))
            }
        }
    }
}
