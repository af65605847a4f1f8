//! How a product is cut: blocks that stay in a cache, and panels of rows.

use super::kernel::ROWS;

/// Products that a sum gathers before it is added to the result. A panel of so many steps stays in the nearest cache.
const DEPTH: usize = 320;

/// Bytes of the left operand that stay in the second cache while panels of the right one pass.
const LEFT: usize = 288 << 10;

/// Bytes of the right operand that are packed at once.
const RIGHT: usize = 3 << 20;

/// The sizes of blocks, for elements of this many bytes.
pub(super) struct Blocks {
    pub depth: usize,
    pub rows: usize,
    pub columns: usize,
}

impl Blocks {
    /// Blocks of a product `m × k × n` whose panels have `panel` columns.
    pub(super) fn new([m, k, n]: [usize; 3], panel: usize, bytes: usize) -> Blocks {
        let step = DEPTH * bytes;
        Blocks {
            depth: Blocks::depth(k),
            rows: even(m, LEFT / step, ROWS),
            columns: even(n, RIGHT / step, panel),
        }
    }

    /// Steps of a block: by `k` alone, on which the order of sums depends.
    pub(super) fn depth(k: usize) -> usize {
        even(k, DEPTH, 4)
    }
}

/// The size of equal parts of `len` that are at most `most`, a multiple of `unit` where there are several.
fn even(len: usize, most: usize, unit: usize) -> usize {
    match len.div_ceil(most) {
        0 | 1 => len,
        count => len.div_ceil(count).next_multiple_of(unit),
    }
}

/// Cuts `len` into parts of `each`, fewer at the end.
pub(super) fn parts(len: usize, each: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..len).step_by(each.max(1)).map(move |at| (at, each.min(len - at)))
}

/// Panels of so many rows each, one under the other.
#[derive(Clone, Copy)]
pub(super) struct Panels {
    /// The first row.
    pub at: usize,
    pub rows: usize,
    pub count: usize,
}

/// Rows of a panel that has too few sums to wait for none.
const FEW: usize = 3;

/// Cuts rows into panels of [`ROWS`]. The last two share what they have where few are left for the last.
pub(super) fn panels(rows: usize) -> [Panels; 3] {
    let uneven = (1..=FEW).contains(&(rows % ROWS)) && rows > ROWS;
    let full = rows / ROWS - usize::from(uneven);
    let rest = rows - full * ROWS;
    let first = if uneven { rest.div_ceil(2) } else { rest };
    let one = |at, rows| Panels { at, rows, count: usize::from(rows > 0) };
    [
        Panels { at: 0, rows: ROWS, count: full },
        one(rows - rest, first),
        one(rows - rest + first, rest - first),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panels_cover_rows_once() {
        for rows in 0..40 {
            let mut next = 0;
            for Panels { at, rows: each, count } in panels(rows).into_iter().filter(|panels| panels.count > 0)
            {
                assert_eq!(at, next);
                assert!((1..=ROWS).contains(&each) && (each > 2 || rows < 6), "{each} of {rows}");
                next += each * count;
            }
            assert_eq!(next, rows);
        }
    }

    #[test]
    fn parts_are_at_most_the_limit() {
        for len in 0..3000 {
            let each = even(len, 384, 4);
            assert!(each <= 384);
            assert_eq!(parts(len, each).map(|(_, size)| size).sum::<usize>(), len);
        }
    }
}
