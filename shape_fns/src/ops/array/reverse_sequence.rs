//! `reverse_sequence(input, seq_lengths)`: reverses the first `seq_lengths[i]` elements of row `i` along an axis.

use crate::error::bail;
use crate::{InferenceContext, Result, TensorShape};

/// `[.., b, .., s, ..], seq_lengths[b] -> [.., b, .., s, ..]`. Attribute `batch_dim` is the axis of `b`, attribute
/// `seq_dim` the axis of `s`. The op itself checks the lengths when it runs.
///
/// # Errors
/// `seq_lengths` is not a vector, an attribute is outside the rank, or the number of lengths provably differs from the
/// number of rows.
pub fn reverse_sequence(cx: &mut InferenceContext<'_>) -> Result<()> {
    let [lengths] = cx.axes::<1>(1)?;
    let input = cx.input(0).clone();
    let (batch, sequence) = (cx.int_or("batch_dim", 0)?, cx.int("seq_dim")?);
    let mut axes = [0; 2];
    for (axis, (name, given)) in axes.iter_mut().zip([("batch_dim", batch), ("seq_dim", sequence)]) {
        *axis = match (usize::try_from(given), input.rank()) {
            (Ok(given), Some(rank)) if given >= rank => {
                bail!("{name} must be less than the rank of input, got {given} for {input}")
            }
            (Ok(given), _) => given,
            (Err(_), _) => bail!("{name} must not be negative, got {given}"),
        };
    }
    let Some(dims) = input.dims() else { return Ok(()) };
    let mut dims = dims.to_vec();
    dims[axes[0]] = cx.agree("the number of rows and the length of seq_lengths", &dims[axes[0]], &lengths)?;
    cx.set_output(0, TensorShape::from(dims));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::reverse_sequence;
    use crate::testing::shape_table;

    shape_table! { shapes: reverse_sequence, ["input", "seq_lengths"];
        {seq_dim: 1} "[?, n]; i32 [4]" => "[4, n]";
        {seq_dim: 0, batch_dim: 1} "[?, n]; i32 [?]" => "[d0_0, n]";
        {seq_dim: 1} "?; i32 [4]" => "?";
        {seq_dim: 1} "[3, n]; i32 [4]" => "error the number of rows and the length of seq_lengths must agree, got 3 and 4";
        {seq_dim: 2} "[3, n]; i32 [3]" => "error seq_dim must be less than the rank of input, got 2 for [3, n]";
        {seq_dim: 1, batch_dim: -1} "[3, n]; i32 [3]" => "error batch_dim must not be negative, got -1";
        {seq_dim: 1} "[3, n]; i32 [3, 1]" => "error seq_lengths must have rank 1";
    }
}
