//! `unsorted_segment_sum` and so on of ragged values: the rows of one segment become one row.

use super::errors::refuse;
use super::moments::averaged;
use super::numbers::number;
use super::partition::splits_of_lengths;
use super::range::range_parts;
use crate::error::{ErrorKind, Result};
use crate::graph::{AnyValue, IntoParam, Param, RaggedValue, RowPartitionValue, Value};
use crate::ops::SliceItem;

macro_rules! segments {
    ($($(#[$doc:meta])* $method:ident, $reduce:ident $(of $elements:ident)?;)*) => {
        impl<'g> RaggedValue<'g> {$(
            $(#[$doc])*
            ///
            /// `[n, (r), ..], ids [n] -> [num_segments, (s), ..]`; `ids` is i32 or i64. Row `k` of the result is as
            /// long as the longest row whose id is `k`. Ragged ids have the row splits of the value, and their axes are
            /// reduced: `[n, (r), ..], ids [n, (r)] -> [num_segments, ..]`. It is composed of positions, which are
            /// computed on the host, and a reduction of the flat values.
            ///
            /// # Errors
            /// Dense `ids` are not a vector, the value has fewer ragged axes than `ids`, or the numbers of rows are
            /// known to differ; else as the method of [`Value`] with this name. The run fails if the rows differ, or if
            /// an id is not in `[0, num_segments)`.
            #[track_caller]
            pub fn $method(
                self,
                ids: impl Into<AnyValue<'g>>,
                num_segments: impl IntoParam<'g>,
            ) -> Result<AnyValue<'g>> {
                self.in_call(stringify!($method), || {
                    let value = self;
                    $(let value = $elements(value)?;)?
                    reduce(value.into(), ids.into(), num_segments.into_param(), &|flat, ids, count| {
                        flat.$reduce(ids, count)
                    })
                })
            }
        )*}
    };
}
segments! {
    /// Adds the rows of each segment column by column. Integers (which wrap), floats and complex numbers. As
    /// TensorFlow's `tf.math.unsorted_segment_sum` of ragged tensors.
    ///
    /// ```
    /// use shapeflow::{Graph, ragged};
    ///
    /// let g = Graph::new();
    /// let rt = g.ragged_constant(&ragged![[1, 2, 3], [4], [10, 20]])?;
    /// let sums = rt.unsorted_segment_sum(g.constant([1i64, 0, 1])?, 3)?;
    /// let sums = g.compile(sums)?.run_named(&[])?.ragged_at(0)?;
    /// assert_eq!(sums, ragged![[4], [11, 22, 3], []]);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    unsorted_segment_sum, unsorted_segment_sum;
    /// Multiplies the rows of each segment column by column. Integers (which wrap) and floats. As TensorFlow's
    /// `tf.math.unsorted_segment_prod` of ragged tensors.
    ///
    /// ```
    /// use shapeflow::{Graph, ragged};
    ///
    /// let g = Graph::new();
    /// let rt = g.ragged_constant(&ragged![[1, 2, 3], [4], [10, 20]])?;
    /// let products = rt.unsorted_segment_prod(g.constant([1i64, 0, 1])?, 2)?;
    /// let products = g.compile(products)?.run_named(&[])?.ragged_at(0)?;
    /// assert_eq!(products, ragged![[4], [10, 40, 3]]);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    unsorted_segment_prod, unsorted_segment_prod;
    /// Takes the maximum of the rows of each segment column by column. Integers and floats. As TensorFlow's
    /// `tf.math.unsorted_segment_max` of ragged tensors.
    ///
    /// ```
    /// use shapeflow::{Graph, ragged};
    ///
    /// let g = Graph::new();
    /// let rt = g.ragged_constant(&ragged![[1, 20, 3], [4], [10, 2]])?;
    /// let most = rt.unsorted_segment_max(g.constant([1i64, 0, 1])?, 2)?;
    /// let most = g.compile(most)?.run_named(&[])?.ragged_at(0)?;
    /// assert_eq!(most, ragged![[4], [10, 20, 3]]);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    unsorted_segment_max, unsorted_segment_max;
    /// Takes the minimum of the rows of each segment column by column. Integers and floats. As TensorFlow's
    /// `tf.math.unsorted_segment_min` of ragged tensors.
    ///
    /// ```
    /// use shapeflow::{Graph, ragged};
    ///
    /// let g = Graph::new();
    /// let rt = g.ragged_constant(&ragged![[1, 20, 3], [4], [10, 2]])?;
    /// let least = rt.unsorted_segment_min(g.constant([1i64, 0, 1])?, 2)?;
    /// let least = g.compile(least)?.run_named(&[])?.ragged_at(0)?;
    /// assert_eq!(least, ragged![[4], [1, 2, 3]]);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    unsorted_segment_min, unsorted_segment_min;
    /// Returns the mean of the rows of each segment column by column. A column counts the rows that have it. Floats and
    /// complex numbers keep their dtype. Integers of 8 and 16 bits give f32, and other integers give f64. If the
    /// ids are ragged, a segment without elements gives NaN. As TensorFlow's `tf.math.unsorted_segment_mean` of ragged
    /// tensors, but a sum of integers does not wrap.
    ///
    /// ```
    /// use shapeflow::{Graph, ragged};
    ///
    /// let g = Graph::new();
    /// let rt = g.ragged_constant(&ragged![[1.0, 2.0, 3.0], [4.0], [3.0, 6.0]])?;
    /// let means = rt.unsorted_segment_mean(g.constant([1i64, 0, 1])?, 2)?;
    /// let means = g.compile(means)?.run_named(&[])?.ragged_at(0)?;
    /// assert_eq!(means, ragged![[4.0], [2.0, 4.0, 3.0]]);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    unsorted_segment_mean, unsorted_segment_mean_or_nan of averaged;
    /// Divides the sum of the rows of each segment by the square root of their number, column by column. A column
    /// counts the rows that have it. Floats and complex numbers. If the ids are ragged, a segment without elements
    /// gives NaN. As TensorFlow's `tf.math.unsorted_segment_sqrt_n` of ragged tensors.
    ///
    /// ```
    /// use shapeflow::{Graph, ragged};
    ///
    /// let g = Graph::new();
    /// let rt = g.ragged_constant(&ragged![[1.0], [2.0], [3.0, 5.0], [4.0]])?;
    /// let sums = rt.unsorted_segment_sqrt_n(g.constant([0i64, 0, 0, 0])?, 1)?;
    /// let sums = g.compile(sums)?.run_named(&[])?.ragged_at(0)?;
    /// assert_eq!(sums, ragged![[5.0, 5.0]]);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    unsorted_segment_sqrt_n, unsorted_segment_sqrt_n_or_nan;
}

/// A segment reduction of a dense value, with the segment ids and their number.
type Reduce<'f, 'g> = &'f dyn Fn(Value<'g>, Value<'g>, Param<'g>) -> Result<Value<'g>>;

/// Reduces the rows of each segment.
fn reduce<'g>(
    x: AnyValue<'g>,
    ids: AnyValue<'g>,
    count: Param<'g>,
    f: Reduce<'_, 'g>,
) -> Result<AnyValue<'g>> {
    let (x, ids) = match (x, ids) {
        (AnyValue::Dense(x), AnyValue::Dense(ids)) => return f(x, ids, count).map(AnyValue::Dense),
        (AnyValue::Ragged(x), AnyValue::Ragged(ids)) => {
            AnyValue::from(ids).check_splits_dtype(x.row_splits().dtype())?;
            return reduce(x.with_rows_of(ids, 1)?.values(), ids.values(), count, f);
        }
        (AnyValue::Dense(x), AnyValue::Ragged(ids)) => {
            let message = format!(
                "the axes of segment ids must be the first axes of the values, got ragged ids {} and dense values {}",
                ids.shape_text(),
                x.shape()
            );
            return Err(refuse(x.graph(), ErrorKind::Shape, message));
        }
        (AnyValue::Ragged(x), AnyValue::Dense(ids)) => (x, ids),
    };
    if ids.shape().rank() != Some(1) {
        let message = format!(
            "dense segment ids of ragged values must be a vector, got {} for {}",
            ids.shape(),
            x.shape_text()
        );
        return Err(refuse(x.graph(), ErrorKind::Shape, message)
            .with_help("use ragged segment ids, with the row splits of the values"));
    }
    let (x, ids) = super::gather_along::same_count(x, ids.into(), "segment ids")?;
    let ids = ids.flat_values();
    let (graph, lengths) = (x.graph(), x.row_lengths()?);
    let dtype = lengths.dtype();
    let longest = lengths.unsorted_segment_max(ids, count)?.maximum(number(graph, dtype, 0)?)?;
    let splits = splits_of_lengths(longest)?;
    let starts = splits.gather(ids, 0)?;
    let (_, places) = range_parts(starts, (starts + lengths).ok()?, number(graph, dtype, 1)?)?;
    let values = Param::Value(splits.slice_with(&[SliceItem::at(-1)])?);
    let reduced = reduce(x.values(), places.into(), values, f)?;
    let rows = RowPartitionValue::new("splits", splits, splits, None)?;
    Ok(reduced.split_by(rows).into())
}
