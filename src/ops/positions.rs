//! [`Positions`]: the destinations of rows, given as multi-dimensional indices.

use shapeflow_shape_fns::{Attrs, DType, InferenceContext, ShapeError};
use smallvec::SmallVec;

use crate::error::{Error, ErrorKind, Phase, Result};
use crate::tensor::{TensorView, place_text};

/// The destination of a dropped row.
pub(super) const NOWHERE: usize = usize::MAX;

/// The number of destinations computed together. These destinations stay in the L1 cache.
pub(super) const BLOCK: usize = 1024;

/// The number of rows from the current row to the row whose destination is prefetched.
const AHEAD: usize = 32;

/// A target of at most this number of bytes stays in the last cache. To prefetch its destinations takes longer than the
/// accesses themselves, which the processor overlaps.
const CACHED: usize = 1 << 22;

/// The number of indices inspected to predict whether the remaining indices repeat.
const SAMPLE: usize = 256;

/// The destinations of rows. Row `i` goes to the index `ints[i, ..]` along the leading axes of a tensor; its
/// destination is the row-major number of that index.
pub(crate) struct Positions<'a> {
    ints: Ints<'a>,
    /// The sizes of the indexed axes.
    sizes: &'a [usize],
    dropped: Dropped,
    /// The operand that holds the indices, and its sizes, for error messages.
    source: Option<(usize, SmallVec<[usize; 4]>)>,
}

/// The rows to drop. For any other row, an index out of range fails the run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Dropped {
    Nothing,
    /// Rows with a negative index.
    Negative,
    /// Rows with an index outside its axis.
    Outside,
}

/// TensorFlow's attribute for indices out of range: `IGNORE` drops the row, every other value fails the run.
const POLICY: &str = "bad_indices_policy";

/// Returns whether the attributes say that indices out of range are ignored.
pub(crate) fn ignores_outside(attrs: &Attrs) -> bool {
    attrs.str(POLICY) == "IGNORE"
}

/// Checks the attribute for indices out of range.
///
/// # Errors
/// The value is not one of TensorFlow's.
pub(crate) fn check_policy(cx: &InferenceContext<'_>) -> shapeflow_shape_fns::Result<()> {
    match cx.str_or(POLICY, "")? {
        "" | "DEFAULT" | "ERROR" | "IGNORE" => Ok(()),
        other => Err(ShapeError::new(format_args!(
            "{POLICY} must be \"\", \"DEFAULT\", \"ERROR\" or \"IGNORE\", got {other:?}"
        ))),
    }
}

enum Ints<'a> {
    I16(&'a [i16]),
    I32(&'a [i32]),
    I64(&'a [i64]),
}

impl<'a> Positions<'a> {
    /// Makes destinations from `indices`, which holds one index per row, with one integer per axis of `sizes`.
    /// `operand` is the number of the operand that holds the indices; `None` if the indices are not an operand.
    ///
    /// # Errors
    /// The elements are not i16, i32 or i64.
    pub(crate) fn new(
        indices: TensorView<'a>,
        operand: Option<usize>,
        sizes: &'a [usize],
    ) -> Result<Positions<'a>> {
        let source = operand.map(|operand| (operand, SmallVec::from_slice(indices.sizes())));
        let ints = match indices.dtype() {
            DType::I16 => Ints::I16(indices.as_slice()?),
            DType::I32 => Ints::I32(indices.as_slice()?),
            _ => Ints::I64(indices.as_slice()?),
        };
        Ok(Positions { ints, sizes, dropped: Dropped::Nothing, source })
    }

    /// Drops the rows with a negative index.
    pub(crate) fn dropping_negative(mut self) -> Positions<'a> {
        self.dropped = Dropped::Negative;
        self
    }

    /// Drops the rows with an index out of range, if the attributes say so.
    pub(crate) fn with_policy(mut self, attrs: &Attrs) -> Positions<'a> {
        if ignores_outside(attrs) {
            self.dropped = Dropped::Outside;
        }
        self
    }

    /// Returns whether one of the first [`SAMPLE`] indices equals its predecessor. The remaining indices are then
    /// likely to repeat too.
    pub(super) fn has_repeats(&self) -> bool {
        fn has_repeats<I: PartialEq>(ints: &[I]) -> bool {
            ints.windows(2).take(SAMPLE).any(|pair| pair[0] == pair[1])
        }
        match self.ints {
            Ints::I16(ints) => has_repeats(ints),
            Ints::I32(ints) => has_repeats(ints),
            Ints::I64(ints) => has_repeats(ints),
        }
    }

    /// Calls `f(target, destination, row)` for each row. The destination of a dropped or invalid row is out of bounds;
    /// `f` returns whether the destination was in bounds. `prefetch(target, destination)` may be called some rows
    /// earlier, to prefetch the destination.
    ///
    /// # Errors
    /// An index is out of range. Other rows may be written by then.
    pub(super) fn each<T: Copy, U>(
        &self,
        target: &mut [U],
        rows: &[T],
        prefetch: impl Fn(&[U], usize),
        mut f: impl FnMut(&mut [U], usize, T) -> bool,
    ) -> Result<()> {
        match (self.sizes, &self.ints) {
            ([_], Ints::I32(ints)) => self.each_of(target, &ints[..rows.len()], rows, prefetch, f),
            ([_], Ints::I64(ints)) => self.each_of(target, &ints[..rows.len()], rows, prefetch, f),
            _ => each_block(rows.len(), self, &mut |first, destinations| {
                for (&destination, &row) in destinations.iter().zip(&rows[first..]) {
                    f(target, destination, row);
                }
            }),
        }
    }

    /// Does what [`Positions::each`] does, for one integer per row, which is the destination itself. At the first
    /// destination out of bounds, all indices are checked: an invalid index is an error, the index of a dropped row is
    /// not.
    fn each_of<I: Copy + Into<i64>, T: Copy, U>(
        &self,
        target: &mut [U],
        ints: &[I],
        rows: &[T],
        prefetch: impl Fn(&[U], usize),
        mut f: impl FnMut(&mut [U], usize, T) -> bool,
    ) -> Result<()> {
        let (mut first, mut is_checked) = (0, false);
        while let Some(outside) = first_outside(target, &ints[first..], &rows[first..], &prefetch, &mut f) {
            if !is_checked {
                each_block(ints.len(), self, &mut |_, _| {})?;
                is_checked = true;
            }
            first += outside + 1;
        }
        Ok(())
    }

    /// Computes the destinations of rows `first..`, each below the product of the sizes, or [`NOWHERE`].
    fn fill(&self, first: usize, rows: &mut [usize]) -> Result<()> {
        match self.ints {
            Ints::I16(ints) => self.fill_from(ints, first, rows),
            Ints::I32(ints) => self.fill_from(ints, first, rows),
            Ints::I64(ints) => self.fill_from(ints, first, rows),
        }
    }

    fn fill_from<I: Copy + Into<i64>>(&self, ints: &[I], first: usize, rows: &mut [usize]) -> Result<()> {
        let depth = self.sizes.len();
        let ints = &ints[first * depth..(first + rows.len()) * depth];
        let outside = match depth {
            0 => {
                rows.fill(0);
                return Ok(());
            }
            1 => number_rows::<I, 1>(ints, self.sizes, rows),
            2 => number_rows::<I, 2>(ints, self.sizes, rows),
            3 => number_rows::<I, 3>(ints, self.sizes, rows),
            _ => {
                let mut outside = false;
                for (row, position) in rows.iter_mut().zip(ints.chunks_exact(depth)) {
                    *row = row_of(position, self.sizes, &mut outside);
                }
                outside
            }
        };
        if !outside {
            return Ok(());
        }
        for (number, (row, position)) in rows.iter_mut().zip(ints.chunks_exact(depth)).enumerate() {
            for (axis, (index, &size)) in position.iter().zip(self.sizes).enumerate() {
                let index: i64 = (*index).into();
                let is_outside = usize::try_from(index).map_or(true, |index| index >= size);
                if !is_outside {
                    continue;
                }
                if self.dropped == Dropped::Outside || self.dropped == Dropped::Negative && index < 0 {
                    *row = NOWHERE;
                    break;
                }
                let message = format!("an index into axis {axis} must lie in [0, {size}), got {index}");
                let error = Error::new(ErrorKind::Index, Phase::Run, message);
                return Err(match &self.source {
                    Some((operand, sizes)) => {
                        let element = (first + number) * depth + axis;
                        error.in_element(*operand, &place_text(element, sizes))
                    }
                    None => error,
                });
            }
        }
        Ok(())
    }
}

/// Calls `f` for each row until it reports a destination out of bounds; returns the number of that row.
fn first_outside<I: Copy + Into<i64>, T: Copy, U>(
    target: &mut [U],
    ints: &[I],
    rows: &[T],
    prefetch: &impl Fn(&[U], usize),
    f: &mut impl FnMut(&mut [U], usize, T) -> bool,
) -> Option<usize> {
    // A negative index becomes a number above every size.
    let destination = |index: &I| (*index).into() as usize;
    let mut done = 0;
    if size_of_val(target) <= CACHED {
        // In groups, because one jump per row would take longer than the row itself.
        for (group, rows) in ints.as_chunks::<8>().0.iter().zip(rows.as_chunks::<8>().0) {
            for (place, (index, row)) in group.iter().zip(rows).enumerate() {
                if !f(target, destination(index), *row) {
                    return Some(done + place);
                }
            }
            done += 8;
        }
    } else {
        for ((index, ahead), row) in ints.iter().zip(ints.get(AHEAD..).unwrap_or_default()).zip(rows) {
            prefetch(target, destination(ahead));
            if !f(target, destination(index), *row) {
                return Some(done);
            }
            done += 1;
        }
    }
    for (index, row) in ints[done..].iter().zip(&rows[done..]) {
        if !f(target, destination(index), *row) {
            return Some(done);
        }
        done += 1;
    }
    None
}

/// Computes destinations from indices of `N` integers. Returns whether an index is out of range.
fn number_rows<I: Copy + Into<i64>, const N: usize>(ints: &[I], sizes: &[usize], rows: &mut [usize]) -> bool {
    let Some(sizes) = sizes.first_chunk::<N>() else { return true };
    let mut outside = false;
    for (row, position) in rows.iter_mut().zip(ints.as_chunks::<N>().0) {
        *row = row_of(position, sizes, &mut outside);
    }
    outside
}

/// Returns the row-major number of an index, and sets `outside` if the index is out of range.
#[inline(always)]
fn row_of<I: Copy + Into<i64>>(position: &[I], sizes: &[usize], outside: &mut bool) -> usize {
    let mut row = 0usize;
    for (index, &size) in position.iter().zip(sizes) {
        // A negative index becomes a number above every size.
        let unsigned = (*index).into() as usize;
        *outside |= unsigned >= size;
        row = row.wrapping_mul(size).wrapping_add(unsigned);
    }
    row
}

/// Calls `f` for each block of rows, with the number of its first row and the destinations of its rows.
///
/// # Errors
/// An index is out of range.
pub(super) fn each_block(
    rows: usize,
    positions: &Positions<'_>,
    f: &mut dyn FnMut(usize, &[usize]),
) -> Result<()> {
    let mut destinations = [0; BLOCK];
    for first in (0..rows).step_by(BLOCK) {
        let destinations = &mut destinations[..BLOCK.min(rows - first)];
        positions.fill(first, destinations)?;
        f(first, destinations);
    }
    Ok(())
}
