//! `extract_image_patches`: returns every window of an image as a vector.

use shapeflow_shape_fns::{Attr, Attribute, Dim, InferenceContext, ShapeError};

use crate::dtype;
use crate::error::Result;
use crate::expr::{Expr, InRange, Index, LowerCx};
use crate::graph::{IntoParam, Value};
use crate::op::{OpDef, Operand, TfOp};
use crate::ops::window_sizes::window;

/// The positions that windows may take.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum WindowPadding {
    /// A window lies inside the image.
    Valid,
    /// A window may overhang the image, with zeros outside. There are `ceil(size / stride)` windows along an axis, and
    /// the overhang is split evenly between both ends.
    Same,
}

impl WindowPadding {
    /// Returns TensorFlow's name of the padding.
    pub(in crate::ops) fn name(self) -> &'static str {
        match self {
            WindowPadding::Valid => "VALID",
            WindowPadding::Same => "SAME",
        }
    }
}

impl<'g> Value<'g> {
    /// Extracts windows of `sizes[0]` rows and `sizes[1]` columns and flattens each one into a vector, in the order
    /// rows, columns, channels. Windows start `strides` apart, and the elements of a window are `rates` apart.
    ///
    /// `[n, h, w, c] -> [n, oh, ow, sizes[0]*sizes[1]*c]`, any dtype but string. With [`WindowPadding::Same`],
    /// `oh` is `ceil(h/strides[0])`; else it is the number of windows that fit. As TensorFlow's `ExtractImagePatches`
    /// (`tf.image.extract_patches`). Fuses into kernels.
    ///
    /// ```
    /// use shapeflow::{DType, Graph, WindowPadding, shape};
    ///
    /// let g = Graph::new();
    /// let x = g.input("x", DType::F32, shape!["n", 8, 8, 3])?;
    /// let patches = x.extract_image_patches([3, 3], [1, 1], [1, 1], WindowPadding::Same)?;
    /// assert_eq!(patches.shape().to_string(), "[n, 8, 8, 27]");
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The rank is not 4, a size, stride or rate is less than 1, or the windows do not fit.
    #[doc(alias = "unfold")]
    #[doc(alias = "im2col")]
    #[track_caller]
    pub fn extract_image_patches(
        self,
        sizes: impl IntoParam<'g>,
        strides: impl IntoParam<'g>,
        rates: impl IntoParam<'g>,
        padding: WindowPadding,
    ) -> Result<Value<'g>> {
        let entries = |[rows, columns]: [i64; 2]| Attr::Ints([1, rows, columns, 1].into());
        let call = self.graph().op(&DEF).data(self);
        call.known_attr("ksizes", window(sizes, "sizes", entries))
            .known_attr("strides", window(strides, "strides", entries))
            .known_attr("rates", window(rates, "rates", entries))
            .attr("padding", padding.name())
            .finish()
    }

    /// Extracts windows of volumes as [`Value::extract_image_patches`] extracts windows of images, but without rates.
    /// `sizes` and `strides` are in the order depth, rows, columns.
    ///
    /// `[n, d, h, w, c] -> [n, od, oh, ow, sizes[0]*sizes[1]*sizes[2]*c]`, any dtype but string. As TensorFlow's
    /// `ExtractVolumePatches` (`tf.extract_volume_patches`); windows start as in [`Value::conv_3d`]. Fuses into kernels.
    ///
    /// ```
    /// use shapeflow::{DType, Graph, WindowPadding, shape};
    ///
    /// let g = Graph::new();
    /// let x = g.input("x", DType::F32, shape!["n", 8, 8, 8, 3])?;
    /// let patches = x.extract_volume_patches([2, 2, 2], [2, 2, 2], WindowPadding::Valid)?;
    /// assert_eq!(patches.shape().to_string(), "[n, 4, 4, 4, 24]");
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The rank is not 5, a size or stride is less than 1, or the windows do not fit.
    #[track_caller]
    pub fn extract_volume_patches(
        self,
        sizes: impl IntoParam<'g>,
        strides: impl IntoParam<'g>,
        padding: WindowPadding,
    ) -> Result<Value<'g>> {
        let entries = |[depth, rows, columns]: [i64; 3]| Attr::Ints([1, depth, rows, columns, 1].into());
        let call = self.graph().op(&VOLUMES).data(self);
        call.known_attr("ksizes", window(sizes, "sizes", entries))
            .known_attr("strides", window(strides, "strides", entries))
            .attr("padding", padding.name())
            .finish()
    }
}

pub(crate) static DEF: OpDef = OpDef::compute("extract_image_patches", lower)
    .attrs(&[
        Attribute::ints("ksizes"),
        Attribute::ints("strides"),
        Attribute::ints("rates"),
        Attribute::str("padding"),
    ])
    .operands(&[Operand::Data("images")])
    .shape_fn(shape)
    .dtype_rule(dtype::unary::fixed)
    .tensorflow(&[TfOp::new("ExtractImagePatches")]);

/// The windows of volumes: `[n, d, h, w, c] -> [n, od, oh, ow, kd*kh*kw*c]`.
pub(crate) static VOLUMES: OpDef = OpDef::compute("extract_volume_patches", lower)
    .attrs(&[Attribute::ints("ksizes"), Attribute::ints("strides"), Attribute::str("padding")])
    .operands(&[Operand::Data("input")])
    .shape_fn(shapeflow_shape_fns::image::extract_volume_patches)
    .dtype_rule(dtype::unary::fixed)
    // For unknown sizes, the shape function of TensorFlow gives 4 axes.
    .tensorflow(&[TfOp::new("ExtractVolumePatches").known_from(1)]);

fn shape(cx: &mut InferenceContext<'_>) -> shapeflow_shape_fns::Result<()> {
    for name in ["ksizes", "strides", "rates"] {
        let entries = cx.ints(name)?;
        if let [batch, .., channels] = *entries
            && (batch, channels) != (1, 1)
        {
            return Err(ShapeError::new(format_args!(
                "{name} must be 1 for the batch and the channels, got {batch} and {channels}"
            )));
        }
    }
    shapeflow_shape_fns::image::extract_image_patches(cx)
}

fn lower(cx: &mut dyn LowerCx, _output: usize, index: &[Index]) -> Expr {
    let (sizes, strides) = (cx.ints("ksizes"), cx.ints("strides"));
    // Windows of volumes have no rates.
    let rates = if cx.attrs().get("rates").is_some() { cx.ints("rates") } else { Vec::new() };
    let before = cx.derived("before");
    let dims = cx.dims(0);
    let (Some((channel, spatial)), Some(depth)) = (index.split_last(), dims.last()) else {
        return cx.operand(0, index);
    };
    let entry = |list: &[i64], axis: usize| list.get(axis).copied().unwrap_or(1);
    // The last axis holds the position in the window, then the channel.
    let window_position = channel.clone().floordiv(depth.clone());
    let mut read = spatial.to_vec();
    read.push(channel.clone().modulo(depth.clone()));
    let mut inside = Vec::new();
    let mut rest = window_position;
    for axis in 1..spatial.len() {
        // The product of the sizes of the window along the later axes.
        let inner: i64 = (axis + 1..spatial.len()).map(|axis| entry(&sizes, axis)).product();
        let offset = rest.clone().floordiv(inner);
        rest = rest.modulo(inner);
        let before = before.get(axis - 1).cloned().unwrap_or(Dim::known(0));
        let start = read[axis].clone() * entry(&strides, axis) - Index::constant(before.clone());
        read[axis] = start + offset * entry(&rates, axis);
        if before.as_known() != Some(0) || is_same(cx) {
            inside.push(InRange { index: read[axis].clone(), low: Dim::known(0), high: dims[axis].clone() });
        }
    }
    let element = cx.operand(0, &read);
    if inside.is_empty() {
        return element;
    }
    let zero = Expr::zero(cx.dtype(0));
    Expr::case(vec![(inside, element)], zero)
}

fn is_same(cx: &dyn LowerCx) -> bool {
    cx.attrs().str("padding") == "SAME"
}

#[cfg(test)]
mod tests {
    use shapeflow_shape_fns::Attrs;

    use super::*;
    use crate::ops::testing::{run, shape_table, tensor};

    shape_table! { DEF, {"ksizes": [1, 3, 2, 1], "strides": [1, 1, 2, 1], "rates": [1, 1, 1, 1], "padding": "SAME"},
        "[n, 7, w, 2]" => "[n, 7, ceildiv(w, 2), 12]",
        "string[n, 7, 7, 2]" => error "the element type must be any but string",
    }

    #[test]
    fn windows_over_channels_are_refused() {
        let ones = Attr::Ints([1, 1, 1, 1].into());
        let attrs = Attrs::new().with("strides", ones.clone()).with("rates", ones).with("padding", "VALID");
        let attrs = attrs.with("ksizes", Attr::Ints([1, 2, 2, 2].into()));
        let error = run(&DEF, &attrs, &[tensor(&[1, 2, 2, 2], &[0u8; 8])]).unwrap_err();
        assert_eq!(error.message(), "ksizes must be 1 for the batch and the channels, got 1 and 2");
    }
}
