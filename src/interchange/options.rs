//! `ImportOptions`: how a model is imported.

use shapeflow_shape_fns::TensorShape;

use super::limits::Limits;
use crate::op::Registry;

/// How a model is imported.
///
/// ```
/// use shapeflow::interchange::ImportOptions;
/// use shapeflow::shape;
///
/// let options = ImportOptions::new().allow_unknown(true).shape("images", shape!["n", 28, 28]);
/// assert!(options.allow_unknown);
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ImportOptions {
    /// Whether an op that nobody knows becomes a node of unknown shape instead of an error.
    pub allow_unknown: bool,
    /// Shapes of placeholders, in place of what the model says.
    pub shapes: Vec<(String, TensorShape)>,
    /// How much the model may ask for.
    pub limits: Limits,
    /// The ops that nodes may become, by their TensorFlow spellings or their own names.
    pub ops: Registry,
}

impl Default for ImportOptions {
    fn default() -> ImportOptions {
        ImportOptions {
            allow_unknown: false,
            shapes: Vec::new(),
            limits: Limits::default(),
            ops: Registry::builtin(),
        }
    }
}

impl ImportOptions {
    /// Unknown ops are errors, shapes are those of the model, ops those of this crate.
    pub fn new() -> ImportOptions {
        ImportOptions::default()
    }

    /// Whether an op that nobody knows becomes a node of unknown shape instead of an error.
    #[must_use]
    pub fn allow_unknown(mut self, allow: bool) -> ImportOptions {
        self.allow_unknown = allow;
        self
    }

    /// Gives a placeholder another shape than the model says.
    #[must_use]
    pub fn shape(mut self, placeholder: impl Into<String>, shape: impl Into<TensorShape>) -> ImportOptions {
        self.shapes.push((placeholder.into(), shape.into()));
        self
    }

    /// How much the model may ask for.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> ImportOptions {
        self.limits = limits;
        self
    }

    /// The ops that nodes may become.
    #[must_use]
    pub fn ops(mut self, ops: Registry) -> ImportOptions {
        self.ops = ops;
        self
    }
}
