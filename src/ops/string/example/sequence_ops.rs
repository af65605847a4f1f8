//! The definitions of the ops that parse serialized `SequenceExample` messages.

use shapeflow_shape_fns::{Attribute, Attrs, DType};

use super::features::{FeatureLayout, KeysByKind};
use super::table::{FeaturePlace, FeatureTable, ListTable};
use crate::dtype::{self, Class};
use crate::error::Result;
use crate::op::{HostCx, OpDef, Operand, TfOp};
use crate::ops::row_major::RowMajor;
use crate::ops::string::params::{check_strings, scalar, strings};

pub(crate) static ALL: &[&OpDef] = &[&DEF, &OF_ATTRS, &SINGLE];

/// The number of operands of [`DEF`] before the defaults.
const FIXED: usize = 9;

/// The keys are vectors, see [`Value::parse_sequence_example`](crate::Value::parse_sequence_example).
pub(super) static DEF: OpDef = OpDef::host("parse_sequence_example", |cx| {
    let keys = |first: usize| -> Result<KeysByKind<'_>> {
        let keys = [strings(cx, first)?, strings(cx, first + 1)?, strings(cx, first + 2)?];
        Ok(keys.map(|keys| keys.iter().collect()))
    };
    let (context, lists) = (keys(2)?, keys(5)?);
    let may_be_missing = cx.input(8)?.to_vec::<bool>()?;
    parse(cx, FIXED..cx.inputs(), [context, lists], &may_be_missing, true)
})
.attrs(&[
    Attribute::dtypes_or("context_sparse_types", &[]),
    Attribute::dtypes_or("context_ragged_value_types", &[]),
    Attribute::dtypes_or("context_ragged_split_types", &[]),
    Attribute::shapes_or("context_dense_shapes", &[]),
    Attribute::dtypes_or("feature_list_sparse_types", &[]),
    Attribute::dtypes_or("feature_list_dense_types", &[]),
    Attribute::dtypes_or("feature_list_ragged_value_types", &[]),
    Attribute::dtypes_or("feature_list_ragged_split_types", &[]),
    Attribute::shapes_or("feature_list_dense_shapes", &[]),
    Attribute::int("Ncontext_sparse").optional(),
    Attribute::int("Nfeature_list_sparse").optional(),
    Attribute::int("Nfeature_list_dense").optional(),
])
.operands(&[
    Operand::Data("serialized"),
    Operand::Data("debug_name"),
    Operand::Data("context_sparse_keys"),
    Operand::Data("context_dense_keys"),
    Operand::Data("context_ragged_keys"),
    Operand::Data("feature_list_sparse_keys"),
    Operand::Data("feature_list_dense_keys"),
    Operand::Data("feature_list_ragged_keys"),
    Operand::Data("feature_list_dense_missing_assumed_empty"),
    Operand::Variadic("context_dense_defaults.."),
])
.outputs(|attrs, operands| outputs(attrs, operands.saturating_sub(FIXED), true))
.shape_fn(shapeflow_shape_fns::string::parse_sequence_examples)
.dtype_rule(|operands, attrs| {
    check_strings(operands, FIXED - 1)?;
    dtype::common(operands, FIXED - 1, FIXED, Class::Bool)?;
    dtypes(attrs, operands.get(FIXED..).unwrap_or_default(), true)
})
.tensorflow(&[TfOp::new("ParseSequenceExampleV2")]);

/// An op for import only: the keys are attributes.
static OF_ATTRS: OpDef = OpDef::host("parse_sequence_example_of_attrs", |cx| {
    let keys = |name: &str| cx.attrs().byte_strings(name);
    let context = [keys("context_sparse_keys"), keys("context_dense_keys"), Vec::new()];
    let lists = [keys("feature_list_sparse_keys"), keys("feature_list_dense_keys"), Vec::new()];
    let missing = keys("feature_list_dense_missing_assumed_empty");
    let may_be_missing: Vec<bool> = lists[1].iter().map(|key| missing.contains(key)).collect();
    parse(cx, 2..cx.inputs(), [context, lists], &may_be_missing, true)
})
.attrs(&[
    Attribute::byte_strings_or("context_sparse_keys", &[]),
    Attribute::byte_strings_or("context_dense_keys", &[]),
    Attribute::byte_strings_or("feature_list_sparse_keys", &[]),
    Attribute::byte_strings_or("feature_list_dense_keys", &[]),
    Attribute::byte_strings_or("feature_list_dense_missing_assumed_empty", &[]),
    Attribute::dtypes_or("context_sparse_types", &[]),
    Attribute::dtypes_or("context_ragged_value_types", &[]),
    Attribute::dtypes_or("context_ragged_split_types", &[]),
    Attribute::shapes_or("context_dense_shapes", &[]),
    Attribute::dtypes_or("feature_list_sparse_types", &[]),
    Attribute::dtypes_or("feature_list_dense_types", &[]),
    Attribute::dtypes_or("feature_list_ragged_value_types", &[]),
    Attribute::dtypes_or("feature_list_ragged_split_types", &[]),
    Attribute::shapes_or("feature_list_dense_shapes", &[]),
    Attribute::int("Ncontext_sparse").optional(),
    Attribute::int("Nfeature_list_sparse").optional(),
    Attribute::int("Nfeature_list_dense").optional(),
])
.operands(&[
    Operand::Data("serialized"),
    Operand::Data("debug_name"),
    Operand::Variadic("context_dense_defaults.."),
])
.outputs(|attrs, operands| outputs(attrs, operands.saturating_sub(2), true))
.shape_fn(shapeflow_shape_fns::string::parse_sequence_examples_of_attrs)
.dtype_rule(|operands, attrs| {
    check_strings(operands, 2)?;
    dtypes(attrs, operands.get(2..).unwrap_or_default(), true)
})
.tensorflow(&[TfOp::new("ParseSequenceExample")]);

/// An op for import only: one example. Each key is an operand.
static SINGLE: OpDef = OpDef::host("parse_single_sequence_example", |cx| {
    let counts = SingleCounts::new(cx.attrs(), cx.inputs());
    let [sparse, dense, list_sparse, list_dense] = counts.keys();
    let keys =
        |range: std::ops::Range<usize>| range.map(|operand| scalar(cx, operand)).collect::<Result<Vec<_>>>();
    let context = [keys(sparse)?, keys(dense)?, Vec::new()];
    let lists = [keys(list_sparse)?, keys(list_dense)?, Vec::new()];
    let missing: Vec<&[u8]> = strings(cx, 1)?.iter().collect();
    let may_be_missing: Vec<bool> = lists[1].iter().map(|key| missing.contains(key)).collect();
    parse(cx, counts.defaults(), [context, lists], &may_be_missing, false)
})
.attrs(&[
    Attribute::dtypes_or("context_sparse_types", &[]),
    Attribute::dtypes_or("context_ragged_value_types", &[]),
    Attribute::dtypes_or("context_ragged_split_types", &[]),
    Attribute::shapes_or("context_dense_shapes", &[]),
    Attribute::dtypes_or("feature_list_sparse_types", &[]),
    Attribute::dtypes_or("feature_list_dense_types", &[]),
    Attribute::dtypes_or("feature_list_ragged_value_types", &[]),
    Attribute::dtypes_or("feature_list_ragged_split_types", &[]),
    Attribute::shapes_or("feature_list_dense_shapes", &[]),
    Attribute::int("Ncontext_sparse").optional(),
    Attribute::int("Nfeature_list_sparse").optional(),
    Attribute::int("Nfeature_list_dense").optional(),
])
.operands(&[
    Operand::Data("serialized"),
    Operand::Data("feature_list_dense_missing_assumed_empty"),
    Operand::Variadic("operands.."),
    Operand::Data("debug_name"),
])
.outputs(|attrs, operands| outputs(attrs, SingleCounts::new(attrs, operands).dense, false))
.shape_fn(shapeflow_shape_fns::string::parse_single_sequence_example)
.dtype_rule(|operands, attrs| {
    let defaults = SingleCounts::new(attrs, operands.len()).defaults();
    check_strings(operands, defaults.start)?;
    check_strings(operands.get(defaults.end..).unwrap_or_default(), 1)?;
    dtypes(attrs, operands.get(defaults).unwrap_or_default(), false)
})
.tensorflow(&[TfOp::new("ParseSingleSequenceExample")]);

/// The numbers of features in a call of [`SINGLE`].
struct SingleCounts {
    sparse: usize,
    dense: usize,
    list_sparse: usize,
    list_dense: usize,
}

impl SingleCounts {
    fn new(attrs: &Attrs, operands: usize) -> SingleCounts {
        let count = |name| attrs.dtypes(name).len();
        let (sparse, list_sparse) = (count("context_sparse_types"), count("feature_list_sparse_types"));
        let list_dense = count("feature_list_dense_types");
        // Each dense feature of the context has two operands: a key and a default.
        let dense = operands.saturating_sub(3 + sparse + list_sparse + list_dense) / 2;
        SingleCounts { sparse, dense, list_sparse, list_dense }
    }

    /// Returns the operands that are keys: of the sparse and the dense features of the context, then of the lists.
    fn keys(&self) -> [std::ops::Range<usize>; 4] {
        let mut next = 2;
        [self.sparse, self.dense, self.list_sparse, self.list_dense].map(|count| {
            next += count;
            next - count..next
        })
    }

    /// Returns the operands that are defaults. The operand `debug_name` follows them.
    fn defaults(&self) -> std::ops::Range<usize> {
        let first = self.keys()[3].end;
        first..first + self.dense
    }
}

/// Returns the layouts of the context and of the feature lists. `dense` is the number of dense features of the context.
/// `has_list_lengths` tells whether the op returns the lengths of the dense lists too, as an op on a batch does.
fn layouts(attrs: &Attrs, dense: usize, has_list_lengths: bool) -> [FeatureLayout<'_>; 2] {
    let list_dense = attrs.dtypes("feature_list_dense_types").len();
    let lists = FeatureLayout::new(attrs, "feature_list_", list_dense);
    [FeatureLayout::new(attrs, "context_", dense), lists.nested(has_list_lengths)]
}

fn outputs(attrs: &Attrs, dense: usize, has_list_lengths: bool) -> usize {
    layouts(attrs, dense, has_list_lengths).iter().map(FeatureLayout::outputs).sum()
}

/// Returns the dtypes of the outputs. `defaults` has the dtypes of the dense features of the context.
fn dtypes(attrs: &Attrs, defaults: &[DType], has_list_lengths: bool) -> Result<Vec<DType>> {
    let [context, lists] = layouts(attrs, defaults.len(), has_list_lengths);
    let dense = attrs.dtypes("feature_list_dense_types");
    Ok([context.dtypes(defaults)?, lists.dtypes(dense)?].concat())
}

/// Parses the messages of operand 0. `keys` has the keys of the context and of the feature lists, and the operands
/// `defaults` are the defaults of the dense features of the context.
fn parse(
    cx: &mut HostCx<'_>,
    defaults: std::ops::Range<usize>,
    keys: [KeysByKind<'_>; 2],
    may_be_missing: &[bool],
    has_list_lengths: bool,
) -> Result<()> {
    let defaults: Vec<RowMajor<'_>> =
        defaults.map(|operand| RowMajor::new(cx.input(operand)?)).collect::<Result<_>>()?;
    let [context, lists] = layouts(cx.attrs(), defaults.len(), has_list_lengths);
    let [context_keys, list_keys] = keys;
    let mut features = FeatureTable::new(context.features(context_keys, &defaults)?);
    let dtypes = cx.attrs().dtypes("feature_list_dense_types").iter().copied();
    let mut rows = ListTable::new(lists.lists(list_keys, dtypes.zip(may_be_missing.iter().copied()))?);
    let (messages, is_batch) = (strings(cx, 0)?, !cx.input(0)?.sizes().is_empty());
    for (number, message) in messages.iter().enumerate() {
        let place =
            FeaturePlace { message: "SequenceExample", example: is_batch.then_some(number), row: None };
        features.append(message, place)?;
        rows.append(message, place)?;
    }
    context.set_features(cx, 0, features.features, &defaults, is_batch, &[])?;
    lists.set_lists(cx, context.outputs(), rows.lists, is_batch)
}
