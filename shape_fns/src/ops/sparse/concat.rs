//! `sparse_concat`: joins sparse tensors along an axis.

use super::operand::{SparseOperand, set_sparse};
use crate::error::bail;
use crate::{Dim, InferenceContext, PartialElements, Result, counted};

/// The operands are the indices of all sparse tensors, then all values, then all shapes. The output has the sum of the
/// numbers of elements and, along axis `concat_dim`, the sum of the sizes.
///
/// # Errors
/// The operands are not sparse tensors, ranks or the known sizes of another axis provably differ, or `concat_dim` is
/// outside the rank.
pub fn concat(cx: &mut InferenceContext<'_>) -> Result<()> {
    let number = cx.len() / 3;
    if number == 0 || !cx.len().is_multiple_of(3) {
        bail!(
            "sparse_concat must have indices, values and shapes of at least one sparse tensor, got {}",
            counted(cx.len(), "operand")
        );
    }
    let first = SparseOperand::of(cx, 0, number, 2 * number)?;
    let (mut count, mut rank) = (first.count, first.rank);
    for index in 1..number {
        let next = SparseOperand::of(cx, index, number + index, 2 * number + index)?;
        rank = cx
            .agree("the ranks of the sparse tensors", &rank, &next.rank)
            .map_err(|error| error.operand(2 * number + index))?;
        count = cx.add(&count, &next.count)?;
    }
    set_sparse(cx, 0, &count, &rank);
    if let Some(known) = rank.as_known().and_then(|rank| usize::try_from(rank).ok())
        && cx.attr("concat_dim").is_some()
    {
        let axis = cx.axis_of("concat_dim", cx.int("concat_dim")?, known)?;
        if let Some(sizes) = joined_sizes(cx, 2 * number, axis)? {
            cx.set_output_value(2, PartialElements::vector(sizes));
        }
    }
    Ok(())
}

/// Returns the sizes of the result. The operands from `first` on are the shapes of the tensors. `None` if the elements
/// of one of them are unknown.
///
/// # Errors
/// The sizes of an axis other than `axis` provably differ.
fn joined_sizes(cx: &mut InferenceContext<'_>, first: usize, axis: usize) -> Result<Option<Vec<Dim>>> {
    let all: Option<Vec<Vec<Dim>>> =
        (first..cx.len()).map(|index| Some(cx.input_value(index)?.elements().to_vec())).collect();
    let Some(all) = all else { return Ok(None) };
    let mut tensors = all.into_iter();
    let Some(mut joined) = tensors.next() else { return Ok(None) };
    for (number, sizes) in tensors.enumerate() {
        for (other, (size, next)) in joined.iter_mut().zip(&sizes).enumerate() {
            *size = match other == axis {
                true => cx.add(size, next)?,
                false => cx
                    .agree(&format!("the sizes of axis {other} of the sparse tensors"), size, next)
                    .map_err(|error| error.operand(first + 1 + number))?,
            };
        }
    }
    Ok(Some(joined))
}

#[cfg(test)]
mod tests {
    use crate::testing::shape_table;

    shape_table! { shapes: super::concat, ["operands.."];
        {concat_dim: 0} "[4, 5]; [3, ?]; ?; ?; ?; ?" => "[7, 5]; [7]; [5]";
        {concat_dim: 0} "?; [m, ?]; [n]; ?; i64 [?]; ?" => "[m+n, d1_1]; [m+n]; [d1_1]";
        {concat_dim: -1} "[n, 2]; [m, 2]; ?; ?; i64 [2] = [b, 3]; i64 [2] = [b, k]" => "[m+n, 2]; [m+n]; [2] = [b, k+3]";
        {concat_dim: 0} "[n, 2]; [m, 2]; ?; ?; i64 [2] = [b, 3]; i64 [2] = [c, 3]" => "[m+n, 2]; [m+n]; [2] = [b+c, 3]";
        {concat_dim: 0} "[n, 2]; [m, 2]; ?; ?; i64 [2] = [b, 3]; i64 [2] = [c, 4]" => "error(3 outputs) the sizes of axis 1 of the sparse tensors must agree, got 3 and 4";
        {concat_dim: 2} "[n, 2]; ?; ?" => "error(3 outputs) concat_dim must be in [-2, 2), got 2";
        {concat_dim: 0} "[?, 2]; [?, 3]; ?; ?; ?; ?" => "error(3 outputs) the ranks of the sparse tensors must agree, got 2 and 3";
        {concat_dim: 0} "[100, ?]; ?; [200]; ?; ?; ?" => "error(3 outputs) the number of rows of the indices and the number of values must agree, got 100 and 200";
        {concat_dim: 0} "[1]; ?; ?; ?; ?; ?" => "error(3 outputs) operand 0 must have rank 2";
        {concat_dim: 0} "?; ?" => "error(3 outputs) sparse_concat must have indices, values and shapes";
    }
}
