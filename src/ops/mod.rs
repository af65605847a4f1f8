//! The ops, by family.
//!
//! **In**: the arguments of builder methods. An op consists of its builder method on [`Value`](crate::Value), its
//! [`OpDef`] with dtype rule and body, and tests.
//!
//! **Out**: [`Registry::builtin`], which holds every op by name, and Rust's operators on values.
//!
//! **Who calls it**: programs call builder methods; `interchange` looks ops up by name. No other
//! top-level module names an op.
//!
//! **Absent**: shape functions, which have their own crate.
//!
//! An elementwise op is a row of a table (see `elementwise`); any other op is a file. A family's `ALL` lists its ops,
//! file by file. "Fuses into kernels" in the docs of an op means that its body is a scalar expression, which the
//! compiler fuses with its neighbors; "runs on the host" means that a Rust function computes it between kernels.

pub(crate) mod array;
#[cfg(test)]
mod attribute_checks;
pub(crate) mod audio;
pub(crate) mod broadcast;
pub(crate) mod broadcast_pair;
pub(crate) mod derived;
mod dtypes;
pub(crate) mod elementwise;
mod elementwise_in_tensorflow;
pub(crate) mod fingerprint;
pub(crate) mod gradient;
pub(crate) mod host_params;
pub(crate) mod image;
mod in_tensorflow;
pub(crate) mod integers;
pub(crate) mod key_table;
pub(crate) mod linalg;
#[cfg(feature = "graphdef")]
pub(crate) mod list;
pub(crate) mod logical;
pub(crate) mod math;
pub(crate) mod media;
pub(crate) mod nn;
mod operators;
pub(crate) mod pick_rows;
pub(crate) mod positions;
pub(crate) mod quantize;
pub(crate) mod ragged;
pub(crate) mod random;
#[cfg(test)]
mod recorded_values;
pub(crate) mod reduce;
pub(crate) mod rounding;
pub(crate) mod row_docs;
pub(crate) mod row_major;
pub(crate) mod rows;
pub(crate) mod segment;
pub(crate) mod signal;
pub(crate) mod sort;
pub(crate) mod sparse;
#[cfg(feature = "strings")]
pub(crate) mod string;
pub(crate) mod take;
#[cfg(test)]
pub(crate) mod testing;
pub(crate) mod unstable_order;
pub(crate) mod widen;
mod window_sizes;

use std::sync::LazyLock;

use rustc_hash::FxHashSet;

use crate::op::{OpDef, Registry};
pub use ragged::{IntoRaggedAxes, IntoRaggedOperand, IntoRows};

pub use array::{
    Bound, DiagonalAlign, GridOrder, IntoScalar, LookupTable, Mirror, Position, SliceItem, SliceMasks,
    WindowPadding, concat, concat_offset, dynamic_stitch, meshgrid, stack,
};
pub use audio::MfccOptions;
pub use image::{
    CombinedSuppression, DistortedBox, FillMode, Glimpse, GlimpseNoise, Interpolation, ProjectiveTransform,
    ResizeMethod, Sampling, SamplingKernel,
};
pub use linalg::einsum;
pub use math::add_n;
pub use media::{ImageDecoding, JpegDecoding, JpegEncoding};
pub use nn::{CtcLossOptions, DataFormat, FractionalPool, LstmWeights, Padding, clip_by_global_norm};
pub use quantize::{Quantization, QuantizeMode, QuantizeOptions, UniformQuantization, quantized_concat};
pub use signal::{MelScale, StftOptions, StftWindow};
pub use sparse::{SetOperation, sparse_concat};
#[cfg(feature = "strings")]
pub use string::{
    CsvOptions, ExampleFeature, FeatureList, ParsedFeature, ParsedFeatureList, PrintOptions, PrintSink,
    string_format, string_join,
};

/// The families of ops.
static FAMILIES: &[&[&[&OpDef]]] = &[
    array::ALL,
    audio::ALL,
    image::ALL,
    linalg::ALL,
    logical::ALL,
    math::ALL,
    media::ALL,
    nn::ALL,
    quantize::ALL,
    ragged::ALL,
    random::ALL,
    reduce::ALL,
    segment::ALL,
    sort::ALL,
    sparse::ALL,
    #[cfg(feature = "strings")]
    string::ALL,
];

/// Returns the ops of this crate.
fn defs() -> impl Iterator<Item = &'static OpDef> {
    FAMILIES.iter().copied().flatten().copied().flatten().copied()
}

/// Returns the op with this name among [`parts`].
#[cfg(feature = "graphdef")]
pub(crate) fn part(name: &str) -> Option<&'static OpDef> {
    parts().find(|def| def.name() == name)
}

/// Returns the ops that are only parts of composites. No registry has such an op, but a graph has it.
pub(crate) fn parts() -> impl Iterator<Item = &'static OpDef> {
    let of_arrays = [&array::as_dim::DEF, &array::ensure_broadcasts::DEF, &array::own_size::DEF];
    ragged::PARTS.iter().copied().chain(of_arrays)
}

impl OpDef {
    /// Returns whether this is an op of this crate, and not an op that the program defines.
    pub(crate) fn is_builtin(&self) -> bool {
        static ADDRESSES: LazyLock<FxHashSet<usize>> =
            LazyLock::new(|| defs().chain(parts()).map(|def| std::ptr::from_ref(def).addr()).collect());
        ADDRESSES.contains(&std::ptr::from_ref(self).addr())
    }
}

impl Registry {
    /// Returns the registry of all ops of this crate.
    pub fn builtin() -> Registry {
        static BUILTIN: LazyLock<Registry> =
            LazyLock::new(|| defs().fold(Registry::default(), Registry::with));
        BUILTIN.clone()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use crate::op::{OpRef, Operand, Registry};
    use crate::{DType, Dim, Graph};

    /// Ops that share a spelling with another op.
    const SHARED: [&str; 12] = [
        "batch_norm_training",
        "batch_norm_training_with_reserve",
        "bitcast_complex",
        "bucketize_few",
        "bucketize_many",
        "convolve_volume_windows",
        "convolve_windows",
        "dilation_2d_windows",
        "float_range",
        "matmul_to",
        "string_add",
        "sum_of_products",
    ];

    #[test]
    fn no_two_ops_share_a_name_or_a_tensorflow_spelling() {
        let (mut names, mut spellings) = (HashSet::new(), HashSet::new());
        for def in super::defs() {
            assert!(names.insert(def.name()), "two ops are named {}", def.name());
            for spelling in def.tensorflow_ops() {
                // Two ops may share a spelling if their dtypes differ: `range` takes integers, `float_range` takes
                // floats; `matmul_to` takes dtypes that `matmul` refuses, and `bitcast_complex` takes dtypes that
                // `bitcast` refuses. They may also differ in the values of an attribute: `batch_norm` takes
                // `is_training = false`, `batch_norm_training` takes `is_training = true`. A composite op imports the
                // op type that its internal part exports: `conv_2d` and `convolve_windows`, `conv_3d` and
                // `convolve_volume_windows`, `dilation_2d` and `dilation_2d_windows`, `einsum` and `sum_of_products`,
                // `bucketize` and its two parts.
                let is_new = spellings.insert(spelling.op_type);
                assert!(is_new || SHARED.contains(&def.name()), "two ops import {}", spelling.op_type);
            }
        }
        assert_eq!(Registry::builtin().iter().count(), names.len());
    }

    /// Ops that need attributes, or operands of several ranks. Tests in the files of the ops run them.
    const OF_SEVERAL_RANKS: [&str; 33] = [
        "avg_pool",
        "avg_pool_3d",
        "avg_pool_grad",
        "batch_norm",
        "batch_norm_global",
        "batch_norm_with_reserve",
        "bias_add",
        "conv_2d",
        "conv_2d_filter_grad",
        "conv_2d_input_grad",
        "conv_3d",
        "conv_3d_input_grad",
        "conv_3d_input_grad_like",
        "convolve_grouped_windows",
        "convolve_groups",
        "convolve_volume_windows",
        "convolve_windows",
        "depthwise_conv_2d",
        "dilation_2d",
        "dilation_2d_windows",
        "einsum",
        "list_as_shape",
        "lrn",
        "max_pool",
        "max_pool_3d",
        "max_pool_grad",
        "max_pool_with_argmax",
        "max_pool_with_argmax_grad",
        "positions_of_equals",
        "reduce_window",
        "sparse_softmax_cross_entropy",
        "sum_at_equals",
        "sum_of_products",
    ];

    /// For every dtype that a dtype rule accepts, and at every rank, the body must have the dtype that the rule gives.
    #[test]
    fn bodies_have_the_dtypes_of_dtype_rules() {
        let mut lowered = HashSet::new();
        let families =
            [super::linalg::ALL, super::logical::ALL, super::math::ALL, super::nn::ALL, super::reduce::ALL];
        let defs = families.into_iter().flatten().copied().flatten();
        for def in defs.filter(|def| def.lower_fn().is_some()) {
            let count = def
                .operand_list()
                .unwrap()
                .iter()
                .filter(|operand| matches!(operand, Operand::Data(_) | Operand::Variadic(_)))
                .count();
            for (dtype, rank) in DType::all().flat_map(|dtype| (0..4).map(move |rank| (dtype, rank))) {
                for first in [dtype, DType::Bool] {
                    let graph = Graph::new();
                    let mut call = graph.op(OpRef::from(*def));
                    if def.attributes().iter().any(|attribute| attribute.name() == "dtype") {
                        call = call.attr("dtype", DType::I16);
                    }
                    for operand in 0..count {
                        let shape = vec![Dim::symbol("n"); rank];
                        let dtype = if operand == 0 { first } else { dtype };
                        call = call.data(graph.input(&format!("x{operand}"), dtype, shape).unwrap());
                    }
                    let Ok(value) = call.finish() else { continue };
                    {
                        let data = graph.read();
                        let node = data.values[value.index().unwrap().index()].node;
                        if data.nodes[node.index()].op.name() != def.name() {
                            // A call on complex numbers that is made of other ops.
                            continue;
                        }
                        let template = data.template(node, 0);
                        assert!(template.is_ok(), "{}: {}", def.name(), template.err().unwrap());
                        lowered.insert(def.name());
                    }
                }
            }
            let is_lowered = lowered.contains(def.name()) || OF_SEVERAL_RANKS.contains(&def.name());
            assert!(is_lowered, "{} accepts no operands", def.name());
        }
    }
}
