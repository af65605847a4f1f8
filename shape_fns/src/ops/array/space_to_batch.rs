//! `space_to_batch(input, block_shape, paddings)` moves blocks of the spatial axes into the batch; `batch_to_space`
//! moves them back.

use crate::error::bail;
use crate::{Dim, Guard, InferenceContext, Param, Result, ShapeError, TensorShape};

/// The direction of the move.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    /// `space_to_batch`: the batch grows.
    ToBatch,
    /// `batch_to_space`: the batch shrinks.
    FromBatch,
}

/// `[b, s0, …, r..], block_shape=[k0, …], paddings=[[p0, q0], …] -> [b*k0*…, (p0+s0+q0)/k0, …, r..]`.
///
/// `block_shape` holds the size of a block along each spatial axis. Attribute `block_size` may replace it: then the
/// operand has rank 4, and a block has this size along both spatial axes. Sets the derived parameters `block_shape` and
/// `before` (the first padding of each pair), one entry per spatial axis; the body of the op reads them.
///
/// # Errors
/// The length of `block_shape` is unknown, an entry of `block_shape` is less than 1, `block_size` is less than 2, the
/// operand has fewer axes than the batch axis and the spatial axes, `paddings` does not hold one pair per spatial axis,
/// a padding is negative, or a padded size is provably not a multiple of the block's size.
pub fn space_to_batch(cx: &mut InferenceContext<'_>) -> Result<()> {
    regroup(cx, Direction::ToBatch, "paddings")
}

/// `[b, s0, …, r..], block_shape=[k0, …], crops=[[p0, q0], …] -> [b/(k0*…), s0*k0-p0-q0, …, r..]`.
///
/// `block_shape` holds the size of a block along each spatial axis. Attribute `block_size` may replace it: then the
/// operand has rank 4, and a block has this size along both spatial axes. Sets the derived parameters `block_shape` and
/// `before` (the first crop of each pair), one entry per spatial axis; the body of the op reads them.
///
/// # Errors
/// Same as [`space_to_batch`], the batch is provably not a multiple of the product of `block_shape`, or the crops
/// provably exceed a size.
pub fn batch_to_space(cx: &mut InferenceContext<'_>) -> Result<()> {
    regroup(cx, Direction::FromBatch, "crops")
}

/// Returns the block's size along each spatial axis, or `None` if the sizes are unknown. Also returns the number of
/// spatial axes.
fn read_blocks(cx: &mut InferenceContext<'_>) -> Result<(Option<Vec<Dim>>, usize)> {
    if cx.attr("block_size").is_some() {
        let size = cx.int("block_size")?;
        if size < 2 {
            bail!("block_size must be at least 2, got {size}");
        }
        return Ok((Some(vec![Dim::known(size); 2]), 2));
    }
    let list = cx.param_vector("block_shape")?;
    let Some(count) = list.known_len() else {
        let shape =
            cx.operand("block_shape").map(|index| cx.input(index).clone()).unwrap_or(TensorShape::unranked());
        return Err(
            cx.blame_param("block_shape", format_args!("must have a known number of elements, got {shape}"))
        );
    };
    match list {
        crate::List::Elements(blocks) => {
            for block in &blocks {
                cx.require(Guard::Ge(block.clone(), Dim::known(1))).map_err(|_| {
                    cx.blame_param("block_shape", format_args!("must be at least 1, got {block}"))
                })?;
            }
            Ok((Some(blocks.to_vec()), count))
        }
        _ => Ok((None, count)),
    }
}

/// Returns the pairs of paddings or crops, or `None` if their elements are unknown.
fn read_pairs(cx: &mut InferenceContext<'_>, name: &str, count: usize) -> Result<Option<Vec<[Dim; 2]>>> {
    let wrong_shape = |cx: &InferenceContext<'_>, got: &TensorShape| {
        cx.blame_param(
            name,
            format_args!("must have shape [{count}, 2], one pair per spatial axis, got {got}"),
        )
    };
    if let Some(index) = cx.operand(name).filter(|_| cx.attr(name).is_none()) {
        let shape = cx.input(index).clone();
        let Ok(rows) = i64::try_from(count) else { return Err(wrong_shape(cx, &shape)) };
        cx.merge_shapes(&shape, &TensorShape::from([rows, 2])).map_err(|_| wrong_shape(cx, &shape))?;
    }
    match cx.param(name)? {
        Param::Known(value) | Param::Partial(value) => {
            if value.len() != 2 * count {
                return Err(wrong_shape(cx, &value.shape()));
            }
            for element in value.elements() {
                cx.require_not_negative(name, element)?;
            }
            let pairs = value.elements().as_chunks::<2>().0.to_vec();
            Ok(Some(pairs))
        }
        _ => Ok(None),
    }
}

/// Sets the derived parameters `block_shape` and `before`. The first element of each pair of paddings gives `before`.
fn set_derived_parameters(
    cx: &mut InferenceContext<'_>,
    count: usize,
    blocks: Option<&[Dim]>,
    pairs: Option<&[[Dim; 2]]>,
) {
    let mut or_fresh = |known: Option<&Dim>| known.cloned().unwrap_or_else(|| cx.fresh_integer());
    let sizes: Vec<Dim> =
        (0..count).map(|index| or_fresh(blocks.and_then(|blocks| blocks.get(index)))).collect();
    let before: Vec<Dim> =
        (0..count).map(|index| or_fresh(pairs.and_then(|pairs| Some(&pairs.get(index)?[0])))).collect();
    cx.set_derived("block_shape", sizes);
    cx.set_derived("before", before);
}

/// Sets the output of `space_to_batch` or `batch_to_space`. `name` is the parameter that holds the pairs.
fn regroup(cx: &mut InferenceContext<'_>, direction: Direction, name: &str) -> Result<()> {
    let (blocks, count) = read_blocks(cx)?;
    let pairs = read_pairs(cx, name, count)?;
    set_derived_parameters(cx, count, blocks.as_deref(), pairs.as_deref());
    if count == 0 {
        let shape = cx.input(0).clone();
        cx.set_output(0, shape);
        return Ok(());
    }
    let input = match cx.attr("block_size") {
        Some(_) => cx.with_rank(0, 4)?,
        None => cx.with_rank_at_least(0, count + 1)?,
    };
    let Some(mut dims) = input.dims().map(<[Dim]>::to_vec) else { return Ok(()) };
    dims[0] = match &blocks {
        Some(blocks) => {
            // The number of positions of one block.
            let mut per_block = Dim::known(1);
            for block in blocks {
                per_block = cx.mul(&per_block, block)?;
            }
            match direction {
                Direction::ToBatch => cx.mul(&dims[0], &per_block)?,
                Direction::FromBatch => cx.exact_div(&dims[0], &per_block).map_err(|_| {
                    ShapeError::new(format_args!(
                        "the batch must be a multiple of the product of block sizes, got {} and {per_block} in {input}",
                        dims[0]
                    ))
                    .operand(0)
                })?,
            }
        }
        None => cx.fresh(),
    };
    for position in 0..count {
        let axis = position + 1;
        let (Some(blocks), Some(pairs)) = (&blocks, &pairs) else {
            dims[axis] = cx.fresh();
            continue;
        };
        let (block, [before, after]) = (&blocks[position], &pairs[position]);
        let both = cx.add(before, after)?;
        dims[axis] = match direction {
            Direction::ToBatch => {
                let padded = cx.add(&dims[axis], &both)?;
                cx.exact_div(&padded, block).map_err(|_| {
                    ShapeError::new(format_args!(
                        "a padded size must be a multiple of the block's size, \
                         got {padded} and {block} at axis {axis} of {input}"
                    ))
                    .operand(0)
                })?
            }
            Direction::FromBatch => {
                let uncropped = cx.mul(&dims[axis], block)?;
                let rest = cx.sub(&uncropped, &both)?;
                cx.require(Guard::Ge(rest.clone(), Dim::known(0))).map_err(|_| {
                    cx.blame_param(
                        name,
                        format_args!(
                            "must not exceed the size, got {before} and {after} for size {uncropped} at axis {axis}"
                        ),
                    )
                })?;
                rest
            }
        };
    }
    cx.set_output(0, TensorShape::from(dims));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{batch_to_space, space_to_batch};
    use crate::testing::shape_table;

    shape_table! { to_batch: space_to_batch, ["input", "block_shape", "paddings"];
        {} "[b, 4, w, c]; [2] = [2, 3]; [2, 2] = [1, 1, 0, 0]" => "[6*b, 3, floordiv(w, 3), c] if 3 divides w";
        {} "[b, 4, w, c]; i32 [2]; i32 [2, 2]" => "[?, ?, ?, c]";
        {} "[b, 4, c]; [1] = [k]; [1, 2] = [0, 0]" => "[b*k, floordiv(4, k), c] if k >= 1, k divides 4";
        {} "?; i32 [2]; ?" => "?";
        {} "?; i32 [0]; ?" => "?";
        {block_shape: [2], paddings: [0, 1]} "[b, 3, c]" => "[2*b, 2, c]";
        {} "[b, 3]; i32 [?]; ?" => "error block_shape must have a known number of elements, got [?]";
        {} "[b, 3]; ?; ?" => "error block_shape must have a known number of elements, got [..]";
        {} "[b, 3]; [1] = [0]; ?" => "error block_shape must be at least 1, got 0";
        {} "[b, 3]; [1] = [2]; [1, 2] = [0, 0]" => "error a padded size must be a multiple of the block's size, got 3 and 2 at axis 1";
        {} "[b, 3]; [1] = [2]; i32 [2, 2]" => "error paddings must have shape [1, 2], one pair per spatial axis, got [2, 2]";
        {} "[b, 3]; [1] = [2]; [1, 2] = [0, -1]" => "error paddings must not be negative, got -1";
        {} "[b]; i32 [1]; ?" => "error input must have rank at least 2";
    }
    shape_table! { to_batch_by_block_size: space_to_batch, ["input", "paddings"];
        {block_size: 2} "[b, 4, w, c]; [2, 2] = [0, 0, 1, 1]" => "[4*b, 2, floordiv(w, 2)+1, c]";
        {block_size: 2} "?; ?" => "[4*?, ?, ?, ?]";
        {block_size: 1} "[b, 4, w, c]; ?" => "error block_size must be at least 2, got 1";
    }
    shape_table! { from_batch: batch_to_space, ["input", "block_shape", "crops"];
        {} "[b, 4, w, c]; [2] = [2, 3]; [2, 2] = [1, 1, 0, 0]" => "[floordiv(b, 6), 6, 3*w, c] if 6 divides b";
        {} "[6*b, 4]; [1] = [2]; [1, 2] = [k, 0]" => "[3*b, -k+8] if -k+8 >= 0";
        {} "[5, 4]; [1] = [2]; [1, 2] = [0, 0]" => "error the batch must be a multiple of the product of block sizes, got 5 and 2";
        {} "[4, 4]; [1] = [2]; [1, 2] = [9, 0]" => "error crops must not exceed the size, got 9 and 0 for size 8 at axis 1";
    }
}
