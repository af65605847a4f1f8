//! [`LeftMatrix`]: the left operand of a matmul. The operand is a matrix in memory, or a matrix whose rows are windows
//! of images or volumes.

use super::tile::MAX_ROWS;

/// The maximum number of axes of a [`NestedAxes`]. The rows of windows of volumes need the batch and 3 spatial axes.
const MAX_AXES: usize = 4;

/// The maximum number of runs of columns that a tile reads in place.
pub(super) const MAX_RUNS: usize = 16;

/// The offsets of the rows, or of the columns, of a matrix. An index is a position in the axes, in row-major order. A
/// run is the indices along the last axis.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct NestedAxes {
    /// The size and the stride of each axis. Outer axes that are not needed have size 1 and come first.
    axes: [(usize, usize); MAX_AXES],
}

impl NestedAxes {
    /// Makes at most [`MAX_AXES`] axes of these sizes and strides. Strides count elements. Two neighboring axes become
    /// one if `outer stride = inner size * inner stride`.
    pub(crate) fn new(axes: impl IntoIterator<Item = (usize, usize)>) -> NestedAxes {
        let mut merged = [(1, 0); MAX_AXES];
        for (number, (size, stride)) in axes.into_iter().enumerate() {
            assert!(number < MAX_AXES, "a matrix has at most {MAX_AXES} axes of rows or columns");
            let (outer_size, outer_stride) = merged[MAX_AXES - 1];
            if outer_size == 1 {
                merged[MAX_AXES - 1] = (size, stride);
            } else if outer_stride == size.saturating_mul(stride) {
                merged[MAX_AXES - 1] = (outer_size.saturating_mul(size), stride);
            } else if size != 1 {
                merged.rotate_left(1);
                merged[MAX_AXES - 1] = (size, stride);
            }
        }
        NestedAxes { axes: merged }
    }

    /// Makes one axis.
    pub(crate) fn one(size: usize, stride: usize) -> NestedAxes {
        NestedAxes { axes: [(1, 0), (1, 0), (1, 0), (size, stride)] }
    }

    /// Returns the number of indices.
    pub(crate) fn len(&self) -> usize {
        self.axes.iter().fold(1, |len, (size, _)| len.saturating_mul(*size))
    }

    /// Returns the length of a run. Neighbors in a run are [`NestedAxes::stride`] apart.
    pub(crate) fn run(&self) -> usize {
        self.axes[MAX_AXES - 1].0
    }

    /// Returns the distance, in elements, between neighboring indices of a run.
    pub(crate) fn stride(&self) -> usize {
        self.axes[MAX_AXES - 1].1
    }

    /// Returns the number of indices from `index` to the end of its run.
    pub(crate) fn rest_of_run(&self, index: usize) -> usize {
        if index < self.run() { self.run() - index } else { self.run() - index % self.run().max(1) }
    }

    /// Returns the offset of an index, in elements.
    pub(crate) fn offset(&self, index: usize) -> usize {
        let (mut rest, mut offset) = (index, 0);
        for (size, stride) in self.axes[1..].iter().rev() {
            // Index 0 has offset 0, also in an empty axis.
            if rest < (*size).max(1) {
                return offset + rest * stride;
            }
            offset += rest % size * stride;
            rest /= size;
        }
        offset + rest * self.axes[0].1
    }

    /// Returns the greatest offset, or none if there is no index.
    pub(crate) fn last_offset(&self) -> Option<usize> {
        let offset = |sum: usize, (size, stride): &(usize, usize)| {
            Some(sum.saturating_add(size.checked_sub(1)?.saturating_mul(*stride)))
        };
        self.axes.iter().try_fold(0, offset)
    }
}

/// The left operand of a matmul. Element `(i, p)` is at `start + rows.offset(first_row + i) + columns.offset(p)`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LeftMatrix<T> {
    pub start: *const T,
    /// Row 0 of this matrix is row `first_row` of `rows`.
    pub first_row: usize,
    pub rows: NestedAxes,
    pub columns: NestedAxes,
}

impl<T> LeftMatrix<T> {
    /// Returns the address of an element.
    pub(crate) fn address(&self, row: usize, column: usize) -> *const T {
        self.start.wrapping_add(self.rows.offset(self.first_row + row) + self.columns.offset(column))
    }

    /// Returns the distances, in elements, from row `row` to each of the `count` rows from `row` on. The other entries
    /// are unspecified.
    pub(super) fn row_offsets(&self, row: usize, count: usize) -> [usize; MAX_ROWS] {
        if count <= self.rows_in_run(row) {
            return std::array::from_fn(|i| i.wrapping_mul(self.rows.stride()));
        }
        let first = self.rows.offset(self.first_row + row);
        let offset = |i: usize| self.rows.offset(self.first_row + row + i).wrapping_sub(first);
        std::array::from_fn(|i| if i < count { offset(i) } else { 0 })
    }

    /// Returns the number of rows from `row` on that are `rows.stride()` elements apart.
    pub(crate) fn rows_in_run(&self, row: usize) -> usize {
        self.rows.rest_of_run(self.first_row + row)
    }

    /// Returns the length of the runs in `column..column + depth`, and the distance of each run from column `column`,
    /// in elements. This range must be a part of one run, or at most [`MAX_RUNS`] whole runs. All `offsets` must be 0.
    pub(super) fn runs<'a>(
        &self,
        column: usize,
        depth: usize,
        offsets: &'a mut [usize; MAX_RUNS],
    ) -> (usize, &'a [usize]) {
        let run = self.columns.run();
        if depth <= run {
            return (depth, &offsets[..1]);
        }
        let first = self.columns.offset(column);
        let used = &mut offsets[..depth / run];
        for (index, offset) in used.iter_mut().enumerate() {
            *offset = self.columns.offset(column + index * run).wrapping_sub(first);
        }
        (run, used)
    }

    /// Splits the columns `column..column + depth` into parts. Each part lies in one run. An item is the first column
    /// of a part and its number of columns.
    pub(super) fn column_runs(
        &self,
        mut column: usize,
        depth: usize,
    ) -> impl Iterator<Item = (usize, usize)> {
        let end = column + depth;
        std::iter::from_fn(move || {
            let start = column;
            let count = self.columns.rest_of_run(start).min(end - start);
            column += count;
            (count > 0).then_some((start, count))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::NestedAxes;

    #[test]
    fn offsets_are_sums_over_the_axes() {
        for axes in [
            [(1, 0), (2, 100), (3, 10), (4, 1)],
            [(2, 900), (2, 100), (3, 10), (4, 1)],
            [(2, 200), (2, 100), (3, 10), (4, 1)],
            [(3, 100), (2, 12), (3, 4), (4, 1)],
            [(2, 50), (1, 7), (3, 4), (4, 1)],
            [(2, 7), (5, 24), (1, 4), (4, 6)],
            [(2, 90), (2, 30), (3, 10), (1, 1)],
            [(1, 0), (1, 0), (1, 0), (1, 5)],
            [(2, 5), (3, 0), (2, 8), (2, 4)],
        ] {
            let nested = NestedAxes::new(axes);
            assert_eq!(nested.len(), axes.iter().map(|(size, _)| size).product::<usize>());
            let mut greatest = 0;
            for index in 0..nested.len() {
                let (mut rest, mut want) = (index, 0);
                for (size, stride) in axes.iter().rev() {
                    want += rest % size * stride;
                    rest /= size;
                }
                assert_eq!(nested.offset(index), want, "{axes:?} at {index}");
                greatest = greatest.max(want);
            }
            assert_eq!(nested.last_offset(), Some(greatest), "{axes:?}");
        }
        assert_eq!(NestedAxes::new([(2, 12), (3, 4), (4, 1)]), NestedAxes::one(24, 1));
        assert_eq!(NestedAxes::new([(2, 12), (0, 4), (4, 1)]).last_offset(), None);
        let none = NestedAxes::one(0, 1);
        assert_eq!((none.offset(0), none.rest_of_run(0)), (0, 0));
    }
}
