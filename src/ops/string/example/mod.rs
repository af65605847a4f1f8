//! `parse_example`: the features of serialized `Example` messages, as tensors.

mod by_kind;
mod elements;
mod features;
pub(crate) mod ops;
mod outputs;
mod sequence;
pub(crate) mod sequence_ops;
mod table;

use std::panic::Location;

use shapeflow_shape_fns::DType;

use by_kind::{ByKind, FeatureKind, Number, check_messages, shapes, split_types, strings, types};

use crate::error::{Error, ErrorKind, Phase, Result};
use crate::graph::{Graph, RaggedValue, Value};
use crate::tensor::Tensor;

pub use sequence::{FeatureList, ParsedFeatureList};

/// A feature that [`Value::parse_example`] or [`Value::parse_sequence_example`] looks for. Its values are i64, f32 or
/// strings.
#[derive(Clone, Debug)]
pub struct ExampleFeature {
    dtype: DType,
    kind: FeatureKind<DenseFeature>,
}

/// The shape and the default of a dense feature.
#[derive(Clone, Debug)]
struct DenseFeature {
    shape: Vec<i64>,
    default: Option<Tensor>,
}

impl ExampleFeature {
    /// A feature of `shape` in every example. If the first size is -1, the number of values depends on the example, and
    /// shorter examples are padded with the default, or with zeros or empty strings.
    ///
    /// If the first size is not -1, every example must have the feature, or the feature must have a default, see
    /// [`ExampleFeature::or`].
    #[doc(alias = "FixedLenFeature")]
    #[doc(alias = "FixedLenSequenceFeature")]
    pub fn dense(dtype: DType, shape: &[i64]) -> ExampleFeature {
        ExampleFeature {
            dtype,
            kind: FeatureKind::Dense(DenseFeature { shape: shape.to_vec(), default: None }),
        }
    }

    /// Sets the default of a dense feature: a tensor of its shape, or a scalar if the first size is -1. Other
    /// features have no default.
    #[must_use]
    pub fn or(mut self, value: Tensor) -> ExampleFeature {
        if let FeatureKind::Dense(dense) = &mut self.kind {
            dense.default = Some(value);
        }
        self
    }

    /// A feature of any number of values, as a sparse matrix: one row for each example.
    #[doc(alias = "VarLenFeature")]
    pub fn sparse(dtype: DType) -> ExampleFeature {
        ExampleFeature { dtype, kind: FeatureKind::Sparse }
    }

    /// A feature of any number of values, as a ragged matrix: one row for each example.
    #[doc(alias = "RaggedFeature")]
    pub fn ragged(dtype: DType) -> ExampleFeature {
        ExampleFeature { dtype, kind: FeatureKind::Ragged }
    }
}

/// The values that a feature has in all examples, see [`Value::parse_example`] and [`Value::parse_sequence_example`].
#[derive(Clone, Copy, Debug)]
pub enum ParsedFeature<'g> {
    /// `[n, shape..]`.
    Dense(Value<'g>),
    /// The indices, values and sizes of a sparse matrix `[n, m]`, where `m` is the largest number of values.
    Sparse([Value<'g>; 3]),
    /// A ragged matrix of `n` rows, whose row splits are i64.
    Ragged(RaggedValue<'g>),
}

impl<'g> Value<'g> {
    /// Parses serialized `Example` messages. Each entry of `features` is a key and its description. Returns the values
    /// of each feature.
    ///
    /// `string[n] -> ` for each feature: dense `[n, shape..]`, sparse or ragged. Of several entries for one key in an
    /// example, the last counts. As TensorFlow's `ParseExampleV2`. Runs on the host.
    ///
    /// ```
    /// use shapeflow::{DType, ExampleFeature, Graph, ParsedFeature, Tensor};
    ///
    /// let g = Graph::new();
    /// // The example { "age": [7] }, and one without features.
    /// let message: &[u8] = b"\x0a\x0e\x0a\x0c\x0a\x03age\x12\x05\x1a\x03\x0a\x01\x07";
    /// let messages = g.constant(Tensor::from_strings(&[2], &[message, b""])?)?;
    /// let age = ExampleFeature::dense(DType::I64, &[1]).or(Tensor::from([-1i64]));
    /// let parsed = messages.parse_example(&[("age", age)])?;
    /// let ParsedFeature::Dense(ages) = parsed[0] else { panic!("a dense feature") };
    /// let [ages] = g.compile(ages)?.run(&[])?;
    /// assert_eq!(ages, Tensor::from([[7i64], [-1]]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The elements are not strings, the rank is not 1, a dtype is not i64, f32 or string, or a size other than the
    /// first is negative. The run fails if a message is damaged, a feature has another dtype or another number of
    /// values, or a feature without a default is missing.
    #[track_caller]
    pub fn parse_example(self, features: &[(&str, ExampleFeature)]) -> Result<Vec<ParsedFeature<'g>>> {
        let (g, location) = (self.graph(), Location::caller());
        check_messages(self, location)?;
        let features = by_kind(features);
        let [sparse, dense, ragged] = features.keys(g, location)?;
        let mut call = g.op(&ops::DEF).data(self).data(strings(g, &[], location)?);
        call = call.data(sparse).data(dense).data(ragged);
        for default in defaults(g, &features, location)? {
            call = call.data(default);
        }
        let outputs = call
            .attr("num_sparse", features.sparse.len() as i64)
            .attr("sparse_types", types(&features.sparse))
            .attr("ragged_value_types", types(&features.ragged))
            .attr("ragged_split_types", split_types(&features.ragged))
            .attr("dense_shapes", shapes(features.dense.iter().map(|(_, _, dense)| &dense.shape[..])))
            .finish_all_at(location)?;
        parsed(&features, &outputs)
    }
}

/// The features of a call by kind.
type Features<'a> = ByKind<'a, DenseFeature>;

fn by_kind<'a>(features: &'a [(&str, ExampleFeature)]) -> Features<'a> {
    ByKind::new(features.iter().map(|(key, feature)| (*key, feature.dtype, &feature.kind)))
}

/// Returns the defaults of the dense features as constants. A default without elements means that the feature has none.
fn defaults<'g>(
    g: &'g Graph,
    features: &Features<'_>,
    location: &'static Location<'static>,
) -> Result<Vec<Value<'g>>> {
    let default = |(_, dtype, dense): &(&str, DType, &DenseFeature)| {
        let default = match &dense.default {
            Some(default) => default.clone(),
            None if dense.shape.first() != Some(&-1) => Tensor::zeros(*dtype, &[0])?,
            None => Tensor::zeros(*dtype, &[])?,
        };
        if default.dtype() != *dtype {
            let message = format!("a default must be {dtype}, as its feature, got {}", default.dtype());
            return Err(Error::new(ErrorKind::DType, Phase::Build, message).at(location));
        }
        Ok(g.constant_at(default, location))
    };
    features.dense.iter().map(default).collect()
}

/// Returns the values of features that are the first outputs of a call.
fn parsed<'g>(features: &Features<'_>, outputs: &[Value<'g>]) -> Result<Vec<ParsedFeature<'g>>> {
    let (sparse, ragged) = (features.sparse.len(), features.ragged.len());
    let first_ragged = 3 * sparse + features.dense.len();
    let parsed = |number: &Number| {
        Ok(match *number {
            Number::Dense(number) => ParsedFeature::Dense(outputs[3 * sparse + number]),
            Number::Sparse(number) => {
                ParsedFeature::Sparse([0, 1, 2].map(|part| outputs[part * sparse + number]))
            }
            Number::Ragged(number) => {
                let (values, splits) =
                    (outputs[first_ragged + number], outputs[first_ragged + ragged + number]);
                ParsedFeature::Ragged(RaggedValue::from_row_splits(values, splits)?)
            }
        })
    };
    features.order.iter().map(parsed).collect()
}
