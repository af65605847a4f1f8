//! `resize_nearest`, `resize_bilinear`, `resize_bicubic`: images of another height and width.

use shapeflow_shape_fns::{Attribute, Attrs, DType, Dim};

use super::resize_rows::{run_bicubic, run_bilinear};
use super::sampling::{Sampling, pixel, resize_shape};
use crate::dtype;
use crate::error::Result;
use crate::expr::{Expr, Index, LowerCx, UnaryOp};
use crate::graph::{IntoParam, Value};
use crate::op::{OpDef, Operand, TfOp};
use crate::ops::rounding::round_half_away;

macro_rules! resizes {
    ($($(#[$doc:meta])* $method:ident, $DEF:ident, $op:literal, $rule:expr, $lower:ident $(, whole $run:ident)?;)*) => {
        impl<'g> Value<'g> {$(
            $(#[$doc])*
            ///
            /// `size` holds the new height and width.
            #[doc = concat!("As TensorFlow's `", $op, "`. Fuses into kernels.")]
            ///
            /// # Errors
            /// The element type is neither an integer nor a float, the rank is not 4, `size` does not hold two sizes
            /// above 0, or the images have no pixels or no channels.
            #[track_caller]
            pub fn $method(self, size: impl IntoParam<'g>, sampling: Sampling) -> Result<Value<'g>> {
                let call = self.graph().op(&$DEF).data(self).size("size", size);
                sampling.attrs().into_iter().fold(call, |call, (name, value)| call.attr(name, value)).finish()
            }
        )*}

        $(pub(crate) static $DEF: OpDef = OpDef::compute(stringify!($method), $lower)
            .attrs(&[Attribute::bool_or("align_corners", false), Attribute::bool_or("half_pixel_centers", false)])
            .operands(&[Operand::Data("images"), Operand::Size("size")])
            .shape_fn(resize_shape)
            .dtype_rule($rule)
            $(.whole($run))?
            .tensorflow(&[TfOp::new($op)]);)*
    };
}
resizes! {
    /// Resizes images: every pixel is the nearest pixel of the image.
    ///
    /// `[n, h, w, c] -> [n, size[0], size[1], c]`, integers and floats.
    ///
    /// ```
    /// use shapeflow::{Graph, Sampling, Tensor};
    ///
    /// let g = Graph::new();
    /// let images = g.constant([[[[1]], [[2]]]])?;
    /// let images = images.resize_nearest([4, 1], Sampling::HalfPixel)?;
    /// let y = images.reshape([4])?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from([1, 1, 2, 2]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    #[doc(alias = "interpolate")]
    resize_nearest, NEAREST, "ResizeNearestNeighbor", dtype::unary::number, lower_nearest;

    /// Resizes images: every pixel is a linear interpolation of four pixels of the image. A resize that shares no
    /// kernel with other ops runs in precompiled loops, which are faster.
    ///
    /// `[n, h, w, c] -> f32[n, size[0], size[1], c]`, integers and floats.
    ///
    /// ```
    /// use shapeflow::{Graph, Sampling, Tensor};
    ///
    /// let g = Graph::new();
    /// let images = g.constant([[[[0]], [[8]]]])?;
    /// let images = images.resize_bilinear([4, 1], Sampling::HalfPixel)?;
    /// let y = images.reshape([4])?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from([0.0f32, 2.0, 6.0, 8.0]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    #[doc(alias = "interpolate")]
    resize_bilinear, BILINEAR, "ResizeBilinear", to_single, lower_bilinear, whole run_bilinear;

    /// Resizes images: every pixel is a cubic interpolation of sixteen pixels of the image. With
    /// [`Sampling::HalfPixel`], the kernel is Keys' (`a = -0.5`) and pixels outside the image do not count; else `a =
    /// -0.75` and the border repeats. Offsets are rounded to 1/1024, as in TensorFlow. A resize that shares no kernel
    /// with other ops runs in precompiled loops, which are faster.
    ///
    /// `[n, h, w, c] -> f32[n, size[0], size[1], c]`, integers and floats.
    ///
    /// ```
    /// use shapeflow::{DType, Graph, Sampling, shape};
    ///
    /// let g = Graph::new();
    /// let images = g.input("images", DType::U8, shape!["n", 64, 64, 3])?;
    /// let images = images.resize_bicubic([128, 128], Sampling::HalfPixel)?;
    /// assert_eq!(images.shape().to_string(), "[n, 128, 128, 3]");
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    #[doc(alias = "interpolate")]
    resize_bicubic, BICUBIC, "ResizeBicubic", to_single, lower_bicubic, whole run_bicubic;
}

fn to_single(dtypes: &[DType], attrs: &Attrs) -> Result<Vec<DType>> {
    dtype::unary::number(dtypes, attrs)?;
    Ok(vec![DType::F32])
}

/// A spatial axis of a resize.
pub(super) struct Resized {
    axis: usize,
    size: Dim,
    /// The pixel of the result, as an f32.
    pixel: Expr,
    scale: Expr,
    sampling: Sampling,
}

impl Resized {
    pub(super) fn new(cx: &dyn LowerCx, index: &[Index], axis: usize) -> Resized {
        let (size, resized) = (cx.dims(0)[axis].clone(), cx.output_dims(0)[axis].clone());
        let sampling = Sampling::of(cx.attrs());
        let pixel = Expr::iota(index[axis].clone()).cast(DType::F32);
        Resized { axis, scale: sampling.scale(&size, &resized), size, pixel, sampling }
    }

    /// Returns the point of the image that the pixel shows, before an interpolation subtracts half a pixel.
    fn point(&self) -> Expr {
        match self.sampling {
            Sampling::HalfPixel => (&self.pixel + self.pixel.like(0.5)) * &self.scale,
            _ => &self.pixel * &self.scale,
        }
    }

    /// Returns the point in units of pixels, where a pixel is at its index.
    pub(super) fn position(&self) -> Expr {
        match self.sampling {
            Sampling::HalfPixel => self.point() - self.pixel.like(0.5),
            _ => self.point(),
        }
    }

    pub(super) fn at(&self, cx: &mut dyn LowerCx, position: Expr) -> Index {
        pixel(cx, position, &self.size, self.axis)
    }
}

/// Loads a pixel's channel.
pub(super) fn load(cx: &mut dyn LowerCx, index: &[Index], row: &Index, column: &Index) -> Expr {
    cx.operand(0, &[index[0].clone(), row.clone(), column.clone(), index[3].clone()])
}

fn lower_nearest(cx: &mut dyn LowerCx, _output: usize, index: &[Index]) -> Expr {
    let mut nearest = |axis: usize| {
        let resized = Resized::new(cx, index, axis);
        let point = resized.point();
        let is_aligned = resized.sampling == Sampling::AlignCorners;
        let nearest = if is_aligned { round_half_away(point) } else { point.floor() };
        resized.at(cx, nearest)
    };
    let (row, column) = (nearest(1), nearest(2));
    load(cx, index, &row, &column)
}

fn lower_bilinear(cx: &mut dyn LowerCx, _output: usize, index: &[Index]) -> Expr {
    let mut neighbors = |axis: usize| {
        let resized = Resized::new(cx, index, axis);
        let position = resized.position();
        let below = position.clone().floor();
        let fraction = &position - &below;
        let above = position.unary(UnaryOp::Ceil);
        ([resized.at(cx, below), resized.at(cx, above)], fraction)
    };
    let ((rows, down), (columns, right)) = (neighbors(1), neighbors(2));
    let mut row = |row: &Index| {
        let left = load(cx, index, row, &columns[0]).cast(DType::F32);
        let next = load(cx, index, row, &columns[1]).cast(DType::F32);
        &left + (next - &left) * &right
    };
    let (top, bottom) = (row(&rows[0]), row(&rows[1]));
    &top + (bottom - &top) * down
}

fn lower_bicubic(cx: &mut dyn LowerCx, _output: usize, index: &[Index]) -> Expr {
    let mut taps = |axis: usize| {
        let resized = Resized::new(cx, index, axis);
        let position = resized.position();
        let below = position.clone().floor();
        let steps = position.like(1024.0);
        let offset = ((position - &below) * &steps).unary(UnaryOp::Round) / steps;
        let is_keys_kernel = resized.sampling == Sampling::HalfPixel;
        let weights = cubic_weights(&offset, if is_keys_kernel { -0.5 } else { -0.75 });
        let first = below.like(-1.0);
        let positions = [0.0, 1.0, 2.0, 3.0].map(|tap| &below + (&first + below.like(tap)));
        let weights = if is_keys_kernel { inside(&positions, weights, &resized.size) } else { weights };
        (positions.map(|position| resized.at(cx, position)), weights)
    };
    let ((rows, down), (columns, right)) = (taps(1), taps(2));
    let mut row = |row: &Index| {
        let products = columns
            .iter()
            .zip(&right)
            .map(|(column, weight)| load(cx, index, row, column).cast(DType::F32) * weight);
        products.reduce(|sum, product| sum + product).expect("there are four taps")
    };
    let sums = rows.iter().zip(&down).map(|(at, weight)| row(at) * weight);
    sums.reduce(|sum, product| sum + product).expect("there are four taps")
}

/// Returns the weights of the four pixels around a point, `offset` after the second pixel. `a` is the slope at the
/// distance 1.
fn cubic_weights(offset: &Expr, a: f64) -> [Expr; 4] {
    let constant = |value: f64| offset.like(value);
    let near = |x: &Expr| ((constant(a + 2.0) * x - constant(a + 3.0)) * x) * x + constant(1.0);
    let far = |x: &Expr| {
        let x = x + constant(1.0);
        ((constant(a) * &x - constant(5.0 * a)) * &x + constant(8.0 * a)) * &x - constant(4.0 * a)
    };
    let rest = constant(1.0) - offset;
    [far(offset), near(offset), near(&rest), far(&rest)]
}

/// Sets the weights of pixels outside the image to 0, and scales the other weights to the sum 1.
fn inside(positions: &[Expr; 4], weights: [Expr; 4], size: &Dim) -> [Expr; 4] {
    let size = Expr::size(size.clone()).cast(DType::F32);
    let mut kept = weights;
    for (weight, position) in kept.iter_mut().zip(positions) {
        let zero = position.like(0.0);
        let is_inside = zero.clone().less_equal(position.clone()) & position.clone().less(size.clone());
        *weight = is_inside.select(weight.clone(), zero);
    }
    let sum = kept.iter().cloned().reduce(|sum, weight| sum + weight).expect("there are four weights");
    let tiny = sum.like(1000.0 * f64::from(f32::MIN_POSITIVE));
    let factor = sum.clone().abs().less(tiny).select(sum.like(1.0), sum.like(1.0) / sum);
    kept.map(|weight| weight * &factor)
}

#[cfg(test)]
mod tests {
    use shapeflow_shape_fns::Attrs;

    use super::{BICUBIC, BILINEAR, NEAREST};
    use crate::ops::testing::{check_tensor, run_one, shape_table, tensor};

    shape_table! { NEAREST, {"size": [7, 9]},
        "u8[n, 4, w, c]" => "u8[n, 7, 9, d0_3]",
        "[n, 4, 4]" => error "images must have rank 4",
        "bool[1, 2, 3, 4]" => error "must be an integer or a float, got bool",
    }
    shape_table! { both: NEAREST, {"size": [7, 9], "align_corners": true, "half_pixel_centers": true},
        "[n, 4, 4, 1]" => error "align_corners must be false if half_pixel_centers is true",
    }
    shape_table! { no_pixels: BICUBIC, {"size": [7, 0]},
        "[n, 4, 4, 1]" => error "size must be positive, got 0",
    }
    shape_table! { bilinear: BILINEAR, {"size": [7, 9]},
        "u8[n, 4, w, c]" => "f32[n, 7, 9, d0_3]",
    }

    /// In f32, 41 * (1/82) is the greatest number below 0.5.
    #[test]
    fn a_point_just_below_half_a_pixel_shows_the_pixel_before() {
        let attrs = Attrs::new().with("size", [83, 1]).with("align_corners", true);
        let y = run_one(&NEAREST, &attrs, &[tensor(&[1, 2, 1, 1], &[0, 1])]);
        assert_eq!(y.to_vec::<i32>().unwrap()[41..43], [0, 1]);
    }

    #[test]
    fn an_image_of_the_same_size_is_unchanged() {
        let x = tensor(&[1, 2, 3, 1], &[5.0f32, 1.0, -2.0, 0.5, 9.0, 3.0]);
        for def in [&NEAREST, &BILINEAR, &BICUBIC] {
            for sampling in
                [super::Sampling::HalfPixel, super::Sampling::AlignCorners, super::Sampling::Legacy]
            {
                let attrs = sampling
                    .attrs()
                    .into_iter()
                    .fold(Attrs::new(), |attrs, (name, value)| attrs.with(name, value));
                let got = run_one(def, &attrs.with("size", [2, 3]), std::slice::from_ref(&x));
                check_tensor(&got, &x, def.name());
            }
        }
    }
}
