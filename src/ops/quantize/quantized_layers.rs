//! Products, convolutions and pools of quantized numbers, for import only. Every tensor comes with the ends of its
//! range, two scalars. The integers are those of TensorFlow's kernels, bit for bit. The ops are composed of ops on i32,
//! which fuse into kernels.

use shapeflow_shape_fns::{Attr, Attribute, Attrs, DType, Dim, TensorShape};

use super::options::quantized_and_ranges;
use super::quantized_concat::check_range;
use super::quantized_range::QuantizedRange;
use super::quantized_sums::{OUT_TYPE, PAIR, T_OUTPUT, TO_QI32, not_empty, of_bytes};
use crate::dtype;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::expr::{Expr, Index, LowerCx};
use crate::graph::Value;
use crate::op::{CompositeCx, OpDef, Operand, TfOp};
use crate::ops::nn::window::{dims_of, of_rank, refuse};
use crate::ops::nn::{conv, pool};

/// A part of these ops: `min f32[], max f32[] -> i32[]`, the integer of the quantized type `dtype` that stands for 0.
/// It may be outside the range of this type.
pub(crate) static ZERO: OpDef = OpDef::compute("quantized_zero", lower_zero)
    .internal()
    .attrs(&[Attribute::dtype("dtype")])
    .operands(&[Operand::Data("min"), Operand::Data("max")])
    .shape_fn(|cx| {
        cx.scalar(0)?;
        cx.scalar(1)?;
        cx.set_output(0, TensorShape::scalar());
        Ok(())
    })
    .dtype_rule(|dtypes, attrs| {
        super::options::all_f32(dtypes)?;
        super::options::quantized_attr(attrs)?;
        Ok(vec![DType::I32])
    });

fn lower_zero(cx: &mut dyn LowerCx, _output: usize, _index: &[Index]) -> Expr {
    let dtype = cx.attrs().dtype("dtype");
    let range = QuantizedRange::new(dtype, cx.operand(0, &[]), cx.operand(1, &[]));
    range.quantize_unclamped(Expr::number(DType::F32, 0.0)).cast(DType::I32)
}

/// `qu8[..], qu8[..], 4 × f32[] -> qi32[..], f32[], f32[]`: the product of two tensors, which broadcast. TensorFlow's
/// kernel broadcasts as its sum does: see [`ADD`](super::quantized_sums::ADD).
pub(crate) static MUL: OpDef = OpDef::composite("quantized_mul", |cx, values| {
    let operands = Factors::of(cx, values)?.not_empty()?;
    operands.product(|x, y| x.mul(y))
})
.attrs(TO_QI32)
.operands(PAIR)
.outputs(|_, _| 3)
.dtype_rule(|dtypes, attrs| of_bytes(dtypes, attrs, &[DType::QU8]))
.tensorflow(&[TfOp::new("QuantizedMul").attrs(T_OUTPUT)]);

/// `qu8[m, k], qu8[k, n], 4 × f32[] -> qi32[m, n], f32[], f32[]`: the product of two matrices.
pub(crate) static MATMUL: OpDef = OpDef::composite("quantized_matmul", |cx, values| {
    let operands = Factors::of(cx, values)?.not_empty()?;
    let transposed = |name| cx.attrs().bool(name);
    let (transpose_a, transpose_b) = (transposed("transpose_a"), transposed("transpose_b"));
    operands.product(|a, b| {
        of_rank(a, 2, "operand a")?.matmul_transposed(of_rank(b, 2, "operand b")?, transpose_a, transpose_b)
    })
})
.attrs(&[
    Attribute::dtype_or("dtype", DType::QI32),
    Attribute::bool_or("transpose_a", false),
    Attribute::bool_or("transpose_b", false),
])
.operands(&[
    Operand::Data("a"),
    Operand::Data("b"),
    Operand::Data("min_a"),
    Operand::Data("max_a"),
    Operand::Data("min_b"),
    Operand::Data("max_b"),
])
.outputs(|_, _| 3)
.dtype_rule(|dtypes, attrs| of_bytes(dtypes, attrs, &[DType::QU8]))
.tensorflow(&[TfOp::new("QuantizedMatMul").attrs(T_OUTPUT)]);

/// `qu8[n, h, w, c], qu8[kh, kw, c, m], 4 × f32[] -> qi32[n, oh, ow, m], f32[], f32[]`: a convolution.
pub(crate) static CONV: OpDef = OpDef::composite("quantized_conv_2d", |cx, values| {
    let mut operands = Factors::of(cx, values)?;
    if cx.attrs().str("padding") == "SAME" {
        // TensorFlow stores the border as bytes. A byte above 255 would lose its upper bits.
        let zero = operands.zero(0)?;
        let [min, _] = &mut operands.ranges[0];
        let message = "the range of images with a border must not end below 0";
        *min = min.checked(zero.less_equal(255)?, message)?;
    }
    operands.product(|x, filter| convolve(cx.attrs(), x, filter))
})
.attrs(&[
    Attribute::dtype_or("dtype", DType::QI32),
    Attribute::ints("strides"),
    Attribute::ints_or("dilations", &[]),
    Attribute::str("padding"),
])
.operands(&[
    Operand::Data("input"),
    Operand::Data("filter"),
    Operand::Data("min_input"),
    Operand::Data("max_input"),
    Operand::Data("min_filter"),
    Operand::Data("max_filter"),
])
.outputs(|_, _| 3)
.dtype_rule(|dtypes, attrs| of_bytes(dtypes, attrs, &[DType::QU8]))
.tensorflow(&[TfOp::new("QuantizedConv2D").attrs(OUT_TYPE)]);

/// `q[n, h, w, c], f32[], f32[] -> q[n, oh, ow, c], f32[], f32[]`: the maxima of windows. The range stays.
pub(crate) static MAX_POOL: OpDef = OpDef::composite("quantized_max_pool", |cx, values| {
    pooled(cx, values, |cx, x| pool_call(cx, x.cast(DType::I32)?, &pool::MAX))
})
.attrs(POOL_ATTRS)
.operands(POOL_OPERANDS)
.outputs(|_, _| 3)
.dtype_rule(|dtypes, _| pooled_dtypes(dtypes))
.tensorflow(&[TfOp::new("QuantizedMaxPool")]);

/// `q[n, h, w, c], f32[], f32[] -> q[n, oh, ow, c], f32[], f32[]`: the means of windows, rounded toward 0. The range
/// stays.
pub(crate) static AVG_POOL: OpDef = OpDef::composite("quantized_avg_pool", |cx, values| {
    // A mean of integers in f64 is an integer only if it is exact.
    pooled(cx, values, |cx, x| pool_call(cx, x.cast(DType::F64)?, &pool::AVG)?.cast(DType::I32))
})
.attrs(POOL_ATTRS)
.operands(POOL_OPERANDS)
.outputs(|_, _| 3)
.dtype_rule(|dtypes, _| pooled_dtypes(dtypes))
.tensorflow(&[TfOp::new("QuantizedAvgPool")]);

const POOL_ATTRS: &[Attribute] =
    &[Attribute::ints("ksize"), Attribute::ints("strides"), Attribute::str("padding")];
const POOL_OPERANDS: &[Operand] =
    &[Operand::Data("input"), Operand::Data("min_input"), Operand::Data("max_input")];

/// The operands of a product: tensors and the ends of their ranges.
struct Factors<'g> {
    tensors: [Value<'g>; 2],
    ranges: [[Value<'g>; 2]; 2],
}

impl<'g> Factors<'g> {
    /// Reads the operands of a call.
    fn of(cx: &CompositeCx<'_>, values: &[Value<'g>]) -> Result<Factors<'g>> {
        let &[x, y, min_x, max_x, min_y, max_y] = values else {
            return Err(Error::msg("a product needs two tensors and the ends of their ranges"));
        };
        let dtypes: Vec<DType> = values.iter().map(|value| value.dtype()).collect();
        of_bytes(&dtypes, cx.attrs(), &[DType::QU8])?;
        Ok(Factors { tensors: [x, y], ranges: [[min_x, max_x], [min_y, max_y]] })
    }

    /// Lets a run fail if a range is empty.
    fn not_empty(mut self) -> Result<Factors<'g>> {
        for range in &mut self.ranges {
            range[1] = not_empty(*range)?;
        }
        Ok(self)
    }

    /// Returns the integer that stands for 0 in a factor.
    fn zero(&self, factor: usize) -> Result<Value<'g>> {
        let [min, max] = self.ranges[factor];
        let call = min.graph().op(&ZERO).data(min).data(max);
        call.attr("dtype", self.tensors[factor].dtype()).finish()
    }

    /// Multiplies the integers, each minus the integer that stands for 0, and returns the product with its range.
    fn product(self, multiply: impl Fn(Value<'g>, Value<'g>) -> Result<Value<'g>>) -> Result<Vec<Value<'g>>> {
        let [x, y] = self.tensors;
        let x = x.cast(DType::I32)?.sub(self.zero(0)?)?;
        let y = y.cast(DType::I32)?.sub(self.zero(1)?)?;
        // qu8 has 255 steps.
        let [of_x, of_y] = self.ranges.map(|[min, max]| max.sub(min)?.div(255.0f32));
        let step = of_x?.mul(of_y?)?;
        let product = multiply(x, y)?.bitcast(DType::QI32)?;
        Ok(vec![product, step.mul(-2_147_483_648.0f32)?, step.mul(2_147_483_648.0f32)?])
    }
}

/// Convolves images with a filter of all their channels. TensorFlow's kernel puts the windows into the middle of an
/// image if they do not reach all its rows or columns, see [`first_window`].
fn convolve<'g>(attrs: &Attrs, x: Value<'g>, filter: Value<'g>) -> Result<Value<'g>> {
    let list = |name: &str| attrs.get(name).and_then(Attr::to_elements).and_then(|list| list.as_known());
    let Some(&[1, stride, columns, 1]) = list("strides").as_deref() else {
        return refuse("strides must be 4 integers, 1 for the batch and the channels".to_string());
    };
    if stride != columns || stride < 1 {
        return refuse(format!("strides must be equal along rows and columns, got {stride} and {columns}"));
    }
    if list("dilations").is_some_and(|list| list.iter().any(|entry| *entry != 1)) {
        return refuse("dilations must be 1".to_string());
    }
    let mut x = of_rank(x, 4, "the input of a convolution")?;
    let filter = of_rank(filter, 4, "the filter of a convolution")?;
    let (sizes, mut filter_sizes) = (dims_of(x), dims_of(filter));
    if filter_sizes[2].same(&sizes[3]) == Some(false) {
        let message = format!("the filter must have all channels, got {} of {}", filter_sizes[2], sizes[3]);
        return Err(Error::new(ErrorKind::Shape, Phase::Build, message));
    }
    filter_sizes[2] = sizes[3].clone();
    let filter = filter.ensure_shape(TensorShape::from(filter_sizes.clone()))?;
    let padding = attrs.str("padding");
    let mut begin = [0i64; 4].map(Dim::known);
    for axis in [1, 2] {
        begin[axis] = first_window(&sizes[axis], &filter_sizes[axis - 1], stride, padding)?;
    }
    if begin.iter().any(|begin| begin.as_known() != Some(0)) {
        x = x.slice(&begin[..], [-1i64; 4])?;
    }
    let call = x.graph().op(&conv::DEF).data(x).data(filter).attr("padding", padding);
    call.attr("strides", [1, stride, stride, 1]).finish()
}

/// Returns the number of elements of an axis of this size before its first window. Of `r` elements that the windows
/// leave out, these are `floor(r / 2)`; without a border, `floor((r - 1) / 2)`.
fn first_window(size: &Dim, window: &Dim, stride: i64, padding: &str) -> Result<Dim> {
    // A window of at least `stride - 1` elements leaves out at most one of them if the image has a border.
    let is_same = padding == "SAME";
    if stride <= 2 || is_same && window.as_known().is_some_and(|window| window >= stride - 1) {
        return Ok(Dim::known(0));
    }
    let rest = size - window;
    let span = if is_same { size - 1 } else { rest.clone() };
    let left_out = rest - span.floordiv(stride)? * stride;
    let shared = if is_same { left_out } else { left_out - 1 };
    Ok(shared.max(0)?.floordiv(2)?)
}

/// Requires a tensor of a dtype that TensorFlow's kernels have, and its range.
fn pooled_dtypes(dtypes: &[DType]) -> Result<Vec<DType>> {
    let dtype = quantized_and_ranges(dtypes)?;
    if !matches!(dtype, DType::QU8 | DType::QI8) {
        return dtype::refuse(format!("the element type must be qu8 or qi8, got {dtype}"));
    }
    Ok(vec![dtype, DType::F32, DType::F32])
}

fn pooled<'g>(
    cx: &CompositeCx<'_>,
    values: &[Value<'g>],
    pool: impl Fn(&CompositeCx<'_>, Value<'g>) -> Result<Value<'g>>,
) -> Result<Vec<Value<'g>>> {
    let &[x, min, max] = values else { return Err(Error::msg("a pool needs a tensor and its range")) };
    pooled_dtypes(&[x.dtype(), min.dtype(), max.dtype()])?;
    check_range(x.dtype(), &[min, max])?;
    Ok(vec![pool(cx, x)?.cast(x.dtype())?, min, max])
}

fn pool_call<'g>(cx: &CompositeCx<'_>, x: Value<'g>, def: &'static OpDef) -> Result<Value<'g>> {
    x.graph().op(def).data(x).declared_attrs(cx.attrs(), POOL_ATTRS).finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Graph, Tensor};

    /// A range in which the byte `zero` stands for 0, in steps of 1.
    fn range(g: &Graph, zero: u8) -> [Value<'_>; 2] {
        let ends = [-f32::from(zero), 255.0 - f32::from(zero)];
        ends.map(|end| g.constant(end).unwrap())
    }

    #[test]
    fn a_product_of_matrices_is_that_of_their_numbers() {
        let g = Graph::new();
        let (a, b) = ([[3u8, 200], [0, 255]], [[7u8, 0], [90, 100]]);
        let tensor = |rows: [[u8; 2]; 2]| {
            let tensor = Tensor::from_bits(DType::QU8, &[2, 2], &rows.concat()).unwrap();
            g.constant(tensor).unwrap()
        };
        let [min_a, max_a] = range(&g, 100);
        let [min_b, max_b] = range(&g, 7);
        let call = g.op(&MATMUL).data(tensor(a)).data(tensor(b));
        let call = call.data(min_a).data(max_a).data(min_b).data(max_b);
        let outputs = call.finish_all().unwrap();
        let [product, max] = [outputs[0].cast(DType::I32).unwrap(), outputs[2]];
        let [product, max] = g.compile([product, max]).unwrap().run(&[]).unwrap();
        let number = |byte: u8, zero: i32| i32::from(byte) - zero;
        let expected = [0, 1]
            .map(|i| [0, 1].map(|j| (0..2).map(|k| number(a[i][k], 100) * number(b[k][j], 7)).sum::<i32>()));
        assert_eq!(product, Tensor::from(expected));
        assert_eq!(max.item::<f32>().unwrap(), 2_147_483_648.0);
    }

    #[test]
    fn an_empty_range_and_a_border_that_no_byte_stands_for_fail_the_run() {
        let g = Graph::new();
        let x = g.constant(Tensor::from_bits(DType::QU8, &[1, 2, 1, 1], &[1u8, 2]).unwrap()).unwrap();
        let ends = |min: f32, max: f32| [min, max].map(|end| g.constant(end).unwrap());
        let call = |def: &'static OpDef, min: f32, max: f32| {
            let ([min, max], [low, high]) = (ends(min, max), ends(0.0, 1.0));
            g.op(def).data(x).data(x).data(min).data(max).data(low).data(high)
        };
        let fails = |outputs: Result<Vec<Value<'_>>>, message: &str| {
            let exe = outputs.and_then(|outputs| g.compile(outputs[0].cast(DType::I32)?));
            let error = exe.and_then(|exe| exe.run::<1>(&[]).map(|_| ())).unwrap_err();
            assert!(error.message().contains(message), "{error}");
        };
        let product = call(&MUL, 1.0, 1.0).finish_all();
        fails(
            product.map(|outputs| outputs.to_vec()),
            "the maximum of a range must be greater than its minimum",
        );
        let conv = call(&CONV, -4.0, -1.0).attr("strides", [1, 1, 1, 1]).attr("padding", "SAME");
        fails(conv.finish_all().map(|outputs| outputs.to_vec()), "must not end below 0");
    }

    #[test]
    fn a_mean_is_rounded_toward_zero() {
        let g = Graph::new();
        let x = Tensor::from_bits(DType::QI8, &[1, 1, 3, 1], &[-3i8, 0, 7]).unwrap();
        let (x, [min, max]) = (g.constant(x).unwrap(), range(&g, 0));
        let call = g.op(&AVG_POOL).data(x).data(min).data(max).attr("ksize", [1, 1, 2, 1]);
        let call = call.attr("strides", [1, 1, 1, 1]).attr("padding", "VALID");
        let y = call.finish_all().unwrap()[0].cast(DType::I32).unwrap();
        let [y] = g.compile(y).unwrap().run(&[]).unwrap();
        assert_eq!(y.to_vec::<i32>().unwrap(), [-1, 3]);
    }
}
