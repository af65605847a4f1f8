//! Reads the arguments that several commands share: models, shapes, feeds and fetches.

use std::collections::{HashMap, HashSet};
use std::io::Read;
use std::path::{Path, PathBuf};

use clap::ArgMatches;
use shapeflow::interchange::{
    ComputedBy, ImportOptions, Imported, Limits, Model, as_dtype, map_safetensors, read_model, read_npz,
    read_npz_bytes, read_safetensors_bytes,
};
use shapeflow::{DType, DimNames, Error, Executable, Port, Tensor, TensorShape, Value};

use super::document::plural;
use super::failure::Failure;
use super::progress::Progress;
use super::signatures::{is_signature_chosen, signature_in_use};

/// Size in bytes above which reading a file shows progress.
const LARGE: u64 = 16 << 20;

/// Reads the model and imports it with the given fetches. The tensors of `feeds` become inputs, and take the names of
/// these inputs.
pub(crate) fn import(
    arguments: &ArgMatches,
    fetches: Option<&[&str]>,
    feeds: Option<&mut NamedFeeds>,
) -> Result<Imported, Failure> {
    import_model(arguments, &read(arguments)?, flag(arguments, "allow-unknown"), fetches, feeds)
}

/// Does the same as [`import`] for a model, and lets the caller decide whether unknown ops are errors.
pub(crate) fn import_model(
    arguments: &ArgMatches,
    model: &Model,
    allow_unknown: bool,
    fetches: Option<&[&str]>,
    feeds: Option<&mut NamedFeeds>,
) -> Result<Imported, Failure> {
    let mut options = import_options(arguments)?.allow_unknown(allow_unknown);
    for (name, _) in feeds.iter().flat_map(|feeds| &feeds.tensors) {
        options = options.feed(name.as_str());
    }
    if let Some(name) = model.default_signature().filter(|_| !is_signature_chosen(arguments))
        && has_placeholders_only(model, name)
    {
        options = options.signature(name);
    }
    let imported = model.import(fetches, &options)?;
    if let Some(feeds) = feeds {
        feeds.name_by_input(&imported)?;
        let signature = signature_in_use(arguments, model);
        for (name, tensor) in signature.iter().flat_map(|(_, signature)| &signature.inputs) {
            if let Some(input) = imported.input_name(tensor) {
                feeds.signature_names.insert(input.to_string(), name.clone());
            }
        }
    }
    Ok(imported)
}

/// Returns whether the inputs of a signature are placeholders, which a run without this signature feeds as well.
fn has_placeholders_only(model: &Model, signature: &str) -> bool {
    let ops = model.ops();
    let placeholders: HashSet<&str> =
        ops.get("Placeholder").into_iter().flatten().map(String::as_str).collect();
    let is_placeholder = |tensor: &str| placeholders.contains(tensor.strip_suffix(":0").unwrap_or(tensor));
    let mut signatures = model.signatures();
    signatures.any(|(name, found)| {
        name == signature && found.inputs.iter().all(|(_, tensor)| is_placeholder(tensor))
    })
}

/// Reads the model that the arguments name.
pub(crate) fn read(arguments: &ArgMatches) -> Result<Model, Failure> {
    read_file(path(arguments, "model")?)
}

/// Imports a model with the names of the chosen signature, or else of the default signature. Unknown ops are not
/// errors.
pub(crate) fn import_signature(
    arguments: &ArgMatches,
    model: &Model,
    fetches: Option<&[&str]>,
) -> Result<Imported, Failure> {
    let mut options = import_options(arguments)?.allow_unknown(true);
    if let Some(name) = model.default_signature().filter(|_| !is_signature_chosen(arguments))
        && (fetches.is_none() || has_placeholders_only(model, name))
    {
        options = options.signature(name);
    }
    Ok(model.import(fetches, &options)?)
}

/// Returns the options of an import that arguments give.
fn import_options(arguments: &ArgMatches) -> Result<ImportOptions, Failure> {
    let mut options = ImportOptions::new();
    if let Ok(Some(name)) = arguments.try_get_one::<String>("signature") {
        options = options.signature(name);
    }
    options = options.stateful(flag(arguments, "stateful"));
    options = options.variable_inputs(matches!(arguments.try_get_one::<PathBuf>("state"), Ok(Some(_))));
    for given in list(arguments, "shape") {
        let (name, shape) = named_shape(given)?;
        options = options.shape(name, shape);
    }
    Ok(options)
}

/// Reads a model from a file; `-` is standard input.
pub(crate) fn read_file(file: &Path) -> Result<Model, Failure> {
    let mut progress = Progress::new();
    if std::fs::metadata(file).is_ok_and(|data| data.len() > LARGE) {
        progress.announce(&format!("reading {}", file.display()));
    }
    Ok(if file == Path::new("-") {
        let model = Model::from_bytes_limited(read_input()?, &Limits::default());
        model.map_err(|error| Failure::input(format_args!("standard input: {}", error.message())))?
    } else {
        read_model(file)?
    })
}

/// Checks that at most one argument reads standard input, and that at most one writes standard output.
///
/// # Errors
/// Two arguments name the same stream.
pub(crate) fn check_streams(arguments: &ArgMatches) -> Result<(), Failure> {
    let streams = |names: &[&'static str]| -> Vec<&'static str> {
        let mut users = Vec::new();
        for name in names {
            if let Ok(Some(files)) = arguments.try_get_many::<PathBuf>(name) {
                users.extend(files.filter(|file| *file == Path::new("-")).map(|_| *name));
            }
        }
        users
    };
    let (readers, mut writers) = (streams(&["model", "feeds"]), streams(&["out", "trace", "output"]));
    if !writers.is_empty() && flag(arguments, "json") && !writers.contains(&"output") {
        writers.push("json");
    }
    for (users, action, stream) in [(readers, "read", "input"), (writers, "write", "output")] {
        if users.len() > 1 {
            return Err(Failure::input(format_args!(
                "one argument may {action} standard {stream}, got {}",
                users.join(" and ")
            )));
        }
    }
    Ok(())
}

/// Reads standard input to its end.
fn read_input() -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let read = std::io::stdin().lock().read_to_end(&mut bytes);
    read.map_err(|error| Failure::input(format_args!("standard input: {error}")))?;
    Ok(bytes)
}

/// Returns whether a flag is set; false for a command without the flag.
pub(crate) fn flag(arguments: &ArgMatches, name: &str) -> bool {
    matches!(arguments.try_get_one::<bool>(name), Ok(Some(true)))
}

/// Returns all values of an argument that may be given several times.
pub(crate) fn list<'a>(arguments: &'a ArgMatches, name: &str) -> impl Iterator<Item = &'a str> {
    arguments.get_many::<String>(name).into_iter().flatten().map(String::as_str)
}

/// Returns the path that an argument gives.
pub(crate) fn path<'a>(arguments: &'a ArgMatches, name: &str) -> Result<&'a Path, Failure> {
    let path = arguments.get_one::<PathBuf>(name).map(PathBuf::as_path);
    path.ok_or_else(|| Failure::input(format_args!("{name} must be given")))
}

/// Parses `NAME=2,?,n`. An empty shape is a scalar, and `..` is an unknown rank.
fn named_shape(text: &str) -> Result<(String, TensorShape), Failure> {
    let Some((name, dims)) = text.split_once('=').filter(|(name, _)| !name.is_empty()) else {
        return Err(Failure::input(format_args!("--shape must be NAME=2,?,n, got {text}")));
    };
    let dims = dims.trim().trim_start_matches('[').trim_end_matches(']');
    let shape = match dims {
        ".." => TensorShape::unranked(),
        _ => format!("[{dims}]")
            .parse()
            .map_err(|error| Failure::input(format_args!("--shape {text}: {error}")))?,
    };
    Ok((name.to_string(), shape))
}

/// Formats dtype and shape, such as `f32[?, 8]`; `f32[..]` for unknown rank, `?[2]` for an unknown dtype.
pub(crate) fn type_text(dtype: Option<DType>, shape: &TensorShape, names: &DimNames) -> String {
    format!("{}{}", dtype.map_or("?", DType::name), names.shape(shape))
}

/// Returns the fetches of a command: the tensors that `--fetch` names, or `None` for the outputs of the signature.
pub(crate) fn fetches(arguments: &ArgMatches) -> Option<Vec<&str>> {
    Some(list(arguments, "fetch").collect()).filter(|fetches: &Vec<&str>| !fetches.is_empty())
}

/// Returns the values that a run computes: the fetches, else the outputs of the signature, else the tensors that no
/// node reads.
pub(crate) fn results<'m>(
    imported: &'m Imported,
    fetches: Option<&[&str]>,
) -> Result<Vec<(String, Value<'m>)>, Failure> {
    if let Some(fetches) = fetches {
        return fetched(imported, fetches);
    }
    let outputs = imported.outputs()?;
    if outputs.is_empty() {
        let ends: Vec<&str> = imported.fetches().collect();
        return match ends[..] {
            [] => Err(Failure::input("the model must have a node with outputs, got none")),
            _ => fetched(imported, &ends),
        };
    }
    Ok(outputs.into_iter().map(|(name, value)| (name.to_string(), value)).collect())
}

/// Checks that this crate can compute all ops that the results need.
///
/// # Errors
/// The crate has no kernel for some ops. The error lists all these ops, and why the import refused their first nodes.
pub(crate) fn refuse_missing_kernels(
    imported: &Imported,
    results: &[(String, Value<'_>)],
) -> Result<(), Failure> {
    let values: Vec<Value<'_>> = results.iter().map(|(_, value)| *value).collect();
    let usage = imported.op_usage(&values)?;
    let missing: Vec<_> = usage.iter().filter(|usage| usage.computed_by == ComputedBy::Nothing).collect();
    let [first, ..] = missing[..] else { return Ok(()) };
    let ops: Vec<String> = missing
        .iter()
        .map(|usage| format!("{} ({}: {})", usage.op, plural(usage.nodes.len(), "node"), shown(&usage.nodes)))
        .collect();
    let mut message = format!("no kernel computes {}: {}", plural(missing.len(), "op"), ops.join(", "));
    let is_missing = |error: &&Error| {
        error
            .node()
            .is_some_and(|node| missing.iter().any(|usage| usage.nodes.iter().any(|name| name == node)))
    };
    let refusals = imported.nodes().filter_map(|node| node.error).filter(is_missing);
    for refusal in refusals.take(SHOWN) {
        message.push_str("\n  ");
        message.push_str(refusal.message());
    }
    Err(Failure::at_op(&first.op, first.nodes.first().map_or("", String::as_str), message))
}

/// Maximum number of nodes that a list shows.
const SHOWN: usize = 4;

/// Returns the names of the first nodes, and the number of the others.
pub(crate) fn shown(nodes: &[String]) -> String {
    let names = nodes.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join(", ");
    match nodes.len().saturating_sub(SHOWN) {
        0 => names,
        more => format!("{names}, … {more} more"),
    }
}

/// Returns the fetched values. A name may be given once.
pub(crate) fn fetched<'m>(
    imported: &'m Imported,
    fetches: &[&str],
) -> Result<Vec<(String, Value<'m>)>, Failure> {
    let mut values: Vec<(String, Value<'m>)> = Vec::new();
    for fetch in fetches {
        if values.iter().any(|(name, _)| name == fetch) {
            return Err(Failure::input(format_args!("{fetch} is fetched twice")));
        }
        values.push(((*fetch).to_string(), imported.value(fetch)?));
    }
    Ok(values)
}

/// The fed tensors, each with the name of its input.
pub(crate) struct NamedFeeds {
    /// The file of the tensors; none without `--feeds`.
    file: Option<PathBuf>,
    tensors: Vec<(String, Tensor)>,
    /// The names that the signature gives to inputs, by the names of the inputs.
    signature_names: HashMap<String, String>,
    /// The variables that are inputs, each with the name of its input.
    state: Vec<(String, Tensor)>,
}

impl NamedFeeds {
    /// Reads the tensors of the file that `--feeds` names; none without the argument.
    pub(crate) fn read(arguments: &ArgMatches) -> Result<NamedFeeds, Failure> {
        match arguments.get_one::<PathBuf>("feeds") {
            Some(file) => NamedFeeds::read_file(file),
            None => Ok(NamedFeeds::none()),
        }
    }

    pub(crate) fn none() -> NamedFeeds {
        NamedFeeds { file: None, tensors: Vec::new(), signature_names: HashMap::new(), state: Vec::new() }
    }

    /// Reads the tensors of a file; `-` is standard input.
    pub(crate) fn read_file(file: &Path) -> Result<NamedFeeds, Failure> {
        let is_safetensors = file.extension().is_some_and(|extension| extension == "safetensors");
        let read = if file == Path::new("-") {
            let bytes = read_input()?;
            // An npz file is a zip archive.
            if bytes.starts_with(b"PK") { read_npz_bytes(&bytes) } else { read_safetensors_bytes(&bytes) }
        } else if is_safetensors {
            map_safetensors(file)
        } else {
            read_npz(file)
        };
        let tensors = read.map_err(|error| Failure::input(error.message()))?;
        Ok(NamedFeeds {
            file: Some(file.to_path_buf()),
            tensors: tensors.into_iter().collect(),
            signature_names: HashMap::new(),
            state: Vec::new(),
        })
    }

    /// Adds the variables that are inputs, each with the name of its input.
    pub(crate) fn add_state(&mut self, state: impl IntoIterator<Item = (String, Tensor)>) {
        self.state.extend(state);
    }

    /// Returns whether `--feeds` was given.
    pub(crate) fn are_given(&self) -> bool {
        self.file.is_some()
    }

    /// Gives each tensor the name of the input that it feeds.
    fn name_by_input(&mut self, imported: &Imported) -> Result<(), Failure> {
        let mut seen = HashSet::new();
        for (name, _) in &mut self.tensors {
            if let Some(input) = imported.input_name(name) {
                *name = input.to_string();
            }
            if !seen.insert(&*name) {
                return Err(Failure::input(format_args!("{name} is fed twice")));
            }
        }
        Ok(())
    }

    /// Returns the tensors in the order of an executable's needed inputs, converted to the dtypes of the inputs.
    pub(crate) fn of(&self, exe: &Executable) -> Result<Vec<Tensor>, Failure> {
        let names = exe.dim_names();
        let tensor_for = |port: &Port| {
            let Port { name, dtype, shape, .. } = port;
            // Messages have the names that the user knows.
            let shown = |name: &String| self.signature_names.get(name).unwrap_or(name).clone();
            let called = shown(name);
            let expected = type_text(Some(*dtype), shape, &names);
            if let Some((_, tensor)) = self.state.iter().find(|(given, _)| given == name) {
                return Ok(tensor.clone());
            }
            let Some(file) = self.file.as_ref().map(|file| file.display()) else {
                let message = format!("{called} {expected} must be fed; give --feeds FEEDS.npz");
                return Err(Failure::at_node(name, message));
            };
            let Some((_, tensor)) = self.tensors.iter().find(|(given, _)| given == name) else {
                let names: Vec<String> = self.tensors.iter().map(|(name, _)| shown(name)).collect();
                let names = if names.is_empty() { "no tensors".to_string() } else { names.join(", ") };
                return Err(Failure::at_node(
                    name,
                    format!("{called} {expected} must be fed, {file} has {names}"),
                ));
            };
            as_dtype(tensor, *dtype).map_err(|error| {
                let help = error.help().map_or(String::new(), |help| format!("\n  help: {help}"));
                let (got, sizes) = (tensor.dtype(), tensor.sizes());
                let message = format!("{called} must be {expected}, {file} has {got}{sizes:?}{help}");
                Failure::at_node(name, message)
            })
        };
        exe.inputs().iter().filter(|port| port.needed).map(tensor_for).collect()
    }
}
