//! `transpose(x, perm)`: axis `i` of the result is axis `perm[i]` of `x`.

use smallvec::SmallVec;

use super::propagate::{element_at, propagate_elements};
use crate::{Dim, InferenceContext, List, Result, TensorShape, normalize_axis};

/// `[d0, …, dn] -> [d(perm[0]), …, d(perm[n])]`. Without `perm`, the axes are reversed. Negative axes count from the
/// end. If `perm` is unknown, only the rank of the output is known. Sets the derived parameter `perm`, counted from the
/// front.
///
/// # Errors
/// `perm` is not a permutation of the axes.
pub fn transpose(cx: &mut InferenceContext<'_>) -> Result<()> {
    let perm = cx.param_vector("perm")?;
    let shape = cx.input(0).clone();
    if let (Some(axes), Some(rank)) = (perm.known_len(), shape.rank())
        && axes != rank
    {
        // Suggest a `perm` that keeps the missing leading axes in place.
        let missing = rank.checked_sub(axes).filter(|_| perm.as_known().is_some()).unwrap_or(0);
        let kept = (0..missing).map(|axis| axis as i64);
        let moved = perm.as_known().unwrap_or_default().into_iter();
        let full_perm: Vec<i64> = kept.chain(moved.map(|axis| axis.saturating_add(missing as i64))).collect();
        let help = missing > 0 && permutation(cx, &full_perm, rank).is_ok();
        return Err(cx
            .blame_param("perm", format_args!("must have one entry per axis, got {axes} for {shape}"))
            .with_help_if(
                help.then(|| format!("perm={full_perm:?} keeps the leading axes where they are")),
            ));
    }
    let Some(rank) = shape.rank().or(perm.known_len()) else { return Ok(()) };
    let shape = cx.with_rank(0, rank)?;
    let dims = shape.dims().unwrap_or_default();
    let perm: Option<SmallVec<[usize; 6]>> = match &perm {
        List::Absent => Some((0..rank).rev().collect()),
        known => known.as_known().map(|perm| permutation(cx, &perm, rank)).transpose()?,
    };
    let output = match perm {
        Some(perm) => {
            cx.set_derived("perm", perm.iter().map(|axis| Dim::known(*axis as i64)));
            let output = TensorShape::new(perm.iter().filter_map(|axis| dims.get(*axis).cloned()));
            cx.set_output(0, output);
            if let Some(value) = cx.input_value(0).cloned() {
                propagate_elements(cx, 0, |index| {
                    let mut source = vec![0; index.len()];
                    for (position, axis) in index.iter().zip(&perm) {
                        *source.get_mut(*axis)? = *position;
                    }
                    element_at(&value, source)
                });
            }
            return Ok(());
        }
        // Any permutation of equal dimensions gives the same shape.
        None if dims.windows(2).all(|pair| pair[0] == pair[1]) => shape,
        None => cx.unknown_shape_of_rank(rank),
    };
    cx.set_output(0, output);
    Ok(())
}

/// Returns `perm` with every axis counted from the front, or an error if `perm` is not a permutation of the axes.
fn permutation(cx: &InferenceContext<'_>, perm: &[i64], rank: usize) -> Result<SmallVec<[usize; 6]>> {
    let mut seen: SmallVec<[bool; 6]> = SmallVec::from_elem(false, rank);
    perm.iter()
        .map(|axis| {
            let axis = normalize_axis(*axis, rank).map_err(|error| {
                cx.blame_param("perm", format_args!("must be a permutation of the axes: {error}"))
            })?;
            if std::mem::replace(&mut seen[axis], true) {
                return Err(cx.blame_param(
                    "perm",
                    format_args!("must be a permutation of the axes, got axis {axis} twice in {perm:?}"),
                ));
            }
            Ok(axis)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::transpose;
    use crate::testing::shape_table;

    shape_table! { elements: transpose, ["x", "perm"];
        {perm: [1, 0]} "i32 [2, 3] = [n, 1, 2, 3, m, ?]" => "[3, 2] = [n, 3, 1, m, 2, v0_5]";
        {} "i32 [2] = [n, 1]" => "[2] = [n, 1]";
    }
    shape_table! { shapes: transpose, ["x", "perm"];
        {perm: [1, 0]} "[2, n]" => "[n, 2]";
        {perm: [-1, 0, 1]} "[?, 3, ?]" => "[d0_2, d0_0, 3]";
        {} "[2, n, ?]" => "[d0_2, n, 2]";
        {perm: [1, 0]} "?" => "[?, ?]";
        {} "?" => "?";
        {} "[2, n]; [2] = [1, 0]" => "[n, 2]";
        {} "[2, n]; i32 [2]" => "[?, ?]";
        {} "[n, n]; i32 [2]" => "[n, n]";
        {} "?; i32 [3]" => "[?, ?, ?]";
        {} "[2, n]; [2] = [1, ?]" => "[?, ?]";
        {perm: [1, 0]} "[2]" => "error perm must have one entry per axis, got 2 for [2]";
        {perm: [0, 0]} "[2, 3]" => "error perm must be a permutation of the axes, got axis 0 twice";
        {perm: [0, 2]} "[2, 3]" => "error perm must be a permutation of the axes: axis must be in [-2, 2), got 2";
        {} "[2, 3]; i32 [3]" => "error got 3 for [2, 3]";
    }
}
