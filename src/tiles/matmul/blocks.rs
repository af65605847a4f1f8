//! How a matmul is cut into [`Blocks`], which stay in a cache, and into [`RowPanels`].

use super::tile::{MAX_ROWS, UNROLL};

/// The maximum number of terms that a sum collects in registers before it is added to the result. A panel of this depth
/// stays in the L1 cache.
const DEPTH: usize = 320;

/// Bytes of the left operand that stay in the L2 cache while panels of the right operand pass.
const LEFT_BYTES: usize = 288 << 10;

/// Bytes of a block of the right operand.
const RIGHT_BYTES: usize = 3 << 20;

/// Yields the blocks `(first term, number of terms)` of a sum of `k` terms. A run is `run` terms whose left factors are
/// evenly spaced in memory; `run` divides `k`. A block is a part of a run, or several whole runs. The blocks determine
/// the order of additions, so they depend on nothing else, such as the number of rows.
pub(super) fn depth_blocks(k: usize, run: usize) -> impl Iterator<Item = (usize, usize)> {
    let depth = Blocks::depth(k, run);
    let span = if depth < run { run } else { k };
    let blocks = move |start| parts(span, depth).map(move |(step, depth)| (start + step, depth));
    (0..k).step_by(span.max(1)).flat_map(blocks)
}

/// The sizes of blocks.
pub(super) struct Blocks {
    /// Steps along `k`.
    pub depth: usize,
    /// Rows of the left operand.
    pub rows: usize,
    /// Columns of the right operand.
    pub columns: usize,
}

impl Blocks {
    /// Returns the blocks of a matmul `m × k × n` whose panels have `panel` columns and whose elements have `bytes`
    /// bytes. The left operand has runs of `run` terms.
    pub(super) fn new([m, k, n]: [usize; 3], run: usize, panel: usize, bytes: usize) -> Blocks {
        let step = DEPTH * bytes;
        Blocks {
            depth: Blocks::depth(k, run),
            rows: even_part_len(m, LEFT_BYTES / step, MAX_ROWS),
            columns: even_part_len(n, RIGHT_BYTES / step, panel),
        }
    }

    /// Returns the depth of a block of a sum of `k` terms in runs of `run` terms: a long run is cut, and short runs are
    /// joined.
    fn depth(k: usize, run: usize) -> usize {
        match DEPTH.checked_div(run) {
            None => 0,
            Some(0) => even_part_len(run, DEPTH, UNROLL),
            Some(runs) => even_part_len(k / run, runs, 1) * run,
        }
    }
}

/// Returns the size of the parts that `len` is cut into. The last part may be smaller. If there are several parts, the
/// size is a multiple of `unit`, and exceeds `max` by less than `unit`.
fn even_part_len(len: usize, max: usize, unit: usize) -> usize {
    match len.div_ceil(max) {
        0 | 1 => len,
        count => len.div_ceil(count).next_multiple_of(unit),
    }
}

/// Yields the parts `(start, size)` of `len`. Each part has `each` elements; the last part may have fewer.
pub(super) fn parts(len: usize, each: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..len).step_by(each.max(1)).map(move |start| (start, each.min(len - start)))
}

/// `count` panels of the left operand, of `rows` rows each, one below the other.
#[derive(Clone, Copy)]
pub(super) struct RowPanels {
    /// The first row of the first panel.
    pub start: usize,
    pub rows: usize,
    pub count: usize,
}

/// A panel of at most this number of rows has too few independent sums to hide the latency of additions.
const FEW_ROWS: usize = 3;

/// Cuts rows into panels of [`MAX_ROWS`] rows. If the last panel would have few rows, the last two panels share their
/// rows equally.
pub(super) fn row_panels(rows: usize) -> [RowPanels; 3] {
    let uneven = (1..=FEW_ROWS).contains(&(rows % MAX_ROWS)) && rows > MAX_ROWS;
    let full = rows / MAX_ROWS - usize::from(uneven);
    let rest = rows - full * MAX_ROWS;
    let first = if uneven { rest.div_ceil(2) } else { rest };
    let one = |start, rows| RowPanels { start, rows, count: usize::from(rows > 0) };
    [
        RowPanels { start: 0, rows: MAX_ROWS, count: full },
        one(rows - rest, first),
        one(rows - rest + first, rest - first),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn row_panels_cover_each_row_once() {
        for rows in 0..40 {
            let mut next = 0;
            let panels = row_panels(rows).into_iter().filter(|panels| panels.count > 0);
            for RowPanels { start, rows: each, count } in panels {
                assert_eq!(start, next);
                assert!((1..=MAX_ROWS).contains(&each) && (each > 2 || rows < 6), "{each} of {rows}");
                next += each * count;
            }
            assert_eq!(next, rows);
        }
    }

    #[test]
    fn blocks_of_terms_end_with_long_runs() {
        let blocks = |k, run| depth_blocks(k, run).collect::<Vec<_>>();
        assert_eq!(blocks(75, 15), [(0, 75)]);
        assert_eq!(blocks(120, 40), [(0, 120)]);
        assert_eq!(blocks(576, 192), [(0, 192), (192, 192), (384, 192)]);
        assert_eq!(blocks(400, 25), [(0, 200), (200, 200)]);
        assert_eq!(blocks(390, 26), [(0, 208), (208, 182)]);
        assert_eq!(blocks(800, 400), [(0, 200), (200, 200), (400, 200), (600, 200)]);
        assert_eq!(blocks(400, 400), [(0, 200), (200, 200)]);
        assert_eq!(blocks(0, 0), []);
    }

    #[test]
    fn parts_cover_the_whole_and_keep_the_limit() {
        for len in 0..3000 {
            let each = even_part_len(len, 384, 4);
            assert!(each <= 384);
            assert_eq!(parts(len, each).map(|(_, size)| size).sum::<usize>(), len);
        }
    }
}
