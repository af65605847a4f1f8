//! `add_in_blocks`: adds rows with a small rounding error.

use crate::tiles::AddMultiple;

/// The number of rows of a block.
const BLOCK: usize = 64;

/// Adds rows of `from` to rows of `to`, both with `row` elements: `to[target] += from[source] * factor` for each entry
/// `(source, target, factor)`.
///
/// Entries that follow each other with the same target form blocks. Each block after the first has a sum of its own,
/// which is then added to the target. So the rounding error of a sum of `k` rows grows with `k / 64 + 64`, and not with
/// `k`.
pub(super) fn add_in_blocks<T: AddMultiple + From<u8>>(
    to: &mut [T],
    from: &[T],
    row: usize,
    entries: impl Iterator<Item = (usize, usize, T)>,
) {
    // The sum of the current block; empty in the first block of a target.
    let mut block: Vec<T> = Vec::new();
    let (mut current, mut count) = (None, 0);
    let finish = |block: &mut Vec<T>, to: &mut [T], target: Option<usize>| {
        if let Some(target) = target.filter(|_| !block.is_empty()) {
            T::add_multiple(&mut to[target * row..][..row], block, T::from(1));
            block.clear();
        }
    };
    for (source, target, factor) in entries {
        if current != Some(target) {
            finish(&mut block, to, current);
            (current, count) = (Some(target), 0);
        } else if count % BLOCK == 0 {
            finish(&mut block, to, current);
            block.resize(row, T::from(0));
        }
        let sum = if block.is_empty() { &mut to[target * row..][..row] } else { &mut block[..] };
        T::add_multiple(sum, &from[source * row..][..row], factor);
        count += 1;
    }
    finish(&mut block, to, current);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_of_many_rows_are_precise() {
        let rows = 20_000;
        let from: Vec<f32> = (0..rows * 3).map(|number| 1.0 + (number % 7) as f32 * 0.01).collect();
        let mut to = vec![0.0f32; 6];
        let entries = (0..rows).map(|source| (source, usize::from(source >= 100), 1.0));
        add_in_blocks(&mut to, &from, 3, entries);
        for (number, got) in to.iter().enumerate() {
            let (segment, column) = (number / 3, number % 3);
            let range = if segment == 0 { 0..100 } else { 100..rows };
            let exact: f64 = range.map(|source| f64::from(from[source * 3 + column])).sum();
            let error = (f64::from(*got) - exact).abs() / exact;
            assert!(error < 2e-6, "{got} for {exact}, error {error}");
        }
    }

    #[test]
    fn short_and_scattered_sums_keep_their_order() {
        let from: Vec<f32> = (0..200).map(|number| (number as f32).sin()).collect();
        let targets = [0, 0, 1, 0, 2, 2, 2, 1];
        let (mut to, mut expected) = ([0.0f32; 3], [0.0f32; 3]);
        for (source, target) in targets.into_iter().enumerate() {
            expected[target] += from[source] * 0.5;
        }
        add_in_blocks(
            &mut to,
            &from,
            1,
            targets.into_iter().enumerate().map(|(source, target)| (source, target, 0.5)),
        );
        assert_eq!(to, expected);
        let (mut long, mut naive) = ([0.0f32], 0.0f32);
        from[..64].iter().for_each(|element| naive += element);
        add_in_blocks(&mut long, &from, 1, (0..64).map(|source| (source, 0, 1.0)));
        assert_eq!(long, [naive]);
    }
}
