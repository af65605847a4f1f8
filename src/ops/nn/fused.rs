//! Ops that TensorFlow's graph optimizers write, for import only: a matrix product or a convolution with the ops that
//! follow or precede it. They are composed of these ops, which fuse into kernels.

use shapeflow_shape_fns::{Attr, Attribute, Attrs, DType, Dim, counted};

use super::conv;
use super::window::{dims_of, of_rank, operand_values, refuse, with_shape};
use crate::dtype;
use crate::error::{Error, Result};
use crate::graph::{OpBuilder, Value};
use crate::op::{CompositeCx, OpDef, Operand, TfOp};
use crate::ops::array::mirror_pad;
use crate::ops::image::resize;
use crate::ops::nn::DataFormat;

/// The attributes that say what follows the product or the convolution.
macro_rules! fused_attrs {
    ($($further:expr),*) => {
        &[
            Attribute::strs_or("fused_ops", &[]),
            Attribute::float_or("epsilon", 1e-4f32 as f64),
            Attribute::float_or("leakyrelu_alpha", 0.2f32 as f64),
            $($further),*
        ]
    };
}

/// `[m, k], [k, n], bias [n] -> [m, n]`: `BiasAdd` of the product of two matrices, and at most one activation.
pub(crate) static MATMUL: OpDef = OpDef::composite("fused_matmul", |cx, values| {
    let &[a, b, ref args @ ..] = values else { return needs("fused_matmul") };
    floats(&dtypes_of(values), AS_MATMUL)?;
    let (a, b) = (of_rank(a, 2, "operand a")?, of_rank(b, 2, "operand b")?);
    let transposed = |name| cx.attrs().bool(name);
    let y = a.matmul_transposed(b, transposed("transpose_a"), transposed("transpose_b"))?;
    let following = Following { name: "fused_matmul", normalizes: false, activations: AFTER_MATMUL };
    Ok(vec![following.apply(cx.attrs(), y, args)?])
})
.attrs(fused_attrs!(Attribute::bool_or("transpose_a", false), Attribute::bool_or("transpose_b", false)))
.operands(&[Operand::Data("a"), Operand::Data("b"), Operand::Variadic("args..")])
.dtype_rule(|dtypes, _| floats(dtypes, AS_MATMUL))
.tensorflow(&[TfOp::new("_FusedMatMul")]);

/// `[n, h, w, c], [kh, kw, c, m], args -> [n, oh, ow, m]`: `BiasAdd` or `FusedBatchNorm` of a convolution, and at most
/// one activation. `FusedBatchNorm` has the arguments scale, offset, mean and variance.
pub(crate) static CONV: OpDef = OpDef::composite("fused_conv_2d", |cx, values| {
    let &[x, filter, ref args @ ..] = values else { return needs("fused_conv_2d") };
    floats(&dtypes_of(values), AS_CONV)?;
    if cx.attrs().str("data_format") != "NHWC" {
        return refuse(format!("data_format must be NHWC, got {}", cx.attrs().str("data_format")));
    }
    let (x, filter) = of_one_group(x, filter)?;
    let y = x.graph().op(&conv::DEF).data(x).data(filter).declared_attrs(cx.attrs(), conv::IMAGE_ATTRS);
    let following = Following { name: "fused_conv_2d", normalizes: true, activations: AFTER_CONV };
    Ok(vec![following.apply(cx.attrs(), y.finish()?, args)?])
})
.attrs(fused_attrs!(
    Attribute::ints("strides"),
    Attribute::ints_or("dilations", &[]),
    Attribute::str("padding"),
    Attribute::ints_or("explicit_paddings", &[]),
    Attribute::str_or("data_format", "NHWC")
))
.operands(&[Operand::Data("input"), Operand::Data("filter"), Operand::Variadic("args..")])
.dtype_rule(|dtypes, _| floats(dtypes, AS_CONV))
.tensorflow(&[TfOp::new("_FusedConv2D")]);

/// `[n, h, w, c], paddings [4, 2], [kh, kw, c, m] -> [n, oh, ow, m]`: the convolution of images with a mirrored border.
/// TensorFlow's kernel gives the result of the first image for every image.
pub(crate) static PAD_CONV: OpDef = OpDef::composite("pad_conv_2d", |cx, values| {
    floats(&ends_of(&dtypes_of(values))?, AS_PADDED)?;
    let [Some(x), paddings, Some(filter)] = operand_values(cx, ["input", "paddings", "filter"], values)
    else {
        return needs("pad_conv_2d");
    };
    let x = of_rank(x, 4, "the input of a convolution")?;
    Ok(vec![convolve_mirrored(cx, x, paddings, filter)?])
})
.attrs(&[Attribute::ints("strides"), Attribute::str("padding"), Attribute::str("mode")])
.operands(&[Operand::Data("input"), Operand::Size("paddings"), Operand::Data("filter")])
.dtype_rule(|dtypes, _| floats(&ends_of(dtypes)?, AS_PADDED))
.tensorflow(&[TfOp::new("FusedPadConv2D").pairs(&["paddings"])]);

/// `[n, h, w, c], size [2], paddings [4, 2], [kh, kw, c, m] -> [n, oh, ow, m]`, f32: as [`PAD_CONV`], of images that
/// are resized by linear interpolation.
pub(crate) static RESIZE_PAD_CONV: OpDef = OpDef::composite("resize_pad_conv_2d", |cx, values| {
    floats(&ends_of(&dtypes_of(values))?, AS_RESIZED)?;
    let operands = operand_values(cx, ["input", "size", "paddings", "filter"], values);
    let [Some(x), size, paddings, Some(filter)] = operands else { return needs("resize_pad_conv_2d") };
    let call = with_param(x.graph().op(&resize::BILINEAR).data(x), cx.attrs(), "size", size);
    let x = call.attr("align_corners", cx.attrs().bool("resize_align_corners")).finish()?;
    Ok(vec![convolve_mirrored(cx, x, paddings, filter)?])
})
.attrs(&[
    Attribute::ints("strides"),
    Attribute::str("padding"),
    Attribute::str("mode"),
    Attribute::bool_or("resize_align_corners", false),
])
.operands(&[
    Operand::Data("input"),
    Operand::Size("size"),
    Operand::Size("paddings"),
    Operand::Data("filter"),
])
.dtype_rule(|dtypes, _| floats(&ends_of(dtypes)?, AS_RESIZED))
.tensorflow(&[TfOp::new("FusedResizeAndPadConv2D").pairs(&["paddings"])]);

/// The activations that TensorFlow's kernel computes after a product.
const AFTER_MATMUL: &[&str] = &["Relu", "Relu6", "Elu", "LeakyRelu", "Tanh", "Sigmoid"];
/// The activations that TensorFlow's kernel computes after a convolution.
const AFTER_CONV: &[&str] = &["Relu", "Relu6", "Elu", "LeakyRelu"];

fn needs<T>(op: &str) -> Result<T> {
    Err(Error::msg(format!("{op} got another number of operands than it declares")))
}

/// The dtypes that TensorFlow's kernels have.
const AS_MATMUL: &[DType] = &[DType::F16, DType::BF16, DType::F32];
const AS_CONV: &[DType] = &[DType::F32, DType::F64];
const AS_PADDED: &[DType] = &[DType::F16, DType::BF16, DType::F32, DType::F64];
/// TensorFlow also resizes f16 and f64, in the precision of these dtypes.
const AS_RESIZED: &[DType] = &[DType::F32];

/// Checks that there is one dtype, which is in `allowed`. Returns the dtype of the output.
fn floats(dtypes: &[DType], allowed: &[DType]) -> Result<Vec<DType>> {
    let dtype = dtype::common(dtypes, 0, dtypes.len(), dtype::Class::Float)?;
    if allowed.contains(&dtype) {
        return Ok(vec![dtype]);
    }
    let names: Vec<String> = allowed.iter().map(DType::to_string).collect();
    dtype::refuse(format!("the element type must be one of {}, got {dtype}", names.join(", ")))
}

fn dtypes_of(values: &[Value<'_>]) -> Vec<DType> {
    values.iter().map(|value| value.dtype()).collect()
}

/// Returns the dtypes of the images and of the filter: the first and the last operand.
///
/// # Errors
/// An operand between them, which is a list of sizes, has no integers.
fn ends_of(dtypes: &[DType]) -> Result<Vec<DType>> {
    let [first, parameters @ .., last] = dtypes else { return Ok(dtypes.to_vec()) };
    for parameter in parameters {
        if !matches!(parameter, DType::I32 | DType::I64) {
            return dtype::refuse(format!("sizes and paddings must be i32 or i64, got {parameter}"));
        }
    }
    Ok(vec![*first, *last])
}

/// Returns images and a filter of all their channels.
///
/// # Errors
/// A rank is not 4, or the numbers of channels differ.
fn of_one_group<'g>(x: Value<'g>, filter: Value<'g>) -> Result<(Value<'g>, Value<'g>)> {
    let x = of_rank(x, 4, "the input of a convolution")?;
    let filter = of_rank(filter, 4, "the filter of a convolution")?;
    let mut sizes = dims_of(filter);
    sizes[2] = dims_of(x)[3].clone();
    Ok((x, with_shape("the channels of the filter and the images", filter, &sizes)?))
}

/// Adds a parameter to a call: the attribute, or else `value`.
fn with_param<'g>(
    call: OpBuilder<'g>,
    attrs: &Attrs,
    name: &'static str,
    value: Option<Value<'g>>,
) -> OpBuilder<'g> {
    match (value, attrs.get(name)) {
        (Some(value), _) => call.size(name, value),
        (None, Some(attr)) => call.attr(name, attr.clone()),
        (None, None) => call,
    }
}

/// Mirrors the borders of images, and convolves them. As in TensorFlow, only height and width may have a border.
fn convolve_mirrored<'g>(
    cx: &CompositeCx<'_>,
    x: Value<'g>,
    paddings: Option<Value<'g>>,
    filter: Value<'g>,
) -> Result<Value<'g>> {
    let call = with_param(x.graph().op(&mirror_pad::DEF).data(x), cx.attrs(), "paddings", paddings);
    let padded = call.attr("mode", cx.attrs().str("mode")).finish()?;
    let mut sizes: Vec<Dim> = dims_of(padded);
    (sizes[0], sizes[3]) = (dims_of(x)[0].clone(), dims_of(x)[3].clone());
    let padded = with_shape("the batches and the channels of the images before and after", padded, &sizes)?;
    let (padded, filter) = of_one_group(padded, filter)?;
    let call = padded.graph().op(&conv::DEF).data(padded).data(filter);
    call.declared_attrs(cx.attrs(), &[Attribute::ints("strides"), Attribute::str("padding")]).finish()
}

/// What may follow a product or a convolution.
struct Following {
    /// The op, for errors.
    name: &'static str,
    /// Whether a normalization may take the place of the bias.
    normalizes: bool,
    activations: &'static [&'static str],
}

impl Following {
    /// Applies the ops that attribute `fused_ops` names to `y`, whose channels are the last axis.
    ///
    /// # Errors
    /// TensorFlow's kernel does not compute these ops, or they have other arguments.
    fn apply<'g>(&self, attrs: &Attrs, y: Value<'g>, args: &[Value<'g>]) -> Result<Value<'g>> {
        let ops: Vec<&str> = match attrs.get("fused_ops") {
            Some(Attr::Strs(ops)) => ops.iter().map(AsRef::as_ref).collect(),
            Some(Attr::Str(op)) => vec![op],
            _ => Vec::new(),
        };
        let y = match (ops.first(), args) {
            (Some(&"BiasAdd"), &[bias]) => y.bias_add(bias, DataFormat::ChannelsLast)?,
            (Some(&"FusedBatchNorm"), &[scale, offset, mean, variance]) if self.normalizes => {
                y.batch_norm(scale, offset, mean, variance, attrs.float("epsilon"))?
            }
            (Some(&"BiasAdd"), _) => return self.wrong_count("BiasAdd", 1, args.len()),
            (Some(&"FusedBatchNorm"), _) if self.normalizes => {
                return self.wrong_count("FusedBatchNorm", 4, args.len());
            }
            _ => return self.unknown(&ops),
        };
        match ops[1..] {
            [] => Ok(y),
            [activation] if self.activations.contains(&activation) => match activation {
                "Relu" => y.relu(),
                "Relu6" => y.relu6(),
                "Elu" => y.elu(),
                "LeakyRelu" => y.leaky_relu(attrs.float("leakyrelu_alpha")),
                "Tanh" => y.tanh(),
                _ => y.sigmoid(),
            },
            _ => self.unknown(&ops),
        }
    }

    fn wrong_count<T>(&self, op: &str, expected: usize, given: usize) -> Result<T> {
        refuse(format!(
            "{op} of {} must have {expected}, got {given}",
            self.name,
            expected = counted(expected, "argument")
        ))
    }

    fn unknown<T>(&self, ops: &[&str]) -> Result<T> {
        let first = if self.normalizes { "BiasAdd or FusedBatchNorm" } else { "BiasAdd" };
        let activations = self.activations.join(", ");
        refuse(format!("fused_ops must be {first} and at most one of {activations}, got {ops:?}"))
    }
}

#[cfg(test)]
mod tests {
    use super::{CONV, MATMUL, PAD_CONV};
    use crate::{Attr, Graph, Tensor};

    fn names(ops: &[&'static str]) -> Attr {
        Attr::Strs(ops.iter().map(|name| (*name).into()).collect())
    }

    #[test]
    fn a_product_gets_a_bias_and_an_activation() {
        let g = Graph::new();
        let a = g.constant([[1.0f32, 2.0], [-3.0, 0.5]]).unwrap();
        let (b, bias) =
            (g.constant([[1.0f32, -1.0], [2.0, 4.0]]).unwrap(), g.constant([1.0f32, -9.0]).unwrap());
        let call = |ops: &[&'static str]| {
            g.op(&MATMUL)
                .data(a)
                .data(b)
                .data(bias)
                .attr("fused_ops", names(ops))
                .attr("leakyrelu_alpha", 0.5)
        };
        let outputs =
            [call(&["BiasAdd"]), call(&["BiasAdd", "LeakyRelu"])].map(|call| call.finish().unwrap());
        let [sum, activated] = g.compile(outputs).unwrap().run(&[]).unwrap();
        let (rows, columns) = ([[1.0f32, 2.0], [-3.0, 0.5]], [[1.0f32, -1.0], [2.0, 4.0]]);
        let element =
            |i: usize, j: usize| (0..2).map(|k| rows[i][k] * columns[k][j]).sum::<f32>() + [1.0, -9.0][j];
        let expected = [0, 1].map(|i| [0, 1].map(|j| element(i, j)));
        assert_eq!(sum, Tensor::from(expected));
        let leaky = |x: f32| if x < 0.0 { x * 0.5 } else { x };
        assert_eq!(activated, Tensor::from(expected.map(|row| row.map(leaky))));
        for ops in [&["Relu"][..], &["BiasAdd", "Selu"], &["FusedBatchNorm"], &[]] {
            let error = call(ops).finish().unwrap_err();
            let expected =
                "fused_ops must be BiasAdd and at most one of Relu, Relu6, Elu, LeakyRelu, Tanh, Sigmoid";
            assert!(error.message().contains(expected), "{error}");
        }
    }

    #[test]
    fn every_image_of_a_batch_has_a_border_of_its_own() {
        let g = Graph::new();
        let x = g.constant([[[[1.0f32], [2.0]]], [[[3.0], [5.0]]]]).unwrap();
        let filter = g.constant([[[[1.0f32]], [[10.0]]]]).unwrap();
        let call = |paddings: [i64; 8]| {
            let call = g.op(&PAD_CONV).data(x).data(filter).attr("paddings", paddings);
            call.attr("mode", "SYMMETRIC").attr("strides", [1, 1, 1, 1]).attr("padding", "VALID").finish()
        };
        let [y] = g.compile(call([0, 0, 0, 0, 1, 1, 0, 0]).unwrap()).unwrap().run(&[]).unwrap();
        assert_eq!(y.to_vec::<f32>().unwrap(), [11.0, 21.0, 22.0, 33.0, 53.0, 55.0]);
        let error = call([1, 0, 0, 0, 0, 0, 0, 0]).unwrap_err();
        assert!(error.message().contains("the batches and the channels of the images"), "{error}");
    }

    #[test]
    fn a_normalization_has_four_arguments() {
        let g = Graph::new();
        let (x, filter) = (g.constant([[[[1.0f32]]]]).unwrap(), g.constant([[[[2.0f32]]]]).unwrap());
        let vector = g.constant([1.0f32]).unwrap();
        let call =
            g.op(&CONV).data(x).data(filter).data(vector).attr("fused_ops", names(&["FusedBatchNorm"]));
        let error = call.attr("strides", [1, 1, 1, 1]).attr("padding", "SAME").finish().unwrap_err();
        assert!(
            error.message().contains("FusedBatchNorm of fused_conv_2d must have 4 arguments, got 1"),
            "{error}"
        );
    }
}
