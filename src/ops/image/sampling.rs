//! `Sampling`: the rule that maps a pixel of the resized image to a point of the image.

use shapeflow_shape_fns::{Attr, Attrs, DType, Dim, Guard, InferenceContext, ShapeError};

use crate::expr::{Expr, Index, LowerCx};
use crate::shape_fns;

/// The rule that maps a pixel of the resized image to the point of the image that the pixel shows.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Sampling {
    /// Pixel centers are at `i + 0.5`, so that both images cover the same area. As TensorFlow's `half_pixel_centers`.
    #[default]
    HalfPixel,
    /// The first and the last pixels of both images are at the same points. As TensorFlow's `align_corners`.
    AlignCorners,
    /// Pixel `i` shows the point `i * size / resized`. TensorFlow's default without either attribute.
    Legacy,
}

impl Sampling {
    /// Returns the attributes `align_corners` and `half_pixel_centers`.
    pub(super) fn attrs(self) -> [(&'static str, Attr); 2] {
        [
            ("align_corners", Attr::Bool(self == Sampling::AlignCorners)),
            ("half_pixel_centers", Attr::Bool(self == Sampling::HalfPixel)),
        ]
    }

    pub(super) fn of(attrs: &Attrs) -> Sampling {
        match (attrs.bool("half_pixel_centers"), attrs.bool("align_corners")) {
            (true, _) => Sampling::HalfPixel,
            (false, true) => Sampling::AlignCorners,
            (false, false) => Sampling::Legacy,
        }
    }

    /// Returns the distance between the points of neighboring pixels, an f32.
    pub(super) fn scale(self, size: &Dim, resized: &Dim) -> Expr {
        let (size, resized) = (Expr::size(size.clone()), Expr::size(resized.clone()));
        let quotient = |a: Expr, b: Expr| a.cast(DType::F32) / b.cast(DType::F32);
        let plain = quotient(size.clone(), resized.clone());
        if self != Sampling::AlignCorners {
            return plain;
        }
        let one = Expr::constant(1i64);
        let aligned = quotient(size - &one, resized.clone() - &one);
        one.less(resized).select(aligned, plain)
    }
}

/// The shape function of the resizing ops. As TensorFlow's kernels, it refuses a height, a width and a number of
/// channels of 0, and attributes that ask for both pixel centers and corners.
pub(super) fn resize_shape(cx: &mut InferenceContext<'_>) -> shapeflow_shape_fns::Result<()> {
    if cx.bool_or("half_pixel_centers", false)? && cx.bool_or("align_corners", false)? {
        return Err(ShapeError::new("align_corners must be false if half_pixel_centers is true"));
    }
    let [_, height, width, channels] = cx.axes::<4>(0)?;
    require_images_with(cx, &[height, width, channels], "pixels and channels")?;
    shape_fns::image::resize(cx)?;
    require_pixels(cx, "size")
}

/// Requires that dimensions of the images, operand 0, are positive.
pub(super) fn require_images_with(
    cx: &mut InferenceContext<'_>,
    dims: &[Dim],
    what: &str,
) -> shapeflow_shape_fns::Result<()> {
    for dim in dims {
        if dim.as_known() == Some(0) {
            let images = cx.input(0).clone();
            return Err(cx.blame(0, format_args!("must have {what}, got {images}")));
        }
        cx.require(Guard::Ge(dim.clone(), Dim::known(1)))?;
    }
    Ok(())
}

/// Requires that the height and the width of output 0 are positive. They are the elements of parameter `name`.
pub(super) fn require_pixels(cx: &mut InferenceContext<'_>, name: &str) -> shapeflow_shape_fns::Result<()> {
    for axis in [1, 2] {
        let Some(dim) = cx.output(0).dims().and_then(|dims| dims.get(axis)).cloned() else { continue };
        if dim.as_known() == Some(0) {
            return Err(cx.blame_param(name, "must be positive, got 0"));
        }
        cx.require(Guard::Ge(dim, Dim::known(1)))?;
    }
    Ok(())
}

/// Returns the index of a pixel along an axis of `limit` pixels. `position` is an f32 with the value of an integer; it
/// is clamped to the axis.
pub(super) fn pixel(cx: &mut dyn LowerCx, position: Expr, limit: &Dim, axis: usize) -> Index {
    let last = Expr::size(limit.clone()) - Expr::constant(1i64);
    let position = position.cast(DType::I64).minimum(last).maximum(Expr::constant(0i64));
    cx.checked_index(position, limit.clone(), axis)
}
