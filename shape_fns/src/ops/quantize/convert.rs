//! Conversions between numbers and quantized numbers.

use crate::error::bail;
use crate::{InferenceContext, Result, TensorShape};

/// Returns the shape of operand `input`, and the shape that the next two operands have: the minimum and the maximum of
/// the range.
///
/// These operands are scalars, or with attribute `axis` vectors with one element per slice along this axis. If `ranked`
/// and `axis` is given, the input must have a known rank.
fn shape_and_range(
    cx: &mut InferenceContext<'_>,
    input: usize,
    ranked: bool,
) -> Result<(TensorShape, TensorShape)> {
    let axis = cx.int_or("axis", -1)?;
    if axis < -1 {
        bail!("axis must be at least -1, got {axis}");
    }
    let Ok(axis) = usize::try_from(axis) else {
        for end in [input + 1, input + 2] {
            cx.scalar(end)?;
        }
        return Ok((cx.input(input).clone(), TensorShape::scalar()));
    };
    let shape = cx.with_rank_at_least(input, axis.saturating_add(1))?;
    if ranked && shape.rank().is_none() {
        return Err(cx.blame(input, format_args!("must have a known rank if axis is given, got {shape}")));
    }
    let ([low], [high]) = (cx.axes::<1>(input + 1)?, cx.axes::<1>(input + 2)?);
    let mut ends = cx.agree("the numbers of minima and maxima", &low, &high)?;
    let mut output = shape;
    if let Some(dims) = output.dims() {
        let mut dims = dims.to_vec();
        ends = cx.agree("the number of ranges and the size of the axis", &ends, &dims[axis])?;
        dims[axis] = ends.clone();
        output = TensorShape::from(dims);
    }
    Ok((output, TensorShape::new([ends])))
}

/// `input[..], min_range, max_range -> [..]`. The range is two scalars, or with attribute `axis` two vectors with one
/// element per slice along this axis.
///
/// # Errors
/// `axis` is less than -1 or outside the rank of the input, or the input is unranked although `axis` is given. Without
/// `axis`, `min_range` or `max_range` is not a scalar. With `axis`, `min_range` or `max_range` is not a vector, or its
/// length provably differs from the size of the axis.
pub fn dequantize(cx: &mut InferenceContext<'_>) -> Result<()> {
    let (shape, _) = shape_and_range(cx, 0, true)?;
    cx.set_output(0, shape);
    Ok(())
}

/// Like [`dequantize`], but the second and the third output are the minimum and the maximum of the range in use, and
/// the input may be unranked.
///
/// # Errors
/// Same as [`dequantize`], except that the input may be unranked.
pub fn quantize(cx: &mut InferenceContext<'_>) -> Result<()> {
    let (shape, ends) = shape_and_range(cx, 0, false)?;
    cx.set_output(0, shape);
    cx.set_output(1, ends.clone());
    cx.set_output(2, ends);
    Ok(())
}

/// Like [`dequantize`], but the input may be unranked.
///
/// # Errors
/// Same as [`dequantize`], except that the input may be unranked, or `num_bits` is not a scalar.
pub fn quantize_and_dequantize(cx: &mut InferenceContext<'_>) -> Result<()> {
    let (shape, _) = shape_and_range(cx, 0, false)?;
    cx.scalars(&["num_bits"])?;
    cx.set_output(0, shape);
    Ok(())
}

/// The gradients of the input and of the ends of its range:
/// `gradients[..], input[..], input_min, input_max -> [..], input_min, input_max`.
///
/// # Errors
/// Same as [`quantize`], or the shapes of gradients and input provably differ.
pub fn quantize_and_dequantize_grad(cx: &mut InferenceContext<'_>) -> Result<()> {
    let (shape, ends) = shape_and_range(cx, 1, false)?;
    let gradients = cx.input(0).clone();
    let shape = cx.merge_shapes(&shape, &gradients).map_err(|error| error.operand(0))?;
    cx.set_output(0, shape);
    cx.set_output(1, ends.clone());
    cx.set_output(2, ends);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{dequantize, quantize, quantize_and_dequantize, quantize_and_dequantize_grad};
    use crate::testing::shape_table;

    shape_table! { dequantized: dequantize, ["input", "min_range", "max_range"];
        {} "[n, ?]; []; ?" => "[n, d0_1]";
        {axis: 1} "[n, ?]; [3]; [?]" => "[n, 3]";
        {} "?; ?; ?" => "?";
        {axis: 1} "?; [3]; [3]" => "error input must have a known rank if axis is given, got [..]";
        {axis: 2} "[n, 3]; [3]; [3]" => "error input must have rank at least 3";
        {axis: -2} "[n, 3]; [3]; [3]" => "error axis must be at least -1, got -2";
        {axis: i64::MAX} "[n, 3]; [3]; [3]" => "error input must have rank at least";
        {axis: 1} "[n, 3]; [4]; [4]" => "error the number of ranges and the size of the axis must agree, got 4 and 3";
        {} "[n]; [1]; []" => "error min_range must have rank 0";
    }
    shape_table! { quantized: quantize, ["input", "min_range", "max_range"];
        {} "[n, ?]; []; ?" => "[n, d0_1]; []; []";
        {axis: 0} "[n, 4]; ?; ?" => "[n, 4]; [n]; [n]";
        {axis: 0} "?; [?]; [3]" => "?; [3]; [3]";
    }
    shape_table! { round_trips: quantize_and_dequantize, ["input", "input_min", "input_max", "num_bits"];
        {axis: 0} "[?, 4]; [n]; ?; []" => "[n, 4]";
        {} "[?, 4]; []; []; [1]" => "error num_bits must have rank 0";
    }
    shape_table! { gradients: quantize_and_dequantize_grad, ["gradients", "input", "input_min", "input_max"];
        {} "[n, ?]; [?, 3]; []; []" => "[n, 3]; []; []";
        {axis: 1} "[n, ?]; [?, 3]; ?; ?" => "[n, 3]; [3]; [3]";
    }
}
