//! `max_pool` and `avg_pool`: the maximum and the mean of every window of an image.

use std::panic::Location;

use shapeflow_shape_fns::{Attr, Attribute, DType, Dim};

use super::reduce_window;
use super::window::{Padding, Windows, data_format, dims_of, entries, of_rank_4, refuse};
use crate::dtype;
use crate::error::Result;
use crate::expr::Scalar;
use crate::graph::{IntoParam, Value};
use crate::op::{CompositeCx, OpDef, Operand, TfOp};
use crate::ops::nn::DataFormat;
use crate::ops::window_sizes::window;

impl<'g> Value<'g> {
    /// Returns the maximum of every window of `sizes[0]` rows and `sizes[1]` columns. Windows start `strides` apart.
    ///
    /// `[n, h, w, c] -> [n, oh, ow, c]`, or `[n, c, h, w] -> [n, c, oh, ow]`; integers and floats. With
    /// [`Padding::Same`], `oh` is `ceil(h/strides[0])`; else it is the number of windows that fit. Padding is never the
    /// maximum. The maximum is NaN if an element is NaN. As TensorFlow's `MaxPool`, which may ignore a NaN. The op is
    /// composed of a padding and of a reduction, which fuse into kernels.
    ///
    /// ```
    /// use shapeflow::{DType, DataFormat, Graph, Padding, shape};
    ///
    /// let g = Graph::new();
    /// let x = g.input("x", DType::F32, shape!["n", 7, 8, 3])?;
    /// let y = x.max_pool([2, 2], [2, 2], Padding::Same, DataFormat::ChannelsLast)?;
    /// assert_eq!(y.shape().to_string(), "[n, 4, 4, 3]");
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The element type is neither an integer nor a float, the rank is not 4, a size or stride is less than 1, or no
    /// window fits.
    #[doc(alias = "max_pool2d")]
    #[track_caller]
    pub fn max_pool(
        self,
        sizes: impl IntoParam<'g>,
        strides: impl IntoParam<'g>,
        padding: Padding,
        format: DataFormat,
    ) -> Result<Value<'g>> {
        let location = Location::caller();
        let sizes = window(sizes, "sizes", location)?;
        let strides = window(strides, "strides", location)?;
        pooled(self, &MAX, sizes, strides, &padding, format, location)
    }

    /// Returns the mean of every window. Takes the parameters of [`Value::max_pool`]. The mean leaves out
    /// the padding.
    ///
    /// `[n, h, w, c] -> [n, oh, ow, c]`, or `[n, c, h, w] -> [n, c, oh, ow]`; floats. f16 and bf16 are summed as f32
    /// and rounded once. As TensorFlow's `AvgPool`. The op is composed of a padding and of a reduction, which fuse into
    /// kernels.
    ///
    /// ```
    /// use shapeflow::{DType, DataFormat, Graph, Padding, shape};
    ///
    /// let g = Graph::new();
    /// let x = g.input("x", DType::F32, shape!["n", 8, 8, 3])?;
    /// let y = x.avg_pool([2, 2], [2, 2], Padding::Valid, DataFormat::ChannelsLast)?;
    /// assert_eq!(y.shape().to_string(), "[n, 4, 4, 3]");
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The element type is not a float; else as [`Value::max_pool`].
    #[doc(alias = "avg_pool2d")]
    #[doc(alias = "average_pool")]
    #[track_caller]
    pub fn avg_pool(
        self,
        sizes: impl IntoParam<'g>,
        strides: impl IntoParam<'g>,
        padding: Padding,
        format: DataFormat,
    ) -> Result<Value<'g>> {
        let location = Location::caller();
        let sizes = window(sizes, "sizes", location)?;
        let strides = window(strides, "strides", location)?;
        pooled(self, &AVG, sizes, strides, &padding, format, location)
    }
}

fn pooled<'g>(
    x: Value<'g>,
    def: &'static OpDef,
    sizes: [i64; 2],
    strides: [i64; 2],
    padding: &Padding,
    format: DataFormat,
    location: &'static Location<'static>,
) -> Result<Value<'g>> {
    let list = |[rows, columns]: [i64; 2]| Attr::Ints(format.entries([1, rows, columns, 1]).into());
    let call = x.graph().op(def).data(x).attr("ksize", list(sizes)).attr("strides", list(strides));
    let call = padding.attrs(format).into_iter().fold(call, |call, (name, value)| call.attr(name, value));
    call.finish_at(location)
}

pub(crate) static MAX: OpDef = OpDef::composite("max_pool", |cx, values| {
    dtype::common(&[values[0].dtype()], 0, 1, dtype::Class::Number)?;
    build(cx, values, "max")
})
.attrs(&[
    Attribute::str("padding"),
    Attribute::ints_or("explicit_paddings", &[]),
    Attribute::str_or("data_format", "NHWC"),
])
.operands(&[Operand::Data("input"), Operand::Size("ksize"), Operand::Size("strides")])
.tensorflow(&[TfOp::new("MaxPool"), TfOp::new("MaxPoolV2")]);

pub(crate) static AVG: OpDef = OpDef::composite("avg_pool", |cx, values| {
    dtype::common(&[values[0].dtype()], 0, 1, dtype::Class::Float)?;
    build(cx, values, "mean")
})
.attrs(&[
    Attribute::ints("ksize"),
    Attribute::ints("strides"),
    Attribute::str("padding"),
    Attribute::ints_or("explicit_paddings", &[]),
    Attribute::str_or("data_format", "NHWC"),
])
.operands(&[Operand::Data("value")])
.tensorflow(&[TfOp::new("AvgPool")]);

/// Pads the operand and reduces its windows.
fn build<'g>(cx: &CompositeCx<'_>, values: &[Value<'g>], op: &'static str) -> Result<Vec<Value<'g>>> {
    data_format(cx.attrs())?;
    let sizes = entries(cx.attrs(), "ksize", values.get(1), 4, false)?;
    let strides = entries(cx.attrs(), "strides", values.last(), 4, false)?;
    if sizes[0] != 1 || strides[0] != 1 {
        return refuse(format!(
            "a window must not span the batch, got ksize {sizes:?} and strides {strides:?}"
        ));
    }
    let x = of_rank_4(values[0], "the operand of a pool")?;
    let dims = dims_of(x);
    let known = sizes.iter().map(|size| Dim::known(*size)).collect();
    let windows = Windows::new(cx.attrs(), &dims, known, strides.clone(), vec![1; 4])?;
    let border = if op == "max" { lowest(x.dtype()) } else { Scalar::zero(x.dtype()) };
    let before: Vec<Dim> = windows.paddings.iter().map(|[before, _]| before.clone()).collect();
    let positions = windows.positions();
    let call = x.graph().op(&reduce_window::DEF).data(windows.pad(x, border)?);
    let call = call.attr("sizes", Attr::Ints(sizes.into())).attr("strides", Attr::Ints(strides.into()));
    let call = call.attr("op", op).size("positions", &positions[..]);
    let call = match op {
        "mean" => call.size("before", &before[..]).size("extents", &dims[..]),
        _ => call,
    };
    Ok(vec![call.finish()?])
}

fn lowest(dtype: DType) -> Scalar {
    Scalar::lowest(dtype)
}
