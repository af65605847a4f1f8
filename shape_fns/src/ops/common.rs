//! Shape functions that many ops share, and helpers that many shape functions share.

use crate::shape::advice;
use crate::{DType, Dim, Guard, InferenceContext, Result, ShapeError, TensorShape};

/// Sets output 0 to the shape of operand 0, for elementwise ops of one operand and for ops that only move elements
/// within the shape.
///
/// # Errors
/// Never fails.
pub fn unary(cx: &mut InferenceContext<'_>) -> Result<()> {
    let shape = cx.input(0).clone();
    cx.set_output(0, shape);
    Ok(())
}

/// Sets output 0 to the shape that all operands broadcast to.
///
/// # Errors
/// Two dimensions are provably different and neither is 1.
pub fn broadcast(cx: &mut InferenceContext<'_>) -> Result<()> {
    let shape = cx.broadcast_operands()?;
    cx.set_output(0, shape);
    Ok(())
}

/// Sets output 0 like [`broadcast`], unless attribute `incompatible_shape_error` is false.
///
/// With `incompatible_shape_error=false`, operands that provably do not broadcast compare as unequal, which gives a
/// scalar. If it is unknown whether they broadcast, the output is unranked.
///
/// # Errors
/// Same as [`broadcast`], unless the attribute is false.
pub fn equality(cx: &mut InferenceContext<'_>) -> Result<()> {
    if cx.bool_or("incompatible_shape_error", true)? {
        return broadcast(cx);
    }
    let (x, y) = (cx.input(0).clone(), cx.input(1).clone());
    let (Some(a), Some(b)) = (x.dims(), y.dims()) else { return Ok(()) };
    let one = Dim::known(1);
    let mut decided = true;
    for (a, b) in a.iter().rev().zip(b.iter().rev()) {
        match (a.same(b), a.same(&one), b.same(&one)) {
            (Some(true), _, _) | (_, Some(true), _) | (_, _, Some(true)) => {}
            (Some(false), Some(false), Some(false)) => {
                cx.set_output(0, TensorShape::scalar());
                return Ok(());
            }
            _ => decided = false,
        }
    }
    if decided { broadcast(cx) } else { Ok(()) }
}

/// Unifies the shapes of all operands and sets output 0 to the result.
///
/// # Errors
/// Ranks or dimensions provably differ.
pub fn same_shape(cx: &mut InferenceContext<'_>) -> Result<()> {
    let mut shape = cx.input(0).clone();
    for index in 1..cx.len() {
        let other = cx.input(index).clone();
        shape = cx.merge_shapes(&shape, &other).map_err(|error| error.operand(index))?;
    }
    cx.set_output(0, shape);
    Ok(())
}

/// Unifies the shapes of all operands that are not scalars and sets output 0 to the result.
///
/// If every ranked operand is a scalar and another operand is unranked, the output is unranked.
///
/// # Errors
/// Ranks or dimensions provably differ.
pub fn same_shape_but_scalars(cx: &mut InferenceContext<'_>) -> Result<()> {
    let mut all = TensorShape::scalar();
    let mut unranked = false;
    for index in 0..cx.len() {
        let shape = cx.input(index).clone();
        match (shape.rank(), all.rank()) {
            (None, _) => unranked = true,
            (Some(0), _) => {}
            (_, Some(0)) => all = shape,
            _ => all = cx.merge_shapes(&all, &shape).map_err(|error| error.operand(index))?,
        }
    }
    // If no ranked operand has axes, an unranked operand may still have axes.
    let rank_is_unknown = unranked && all.rank() == Some(0);
    cx.set_output(0, if rank_is_unknown { TensorShape::unranked() } else { all });
    Ok(())
}

/// Requires operand `index` to broadcast to `shape`. Errors call the operand `name`, or by its own name if there is
/// none.
///
/// # Errors
/// The operand provably does not broadcast to `shape`.
pub fn require_broadcast(
    cx: &mut InferenceContext<'_>,
    index: usize,
    name: Option<&str>,
    shape: &TensorShape,
) -> Result<()> {
    let given = cx.input(index).clone();
    let (Some(dims), Some(own)) = (shape.dims(), given.dims()) else { return Ok(()) };
    let fits = dims.len().checked_sub(own.len()).is_some_and(|offset| {
        let mut pairs = own.iter().zip(&dims[offset..]);
        pairs.all(|(own, dim)| cx.require(Guard::OneOrEqual(own.clone(), dim.clone())).is_ok())
    });
    if fits {
        return Ok(());
    }
    let requirement = format!("must broadcast to {shape}, got {given}");
    let error = match name {
        Some(name) => ShapeError::new(format_args!("{name} {requirement}")).operand(index),
        None => cx.blame(index, requirement),
    };
    Err(error.with_help_if(advice::broadcast_into(&given, shape)))
}

/// Requires the last dimension `dim` of operand `index` to equal `size`, and returns the merged dimension.
///
/// # Errors
/// The dimension provably differs from `size`.
pub(crate) fn require_last_dim(
    cx: &mut InferenceContext<'_>,
    index: usize,
    dim: &Dim,
    size: i64,
) -> Result<Dim> {
    cx.merge(dim, &Dim::known(size)).map_err(|_| {
        let shape = cx.input(index);
        cx.blame(index, format_args!("must have size {size} at the last axis, got {dim} in {shape}"))
    })
}

/// Requires that an integer dtype can hold `size`, which `what` describes in errors.
///
/// # Errors
/// The size provably exceeds the dtype.
pub(crate) fn require_fits(
    cx: &mut InferenceContext<'_>,
    dtype: DType,
    size: &Dim,
    what: &str,
) -> Result<()> {
    let most = match dtype {
        DType::I16 => i64::from(i16::MAX),
        DType::I32 => i64::from(i32::MAX),
        _ => return Ok(()),
    };
    cx.require(Guard::Ge(Dim::known(most), size.clone()))
        .map_err(|_| ShapeError::new(format_args!("{what} must fit {dtype}, got {size}")))
}

#[cfg(test)]
mod tests {
    use super::{broadcast, equality, same_shape, same_shape_but_scalars, unary};
    use crate::testing::shape_table;

    shape_table! { one_operand: unary, ["x"];
        {} "[2, n, ?]" => "[2, n, d0_2]";
        {} "?" => "?";
    }
    shape_table! { broadcasting: broadcast, ["x", "y"];
        {} "[?, 3]; [?, 3]" => "[bcast(d0_0, d1_0), 3]";
        {} "[n, 3]; [n, 3]" => "[n, 3]";
        {} "[?]; [5]" => "[5] if d0_0 in {1, 5}";
        {} "[5]; [?, 1, ?]" => "[d1_0, 1, 5] if d1_2 in {1, 5}";
        {} "[?]; [1]" => "[d0_0]";
        {} "[n]; []" => "[n]";
        {} "[n+2]; [3]" => "[3]";
        {} "[0]; [1]" => "[0]";
        {} "[2]; ?" => "?";
        {} "[2, 3]; [4, 3]" => "error dimensions must be equal or 1 to broadcast, got 2 and 4 at axis 0 of [2, 3] and [4, 3]";
        {} "[4]; [2, 3]" => "error got 4 and 3 at axis 1 of [4] and [2, 3]";
    }
    shape_table! { equalities: equality, ["x", "y"];
        {} "[n]; [5]" => "[5] if n in {1, 5}";
        {incompatible_shape_error: false} "[2]; [3]" => "[]";
        {incompatible_shape_error: false} "[n]; [3]" => "?";
        {incompatible_shape_error: false} "[n]; [n]" => "[n]";
        {} "[2]; [3]" => "error got 2 and 3 at axis 0";
    }
    shape_table! { same_shapes: same_shape, ["x", "y"];
        {} "[?, 3]; [2, ?]" => "[2, 3]";
        {} "[2]; [3]" => "error shapes must agree, got 2 and 3 at axis 0";
    }
    shape_table! { same_shapes_but_scalars: same_shape_but_scalars, ["a", "b", "x"];
        {} "[]; []; []" => "[]";
        {} "[]; ?; []" => "?";
        {} "[?, 2, ?]; []; [?, ?, 3]" => "[d0_0, 2, 3]";
        {} "[?, 2]; ?; [1, ?]" => "[1, 2]";
        {} "[1, 2]; []; [1, 2, 3]" => "error shapes must have the same rank";
        {} "[1, 2]; []; [?, 3]" => "error shapes must agree, got 2 and 3 at axis 1";
    }
}
