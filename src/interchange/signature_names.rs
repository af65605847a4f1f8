//! The names that the signatures of a SavedModel give to tensors.

use std::collections::{BTreeMap, HashMap};

use super::model::Signature;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::nearest::{nearest, try_some};

/// The tensors of a signature by their names in the signature. An input and an output may have the same name, and so
/// may a node.
#[derive(Default, Debug)]
pub(super) struct SignatureNames {
    inputs: HashMap<String, String>,
    outputs: HashMap<String, String>,
    /// Whether a name of the signature takes precedence over a node of this name.
    is_in_use: bool,
    /// The other signatures of the model, by name.
    others: BTreeMap<String, Signature>,
}

/// The name of a role, and the tensors of a signature that have this role.
type Role = (&'static str, fn(&Signature) -> &[(String, String)]);

const INPUT: Role = ("input", |signature| &signature.inputs);
const OUTPUT: Role = ("output", |signature| &signature.outputs);

impl SignatureNames {
    /// Takes the names of the signature `chosen`. `is_in_use` says that the import serves this signature, instead of
    /// tensors that the caller names.
    pub fn of(
        signatures: &BTreeMap<String, Signature>,
        chosen: Option<&str>,
        is_in_use: bool,
    ) -> SignatureNames {
        let mut others = signatures.clone();
        let signature = chosen.and_then(|name| others.remove(name)).unwrap_or_default();
        SignatureNames {
            inputs: signature.inputs.into_iter().collect(),
            outputs: signature.outputs.into_iter().collect(),
            is_in_use,
            others,
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

    /// Returns the error of a fed tensor that the model lacks. `names` are the names that the caller may have meant, and
    /// `some` are names to try.
    pub fn unknown_feed<'n>(
        &'n self,
        message: String,
        wanted: &str,
        names: Vec<&'n str>,
        some: impl Iterator<Item = &'n str>,
    ) -> Error {
        self.unknown(message, wanted, names, some, [INPUT, OUTPUT])
    }

    /// Returns the error of a fetched tensor that the model lacks, as [`SignatureNames::unknown_feed`] does.
    pub fn unknown_fetch<'n>(
        &'n self,
        message: String,
        wanted: &str,
        names: Vec<&'n str>,
        some: impl Iterator<Item = &'n str>,
    ) -> Error {
        self.unknown(message, wanted, names, some, [OUTPUT, INPUT])
    }

    /// Returns the error of an unknown name. The message names the signature that has this name; else the nearest name,
    /// which may be one of another signature that has the first of `roles`.
    fn unknown<'n>(
        &'n self,
        message: String,
        wanted: &str,
        names: Vec<&'n str>,
        some: impl Iterator<Item = &'n str>,
        roles: [Role; 2],
    ) -> Error {
        let error = |end: String| Error::new(ErrorKind::Attribute, Phase::Build, message + &end);
        let choose = "`ImportOptions::signature` chooses a signature, as --signature does";
        for role in roles {
            if let Some(with) = self.others_with(role, wanted) {
                let (role, _) = role;
                return error(format!("; it is an {role} of {with}")).with_help(choose);
            }
        }
        let [role @ (_, tensors), _] = roles;
        let others = self.others.values().flat_map(tensors).map(|(name, _)| name.as_str());
        let Some(near) = nearest(wanted, names.iter().copied().chain(others)) else {
            return error(try_some(some));
        };
        match self.others_with(role, near).filter(|_| !names.contains(&near)) {
            Some(with) => error(format!("; is it {near} of {with}?")).with_help(choose),
            None => error(format!("; is it {near}?")),
        }
    }

    /// Returns `the signature first`, or `the signatures first, second`: the other signatures that have a tensor of
    /// this name and role. `None` if there are none.
    fn others_with(&self, (_, tensors): Role, name: &str) -> Option<String> {
        let has_name = |signature: &Signature| tensors(signature).iter().any(|(tensor, _)| tensor == name);
        let with = self.others.iter().filter(|(_, signature)| has_name(signature));
        let with: Vec<&str> = with.map(|(signature, _)| signature.as_str()).collect();
        match with[..] {
            [] => None,
            [signature] => Some(format!("the signature {signature}")),
            _ => Some(format!("the signatures {}", with.join(", "))),
        }
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
            let help = "save a function that takes and returns the parts, such as values and row_splits";
            Err(Error::new(ErrorKind::Attribute, Phase::Build, message).with_help(help))
        }
    }
}
