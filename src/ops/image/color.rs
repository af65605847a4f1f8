//! `rgb_to_hsv` and `hsv_to_rgb`: colors as hue, saturation and value.

use std::panic::Location;

use crate::dtype;
use crate::error::Result;
use crate::expr::{Expr, Index, LowerCx};
use crate::graph::Value;
use crate::op::{OpDef, Operand, TfOp};
use crate::ops::widen::widen;
use crate::shape_fns;

impl<'g> Value<'g> {
    /// Converts red, green and blue along the last axis to hue, saturation and value. The hue is in `[0, 1)`. The
    /// hue and the saturation of black are 0.
    ///
    /// `[.., 3] -> [.., 3]`, floats. f16 and bf16 are computed as f32 and rounded once. As TensorFlow's `RGBToHSV`.
    /// Fuses into kernels.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let y = g.constant([[1.0, 0.0, 0.0], [0.0, 0.5, 0.0]])?.rgb_to_hsv()?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// y.allclose(&Tensor::from([[0.0, 1.0, 1.0], [0.3333, 1.0, 0.5]]), 1e-3, 1e-12).unwrap();
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The element type is not a float, or the last axis does not have size 3.
    #[track_caller]
    pub fn rgb_to_hsv(self) -> Result<Value<'g>> {
        self.unary(&TO_HSV, Location::caller())
    }

    /// Converts hue, saturation and value along the last axis to red, green and blue, as the inverse of
    /// [`Value::rgb_to_hsv`].
    ///
    /// `[.., 3] -> [.., 3]`, floats. f16 and bf16 are computed as f32 and rounded once. As TensorFlow's `HSVToRGB`.
    /// Fuses into kernels.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let y = g.constant([[0.0, 1.0, 1.0], [0.5, 1.0, 0.5]])?.hsv_to_rgb()?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// y.allclose(&Tensor::from([[1.0, 0.0, 0.0], [0.0, 0.5, 0.5]]), 1e-3, 1e-12).unwrap();
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The element type is not a float, or the last axis does not have size 3.
    #[track_caller]
    pub fn hsv_to_rgb(self) -> Result<Value<'g>> {
        self.unary(&TO_RGB, Location::caller())
    }
}

pub(crate) static TO_HSV: OpDef = OpDef::compute("rgb_to_hsv", |cx, _, index| convert(cx, index, hsv_of))
    .operands(&[Operand::Data("images")])
    .shape_fn(shape_fns::image::convert_color)
    .dtype_rule(dtype::unary::float)
    .tensorflow(&[TfOp::new("RGBToHSV")]);

pub(crate) static TO_RGB: OpDef = OpDef::compute("hsv_to_rgb", |cx, _, index| convert(cx, index, rgb_of))
    .operands(&[Operand::Data("images")])
    .shape_fn(shape_fns::image::convert_color)
    .dtype_rule(dtype::unary::float)
    .tensorflow(&[TfOp::new("HSVToRGB")]);

/// Applies `f` to the three components at `index` and selects the component whose number is the last entry of `index`.
pub(super) fn convert(cx: &mut dyn LowerCx, index: &[Index], f: impl FnOnce([Expr; 3]) -> [Expr; 3]) -> Expr {
    let (component, leading) = index.split_last().expect("an image has an axis of components");
    let color = [0, 1, 2].map(|number| {
        let mut read = leading.to_vec();
        read.push(Index::from(number));
        widen(cx.operand(0, &read))
    });
    let [first, second, third] = f(color);
    let is = |number: i64| Expr::iota(component.clone()).equal(Expr::constant(number));
    let dtype = cx.dtype(0);
    is(0).select(first, is(1).select(second, third)).cast(dtype)
}

/// Returns hue, saturation and value.
pub(super) fn hsv_of([red, green, blue]: [Expr; 3]) -> [Expr; 3] {
    let zero = red.like(0.0);
    let value = red.clone().maximum(green.clone()).maximum(blue.clone());
    let range = &value - red.clone().minimum(green.clone()).minimum(blue.clone());
    let saturation = zero.clone().less(value.clone()).select(&range / &value, zero.clone());
    let norm = red.like(1.0) / (red.like(6.0) * &range);
    let from_red = &norm * (&green - &blue);
    let from_green = &norm * (&blue - &red) + red.like(2.0 / 6.0);
    let from_blue = norm * (&red - &green) + red.like(4.0 / 6.0);
    let hue =
        red.equal(value.clone()).select(from_red, green.equal(value.clone()).select(from_green, from_blue));
    let hue = zero.clone().less(range).select(hue, zero.clone());
    let one = hue.like(1.0);
    let hue = hue.clone().less(zero).select(&hue + one, hue);
    [hue, saturation, value]
}

/// Returns red, green and blue.
pub(super) fn rgb_of([hue, saturation, value]: [Expr; 3]) -> [Expr; 3] {
    let number = |value: f64| hue.like(value);
    let sixths = &hue * number(6.0);
    let distance = |from: f64| (&sixths - number(from)).abs();
    let clamped = |x: Expr| x.maximum(number(0.0)).minimum(number(1.0));
    let red = clamped(distance(3.0) - number(1.0));
    let green = clamped(number(2.0) - distance(2.0));
    let blue = clamped(number(2.0) - distance(4.0));
    let gray = number(1.0) - &saturation;
    [red, green, blue].map(|share| (&gray + &saturation * share) * &value)
}

#[cfg(test)]
mod tests {
    use shapeflow_shape_fns::Attrs;

    use super::{TO_HSV, TO_RGB};
    use crate::ops::testing::{check_tensor, run_one, shape_table, tensor};

    shape_table! { TO_HSV, {},
        "[n, ?]" => "[n, 3]",
        "[n, 4]" => error "3",
        "u8[3]" => error "must be a float, got u8",
    }

    #[test]
    fn colors_survive_a_round_trip() {
        let colors: Vec<f64> =
            (0..27).flat_map(|n| [n / 9, n / 3 % 3, n % 3]).map(|x| f64::from(x) / 2.0).collect();
        let x = tensor(&[27, 3], &colors);
        let hsv = run_one(&TO_HSV, &Attrs::new(), std::slice::from_ref(&x));
        let back = run_one(&TO_RGB, &Attrs::new(), &[hsv]).to_vec::<f64>().unwrap();
        assert!(back.iter().zip(&colors).all(|(a, b)| (a - b).abs() < 1e-15), "{back:?}");
        let hsv = run_one(&TO_HSV, &Attrs::new(), &[tensor(&[3], &[0.0f32, 0.5, 0.0])]);
        check_tensor(&hsv, &tensor(&[3], &[1.0f32 / 3.0, 1.0, 0.5]), "green");
    }
}
