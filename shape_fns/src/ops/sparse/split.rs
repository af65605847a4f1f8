//! `sparse_split`: splits a sparse tensor along an axis.

use crate::error::bail;
use crate::{InferenceContext, Result, TensorShape};

/// `split_dim[], indices[nnz, rank], values[nnz], shape[rank]` to the indices of all `num_split` parts, then all
/// values, then all shapes. The number of elements of each part depends on the data.
///
/// # Errors
/// `split_dim` is not a scalar, `indices` is not a matrix, `values` is not a vector, or `num_split` is less than 1.
pub fn split(cx: &mut InferenceContext<'_>) -> Result<()> {
    let parts = cx.int_or("num_split", i64::try_from(cx.outputs() / 3).unwrap_or(i64::MAX))?;
    if parts < 1 {
        bail!("num_split must be at least 1, got {parts}");
    }
    cx.scalar(0)?;
    let [_, columns] = cx.axes::<2>(1)?;
    cx.axes::<1>(2)?;
    let shape = cx.input(3).clone();
    let rank = match shape.num_elements() {
        Some(sizes) => {
            cx.agree("the number of columns of the indices and the number of sizes", &columns, &sizes)?
        }
        None => columns,
    };
    let parts = usize::try_from(parts).unwrap_or(usize::MAX).min(cx.outputs());
    for part in 0..parts {
        let count = cx.fresh();
        cx.set_output(part, TensorShape::new([count.clone(), rank.clone()]));
        cx.set_output(parts.saturating_add(part), TensorShape::new([count]));
        cx.set_output(parts.saturating_mul(2).saturating_add(part), shape.clone());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::testing::shape_table;

    // `d1_1` is the unknown dimension at axis 1 of operand 1.
    shape_table! { shapes: super::split, ["split_dim", "indices", "values", "shape"];
        {num_split: 2} "?; ?; ?; i64 [3]" => "[?, 3]; [?, 3]; [?]; [?]; [3]; [3]";
        {num_split: 1} "i64 []; [n, ?]; [n]; ?" => "[?, d1_1]; [?]; ?";
        {num_split: 0} "?; ?; ?; ?" => "error num_split must be at least 1, got 0";
        {num_split: 1} "?; [4, 3]; ?; i64 [2]" => "error(3 outputs) the number of columns of the indices and the number of sizes must agree, got 3 and 2";
    }
}
