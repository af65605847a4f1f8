//! [`Positions`]: integers that say where rows go.

use shapeflow_shape_fns::{Attr, Attrs, DType, InferenceContext, ShapeError};

use crate::error::{Error, ErrorKind, Phase, Result};
use crate::tensor::TensorView;

/// The number of a row that goes nowhere.
pub(super) const NOWHERE: usize = usize::MAX;

/// Rows are numbered this many at a time, so that the numbers stay in the first level of the cache.
pub(super) const BLOCK: usize = 1024;

/// Places are asked for so many rows before their own.
const AHEAD: usize = 32;

/// Positions that tell what to expect of all.
const SAMPLE: usize = 256;

/// Positions along the first axes of a tensor, as integers that say where rows go.
pub(crate) struct Positions<'a> {
    ints: Ints<'a>,
    /// The axes that a position has an index for.
    sizes: &'a [usize],
    dropped: Dropped,
}

/// The rows that go nowhere; a position outside the tensor fails the run for all others.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Dropped {
    Nothing,
    /// Rows with a negative index.
    Negative,
    /// Rows with an index outside its axis.
    Outside,
}

/// TensorFlow's attribute for what an index outside its axis does: `IGNORE`, or fail the run.
const POLICY: &str = "bad_indices_policy";

/// Whether attributes say that positions outside the tensor are ignored.
pub(crate) fn ignores_outside(attrs: &Attrs) -> bool {
    matches!(attrs.get(POLICY), Some(Attr::Str(policy)) if &**policy == "IGNORE")
}

/// Checks what attributes say of positions outside the tensor.
///
/// # Errors
/// The policy is none of TensorFlow's.
pub(crate) fn check_policy(cx: &InferenceContext<'_>) -> shapeflow_shape_fns::Result<()> {
    match cx.str_or(POLICY, "")? {
        "" | "DEFAULT" | "ERROR" | "IGNORE" => Ok(()),
        other => Err(ShapeError::new(format_args!(
            "{POLICY} must be \"\", \"DEFAULT\", \"ERROR\" or \"IGNORE\", got {other:?}"
        ))),
    }
}

enum Ints<'a> {
    I32(&'a [i32]),
    I64(&'a [i64]),
}

impl<'a> Positions<'a> {
    /// As many indices a row as `sizes` has axes.
    ///
    /// # Errors
    /// The elements are neither i32 nor i64.
    pub(crate) fn new(indices: TensorView<'a>, sizes: &'a [usize]) -> Result<Positions<'a>> {
        let ints = match indices.dtype() {
            DType::I32 => Ints::I32(indices.as_slice()?),
            _ => Ints::I64(indices.as_slice()?),
        };
        Ok(Positions { ints, sizes, dropped: Dropped::Nothing })
    }

    /// With negative indices dropped.
    pub(crate) fn dropping_negative(mut self) -> Positions<'a> {
        self.dropped = Dropped::Negative;
        self
    }

    /// With positions outside the tensor dropped, if attributes say so.
    pub(crate) fn with_policy(mut self, attrs: &Attrs) -> Positions<'a> {
        if ignores_outside(attrs) {
            self.dropped = Dropped::Outside;
        }
        self
    }

    /// Whether some of the first positions along one axis follow their like: others are likely to do so too.
    pub(super) fn repeat(&self) -> bool {
        fn repeat<I: PartialEq>(ints: &[I]) -> bool {
            ints.windows(2).take(SAMPLE).any(|pair| pair[0] == pair[1])
        }
        match self.ints {
            Ints::I32(ints) => repeat(ints),
            Ints::I64(ints) => repeat(ints),
        }
    }

    /// Calls `f` with each row and its place, beyond the last if it has none, which `f` says then. `target` is where the
    /// places are; `later` may be told of some before.
    ///
    /// # Errors
    /// A position is outside; other rows may be in their places then.
    pub(super) fn each<T: Copy, U>(
        &self,
        target: &mut [U],
        rows: &[T],
        later: impl Fn(&[U], usize),
        mut f: impl FnMut(&mut [U], usize, T) -> bool,
    ) -> Result<()> {
        match (self.sizes, &self.ints) {
            ([_], Ints::I32(ints)) => self.each_of(target, &ints[..rows.len()], rows, later, f),
            ([_], Ints::I64(ints)) => self.each_of(target, &ints[..rows.len()], rows, later, f),
            _ => each_block(rows.len(), self, |first, places| {
                for (&place, &row) in places.iter().zip(&rows[first..]) {
                    f(target, place, row);
                }
            }),
        }
    }

    /// As [`Positions::each`], for one index a row: what refuses it is the use of the place itself.
    fn each_of<I: Copy + Into<i64>, T: Copy, U>(
        &self,
        target: &mut [U],
        ints: &[I],
        rows: &[T],
        later: impl Fn(&[U], usize),
        mut f: impl FnMut(&mut [U], usize, T) -> bool,
    ) -> Result<()> {
        // A negative index is a place far beyond every size.
        let place = |index: &I| (*index).into() as usize;
        let mut inside = true;
        let ahead = ints.get(AHEAD..).unwrap_or_default();
        for ((index, ahead), row) in ints.iter().zip(ahead).zip(rows) {
            later(target, place(ahead));
            inside &= f(target, place(index), *row);
        }
        for (index, row) in ints.iter().zip(rows).skip(ahead.len()) {
            inside &= f(target, place(index), *row);
        }
        if inside { Ok(()) } else { each_block(ints.len(), self, |_, _| {}) }
    }

    /// The numbers of rows `first..`, each below the product of the sizes, or [`NOWHERE`].
    fn fill(&self, first: usize, rows: &mut [usize]) -> Result<()> {
        match self.ints {
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
            1 => number::<I, 1>(ints, self.sizes, rows),
            2 => number::<I, 2>(ints, self.sizes, rows),
            3 => number::<I, 3>(ints, self.sizes, rows),
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
        for (row, position) in rows.iter_mut().zip(ints.chunks_exact(depth)) {
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
                return Err(Error::new(ErrorKind::Index, Phase::Run, message));
            }
        }
        Ok(())
    }
}

/// Numbers rows by positions of `N` indices; whether one is outside.
fn number<I: Copy + Into<i64>, const N: usize>(ints: &[I], sizes: &[usize], rows: &mut [usize]) -> bool {
    let Some(sizes) = sizes.first_chunk::<N>() else { return true };
    let mut outside = false;
    for (row, position) in rows.iter_mut().zip(ints.as_chunks::<N>().0) {
        *row = row_of(position, sizes, &mut outside);
    }
    outside
}

#[inline(always)]
fn row_of<I: Copy + Into<i64>>(position: &[I], sizes: &[usize], outside: &mut bool) -> usize {
    let mut row = 0usize;
    for (index, &size) in position.iter().zip(sizes) {
        // A negative index is a place far beyond every size.
        let at = (*index).into() as usize;
        *outside |= at >= size;
        row = row.wrapping_mul(size).wrapping_add(at);
    }
    row
}

/// Calls `f` with the number of the first row of a block, and the places of its rows.
pub(super) fn each_block(
    rows: usize,
    positions: &Positions<'_>,
    mut f: impl FnMut(usize, &[usize]),
) -> Result<()> {
    let mut places = [0; BLOCK];
    for first in (0..rows).step_by(BLOCK) {
        let places = &mut places[..BLOCK.min(rows - first)];
        positions.fill(first, places)?;
        f(first, places);
    }
    Ok(())
}
