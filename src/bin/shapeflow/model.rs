//! Models, shapes, feeds and fetches as arguments name them.

use std::path::{Path, PathBuf};

use clap::ArgMatches;
use shapeflow::interchange::{ImportOptions, Imported, as_dtype, read_model, read_npz};
use shapeflow::{DType, Tensor, TensorShape, Value};

use super::failure::Failure;
use super::progress::Progress;

/// Bytes of a file that takes a while to read.
const LARGE: u64 = 16 << 20;

/// Reads the model and imports what `fetches` need, or all of it.
pub(crate) fn import(arguments: &ArgMatches, fetches: Option<&[&str]>) -> Result<Imported, Failure> {
    let mut options = ImportOptions::new().allow_unknown(flag(arguments, "allow-unknown"));
    for given in list(arguments, "shape") {
        let (name, shape) = named_shape(given)?;
        options = options.shape(name, shape);
    }
    let file = path(arguments, "model")?;
    let mut progress = Progress::new();
    if std::fs::metadata(file).is_ok_and(|data| data.len() > LARGE) {
        progress.announce(&format!("reading {}", file.display()));
    }
    Ok(read_model(file)?.import(fetches, &options)?)
}

/// Whether a flag is there, also for a command that does not have it.
pub(crate) fn flag(arguments: &ArgMatches, name: &str) -> bool {
    matches!(arguments.try_get_one::<bool>(name), Ok(Some(true)))
}

pub(crate) fn list<'a>(arguments: &'a ArgMatches, name: &str) -> impl Iterator<Item = &'a str> {
    arguments.get_many::<String>(name).into_iter().flatten().map(String::as_str)
}

pub(crate) fn path<'a>(arguments: &'a ArgMatches, name: &str) -> Result<&'a Path, Failure> {
    let path = arguments.get_one::<PathBuf>(name).map(PathBuf::as_path);
    path.ok_or_else(|| Failure::input(format_args!("{name} must be given")))
}

/// `NAME=2,?,n`; nothing after the sign is a scalar, `..` any rank.
fn named_shape(text: &str) -> Result<(String, TensorShape), Failure> {
    let Some((name, dims)) = text.split_once('=').filter(|(name, _)| !name.is_empty()) else {
        return Err(Failure::input(format_args!("a shape is given as NAME=2,?,n, got {text}")));
    };
    let dims = dims.trim().trim_start_matches('[').trim_end_matches(']');
    let shape = match dims {
        ".." => TensorShape::unranked(),
        _ => format!("[{dims}]")
            .parse()
            .map_err(|error| Failure::input(format_args!("--shape {text}: {error}")))?,
    };
    Ok((name.trim_end_matches(":0").to_string(), shape))
}

/// The values that are fetched; a name that is given twice is one too many.
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

/// The tensors of a file in the order of these inputs.
pub(crate) fn feeds<'a>(
    path: &Path,
    inputs: impl Iterator<Item = (&'a str, DType, &'a TensorShape)>,
) -> Result<Vec<Tensor>, Failure> {
    let given = read_npz(path).map_err(|error| Failure::input(error.message()))?;
    let mut used = vec![false; given.len()];
    let mut tensors = Vec::new();
    for (name, dtype, shape) in inputs {
        let key = |given: &str| given == name || given.strip_suffix(":0") == Some(name);
        let mut found = given.iter().enumerate().filter(|(_, (given, _))| key(given));
        let (at, tensor) = match (found.next(), found.next()) {
            (Some((at, (_, tensor))), None) => (at, tensor),
            (Some(_), Some(_)) => return Err(Failure::input(format_args!("{name} is fed twice"))),
            (None, _) => {
                let names: Vec<&str> = given.iter().map(|(name, _)| name.as_str()).collect();
                return Err(Failure::input(format_args!(
                    "{name} {dtype}{shape} must be fed, {} has {}",
                    path.display(),
                    if names.is_empty() { "nothing".to_string() } else { names.join(", ") }
                )));
            }
        };
        used[at] = true;
        tensors.push(as_dtype(tensor, dtype).map_err(|error| {
            Failure::input(format_args!("{name} must be fed {dtype}{shape}: {}", error.message()))
        })?);
    }
    for ((name, _), _) in given.iter().zip(&used).filter(|(_, used)| !**used) {
        eprintln!("note: {name} is fed, but nothing that is fetched needs it");
    }
    Ok(tensors)
}
