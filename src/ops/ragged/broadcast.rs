//! Broadcasts an operand of a ragged op, dense or with fewer partitions: repeats its elements so that each flat value
//! of the ragged operand has one.

use std::panic::Location;

use shapeflow_shape_fns::{DType, Dim, TensorShape};

use super::checks::DenseCheck;
use super::counts::Known;
use super::errors::refuse;
use super::numbers::{dim_value, own_dim};
use crate::error::{Error, ErrorKind, Result};
use crate::graph::{RaggedValue, Value};

/// Returns the error of operands whose partitions cannot be equal.
pub(super) fn unequal(a: RaggedValue<'_>, b: RaggedValue<'_>, location: &'static Location<'static>) -> Error {
    let message = format!(
        "ragged operands must have the same partitions, got {} and {}",
        a.shape_text(),
        b.shape_text()
    );
    refuse(a.graph(), ErrorKind::Shape, message).at(location)
}

fn is_one(size: &Dim) -> bool {
    size.as_known() == Some(1)
}

/// An axis of a dense operand that is not known to have size 1.
struct DenseAxis {
    /// The axis of the ragged value with which this axis lines up.
    ragged_axis: usize,
    size: Dim,
    /// Whether the dense operand is known to have the size of the ragged value along the axis, not size 1.
    is_whole: bool,
}

impl<'g> RaggedValue<'g> {
    /// Returns `self`, guarded by the check that `other` has the same partitions, unless this is known now. Both must
    /// have the same number of inner axes, so that their flat values have the same axes.
    pub(super) fn matched(
        self,
        other: RaggedValue<'g>,
        location: &'static Location<'static>,
    ) -> Result<RaggedValue<'g>> {
        let count = self.ragged_rank();
        if count != other.ragged_rank() {
            return Err(unequal(self, other, location));
        }
        let ranks = [self, other].map(|value| value.flat_values().shape().rank());
        if ranks[0].is_none() || ranks[0] != ranks[1] {
            let message = format!(
                "ragged operands must have the same rank, got {} and {}",
                self.shape_text(),
                other.shape_text()
            );
            return Err(refuse(self.graph(), ErrorKind::Shape, message)
                .at(location)
                .with_help("use expand_dims, which adds an axis of size 1"));
        }
        self.with_rows_of(other, count)
    }

    /// Repeats the flat values of `other`, which has fewer partitions, for the flat values of `self`. `other` has the
    /// outer partitions of `self`, and size 1 along the axes of the other partitions. Also returns `self`, guarded by
    /// the check that the outer partitions are equal.
    pub(super) fn spread_ragged(
        self,
        other: RaggedValue<'g>,
        location: &'static Location<'static>,
    ) -> Result<(RaggedValue<'g>, Value<'g>)> {
        let (ours, theirs) = (self.partitions(), other.partitions());
        let inner = &ours[theirs.len()..];
        let (flat_rank, shape) = (self.flat_values().shape().rank(), other.flat_values().shape());
        let sizes = shape.dims().unwrap_or_default();
        let is_aligned = flat_rank.map(|rank| rank + inner.len()) == Some(sizes.len());
        if !is_aligned || !sizes[1..=inner.len()].iter().all(is_one) {
            return Err(unequal(self, other, location));
        }
        let squeezed = [&sizes[..1], &sizes[1 + inner.len()..]].concat();
        let flat = other.flat_values().reshape(TensorShape::new(squeezed))?;
        let flat = RaggedValue::new(flat, &theirs).with_rows_of(self, theirs.len())?.flat_values();
        let flat = flat.gather(RaggedValue::new(self.flat_values(), inner).outer_rowids()?, 0)?;
        Ok((self.with_rows_of(other, theirs.len())?, flat))
    }

    /// Spreads a dense operand over the flat values. Along axis 0, its size is 1 or the number of rows. Along a
    /// partitioned axis, its size is 1 or the length of every row; the run compares them if they are not known now. It
    /// broadcasts along the other axes. Also returns `self`, with its partitioned axes of size 1 stretched to the
    /// operand, and guarded by these checks.
    pub(super) fn spread(self, dense: Value<'g>) -> Result<(RaggedValue<'g>, Value<'g>)> {
        self.spread_once(dense, true)
    }

    /// Spreads as [`spread`](Self::spread) does. `is_stretched` says whether axes of `self` of size 1 are stretched.
    fn spread_once(self, dense: Value<'g>, is_stretched: bool) -> Result<(RaggedValue<'g>, Value<'g>)> {
        let (flat_rank, rank) = (self.flat_values().shape().rank(), dense.shape().rank());
        if rank == Some(0) {
            return Ok((self, dense));
        }
        let (Some(flat_rank), Some(rank)) = (flat_rank, rank) else {
            return Err(refuse(
                self.graph(),
                ErrorKind::Shape,
                format!("operands of a ragged op must have known ranks, got {}", dense.shape()),
            ));
        };
        if rank < flat_rank {
            return Ok((self, dense));
        }
        let shape = dense.shape();
        let Some(missing) = (self.ragged_rank() + flat_rank).checked_sub(rank) else {
            let message = format!(
                "a dense operand must have at most the rank of the ragged one, got {shape} with {}",
                self.shape_text()
            );
            return Err(refuse(self.graph(), ErrorKind::Shape, message));
        };
        // The sizes along axis 0 and the partitioned axes.
        let inner = &shape.dims().unwrap_or_default()[self.ragged_rank() + 1 - missing..];
        let outer = (0..rank - inner.len()).map(|axis| own_dim(dense, axis)).collect::<Result<Vec<Dim>>>()?;
        let ones = std::iter::repeat_n(Dim::known(1), missing);
        let sizes: Vec<Dim> = ones.chain(outer.iter().cloned()).collect();
        let stretched = if is_stretched { self.stretched_to(&sizes)? } else { self };
        let mut pairs = self.partitions().into_iter().zip(stretched.partitions());
        if pairs.any(|(ours, rows)| !ours.is_same(rows)) {
            return stretched.spread_once(dense, false);
        }
        let (mut axes, mut checked, mut rows) = (Vec::new(), dense, self);
        for (axis, size) in (missing..).zip(&outer).filter(|(_, size)| !is_one(size)) {
            let count = match axis.checked_sub(1) {
                None => Some(self.own_nrows()?),
                Some(level) => self.partitions()[level].uniform_row_length(),
            };
            let splits = self.partitions()[axis.saturating_sub(1)].row_splits();
            let known = match &count {
                Some(count) => Known::of(&[dense, splits], count, size)?,
                None => Known::Nothing,
            };
            if known == Known::Different {
                let requirement =
                    "a dense operand must have size 1 or the ragged operand's size along each outer axis";
                let message = format!("{requirement}, got {shape} with {}", self.shape_text());
                return Err(refuse(self.graph(), ErrorKind::Shape, message)
                    .with_help("make a ragged operand from it with from_tensor or the same row splits"));
            }
            if known != Known::Equal {
                let check = self.axis_check(axis, size, rank)?;
                let guard = |part: Value<'g>| check.guard(part);
                checked = guard(checked)?;
                let partitions = rows.partitions().into_iter().map(|rows| rows.guarded(&guard));
                rows = RaggedValue::new(self.flat_values(), &partitions.collect::<Result<Vec<_>>>()?);
            }
            let is_whole = known == Known::Equal || size.as_known().is_some();
            axes.push(DenseAxis { ragged_axis: axis, size: size.clone(), is_whole });
        }
        let is_whole = axes.len() == self.ragged_rank() + 1 && axes.iter().all(|axis| axis.is_whole);
        let count = match axes.is_empty() {
            true => None,
            false if is_whole => Some(own_dim(self.flat_values(), 0)?),
            false => Some(axes.iter().fold(Dim::known(1), |count, axis| count * axis.size.clone())),
        };
        let items = checked.reshape(TensorShape::new(count.into_iter().chain(inner.iter().cloned())))?;
        match axes.is_empty() || is_whole {
            true => Ok((rows, items)),
            false => Ok((rows, items.gather(self.item_indices(&axes)?, 0)?)),
        }
    }

    /// Returns the check that `size` is 1 or the size of the ragged value along an axis. The dense operand has this
    /// rank.
    fn axis_check(self, axis: usize, size: &Dim, rank: usize) -> Result<DenseCheck<'g>> {
        let size_value = dim_value(self.graph(), size.clone())?;
        let fits = match axis.checked_sub(1) {
            None => dim_value(self.graph(), self.own_nrows()?)?.equal(size_value)?,
            Some(level) => {
                let lengths = self.partitions()[level].row_lengths()?.cast(DType::I64)?;
                lengths.equal(size_value)?.reduce_all(0)?
            }
        };
        let fits = match size.as_known() {
            Some(_) => fits,
            None => fits.logical_or(size_value.equal(1i64)?)?,
        };
        Ok(DenseCheck::new(fits, size_value, axis, rank))
    }

    /// Returns, for each flat value, the index of its item in the dense operand, whose axes `axes` are joined into one.
    fn item_indices(self, axes: &[DenseAxis]) -> Result<Value<'g>> {
        let partitions = self.partitions();
        let mut joined: Option<Value<'g>> = None;
        for axis in axes {
            let rows =
                RaggedValue::new(self.flat_values(), &partitions[axis.ragged_axis.saturating_sub(1)..]);
            let index = if axis.ragged_axis == 0 { rows.value_rowids()? } else { rows.columns()? };
            let index = self.at_flat_values(index, axis.ragged_axis.max(1))?.cast(DType::I64)?;
            let size = dim_value(self.graph(), axis.size.clone())?;
            // An axis of size 1 has the item 0 for every index.
            let index = if axis.is_whole { index } else { index.minimum((size - 1i64).ok()?)? };
            joined = Some(match joined {
                None => index,
                Some(joined) => ((joined * size).ok()? + index).ok()?,
            });
        }
        Ok(joined.expect("an axis has a size that is not 1"))
    }

    /// `items` has one item for each value of partition `level - 1`. Repeats them for the flat values: each flat value
    /// gets the item of the value that contains it.
    fn at_flat_values(self, items: Value<'g>, level: usize) -> Result<Value<'g>> {
        let partitions = self.partitions();
        (level..partitions.len()).try_fold(items, |items, level| {
            items.gather(RaggedValue::new(self.flat_values(), &partitions[level..]).value_rowids()?, 0)
        })
    }

    /// Returns the row along axis 0 of each flat value.
    pub(super) fn outer_rowids(self) -> Result<Value<'g>> {
        self.at_flat_values(self.value_rowids()?, 1)
    }
}
