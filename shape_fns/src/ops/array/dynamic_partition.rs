//! `dynamic_partition(data, partitions)`: distributes the rows of a tensor over several outputs.

use crate::error::bail;
use crate::{InferenceContext, Result, ShapeError, TensorShape};

/// `data[p.., d..], partitions[p..] -> [r0, d..], [r1, d..], …`. The numbers of rows `r0, r1, …` depend on the data.
///
/// # Errors
/// The leading axes of `data` provably differ from the axes of `partitions`, or `num_partitions` is less than 1.
pub fn dynamic_partition(cx: &mut InferenceContext<'_>) -> Result<()> {
    let count = i64::try_from(cx.outputs()).unwrap_or(i64::MAX);
    let parts = cx.int_or("num_partitions", count)?;
    if parts < 1 {
        bail!("num_partitions must be at least 1, got {parts}");
    }
    let (data, partitions) = (cx.input(0).clone(), cx.input(1).clone());
    cx.merge_prefix(&data, &partitions).map_err(|_| {
        ShapeError::new(format_args!(
            "data must have the axes of partitions as leading axes, got {data} and {partitions}"
        ))
        .operand(1)
    })?;
    let (Some(dims), Some(first)) = (data.dims(), partitions.rank()) else { return Ok(()) };
    let rest = TensorShape::from(dims.get(first..).unwrap_or_default());
    for output in 0..cx.outputs() {
        let rows = cx.unknown_shape_of_rank(1);
        cx.set_output(output, rows.concatenate(&rest));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::dynamic_partition;
    use crate::testing::shape_table;

    shape_table! { parts: dynamic_partition, ["data", "partitions"];
        {num_partitions: 2} "[n, 4, ?]; i32 [n]" => "[?, 4, d0_2]; [?, 4, d0_2]";
        {num_partitions: 1} "[n, 4]; i32 [?, ?]" => "[?]";
        {num_partitions: 1} "[n, 4]; i32 []" => "[?, n, 4]";
        {num_partitions: 1} "?; i32 [n]" => "?";
        {num_partitions: 1} "[3, 4]; i32 [4]" => "error data must have the axes of partitions as leading axes, got [3, 4] and [4]";
        {num_partitions: 1} "[3]; i32 [3, 4]" => "error data must have the axes of partitions as leading axes, got [3] and [3, 4]";
        {num_partitions: 0} "[3]; i32 [3]" => "error num_partitions must be at least 1, got 0";
    }
}
