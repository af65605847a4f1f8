//! `resize(images, size)`: resizes images to another height and width.

use crate::common::require_last_dim;
use crate::{Dim, InferenceContext, List, Result, TensorShape, counted};

/// Returns the height and width that a parameter of two elements holds, or fresh dimensions if the parameter is
/// unknown.
///
/// # Errors
/// The parameter is not a vector, it provably has another length than 2, or an element is negative.
pub(super) fn height_and_width(cx: &mut InferenceContext<'_>, name: &str) -> Result<[Dim; 2]> {
    let list = cx.param_vector(name)?;
    if let Some(count) = list.known_len().filter(|count| *count != 2) {
        return Err(cx.blame_param(
            name,
            format_args!("must hold a height and a width, got {count}", count = counted(count, "element")),
        ));
    }
    if let List::Elements(sizes) = list
        && let [height, width] = sizes.as_slice()
    {
        cx.require_not_negative(name, height)?;
        cx.require_not_negative(name, width)?;
        return Ok([height.clone(), width.clone()]);
    }
    Ok([cx.fresh(), cx.fresh()])
}

/// `images[n, h, w, c], size=[height, width] -> [n, height, width, c]`.
///
/// # Errors
/// The rank of `images` is not 4, or `size` does not hold two sizes.
pub fn resize(cx: &mut InferenceContext<'_>) -> Result<()> {
    let [batch, _, _, channels] = cx.axes::<4>(0)?;
    let [height, width] = height_and_width(cx, "size")?;
    cx.set_output(0, TensorShape::new([batch, height, width, channels]));
    Ok(())
}

/// Like [`resize`], with the sizes in `output_shape` and projections `transforms[m, 8]`.
///
/// # Errors
/// Same as [`resize`], or `transforms` has the wrong shape.
pub fn transform(cx: &mut InferenceContext<'_>) -> Result<()> {
    let [batch, _, _, channels] = cx.axes::<4>(0)?;
    let [_, coefficients] = cx.axes::<2>(1)?;
    require_last_dim(cx, 1, &coefficients, 8)?;
    let [height, width] = height_and_width(cx, "output_shape")?;
    cx.set_output(0, TensorShape::new([batch, height, width, channels]));
    Ok(())
}

/// The gradient of the images. Outputs the shape of the second operand, the original images.
///
/// # Errors
/// An operand does not have 4 axes.
pub fn image_like_second(cx: &mut InferenceContext<'_>) -> Result<()> {
    cx.with_rank(0, 4)?;
    let original = cx.with_rank(1, 4)?;
    cx.set_output(0, original);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{image_like_second, resize, transform};
    use crate::testing::shape_table;

    shape_table! { sizes: resize, ["images", "size"];
        {size: [7, 9]} "[n, 4, 4, ?]" => "[n, 7, 9, d0_3]";
        {} "[n, 4, 4, c]; [2] = [k, ?]" => "[n, k, v1_1, c] if v1_1 >= 0";
        {} "[n, 4, 4, c]; i32 [2]" => "[n, ?, ?, c]";
        {} "?; i32 [?]" => "[?, ?, ?, ?]";
        {} "[n, 4, c]; i32 [2]" => "error images must have rank 4, got rank 3 in [n, 4, c]";
        {} "[n, 4, 4, c]; i32 [3]" => "error size must hold a height and a width, got 3 elements";
        {size: [-1, 9]} "[n, 4, 4, ?]" => "error size must not be negative, got -1";
        {} "?; i32 []" => "error size must be a vector, got rank 0";
    }
    shape_table! { projections: transform, ["images", "transforms", "output_shape"];
        {} "[n, 4, 4, c]; [n, ?]; [2] = [3, 5]" => "[n, 3, 5, c]";
        {} "[n, 4, 4, c]; [n, 6]; [2] = [3, 5]" => "error transforms must have size 8 at the last axis, got 6 in [n, 6]";
    }
    shape_table! { gradients: image_like_second, ["grads", "original_image"];
        {} "?; [n, 5, ?, 3]" => "[n, 5, d1_2, 3]";
        {} "?; [n, 5]" => "error original_image must have rank 4";
    }
}
