//! The definitions of the ops that parse serialized `Example` messages.

use shapeflow_shape_fns::{Attribute, Attrs, DType};

use super::features::{FeatureLayout, KeysByKind};
use super::table::{FeaturePlace, FeatureTable};
use crate::error::Result;
use crate::op::{HostCx, OpDef, Operand, TfOp};
use crate::ops::row_major::RowMajor;
use crate::ops::string::params::{attribute_error, check_strings, scalar, strings};

pub(crate) static ALL: &[&OpDef] = &[&DEF, &BY_KEYS, &SINGLE];

/// The features of the keys in three vectors, see [`Value::parse_example`](crate::Value::parse_example).
pub(super) static DEF: OpDef = OpDef::host("parse_example", |cx| {
    let keys = [strings(cx, 2)?, strings(cx, 3)?, strings(cx, 4)?];
    parse(cx, 5, keys.map(|keys| keys.iter().collect()))
})
.attrs(&[
    Attribute::dtypes_or("sparse_types", &[]),
    Attribute::dtypes_or("ragged_value_types", &[]),
    Attribute::dtypes_or("ragged_split_types", &[]),
    Attribute::shapes_or("dense_shapes", &[]),
    Attribute::int("num_sparse").optional(),
])
.operands(&[
    Operand::Data("serialized"),
    Operand::Data("names"),
    Operand::Data("sparse_keys"),
    Operand::Data("dense_keys"),
    Operand::Data("ragged_keys"),
    Operand::Variadic("dense_defaults.."),
])
.outputs(|attrs, operands| outputs(attrs, 5, operands))
.shape_fn(shapeflow_shape_fns::string::parse_examples)
.dtype_rule(|operands, attrs| dtypes(operands, attrs, 5))
.tensorflow(&[TfOp::new("ParseExampleV2")]);

/// An op for import only: each key is an operand. The numbers of keys are attributes.
static BY_KEYS: OpDef = OpDef::host("parse_example_by_keys", |cx| {
    let keys = key_counts(cx.attrs())?;
    let key = |number: usize| scalar(cx, 2 + number);
    let sparse = (0..keys[0]).map(key).collect::<Result<Vec<_>>>()?;
    let dense = (keys[0]..keys[0] + keys[1]).map(key).collect::<Result<Vec<_>>>()?;
    parse(cx, 2 + keys.iter().sum::<usize>(), [sparse, dense, Vec::new()])
})
.attrs(&[
    Attribute::int_or("Nsparse", 0),
    Attribute::int_or("Ndense", 0),
    Attribute::dtypes_or("sparse_types", &[]),
    Attribute::dtypes_or("ragged_value_types", &[]),
    Attribute::dtypes_or("ragged_split_types", &[]),
    Attribute::shapes_or("dense_shapes", &[]),
])
.operands(&[Operand::Data("serialized"), Operand::Data("names"), Operand::Variadic("operands..")])
.outputs(|attrs, operands| {
    let keys = key_counts(attrs).map_or(0, |keys| keys.iter().sum());
    outputs(attrs, 2 + keys, operands)
})
.shape_fn(shapeflow_shape_fns::string::parse_examples_by_keys)
.dtype_rule(|operands, attrs| {
    let keys = key_counts(attrs)?.iter().sum::<usize>();
    dtypes(operands, attrs, 2 + keys)
})
.tensorflow(&[TfOp::new("ParseExample")]);

/// An op for import only: one example, whose keys are attributes.
static SINGLE: OpDef = OpDef::host("parse_single_example", |cx| {
    let (sparse, dense) = (cx.attrs().byte_strings("sparse_keys"), cx.attrs().byte_strings("dense_keys"));
    parse(cx, 1, [sparse, dense, Vec::new()])
})
.attrs(&[
    Attribute::byte_strings_or("sparse_keys", &[]),
    Attribute::byte_strings_or("dense_keys", &[]),
    Attribute::dtypes_or("sparse_types", &[]),
    Attribute::dtypes_or("ragged_value_types", &[]),
    Attribute::dtypes_or("ragged_split_types", &[]),
    Attribute::shapes_or("dense_shapes", &[]),
])
.operands(&[Operand::Data("serialized"), Operand::Variadic("dense_defaults..")])
.outputs(|attrs, operands| outputs(attrs, 1, operands))
.shape_fn(shapeflow_shape_fns::string::parse_single_example)
.dtype_rule(|operands, attrs| dtypes(operands, attrs, 1))
.tensorflow(&[TfOp::new("ParseSingleExample")]);

/// Returns the numbers of sparse and of dense keys.
fn key_counts(attrs: &Attrs) -> Result<[usize; 2]> {
    let count = |name| {
        let count = attrs.int(name);
        usize::try_from(count)
            .ok()
            .filter(|count| *count <= 1 << 16)
            .ok_or_else(|| attribute_error(format!("{name} must be in [0, 65536], got {count}")))
    };
    Ok([count("Nsparse")?, count("Ndense")?])
}

/// Returns the number of outputs of a call whose defaults are the operands from `first_default` on.
fn outputs(attrs: &Attrs, first_default: usize, operands: usize) -> usize {
    FeatureLayout::new(attrs, "", operands.saturating_sub(first_default)).outputs()
}

/// The dtype rule of a call whose defaults are the operands from `first_default` on. All operands before are strings.
fn dtypes(operands: &[DType], attrs: &Attrs, first_default: usize) -> Result<Vec<DType>> {
    check_strings(operands, first_default)?;
    let dense = operands.get(first_default..).unwrap_or_default();
    FeatureLayout::new(attrs, "", dense.len()).dtypes(dense)
}

/// Parses the messages of operand 0. `keys` has the keys of the features, and the operands from `first_default` on are
/// the defaults of the dense ones.
fn parse(cx: &mut HostCx<'_>, first_default: usize, keys: KeysByKind<'_>) -> Result<()> {
    let defaults: Vec<RowMajor<'_>> = (first_default..cx.inputs())
        .map(|operand| RowMajor::new(cx.input(operand)?))
        .collect::<Result<_>>()?;
    let layout = FeatureLayout::new(cx.attrs(), "", defaults.len());
    let mut table = FeatureTable::new(layout.features(keys, &defaults)?);
    let (messages, is_batch) = (strings(cx, 0)?, !cx.input(0)?.sizes().is_empty());
    for (number, message) in messages.iter().enumerate() {
        let example = is_batch.then_some(number);
        table.append(message, FeaturePlace { message: "Example", example, row: None })?;
    }
    // One example has no row splits: its values are one row.
    layout.set_features(cx, 0, table.features, &defaults, is_batch, &[0])
}
