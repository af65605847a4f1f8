//! [`ByKind`]: the features of a call grouped by kind, because the operands and attributes of the op list them by kind.

use std::panic::Location;
use std::sync::Arc;

use shapeflow_shape_fns::{Attr, DType, Dim, TensorShape};

use crate::error::{Error, ErrorKind, Phase, Result};
use crate::graph::{Graph, Value};
use crate::tensor::Tensor;

/// The form of the values of a feature. `D` describes the values of a dense one.
#[derive(Clone, Debug)]
pub(super) enum FeatureKind<D> {
    Dense(D),
    Sparse,
    Ragged,
}

/// The number of a feature among the features of its kind.
#[derive(Clone, Copy)]
pub(super) enum Number {
    Dense(usize),
    Sparse(usize),
    Ragged(usize),
}

/// The keys and the dtypes of the features of each kind.
pub(super) struct ByKind<'a, D> {
    pub sparse: Vec<(&'a str, DType)>,
    pub dense: Vec<(&'a str, DType, &'a D)>,
    pub ragged: Vec<(&'a str, DType)>,
    /// The features in the order of the call.
    pub order: Vec<Number>,
}

impl<'a, D> ByKind<'a, D> {
    pub(super) fn new(features: impl Iterator<Item = (&'a str, DType, &'a FeatureKind<D>)>) -> ByKind<'a, D> {
        let mut all = ByKind { sparse: Vec::new(), dense: Vec::new(), ragged: Vec::new(), order: Vec::new() };
        for (key, dtype, kind) in features {
            all.order.push(match kind {
                FeatureKind::Dense(dense) => {
                    all.dense.push((key, dtype, dense));
                    Number::Dense(all.dense.len() - 1)
                }
                FeatureKind::Sparse => {
                    all.sparse.push((key, dtype));
                    Number::Sparse(all.sparse.len() - 1)
                }
                FeatureKind::Ragged => {
                    all.ragged.push((key, dtype));
                    Number::Ragged(all.ragged.len() - 1)
                }
            });
        }
        all
    }

    /// Returns the keys of each kind as vectors: sparse, dense, ragged.
    ///
    /// # Errors
    /// Memory is refused.
    pub(super) fn keys<'g>(
        &self,
        g: &'g Graph,
        location: &'static Location<'static>,
    ) -> Result<[Value<'g>; 3]> {
        let dense: Vec<_> = self.dense.iter().map(|(key, ..)| *key).collect();
        let keys = |features: &[(&'a str, DType)]| features.iter().map(|(key, _)| *key).collect::<Vec<_>>();
        Ok([
            strings(g, &keys(&self.sparse), location)?,
            strings(g, &dense, location)?,
            strings(g, &keys(&self.ragged), location)?,
        ])
    }
}

/// Returns a vector of strings.
///
/// # Errors
/// Memory is refused.
pub(super) fn strings<'g>(
    g: &'g Graph,
    strings: &[&str],
    location: &'static Location<'static>,
) -> Result<Value<'g>> {
    Ok(g.constant_at(Tensor::from_strings(&[strings.len()], strings)?, location))
}

/// Returns the dtypes of features as an attribute.
pub(super) fn types(features: &[(&str, DType)]) -> Attr {
    Attr::DTypes(features.iter().map(|(_, dtype)| *dtype).collect::<Arc<[DType]>>())
}

/// Returns the dtype of row splits, i64, for each ragged feature.
pub(super) fn split_types(ragged: &[(&str, DType)]) -> Attr {
    Attr::DTypes(ragged.iter().map(|_| DType::I64).collect::<Arc<[DType]>>())
}

/// Returns shapes as an attribute.
pub(super) fn shapes<'a>(shapes: impl Iterator<Item = &'a [i64]>) -> Attr {
    let shape = |sizes: &[i64]| TensorShape::new(sizes.iter().map(|size| Dim::known(*size)));
    Attr::Shapes(shapes.map(shape).collect::<Arc<[TensorShape]>>())
}

/// Returns an error unless serialized messages may be a vector.
///
/// # Errors
/// The rank is known, and is not 1.
pub(super) fn check_messages(messages: Value<'_>, location: &'static Location<'static>) -> Result<()> {
    if messages.shape().rank().is_some_and(|rank| rank != 1) {
        let message = format!("serialized examples must have rank 1, got {}", messages.shape());
        return Err(Error::new(ErrorKind::Shape, Phase::Build, message).at(location));
    }
    Ok(())
}
