//! `top_k(input, k)` and `nth_element(input, n)`: select elements by rank along the last axis.

use crate::common::require_fits;
use crate::infer::normalize_axis;
use crate::{Attr, DType, Dim, Guard, InferenceContext, Result, TensorShape};

/// `input[.., d] -> values[.., k], indices[.., k]`. `k` is an attribute or a scalar operand.
///
/// # Errors
/// The operand is a scalar, `k` is negative, `k` provably exceeds the last dimension, or attribute `index_type`
/// provably cannot hold the last dimension.
pub fn top_k(cx: &mut InferenceContext<'_>) -> Result<()> {
    let k = cx.make_dim_for_scalar_input("k")?;
    let Some((leading, [last])) = cx.last_axes::<1>(0)? else { return Ok(()) };
    cx.require(Guard::Ge(last.clone(), k.clone())).map_err(|_| {
        cx.blame(0, format_args!("must have at least k elements along the last axis, got {last} and k = {k}"))
    })?;
    require_fits(cx, cx.dtype_or("index_type", DType::I64)?, &last, "the last dimension")?;
    let output = leading.concatenate(&TensorShape::new([k]));
    cx.set_output(0, output.clone());
    cx.set_output(1, output);
    Ok(())
}

/// `input[.., d, ..] -> values[.., k, ..], indices[.., k, ..]` along the axis that attribute `reduction_dimension`
/// names, by default the last one. Without attribute `aggregate_to_topk`, the size along this axis is unknown.
///
/// # Errors
/// The operand is a scalar, `k` is negative or provably exceeds the size along the axis, or there is no such axis.
pub fn approx_top_k(cx: &mut InferenceContext<'_>) -> Result<()> {
    let k = cx.make_dim_for_scalar_input("k")?;
    let axis = match cx.attr("reduction_dimension") {
        Some(Attr::Int(axis)) => *axis,
        _ => -1,
    };
    let is_whole = matches!(cx.attr("aggregate_to_topk"), Some(Attr::Bool(false)));
    let shape = cx.with_rank_at_least(0, 1)?;
    let Some(dims) = shape.dims() else { return Ok(()) };
    let axis = normalize_axis(axis, dims.len())?;
    let size = dims[axis].clone();
    cx.require(Guard::Ge(size.clone(), k.clone())).map_err(|_| {
        cx.blame(0, format_args!("must have at least k elements along axis {axis}, got {size} and k = {k}"))
    })?;
    let size = if is_whole { cx.fresh() } else { k };
    let dims =
        dims.iter().enumerate().map(|(other, dim)| if other == axis { size.clone() } else { dim.clone() });
    let output = TensorShape::new(dims);
    cx.set_output(0, output.clone());
    cx.set_output(1, output);
    Ok(())
}

/// `input[.., d] -> [..]`: selects the element at position `n` in sorted order.
///
/// # Errors
/// The operand is a scalar, `n` is negative, or `n` is provably not less than the last dimension.
pub fn nth_element(cx: &mut InferenceContext<'_>) -> Result<()> {
    let position = cx.make_dim_for_scalar_input("n")?;
    let Some((leading, [last])) = cx.last_axes::<1>(0)? else { return Ok(()) };
    let least = cx.add(&position, &Dim::known(1))?;
    cx.require(Guard::Ge(last.clone(), least)).map_err(|_| {
        cx.blame(
            0,
            format_args!("must have more than n elements along the last axis, got {last} and n = {position}"),
        )
    })?;
    cx.set_output(0, leading);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{approx_top_k, nth_element, top_k};
    use crate::DType;
    use crate::testing::shape_table;

    shape_table! { top: top_k, ["input", "k"];
        {k: 3} "[n, ?]" => "[n, 3]; [n, 3] if d0_1 >= 3";
        {k: 3, index_type: DType::I16} "[32767]" => "[3]; [3]";
        {k: 3, index_type: DType::I16} "[32768]" => "error(2 outputs) the last dimension must fit i16, got 32768";
        {} "[n, 5]; [] = k" => "[n, k]; [n, k] if 5 >= k";
        {} "[n, 5]; i32 []" => "[n, ?]; [n, ?]";
        {k: 3} "?" => "?; ?";
        {k: 3} "[n, 2]" => "error(2 outputs) input must have at least k elements along the last axis, got 2 and k = 3";
        {k: -1} "[n, 2]" => "error(2 outputs) k must not be negative, got -1";
        {k: 1} "[]" => "error(2 outputs) input must have rank at least 1";
        {} "[3]; i32 [1]" => "error(2 outputs) k must be one integer, got rank 1";
    }
    shape_table! { approximate: approx_top_k, ["input"];
        {k: 3} "[n, ?]" => "[n, 3]; [n, 3] if d0_1 >= 3";
        {k: 3, reduction_dimension: 0} "[5, n]" => "[3, n]; [3, n]";
        {k: 3, aggregate_to_topk: false} "[n, 5]" => "[n, ?]; [n, ?]";
        {k: 3} "?" => "?; ?";
        {k: 3} "[n, 2]" => "error(2 outputs) input must have at least k elements along axis 1, got 2 and k = 3";
        {k: 3, reduction_dimension: 2} "[n, 2]" => "error(2 outputs) axis must be in [-2, 2), got 2";
    }
    shape_table! { nth: nth_element, ["input", "n"];
        {} "[n, ?]; [] = 2" => "[n] if d0_1 >= 3";
        {} "[n, 2]; [] = 2" => "error input must have more than n elements along the last axis, got 2 and n = 2";
    }
}
