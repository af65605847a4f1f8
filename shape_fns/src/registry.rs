//! [`lookup`]: the shape function of a TensorFlow op type.

use std::sync::LazyLock;

use crate::{
    ShapeFn, array, common, control, ctc, image, linalg, math, nn, quantize, ragged, random, reduce, segment,
    sparse, string,
};

/// How a TensorFlow op is read by a shape function.
#[derive(Clone, Copy, Debug)]
pub struct Registered {
    /// TensorFlow's op type.
    pub op: &'static str,
    /// The names of the operands in TensorFlow's order; one that ends in `..` stands for any number.
    pub operands: &'static [&'static str],
    /// Attributes that have another name here: TensorFlow's, then ours.
    pub attrs: &'static [(&'static str, &'static str)],
    /// The number of outputs; `None` where attributes or operands decide it.
    pub outputs: Option<usize>,
    /// The shape function.
    pub shape_fn: ShapeFn,
}

impl Registered {
    pub(crate) const fn renamed(mut self, attrs: &'static [(&'static str, &'static str)]) -> Registered {
        self.attrs = attrs;
        self
    }

    pub(crate) const fn outputs(mut self, outputs: Option<usize>) -> Registered {
        self.outputs = outputs;
        self
    }
}

/// The shape function of this TensorFlow op type.
///
/// ```
/// let tile = shapeflow_shape_fns::lookup("Tile").ok_or("unknown op")?;
/// assert_eq!(tile.operands, ["x", "multiples"]);
/// # Ok::<(), &str>(())
/// ```
pub fn lookup(tf_op: &str) -> Option<&'static Registered> {
    let all = registered();
    all.binary_search_by(|row| row.op.cmp(tf_op)).ok().and_then(|position| all.get(position))
}

/// Every registered op, in the order of op types.
pub fn registered() -> &'static [Registered] {
    static ALL: LazyLock<Vec<Registered>> = LazyLock::new(|| {
        let mut all = FAMILIES.concat();
        all.sort_unstable_by_key(|row| row.op);
        all
    });
    &ALL
}

/// A row of a family's table: one output, attributes of TensorFlow's names.
pub(crate) const fn row(
    op: &'static str,
    operands: &'static [&'static str],
    shape_fn: ShapeFn,
) -> Registered {
    Registered { op, operands, attrs: &[], outputs: Some(1), shape_fn }
}

/// The tables of all families; an op stands in one of them.
#[rustfmt::skip]
static FAMILIES: &[&[Registered]] = &[
    TABLE,
    array::OPS,
    control::OPS,
    ctc::OPS,
    image::OPS,
    linalg::OPS,
    math::OPS,
    nn::OPS,
    quantize::OPS,
    ragged::OPS,
    random::OPS,
    segment::OPS,
    sparse::OPS,
    string::OPS,
];

#[rustfmt::skip]
static TABLE: &[Registered] = &[
    row("Abs", &["x"], common::unary),
    row("Acos", &["x"], common::unary),
    row("Acosh", &["x"], common::unary),
    row("Add", &["x", "y"], math::add),
    row("AddV2", &["x", "y"], math::add),
    row("All", &["input", "axis"], reduce::reduce),
    row("Angle", &["x"], common::unary),
    row("Any", &["input", "axis"], reduce::reduce),
    row("ApproximateEqual", &["x", "y"], common::same_shape),
    row("ArgMax", &["input", "axis"], reduce::argmax),
    row("ArgMin", &["input", "axis"], reduce::argmin),
    row("Asin", &["x"], common::unary),
    row("Asinh", &["x"], common::unary),
    row("Atan", &["x"], common::unary),
    row("Atan2", &["y", "x"], common::broadcast),
    row("Atanh", &["x"], common::unary),
    row("BatchMatMul", &["a", "b"], linalg::matmul_same_batch),
    row("BatchMatMulV2", &["a", "b"], linalg::matmul),
    row("BatchMatMulV3", &["a", "b"], linalg::matmul),
    row("BesselI0e", &["x"], common::unary),
    row("BesselI1e", &["x"], common::unary),
    row("Bitcast", &["x"], array::bitcast).renamed(&[("type", "dtype")]),
    row("BitwiseAnd", &["x", "y"], common::broadcast),
    row("BitwiseOr", &["x", "y"], common::broadcast),
    row("BitwiseXor", &["x", "y"], common::broadcast),
    row("BroadcastTo", &["x", "shape"], array::broadcast_to),
    row("Cast", &["x"], math::cast).renamed(&[("DstT", "dtype")]),
    row("Ceil", &["x"], common::unary),
    row("CheckNumerics", &["x"], common::unary),
    row("ClipByValue", &["x", "min", "max"], math::clip_by_value),
    row("Complex", &["x", "y"], common::broadcast),
    row("Concat", &["axis", "values.."], array::concat),
    row("ConcatV2", &["values..", "axis"], array::concat),
    row("Conj", &["x"], common::unary),
    row("ConjugateTranspose", &["x", "perm"], array::transpose),
    row("Cos", &["x"], common::unary),
    row("Cosh", &["x"], common::unary),
    row("Cumprod", &["x", "axis"], array::cumsum),
    row("Cumsum", &["x", "axis"], array::cumsum),
    row("CumulativeLogsumexp", &["x", "axis"], array::cumsum),
    row("Digamma", &["x"], common::unary),
    row("Div", &["x", "y"], math::truncatediv),
    row("DivNoNan", &["x", "y"], common::broadcast),
    row("Elu", &["x"], common::unary),
    row("Equal", &["x", "y"], math::equal),
    row("Erf", &["x"], common::unary),
    row("Erfc", &["x"], common::unary),
    row("Erfinv", &["x"], common::unary),
    row("EuclideanNorm", &["input", "axis"], reduce::reduce),
    row("Exp", &["x"], common::unary),
    row("ExpandDims", &["x", "axis"], array::expand_dims),
    row("Expm1", &["x"], common::unary),
    row("Fill", &["dims", "value"], array::fill),
    row("Floor", &["x"], common::unary),
    row("FloorDiv", &["x", "y"], math::floordiv),
    row("FloorMod", &["x", "y"], math::floormod),
    row("Gather", &["params", "indices"], array::gather),
    row("GatherV2", &["params", "indices", "axis"], array::gather),
    row("Greater", &["x", "y"], math::greater),
    row("GreaterEqual", &["x", "y"], math::greater_equal),
    row("Identity", &["x"], array::identity),
    row("IdentityN", &["x.."], array::identity_n).outputs(None),
    row("Igamma", &["a", "x"], common::broadcast),
    row("Igammac", &["a", "x"], common::broadcast),
    row("Imag", &["x"], common::unary),
    row("Inv", &["x"], common::unary),
    row("Invert", &["x"], common::unary),
    row("IsFinite", &["x"], common::unary),
    row("IsInf", &["x"], common::unary),
    row("IsNan", &["x"], common::unary),
    row("LeakyRelu", &["x"], common::unary),
    row("Less", &["x", "y"], math::less),
    row("LessEqual", &["x", "y"], math::less_equal),
    row("Lgamma", &["x"], common::unary),
    row("Log", &["x"], common::unary),
    row("Log1p", &["x"], common::unary),
    row("LogSoftmax", &["logits"], nn::softmax),
    row("LogicalAnd", &["x", "y"], common::broadcast),
    row("LogicalNot", &["x"], common::unary),
    row("LogicalOr", &["x", "y"], common::broadcast),
    row("MatMul", &["a", "b"], linalg::matmul_2d),
    row("Max", &["input", "axis"], reduce::max),
    row("Maximum", &["x", "y"], math::maximum),
    row("Mean", &["input", "axis"], reduce::reduce),
    row("Min", &["input", "axis"], reduce::min),
    row("Minimum", &["x", "y"], math::minimum),
    row("MirrorPad", &["x", "paddings"], array::pad),
    row("Mod", &["x", "y"], math::truncatemod),
    row("Mul", &["x", "y"], math::mul),
    row("MulNoNan", &["x", "y"], common::broadcast),
    row("Ndtri", &["x"], common::unary),
    row("Neg", &["x"], math::neg),
    row("NotEqual", &["x", "y"], math::not_equal),
    row("OneHot", &["indices", "depth", "on_value", "off_value"], array::one_hot),
    row("OnesLike", &["x"], common::unary),
    row("Pack", &["values.."], array::stack),
    row("Pad", &["x", "paddings"], array::pad),
    row("PadV2", &["x", "paddings", "constant_values"], array::pad),
    row("Pow", &["x", "y"], common::broadcast),
    row("PreventGradient", &["x"], common::unary),
    row("Prod", &["input", "axis"], reduce::prod),
    row("Range", &["start", "limit", "delta"], array::range),
    row("Rank", &["x"], array::rank),
    row("Real", &["x"], common::unary),
    row("RealDiv", &["x", "y"], common::broadcast),
    row("Reciprocal", &["x"], common::unary),
    row("Relu", &["x"], common::unary),
    row("Relu6", &["x"], common::unary),
    row("Reshape", &["x", "shape"], array::reshape),
    row("Reverse", &["x", "dims"], array::reverse_by_flags),
    row("ReverseV2", &["x", "axis"], array::reverse),
    row("Rint", &["x"], common::unary),
    row("Round", &["x"], common::unary),
    row("Rsqrt", &["x"], common::unary),
    row("Select", &["condition", "x", "y"], math::select_v1),
    row("SelectV2", &["condition", "x", "y"], math::select),
    row("Selu", &["x"], common::unary),
    row("Shape", &["x"], array::shape),
    row("ShapeN", &["x.."], array::shape_n).outputs(None),
    row("Sigmoid", &["x"], common::unary),
    row("Sign", &["x"], common::unary),
    row("Sin", &["x"], common::unary),
    row("Sinh", &["x"], common::unary),
    row("Size", &["x"], array::size),
    row("Slice", &["x", "begin", "size"], array::slice),
    row("Snapshot", &["x"], array::identity),
    row("Softmax", &["logits"], nn::softmax),
    row("Softplus", &["x"], common::unary),
    row("Softsign", &["x"], common::unary),
    row("Split", &["axis", "x"], array::split).outputs(None),
    row("SplitV", &["x", "size_splits", "axis"], array::split_v).outputs(None),
    row("Sqrt", &["x"], common::unary),
    row("Square", &["x"], common::unary),
    row("SquaredDifference", &["x", "y"], common::broadcast),
    row("Squeeze", &["x"], array::squeeze).renamed(&[("squeeze_dims", "axis")]),
    row("StopGradient", &["x"], array::identity),
    row("StridedSlice", &["x", "begin", "end", "strides"], array::strided_slice),
    row("Sub", &["x", "y"], math::sub),
    row("Sum", &["input", "axis"], reduce::sum),
    row("Tan", &["x"], common::unary),
    row("Tanh", &["x"], common::unary),
    row("Tile", &["x", "multiples"], array::tile),
    row("Transpose", &["x", "perm"], array::transpose),
    row("TruncateDiv", &["x", "y"], math::truncatediv),
    row("TruncateMod", &["x", "y"], math::truncatemod),
    row("Unique", &["x"], array::unique).outputs(Some(2)),
    row("UniqueWithCounts", &["x"], array::unique_with_counts).outputs(Some(3)),
    row("Unpack", &["x"], array::unstack).outputs(None),
    row("Where", &["condition"], array::where_indices),
    row("Xdivy", &["x", "y"], common::broadcast),
    row("Xlogy", &["x", "y"], common::broadcast),
    row("ZerosLike", &["x"], common::unary),
    row("Zeta", &["x", "y"], common::broadcast),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_op_stands_in_one_row_and_is_found() {
        let all = registered();
        let twice = all.windows(2).find(|pair| pair[0].op >= pair[1].op);
        assert!(twice.is_none(), "{twice:?}");
        assert!(all.iter().all(|row| lookup(row.op).is_some_and(|found| found.op == row.op)));
        assert!(lookup("NoSuchOp").is_none());
    }
}
