//! `crop_and_resize`: boxes of images, resized to one size.

use std::panic::Location;

use shapeflow_shape_fns::{Attribute, Attrs, DType, Dim, InferenceContext, ShapeError};

use super::sampling::{pixel, require_images_with, require_pixels};
use crate::dtype;
use crate::error::Result;
use crate::expr::{Expr, Index, LowerCx, UnaryOp};
use crate::graph::{IntoOperand, IntoParam, Value};
use crate::op::{OpDef, Operand, TfOp};
use crate::ops::rounding::round_half_away;
use crate::shape_fns;

impl<'g> Value<'g> {
    /// Crops boxes from images and resizes the crops to `size`, by linear interpolation. Box `i` is `[y1, x1, y2, x2]`
    /// in image `box_images[i]`: 0 is the first row or column of the image, and 1 is the last. Points outside the image
    /// have the value `extrapolation`.
    ///
    /// `[n, h, w, c], boxes f32[k, 4], box_images i32[k] -> f32[k, size[0], size[1], c]`; the images hold integers or
    /// floats. As TensorFlow's `CropAndResize`, whose method `nearest` an imported graph may also use. Fuses into
    /// kernels.
    ///
    /// ```
    /// use shapeflow::{DType, Graph, shape};
    ///
    /// let g = Graph::new();
    /// let images = g.input("images", DType::F32, shape!["n", 64, 64, 3])?;
    /// let boxes = g.input("boxes", DType::F32, shape!["k", 4])?;
    /// let box_images = g.input("box_images", DType::I32, shape!["k"])?;
    /// let crops = images.crop_and_resize(boxes, box_images, [16, 16], 0.0)?;
    /// assert_eq!(crops.shape().to_string(), "[k, 16, 16, 3]");
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// A dtype is not supported, a rank is wrong, the numbers of boxes differ, or the images or the crops have no
    /// pixels. The run fails if the number of an image is out of range, or if an edge of a box is not finite. In the
    /// second case, the error gives -2147483648 as the number of the image.
    #[track_caller]
    pub fn crop_and_resize(
        self,
        boxes: impl IntoOperand<'g>,
        box_images: impl IntoOperand<'g>,
        size: impl IntoParam<'g>,
        extrapolation: f64,
    ) -> Result<Value<'g>> {
        let location = Location::caller();
        let (boxes, box_images) =
            (boxes.into_operand(self, location), box_images.into_own_operand(self.graph(), location));
        let call = self.graph().op(&DEF).data(self).data(boxes).data(box_images).size("crop_size", size);
        call.attr("extrapolation_value", extrapolation).finish_at(location)
    }
}

pub(crate) static DEF: OpDef = OpDef::compute("crop_and_resize", lower)
    .attrs(&[Attribute::str_or("method", "bilinear"), Attribute::float_or("extrapolation_value", 0.0)])
    .operands(&[
        Operand::Data("image"),
        Operand::Data("boxes"),
        Operand::Data("box_ind"),
        Operand::Size("crop_size"),
    ])
    .shape_fn(shape)
    .dtype_rule(dtypes)
    .tensorflow(&[TfOp::new("CropAndResize")]);

fn dtypes(dtypes: &[DType], _: &Attrs) -> Result<Vec<DType>> {
    dtype::common(dtypes, 0, 1, dtype::Class::Number)?;
    for (operand, (name, wanted)) in [("boxes", DType::F32), ("box_ind", DType::I32)].into_iter().enumerate()
    {
        if let Some(got) = dtypes.get(operand + 1).filter(|got| **got != wanted) {
            return dtype::refuse(format!("{name} must be {wanted}, got {got}"));
        }
    }
    dtype::check_indices(dtypes, 3)?;
    Ok(vec![DType::F32])
}

/// The number of the image of a box with an edge that is not finite.
const NO_IMAGE: i32 = i32::MIN;

/// TensorFlow refuses an unknown method, crops without pixels and images without pixels.
fn shape(cx: &mut InferenceContext<'_>) -> shapeflow_shape_fns::Result<()> {
    let method = cx.attrs().str("method");
    if !matches!(method, "bilinear" | "nearest") {
        return Err(ShapeError::new(format_args!("method must be bilinear or nearest, got {method:?}")));
    }
    let [_, height, width, _] = cx.axes::<4>(0)?;
    require_images_with(cx, &[height, width], "pixels")?;
    shape_fns::image::crop_and_resize(cx)?;
    require_pixels(cx, "crop_size")
}

/// Returns the coordinate that pixel `index` of the crop shows, along one axis and in pixels of the image. `size` is
/// the size of the image, `resized` is the size of the crop, and `low` and `high` are the ends of the box on this axis.
fn point(index: &Index, size: &Dim, resized: &Dim, [low, high]: [Expr; 2]) -> Expr {
    let last = |dim: &Dim| (Expr::size(dim.clone()) - Expr::constant(1i64)).cast(DType::F32);
    let (last_of_image, last_of_crop) = (last(size), last(resized));
    let pixel = Expr::iota(index.clone()).cast(DType::F32);
    let step = (&high - &low) * &last_of_image / &last_of_crop;
    let spread = &low * &last_of_image + pixel * step;
    // A crop of one pixel shows the middle of the box.
    let middle = low.like(0.5) * (low + high) * last_of_image;
    let zero = last_of_crop.like(0.0);
    zero.less(last_of_crop).select(spread, middle)
}

fn lower(cx: &mut dyn LowerCx, _output: usize, index: &[Index]) -> Expr {
    let (dims, resized) = (cx.dims(0), cx.output_dims(0));
    let [top, left, bottom, right] =
        [0, 1, 2, 3].map(|number| cx.operand(1, &[index[0].clone(), Index::from(number)]));
    let is_finite = |edge: &Expr| edge.clone().abs().less(edge.like(f64::INFINITY));
    let has_finite_edges = is_finite(&top) & is_finite(&left) & is_finite(&bottom) & is_finite(&right);
    let y = point(&index[1], &dims[1], &resized[1], [top, bottom]);
    let x = point(&index[2], &dims[2], &resized[2], [left, right]);
    // A box that is not finite gets an image number out of range, so the run fails.
    let image = has_finite_edges.select(cx.operand(2, &index[..1]), Expr::constant(NO_IMAGE));
    let image = cx.checked_index(image, dims[0].clone(), 0);
    let is_nearest = cx.attrs().str("method") == "nearest";
    let outside = cx.attrs().float("extrapolation_value");
    let is_inside = |position: &Expr, dim: &Dim| {
        let last = (Expr::size(dim.clone()) - Expr::constant(1i64)).cast(DType::F32);
        position.like(0.0).less_equal(position.clone()) & position.clone().less_equal(last)
    };
    let inside = is_inside(&y, &dims[1]) & is_inside(&x, &dims[2]);
    let mut load = |row: Expr, column: Expr| {
        let (row, column) = (pixel(cx, row, &dims[1], 1), pixel(cx, column, &dims[2], 2));
        cx.operand(0, &[image.clone(), row, column, index[3].clone()]).cast(DType::F32)
    };
    let value = if is_nearest {
        load(round_half_away(y), round_half_away(x))
    } else {
        let (above, before) = (y.clone().floor(), x.clone().floor());
        let (below, after) = (y.clone().unary(UnaryOp::Ceil), x.clone().unary(UnaryOp::Ceil));
        let (down, across) = (y - &above, x - &before);
        let mut row = |row: Expr| {
            let left = load(row.clone(), before.clone());
            let right = load(row, after.clone());
            &left + (right - &left) * &across
        };
        let (top, bottom) = (row(above), row(below));
        &top + (bottom - &top) * down
    };
    let outside = value.like(outside);
    inside.select(value, outside)
}

#[cfg(test)]
mod tests {
    use shapeflow_shape_fns::{Attrs, DType};

    use super::DEF;
    use crate::ops::testing::{check_tensor, run, run_one, shape_table, tensor};

    shape_table! { DEF, {"crop_size": [2, 3]},
        "u8[n, 4, w, c]; f32[k, 4]; i32[k]" => "f32[d1_0, 2, 3, d0_3]",
        "[n, 4, w, c]; f64[k, 4]; i32[k]" => error "boxes must be f32, got f64",
        "[n, 4, w, c]; [k, 4]; [k]" => error "box_ind must be i32, got f32",
        "[n, 4, 0, c]; [k, 4]; i32[k]" => error "image must have pixels, got [n, 4, 0, c]",
    }
    shape_table! { no_pixels: DEF, {"crop_size": [2, 0]},
        "[1, 4, 4, 1]; [k, 4]; i32[k]" => error "crop_size must be positive, got 0",
    }
    shape_table! { method: DEF, {"crop_size": [2, 2], "method": "cubic"},
        "[1, 4, 4, 1]; [k, 4]; i32[k]" => error "method must be bilinear or nearest, got \"cubic\"",
    }

    #[test]
    fn a_fed_size_is_integers() {
        let refused = super::dtypes(&[DType::F32, DType::F32, DType::I32, DType::F32], &Attrs::new());
        assert!(refused.unwrap_err().message().contains("must be i32 or i64, got f32 in operand 3"));
    }

    #[test]
    fn edges_must_be_finite() {
        let attrs = Attrs::new().with("crop_size", [1, 1]);
        let x = tensor(&[1, 2, 2, 1], &[1.0f32, 2.0, 3.0, 4.0]);
        for edge in [f32::NAN, f32::INFINITY] {
            let boxes = tensor(&[1, 4], &[0.0, edge, 1.0, 1.0]);
            let error = run(&DEF, &attrs, &[x.clone(), boxes, tensor(&[1], &[0i32])]).unwrap_err();
            assert!(error.message().contains("got -2147483648"), "{error}");
        }
    }

    #[test]
    fn a_point_just_below_half_a_pixel_shows_the_pixel_before() {
        let attrs = Attrs::new().with("crop_size", [1, 1]).with("method", "nearest");
        let below = 0.5f32.next_down();
        let boxes = tensor(&[1, 4], &[below, 0.0, below, 0.0]);
        let y = run_one(&DEF, &attrs, &[tensor(&[1, 2, 1, 1], &[3.0f32, 4.0]), boxes, tensor(&[1], &[0])]);
        assert_eq!(y.to_vec::<f32>().unwrap(), [3.0]);
    }

    #[test]
    fn points_outside_are_extrapolated() {
        let x = tensor(&[1, 2, 2, 1], &[1.0f32, 2.0, 3.0, 4.0]);
        let boxes = tensor(&[1, 4], &[0.0f32, 0.0, 2.0, 1.0]);
        let attrs = Attrs::new().with("crop_size", [3, 3]).with("extrapolation_value", -1.0);
        let got = run_one(&DEF, &attrs, &[x, boxes, tensor(&[1], &[0i32])]);
        let expected = [1.0f32, 1.5, 2.0, 3.0, 3.5, 4.0, -1.0, -1.0, -1.0];
        check_tensor(&got, &tensor(&[1, 3, 3, 1], &expected), "crop_and_resize");
    }
}
