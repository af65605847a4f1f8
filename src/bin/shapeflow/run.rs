//! `shapeflow run`: runs a model on tensors from a file.

use clap::ArgMatches;
use serde_json::json;
use shapeflow::interchange::write_npz_bytes;
use shapeflow::{CompileOptions, Tensor, TensorView, Trace};

use super::document::lines;
use super::failure::Failure;
use super::model::{Feeds, fetches, flag, import, path, results};
use super::output::write_file;

/// Runs the model once. Writes the results to a file, or prints a summary of each.
pub(crate) fn run(arguments: &ArgMatches) -> Result<Vec<u8>, Failure> {
    let trace = Trace::new();
    let fetches = fetches(arguments);
    let mut feeds = trace.time("feeds", || Feeds::required(arguments))?;
    let (exe, names) = {
        let imported = trace.time("build", || import(arguments, fetches.as_deref(), Some(&mut feeds)))?;
        let values = results(&imported, fetches.as_deref())?;
        let named: Vec<(&str, shapeflow::Value<'_>)> =
            values.iter().map(|(name, value)| (name.as_str(), *value)).collect();
        let mut options = options(arguments);
        if arguments.contains_id("trace") {
            options = options.trace(&trace);
        }
        let exe = trace.time("compile", || imported.graph().compile_with(&options, &named[..]))?;
        let names: Vec<String> = values.iter().map(|(name, _)| name.clone()).collect();
        (exe, names)
    };
    let tensors = feeds.of(&exe)?;
    let views: Vec<TensorView<'_>> = tensors.iter().map(Tensor::view).collect();
    let results = trace.time("run", || exe.run_all(&views))?;
    let results: Vec<(&str, &Tensor)> = names.iter().map(String::as_str).zip(&results).collect();
    if arguments.contains_id("out") {
        let file = path(arguments, "out")?;
        let bytes = trace.time("write", || write_npz_bytes(results.iter().copied()))?;
        write_file(file, bytes)?;
    }
    if arguments.contains_id("trace") {
        let file = path(arguments, "trace")?;
        write_file(file, trace.to_json())?;
    }
    if flag(arguments, "json") {
        let results: Vec<serde_json::Value> = results
            .iter()
            .map(|(name, tensor)| {
                let (dtype, shape) = (tensor.dtype().tensorflow_name(), tensor.sizes());
                json!({"name": name, "dtype": dtype, "shape": shape, "summary": tensor.to_string()})
            })
            .collect();
        return Ok(lines(json!({"results": results}).to_string()));
    }
    if arguments.contains_id("out") {
        return Ok(Vec::new());
    }
    Ok(lines(results.iter().map(|(name, tensor)| format!("{name}: {tensor}\n")).collect()))
}

/// Returns the compile options of commands that run a model.
pub(crate) fn options(arguments: &ArgMatches) -> CompileOptions {
    let threads = arguments.try_get_one::<u16>("threads").ok().flatten().copied().unwrap_or(1);
    CompileOptions::new().threads(usize::from(threads))
}
