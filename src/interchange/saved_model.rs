//! `SavedModel`: a folder that TensorFlow's `tf.saved_model.save` writes.

use std::panic::Location;
use std::path::Path;

use super::imported::Imported;
use super::model::{Model, Signature};
use super::options::ImportOptions;
use crate::error::{Error, ErrorKind, Phase, Result};

/// A folder that TensorFlow's `tf.saved_model.save` writes: a graph, the values of its variables, and signatures, which
/// name the inputs and outputs of the graph.
///
/// ```no_run
/// use shapeflow::TensorView;
/// use shapeflow::interchange::SavedModel;
///
/// let served = SavedModel::load("model")?.signature("serving_default")?;
/// let exe = served.graph().compile(&served.outputs()?[..])?;
/// let results = exe.run_named(&[("x", TensorView::new(&[2], &[1.0f32, 2.0])?)])?;
/// println!("{}", results.tensor("y")?);
/// # Ok::<(), shapeflow::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct SavedModel {
    model: Model,
}

impl SavedModel {
    /// Reads a SavedModel from its folder. The variables stay in their files, which are mapped into memory: nothing may
    /// change these files while the model or a graph made from it is in use.
    ///
    /// # Errors
    /// `Io`: a file cannot be read. `Parse`: a file is damaged, or it is a GraphDef, which has no signatures.
    /// `Memory`: a file exceeds the default limits.
    #[doc(alias = "saved_model")]
    #[track_caller]
    pub fn load(path: impl AsRef<Path>) -> Result<SavedModel> {
        let path = path.as_ref();
        let model = super::model::read_model(path)?;
        if !model.is_saved_model {
            let message = format!("{} must be a SavedModel, got a GraphDef", path.display());
            return Err(Error::new(ErrorKind::Parse, Phase::Build, message).or_at(Location::caller()));
        }
        Ok(SavedModel { model })
    }

    /// Returns the signatures with their names.
    pub fn signatures(&self) -> impl Iterator<Item = (&str, &Signature)> {
        self.model.signatures()
    }

    /// Builds the graph of a signature. The inputs of the graph have their names in the signature, and so do its
    /// [`outputs`](Imported::outputs).
    ///
    /// A run changes no variable. A write that no output can show is left out; an output whose value depends on a
    /// written variable is refused, and so is a write inside a branch or a loop. With [`ImportOptions::stateful`],
    /// written variables are inputs and results instead. The random numbers of a `tf.random.Generator` are an
    /// exception, see [`ImportOptions::random_seed`].
    ///
    /// # Errors
    /// `Attribute`: there is no such signature. Else as [`Model::import`].
    #[track_caller]
    pub fn signature(&self, name: &str) -> Result<Imported> {
        self.signature_with(name, &ImportOptions::new())
    }

    /// Builds the graph of a signature as [`SavedModel::signature`] does, with options.
    ///
    /// # Errors
    /// As [`SavedModel::signature`].
    #[track_caller]
    pub fn signature_with(&self, name: &str, options: &ImportOptions) -> Result<Imported> {
        self.model.import(None, &options.clone().signature(name))
    }

    /// Returns the model, from which [`Model::import`] builds a graph of any of its tensors.
    pub fn model(&self) -> &Model {
        &self.model
    }
}
