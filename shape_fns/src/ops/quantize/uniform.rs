//! Uniform quantization: an integer `q` stands for the number `(q - zero_point) * scale`. A tensor has one scale and
//! one zero point, or one of each per slice along an axis.

use crate::error::bail;
use crate::{Dim, InferenceContext, Result, TensorShape};

/// Reads an attribute for a quantized axis. `None` stands for one scale and one zero point.
///
/// # Errors
/// The attribute is less than -1.
fn quantized_axis(cx: &InferenceContext<'_>, attr: &str) -> Result<Option<usize>> {
    match cx.int_or(attr, -1)? {
        -1 => Ok(None),
        axis => match usize::try_from(axis) {
            Ok(axis) => Ok(Some(axis)),
            Err(_) => bail!("{attr} must be at least -1, got {axis}"),
        },
    }
}

/// Requires each of the operands `parameters` to be a scalar, or, if `axis` is given, a vector with one element per
/// slice of `shape` along this axis. Returns `shape`, in which the size of the axis is the number of elements.
fn with_parameters(
    cx: &mut InferenceContext<'_>,
    shape: &TensorShape,
    axis: Option<usize>,
    parameters: &[usize],
) -> Result<TensorShape> {
    let Some(axis) = axis else {
        for parameter in parameters {
            cx.scalar(*parameter)?;
        }
        return Ok(shape.clone());
    };
    let mut dims = shape.dims().map(<[Dim]>::to_vec);
    if let Some(dims) = &dims
        && dims.len() <= axis
    {
        bail!("a quantized axis must be less than the rank, got axis {axis} of {shape}");
    }
    let mut slices: Option<Dim> = dims.as_ref().map(|dims| dims[axis].clone());
    for parameter in parameters {
        let [length] = cx.axes::<1>(*parameter)?;
        slices = Some(match slices {
            None => length,
            Some(slices) => {
                let what = "the number of scales or zero points and the size of the quantized axis";
                cx.agree(what, &length, &slices).map_err(|error| error.operand(*parameter))?
            }
        });
    }
    if let (Some(dims), Some(slices)) = (&mut dims, slices) {
        dims[axis] = slices;
    }
    Ok(dims.map_or_else(|| shape.clone(), TensorShape::from))
}

/// `input[..], scales, zero_points -> [..]`. Scales and zero points are scalars, or with attribute `quantization_axis`
/// vectors with one element per slice along this axis.
///
/// # Errors
/// The axis is less than -1 or outside the rank of the input, or scales or zero points have another rank or a provably
/// different length.
pub fn uniform_quantize(cx: &mut InferenceContext<'_>) -> Result<()> {
    let axis = quantized_axis(cx, "quantization_axis")?;
    let shape = cx.input(0).clone();
    let shape = with_parameters(cx, &shape, axis, &[1, 2])?;
    cx.set_output(0, shape);
    Ok(())
}

/// `input[..], input_scales, input_zero_points, output_scales, output_zero_points -> [..]`. The scales and zero points
/// of the input belong to attribute `input_quantization_axis`, and those of the output to `output_quantization_axis`.
///
/// # Errors
/// Same as [`uniform_quantize`], or the two axes differ.
pub fn uniform_requantize(cx: &mut InferenceContext<'_>) -> Result<()> {
    let from = quantized_axis(cx, "input_quantization_axis")?;
    let to = quantized_axis(cx, "output_quantization_axis")?;
    if let (Some(from), Some(to)) = (from, to)
        && from != to
    {
        bail!("the quantized axes of input and output must be equal, got {from} and {to}");
    }
    let shape = cx.input(0).clone();
    let shape = with_parameters(cx, &shape, from, &[1, 2])?;
    let shape = with_parameters(cx, &shape, to, &[3, 4])?;
    cx.set_output(0, shape);
    Ok(())
}

/// `lhs[..], rhs[..]`, and scales and zero points of `lhs`, `rhs` and the output `-> [..]`. `lhs` and `rhs` broadcast.
/// The attributes `lhs_quantization_axis`, `rhs_quantization_axis` and `output_quantization_axis` are the axes. If an
/// operand and the output have an axis, these are the same axis, counted from the last.
///
/// # Errors
/// Same as [`uniform_quantize`], the operands provably do not broadcast, or an axis of an operand is not that of the
/// output.
pub fn uniform_quantized_add(cx: &mut InferenceContext<'_>) -> Result<()> {
    let mut operands = Vec::with_capacity(2);
    let mut axes = Vec::with_capacity(2);
    for (index, name) in ["lhs", "rhs"].into_iter().enumerate() {
        let axis = quantized_axis(cx, &format!("{name}_quantization_axis"))?;
        let shape = cx.input(index).clone();
        operands.push(with_parameters(cx, &shape, axis, &[2 + 2 * index, 3 + 2 * index])?);
        axes.push(axis);
    }
    let shape = cx.broadcast(&operands[0], &operands[1]).map_err(|error| error.operand(1))?;
    let to = quantized_axis(cx, "output_quantization_axis")?;
    for ((operand, axis), name) in operands.iter().zip(axes).zip(["lhs", "rhs"]) {
        if let (Some(axis), Some(to), Some(rank), Some(wide)) = (axis, to, operand.rank(), shape.rank())
            && axis + wide != to + rank
        {
            bail!(
                "the quantized axis of {name} must be the axis of the output, got axis {axis} of {operand} and axis {to} of {shape}"
            );
        }
    }
    let shape = with_parameters(cx, &shape, to, &[6, 7])?;
    cx.set_output(0, shape);
    Ok(())
}

/// `operand[..], min, max, scales, zero_points -> [..]`. `min` and `max` have the shape of the scales.
///
/// # Errors
/// Same as [`uniform_quantize`].
pub fn uniform_quantized_clip(cx: &mut InferenceContext<'_>) -> Result<()> {
    let axis = quantized_axis(cx, "quantization_axis")?;
    let shape = cx.input(0).clone();
    let shape = with_parameters(cx, &shape, axis, &[1, 2, 3, 4])?;
    cx.set_output(0, shape);
    Ok(())
}

/// Sets the output to the product of two matrices, and returns its shape.
fn product(cx: &mut InferenceContext<'_>) -> Result<TensorShape> {
    let ([rows, inner], [also_inner, columns]) = (cx.axes::<2>(0)?, cx.axes::<2>(1)?);
    cx.agree("the columns of lhs and the rows of rhs", &inner, &also_inner)
        .map_err(|error| error.operand(1))?;
    Ok(TensorShape::new([rows, columns]))
}

/// Reads an attribute for a quantized axis that must be `channels` or -1.
///
/// # Errors
/// The attribute has another value.
fn axis_of_channels(cx: &InferenceContext<'_>, attr: &str, channels: Option<usize>) -> Result<Option<usize>> {
    let axis = quantized_axis(cx, attr)?;
    match (axis, channels) {
        (Some(axis), Some(channels)) if axis != channels => {
            bail!("{attr} must be -1 or the axis {channels} of the output channels, got {axis}")
        }
        (Some(axis), None) => bail!("{attr} must be -1, got {axis}"),
        _ => Ok(axis),
    }
}

/// Requires the scales and zero points of a product or a convolution, whose operands 0 and 1 have the output channels
/// at axis `of_rhs`, and whose output has them at axis `of_output`. Returns the shape of the output.
pub(super) fn with_product_parameters(
    cx: &mut InferenceContext<'_>,
    shape: &TensorShape,
    of_rhs: usize,
    of_output: usize,
    is_hybrid: bool,
) -> Result<TensorShape> {
    let rhs = cx.input(1).clone();
    let rhs_axis = axis_of_channels(cx, "rhs_quantization_axis", Some(of_rhs))?;
    if is_hybrid {
        with_parameters(cx, &rhs, rhs_axis, &[2, 3])?;
        return Ok(shape.clone());
    }
    axis_of_channels(cx, "lhs_quantization_axis", None)?;
    let output_axis = axis_of_channels(cx, "output_quantization_axis", Some(of_output))?;
    if rhs_axis.is_none() && output_axis.is_some() {
        bail!("output_quantization_axis must be -1 if rhs_quantization_axis is -1, got {of_output}");
    }
    let lhs = cx.input(0).clone();
    with_parameters(cx, &lhs, None, &[2, 3])?;
    with_parameters(cx, &rhs, rhs_axis, &[4, 5])?;
    with_parameters(cx, shape, output_axis, &[6, 7])
}

/// `lhs[m, k], rhs[k, n]`, and scales and zero points of `lhs`, `rhs` and the output `-> [m, n]`. `rhs` and the output
/// may have one scale and one zero point per column.
///
/// # Errors
/// An operand is not a matrix, the matrices provably do not fit, `lhs` has a quantized axis, that of `rhs` or of the
/// output is neither 1 nor -1, or the output has one and `rhs` has none. Else as [`uniform_quantize`].
pub fn uniform_quantized_dot(cx: &mut InferenceContext<'_>) -> Result<()> {
    let shape = product(cx)?;
    let shape = with_product_parameters(cx, &shape, 1, 1, false)?;
    cx.set_output(0, shape);
    Ok(())
}

/// `lhs[m, k], rhs[k, n]`, and scales and zero points of `rhs` `-> [m, n]`.
///
/// # Errors
/// Same as [`uniform_quantized_dot`].
pub fn uniform_quantized_dot_hybrid(cx: &mut InferenceContext<'_>) -> Result<()> {
    let shape = product(cx)?;
    let shape = with_product_parameters(cx, &shape, 1, 1, true)?;
    cx.set_output(0, shape);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::shape_table;

    shape_table! { quantized: uniform_quantize, ["input", "scales", "zero_points"];
        {} "[n, ?]; []; []" => "[n, d0_1]";
        {quantization_axis: 1} "[n, ?]; [3]; [?]" => "[n, 3]";
        {quantization_axis: 1} "?; [3]; [3]" => "?";
        {quantization_axis: 0} "[n, 3]; [3]; [4]" => "error the number of scales or zero points and the size of the quantized axis must agree, got 4 and 3";
        {quantization_axis: 2} "[n, 3]; [3]; [3]" => "error a quantized axis must be less than the rank, got axis 2 of [n, 3]";
        {quantization_axis: -2} "[n, 3]; [3]; [3]" => "error quantization_axis must be at least -1, got -2";
        {} "[n]; [1]; []" => "error scales must have rank 0";
    }
    shape_table! { requantized: uniform_requantize, ["input", "input_scales", "input_zero_points", "output_scales", "output_zero_points"];
        {output_quantization_axis: 0} "[?, 4]; []; []; [2]; [2]" => "[2, 4]";
        {input_quantization_axis: 1, output_quantization_axis: 1} "[n, ?]; [4]; [4]; [m]; [m]" => "[n, 4]";
        {input_quantization_axis: 0, output_quantization_axis: 1} "[n, 4]; [n]; [n]; [4]; [4]" => "error the quantized axes of input and output must be equal, got 0 and 1";
    }
    shape_table! { sums: uniform_quantized_add, ["lhs", "rhs", "lhs_scales", "lhs_zero_points", "rhs_scales", "rhs_zero_points", "output_scales", "output_zero_points"];
        {} "[n, 4]; [4]; []; []; []; []; []; []" => "[n, 4]";
        {lhs_quantization_axis: 1, rhs_quantization_axis: 0, output_quantization_axis: 1} "[n, ?]; [4]; [m]; [m]; [4]; [4]; [4]; [4]" => "[n, 4]";
        {rhs_quantization_axis: 0, output_quantization_axis: 0} "[n, 4]; [4]; []; []; [4]; [4]; [n]; [n]" => "error the quantized axis of rhs must be the axis of the output, got axis 0 of [4] and axis 0 of [n, 4]";
    }
    shape_table! { clipped: uniform_quantized_clip, ["operand", "min", "max", "scales", "zero_points"];
        {quantization_axis: 1} "[n, ?]; [4]; [?]; [?]; [4]" => "[n, 4]";
        {} "[n]; [1]; []; []; []" => "error min must have rank 0";
    }
    shape_table! { products: uniform_quantized_dot, ["lhs", "rhs", "lhs_scales", "lhs_zero_points", "rhs_scales", "rhs_zero_points", "output_scales", "output_zero_points"];
        {} "[m, 3]; [?, n]; []; []; []; []; []; []" => "[m, n]";
        {rhs_quantization_axis: 1, output_quantization_axis: 1} "[m, 3]; [3, ?]; []; []; [4]; [4]; [?]; [?]" => "[m, 4]";
        {output_quantization_axis: 1} "[m, 3]; [3, 4]; []; []; []; []; [4]; [4]" => "error output_quantization_axis must be -1 if rhs_quantization_axis is -1, got 1";
        {rhs_quantization_axis: 0} "[m, 3]; [3, 4]; []; []; [3]; [3]; []; []" => "error rhs_quantization_axis must be -1 or the axis 1 of the output channels, got 0";
        {lhs_quantization_axis: 0} "[m, 3]; [3, 4]; [m]; [m]; []; []; []; []" => "error lhs_quantization_axis must be -1, got 0";
        {} "[m, 3]; [4, n]; []; []; []; []; []; []" => "error the columns of lhs and the rows of rhs must agree, got 3 and 4";
    }
    shape_table! { hybrid_products: uniform_quantized_dot_hybrid, ["lhs", "rhs", "rhs_scales", "rhs_zero_points"];
        {rhs_quantization_axis: 1} "[m, 3]; [3, 4]; [4]; [4]" => "[m, 4]";
    }
}
