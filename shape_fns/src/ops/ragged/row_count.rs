//! The number of rows of row splits.

use crate::{Dim, InferenceContext, Result};

/// Returns the number of rows that the row splits in operand `index` describe: the number of splits minus 1.
///
/// # Errors
/// The operand is not a vector, or it is provably empty.
pub fn row_count(cx: &mut InferenceContext<'_>, index: usize) -> Result<Dim> {
    if cx.input(index).rank().is_none() {
        return Ok(cx.fresh());
    }
    let [splits] = cx.axes::<1>(index)?;
    if splits == 0 {
        return Err(cx.blame(index, "must have one more element than there are rows, got no elements"));
    }
    cx.sub(&splits, &Dim::known(1))
}
