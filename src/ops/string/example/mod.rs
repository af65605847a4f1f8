//! `parse_example`: the features of serialized `Example` messages, as tensors.

mod elements;
pub(crate) mod ops;
mod table;
mod wire;

use std::panic::Location;
use std::sync::Arc;

use shapeflow_shape_fns::{Attr, DType, Dim, TensorShape};

use crate::error::{Error, ErrorKind, Phase, Result};
use crate::graph::{RaggedValue, Value};
use crate::tensor::Tensor;

/// A feature that [`Value::parse_example`] looks for. Its values are i64, f32 or strings.
#[derive(Clone, Debug)]
pub struct ExampleFeature {
    dtype: DType,
    kind: Kind,
}

#[derive(Clone, Debug)]
enum Kind {
    Dense { shape: Vec<i64>, default: Option<Tensor> },
    Sparse,
    Ragged,
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
        ExampleFeature { dtype, kind: Kind::Dense { shape: shape.to_vec(), default: None } }
    }

    /// Sets the default of a dense feature: a tensor of its shape, or a scalar if the first size is -1. Other
    /// features have no default.
    #[must_use]
    pub fn or(mut self, value: Tensor) -> ExampleFeature {
        if let Kind::Dense { default, .. } = &mut self.kind {
            *default = Some(value);
        }
        self
    }

    /// A feature of any number of values, as a sparse matrix: one row for each example.
    #[doc(alias = "VarLenFeature")]
    pub fn sparse(dtype: DType) -> ExampleFeature {
        ExampleFeature { dtype, kind: Kind::Sparse }
    }

    /// A feature of any number of values, as a ragged matrix: one row for each example.
    #[doc(alias = "RaggedFeature")]
    pub fn ragged(dtype: DType) -> ExampleFeature {
        ExampleFeature { dtype, kind: Kind::Ragged }
    }
}

/// The values that a feature has in all examples, see [`Value::parse_example`].
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
        if self.shape().rank().is_some_and(|rank| rank != 1) {
            let message = format!("serialized examples must have rank 1, got {}", self.shape());
            return Err(Error::new(ErrorKind::Shape, Phase::Build, message).at(location));
        }
        let (mut sparse, mut dense, mut ragged) = (Vec::new(), Vec::new(), Vec::new());
        for (key, feature) in features {
            match &feature.kind {
                Kind::Dense { shape, default } => dense.push((key, feature.dtype, shape, default)),
                Kind::Sparse => sparse.push((key, feature.dtype)),
                Kind::Ragged => ragged.push((key, feature.dtype)),
            }
        }
        let vector = |keys: Vec<&&str>| -> Result<Value<'g>> {
            Ok(g.constant_at(Tensor::from_strings(&[keys.len()], &keys)?, location))
        };
        let types = |features: &[(&&str, DType)]| -> Attr {
            Attr::DTypes(features.iter().map(|(_, dtype)| *dtype).collect::<Arc<[DType]>>())
        };
        let mut call = g.op(&ops::DEF).data(self).data(vector(Vec::new())?);
        call = call.data(vector(sparse.iter().map(|(key, _)| *key).collect())?);
        call = call.data(vector(dense.iter().map(|(key, ..)| *key).collect())?);
        call = call.data(vector(ragged.iter().map(|(key, _)| *key).collect())?);
        for (_, dtype, shape, default) in &dense {
            let default = match default {
                Some(default) => default.clone(),
                // A default tensor without elements means that the feature has no default.
                None if shape.first() != Some(&-1) => Tensor::zeros(*dtype, &[0])?,
                None => Tensor::zeros(*dtype, &[])?,
            };
            if default.dtype() != *dtype {
                let message = format!("a default must be {dtype}, as its feature, got {}", default.dtype());
                return Err(Error::new(ErrorKind::DType, Phase::Build, message).at(location));
            }
            call = call.data(g.constant_at(default, location));
        }
        let shape = |sizes: &[i64]| TensorShape::new(sizes.iter().map(|size| Dim::known(*size)));
        let shapes: Arc<[TensorShape]> = dense.iter().map(|(_, _, sizes, _)| shape(sizes)).collect();
        let splits: Arc<[DType]> = ragged.iter().map(|_| DType::I64).collect();
        let outputs = call
            .attr("num_sparse", sparse.len() as i64)
            .attr("sparse_types", types(&sparse))
            .attr("ragged_value_types", types(&ragged))
            .attr("ragged_split_types", Attr::DTypes(splits))
            .attr("dense_shapes", Attr::Shapes(shapes))
            .finish_all_at(location)?;
        let (mut next_sparse, mut next_dense, mut next_ragged) =
            (0, 3 * sparse.len(), 3 * sparse.len() + dense.len());
        let mut parsed = Vec::with_capacity(features.len());
        for (_, feature) in features {
            parsed.push(match feature.kind {
                Kind::Dense { .. } => {
                    next_dense += 1;
                    ParsedFeature::Dense(outputs[next_dense - 1])
                }
                Kind::Sparse => {
                    next_sparse += 1;
                    let output = |part| outputs[part * sparse.len() + next_sparse - 1];
                    ParsedFeature::Sparse([output(0), output(1), output(2)])
                }
                Kind::Ragged => {
                    next_ragged += 1;
                    let (values, splits) =
                        (outputs[next_ragged - 1], outputs[next_ragged - 1 + ragged.len()]);
                    ParsedFeature::Ragged(RaggedValue::from_row_splits(values, splits)?)
                }
            });
        }
        Ok(parsed)
    }
}
