//! `unsorted_segment(data, segment_ids, num_segments)`: reduces rows by segment ids in any order.

use crate::{InferenceContext, Result, TensorShape};

/// `data[i.., a..], segment_ids[i..], num_segments=s -> [s, a..]`. The axes of the ids are unified with the leading
/// axes of the data.
///
/// # Errors
/// `num_segments` is negative or not a scalar, the ids have more axes than the data, or a common dimension provably
/// differs.
pub fn unsorted_segment(cx: &mut InferenceContext<'_>) -> Result<()> {
    let segments = cx.make_dim_for_scalar_input("num_segments")?;
    let ids = cx.input(1).clone();
    let Some(ids) = ids.dims() else { return Ok(()) };
    let data = cx.input(0).clone();
    let Some(dims) = data.dims() else { return Ok(()) };
    if dims.len() < ids.len() {
        let (ids, data) = (ids.len(), dims.len());
        return Err(cx.blame(
            1,
            format_args!("must have the leading axes of the data, got rank {ids} for data of rank {data}"),
        ));
    }
    let (shared, rest) = dims.split_at(ids.len());
    for (axis, (dim, id)) in shared.iter().zip(ids).enumerate() {
        cx.merge(dim, id).map_err(|_| {
            cx.blame(
                1,
                format_args!(
                    "must have the leading axes of the data, \
                     got size {id} at axis {axis}, where the data has size {dim}"
                ),
            )
        })?;
    }
    cx.set_output(0, TensorShape::new([segments]).concatenate(&TensorShape::from(rest)));
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::testing::shape_table;

    shape_table! { shapes: super::unsorted_segment, ["data", "segment_ids", "num_segments"];
        {} "[?, 2, 3, ?, 5]; i32 [1, 2, ?]; i32 [] = 100" => "[100, d0_3, 5]";
        {} "[m, n]; i32 []; i32 [] = s" => "[s, m, n]";
        {} "[m, 2]; i32 [m]; i32 []" => "[?, 2]";
        {} "?; i32 [3]; ?" => "?";
        {} "[3]; ?; i32 []" => "?";
        {} "?; ?; i32 [1, 2]" => "error num_segments must be one integer, got rank 2";
        {} "[3]; i32 [3]; i32 [] = -1" => "error num_segments must not be negative, got -1";
        {} "[1, 2]; i32 [1, 2, 3]; ?" =>
            "error segment_ids must have the leading axes of the data, got rank 3 for data of rank 2";
        {} "[1, 2]; i32 [1, 3]; ?" =>
            "error segment_ids must have the leading axes of the data, got size 3 at axis 1, where the data has size 2";
    }
}
