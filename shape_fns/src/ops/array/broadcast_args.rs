//! `broadcast_args(s0, s1)`: broadcasts two shapes that are given as vectors of sizes.

use crate::{Dim, InferenceContext, PartialElements, Result, TensorShape};

/// `s0[m], s1[n] -> [max(m, n)]`. The output's elements are known if the elements of both operands are known.
///
/// # Errors
/// An operand is not a vector, or the two shapes provably do not broadcast.
pub fn broadcast_args(cx: &mut InferenceContext<'_>) -> Result<()> {
    let ([first], [second]) = (cx.axes::<1>(0)?, cx.axes::<1>(1)?);
    let length = cx.max(&first, &second)?;
    if let (Some(a), Some(b)) = (cx.input_value(0), cx.input_value(1)) {
        let (a, b) = (TensorShape::from(a.elements()), TensorShape::from(b.elements()));
        let both = cx.broadcast(&a, &b)?;
        let sizes = both.dims().unwrap_or_default();
        cx.set_output_value(0, PartialElements::vector(sizes.iter().cloned()));
    }
    cx.set_output(0, TensorShape::new([length]));
    Ok(())
}

/// Returns two vectors: the axes along which the gradients of the first and of the second operand are summed. The
/// lengths depend on the elements. If each pair of sizes is known to be equal or not, and each size is known to be 1 or
/// not, the elements are known.
///
/// # Errors
/// An operand is not a vector, or the two shapes provably do not broadcast.
pub fn broadcast_gradient_args(cx: &mut InferenceContext<'_>) -> Result<()> {
    cx.with_rank(0, 1)?;
    cx.with_rank(1, 1)?;
    let (a, b) = (cx.input_value(0).cloned(), cx.input_value(1).cloned());
    if let (Some(a), Some(b)) = (a, b) {
        let (x, y) = (TensorShape::from(a.elements()), TensorShape::from(b.elements()));
        cx.broadcast(&x, &y)?;
        if let Some(summed) = summed_axes(a.elements(), b.elements()) {
            for (output, axes) in summed.iter().enumerate() {
                let axes = PartialElements::known(axes);
                cx.set_output(output, axes.shape());
                cx.set_output_value(output, axes);
            }
            return Ok(());
        }
    }
    for output in 0..2 {
        let axes = cx.unknown_shape_of_rank(1);
        cx.set_output(output, axes);
    }
    Ok(())
}

/// Returns, for each of two shapes that broadcast, the axes of the result along which the gradient of the shape's
/// operand is summed; `None` if these axes are undecided. Equal shapes have no such axes. If the shapes differ, an axis
/// that has size 1 in both shapes is in both lists.
fn summed_axes(a: &[Dim], b: &[Dim]) -> Option<[Vec<i64>; 2]> {
    let is_one = |dim: &Dim| dim.same(&Dim::known(1));
    let equal = |(x, y): (&Dim, &Dim)| x.same(y);
    if a.len() == b.len() {
        let equal: Vec<Option<bool>> = a.iter().zip(b).map(equal).collect();
        if equal.iter().all(|equal| *equal == Some(true)) {
            return Some([Vec::new(), Vec::new()]);
        }
        // If no pair is known to differ, the shapes may be equal, and then axes of size 1 are not listed.
        if !equal.contains(&Some(false)) {
            return None;
        }
    }
    let rank = a.len().max(b.len());
    let one = Dim::known(1);
    let size_at = |dims: &[Dim], axis: usize| match axis.checked_sub(rank - dims.len()) {
        Some(axis) => dims[axis].clone(),
        None => one.clone(),
    };
    let mut summed = [Vec::new(), Vec::new()];
    for axis in 0..rank {
        let (x, y) = (size_at(a, axis), size_at(b, axis));
        let is_same = x.same(&y);
        let ones = [is_one(&x), is_one(&y)];
        let both = match (is_same, ones) {
            (Some(true), [Some(true), _]) => [true, true],
            (Some(true), [Some(false), _]) => [false, false],
            (_, [Some(x), Some(y)]) => [x, y],
            _ => return None,
        };
        for (list, is_summed) in summed.iter_mut().zip(both) {
            if is_summed {
                list.push(i64::try_from(axis).ok()?);
            }
        }
    }
    Some(summed)
}

#[cfg(test)]
mod tests {
    use super::{broadcast_args, broadcast_gradient_args};
    use crate::testing::shape_table;

    shape_table! { sizes: broadcast_args, ["s0", "s1"];
        {} "[3] = [2, 1, n]; [2] = [4, 1]" => "[3] = [2, 4, n]";
        {} "i32 [2]; i32 [3]" => "[3]";
        {} "i32 [?]; i32 [1]" => "[max(1, d0_0)]";
        {} "?; i32 [1]" => "[max(1, ?)]";
        {} "[1] = [3]; [1] = [4]" => "error dimensions must be equal or 1 to broadcast, got 3 and 4";
        {} "i32 []; i32 [1]" => "error s0 must have rank 1";
    }
    shape_table! { axes: broadcast_gradient_args, ["s0", "s1"];
        {} "i32 [2]; i32 [3]" => "[?]; [?]";
        {} "[2] = [2, 1]; [2] = [2, 1]" => "[0] = []; [0] = []";
        {} "[2] = [n, 1]; [2] = [n, 1]" => "[0] = []; [0] = []";
        {} "[2] = [2, 1]; [3] = [1, 2, 1]" => "[2] = [0, 2]; [2] = [0, 2]";
        {} "[2] = [n, 4]; [1] = [4]" => "[?]; [?]";
        {} "[1] = [4]; [2] = [3, 4]" => "[1] = [0]; [0] = []";
        {} "[1] = [3]; [1] = [4]" => "error dimensions must be equal or 1 to broadcast, got 3 and 4";
        {} "i32 [2]; i32 []" => "error(2 outputs) s1 must have rank 1";
    }
}
