//! Ops that parse serialized `Example` messages: the definitions, and the functions that make tensors of the values.

use shapeflow_shape_fns::{Attribute, Attrs, DType, TensorShape};

use super::elements::Elements;
use super::table::{Arity, Feature, FeatureTable};
use crate::dtype;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::op::{HostCx, OpDef, Operand, TfOp};
use crate::ops::row_major::RowMajor;
use crate::ops::string::params::{check_strings, scalar, strings};
use crate::tensor::{Tensor, TensorView};

pub(crate) static ALL: &[&OpDef] = &[&DEF, &BY_KEYS, &SINGLE];

/// The features of the keys in three vectors, see [`Value::parse_example`](crate::Value::parse_example).
pub(super) static DEF: OpDef = OpDef::host("parse_example", |cx| {
    let layout = Layout::new(cx.attrs(), 5, cx.inputs());
    let [sparse, dense, ragged] = [strings(cx, 2)?, strings(cx, 3)?, strings(cx, 4)?];
    let keys = [sparse, dense, ragged].map(|keys| keys.iter().collect::<Vec<_>>());
    parse(cx, &layout, keys)
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
.outputs(|attrs, operands| Layout::new(attrs, 5, operands).outputs())
.shape_fn(shapeflow_shape_fns::string::parse_examples)
.dtype_rule(|operands, attrs| {
    check_strings(operands, 5)?;
    Layout::new(attrs, 5, operands.len()).dtypes(operands)
})
.tensorflow(&[TfOp::new("ParseExampleV2")]);

/// An op for import only: each key is an operand. The numbers of keys are attributes.
static BY_KEYS: OpDef = OpDef::host("parse_example_by_keys", |cx| {
    let keys = key_counts(cx.attrs())?;
    let layout = Layout::new(cx.attrs(), 2 + keys.iter().sum::<usize>(), cx.inputs());
    let key = |number: usize| scalar(cx, 2 + number);
    let sparse = (0..keys[0]).map(key).collect::<Result<Vec<_>>>()?;
    let dense = (keys[0]..keys[0] + keys[1]).map(key).collect::<Result<Vec<_>>>()?;
    parse(cx, &layout, [sparse, dense, Vec::new()])
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
    Layout::new(attrs, 2 + keys, operands).outputs()
})
.shape_fn(shapeflow_shape_fns::string::parse_examples_by_keys)
.dtype_rule(|operands, attrs| {
    let keys = key_counts(attrs)?.iter().sum::<usize>();
    check_strings(operands, 2 + keys)?;
    Layout::new(attrs, 2 + keys, operands.len()).dtypes(operands)
})
.tensorflow(&[TfOp::new("ParseExample")]);

/// An op for import only: one example, whose keys are attributes.
static SINGLE: OpDef = OpDef::host("parse_single_example", |cx| {
    let layout = Layout::new(cx.attrs(), 1, cx.inputs());
    let (sparse, dense) = (texts(cx.attrs(), "sparse_keys"), texts(cx.attrs(), "dense_keys"));
    parse(cx, &layout, [sparse, dense, Vec::new()])
})
.attrs(&[
    Attribute::strs_or("sparse_keys", &[]),
    Attribute::strs_or("dense_keys", &[]),
    Attribute::dtypes_or("sparse_types", &[]),
    Attribute::dtypes_or("ragged_value_types", &[]),
    Attribute::dtypes_or("ragged_split_types", &[]),
    Attribute::shapes_or("dense_shapes", &[]),
])
.operands(&[Operand::Data("serialized"), Operand::Variadic("dense_defaults..")])
.outputs(|attrs, operands| Layout::new(attrs, 1, operands).outputs())
.shape_fn(shapeflow_shape_fns::string::parse_single_example)
.dtype_rule(|operands, attrs| {
    check_strings(operands, 1)?;
    Layout::new(attrs, 1, operands.len()).dtypes(operands)
})
.tensorflow(&[TfOp::new("ParseSingleExample")]);

/// Returns the numbers of sparse and of dense keys.
fn key_counts(attrs: &Attrs) -> Result<[usize; 2]> {
    let count = |name| {
        let count = attrs.int(name);
        usize::try_from(count)
            .ok()
            .filter(|count| *count <= 1 << 16)
            .ok_or_else(|| attribute(format!("{name} must be in [0, 65536], got {count}")))
    };
    Ok([count("Nsparse")?, count("Ndense")?])
}

fn attribute(message: String) -> Error {
    Error::new(ErrorKind::Attribute, Phase::Build, message)
}

/// Returns the strings of attribute `name`.
fn texts<'a>(attrs: &'a Attrs, name: &str) -> Vec<&'a [u8]> {
    attrs.strs(name).into_iter().map(str::as_bytes).collect()
}

/// The numbers and the dtypes of the features of each kind in a call.
struct Layout<'a> {
    sparse: &'a [DType],
    ragged: &'a [DType],
    splits: &'a [DType],
    /// The operands that are defaults of dense features.
    defaults: std::ops::Range<usize>,
}

impl<'a> Layout<'a> {
    fn new(attrs: &'a Attrs, first_default: usize, operands: usize) -> Layout<'a> {
        Layout {
            sparse: attrs.dtypes("sparse_types"),
            ragged: attrs.dtypes("ragged_value_types"),
            splits: attrs.dtypes("ragged_split_types"),
            defaults: first_default..operands.max(first_default),
        }
    }

    fn outputs(&self) -> usize {
        3 * self.sparse.len() + self.defaults.len() + 2 * self.ragged.len()
    }

    /// Returns the dtypes of the outputs.
    ///
    /// # Errors
    /// The dtype of a feature is not i64, f32 or string, the dtype of row splits is not i32 or i64, or there is not one
    /// dtype of row splits for each ragged feature.
    fn dtypes(&self, operands: &[DType]) -> Result<Vec<DType>> {
        let dense = operands.get(self.defaults.clone()).unwrap_or_default();
        for dtype in self.sparse.iter().chain(dense).chain(self.ragged) {
            if !matches!(dtype, DType::I64 | DType::F32 | DType::String) {
                return dtype::refuse(format!(
                    "the values of a feature must be i64, f32 or string, got {dtype}"
                ));
            }
        }
        if self.splits.len() != self.ragged.len() {
            let message = "each ragged feature must have a dtype of its row splits, got";
            return Err(attribute(format!("{message} {} for {}", self.splits.len(), self.ragged.len())));
        }
        if let Some(other) = self.splits.iter().find(|dtype| !matches!(dtype, DType::I32 | DType::I64)) {
            return dtype::refuse(format!("row splits must be i32 or i64, got {other}"));
        }
        let indices = std::iter::repeat_n(DType::I64, self.sparse.len());
        let sparse = indices.clone().chain(self.sparse.iter().copied()).chain(indices);
        let ragged = self.ragged.iter().chain(self.splits).copied();
        Ok(sparse.chain(dense.iter().copied()).chain(ragged).collect())
    }
}

fn parse(cx: &mut HostCx<'_>, layout: &Layout<'_>, keys: [Vec<&[u8]>; 3]) -> Result<()> {
    let shapes = cx.attrs().shapes("dense_shapes");
    let counts = [layout.sparse.len(), layout.defaults.len(), layout.ragged.len()];
    if keys.each_ref().map(Vec::len) != counts {
        let message = "there must be a key for each sparse, dense and ragged feature, got";
        let lens = keys.map(|keys| keys.len());
        return Err(Error::new(ErrorKind::Shape, Phase::Run, format!("{message} {lens:?} for {counts:?}")));
    }
    if shapes.len() != counts[1] {
        let message = format!(
            "dense_shapes must have {} shapes, one for each dense feature, got {}",
            counts[1],
            shapes.len()
        );
        return Err(Error::new(ErrorKind::Shape, Phase::Run, message));
    }
    let defaults: Vec<RowMajor<'_>> =
        layout.defaults.clone().map(|operand| RowMajor::new(cx.input(operand)?)).collect::<Result<_>>()?;
    let [sparse, dense, ragged] = keys;
    let mut features = Vec::with_capacity(counts.iter().sum());
    features.extend(
        sparse.into_iter().zip(layout.sparse).map(|(key, dtype)| Feature::new(key, *dtype, Arity::Any)),
    );
    for (number, key) in dense.into_iter().enumerate() {
        let default = defaults[number].view();
        features.push(Feature::new(key, default.dtype(), arity(&shapes[number], default)?));
    }
    features.extend(
        ragged.into_iter().zip(layout.ragged).map(|(key, dtype)| Feature::new(key, *dtype, Arity::Any)),
    );
    let mut table = FeatureTable::new(features);
    let (messages, is_batch) = (strings(cx, 0)?, !cx.input(0)?.sizes().is_empty());
    for (number, message) in messages.iter().enumerate() {
        table.append(message, &|| {
            if is_batch { format!("example {number}") } else { "the example".to_string() }
        })?;
    }
    let mut features = table.features.into_iter();
    for (number, feature) in features.by_ref().take(counts[0]).enumerate() {
        let outputs = [number, counts[0] + number, 2 * counts[0] + number];
        set_sparse(cx, outputs, feature, is_batch)?;
    }
    for (number, default) in defaults.iter().enumerate() {
        let feature = features.next().expect("every default belongs to a dense feature");
        let tensor = dense_tensor(feature, &shapes[number], &default.view(), is_batch)?;
        cx.set_output(3 * counts[0] + number, tensor)?;
    }
    for (number, feature) in features.enumerate() {
        let first = 3 * counts[0] + counts[1] + number;
        // One example has no row splits: its values are one row.
        let splits: Vec<usize> = match is_batch {
            true => std::iter::once(0).chain(feature.ends).collect(),
            false => Vec::new(),
        };
        let count = feature.elements.len();
        cx.set_output(first, feature.elements.finish(&[count])?)?;
        let splits_dtype = layout.splits[number];
        let splits = crate::ops::integers::int_tensor(splits_dtype, &[splits.len()], splits.into_iter())?;
        cx.set_output(first + counts[2], splits)?;
    }
    Ok(())
}

/// Returns the sizes of a dense feature. The first size is `None` if it depends on the data.
fn dense_sizes(shape: &TensorShape) -> Vec<Option<usize>> {
    let size = |size: &shapeflow_shape_fns::Dim| size.as_known().and_then(|size| usize::try_from(size).ok());
    shape.dims().unwrap_or_default().iter().map(size).collect()
}

/// Returns the number of values of a dense feature of this shape.
///
/// # Errors
/// The default has another shape than the feature. If the first size depends on the data: the default is not one value.
fn arity<'a>(shape: &TensorShape, default: TensorView<'a>) -> Result<Arity<'a>> {
    let sizes = dense_sizes(shape);
    let known: Option<Vec<usize>> = sizes.iter().copied().collect();
    let Some(known) = known else {
        if default.len() != 1 {
            let message =
                format!("the default of a feature {shape} must be one value, got {}", default.len());
            return Err(Error::new(ErrorKind::Shape, Phase::Run, message));
        }
        return Ok(Arity::MultipleOf(sizes.iter().flatten().product()));
    };
    if !default.is_empty() && default.sizes() != known {
        let message =
            format!("the default of a feature {shape} must have its shape, got {:?}", default.sizes());
        return Err(Error::new(ErrorKind::Shape, Phase::Run, message));
    }
    Ok(Arity::Exactly { count: known.iter().product(), default })
}

/// Sets the indices, values and shape of a sparse feature. Without a batch, there is one axis.
fn set_sparse(cx: &mut HostCx<'_>, outputs: [usize; 3], feature: Feature<'_>, is_batch: bool) -> Result<()> {
    let rank = if is_batch { 2 } else { 1 };
    let count = feature.elements.len();
    let mut indices = Vec::with_capacity(count * rank);
    for (example, values) in feature.counts().enumerate() {
        for value in 0..values {
            indices.extend(is_batch.then_some(example as i64));
            indices.push(value as i64);
        }
    }
    let longest = feature.counts().max().unwrap_or(0) as i64;
    let shape = [feature.ends.len() as i64, longest];
    cx.set_output(outputs[0], Tensor::from_vec(&[count, rank], indices)?)?;
    cx.set_output(outputs[1], feature.elements.finish(&[count])?)?;
    cx.set_output(outputs[2], Tensor::from_slice(&[rank], &shape[2 - rank..])?)
}

/// Makes the tensor of a dense feature. Examples with fewer values than others are padded with the default.
fn dense_tensor(
    feature: Feature<'_>,
    shape: &TensorShape,
    default: &TensorView<'_>,
    is_batch: bool,
) -> Result<Tensor> {
    let sizes = dense_sizes(shape);
    let stride: usize = sizes.iter().flatten().product();
    let longest = feature.counts().max().unwrap_or(0);
    let mut result: Vec<usize> = is_batch.then_some(feature.ends.len()).into_iter().collect();
    result.extend(sizes.iter().map(|size| size.unwrap_or(longest / stride.max(1))));
    let is_padded = sizes.contains(&None) && feature.counts().any(|count| count != longest);
    if !is_padded {
        return feature.elements.finish(&result);
    }
    let ends = feature.ends;
    let total = feature.elements.len();
    let gathered = feature.elements.finish(&[total])?;
    let mut padded = Elements::new(gathered.dtype());
    let mut start = 0;
    for end in ends {
        padded.extend(&gathered.view(), start..end)?;
        padded.repeat(default, 0, longest - (end - start))?;
        start = end;
    }
    padded.finish(&result)
}
