//! `edit_distance(hypothesis, truth)`: the edit distance of sequences in two sparse tensors.

use crate::{Dim, InferenceContext, List, PartialElements, Result, TensorShape};

/// `hypothesis_indices[m, r], hypothesis_values[m], hypothesis_shape[r]`, and the same for `truth`. The output has
/// `r-1` axes; each size is the maximum of the two operands' sizes.
///
/// # Errors
/// An operand has the wrong rank, or the numbers of indices, values and sizes provably disagree.
pub fn edit_distance(cx: &mut InferenceContext<'_>) -> Result<()> {
    for first in [0, 3] {
        let ([count, columns], [values], [sizes]) =
            (cx.axes::<2>(first)?, cx.axes::<1>(first + 1)?, cx.axes::<1>(first + 2)?);
        cx.agree("the numbers of indices and values", &count, &values)?;
        cx.agree("the number of columns of indices and the number of sizes", &columns, &sizes)?;
    }
    let ([hypothesis], [truth]) = (cx.axes::<1>(2)?, cx.axes::<1>(5)?);
    let rank = cx.agree("the ranks of hypothesis and truth", &hypothesis, &truth)?;
    let lists = [cx.param_vector("hypothesis_shape")?, cx.param_vector("truth_shape")?];
    let output = if let [List::Elements(a), List::Elements(b)] = &lists {
        let count = a.len().min(b.len()).saturating_sub(1);
        let mut dims: Vec<Dim> = Vec::with_capacity(count);
        for (a, b) in a.iter().zip(b).take(count) {
            dims.push(cx.max(a, b)?);
        }
        TensorShape::from(dims)
    } else {
        let rank = rank.as_known().and_then(|rank| usize::try_from(rank).ok());
        match rank.filter(|rank| (1..=PartialElements::MAX).contains(rank)) {
            Some(rank) => cx.unknown_shape_of_rank(rank - 1),
            None => TensorShape::unranked(),
        }
    };
    cx.set_output(0, output);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::edit_distance;
    use crate::testing::shape_table;

    shape_table! { shapes: edit_distance, ["hypothesis_indices", "hypothesis_values", "hypothesis_shape", "truth_indices", "truth_values", "truth_shape"];
        {} "?; ?; [3] = [2, n, 9]; ?; ?; [3] = [4, 1, 7]" => "[4, max(1, n)]";
        {} "?; ?; i32 [3]; ?; ?; i32 [?]" => "[?, ?]";
        {} "?; ?; i32 [2]; ?; ?; i32 [3]" => "error the ranks of hypothesis and truth must agree, got 2 and 3";
        {} "[2, 3]; [4]; ?; ?; ?; ?" => "error the numbers of indices and values must agree, got 2 and 4";
        {} "?; ?; ?; [2, 3]; ?; [2]" => "error the number of columns of indices and the number of sizes must agree, got 3 and 2";
        {} "[2]; ?; ?; ?; ?; ?" => "error hypothesis_indices must have rank 2";
    }
}
