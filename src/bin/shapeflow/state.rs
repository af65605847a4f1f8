//! `State`: the values of variables, which `--state` keeps in a file from run to run.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use clap::ArgMatches;
use shapeflow::interchange::{Imported, as_dtype, read_npz, write_npz_bytes};
use shapeflow::{Tensor, Value};

use super::failure::Failure;

/// The values of the variables of a model.
pub(crate) struct State {
    file: PathBuf,
    variables: Vec<Variable>,
    /// The variables of the file that the signature does not use.
    others: Vec<(String, Tensor)>,
}

struct Variable {
    name: String,
    /// The name of the input of the graph.
    input: String,
    is_written: bool,
    /// Whether the value comes from the file.
    is_saved: bool,
    value: Tensor,
}

/// Returns results followed by the values of variables after the run. A result and a variable may have one name, so the
/// values have none.
pub(crate) fn with_state<'m>(
    results: &[(impl AsRef<str>, Value<'m>)],
    state: &[(String, Value<'m>)],
) -> Vec<Value<'m>> {
    results.iter().map(|(_, value)| *value).chain(state.iter().map(|(_, value)| *value)).collect()
}

impl State {
    /// Returns the variables with their values in the file, or, as far as it has none, in the checkpoint; `None`
    /// without `--state`.
    ///
    /// # Errors
    /// The signature uses no variable, the file cannot be read, or it has none of these variables, or one with another
    /// dtype.
    pub(crate) fn read(arguments: &ArgMatches, imported: &Imported) -> Result<Option<State>, Failure> {
        let Some(file) = arguments.get_one::<PathBuf>("state") else { return Ok(None) };
        if file == Path::new("-") {
            return Err(Failure::input("--state must name a file, got -"));
        }
        let state = imported.state()?;
        if state.is_empty() {
            return Err(Failure::input(
                "--state needs a signature that uses variables, got one that uses none",
            ));
        }
        let saved = match std::fs::metadata(file) {
            Err(error) if error.kind() == ErrorKind::NotFound => Default::default(),
            _ => read_npz(file).map_err(|error| Failure::input(error.message()))?,
        };
        let mut variables = Vec::with_capacity(state.len());
        for one in state {
            let value = match saved.get(one.variable) {
                Some(tensor) => as_dtype(tensor, one.initial.dtype()).map_err(|error| {
                    let name = one.variable;
                    Failure::input(format_args!("{name} in {}: {}", file.display(), error.message()))
                })?,
                None => one.initial.clone(),
            };
            let (name, input) = (one.variable.to_string(), one.input.to_string());
            let (is_written, is_saved) = (one.is_written(), saved.get(one.variable).is_some());
            variables.push(Variable { name, input, is_written, is_saved, value });
        }
        let names: Vec<&str> = variables.iter().map(|variable| variable.name.as_str()).collect();
        let others = saved.iter().filter(|(name, _)| !names.contains(name));
        let others: Vec<(String, Tensor)> =
            others.map(|(name, tensor)| (name.to_string(), tensor.clone())).collect();
        if let ([(name, _), ..], false) = (&others[..], variables.iter().any(|variable| variable.is_saved)) {
            return Err(Failure::input(format_args!(
                "{} must have variables that the signature uses, got {name}; the signature uses {}",
                file.display(),
                names.join(", ")
            )));
        }
        Ok(Some(State { file: file.clone(), variables, others }))
    }

    /// Returns the values before the run, each with the name of its input.
    pub(crate) fn feeds(&self) -> impl Iterator<Item = (String, Tensor)> {
        self.variables.iter().map(|variable| (variable.input.clone(), variable.value.clone()))
    }

    /// Returns the values in the checkpoint of all variables that are inputs, each with the name of its input.
    pub(crate) fn initial(imported: &Imported) -> Result<Vec<(String, Tensor)>, Failure> {
        let state = imported.state()?.into_iter();
        Ok(state.map(|one| (one.input.to_string(), one.initial.clone())).collect())
    }

    /// Returns the values of the written variables after the run, each with the name of its input.
    pub(crate) fn results<'m>(imported: &'m Imported) -> Result<Vec<(String, Value<'m>)>, Failure> {
        let written = imported.state()?.into_iter().filter(|one| one.is_written());
        Ok(written.map(|one| (one.input.to_string(), one.after)).collect())
    }

    /// Writes the values of the written variables after a run to the file, beside the other variables of the file. The
    /// file has its old content until the new content is complete.
    pub(crate) fn write(&self, values: &[Tensor]) -> Result<(), Failure> {
        if values.is_empty() {
            return Ok(());
        }
        let mut written = values.iter();
        let variables = self.variables.iter().filter_map(|variable| {
            let value = match variable.is_written {
                true => written.next()?,
                false => Some(&variable.value).filter(|_| variable.is_saved)?,
            };
            Some((variable.name.as_str(), value))
        });
        let others = self.others.iter().map(|(name, tensor)| (name.as_str(), tensor));
        let bytes = write_npz_bytes(variables.chain(others).collect::<Vec<_>>())?;
        let mut new = self.file.clone().into_os_string();
        new.push(".new");
        let written = std::fs::write(&new, bytes).and_then(|()| std::fs::rename(&new, &self.file));
        written.map_err(|error| Failure::output(self.file.display(), error))
    }
}
