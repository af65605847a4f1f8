//! Shuffles and random crops.

use super::generator::check_seeds;
use crate::{Dim, InferenceContext, List, Result, TensorShape};

/// Keeps the shape of the operand.
///
/// # Errors
/// `key`, `counter` or `alg` has the wrong rank or length.
pub fn shuffle(cx: &mut InferenceContext<'_>) -> Result<()> {
    check_seeds(cx)?;
    cx.set_output(0, cx.input(0).clone());
    Ok(())
}

/// `image[h, w, c], size=[a, b] -> [a, b, c]`.
///
/// # Errors
/// The image does not have three axes, or `size` does not hold two sizes.
pub fn crop(cx: &mut InferenceContext<'_>) -> Result<()> {
    let [_, _, channels] = cx.axes::<3>(0)?;
    let sizes = cx.param_vector("size")?;
    if let Some(given) = sizes.known_len().filter(|given| *given != 2) {
        return Err(cx.blame_param("size", format_args!("must have 2 elements, got {given}")));
    }
    let sizes = match sizes {
        List::Elements(sizes) => TensorShape::from(sizes),
        _ => cx.unknown_shape_of_rank(2),
    };
    for size in sizes.dims().unwrap_or_default() {
        cx.require_not_negative("size", size)?;
    }
    cx.set_output(0, sizes.concatenate(&TensorShape::new([channels])));
    Ok(())
}

/// `index[n], seed[n, 3], max_index[n] -> [n]`. Each operand may lack the axis `n`. If no operand has this axis, the
/// output is a scalar.
///
/// # Errors
/// An operand has too many axes, the seed does not have three columns, or lengths provably differ.
pub fn index_shuffle(cx: &mut InferenceContext<'_>) -> Result<()> {
    let (index, limit) = (cx.with_rank_at_most(0, 1)?, cx.with_rank_at_most(2, 1)?);
    cx.with_rank_at_least(1, 1)?;
    let seed = cx.with_rank_at_most(1, 2)?;
    if let Some(columns) = seed.dim(-1) {
        cx.merge(columns, &Dim::known(3))
            .map_err(|_| cx.blame(1, format_args!("must have 3 elements per index, got {columns}")))?;
    }
    let operands = [index, seed.slice(..-1), limit];
    let mut all = None::<Dim>;
    for (operand, shape) in operands.iter().enumerate() {
        let Some([count]) = shape.dims() else { continue };
        all = Some(match &all {
            Some(previous) => cx
                .agree("the lengths of index, seed and max_index", previous, count)
                .map_err(|error| error.operand(operand))?,
            None => count.clone(),
        });
    }
    match all {
        Some(count) => cx.set_output(0, TensorShape::new([count])),
        None if operands.iter().all(|shape| shape.rank() == Some(0)) => {
            cx.set_output(0, TensorShape::scalar())
        }
        None => {}
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{crop, index_shuffle, shuffle};
    use crate::testing::shape_table;

    shape_table! { shuffled: shuffle, ["value", "key", "counter", "alg"];
        {} "[n, ?]; u64 [1]; u64 [?]; i32 []" => "[n, d0_1]";
        {} "[n]; u64 [2]; ?; ?" => "error key must have 1 element, got 2";
    }
    shape_table! { cropped: crop, ["image", "size"];
        {} "[?, ?, c]; i64 [2] = [10, n]" => "[10, n, c]";
        {} "?; i64 [2]" => "[?, ?, ?]";
        {} "[1, 2]; ?" => "error image must have rank 3";
        {} "?; i64 [3]" => "error size must have 2 elements, got 3";
        {} "?; i64 [1, 2]" => "error size must be a vector, got rank 2";
    }
    shape_table! { positions: index_shuffle, ["index", "seed", "max_index"];
        {} "i32 [n]; i32 [?, 3]; i32 []" => "[n]";
        {} "i32 []; i32 [3]; i32 []" => "[]";
        {} "i32 []; ?; i32 []" => "?";
        {} "?; i32 [4, 3]; i32 [?]" => "[4]";
        {} "i32 [5]; i32 [4, 3]; ?" => "error the lengths of index, seed and max_index must agree, got 5 and 4";
        {} "?; i32 [4]; ?" => "error seed must have 3 elements per index, got 4";
    }
}
