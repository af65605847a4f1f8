//! Reads the arguments that several commands share: models, shapes, feeds and fetches.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use clap::ArgMatches;
use shapeflow::interchange::{ImportOptions, Imported, as_dtype, map_safetensors, read_model, read_npz};
use shapeflow::{DType, Executable, Port, Tensor, TensorShape, Value};

use super::failure::Failure;
use super::progress::Progress;

/// Size in bytes above which reading a file shows progress.
const LARGE: u64 = 16 << 20;

/// Reads the model and imports it with the given fetches. The tensors of `feeds` become inputs, and take the names of
/// these inputs.
pub(crate) fn import(
    arguments: &ArgMatches,
    fetches: Option<&[&str]>,
    feeds: Option<&mut Feeds>,
) -> Result<Imported, Failure> {
    import_with(arguments, flag(arguments, "allow-unknown"), fetches, feeds)
}

/// Does the same as [`import`], and lets the caller decide whether unknown ops are errors.
pub(crate) fn import_with(
    arguments: &ArgMatches,
    allow_unknown: bool,
    fetches: Option<&[&str]>,
    feeds: Option<&mut Feeds>,
) -> Result<Imported, Failure> {
    let mut options = ImportOptions::new().allow_unknown(allow_unknown);
    if let Ok(Some(name)) = arguments.try_get_one::<String>("signature") {
        options = options.signature(name);
    }
    for given in list(arguments, "shape") {
        let (name, shape) = named_shape(given)?;
        options = options.shape(name, shape);
    }
    for (name, _) in feeds.iter().flat_map(|feeds| &feeds.tensors) {
        options = options.feed(name.as_str());
    }
    let file = path(arguments, "model")?;
    let mut progress = Progress::new();
    if std::fs::metadata(file).is_ok_and(|data| data.len() > LARGE) {
        progress.announce(&format!("reading {}", file.display()));
    }
    let imported = read_model(file)?.import(fetches, &options)?;
    if let Some(feeds) = feeds {
        feeds.name_by_input(&imported)?;
    }
    Ok(imported)
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
pub(crate) fn type_text(dtype: Option<DType>, shape: &TensorShape) -> String {
    let dtype = dtype.map_or("?", DType::name);
    match shape.rank() {
        Some(_) => format!("{dtype}{shape}"),
        None => format!("{dtype}[..]"),
    }
}

/// Returns the fetches of a command: the tensors that `--fetch` names, or `None` for the outputs of the signature.
pub(crate) fn fetches(arguments: &ArgMatches) -> Option<Vec<&str>> {
    Some(list(arguments, "fetch").collect()).filter(|fetches: &Vec<&str>| !fetches.is_empty())
}

/// Returns the values that a run computes: the fetches, or the outputs of the signature.
pub(crate) fn results<'m>(
    imported: &'m Imported,
    fetches: Option<&[&str]>,
) -> Result<Vec<(String, Value<'m>)>, Failure> {
    if let Some(fetches) = fetches {
        return fetched(imported, fetches);
    }
    let outputs = imported.outputs()?;
    if outputs.is_empty() {
        return Err(Failure::input("--fetch must be given, because the model has no signature"));
    }
    Ok(outputs.into_iter().map(|(name, value)| (name.to_string(), value)).collect())
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
pub(crate) struct Feeds {
    file: PathBuf,
    tensors: Vec<(String, Tensor)>,
}

impl Feeds {
    /// Reads the tensors of the file that `--feeds` names, if the argument is given.
    pub(crate) fn read(arguments: &ArgMatches) -> Result<Option<Feeds>, Failure> {
        if !arguments.contains_id("feeds") {
            return Ok(None);
        }
        Feeds::required(arguments).map(Some)
    }

    /// Reads the tensors of the file that `--feeds` names.
    pub(crate) fn required(arguments: &ArgMatches) -> Result<Feeds, Failure> {
        let file = path(arguments, "feeds")?.to_path_buf();
        let is_safetensors = Path::new(&file).extension().is_some_and(|extension| extension == "safetensors");
        let read = if is_safetensors { map_safetensors(&file) } else { read_npz(&file) };
        let tensors = read.map_err(|error| Failure::input(error.message()))?;
        Ok(Feeds { file, tensors: tensors.into_iter().collect() })
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
        let tensor_for = |port: &Port| {
            let Port { name, dtype, shape, .. } = port;
            let (expected, file) = (type_text(Some(*dtype), shape), self.file.display());
            let Some((_, tensor)) = self.tensors.iter().find(|(given, _)| given == name) else {
                let names: Vec<&str> = self.tensors.iter().map(|(name, _)| name.as_str()).collect();
                let names = if names.is_empty() { "no tensors".to_string() } else { names.join(", ") };
                return Err(Failure::input(format_args!(
                    "{name} {expected} must be fed, {file} has {names}"
                )));
            };
            as_dtype(tensor, *dtype).map_err(|error| {
                let help = error.help().map_or(String::new(), |help| format!("\n  help: {help}"));
                let (got, sizes) = (tensor.dtype(), tensor.sizes());
                Failure::input(format_args!("{name} must be {expected}, {file} has {got}{sizes:?}{help}"))
            })
        };
        exe.inputs().iter().filter(|port| port.needed).map(tensor_for).collect()
    }
}
