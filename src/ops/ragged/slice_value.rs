//! Slices of ragged values, with the items of [`Value::slice_with`].

use shapeflow_shape_fns::{DType, Dim};

use super::errors::refuse;
use super::numbers::number;
use super::range::range_parts;
use super::select::take;
use super::slice_tensor::whole_axes;
use crate::error::{ErrorKind, Phase, Result};
use crate::graph::{AnyValue, RaggedValue, RowPartitionValue, Value};
use crate::ops::{Position, SliceItem};

impl<'g> RaggedValue<'g> {
    /// Slices as Python's `rt[1, 2:5, ::-1, None, ...]` does. The items select along the first axes,
    /// one item for each axis. An axis without an item stays whole, and a new axis uses up no axis.
    ///
    /// A single position along an inner ragged axis is refused, because a row may be shorter. A range is clamped to
    /// each row. A position outside its axis fails the run.
    ///
    /// Any dtype and shape. As TensorFlow's `RaggedTensor.__getitem__`. It is composed of other ops: the positions
    /// are computed on the host, and a gather takes the elements.
    ///
    /// ```
    /// use shapeflow::{AnyValue, Graph, SliceItem, ragged};
    ///
    /// let g = Graph::new();
    /// let rt = g.ragged_constant(&ragged![[1, 2, 3], [4], [], [5, 6]])?;
    /// let backwards = SliceItem::from(..).step(-1);
    /// let slices: [AnyValue; 3] = [
    ///     rt.slice_with(&[SliceItem::at(-1)])?,
    ///     rt.slice_with(&[SliceItem::All, (..2).into()])?,
    ///     rt.slice_with(&[SliceItem::from(1..), backwards, SliceItem::NewAxis])?,
    /// ];
    /// let results = g.compile(&slices)?.run_named(&[])?;
    /// assert_eq!(results.ragged_at(1)?.to_string(), "[[1, 2], [4], [], [5, 6]]");
    /// assert_eq!(results.ragged_at(2)?.to_string(), "[[[4]], [], [[6], [5]]]");
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// A position cannot lie within its axis or selects from an inner ragged axis, a step is 0, there are more items
    /// than axes, or there are two [`SliceItem::Rest`].
    #[track_caller]
    pub fn slice_with(self, items: &[SliceItem<'g>]) -> Result<AnyValue<'g>> {
        self.in_call("slice_with", || {
            let items = whole_axes(items, super::reduce::rank_of(self)?, Phase::Build)?;
            outer(self.into(), &items, 0)
        })
    }

    /// Keeps the elements of a range in every row, as Python's `rt[:, begin:end]`. Negative positions count from the
    /// end of each row.
    ///
    /// `[n, (r), ..] -> [n, (s), ..]`, any dtype. As TensorFlow's `rt[:, begin:end]`. It is composed of a
    /// computation of positions on the host and a gather.
    ///
    /// ```
    /// use shapeflow::{Graph, ragged};
    ///
    /// let g = Graph::new();
    /// let rt = g.ragged_constant(&ragged![[1, 2, 3], [4], [5, 6]])?;
    /// let y = rt.slice_rows(0, Some(2))?;
    /// let y = g.compile(y)?.run_named(&[])?.ragged_at(0)?;
    /// assert_eq!(y, ragged![[1, 2], [4], [5, 6]]);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The flat values have an unknown rank.
    #[track_caller]
    pub fn slice_rows(self, begin: i64, end: Option<i64>) -> Result<RaggedValue<'g>> {
        self.in_call("slice_rows", || {
            let range = SliceItem::Range(Some(begin.into()), end.map(Position::from), 1);
            self.slice_with(&[SliceItem::All, range])?.ragged()
        })
    }
}

/// Slices along axis 0 by the first item, and along further axes by the other items. An error calls
/// axis 0 of `x` axis `axis`.
fn outer<'g>(x: AnyValue<'g>, items: &[SliceItem<'g>], axis: usize) -> Result<AnyValue<'g>> {
    let Some((first, rest)) = items.split_first() else { return Ok(x) };
    let ragged = match x {
        AnyValue::Dense(value) => return value.slice_with(items).map(AnyValue::Dense),
        AnyValue::Ragged(ragged) => ragged,
    };
    match first {
        SliceItem::At(_) => {
            let at = std::slice::from_ref(first);
            let (start, limit) = (ragged.row_starts()?.slice_with(at)?, ragged.row_limits()?.slice_with(at)?);
            let (_, positions) = range_parts(start, limit, number(x.graph(), start.dtype(), 1)?)?;
            outer(take(ragged.values(), positions)?, rest, axis + 1)
        }
        SliceItem::NewAxis => outer(x, rest, axis)?.expand(0),
        SliceItem::All => batched(x, rest, axis + 1),
        SliceItem::Range(..) => {
            let rows = positions_of(ragged.own_nrows()?, first, x)?;
            batched(take(x, rows)?, rest, axis + 1)
        }
        SliceItem::Rest | SliceItem::Through(..) => unreachable!("whole_axes leaves no such item"),
    }
}

/// Slices every entry of axis 0 by `items`. An error calls axis 1 of `x` axis `axis`.
fn batched<'g>(x: AnyValue<'g>, items: &[SliceItem<'g>], axis: usize) -> Result<AnyValue<'g>> {
    let Some((first, rest)) = items.split_first() else { return Ok(x) };
    let ragged = match x {
        AnyValue::Dense(value) => {
            return value.slice_with(&[&[SliceItem::All], items].concat()).map(AnyValue::Dense);
        }
        AnyValue::Ragged(ragged) => ragged,
    };
    let partition = ragged.partition();
    match first {
        SliceItem::NewAxis => batched(x, rest, axis)?.expand(1),
        SliceItem::At(position) => {
            let Some(length) = partition.uniform_row_length() else {
                let message = format!(
                    "a position along axis {axis} must be a range, because the axis is ragged, got {position}"
                );
                return Err(refuse(x.graph(), ErrorKind::Index, message)
                    .with_help("use SliceItem::span(i, i + 1), which keeps the axis"));
            };
            let starts = ragged.row_starts()?;
            let position = positions_of(length, first, x)?.cast(starts.dtype())?;
            batched(take(ragged.values(), (starts + position).ok()?)?, rest, axis + 1)
        }
        SliceItem::Range(begin, end, step) => {
            let (rows, positions) = cut(ragged, begin.as_ref(), end.as_ref(), *step)?;
            Ok(batched(take(ragged.values(), positions)?, rest, axis + 1)?.split_by(rows).into())
        }
        _ => Ok(batched(ragged.values(), rest, axis + 1)?.split_by(partition).into()),
    }
}

/// Returns the positions that an item selects from an axis of this size; a scalar for a single position.
fn positions_of<'g>(size: Dim, item: &SliceItem<'g>, x: AnyValue<'g>) -> Result<Value<'g>> {
    x.graph().range(0i64, size, 1i64)?.slice_with(std::slice::from_ref(item))
}

/// Applies a Python range to each row of the outermost partition. Returns the partition of the kept values, and their
/// positions.
pub(super) fn cut<'g>(
    x: RaggedValue<'g>,
    begin: Option<&Position<'g>>,
    end: Option<&Position<'g>>,
    step: i64,
) -> Result<(RowPartitionValue<'g>, Value<'g>)> {
    if step == 0 {
        return Err(refuse(x.graph(), ErrorKind::Index, "the step of a range must not be 0".to_string()));
    }
    let (starts, lengths) = (x.row_starts()?, x.row_lengths()?);
    let (graph, dtype) = (x.graph(), starts.dtype());
    let zero = number(graph, dtype, 0)?;
    // Backwards, the range may start at the last position and may end before the first one.
    let (least, most) = match step > 0 {
        true => (zero, lengths),
        false => (number(graph, dtype, -1)?, (lengths - 1).ok()?),
    };
    let clamp = |position: &Position<'g>| -> Result<Value<'g>> {
        let index = match position.as_known() {
            Some(position) => {
                let position = if dtype == DType::I32 {
                    position.clamp(i32::MIN.into(), i32::MAX.into())
                } else {
                    position
                };
                let known = number(graph, dtype, position)?;
                if position < 0 { (lengths + known).ok()? } else { known }
            }
            None => {
                let mut position = position.to_i64(graph)?;
                if dtype == DType::I32 {
                    position = position.maximum(i64::from(i32::MIN))?.minimum(i64::from(i32::MAX))?;
                }
                let position = position.cast(dtype)?;
                let wraps = position.less(zero)?.cast(dtype)?;
                (lengths * wraps + position).ok()?
            }
        };
        index.maximum(least)?.minimum(most)
    };
    let (first, last) = if step > 0 { (least, most) } else { (most, least) };
    let (first, last) = (begin.map_or(Ok(first), clamp)?, end.map_or(Ok(last), clamp)?);
    // No row is longer than the greatest number of the dtype, so a greater step selects one position too.
    let greatest = if dtype == DType::I32 { i64::from(i32::MAX) } else { i64::MAX };
    let step_value = number(graph, dtype, step.clamp(-greatest, greatest))?;
    let (splits, positions) = range_parts((starts + first).ok()?, (starts + last).ok()?, step_value)?;
    let splits = splits.cast(dtype)?;
    let uniform = match x.partition().uniform_row_length() {
        Some(length) => {
            let item = SliceItem::Range(begin.cloned(), end.cloned(), step);
            Some(positions_of(length, &item, x.into())?.dim(0)?)
        }
        None => None,
    };
    Ok((RowPartitionValue::new("splits", splits, splits, uniform)?, positions))
}

impl<'g> AnyValue<'g> {
    /// Returns the graph that the value belongs to.
    pub fn graph(self) -> &'g crate::graph::Graph {
        self.flat_values().graph()
    }

    /// Adds an axis of size 1.
    fn expand(self, axis: i64) -> Result<AnyValue<'g>> {
        match self {
            AnyValue::Dense(value) => value.expand_dims(axis).map(AnyValue::Dense),
            AnyValue::Ragged(value) => value.expand_dims(axis).map(AnyValue::Ragged),
        }
    }
}
