//! Slices of ragged tensors with the data of a run, with the items of [`Value::slice_with`](crate::Value::slice_with).

use std::ops::Range;

use shapeflow_shape_fns::counted;

use crate::error::{Error, ErrorKind, Phase, Result};
use crate::ops::{Position, SliceItem};
use crate::ragged::{RaggedItem, RaggedTensor, RowPartition};

impl RaggedTensor {
    /// Slices as Python's `rt[1, 2:5, ::-1, None, ...]` does. There is one item per axis; further axes are kept whole.
    ///
    /// A single position along an inner ragged axis is refused, because a row may be shorter. A range is clamped to
    /// each row.
    ///
    /// ```
    /// use shapeflow::{SliceItem, ragged};
    ///
    /// let rt = ragged![[1, 2, 3], [4], [], [5, 6]];
    /// assert_eq!(rt.slice_with(&[SliceItem::from(1..)])?.to_string(), "[[4], [], [5, 6]]");
    /// assert_eq!(rt.slice_with(&[SliceItem::All, (..2).into()])?.to_string(), "[[1, 2], [4], [], [5, 6]]");
    /// let backwards = SliceItem::from(..).step(-1);
    /// assert_eq!(rt.slice_with(&[SliceItem::All, backwards])?.to_string(), "[[3, 2, 1], [4], [], [6, 5]]");
    /// let error = rt.slice_with(&[SliceItem::All, SliceItem::at(0)]).unwrap_err();
    /// assert!(error.message().starts_with("a position along axis 1 must be a range, because the axis is ragged"));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// A position is out of range or selects from an inner ragged axis, a step is 0, there are more items than axes, or
    /// there are two [`SliceItem::Rest`].
    pub fn slice_with(&self, items: &[SliceItem]) -> Result<RaggedItem> {
        let items = whole_axes(items, self.rank(), Phase::Run)?;
        outer(RaggedItem::Ragged(self.clone()), &items, 0)
    }
}

fn refuse(kind: ErrorKind, message: String) -> Error {
    Error::new(kind, Phase::Run, message)
}

/// Puts whole axes in place of [`SliceItem::Rest`], and ranges with an end in place of [`SliceItem::Through`].
pub(super) fn whole_axes<'g>(
    items: &[SliceItem<'g>],
    rank: usize,
    phase: Phase,
) -> Result<Vec<SliceItem<'g>>> {
    let is_rest = |item: &&SliceItem| matches!(item, SliceItem::Rest);
    let used = items.iter().filter(|item| !matches!(item, SliceItem::Rest | SliceItem::NewAxis)).count();
    let Some(rest) = rank.checked_sub(used) else {
        let message = format!(
            "there must be at most one item for each of {rank}, got {used}",
            rank = counted(rank, "axis")
        );
        return Err(Error::new(ErrorKind::Index, phase, message));
    };
    if items.iter().filter(is_rest).count() > 1 {
        let message = "there must be at most one SliceItem::Rest, got more";
        return Err(Error::new(ErrorKind::Index, phase, message));
    }
    let mut whole = Vec::new();
    for item in items {
        match item {
            SliceItem::Rest => whole.extend(std::iter::repeat_n(SliceItem::All, rest)),
            other => whole.push(other.with_end()?),
        }
    }
    Ok(whole)
}

/// Returns the value of a position. The sizes of a ragged tensor are known, so a position must be a number.
fn known(position: &Position<'_>) -> Result<i64> {
    position.as_known().ok_or_else(|| {
        refuse(ErrorKind::Index, format!("a position in a ragged tensor must be a number, got {position}"))
    })
}

/// Returns the value of an end of a range, if the range has this end.
fn known_end(position: &Option<Position<'_>>) -> Result<Option<i64>> {
    position.as_ref().map(known).transpose()
}

/// Slices along axis 0 by the first item, and along further axes by the other items. `axis` numbers axis 0 in errors.
fn outer(x: RaggedItem, items: &[SliceItem], axis: usize) -> Result<RaggedItem> {
    let Some((first, rest)) = items.split_first() else { return Ok(x) };
    match first {
        SliceItem::At(position) => outer(x.item_at(known(position)?)?, rest, axis + 1),
        SliceItem::NewAxis => {
            let inner = outer(x, rest, axis)?;
            let rows = RowPartition::uniform(inner.len(), 1, splits_dtype(&inner))?;
            match inner {
                RaggedItem::Dense(tensor) => {
                    let sizes = [&[1], tensor.sizes()].concat();
                    Ok(RaggedItem::Dense(tensor.reshape(&sizes)?))
                }
                ragged => Ok(RaggedItem::Ragged(RaggedTensor::partitioned(rows, ragged)?)),
            }
        }
        SliceItem::All => batched(x, rest, axis + 1),
        SliceItem::Range(begin, end, step) => {
            let rows = positions(0..x.len(), known_end(begin)?, known_end(end)?, *step)?;
            batched(x.take(&rows)?, rest, axis + 1)
        }
        SliceItem::Rest | SliceItem::Through(..) => unreachable!("whole_axes leaves no such item"),
    }
}

fn splits_dtype(x: &RaggedItem) -> shapeflow_shape_fns::DType {
    match x {
        RaggedItem::Ragged(ragged) => ragged.row_splits_dtype(),
        RaggedItem::Dense(_) => shapeflow_shape_fns::DType::I64,
    }
}

/// Slices every item along axis 0 by `items`. `axis` numbers axis 1 in errors.
fn batched(x: RaggedItem, items: &[SliceItem], axis: usize) -> Result<RaggedItem> {
    let Some((first, rest)) = items.split_first() else { return Ok(x) };
    let dtype = splits_dtype(&x);
    if matches!(first, SliceItem::NewAxis) {
        let inner = batched(x, rest, axis)?;
        let (rows, is_dense) =
            (RowPartition::uniform(1, inner.len(), dtype)?, matches!(inner, RaggedItem::Dense(_)));
        return joined(rows, inner, is_dense);
    }
    let is_dense = matches!(x, RaggedItem::Dense(_));
    let (partition, values) = match x {
        RaggedItem::Ragged(ragged) => (ragged.partition().clone(), ragged.values()),
        RaggedItem::Dense(tensor) => {
            // The first two axes become one, so that a dense axis is a uniform partition.
            let &[rows, width, ref inner @ ..] = tensor.sizes() else {
                unreachable!("items are checked against the rank")
            };
            let values = tensor.reshape(&[&[rows * width], inner].concat())?;
            (RowPartition::uniform(width, rows, dtype)?, RaggedItem::Dense(values))
        }
    };
    match first {
        SliceItem::At(position) => {
            let position = known(position)?;
            let Some(length) = partition.uniform_row_length() else {
                let message = format!(
                    "a position along axis {axis} must be a range, because the axis is ragged, got {position}"
                );
                return Err(refuse(ErrorKind::Index, message)
                    .with_help("use SliceItem::span(i, i + 1), which keeps the axis"));
            };
            let index = match position < 0 {
                true => {
                    usize::try_from(position.unsigned_abs()).ok().and_then(|back| length.checked_sub(back))
                }
                false => usize::try_from(position).ok(),
            };
            let Some(index) = index.filter(|index| *index < length) else {
                let message =
                    format!("a position along axis {axis} must be in [-{length}, {length}), got {position}");
                return Err(refuse(ErrorKind::Index, message));
            };
            let taken: Vec<Range<usize>> =
                partition.ranges().map(|row| row.start + index..row.start + index + 1).collect();
            batched(values.take(&taken)?, rest, axis + 1)
        }
        SliceItem::Range(begin, end, step) => {
            let (begin, end, step) = (known_end(begin)?, known_end(end)?, *step);
            let (mut taken, mut ends) = (Vec::new(), vec![0]);
            for row in partition.ranges() {
                let kept = positions(row, begin, end, step)?;
                let before = ends[ends.len() - 1];
                ends.push(before + kept.iter().map(ExactSizeIterator::len).sum::<usize>());
                taken.extend(kept);
            }
            let rows = match partition.uniform_row_length() {
                Some(length) => {
                    // Without rows, the length has no bound.
                    let kept = PythonRange::new(length, begin, end, step)?.len();
                    RowPartition::uniform(kept, partition.nrows(), dtype)?
                }
                None => RowPartition::of_offsets(dtype, ends.into_iter())?,
            };
            joined(rows, batched(values.take(&taken)?, rest, axis + 1)?, is_dense)
        }
        _ => joined(partition, batched(values, rest, axis + 1)?, is_dense),
    }
}

/// Puts a partition around values. A uniform partition of dense values gives a dense tensor if `is_dense`: if the
/// partition stands for an axis of a dense tensor.
fn joined(partition: RowPartition, values: RaggedItem, is_dense: bool) -> Result<RaggedItem> {
    match (partition.uniform_row_length().filter(|_| is_dense), values) {
        (Some(length), RaggedItem::Dense(tensor)) => {
            let sizes = [&[partition.nrows(), length], &tensor.sizes()[1..]].concat();
            Ok(RaggedItem::Dense(tensor.reshape(&sizes)?))
        }
        (_, values) => Ok(RaggedItem::Ragged(RaggedTensor::partitioned(partition, values)?)),
    }
}

/// A Python range within a row: the positions from `begin` on, which stop before `end`.
struct PythonRange {
    begin: i64,
    end: i64,
    step: i64,
}

impl PythonRange {
    /// Clamps the ends of a range to a row of this length.
    ///
    /// # Errors
    /// The step is 0.
    fn new(length: usize, begin: Option<i64>, end: Option<i64>, step: i64) -> Result<PythonRange> {
        if step == 0 {
            return Err(refuse(ErrorKind::Index, "the step of a range must not be 0".to_string()));
        }
        let length = i64::try_from(length).unwrap_or(i64::MAX);
        // Backwards, the range may start at the last position and may end before the first one.
        let (least, most) = if step > 0 { (0, length) } else { (-1, length - 1) };
        let clamp = |position: i64| {
            let index = if position < 0 { position.saturating_add(length) } else { position };
            index.clamp(least, most)
        };
        let (first, last) = if step > 0 { (least, most) } else { (most, least) };
        Ok(PythonRange { begin: begin.map_or(first, clamp), end: end.map_or(last, clamp), step })
    }

    /// Returns the number of positions.
    fn len(&self) -> usize {
        let distance = if self.step > 0 { self.end - self.begin } else { self.begin - self.end };
        (distance.max(0) as u64).div_ceil(self.step.unsigned_abs()) as usize
    }

    /// Returns the positions as ranges of positions after `start`.
    fn positions(&self, start: usize) -> Vec<Range<usize>> {
        let offset = |position: i64| start + position as usize;
        if self.step == 1 {
            let range = offset(self.begin)..offset(self.end);
            return if range.is_empty() { Vec::new() } else { vec![range] };
        }
        // The last position lies in the row, so no product overflows.
        let positions = (0..self.len()).map(|number| self.begin + number as i64 * self.step);
        positions.map(|position| offset(position)..offset(position) + 1).collect()
    }
}

/// Returns the positions of a Python range within `row`, as ranges of positions.
fn positions(
    row: Range<usize>,
    begin: Option<i64>,
    end: Option<i64>,
    step: i64,
) -> Result<Vec<Range<usize>>> {
    Ok(PythonRange::new(row.len(), begin, end, step)?.positions(row.start))
}
