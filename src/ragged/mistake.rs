//! Mistakes in the encodings of a row partition, and their messages.

use shapeflow_shape_fns::counted;

use super::encoding::{Offset, wide};

/// What is wrong with row splits.
pub(crate) enum Mistake {
    /// There is no split.
    Absent,
    /// The first split is not 0.
    Start(i64),
    /// The split at a position is less than the split before it.
    Descent { position: usize, before: i64, this: i64 },
    /// The last split is not the number of values.
    End { position: usize, nvals: usize, last: i64 },
}

impl Mistake {
    /// Returns the message. `name` is the name of the splits in the message. The vector that the program gave lacks the
    /// first `missing` row splits, so the message subtracts `missing` from each position.
    fn message(&self, name: &str, missing: usize) -> String {
        match *self {
            Mistake::Absent => format!("{name} must have at least one element, got none"),
            Mistake::Start(first) => format!("{name} must start at 0, got {first}"),
            Mistake::Descent { position, before, this } => {
                let position = position - missing;
                format!("{name} must not decrease, got {this} after {before} at position {position}")
            }
            Mistake::End { position, nvals, last } => {
                let position = position - missing;
                format!("{name} must end at the number of values, {nvals}, got {last} at position {position}")
            }
        }
    }
}

/// Returns the first mistake in row splits: the first split must be 0, no split may be less than the split before it,
/// and the last split must be the number of values.
pub(crate) fn first_mistake<I: Offset>(splits: &[I], nvals: usize) -> Option<Mistake> {
    let Some(&first) = splits.first() else { return Some(Mistake::Absent) };
    if wide(first) != 0 {
        return Some(Mistake::Start(wide(first)));
    }
    // A loop without an exit is vectorised; the position is looked up only for the error. If no split is negative, then
    // no difference overflows. If a split is negative, then this split or an earlier split is less than the split
    // before it.
    let pairs = || splits.windows(2).map(|pair| (wide(pair[0]), wide(pair[1])));
    let signs = pairs().fold(0, |signs, (before, this)| signs | this.wrapping_sub(before) | this);
    if signs < 0 {
        let descent = pairs().position(|(before, this)| this < before);
        let position = descent.expect("splits from 0 without a descent have no negative sign") + 1;
        return Some(Mistake::Descent {
            position,
            before: wide(splits[position - 1]),
            this: wide(splits[position]),
        });
    }
    mistake_in_last_split(splits, nvals)
}

/// Returns a mistake in the last split: there is none, or it is not the number of values. This check is cheap, so a run
/// makes it even of splits that it does not check further.
pub(crate) fn mistake_in_last_split<I: Offset>(splits: &[I], nvals: usize) -> Option<Mistake> {
    let Some(&last) = splits.last() else { return Some(Mistake::Absent) };
    let is_wrong = i64::try_from(nvals) != Ok(wide(last));
    is_wrong.then(|| Mistake::End { position: splits.len() - 1, nvals, last: wide(last) })
}

/// Returns the message about the first mistake in row splits of `nvals` values.
#[cfg(feature = "arrow")]
pub(crate) fn bad_splits<I: Offset>(splits: &[I], nvals: usize) -> Option<String> {
    first_mistake(splits, nvals).map(|mistake| mistake.message("row_splits", 0))
}

/// Returns the message about a mistake in splits of `nvals` values. `encoding` names the encoding that the splits come
/// from, and the message is about this encoding.
pub(crate) fn message_of<I: Offset>(encoding: &str, mistake: &Mistake, splits: &[I], nvals: usize) -> String {
    match (encoding, mistake) {
        ("row_lengths", _) => {
            let lengths = splits.windows(2).map(|pair| length(pair[0], pair[1]));
            bad_lengths(lengths, nvals).unwrap_or_else(|| mistake.message("row_splits", 0))
        }
        ("row_starts" | "row_limits", Mistake::Start(_) | Mistake::End { .. }) if splits.len() == 1 => {
            format!(
                "{encoding} must have at least one element for {nvals}, got none",
                nvals = counted(nvals, "value")
            )
        }
        ("row_starts", Mistake::Descent { position, before, .. }) if position + 1 == splits.len() => {
            let position = position - 1;
            format!(
                "row_starts must not exceed the number of values, {nvals}, got {before} at position {position}"
            )
        }
        ("row_limits", Mistake::Descent { position: 1, this, .. }) => {
            format!("row_limits must not be negative, got {this} at position 0")
        }
        ("row_limits", _) => mistake.message("row_limits", 1),
        ("value_rowids", Mistake::End { last, .. }) => {
            format!(
                "value_rowids must have one id of a row for each of {nvals}, got {last}",
                nvals = counted(nvals, "value")
            )
        }
        _ => mistake.message(encoding, 0),
    }
}

/// Returns the length of the row between two splits. Splits of row lengths are running sums that wrap, so the
/// difference wraps too.
fn length<I: Offset>(start: I, end: I) -> i64 {
    let difference = wide(end).wrapping_sub(wide(start));
    if size_of::<I>() == size_of::<i32>() { i64::from(difference as i32) } else { difference }
}

/// Returns the message about the first mistake in row lengths of `nvals` values.
pub(crate) fn bad_lengths(lengths: impl Iterator<Item = i64>, nvals: usize) -> Option<String> {
    // The sum fits, because no list has 2^64 lengths.
    let mut sum = 0i128;
    for (position, length) in lengths.enumerate() {
        if length < 0 {
            return Some(format!("row_lengths must not be negative, got {length} at position {position}"));
        }
        sum += i128::from(length);
    }
    (usize::try_from(sum) != Ok(nvals))
        .then(|| format!("the sum of row_lengths must be the number of values, {nvals}, got {sum}"))
}
