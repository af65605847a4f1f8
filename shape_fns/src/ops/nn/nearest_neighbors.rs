//! `nearest_neighbors(points, centers, k)`: the centers that are nearest to each point.

use crate::{InferenceContext, Result, TensorShape};

/// `points[n, d], centers[m, d], k -> indices[n, min(k, m)], distances[n, min(k, m)]`.
///
/// # Errors
/// An operand has the wrong rank, the numbers of coordinates provably differ, or `k` is negative.
pub fn nearest_neighbors(cx: &mut InferenceContext<'_>) -> Result<()> {
    let ([points, coordinates], [centers, others]) = (cx.axes::<2>(0)?, cx.axes::<2>(1)?);
    cx.agree("the numbers of coordinates of points and centers", &coordinates, &others)
        .map_err(|error| error.operand(1))?;
    let k = cx.make_dim_for_scalar_input("k")?;
    let nearest = cx.min(&k, &centers)?;
    for output in 0..2 {
        cx.set_output(output, TensorShape::new([points.clone(), nearest.clone()]));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::nearest_neighbors;
    use crate::testing::shape_table;

    shape_table! { shapes: nearest_neighbors, ["points", "centers", "k"];
        {} "[n, ?]; [5, 2]; [] = 3" => "[n, 3]; [n, 3]";
        {} "[n, d]; [5, d]; [] = 9" => "[n, 5]; [n, 5]";
        {} "[n, 2]; [5, 3]; [] = 1" => "error(2 outputs) the numbers of coordinates of points and centers must agree, got 2 and 3";
        {} "[n, 2]; [5, 2]; [] = -1" => "error(2 outputs) k must not be negative, got -1";
        {} "[n]; [5, 2]; ?" => "error(2 outputs) points must have rank 2";
    }
}
