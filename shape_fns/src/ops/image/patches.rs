//! `extract_image_patches(images)`: extracts every window position as a vector.

use crate::error::bail;
use crate::nn::window::{Window, padding};
use crate::{Dim, InferenceContext, Result, TensorShape, counted};

/// Reads a list attribute with one entry per axis. Each entry must be at least 1.
fn entries(cx: &InferenceContext<'_>, name: &str, rank: usize) -> Result<Vec<i64>> {
    let entries = cx.ints(name)?;
    if entries.len() != rank {
        bail!("{name} must have {rank}, got {}", entries.len(), rank = counted(rank, "entry"));
    }
    if let Some(entry) = entries.iter().find(|entry| **entry < 1) {
        bail!("{name} must be at least 1, got {entry}");
    }
    Ok(entries.to_vec())
}

/// Sets the output of `extract_image_patches` or `extract_volume_patches`. `rates` are the dilations.
fn extract(cx: &mut InferenceContext<'_>, rank: usize, rates: Vec<i64>) -> Result<()> {
    let (sizes, strides) = (entries(cx, "ksizes", rank)?, entries(cx, "strides", rank)?);
    let images = cx.with_rank(0, rank)?;
    let mut dims: Vec<Dim> = images.dims().unwrap_or_default().to_vec();
    let (mut elements, mut paddings_before) = (Dim::known(1), Vec::new());
    for axis in 1..rank - 1 {
        let (size, stride) = (Dim::known(sizes[axis]), Dim::known(strides[axis]));
        elements = cx.mul(&elements, &size)?;
        let window =
            Window { axis, size: &size, stride: &stride, dilation: rates[axis], padding: padding(cx)? };
        let positions = window.position_count_or_zero(cx, &dims[axis])?;
        paddings_before.push(window.padding_before(cx, &dims[axis], &positions)?);
        dims[axis] = positions;
    }
    cx.set_derived("before", paddings_before);
    dims[rank - 1] = cx.mul(&dims[rank - 1], &elements)?;
    cx.set_output(0, TensorShape::from(dims));
    Ok(())
}

/// `[n, h, w, c], ksizes=[1, kh, kw, 1] -> [n, oh, ow, kh*kw*c]`, with attributes `strides`, `rates` (dilations) and
/// `padding`.
///
/// A window that exceeds the image by less than two strides yields 0 positions, as in TensorFlow's kernel. Sets the
/// derived parameter `before`: the number of padding zeros before the first element of each spatial axis.
///
/// # Errors
/// The rank is not 4, a list does not have 4 entries of at least 1, or the window provably exceeds the image by two
/// strides or more.
pub fn extract_image_patches(cx: &mut InferenceContext<'_>) -> Result<()> {
    let rates = entries(cx, "rates", 4)?;
    extract(cx, 4, rates)
}

/// Like [`extract_image_patches`] for volumes, without `rates`: `[n, d, h, w, c] -> [n, od, oh, ow, kd*kh*kw*c]`.
///
/// # Errors
/// Same as [`extract_image_patches`], for rank 5.
pub fn extract_volume_patches(cx: &mut InferenceContext<'_>) -> Result<()> {
    extract(cx, 5, vec![1; 5])
}

#[cfg(test)]
mod tests {
    use super::{extract_image_patches, extract_volume_patches};
    use crate::testing::shape_table;

    shape_table! { images: extract_image_patches, ["images"];
        {ksizes: [1, 2, 2, 1], strides: [1, 1, 1, 1], rates: [1, 2, 2, 1], padding: "VALID"} "[n, 7, 7, c]" => "[n, 5, 5, 4*c]";
        {ksizes: [1, 3, 2, 1], strides: [1, 1, 2, 1], rates: [1, 1, 1, 1], padding: "VALID"} "[n, ?, ?, 2]" => "[n, d0_1-2, floordiv(d0_2, 2), 12] if d0_1-1 >= 1";
        {ksizes: [1, 3, 2, 1], strides: [1, 1, 2, 1], rates: [1, 1, 1, 1], padding: "SAME"} "[n, h, ?, 2]" => "[n, h, ceildiv(d0_2, 2), 12]";
        {ksizes: [1, 3, 3, 1], strides: [1, 1, 3, 1], rates: [1, 1, 1, 1], padding: "VALID"} "[n, 2, 1, 2]" => "[n, 0, 0, 18]";
        {ksizes: [1, 3, 3, 1], strides: [1, 1, 1, 1], rates: [1, 1, 1, 1], padding: "VALID"} "[n, 1, 3, 2]" => "error a window must exceed the input by less than two strides, got a window of 3 for 1 at axis 1";
        {ksizes: [1, 3, 3], strides: [1, 1, 1, 1], rates: [1, 1, 1, 1], padding: "VALID"} "[n, 1, 3, 2]" => "error ksizes must have 4 entries, got 3";
    }
    shape_table! { volumes: extract_volume_patches, ["input"];
        {ksizes: [1, 2, 2, 2, 1], strides: [1, 1, 1, 1, 1], padding: "VALID"} "[n, 9, 9, 9, 4]" => "[n, 8, 8, 8, 32]";
    }
}
