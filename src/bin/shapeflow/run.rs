//! `shapeflow run`: runs a model on tensors from a file.

use std::path::{Path, PathBuf};

use base64::engine::Engine;
use base64::engine::general_purpose::STANDARD;
use clap::ArgMatches;
use half::{bf16, f16};
use serde_json::json;
use shapeflow::interchange::write_npz_bytes;
use shapeflow::{CompileOptions, DType, Element, Tensor, TensorView, Trace};

use super::document::with_final_newline;
use super::failure::Failure;
use super::model::{NamedFeeds, fetches, flag, import_model, path, read, refuse_missing_kernels, results};
use super::output::write_file;
use super::signatures::require_signature;
use super::state::State;

/// Runs the model once. Writes the results to a file, or prints a summary of each. With `--json`, also prints a
/// document with the values.
pub(crate) fn run(arguments: &ArgMatches) -> Result<Vec<u8>, Failure> {
    let trace = Trace::new();
    let fetches = fetches(arguments);
    let mut feeds = trace.time("feeds", || NamedFeeds::read(arguments))?;
    let (exe, names, state) = {
        let imported = trace.time("build", || {
            let model = read(arguments)?;
            let imported = import_model(arguments, &model, false, fetches.as_deref(), Some(&mut feeds))?;
            require_signature(arguments, &model, fetches.as_deref())?;
            Ok::<_, Failure>(imported)
        })?;
        let mut values = results(&imported, fetches.as_deref())?;
        let names: Vec<String> = values.iter().map(|(name, _)| name.clone()).collect();
        let state = State::read(arguments, &imported)?;
        values.extend(State::results(&imported)?);
        refuse_missing_kernels(&imported, &values)?;
        // A result and a variable may have one name.
        let values: Vec<shapeflow::Value<'_>> = values.iter().map(|(_, value)| *value).collect();
        let mut options = options(arguments);
        if arguments.contains_id("trace") {
            options = options.trace(&trace);
        }
        let exe = trace.time("compile", || imported.graph().compile_with(&options, &values[..]))?;
        (exe, names, state)
    };
    if let Some(state) = &state {
        feeds.add_state(state.feeds());
    }
    let tensors = feeds.of(&exe)?;
    let views: Vec<TensorView<'_>> = tensors.iter().map(Tensor::view).collect();
    let mut results = trace.time("run", || exe.run_all(&views))?;
    if let Some(state) = &state {
        state.write(&results.split_off(names.len()))?;
    }
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
                let (dtype, shape) = (tensor.dtype().name(), tensor.sizes());
                let values = (tensor.len() <= MAX_VALUES).then(|| values_json(tensor)).flatten();
                json!({
                    "name": name,
                    "dtype": dtype,
                    "shape": shape,
                    "values": values,
                    "summary": tensor.to_string(),
                })
            })
            .collect();
        return Ok(with_final_newline(json!({"results": results}).to_string()));
    }
    // Results would mix with a trace on standard output.
    let writes_trace = arguments.get_one::<PathBuf>("trace").is_some_and(|file| file == Path::new("-"));
    if arguments.contains_id("out") || writes_trace {
        return Ok(Vec::new());
    }
    Ok(with_final_newline(results.iter().map(|(name, tensor)| format!("{name}: {tensor}\n")).collect()))
}

/// The number of elements above which the JSON document has no values, only the summary.
const MAX_VALUES: usize = 1000;

/// Returns the elements in row-major order. A float that is not finite is a string; a string that is not UTF-8 is
/// `{"base64": TEXT}`. A complex number is its real and its imaginary part. `None` for dtypes
/// without a JSON form, such as floats of 8 bits.
fn values_json(tensor: &Tensor) -> Option<serde_json::Value> {
    fn of<T: Element + Into<serde_json::Value>>(tensor: &Tensor) -> Option<serde_json::Value> {
        Some(tensor.to_vec::<T>().ok()?.into_iter().map(Into::into).collect())
    }
    // The f64 of an element's shortest decimal prints the same digits: 0.1, not 0.10000000149 as the f64 of the f32.
    fn of_float(element: &dyn std::fmt::Display) -> serde_json::Value {
        let text = element.to_string();
        match text.parse().ok().and_then(serde_json::Number::from_f64) {
            Some(number) => serde_json::Value::Number(number),
            None => serde_json::Value::String(text),
        }
    }
    fn of_floats<T: std::fmt::Display>(floats: impl IntoIterator<Item = T>) -> serde_json::Value {
        floats.into_iter().map(|float| of_float(&float)).collect()
    }
    fn of_bytes(bytes: &[u8]) -> serde_json::Value {
        match std::str::from_utf8(bytes) {
            Ok(text) => json!(text),
            Err(_) => json!({"base64": STANDARD.encode(bytes)}),
        }
    }
    let view = tensor.view();
    match tensor.dtype() {
        DType::Bool => of::<bool>(tensor),
        DType::I8 => of::<i8>(tensor),
        DType::I16 => of::<i16>(tensor),
        DType::I32 => of::<i32>(tensor),
        DType::I64 => of::<i64>(tensor),
        DType::U8 => of::<u8>(tensor),
        DType::U16 => of::<u16>(tensor),
        DType::U32 => of::<u32>(tensor),
        DType::U64 => of::<u64>(tensor),
        DType::F16 => Some(of_floats(view.as_bits::<u16>().ok()?.iter().map(|bits| f16::from_bits(*bits)))),
        DType::BF16 => Some(of_floats(view.as_bits::<u16>().ok()?.iter().map(|bits| bf16::from_bits(*bits)))),
        DType::F32 => Some(of_floats(tensor.to_vec::<f32>().ok()?)),
        DType::F64 => Some(of_floats(tensor.to_vec::<f64>().ok()?)),
        DType::C64 => Some(view.as_bits::<f32>().ok()?.chunks_exact(2).map(of_floats).collect()),
        DType::C128 => Some(view.as_bits::<f64>().ok()?.chunks_exact(2).map(of_floats).collect()),
        DType::String => {
            let strings = tensor.as_strings().ok()?.iter();
            Some(strings.map(of_bytes).collect())
        }
        _ => None,
    }
}

/// Returns the compile options of commands that run a model.
pub(crate) fn options(arguments: &ArgMatches) -> CompileOptions {
    let threads = arguments.try_get_one::<u16>("threads").ok().flatten().copied().unwrap_or(1);
    let options = CompileOptions::new().threads(usize::from(threads));
    match arguments.try_get_one::<u32>("memory-limit").ok().flatten() {
        Some(mebibytes) => options.memory_limit((*mebibytes as usize).saturating_mul(1 << 20)),
        None => options,
    }
}
