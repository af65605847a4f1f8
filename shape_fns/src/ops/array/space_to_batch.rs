//! `space_to_batch(input, block_shape, paddings)` and back: blocks of the spatial axes as further members of the batch.

use crate::error::bail;
use crate::{Dim, Guard, InferenceContext, Param, Result, ShapeError, TensorShape};

/// Which way.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    /// The batch grows.
    ToBatch,
    /// The batch shrinks.
    FromBatch,
}

/// `[b, s0, …, r..], block_shape=[k0, …], paddings=[[p0, q0], …] -> [b*k0*…, (p0+s0+q0)/k0, …, r..]`. One integer
/// `block_size` stands for blocks of two axes of an operand of rank 4. Sets `block_shape` and, an entry a block, `before`.
///
/// # Errors
/// `block_shape` is no vector of known length, a block is less than 1 (`block_size` less than 2), the operand has not an
/// axis for every block and one for the batch, `paddings` are not two numbers a block, one is negative, or a padded size
/// is provably no multiple of its block.
pub fn space_to_batch(cx: &mut InferenceContext<'_>) -> Result<()> {
    regroup(cx, Way::ToBatch, "paddings")
}

/// `[b, s0, …, r..], block_shape=[k0, …], crops=[[p0, q0], …] -> [b/(k0*…), s0*k0-p0-q0, …, r..]`. One integer
/// `block_size` stands for blocks of two axes of an operand of rank 4. Sets `block_shape` and, an entry a block, `before`.
///
/// # Errors
/// As [`space_to_batch`], the batch is provably no multiple of the product of the blocks, or crops are provably more than
/// there is.
pub fn batch_to_space(cx: &mut InferenceContext<'_>) -> Result<()> {
    regroup(cx, Way::FromBatch, "crops")
}

/// The blocks, where something is known of them, and their number.
fn blocks(cx: &mut InferenceContext<'_>) -> Result<(Option<Vec<Dim>>, usize)> {
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

/// The pairs of paddings or crops, where something is known of them.
fn pairs(cx: &mut InferenceContext<'_>, name: &str, count: usize) -> Result<Option<Vec<[Dim; 2]>>> {
    let wrong = |cx: &InferenceContext<'_>, got: &TensorShape| {
        cx.blame_param(name, format_args!("must be two numbers for each of {count} blocks, got {got}"))
    };
    if let Some(index) = cx.operand(name).filter(|_| cx.attr(name).is_none()) {
        let shape = cx.input(index).clone();
        let Ok(rows) = i64::try_from(count) else { return Err(wrong(cx, &shape)) };
        cx.merge_shapes(&shape, &TensorShape::from([rows, 2])).map_err(|_| wrong(cx, &shape))?;
    }
    match cx.param(name)? {
        Param::Known(value) | Param::Partial(value) => {
            if value.len() != 2 * count {
                return Err(wrong(cx, &value.shape()));
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

/// Sets `block_shape`, and as `before` the first of each pair.
fn derive(cx: &mut InferenceContext<'_>, count: usize, blocks: Option<&[Dim]>, pairs: Option<&[[Dim; 2]]>) {
    let mut own = |known: Option<&Dim>| known.cloned().unwrap_or_else(|| cx.fresh_integer());
    let sizes: Vec<Dim> = (0..count).map(|at| own(blocks.and_then(|blocks| blocks.get(at)))).collect();
    let before: Vec<Dim> =
        (0..count).map(|at| own(pairs.and_then(|pairs| Some(&pairs.get(at)?[0])))).collect();
    cx.set_derived("block_shape", sizes);
    cx.set_derived("before", before);
}

fn regroup(cx: &mut InferenceContext<'_>, way: Way, name: &str) -> Result<()> {
    let (blocks, count) = blocks(cx)?;
    let pairs = pairs(cx, name, count)?;
    derive(cx, count, blocks.as_deref(), pairs.as_deref());
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
            let mut all = Dim::known(1);
            for block in blocks {
                all = cx.mul(&all, block)?;
            }
            match way {
                Way::ToBatch => cx.mul(&dims[0], &all)?,
                Way::FromBatch => cx.exact_div(&dims[0], &all).map_err(|_| {
                    ShapeError::new(format_args!(
                        "the batch must be a multiple of the product of the blocks, got {} and {all} in {input}",
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
        dims[axis] = match way {
            Way::ToBatch => {
                let padded = cx.add(&dims[axis], &both)?;
                cx.exact_div(&padded, block).map_err(|_| {
                    ShapeError::new(format_args!(
                        "a padded size must be a multiple of its block, got {padded} and {block} at axis {axis} of {input}"
                    ))
                    .operand(0)
                })?
            }
            Way::FromBatch => {
                let whole = cx.mul(&dims[axis], block)?;
                let rest = cx.sub(&whole, &both)?;
                cx.require(Guard::Ge(rest.clone(), Dim::known(0))).map_err(|_| {
                    cx.blame_param(
                        name,
                        format_args!(
                            "must be at most the size, got {before} and {after} for {whole} at axis {axis}"
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

    shape_table! { to: space_to_batch, ["input", "block_shape", "paddings"];
        {} "[b, 4, w, c]; [2] = [2, 3]; [2, 2] = [1, 1, 0, 0]" => "[6*b, 3, floordiv(w, 3), c] if 3 divides w";
        {} "[b, 4, w, c]; i32 [2]; i32 [2, 2]" => "[?, ?, ?, c]";
        {} "[b, 4, c]; [1] = [k]; [1, 2] = [0, 0]" => "[b*k, floordiv(4, k), c] if k >= 1, k divides 4";
        {} "?; i32 [2]; ?" => "?";
        {} "?; i32 [0]; ?" => "?";
        {block_shape: [2], paddings: [0, 1]} "[b, 3, c]" => "[2*b, 2, c]";
        {} "[b, 3]; i32 [?]; ?" => "error block_shape must have a known number of elements, got [?]";
        {} "[b, 3]; ?; ?" => "error block_shape must have a known number of elements, got ?";
        {} "[b, 3]; [1] = [0]; ?" => "error block_shape must be at least 1, got 0";
        {} "[b, 3]; [1] = [2]; [1, 2] = [0, 0]" => "error a padded size must be a multiple of its block, got 3 and 2 at axis 1";
        {} "[b, 3]; [1] = [2]; i32 [2, 2]" => "error paddings must be two numbers for each of 1 blocks, got [2, 2]";
        {} "[b, 3]; [1] = [2]; [1, 2] = [0, -1]" => "error paddings must not be negative, got -1";
        {} "[b]; i32 [1]; ?" => "error input must have rank at least 2";
    }
    shape_table! { to_by_size: space_to_batch, ["input", "paddings"];
        {block_size: 2} "[b, 4, w, c]; [2, 2] = [0, 0, 1, 1]" => "[4*b, 2, floordiv(w, 2)+1, c]";
        {block_size: 2} "?; ?" => "[4*?, ?, ?, ?]";
        {block_size: 1} "[b, 4, w, c]; ?" => "error block_size must be at least 2, got 1";
    }
    shape_table! { from: batch_to_space, ["input", "block_shape", "crops"];
        {} "[b, 4, w, c]; [2] = [2, 3]; [2, 2] = [1, 1, 0, 0]" => "[floordiv(b, 6), 6, 3*w, c] if 6 divides b";
        {} "[6*b, 4]; [1] = [2]; [1, 2] = [k, 0]" => "[3*b, -k+8] if -k+8 >= 0";
        {} "[5, 4]; [1] = [2]; [1, 2] = [0, 0]" => "error the batch must be a multiple of the product of the blocks, got 5 and 2";
        {} "[4, 4]; [1] = [2]; [1, 2] = [9, 0]" => "error crops must be at most the size, got 9 and 0 for 8 at axis 1";
    }
}
