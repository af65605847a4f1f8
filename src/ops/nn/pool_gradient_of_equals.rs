//! `max_pool_3d_grad`, `max_pool_grad_grad` and `max_pool_3d_grad_grad`: gradients of pools that look for the elements
//! equal to the maximum.

use shapeflow_shape_fns::{Attribute, Attrs, DType, Dim, InferenceContext, TensorShape};

use super::conv_gradient::spread_over;
use super::pool::{VOLUME_ATTRS, require_ones};
use super::reduce_window::{dims_param, given_dims, sizes_and_strides};
use super::window::{
    Windows, data_format, dims_of, of_rank, operand_values, refuse, window_dims, with_shape,
};
use crate::dtype;
use crate::error::Result;
use crate::expr::{Expr, InRange, Index, LowerCx, ReduceOp};
use crate::graph::Value;
use crate::op::{CompositeCx, OpDef, Operand, TfOp};
use crate::ops::nn::DataFormat;
use crate::ops::widen::widen;

const OPERANDS: &[Operand] = &[
    Operand::Data("orig_input"),
    Operand::Data("orig_output"),
    Operand::Data("grad"),
    Operand::Size("ksize"),
    Operand::Size("strides"),
];

/// An op for import only: the gradient of `max_pool_3d`. Each element gets the gradients of the windows whose maximum
/// it is equal to: `orig_input [n, d, h, w, c], orig_output [n, od, oh, ow, c], grad [n, od, oh, ow, c] -> [n, d, h, w,
/// c]`. f16 and bf16 are added as f32 and rounded once. As TensorFlow's `MaxPool3DGrad`.
pub(crate) static VOLUMES: OpDef = OpDef::composite("max_pool_3d_grad", build_volumes)
    .attrs(VOLUME_ATTRS)
    .operands(OPERANDS)
    .tensorflow(&[TfOp::new("MaxPool3DGrad")]);

/// An op for import only: the gradient of the gradient of `max_pool` with respect to the gradient of its result. Each
/// window gets the element of `grad` at the position of the first element of `orig_input` that is equal to the maximum,
/// or 0: `orig_input [n, h, w, c], orig_output [n, oh, ow, c], grad [n, h, w, c] -> [n, oh, ow, c]`. As TensorFlow's
/// `MaxPoolGradGrad`.
pub(crate) static IMAGES_TWICE: OpDef =
    OpDef::composite("max_pool_grad_grad", |cx, values| build_twice(cx, values, 2))
        .attrs(&[Attribute::str("padding"), Attribute::str_or("data_format", "NHWC")])
        .operands(OPERANDS)
        .tensorflow(&[TfOp::new("MaxPoolGradGrad"), TfOp::new("MaxPoolGradGradV2")]);

/// As [`IMAGES_TWICE`] for volumes. As TensorFlow's `MaxPool3DGradGrad`.
pub(crate) static VOLUMES_TWICE: OpDef =
    OpDef::composite("max_pool_3d_grad_grad", |cx, values| build_twice(cx, values, 3))
        .attrs(VOLUME_ATTRS)
        .operands(OPERANDS)
        .tensorflow(&[TfOp::new("MaxPool3DGradGrad")]);

/// A part of gradients of pools: for each element of `x`, the sum of the elements of a window of `values` where the
/// window of `maxima` has elements equal to it. The windows have the sizes `sizes`, one entry per axis, and start at
/// the index of the element. f16 and bf16 are added as f32 and rounded once.
pub(super) static SUMS: OpDef = OpDef::compute("sum_at_equals", lower_sums)
    .internal()
    .operands(&[Operand::Data("x"), Operand::Data("maxima"), Operand::Data("values"), Operand::Size("sizes")])
    .shape_fn(|cx: &mut InferenceContext<'_>| {
        let Some(sizes) = given_dims(cx, "sizes")? else {
            let x = cx.input(0).clone();
            cx.set_output(0, x);
            return Ok(());
        };
        let rank = sizes.len();
        cx.set_derived("sizes", sizes);
        let x = cx.with_rank(0, rank)?;
        for operand in [1, 2] {
            cx.with_rank(operand, rank)?;
        }
        cx.set_output(0, x);
        Ok(())
    })
    .dtype_rule(|dtypes, _| Ok(vec![dtype::common(dtypes, 0, 3, dtype::Class::Number)?]));

/// A part of gradients of pools: for each window of `x`, the position of its first element that is equal to the element
/// of `maxima`, or the greatest i64. Window `i` starts `before` elements before element `i * strides` of an axis.
pub(super) static POSITIONS: OpDef = OpDef::compute("positions_of_equals", lower_positions)
    .internal()
    .operands(&[
        Operand::Data("x"),
        Operand::Data("maxima"),
        Operand::Size("sizes"),
        Operand::Size("strides"),
        Operand::Size("before"),
    ])
    .shape_fn(positions_shape)
    .dtype_rule(|dtypes, _| {
        dtype::common(dtypes, 0, 2, dtype::Class::Number)?;
        Ok(vec![DType::I64])
    });

fn positions_shape(cx: &mut InferenceContext<'_>) -> shapeflow_shape_fns::Result<()> {
    let Some([sizes, _]) = sizes_and_strides(cx)? else {
        let output = cx.input(1).clone();
        cx.set_output(0, output);
        return Ok(());
    };
    let rank = sizes.len();
    cx.with_rank(0, rank)?;
    let output: TensorShape = cx.with_rank(1, rank)?;
    let before = dims_param(cx, "before")?;
    cx.set_derived("before", before.unwrap_or_else(|| vec![Dim::known(0); rank]));
    cx.set_output(0, output);
    Ok(())
}

fn lower_sums(cx: &mut dyn LowerCx, output: usize, index: &[Index]) -> Expr {
    let sizes = cx.derived("sizes");
    let axes: Vec<usize> = (0..sizes.len()).filter(|axis| sizes[*axis].as_known() != Some(1)).collect();
    let extents: Vec<Dim> = axes.iter().map(|axis| sizes[*axis].clone()).collect();
    let dtype = cx.output_dtype(output);
    let element = |cx: &mut dyn LowerCx, inner: &[Index]| {
        let mut read = index.to_vec();
        for (axis, inner) in axes.iter().zip(inner) {
            read[*axis] = read[*axis].clone() + inner.clone();
        }
        let is_equal = cx.operand(0, index).equal(cx.operand(1, &read));
        let value = widen(cx.operand(2, &read));
        let zero = value.like(0.0);
        is_equal.select(value, zero)
    };
    let sum = match axes.is_empty() {
        true => element(cx, &[]),
        false => cx.reduce(ReduceOp::Sum, &extents, &mut |cx, inner| element(cx, inner)),
    };
    sum.cast(dtype)
}

fn lower_positions(cx: &mut dyn LowerCx, _output: usize, index: &[Index]) -> Expr {
    let (sizes, strides, dims) = (cx.derived("sizes"), cx.derived("strides"), cx.dims(0));
    let before = cx.derived("before");
    let is_one = |dim: &Dim| dim.as_known() == Some(1);
    let axes: Vec<usize> =
        (0..sizes.len()).filter(|axis| !is_one(&sizes[*axis]) || !is_one(&strides[*axis])).collect();
    let extents: Vec<Dim> = axes.iter().map(|axis| sizes[*axis].clone()).collect();
    let none = || Expr::constant(i64::MAX);
    let element = |cx: &mut dyn LowerCx, inner: &[Index]| {
        let (mut read, mut inside) = (index.to_vec(), Vec::new());
        for (axis, inner) in axes.iter().copied().zip(inner) {
            let start = index[axis].clone() * strides[axis].clone() - Index::constant(before[axis].clone());
            read[axis] = start + inner.clone();
            let (low, high) = (Dim::known(0), dims[axis].clone());
            inside.push(InRange { index: read[axis].clone(), low, high });
        }
        let position = read
            .iter()
            .zip(&dims)
            .fold(Index::from(0), |position, (index, dim)| position * dim.clone() + index.clone());
        let is_equal = cx.operand(0, &read).equal(cx.operand(1, index));
        let position = is_equal.select(Expr::iota(position), none());
        Expr::case(vec![(inside, position)], none())
    };
    match axes.is_empty() {
        true => {
            let position = index
                .iter()
                .zip(&dims)
                .fold(Index::from(0), |position, (index, dim)| position * dim.clone() + index.clone());
            let is_equal = cx.operand(0, index).equal(cx.operand(1, index));
            is_equal.select(Expr::iota(position), none())
        }
        false => cx.reduce(ReduceOp::Min, &extents, &mut |cx, inner| element(cx, inner)),
    }
}

/// Returns the windows of a pool with the channels last, their sizes and its `strides`.
fn windows_of<'g>(
    attrs: &Attrs,
    x: Value<'g>,
    [sizes, strides]: [Option<Value<'g>>; 2],
    spatial: usize,
) -> Result<(Windows, [Vec<Dim>; 2])> {
    let rank = spatial + 2;
    if data_format(attrs, spatial)? == DataFormat::ChannelsFirst {
        let last = DataFormat::ChannelsLast.name(spatial);
        return refuse(format!("data_format must be {last}, got {:?}", attrs.str("data_format")));
    }
    let ones = [0, rank - 1];
    let sizes = window_dims(attrs, "ksize", sizes, rank, &ones)?;
    let strides = window_dims(attrs, "strides", strides, rank, &ones)?;
    require_ones(&ones, &sizes, &strides)?;
    let format = DataFormat::ChannelsLast;
    let windows = Windows::with_ones(attrs, format, &dims_of(x), [&sizes, &strides], &ones)?;
    let sizes = windows.checked_sizes(&sizes, &ones);
    Ok((windows, [sizes, strides]))
}

/// Returns `value`, which must have an element for each window of `x`.
fn of_windows<'g>(windows: &Windows, x: Value<'g>, value: Value<'g>, name: &str) -> Result<Value<'g>> {
    let expected = windows.all_counts(&dims_of(x))?;
    with_shape(&format!("{name} and its windows"), of_rank(value, expected.len(), name)?, &expected)
}

/// Returns the values of the operands of a gradient.
fn operands_of<'g>(cx: &CompositeCx<'_>, values: &[Value<'g>]) -> [Option<Value<'g>>; 5] {
    operand_values(cx, ["orig_input", "orig_output", "grad", "ksize", "strides"], values)
}

fn build_volumes<'g>(cx: &CompositeCx<'_>, values: &[Value<'g>]) -> Result<Vec<Value<'g>>> {
    let [Some(x), Some(output), Some(gradient), params @ ..] = operands_of(cx, values) else {
        return refuse("max_pool_3d_grad needs an input, an output and a gradient".to_string());
    };
    dtype::common(&[x.dtype(), output.dtype(), gradient.dtype()], 0, 3, dtype::Class::Number)?;
    let x = of_rank(x, 5, "the input of a pool")?;
    let (windows, [sizes, _]) = windows_of(cx.attrs(), x, params, 3)?;
    let spread = |value, name| -> Result<Value<'g>> {
        spread_over(of_windows(&windows, x, value, name)?, &windows, &dims_of(x), 1..4)
    };
    let output = spread(output, "the output of a pool")?;
    let gradient = spread(gradient, "the gradient of a pool")?;
    let call = x.graph().op(&SUMS).data(x).data(output).data(gradient);
    Ok(vec![call.size("sizes", &sizes[..]).finish()?])
}

fn build_twice<'g>(cx: &CompositeCx<'_>, values: &[Value<'g>], spatial: usize) -> Result<Vec<Value<'g>>> {
    let [Some(x), Some(output), Some(gradient), params @ ..] = operands_of(cx, values) else {
        return refuse("the gradient of a gradient needs an input, an output and a gradient".to_string());
    };
    dtype::common(&[x.dtype(), output.dtype(), gradient.dtype()], 0, 3, dtype::Class::Number)?;
    let x = of_rank(x, spatial + 2, "the input of a pool")?;
    let (windows, [sizes, strides]) = windows_of(cx.attrs(), x, params, spatial)?;
    let output = of_windows(&windows, x, output, "the output of a pool")?;
    let gradient = of_rank(gradient, spatial + 2, "the gradient of a gradient")?;
    let gradient = with_shape("the gradient and the input of a pool", gradient, &dims_of(x))?;
    let before: Vec<Dim> = windows.paddings.iter().map(|[before, _]| before.clone()).collect();
    let call = x.graph().op(&POSITIONS).data(x).data(output).size("before", &before[..]);
    let positions = call.size("sizes", &sizes[..]).size("strides", &strides[..]).finish()?;
    let is_found = positions.not_equal(i64::MAX)?;
    let elements = gradient.reshape([-1])?.gather(is_found.select(positions, positions.zeros_like()?)?, 0)?;
    Ok(vec![is_found.select(elements, elements.zeros_like()?)?])
}

#[cfg(test)]
mod tests {
    use super::{POSITIONS, SUMS};
    use crate::ops::testing::{check_tensor, run_one, shape_table, tensor};

    shape_table! { POSITIONS, {"sizes": [1, 2, 2, 1], "strides": [1, 1, 2, 1]},
        "[n, 5, 4, c]; [n, 4, 2, c]" => "i64[d1_0, 4, 2, d1_3]",
        "[n, 5]; [n, 4, 2, c]" => error "rank 4",
    }
    shape_table! { sums: SUMS, {"sizes": [1, 2, 2, 1]},
        "u8[n, 5, 4, c]; u8[n, 6, 5, c]; u8[n, 6, 5, c]" => "u8[d0_0, 5, 4, d0_3]",
        "[n, 5, 4, c]; f64[n, 6, 5, c]; [n, 6, 5, c]" => error "operands must have one dtype",
    }

    #[test]
    fn all_equal_elements_count() {
        let attrs = shapeflow_shape_fns::Attrs::new().with("sizes", [2]);
        let operands = [tensor(&[2], &[3, 4]), tensor(&[3], &[3, 3, 4]), tensor(&[3], &[1, 10, 100])];
        check_tensor(&run_one(&SUMS, &attrs, &operands), &tensor(&[2], &[11, 100]), "sums");
        let attrs = attrs.with("strides", [1]);
        let operands = [tensor(&[3], &[3, 3, 4]), tensor(&[2], &[3, 5])];
        check_tensor(&run_one(&POSITIONS, &attrs, &operands), &tensor(&[2], &[0, i64::MAX]), "positions");
    }
}
