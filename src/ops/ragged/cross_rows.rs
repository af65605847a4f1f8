//! `cross_rows`: all pairs of items of two ragged values, row by row.

use super::errors::refuse;
use super::gather_along::same_count;
use super::select::take;
use crate::error::{ErrorKind, Result};
use crate::graph::{AnyValue, RaggedValue};

impl<'g> RaggedValue<'g> {
    /// Pairs each item of a row of `self` with each item of the same row of `other`. The results have equal partitions:
    /// `left[b, i, j]` is `self[b, i]`, and `right[b, i, j]` is `other[b, j]`.
    ///
    /// `[n, (r), ..], [n, (s), ..] -> [n, (r), (s), ..], [n, (r), (s), ..]`, any dtypes. The lengths `r` and `s` of a
    /// row are independent of each other. So a value with two independent ragged axes, such as the mask of an
    /// attention, is an ordinary ragged value of two partitions, whose inner partition repeats the length `s` for each
    /// of `r` items; every op takes it. TensorFlow has no such op. It is composed of gathers, whose positions are
    /// computed on the host.
    ///
    /// ```
    /// use shapeflow::{Graph, ragged};
    ///
    /// let g = Graph::new();
    /// let (a, b) = (g.ragged_constant(&ragged![[1, 2], [3]])?, g.ragged_constant(&ragged![[10], [20, 30]])?);
    /// let [left, right] = a.cross_rows(b)?;
    /// let sums = g.compile((left + right).ok()?)?.run_named(&[])?.ragged_at(0)?;
    /// assert_eq!(sums, ragged![[[11], [12]], [[23, 33]]]);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The row splits have different dtypes, or the numbers of rows are known to differ. The run fails if the numbers
    /// of rows differ.
    #[doc(alias = "cartesian")]
    #[track_caller]
    pub fn cross_rows(self, other: RaggedValue<'g>) -> Result<[RaggedValue<'g>; 2]> {
        self.in_call("cross_rows", || {
            let [ours, theirs] = [self, other].map(|value| value.row_splits().dtype());
            if ours != theirs {
                let message = format!("all row_splits must have one dtype, got {ours} and {theirs}");
                return Err(refuse(self.graph(), ErrorKind::DType, message)
                    .with_help("use with_row_splits_dtype to convert one of them"));
            }
            let (rows, other) = same_count(self, other.into(), "the other value")?;
            let right = take(other, rows.value_rowids()?)?.ragged()?;
            let left = take(rows.values(), right.value_rowids()?)?.split_by(right.partition());
            Ok([left, right].map(|pairs| rows.with_values_unchecked(AnyValue::Ragged(pairs))))
        })
    }
}
