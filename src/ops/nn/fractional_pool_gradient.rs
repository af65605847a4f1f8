//! The gradients of fractional pools.

use shapeflow_shape_fns::{Attribute, DType};

use super::fractional_windows::{Pooled, Windows, each_window, refuse, sizes_of, supported, with_dtype};
use crate::dtype;
use crate::error::Result;
use crate::op::{HostCx, OpDef, Operand, TfOp};
use crate::ops::host_params::param_sizes;
use crate::ops::row_major::RowMajor;
use crate::shape_fns;
use crate::tensor::{TensorView, filled_vec};

/// An op for import only: the gradient of `fractional_max_pool`, `orig_input [n, h, w, c], orig_output [n, oh, ow, c],
/// out_backprop [n, oh, ow, c], i64[oh + 1], i64[ow + 1] -> [n, h, w, c]`. Of equal elements of a window, the first one
/// gets the gradient. Sums of integers wrap. As TensorFlow's `FractionalMaxPoolGrad`. Runs on the host.
pub(crate) static MAX: OpDef = OpDef::host("fractional_max_pool_grad", run_max_gradient)
    .attrs(&[Attribute::bool_or("overlapping", false)])
    .operands(&[
        Operand::Data("orig_input"),
        Operand::Data("orig_output"),
        Operand::Data("out_backprop"),
        Operand::Data("row_pooling_sequence"),
        Operand::Data("col_pooling_sequence"),
    ])
    .shape_fn(shape_fns::nn::pool_grad)
    .dtype_rule(|dtypes, _| gradient_dtypes(dtypes, 3))
    .tensorflow(&[TfOp::new("FractionalMaxPoolGrad")]);

/// An op for import only: the gradient of `fractional_avg_pool`, `orig_input_shape, out_backprop [n, oh, ow, c],
/// i64[oh + 1], i64[ow + 1] -> orig_input_shape`. The shares of a gradient are added in f64, and rounded toward zero to
/// integers. As TensorFlow's `FractionalAvgPoolGrad`. Runs on the host.
pub(crate) static AVG: OpDef = OpDef::host("fractional_avg_pool_grad", run_avg_gradient)
    .attrs(&[Attribute::bool_or("overlapping", false)])
    .operands(&[
        Operand::Size("orig_input_shape"),
        Operand::Data("out_backprop"),
        Operand::Data("row_pooling_sequence"),
        Operand::Data("col_pooling_sequence"),
    ])
    .shape_fn(shape_fns::nn::sized_pool_grad)
    .dtype_rule(|dtypes, _| {
        let first = dtypes.len().saturating_sub(3);
        gradient_dtypes(&dtypes[first..], 1)
    })
    .tensorflow(&[TfOp::new("FractionalAvgPoolGrad")]);

fn gradient_dtypes(dtypes: &[DType], count: usize) -> Result<Vec<DType>> {
    let x = supported(dtypes, count)?;
    match dtypes.iter().skip(count).find(|dtype| **dtype != DType::I64) {
        Some(other) => dtype::refuse(format!("the starts of the windows must be i64, got {other}")),
        None => Ok(vec![x]),
    }
}

/// Reads the windows of a gradient: the last two operands.
///
/// # Errors
/// A window is empty or not inside an image of sizes `image`, or a gradient of sizes `pooled` has other numbers of
/// images, windows or channels.
fn windows_of(cx: &HostCx<'_>, image: [usize; 4], pooled: [usize; 4]) -> Result<[Windows; 2]> {
    if (image[0], image[3]) != (pooled[0], pooled[3]) {
        return refuse(format!(
            "the gradient must have the numbers of images and channels of the operand, got sizes {pooled:?} and \
             {image:?}"
        ));
    }
    let is_overlapping = cx.attrs().bool("overlapping");
    let first = cx.inputs() - 2;
    let windows = |axis: usize| {
        let starts = cx.input(first + axis - 1)?.to_vec::<i64>()?;
        Windows::new(starts, image[axis], pooled[axis], is_overlapping)
    };
    Ok([windows(1)?, windows(2)?])
}

fn run_max_gradient(cx: &mut HostCx<'_>) -> Result<()> {
    let (x, gradient) = (RowMajor::new(cx.input(0)?)?, RowMajor::new(cx.input(2)?)?);
    let (x, gradient) = (x.view(), gradient.view());
    if cx.input(1)?.sizes() != gradient.sizes() {
        let got = cx.input(1)?.sizes().to_vec();
        return refuse(format!(
            "orig_output must have the sizes of out_backprop, got {got:?} and {:?}",
            gradient.sizes()
        ));
    }
    let (sizes, pooled) = (sizes_of(&x)?, sizes_of(&gradient)?);
    let [rows, columns] = windows_of(cx, sizes, pooled)?;
    with_dtype!(x.dtype(), max_gradient(cx, &x, &gradient, sizes, [&rows, &columns]))
}

fn max_gradient<T: Pooled>(
    cx: &mut HostCx<'_>,
    x: &TensorView<'_>,
    gradient: &TensorView<'_>,
    sizes: [usize; 4],
    windows: [&Windows; 2],
) -> Result<()> {
    let (x, gradient) = (x.as_slice::<T>()?, gradient.as_slice::<T>()?);
    let mut output = cx.output(0, &sizes)?;
    let output = output.as_mut_slice::<T>()?;
    let channels = sizes[3];
    let mut largest: Vec<Option<usize>> = filled_vec(channels, None)?;
    each_window(windows, sizes, |number, places| {
        largest.fill(None);
        for place in places {
            for (channel, largest) in largest.iter_mut().enumerate() {
                if largest.is_none_or(|largest| x[largest] < x[place + channel]) {
                    *largest = Some(place + channel);
                }
            }
        }
        for (largest, gradient) in largest.iter().zip(&gradient[number..number + channels]) {
            let slot = &mut output[largest.expect("a window has an element")];
            *slot = slot.plus(*gradient);
        }
    });
    Ok(())
}

fn run_avg_gradient(cx: &mut HostCx<'_>) -> Result<()> {
    let gradient = RowMajor::new(cx.input(cx.inputs() - 3)?)?;
    let gradient = gradient.view();
    let sizes = param_sizes(cx, "orig_input_shape", 0)?;
    let Ok(sizes) = <[usize; 4]>::try_from(&sizes[..]) else {
        return refuse(format!("orig_input_shape must have 4 sizes, got {sizes:?}"));
    };
    let [rows, columns] = windows_of(cx, sizes, sizes_of(&gradient)?)?;
    with_dtype!(gradient.dtype(), avg_gradient(cx, &gradient, sizes, [&rows, &columns]))
}

fn avg_gradient<T: Pooled>(
    cx: &mut HostCx<'_>,
    gradient: &TensorView<'_>,
    sizes: [usize; 4],
    windows: [&Windows; 2],
) -> Result<()> {
    let gradient = gradient.as_slice::<T>()?;
    let mut output = cx.unfilled_output(0, &sizes)?;
    let output = output.as_mut_slice::<T>()?;
    let channels = sizes[3];
    let mut sums = filled_vec(output.len(), 0.0f64)?;
    let mut of_window = Vec::new();
    each_window(windows, sizes, |number, places| {
        of_window.clear();
        of_window.extend(places);
        for place in &of_window {
            let sums = &mut sums[*place..place + channels];
            for (sum, gradient) in sums.iter_mut().zip(&gradient[number..number + channels]) {
                *sum += gradient.divided_as_f64(of_window.len());
            }
        }
    });
    output.iter_mut().zip(sums).for_each(|(slot, sum)| *slot = T::from_f64(sum));
    Ok(())
}

#[cfg(test)]
mod tests {
    use shapeflow_shape_fns::Attrs;

    use super::*;
    use crate::ops::testing::{run, shape_table, tensor};

    shape_table! { max: MAX, {},
        "[n, h, w, c]; [n, p, q, c]; [n, p, q, c]; i64[k]; i64[m]" => "[n, h, w, c]",
        "[n, h, w, c]; [n, p, q, c]; i32[n, p, q, c]; i64[k]; i64[m]" => error "i32",
        "[n, h, w, c]; [n, p, q, c]; [n, p, q, c]; i32[k]; i64[m]" => error "must be i64, got i32",
    }
    shape_table! { avg: AVG, {"orig_input_shape": [2, 3, 4, 5]},
        "[2, p, q, 5]; i64[k]; i64[m]" => "[2, 3, 4, 5]",
    }

    #[test]
    fn starts_are_checked() {
        let refused = |rows: &[i64]| {
            let operands = [
                tensor(&[1, 4, 1, 1], &[1, 2, 3, 4]),
                tensor(&[1, 2, 1, 1], &[2, 4]),
                tensor(&[1, 2, 1, 1], &[1, 1]),
                tensor(&[rows.len()], rows),
                tensor(&[2], &[0i64, 1]),
            ];
            run(&MAX, &Attrs::new(), &operands).unwrap_err().message().to_string()
        };
        assert!(refused(&[0, 4]).contains("2 windows must have 3 starts, got 2"));
        assert!(refused(&[0, 2, 2]).contains("must be increasing and below 4, got 2 and 2"));
        assert!(refused(&[0, -2, 4]).contains("must not be negative, got 0 and -2"));
        assert!(refused(&[0, 4, 6]).contains("must be increasing and below 4, got 4 and 6"));
    }
}
