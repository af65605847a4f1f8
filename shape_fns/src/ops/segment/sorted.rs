//! `segment(data, segment_ids)`: reduces rows by sorted segment ids.

use crate::{Dim, InferenceContext, Result, TensorShape};

/// `data[n, a..], segment_ids[n] -> [u, a..]`, where `u` depends on the data. The op itself checks at run time that
/// every row has one id.
///
/// # Errors
/// `data` is a scalar, or `segment_ids` is not a vector.
pub fn segment(cx: &mut InferenceContext<'_>) -> Result<()> {
    let data = cx.with_rank_at_least(0, 1)?;
    cx.axes::<1>(1)?;
    if data.rank().is_some() {
        let segments = cx.fresh();
        cx.set_output(0, with_row_count(segments, &data));
    }
    Ok(())
}

/// Returns the shape of `data` with `count` rows.
pub(super) fn with_row_count(count: Dim, data: &TensorShape) -> TensorShape {
    TensorShape::new([count]).concatenate(&data.slice(1..))
}

#[cfg(test)]
mod tests {
    use crate::testing::shape_table;

    shape_table! { shapes: super::segment, ["data", "segment_ids"];
        {} "[?, n, 2]; i32 [?]" => "[?, n, 2]";
        {} "[1]; i32 [100]" => "[?]";
        {} "?; i32 [100]" => "?";
        {} "[]; i32 [1]" => "error data must have rank at least 1";
        {} "?; i32 [1, 2]" => "error segment_ids must have rank 1";
    }
}
