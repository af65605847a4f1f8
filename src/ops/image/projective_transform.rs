//! `projective_transform`: images seen through a projective transform, such as a rotation or a shift.

use std::panic::Location;

use shapeflow_shape_fns::{Attribute, Attrs, DType, Dim, Guard, InferenceContext, ShapeError, counted};

use super::sampling::{pixel, require_images_with, require_pixels};
use crate::dtype;
use crate::error::Result;
use crate::expr::{Expr, Index, LowerCx};
use crate::graph::{IntoOperand, IntoParam, Value};
use crate::op::{OpDef, Operand, TfOp};
use crate::ops::broadcast::broadcast_dims;
use crate::ops::rounding::round_half_away;
use crate::shape_fns;

/// How a point between pixels gets its value.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Interpolation {
    /// The value of the nearest pixel. A tie goes to the pixel farther from pixel 0.
    #[default]
    Nearest,
    /// A linear interpolation of the four pixels around the point, computed in f32.
    Bilinear,
}

/// How a point outside an image gets its value. The examples show the pixels `a b c d`, and the values to their left
/// and right.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum FillMode {
    /// A constant: `k k | a b c d | k k`.
    #[default]
    Constant,
    /// The image is mirrored at its edge: `b a | a b c d | d c`.
    Reflect,
    /// The image is repeated: `c d | a b c d | a b`.
    Wrap,
    /// The last pixel is repeated: `a a | a b c d | d d`.
    Nearest,
}

/// How [`Value::projective_transform`] reads the images.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct ProjectiveTransform {
    /// How a point between pixels gets its value.
    pub interpolation: Interpolation,
    /// How a point outside an image gets its value.
    pub fill_mode: FillMode,
    /// The value of points outside an image with [`FillMode::Constant`], and of points at infinity.
    pub fill_value: f64,
}

impl<'g> Value<'g> {
    /// Transforms images: pixel `(x, y)` of the result shows the point
    /// `((a0 x + a1 y + a2) / k, (b0 x + b1 y + b2) / k)` of an image, where `k = c0 x + c1 y + 1`. `x` counts columns
    /// and `y` counts rows.
    ///
    /// `[n, h, w, c], transforms f32[m, 8] -> [n, size[0], size[1], c]`; the images hold u8, i32, i64 or floats. A row
    /// of `transforms` is `[a0, a1, a2, b0, b1, b2, c0, c1]`. There is one row for each image, or one row for all. The
    /// points are computed in f32. As TensorFlow's `ImageProjectiveTransformV3`. Fuses into kernels.
    ///
    /// ```
    /// use shapeflow::{FillMode, Graph, ProjectiveTransform, Tensor};
    ///
    /// let g = Graph::new();
    /// let image = g.constant([[[[1.0f32], [2.0], [3.0]]]])?;
    /// let shift = g.constant([[1.0f32, 0.0, 1.0, 0.0, 1.0, 0.0, 0.0, 0.0]])?;
    /// let options = ProjectiveTransform { fill_mode: FillMode::Reflect, ..ProjectiveTransform::default() };
    /// let y = image.projective_transform(shift, [1, 4], options)?.reshape([4])?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from([2.0f32, 3.0, 3.0, 2.0]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// A dtype is not supported, a rank is wrong, there is neither one transform nor one for each image, `size` does
    /// not hold two sizes above 0, or the images have no pixels.
    #[doc(alias = "affine_transform")]
    #[doc(alias = "warp")]
    #[track_caller]
    pub fn projective_transform(
        self,
        transforms: impl IntoOperand<'g>,
        size: impl IntoParam<'g>,
        options: ProjectiveTransform,
    ) -> Result<Value<'g>> {
        let location = Location::caller();
        let transforms = transforms.into_operand(self, location);
        let fill = self.graph().constant(options.fill_value as f32)?;
        let call = self.graph().op(&DEF).data(self).data(transforms).size("output_shape", size).data(fill);
        let call = call.attr("interpolation", options.interpolation.name());
        call.attr("fill_mode", options.fill_mode.name()).finish_at(location)
    }
}

impl Interpolation {
    fn name(self) -> &'static str {
        match self {
            Interpolation::Nearest => "NEAREST",
            Interpolation::Bilinear => "BILINEAR",
        }
    }

    fn of(attrs: &Attrs) -> Option<Interpolation> {
        let all = [Interpolation::Nearest, Interpolation::Bilinear];
        all.into_iter().find(|one| one.name() == attrs.str("interpolation"))
    }
}

impl FillMode {
    fn name(self) -> &'static str {
        match self {
            FillMode::Constant => "CONSTANT",
            FillMode::Reflect => "REFLECT",
            FillMode::Wrap => "WRAP",
            FillMode::Nearest => "NEAREST",
        }
    }

    fn of(attrs: &Attrs) -> Option<FillMode> {
        let all = [FillMode::Constant, FillMode::Reflect, FillMode::Wrap, FillMode::Nearest];
        all.into_iter().find(|one| one.name() == attrs.str("fill_mode"))
    }

    /// Moves a coordinate outside an axis of `dim` pixels to the point of the axis with its value. The coordinate stays
    /// outside with [`FillMode::Constant`].
    fn map(self, x: Expr, dim: &Dim) -> Expr {
        let number = |value: f64| x.like(value);
        let size = Expr::size(dim.clone()).cast(DType::F32);
        let last = &size - number(1.0);
        // Past 2^63 periods, the coordinate is clamped to the axis as it is.
        let periods = |quotient: Expr, whole: Expr| {
            quotient.less(number(9_223_372_036_854_775_808.0)).select(whole, number(0.0))
        };
        let is_negative = x.clone().less(number(0.0));
        let is_past = last.clone().less(x.clone());
        let (below, above) = match self {
            FillMode::Constant => return x,
            FillMode::Nearest => (x.clone(), x.clone()),
            FillMode::Reflect => {
                let period = &size + &size;
                let quotient = -x.clone() / &period;
                let below = periods(quotient.clone(), &period * quotient.floor()) + &x;
                let is_first_half = below.clone().less(-size.clone());
                let below = is_first_half.select(&below + &period, -below - number(1.0));
                let quotient = &x / &period;
                let above = &x - periods(quotient.clone(), &period * quotient.floor());
                let is_second_half = size.less_equal(above.clone());
                (below, is_second_half.select(period - &above - number(1.0), above))
            }
            FillMode::Wrap => {
                let quotient = -x.clone() / &last;
                let below = &x + periods(quotient.clone(), &size * (quotient.floor() + number(1.0)));
                let quotient = &x / &last;
                let above = &x - periods(quotient.clone(), &size * quotient.floor());
                (below, above)
            }
        };
        let inside = is_negative.select(below, is_past.select(above, x.clone()));
        inside.maximum(number(0.0)).minimum(last)
    }
}

pub(crate) static DEF: OpDef = OpDef::compute("projective_transform", lower)
    .attrs(&[Attribute::str_or("interpolation", "NEAREST"), Attribute::str_or("fill_mode", "CONSTANT")])
    .operands(&[
        Operand::Data("images"),
        Operand::Data("transforms"),
        Operand::Size("output_shape"),
        Operand::Data("fill_value"),
    ])
    .shape_fn(shape)
    .dtype_rule(|operands, _| dtypes(operands, true))
    .tensorflow(&[TfOp::new("ImageProjectiveTransformV3")]);

/// An op for import only: points outside an image have the value 0.
pub(crate) static V2: OpDef = OpDef::compute("projective_transform_v2", lower)
    .attrs(&[Attribute::str_or("interpolation", "NEAREST"), Attribute::str_or("fill_mode", "CONSTANT")])
    .operands(&[Operand::Data("images"), Operand::Data("transforms"), Operand::Size("output_shape")])
    .shape_fn(shape)
    .dtype_rule(|operands, _| dtypes(operands, false))
    .tensorflow(&[TfOp::new("ImageProjectiveTransformV2")]);

/// Checks the dtypes of a call, whose last operand is the value of points outside if `has_fill`.
fn dtypes(dtypes: &[DType], has_fill: bool) -> Result<Vec<DType>> {
    let images = dtype::common(dtypes, 0, 1, dtype::Class::Number)?;
    if !images.is_float() && !matches!(images, DType::U8 | DType::I32 | DType::I64) {
        return dtype::refuse(format!("the images must be u8, i32, i64 or a float, got {images}"));
    }
    let fill = if has_fill { dtypes.len() - 1 } else { dtypes.len() };
    for (operand, name) in [(1, "transforms"), (fill, "fill_value")] {
        if let Some(got) = dtypes.get(operand).filter(|got| **got != DType::F32) {
            return dtype::refuse(format!("{name} must be f32, got {got}"));
        }
    }
    dtype::check_indices(&dtypes[..fill], 2)?;
    Ok(vec![images])
}

fn shape(cx: &mut InferenceContext<'_>) -> shapeflow_shape_fns::Result<()> {
    if Interpolation::of(cx.attrs()).is_none() {
        let got = cx.attrs().str("interpolation");
        return Err(ShapeError::new(format_args!("interpolation must be NEAREST or BILINEAR, got {got:?}")));
    }
    if FillMode::of(cx.attrs()).is_none() {
        let got = cx.attrs().str("fill_mode");
        let requirement = "fill_mode must be CONSTANT, REFLECT, WRAP or NEAREST";
        return Err(ShapeError::new(format_args!("{requirement}, got {got:?}")));
    }
    let [batch, height, width, _] = cx.axes::<4>(0)?;
    require_images_with(cx, &[height, width], "pixels")?;
    let [count, _] = cx.axes::<2>(1)?;
    cx.scalars(&["fill_value"])?;
    shape_fns::image::transform(cx)?;
    cx.require(Guard::OneOrEqual(count.clone(), batch.clone())).map_err(|_| {
        cx.blame(
            1,
            format_args!(
                "must hold one transform or one for each of {batch}, got {count}",
                batch = counted(batch, "image")
            ),
        )
    })?;
    require_pixels(cx, "output_shape")
}

fn lower(cx: &mut dyn LowerCx, _output: usize, index: &[Index]) -> Expr {
    let (dtype, dims) = (cx.dtype(0), cx.dims(0));
    let interpolation = Interpolation::of(cx.attrs()).expect("the shape function checks the attribute");
    let fill_mode = FillMode::of(cx.attrs()).expect("the shape function checks the attribute");
    let last = cx.operands() - 1;
    let has_fill = last > 1 && cx.dtype(last) == DType::F32;
    let fill = if has_fill { cx.operand(last, &[]).cast(dtype) } else { Expr::zero(dtype) };
    let row = broadcast_dims(&cx.dims(1)[..1], &dims[..1], &index[..1])[0].clone();
    let [a0, a1, a2, b0, b1, b2, c0, c1] =
        [0, 1, 2, 3, 4, 5, 6, 7].map(|number| cx.operand(1, &[row.clone(), Index::from(number)]));
    let [y, x] = [1, 2].map(|axis: usize| Expr::iota(index[axis].clone()).cast(DType::F32));
    let scale = c0 * &x + c1 * &y + x.like(1.0);
    let column = fill_mode.map((a0 * &x + a1 * &y + a2) / &scale, &dims[2]);
    let line = fill_mode.map((b0 * &x + b1 * &y + b2) / &scale, &dims[1]);
    // Loads a pixel, whose coordinates are integers. A pixel outside the image has the value `fill`.
    let mut load = |y: &Expr, x: &Expr| {
        let is_inside = |position: &Expr, dim: &Dim| {
            let size = Expr::size(dim.clone()).cast(DType::F32);
            position.like(0.0).less_equal(position.clone()) & position.clone().less(size)
        };
        let inside = is_inside(y, &dims[1]) & is_inside(x, &dims[2]);
        let (row, column) = (pixel(cx, y.clone(), &dims[1], 1), pixel(cx, x.clone(), &dims[2], 2));
        let value = cx.operand(0, &[index[0].clone(), row, column, index[3].clone()]);
        inside.select(value, fill.clone())
    };
    let value = match interpolation {
        Interpolation::Nearest => load(&round_half_away(line), &round_half_away(column)),
        Interpolation::Bilinear => {
            let (above, before) = (line.clone().floor(), column.clone().floor());
            let (below, after) = (&above + above.like(1.0), &before + before.like(1.0));
            let mut between = |row: &Expr| {
                let [left, right] = [&before, &after].map(|column| load(row, column).cast(DType::F32));
                (&after - &column) * left + (&column - &before) * right
            };
            let (top, bottom) = (between(&above), between(&below));
            ((&below - &line) * top + (&line - &above) * bottom).cast(dtype)
        }
    };
    let zero = scale.like(0.0);
    scale.equal(zero).select(fill, value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::{check_tensor, run_one, shape_table, tensor};

    shape_table! { DEF, {"output_shape": [3, 5]},
        "[n, h, w, c]; [n, 8]; []" => "[n, 3, 5, c]",
        "u8[n, h, w, c]; [1, 8]; []" => "u8[n, 3, 5, c]",
        "[2, h, w, c]; [3, 8]; []" => error "must hold one transform or one for each of 2 images, got 3",
        "i8[n, h, w, c]; [1, 8]; []" => error "the images must be u8, i32, i64 or a float, got i8",
        "[n, h, w, c]; f64[1, 8]; []" => error "transforms must be f32, got f64",
        "[n, 0, w, c]; [1, 8]; []" => error "must have pixels",
    }
    shape_table! { modes: DEF, {"output_shape": [3, 5], "fill_mode": "MIRROR"},
        "[n, h, w, c]; [n, 8]; []" => error "fill_mode must be CONSTANT, REFLECT, WRAP or NEAREST, got \"MIRROR\"",
    }

    /// The pixels of a row of 4 pixels at whole coordinates from -9 to 12, in each mode.
    #[test]
    fn rows_go_on_outside() {
        let modes = [
            (FillMode::Constant, "kkkkkkkkkabcdkkkkkkkkk"),
            (FillMode::Reflect, "aabcddcbaabcddcbaabcdd"),
            (FillMode::Nearest, "aaaaaaaaaabcdddddddddd"),
        ];
        for (mode, expected) in modes {
            let x = tensor(&[1, 1, 4, 1], b"abcd");
            let shift = tensor(&[1, 8], &[1.0f32, 0.0, -9.0, 0.0, 1.0, 0.0, 0.0, 0.0]);
            let attrs = Attrs::new().with("output_shape", [1, 22]).with("fill_mode", mode.name());
            let y = run_one(&DEF, &attrs, &[x, shift, tensor(&[], &[f32::from(b'k')])]);
            check_tensor(&y, &tensor(&[1, 1, 22, 1], expected.as_bytes()), mode.name());
        }
    }
}
