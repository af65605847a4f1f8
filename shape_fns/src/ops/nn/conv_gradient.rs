//! Gradients of convolutions. A gradient has the shape of the input or of the filter.

use crate::{Dim, InferenceContext, List, Result, TensorShape, counted};

/// Returns the shape of rank `rank` that the elements of a parameter give.
///
/// # Errors
/// The parameter provably has another length than `rank`, or an element is negative.
pub(crate) fn shape_param(cx: &mut InferenceContext<'_>, name: &str, rank: usize) -> Result<TensorShape> {
    let count = match cx.param_vector(name)? {
        List::Absent => None,
        list => list.known_len(),
    };
    if let Some(count) = count.filter(|count| *count != rank) {
        return Err(cx.blame_param(
            name,
            format_args!("must have {rank}, got {count}", rank = counted(rank, "entry")),
        ));
    }
    let shape = cx.input_as_shape(name)?;
    Ok(if shape.rank().is_some() { shape } else { cx.unknown_shape_of_rank(rank) })
}

/// The gradient of the input: `input_sizes, filter[kh, kw, c, m], out_backprop[n, oh, ow, m] -> [n, h, w, c]`.
///
/// `input_sizes` holds all 4 sizes, or only `h` and `w`. With only `h` and `w`, the batch and the channels come from
/// the other operands.
///
/// # Errors
/// An operand has the wrong rank, `input_sizes` has the wrong length, or the batch sizes or the numbers of filters
/// provably differ.
pub fn input_2d(cx: &mut InferenceContext<'_>) -> Result<()> {
    let channels_first = cx.str_or("data_format", "NHWC")?.starts_with("NC");
    let [_, _, _, filters] = cx.axes::<4>(1)?;
    let gradient = cx.axes::<4>(2)?;
    let outputs = if channels_first { &gradient[1] } else { &gradient[3] };
    cx.agree("the numbers of channels of the gradient and of filters", outputs, &filters)?;
    depthwise_input_2d(cx)
}

/// Like [`input_2d`], for a depthwise convolution: the output's gradient has `c*m` channels.
///
/// # Errors
/// An operand has the wrong rank, `input_sizes` has the wrong length, or the batch sizes provably differ.
pub fn depthwise_input_2d(cx: &mut InferenceContext<'_>) -> Result<()> {
    let channels_first = cx.str_or("data_format", "NHWC")?.starts_with("NC");
    let [_, _, channels, _] = cx.axes::<4>(1)?;
    let [batch, ..] = cx.axes::<4>(2)?;
    let output = match cx.param_vector("input_sizes")?.known_len() {
        Some(2) => {
            let spatial = shape_param(cx, "input_sizes", 2)?;
            let (before, after) =
                if channels_first { (vec![batch, channels], vec![]) } else { (vec![batch], vec![channels]) };
            TensorShape::from(before).concatenate(&spatial).concatenate(&TensorShape::from(after))
        }
        Some(count) if count != 4 => {
            return Err(cx.blame_param("input_sizes", format_args!("must have 2 or 4 entries, got {count}")));
        }
        _ => {
            let sizes = shape_param(cx, "input_sizes", 4)?;
            let mut dims = sizes.dims().unwrap_or_default().to_vec();
            if let Some(input_batch) = dims.first_mut() {
                *input_batch = cx.agree("the batch sizes of input and gradient", &batch, input_batch)?;
            }
            TensorShape::from(dims)
        }
    };
    cx.set_output(0, output);
    Ok(())
}

/// The gradient of the filter: `input[n, h, w, c], filter_sizes, out_backprop[n, oh, ow, m] -> filter_sizes`, with 4
/// sizes.
///
/// # Errors
/// An operand has the wrong rank, or `filter_sizes` has the wrong length.
pub fn filter_2d(cx: &mut InferenceContext<'_>) -> Result<()> {
    cx.with_rank(0, 4)?;
    cx.with_rank(2, 4)?;
    let output = shape_param(cx, "filter_sizes", 4)?;
    cx.set_output(0, output);
    Ok(())
}

/// The gradient of the input, with the shape of the first operand, `input[n, d, h, w, c]`.
///
/// # Errors
/// The rank is not 5.
pub fn input_3d(cx: &mut InferenceContext<'_>) -> Result<()> {
    let output = cx.with_rank(0, 5)?;
    cx.set_output(0, output);
    Ok(())
}

/// The gradient of the filter, with the shape of the second operand, `filter[kd, kh, kw, c, m]`.
///
/// # Errors
/// The rank is not 5.
pub fn filter_3d(cx: &mut InferenceContext<'_>) -> Result<()> {
    let output = cx.with_rank(1, 5)?;
    cx.set_output(0, output);
    Ok(())
}

/// The gradient of the input, with the 5 sizes `input_sizes`. The batch size is unified with the batch size of
/// `out_backprop`.
///
/// # Errors
/// An operand has the wrong rank, `input_sizes` has the wrong length, or the batch sizes provably differ.
pub fn sized_input_3d(cx: &mut InferenceContext<'_>) -> Result<()> {
    cx.with_rank(1, 5)?;
    let [batch, ..] = cx.axes::<5>(2)?;
    let sizes = shape_param(cx, "input_sizes", 5)?;
    let mut dims: Vec<Dim> = sizes.dims().unwrap_or_default().to_vec();
    if let Some(input_batch) = dims.first_mut() {
        *input_batch = cx.agree("the batch sizes of input and gradient", &batch, input_batch)?;
    }
    cx.set_output(0, TensorShape::from(dims));
    Ok(())
}

/// The gradient of the filter, with the 5 sizes `filter_sizes`.
///
/// # Errors
/// An operand has the wrong rank, or `filter_sizes` has the wrong length.
pub fn sized_filter_3d(cx: &mut InferenceContext<'_>) -> Result<()> {
    cx.with_rank(0, 5)?;
    cx.with_rank(2, 5)?;
    let output = shape_param(cx, "filter_sizes", 5)?;
    cx.set_output(0, output);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{filter_2d, input_2d, input_3d, sized_filter_3d, sized_input_3d};
    use crate::testing::shape_table;

    shape_table! { inputs: input_2d, ["input_sizes", "filter", "out_backprop"];
        {} "[4] = [n, 8, 8, 3]; [3, 3, ?, ?]; [?, 8, 8, ?]" => "[n, 8, 8, 3]";
        {} "[2] = [8, w]; [3, 3, ?, m]; [?, 8, 8, ?]" => "[d2_0, 8, w, d1_2]";
        {data_format: "NCHW"} "i32 [2]; [3, 3, c, m]; [n, 8, 8, ?]" => "[n, c, ?, ?]";
        {} "i32 [4]; [3, 3, c, m]; [n, 8, 8, ?]" => "[n, ?, ?, ?]";
        {} "i32 [?]; ?; ?" => "[?, ?, ?, ?]";
        {} "i32 [4]; [3, 3, 2, 5]; [n, 8, 8, 6]" => "error the numbers of channels of the gradient and of filters must agree, got 6 and 5";
        {} "i32 [3]; ?; ?" => "error input_sizes must have 2 or 4 entries, got 3";
        {} "[4] = [2, 8, 8, 3]; ?; [3, 8, 8, 3]" => "error the batch sizes of input and gradient must agree, got 3 and 2";
    }
    shape_table! { filters: filter_2d, ["input", "filter_sizes", "out_backprop"];
        {} "?; [4] = [3, 3, c, 8]; ?" => "[3, 3, c, 8]";
        {} "[n, 4]; i32 [4]; ?" => "error input must have rank 4";
    }
    shape_table! { volumes: input_3d, ["input", "filter", "out_backprop"];
        {} "[?, 2, 3, 4, c]; ?; ?" => "[d0_0, 2, 3, 4, c]";
        {} "[2, 3]; ?; ?" => "error input must have rank 5";
    }
    shape_table! { volumes_by_size: sized_input_3d, ["input_sizes", "filter", "out_backprop"];
        {} "[5] = [?, 2, 2, 2, 4]; ?; [n, 2, 2, 2, ?]" => "[n, 2, 2, 2, 4]";
    }
    shape_table! { filters_by_size: sized_filter_3d, ["input", "filter_sizes", "out_backprop"];
        {} "?; i32 [5]; ?" => "[?, ?, ?, ?, ?]";
        {} "?; i32 [4]; ?" => "error filter_sizes must have 5 entries, got 4";
    }
}
