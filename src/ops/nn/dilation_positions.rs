//! `dilation_2d_input_positions` and `dilation_2d_filter_positions`: the elements that give the maxima of a dilation.

use half::{bf16, f16};
use shapeflow_shape_fns::{Attribute, Attrs, DType, InferenceContext, ShapeError};

use crate::dtype;
use crate::error::Result;
use crate::op::{HostCx, OpDef, Operand};
use crate::ops::row_major::RowMajor;
use crate::ops::rows::widened;
use crate::shape_fns;
use crate::tensor::{Element, TensorView};

/// A part of the gradient of a dilation: for each window, the position of the element of the images that gives the
/// maximum, `[n, h, w, c], [kh, kw, c] -> i64[n, oh, ow, c]`. Without a maximum, it is the first element of the window
/// inside the image.
pub(super) static OF_INPUT: OpDef = definition("dilation_2d_input_positions", |cx| run(cx, true));

/// As [`OF_INPUT`], for the position of the element of the filter. Without a maximum, it is the first one.
pub(super) static OF_FILTER: OpDef = definition("dilation_2d_filter_positions", |cx| run(cx, false));

const fn definition(name: &'static str, kernel: fn(&mut HostCx<'_>) -> Result<()>) -> OpDef {
    OpDef::host(name, kernel)
        .attrs(ATTRIBUTES)
        .operands(&[Operand::Data("input"), Operand::Data("filter")])
        .shape_fn(shape)
        .dtype_rule(dtypes)
}

/// The attributes of dilations and of their gradients.
pub(super) const ATTRIBUTES: &[Attribute] =
    &[Attribute::ints("strides"), Attribute::ints("rates"), Attribute::str("padding")];

/// The shape function of dilations. As TensorFlow's kernel, refuses windows over the batch or the channels.
pub(super) fn shape(cx: &mut InferenceContext<'_>) -> shapeflow_shape_fns::Result<()> {
    for name in ["strides", "rates"] {
        if let [batch, .., channels] = *cx.ints(name)?
            && (batch, channels) != (1, 1)
        {
            return Err(ShapeError::new(format_args!(
                "{name} must be 1 for the batch and the channels, got {batch} and {channels}"
            )));
        }
    }
    shape_fns::nn::dilation_2d(cx)
}

fn dtypes(dtypes: &[DType], _: &Attrs) -> Result<Vec<DType>> {
    dtype::common(dtypes, 0, 2, dtype::Class::Number)?;
    Ok(vec![DType::I64])
}

/// Windows along an axis of images.
struct DilationAxis {
    image_size: usize,
    filter_size: usize,
    stride: usize,
    rate: usize,
    /// The number of positions of the padding before the image.
    padding_before: usize,
    /// The number of windows.
    windows: usize,
}

impl DilationAxis {
    fn new(image_size: usize, filter_size: usize, stride: usize, rate: usize, is_same: bool) -> DilationAxis {
        let span = filter_size.saturating_sub(1) * rate + 1;
        let (windows, padding_before) = match is_same {
            true => {
                let windows = image_size.div_ceil(stride);
                let missing = (windows.saturating_sub(1) * stride + span).saturating_sub(image_size);
                (windows, missing / 2)
            }
            false => ((image_size + stride).saturating_sub(span) / stride, 0),
        };
        DilationAxis { image_size, filter_size, stride, rate, padding_before, windows }
    }

    /// Returns the first position of a window inside the image.
    fn first(&self, window: usize) -> usize {
        (window * self.stride).saturating_sub(self.padding_before)
    }

    /// Returns the elements of the filter inside the image, each with its position along the axis.
    fn elements(&self, window: usize) -> impl Iterator<Item = (usize, usize)> {
        let start = window * self.stride;
        let position = move |element: usize| {
            let position = (start + element * self.rate).checked_sub(self.padding_before)?;
            (position < self.image_size).then_some((element, position))
        };
        (0..self.filter_size).filter_map(position)
    }
}

fn run(cx: &mut HostCx<'_>, is_of_input: bool) -> Result<()> {
    let (x, filter) = (RowMajor::new(cx.input(0)?)?, RowMajor::new(cx.input(1)?)?);
    let (x, filter) = (x.view(), filter.view());
    let list = |name: &str| cx.attrs().ints(name).iter().map(|entry| *entry as usize).collect::<Vec<usize>>();
    let (strides, rates) = (list("strides"), list("rates"));
    let is_same = cx.attrs().str("padding") == "SAME";
    let axes = [1, 2].map(|axis| {
        DilationAxis::new(x.sizes()[axis], filter.sizes()[axis - 1], strides[axis], rates[axis], is_same)
    });
    let (images, channels) = (x.sizes()[0], x.sizes()[3]);
    let sizes = [images, axes[0].windows, axes[1].windows, channels];
    let mut output = cx.unfilled_output(0, &sizes)?;
    let output = output.as_mut_slice::<i64>()?;
    // Integers wrap. A float of 16 bits is computed as f32, and rounded after each sum.
    macro_rules! find_for_dtype {
        ($($Int:ident $int:ident)*; $($Half:ident $half:ident)*) => {
            match x.dtype() {
                $(DType::$Int => find(&x, &filter, &axes, is_of_input, $int::MIN, $int::wrapping_add, output),)*
                $(DType::$Half => {
                    let sum = |a: f32, b: f32| $half::from_f32(a + b).to_f32();
                    let (x, filter) = (widened(&x)?, widened(&filter)?);
                    find(&x.view(), &filter.view(), &axes, is_of_input, $half::MIN.to_f32(), sum, output)
                })*
                DType::F32 => find(&x, &filter, &axes, is_of_input, f32::MIN, |a, b| a + b, output),
                DType::F64 => find(&x, &filter, &axes, is_of_input, f64::MIN, |a, b| a + b, output),
                other => unreachable!("the dtype rule accepts numbers only, got {other}"),
            }
        };
    }
    find_for_dtype!(I8 i8 I16 i16 I32 i32 I64 i64 U8 u8 U16 u16 U32 u32 U64 u64; F16 f16 BF16 bf16)
}

/// Writes the position of each maximum.
fn find<T: Element + PartialOrd>(
    x: &TensorView<'_>,
    filter: &TensorView<'_>,
    [rows, columns]: &[DilationAxis; 2],
    is_of_input: bool,
    lowest: T,
    add: impl Fn(T, T) -> T,
    output: &mut [i64],
) -> Result<()> {
    let channels = x.sizes()[3];
    let (images, x, filter) = (x.sizes()[0], x.as_slice::<T>()?, filter.as_slice::<T>()?);
    let mut found = output.iter_mut();
    for image in 0..images {
        let pixel = |row: usize, column: usize| {
            ((image * rows.image_size + row) * columns.image_size + column) * channels
        };
        for row in 0..rows.windows {
            for column in 0..columns.windows {
                let first = if is_of_input { pixel(rows.first(row), columns.first(column)) } else { 0 };
                for channel in 0..channels {
                    let (mut largest, mut position) = (lowest, first + channel);
                    for (filter_row, image_row) in rows.elements(row) {
                        for (filter_column, image_column) in columns.elements(column) {
                            let weight =
                                (filter_row * columns.filter_size + filter_column) * channels + channel;
                            let element = pixel(image_row, image_column) + channel;
                            let sum = add(x[element], filter[weight]);
                            if sum > largest {
                                (largest, position) = (sum, if is_of_input { element } else { weight });
                            }
                        }
                    }
                    *found.next().expect("there is an element for every window") = position as i64;
                }
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use shapeflow_shape_fns::Attrs;

    use super::*;
    use crate::ops::testing::{run_one, shape_table, tensor};

    shape_table! { OF_INPUT, {"strides": [1, 2, 1, 1], "rates": [1, 1, 1, 1], "padding": "VALID"},
        "u8[n, 5, 4, c]; u8[2, 3, c]" => "i64[d0_0, 2, 2, d0_3]",
        "[n, 5, 4, 2]; [2, 3, 3]" => error "channels",
    }

    #[test]
    fn windows_without_a_maximum_have_their_first_position() {
        let ones = [1, 1, 1, 1];
        let attrs = Attrs::new().with("strides", ones).with("rates", ones).with("padding", "SAME");
        let x = tensor(&[1, 1, 3, 1], &[f32::NAN, f32::NAN, 2.0]);
        let operands = [x, tensor(&[1, 3, 1], &[0.0f32, 0.0, 0.0])];
        assert_eq!(run_one(&OF_INPUT, &attrs, &operands).to_vec::<i64>().unwrap(), [0, 2, 2]);
        assert_eq!(run_one(&OF_FILTER, &attrs, &operands).to_vec::<i64>().unwrap(), [0, 2, 1]);
    }
}
