//! The names that the signature of a SavedModel gives to tensors.

use std::collections::HashMap;

use super::model::Signature;
use crate::error::{Error, ErrorKind, Phase, Result};

/// The tensors of a signature by their names in the signature. An input and an output may have the same name, and so
/// may a node.
#[derive(Default, Debug)]
pub(super) struct SignatureNames {
    inputs: HashMap<String, String>,
    outputs: HashMap<String, String>,
    /// Whether a name of the signature takes precedence over a node of this name.
    is_in_use: bool,
}

impl SignatureNames {
    /// Takes the names of a signature. `is_in_use` says that the import serves this signature, instead of tensors that
    /// the caller names.
    pub fn of(signature: Option<&Signature>, is_in_use: bool) -> SignatureNames {
        let Some(signature) = signature else { return SignatureNames::default() };
        SignatureNames {
            inputs: signature.inputs.iter().cloned().collect(),
            outputs: signature.outputs.iter().cloned().collect(),
            is_in_use,
        }
    }

    /// Returns the names of the inputs in the signature, sorted.
    pub fn inputs(&self) -> impl Iterator<Item = &str> {
        sorted(&self.inputs)
    }

    /// Returns the names of the outputs in the signature, sorted.
    pub fn outputs(&self) -> impl Iterator<Item = &str> {
        sorted(&self.outputs)
    }

    /// Returns the tensor that a fed name stands for.
    pub fn fed<'n>(&'n self, name: &'n str, is_node: impl Fn(&str) -> bool) -> &'n str {
        self.tensor([&self.inputs, &self.outputs], name, is_node)
    }

    /// Returns the tensor that a fetched name stands for.
    pub fn fetched<'n>(&'n self, name: &'n str, is_node: impl Fn(&str) -> bool) -> &'n str {
        self.tensor([&self.outputs, &self.inputs], name, is_node)
    }

    /// Returns the tensor that a name stands for. The names of the first map take precedence over the second.
    fn tensor<'n>(
        &'n self,
        [first, second]: [&'n HashMap<String, String>; 2],
        name: &'n str,
        is_node: impl Fn(&str) -> bool,
    ) -> &'n str {
        match first.get(name).or_else(|| second.get(name)) {
            Some(tensor) if self.is_in_use || !is_node(name) => tensor,
            _ => name,
        }
    }
}

fn sorted(tensors: &HashMap<String, String>) -> impl Iterator<Item = &str> {
    let mut names: Vec<&str> = tensors.keys().map(String::as_str).collect();
    names.sort_unstable();
    names.into_iter()
}

/// Checks that each input or output of a signature names one tensor.
///
/// # Errors
/// An input or output is a composite, such as a sparse tensor, which has several tensors.
pub(super) fn check_tensors(role: &str, tensors: &[(String, String)]) -> Result<()> {
    match tensors.iter().find(|(_, tensor)| tensor.is_empty()) {
        None => Ok(()),
        Some((name, _)) => {
            let message = format!(
                "the {role} {name} of the signature must be one tensor, got a composite, such as a sparse tensor"
            );
            Err(Error::new(ErrorKind::Attribute, Phase::Build, message))
        }
    }
}
