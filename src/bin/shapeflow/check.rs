//! `shapeflow check`: tells whether a model can run, and what computes each of its ops.

use std::fmt::Write;

use clap::ArgMatches;
use serde_json::{Value as Json, json};
use shapeflow::interchange::{ComputedBy, IgnoredAttr, Imported, Model, OpUsage};
use shapeflow::{Error, Executable, Value};

use super::document::{plural, table, with_final_newline};
use super::failure::{Failure, json_of};
use super::model::{fetches, flag, import_signature, read, results, shown, type_text};
use super::output::print_error;
use super::run::options;
use super::signatures::{require_signature, signature_in_use, signatures_json, signatures_text};
use super::state::{State, with_state};

/// Imports and compiles the model. Prints its inputs, its outputs, its ops by what computes them, and the first errors.
/// If the import fails, nothing tells what computes the ops; the document then has the ops of the file.
pub(crate) fn check(arguments: &ArgMatches) -> Result<Vec<u8>, Failure> {
    let model = read(arguments)?;
    let is_json = flag(arguments, "json");
    for ignored in model.ignored_attrs() {
        print_error(&note_of(&ignored));
    }
    checked(arguments, &model, is_json).map_err(|failure| match failure.has_document() {
        true => failure,
        false => {
            let document = match is_json {
                true => json_of_file(arguments, &model, failure.json()),
                false => text_of_file(arguments, &model),
            };
            failure.and_document(with_final_newline(document))
        }
    })
}

/// Returns the note about an attribute that no op has.
fn note_of(ignored: &IgnoredAttr) -> String {
    let IgnoredAttr { op, attr, nodes, nearest, .. } = ignored;
    let nearest = nearest.map_or_else(String::new, |nearest| format!("; is it {nearest}?"));
    format!(
        "note: the attribute {attr} of {} is ignored, because {op} has no such attribute{nearest}",
        shown(nodes)
    )
}

fn ignored_json(model: &Model) -> Json {
    let ignored = model.ignored_attrs();
    let ignored = ignored.iter().map(|ignored| {
        let IgnoredAttr { op, attr, nodes, nearest, .. } = ignored;
        json!({"op": op, "attr": attr, "nodes": nodes, "nearest": nearest})
    });
    ignored.collect()
}

fn checked(arguments: &ArgMatches, model: &Model, is_json: bool) -> Result<Vec<u8>, Failure> {
    let fetches = fetches(arguments);
    let imported = import_signature(arguments, model, fetches.as_deref())?;
    let refused = imported.check().err();
    let outputs = match results(&imported, fetches.as_deref()) {
        Ok(outputs) => outputs,
        Err(_) if refused.is_some() => usable_results(arguments, model, &imported),
        Err(failure) => return Err(failure),
    };
    let (state, refused) = match (State::results(&imported), refused) {
        (Ok(state), refused) => (state, refused),
        (Err(failure), None) => return Err(failure),
        (Err(_), refused) => (Vec::new(), refused),
    };
    let mut usage = imported.op_usage_of_fetches();
    // Ops that keep the model from running come first, then the most frequent ones.
    usage.sort_by_key(|usage| (std::cmp::Reverse((usage.computed_by, usage.nodes.len())), usage.op.clone()));
    let named: Vec<(&str, Value<'_>)> = outputs.iter().map(|(name, value)| (name.as_str(), *value)).collect();
    let compiled = imported.graph().compile_with(&options(arguments), with_state(&named, &state));
    let mut inputs: Vec<(&str, Value<'_>)> = imported.inputs().collect();
    if let (Some(_), Ok(exe)) = (&fetches, &compiled) {
        inputs.retain(|(name, _)| needs(exe, name));
    }
    let error = refused.or(compiled.err());
    let ports = Ports { inputs, outputs: named };
    let document = if is_json {
        json_document(arguments, model, &imported, &ports, &usage, error.as_ref())
    } else {
        text_document(arguments, model, &imported, &ports, &usage, error.as_ref())
    };
    match error {
        Some(error) => {
            // Without a choice, nodes are refused that no signature needs, such as those that save the model.
            require_signature(arguments, model, fetches.as_deref())?;
            Err(Failure::with_document(error, with_final_newline(document)))
        }
        None => Ok(with_final_newline(document)),
    }
}

/// Returns the results that have a value. The others depend on a node that the import refused.
fn usable_results<'m>(
    arguments: &ArgMatches,
    model: &Model,
    imported: &'m Imported,
) -> Vec<(String, Value<'m>)> {
    let same = |name: &str| (name.to_string(), name.to_string());
    let results: Vec<(String, String)> = match (fetches(arguments), signature_in_use(arguments, model)) {
        (Some(fetches), _) => fetches.into_iter().map(same).collect(),
        (None, Some((_, signature))) => signature.outputs.clone(),
        (None, None) => imported.fetches().map(same).collect(),
    };
    let usable = |(name, tensor): (String, String)| Some((name, imported.value(&tensor).ok()?));
    results.into_iter().filter_map(usable).collect()
}

/// The inputs and outputs of the model that a document shows. With fetches, these are the inputs that the fetches need.
struct Ports<'m> {
    inputs: Vec<(&'m str, Value<'m>)>,
    outputs: Vec<(&'m str, Value<'m>)>,
}

/// Returns whether an executable needs an input.
fn needs(exe: &Executable, input: &str) -> bool {
    exe.inputs().iter().any(|port| port.needed && port.name == input)
}

/// Returns the ops of a model that is not imported, as text.
fn text_of_file(arguments: &ArgMatches, model: &Model) -> String {
    let mut rows = vec![["op", "nodes", ""].map(str::to_string)];
    rows.extend(
        model.ops().iter().map(|(op, nodes)| [op.to_string(), nodes.len().to_string(), shown(nodes)]),
    );
    let mut signatures = signatures_text(arguments, model);
    if !signatures.is_empty() {
        signatures.push('\n');
    }
    format!("the model cannot run: the import fails\n\n{signatures}{}", table(&rows))
}

/// Returns the ops of a model that is not imported, as JSON.
fn json_of_file(arguments: &ArgMatches, model: &Model, error: &Json) -> String {
    let ops: Vec<Json> = model
        .ops()
        .iter()
        .map(|(op, nodes)| {
            json!({"op": op, "nodes": nodes, "computed_by": "unknown", "dtypes": [], "unknown_shapes": 0})
        })
        .collect();
    json!({
        "can_run": false,
        "error": error,
        "signatures": signatures_json(arguments, model),
        "inputs": [],
        "outputs": [],
        "ops": ops,
        "ignored_attrs": ignored_json(model),
    })
    .to_string()
}

fn computed_by(usage: &OpUsage) -> &'static str {
    match usage.computed_by {
        ComputedBy::Import => "import",
        ComputedBy::Kernels => "kernels",
        ComputedBy::Host => "host",
        ComputedBy::Refused => "refused",
        _ => "nothing",
    }
}

/// Returns the number of outputs whose shape is not fully known before a run.
fn unknown_shapes(outputs: &[(&str, Value<'_>)]) -> usize {
    outputs.iter().filter(|(_, value)| value.shape().as_known().is_none()).count()
}

fn text_document(
    arguments: &ArgMatches,
    model: &Model,
    imported: &Imported,
    Ports { inputs, outputs }: &Ports<'_>,
    usage: &[OpUsage],
    error: Option<&Error>,
) -> String {
    let names = imported.graph().dim_names();
    let count = |by: ComputedBy| {
        let nodes = usage.iter().filter(|usage| usage.computed_by == by).map(|usage| usage.nodes.len());
        nodes.sum::<usize>()
    };
    let (kernels, host) = (count(ComputedBy::Kernels), count(ComputedBy::Host));
    let verdict = if error.is_some() { "the model cannot run" } else { "the model can run" };
    let mut text = format!("{verdict}: {} in kernels, {host} on the host", plural(kernels, "node"));
    let (missing, refused) = (count(ComputedBy::Nothing), count(ComputedBy::Refused));
    for (count, what) in [(missing, "that nothing computes"), (refused, "refused")] {
        if count > 0 {
            let _ = write!(text, ", {count} {what}");
        }
    }
    text.push_str("\n\n");
    text.push_str(&signatures_text(arguments, model));
    let mut rows = Vec::new();
    let ports = |kind: &str, (name, value): (&str, Value<'_>)| {
        [kind.to_string(), name.to_string(), type_text(Some(value.dtype()), &value.shape(), &names)]
    };
    rows.extend(inputs.iter().map(|port| ports("input", *port)));
    rows.extend(outputs.iter().map(|port| ports("output", *port)));
    text.push_str(&table(&rows));
    // No run determines the shapes that a refused node leaves unknown.
    let unknown = unknown_shapes(outputs);
    if unknown > 0 && refused == 0 {
        let _ = writeln!(text, "a run determines {unknown} of {}", plural(outputs.len(), "output shape"));
    }
    let unknown: usize = usage.iter().map(|usage| usage.unknown_shapes).sum();
    if unknown > 0 && refused == 0 {
        let _ = writeln!(text, "a run determines the shapes of {}", plural(unknown, "node"));
    }
    text.push('\n');
    let mut rows = vec![["op", "nodes", "computed by", "unknown shapes", "dtypes", ""].map(str::to_string)];
    let mut resolved = Vec::new();
    for usage in usage {
        if usage.computed_by == ComputedBy::Import {
            resolved.push(format!("{} ×{}", usage.op, usage.nodes.len()));
            continue;
        }
        let dtypes: Vec<&str> = usage.dtypes.iter().map(|dtype| dtype.name()).collect();
        let place = match usage.computed_by {
            ComputedBy::Nothing | ComputedBy::Refused => shown(&usage.nodes),
            _ => String::new(),
        };
        rows.push([
            usage.op.clone(),
            usage.nodes.len().to_string(),
            computed_by(usage).to_string(),
            usage.unknown_shapes.to_string(),
            dtypes.join(" "),
            place,
        ]);
    }
    text.push_str(&table(&rows));
    if !resolved.is_empty() {
        let _ = writeln!(text, "\nthe import resolves {}", resolved.join(", "));
    }
    text
}

fn json_document(
    arguments: &ArgMatches,
    model: &Model,
    imported: &Imported,
    Ports { inputs, outputs }: &Ports<'_>,
    usage: &[OpUsage],
    error: Option<&Error>,
) -> String {
    let names = imported.graph().dim_names();
    let port = |(name, value): (&str, Value<'_>)| {
        let (dtype, shape) = (value.dtype().name(), names.shape(&value.shape()));
        json!({"name": name, "dtype": dtype, "shape": shape})
    };
    let ops: Vec<Json> = usage
        .iter()
        .map(|usage| {
            let dtypes: Vec<&str> = usage.dtypes.iter().map(|dtype| dtype.name()).collect();
            json!({
                "op": usage.op,
                "nodes": usage.nodes,
                "computed_by": computed_by(usage),
                "dtypes": dtypes,
                "unknown_shapes": usage.unknown_shapes,
            })
        })
        .collect();
    json!({
        "can_run": error.is_none(),
        "error": error.map(json_of),
        "signatures": signatures_json(arguments, model),
        "inputs": inputs.iter().copied().map(port).collect::<Vec<_>>(),
        "outputs": outputs.iter().copied().map(port).collect::<Vec<_>>(),
        "ops": ops,
        "ignored_attrs": ignored_json(model),
    })
    .to_string()
}
