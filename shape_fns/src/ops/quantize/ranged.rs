//! Ops on quantized tensors. Each tensor comes with two scalars: the minimum and the maximum of its range.

use crate::{InferenceContext, Result, TensorShape, array, image, linalg, nn};

/// Requires the operands from `first` on to be scalars, and sets all outputs after the first to scalars. These scalars
/// are the ends of ranges.
fn with_range(cx: &mut InferenceContext<'_>, first: usize) -> Result<()> {
    for index in first..cx.len() {
        cx.scalar(index)?;
    }
    for output in 1..cx.outputs() {
        cx.set_output(output, TensorShape::scalar());
    }
    Ok(())
}

/// `x[..], y[..], min_x[], max_x[], min_y[], max_y[] -> [..], min[], max[]`. `x` and `y` broadcast.
///
/// # Errors
/// `x` and `y` provably do not broadcast, or a minimum or a maximum of a range is not a scalar.
pub fn quantized_binary(cx: &mut InferenceContext<'_>) -> Result<()> {
    with_range(cx, 2)?;
    let (x, y) = (cx.input(0).clone(), cx.input(1).clone());
    let shape = cx.broadcast(&x, &y).map_err(|error| error.operand(1))?;
    cx.set_output(0, shape);
    Ok(())
}

/// Keeps the shape of the first operand. All other operands are scalars.
///
/// # Errors
/// Another operand is not a scalar.
pub fn quantized_unary(cx: &mut InferenceContext<'_>) -> Result<()> {
    with_range(cx, 1)?;
    let shape = cx.input(0).clone();
    cx.set_output(0, shape);
    Ok(())
}

/// Like [`quantized_unary`], for an operand of rank 4.
///
/// # Errors
/// Same as [`quantized_unary`], or the rank is not 4.
pub fn quantized_norm(cx: &mut InferenceContext<'_>) -> Result<()> {
    cx.with_rank(0, 4)?;
    quantized_unary(cx)
}

/// Like [`array::concat`], with the ranges of all values.
///
/// # Errors
/// Same as [`array::concat`], or a minimum or a maximum of a range is not a scalar.
pub fn quantized_concat(cx: &mut InferenceContext<'_>) -> Result<()> {
    let first = cx.operands_named("values").end;
    with_range(cx, first)?;
    array::concat(cx)
}

/// Like [`array::reshape`], with the range of the operand.
///
/// # Errors
/// Same as [`array::reshape`], or a minimum or a maximum of a range is not a scalar.
pub fn quantized_reshape(cx: &mut InferenceContext<'_>) -> Result<()> {
    with_range(cx, 2)?;
    array::reshape(cx)
}

/// Like [`linalg::matmul_2d`], with the ranges of both operands.
///
/// # Errors
/// Same as [`linalg::matmul_2d`], or a minimum or a maximum of a range is not a scalar.
pub fn quantized_matmul(cx: &mut InferenceContext<'_>) -> Result<()> {
    with_range(cx, 2)?;
    linalg::matmul_2d(cx)
}

/// Like [`nn::conv_2d`], with the ranges of both operands.
///
/// # Errors
/// Same as [`nn::conv_2d`], or a minimum or a maximum of a range is not a scalar.
pub fn quantized_conv_2d(cx: &mut InferenceContext<'_>) -> Result<()> {
    with_range(cx, 2)?;
    nn::conv_2d(cx)
}

/// Like [`nn::bias_add`], with the ranges of both operands.
///
/// # Errors
/// Same as [`nn::bias_add`], or a minimum or a maximum of a range is not a scalar.
pub fn quantized_bias_add(cx: &mut InferenceContext<'_>) -> Result<()> {
    with_range(cx, 2)?;
    nn::bias_add(cx)
}

/// Like [`nn::avg_pool`], with the range of the operand.
///
/// # Errors
/// Same as [`nn::avg_pool`], or a minimum or a maximum of a range is not a scalar.
pub fn quantized_avg_pool(cx: &mut InferenceContext<'_>) -> Result<()> {
    nn::avg_pool(cx)?;
    with_range(cx, 1)
}

/// Like [`nn::max_pool`], with the range of the operand.
///
/// # Errors
/// Same as [`nn::max_pool`], or a minimum or a maximum of a range is not a scalar.
pub fn quantized_max_pool(cx: &mut InferenceContext<'_>) -> Result<()> {
    nn::max_pool(cx)?;
    with_range(cx, 1)
}

/// Like [`image::resize`], with the range of the operand.
///
/// # Errors
/// Same as [`image::resize`], or a minimum or a maximum of a range is not a scalar.
pub fn quantized_resize(cx: &mut InferenceContext<'_>) -> Result<()> {
    image::resize(cx)?;
    with_range(cx, 2)
}

#[cfg(test)]
mod tests {
    use super::{
        quantized_binary, quantized_concat, quantized_matmul, quantized_max_pool, quantized_norm,
        quantized_reshape, quantized_unary,
    };
    use crate::testing::shape_table;

    shape_table! { binary: quantized_binary, ["x", "y", "min_x", "max_x", "min_y", "max_y"];
        {} "[n, 3]; [3]; []; []; ?; ?" => "[n, 3]; []; []";
        {} "[n, 3]; [3]; []; [2]; ?; ?" => "error(3 outputs) max_x must have rank 0";
        {} "[2]; [3]; []; []; ?; ?" => "error(3 outputs) dimensions must be equal or 1 to broadcast";
    }
    shape_table! { unary: quantized_unary, ["x", "x_min", "x_max"];
        {} "[n, ?]; []; []" => "[n, d0_1]; []; []";
    }
    shape_table! { norm: quantized_norm, ["x", "x_min", "x_max"];
        {} "[n]; []; []" => "error(3 outputs) x must have rank 4";
    }
    shape_table! { concats: quantized_concat, ["axis", "values..", "input_mins..", "input_maxes.."];
        {} "[] = 0; [a, 3]; [b, ?]; []; []; []; []" => "[a+b, 3]; []; []";
        {} "[] = 0; [a, 3]; [b, ?]; []; [1]; []; []" => "error(3 outputs) operand 4 must have rank 0";
    }
    shape_table! { reshaped: quantized_reshape, ["x", "shape", "input_min", "input_max"];
        {} "[n, 4]; [2] = [2, -1]; []; []" => "[2, 2*n]; []; []";
    }
    shape_table! { matmuls: quantized_matmul, ["a", "b", "min_a", "max_a", "min_b", "max_b"];
        {transpose_b: true} "[n, 4]; [3, 4]; []; []; []; []" => "[n, 3]; []; []";
    }
    shape_table! { pooled: quantized_max_pool, ["input", "min_input", "max_input"];
        {ksize: [1, 2, 2, 1], strides: [1, 2, 2, 1], padding: "SAME"} "[n, 4, 5, c]; []; []" => "[n, 2, 3, c]; []; []";
    }
}
