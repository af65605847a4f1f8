//! The signatures of a SavedModel: which one is in use, and a list of all.

use std::fmt::Write;

use clap::ArgMatches;
use serde_json::{Value as Json, json};
use shapeflow::interchange::{Model, Signature};

use super::failure::Failure;

/// Returns whether `--signature` is given.
pub(crate) fn is_signature_chosen(arguments: &ArgMatches) -> bool {
    chosen(arguments).is_some()
}

fn chosen(arguments: &ArgMatches) -> Option<&str> {
    arguments.try_get_one::<String>("signature").ok().flatten().map(String::as_str)
}

/// Returns the signature that `--signature` names, or else the default signature.
pub(crate) fn signature_in_use<'m>(
    arguments: &ArgMatches,
    model: &'m Model,
) -> Option<(&'m str, &'m Signature)> {
    let name = chosen(arguments).or(model.default_signature());
    model.signatures().find(|(signature, _)| Some(*signature) == name)
}

/// Checks that a command knows what to compute: a model whose signatures include no default needs a choice or fetches.
pub(crate) fn require_signature(
    arguments: &ArgMatches,
    model: &Model,
    fetches: Option<&[&str]>,
) -> Result<(), Failure> {
    if fetches.is_some() || signature_in_use(arguments, model).is_some() || model.signatures().count() == 0 {
        return Ok(());
    }
    let names: Vec<&str> = model.signatures().map(|(name, _)| name).collect();
    Err(Failure::input(format_args!(
        "--signature must choose one of the signatures {}, as none is the default; or name tensors with --fetch",
        names.join(", ")
    )))
}

/// Returns a line for each signature, `signature NAME: inputs → outputs`, if the model has several.
pub(crate) fn signatures_text(arguments: &ArgMatches, model: &Model) -> String {
    let mut text = String::new();
    if model.signatures().count() < 2 {
        return text;
    }
    let in_use = signature_in_use(arguments, model).map(|(name, _)| name);
    for (name, signature) in model.signatures() {
        let [inputs, outputs] =
            [&signature.inputs, &signature.outputs].map(|tensors| names(tensors).join(", "));
        let mark = if in_use == Some(name) { " (in use)" } else { "" };
        let _ = writeln!(text, "signature {name}: {inputs} → {outputs}{mark}");
    }
    text
}

/// Returns all signatures as `[{"name", "inputs", "outputs", "in_use"}]`.
pub(crate) fn signatures_json(arguments: &ArgMatches, model: &Model) -> Json {
    let in_use = signature_in_use(arguments, model).map(|(name, _)| name);
    let signatures = model.signatures().map(|(name, signature)| {
        let (inputs, outputs) = (names(&signature.inputs), names(&signature.outputs));
        json!({"name": name, "inputs": inputs, "outputs": outputs, "in_use": in_use == Some(name)})
    });
    signatures.collect()
}

fn names(tensors: &[(String, String)]) -> Vec<&str> {
    tensors.iter().map(|(name, _)| name.as_str()).collect()
}
