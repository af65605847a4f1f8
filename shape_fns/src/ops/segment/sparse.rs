//! `sparse_segment(data, indices, segment_ids)`: selects rows by index and reduces them by segment id.

use super::sorted::with_row_count;
use crate::error::bail;
use crate::{InferenceContext, Result, TensorShape};

/// `data[n, a..], indices[k], segment_ids[k] -> [u, a..]`, where `u` depends on the data.
///
/// # Errors
/// `data` is a scalar, `indices` or `segment_ids` is not a vector, or their lengths provably differ.
pub fn sparse_segment(cx: &mut InferenceContext<'_>) -> Result<()> {
    let data = checked_data(cx)?;
    if data.rank().is_some() {
        let segments = cx.fresh();
        cx.set_output(0, with_row_count(segments, &data));
    }
    Ok(())
}

/// Like [`sparse_segment`], but a scalar gives the number of rows: `num_segments`, or `output_dim0` for the gradient.
///
/// # Errors
/// Same as [`sparse_segment`], or the number is negative or not a scalar.
pub fn sparse_segment_of(cx: &mut InferenceContext<'_>) -> Result<()> {
    let names = ["num_segments", "output_dim0"];
    let Some(name) = names.into_iter().find(|name| cx.operand(name).is_some() || cx.attr(name).is_some())
    else {
        bail!("num_segments or output_dim0 must be given: the number of rows");
    };
    let data = checked_data(cx)?;
    let count = cx.make_dim_for_scalar_input(name)?;
    if data.rank().is_some() {
        cx.set_output(0, with_row_count(count, &data));
    }
    Ok(())
}

/// The compact gradient of [`sparse_segment`]: only the selected rows, and their indices.
///
/// # Errors
/// Same as [`sparse_segment`], or `dense_output_dim0` is negative or not a scalar.
pub fn sparse_segment_grad(cx: &mut InferenceContext<'_>) -> Result<()> {
    let data = checked_data(cx)?;
    cx.make_dim_for_scalar_input("dense_output_dim0")?;
    let count = cx.fresh();
    if data.rank().is_some() {
        cx.set_output(0, with_row_count(count.clone(), &data));
    }
    cx.set_output(1, TensorShape::new([count]));
    Ok(())
}

/// Checks the first three operands and returns the shape of `data`.
fn checked_data(cx: &mut InferenceContext<'_>) -> Result<TensorShape> {
    let data = cx.with_rank_at_least(0, 1)?;
    let ([indices], [ids]) = (cx.axes::<1>(1)?, cx.axes::<1>(2)?);
    cx.agree("the numbers of indices and segment_ids", &indices, &ids).map_err(|error| error.operand(2))?;
    Ok(data)
}

#[cfg(test)]
mod tests {
    use super::{sparse_segment, sparse_segment_grad, sparse_segment_of};
    use crate::testing::shape_table;

    shape_table! { shapes: sparse_segment, ["data", "indices", "segment_ids"];
        {} "[2, n, 3]; i32 [3]; i32 [?]" => "[?, n, 3]";
        {} "?; ?; ?" => "?";
        {} "[]; ?; ?" => "error data must have rank at least 1";
        {} "[2]; i32 [3]; i32 [4]" => "error the numbers of indices and segment_ids must agree, got 3 and 4";
        {} "[2]; i32 [3]; i32 [3, 4]" => "error segment_ids must have rank 1";
    }
    shape_table! { counted: sparse_segment_of, ["data", "indices", "segment_ids", "num_segments"];
        {} "[2, n]; ?; ?; i32 [] = m" => "[m, n]";
        {} "[2, n]; ?; ?; i32 []" => "[?, n]";
        {} "[2]; ?; ?; i32 [] = -1" => "error num_segments must not be negative";
        {} "[2]; ?; ?; i32 [1]" => "error num_segments must be one integer, got rank 1";
    }
    shape_table! { gradients: sparse_segment_of, ["grad", "indices", "segment_ids", "output_dim0"];
        {} "[2, 4, 3]; i32 [3]; i32 [3]; i32 [] = 100" => "[100, 4, 3]";
    }
    shape_table! { compact: sparse_segment_grad, ["grad", "indices", "segment_ids", "dense_output_dim0"];
        {} "[5, n]; i32 [3]; i32 [?]; i32 [] = 4" => "[?, n]; [?]";
        {} "?; ?; ?; ?" => "?; [?]";
    }
}
