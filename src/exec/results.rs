//! [`Results`]: the results of a run, by name.

use std::panic::Location;

use crate::error::{Error, ErrorKind, Phase, Result};
use crate::tensor::Tensor;

/// The results of [`Executable::run_named`](crate::Executable::run_named).
#[derive(Clone, Debug)]
pub struct Results {
    tensors: Vec<(String, Tensor)>,
}

impl Results {
    pub(super) fn new(tensors: Vec<(String, Tensor)>) -> Results {
        Results { tensors }
    }

    /// Returns the result of this name.
    ///
    /// # Errors
    /// There is no such output.
    #[track_caller]
    pub fn tensor(&self, name: &str) -> Result<&Tensor> {
        let location = Location::caller();
        self.tensors.iter().find(|(known, _)| known == name).map(|(_, tensor)| tensor).ok_or_else(|| {
            let names: Vec<&str> = self.tensors.iter().map(|(name, _)| name.as_str()).collect();
            let message = format!("\"{name}\" is not an output; the outputs are {}", names.join(", "));
            Error::new(ErrorKind::Feed, Phase::Run, message).at(location)
        })
    }

    /// Returns names and results in the order given to `compile`.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Tensor)> {
        self.tensors.iter().map(|(name, tensor)| (name.as_str(), tensor))
    }
}
