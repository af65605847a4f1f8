//! `State`: the values of the variables that a model writes, which `--state` keeps in a file from run to run.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use clap::ArgMatches;
use shapeflow::interchange::{Imported, as_dtype, read_npz, write_npz_bytes};
use shapeflow::{Tensor, Value};

use super::failure::Failure;

/// The values of the variables that a model writes.
pub(crate) struct State {
    file: PathBuf,
    variables: Vec<Variable>,
}

struct Variable {
    name: String,
    /// The name of the input of the graph.
    input: String,
    value: Tensor,
}

impl State {
    /// Returns the variables with their values in the file, or, as far as it has none, in the checkpoint; `None`
    /// without `--state`.
    ///
    /// # Errors
    /// The model writes no variable, the file cannot be read, or a tensor of the file has another dtype or name than
    /// all variables.
    pub(crate) fn read(arguments: &ArgMatches, imported: &Imported) -> Result<Option<State>, Failure> {
        let Some(file) = arguments.get_one::<PathBuf>("state") else { return Ok(None) };
        if file == Path::new("-") {
            return Err(Failure::input("--state must name a file, got -"));
        }
        let state = imported.state()?;
        if state.is_empty() {
            return Err(Failure::input(
                "--state needs a model that writes variables, got one that writes none",
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
            variables.push(Variable { name, input, value });
        }
        let names: Vec<&str> = variables.iter().map(|variable| variable.name.as_str()).collect();
        if let Some((name, _)) = saved.iter().find(|(name, _)| !names.contains(name)) {
            return Err(Failure::input(format_args!(
                "{} must have only variables that the model writes, got {name}; the model writes {}",
                file.display(),
                names.join(", ")
            )));
        }
        Ok(Some(State { file: file.clone(), variables }))
    }

    /// Returns the values before the run, each with the name of its input.
    pub(crate) fn feeds(&self) -> impl Iterator<Item = (String, Tensor)> {
        self.variables.iter().map(|variable| (variable.input.clone(), variable.value.clone()))
    }

    /// Returns the values after the run, each with the name of its input.
    pub(crate) fn results<'m>(imported: &'m Imported) -> Result<Vec<(String, Value<'m>)>, Failure> {
        Ok(imported.state()?.into_iter().map(|one| (one.input.to_string(), one.after)).collect())
    }

    /// Writes the values after a run to the file. The file has its old content until the new content is complete.
    pub(crate) fn write(&self, values: &[Tensor]) -> Result<(), Failure> {
        let names = self.variables.iter().map(|variable| variable.name.as_str());
        let bytes = write_npz_bytes(names.zip(values))?;
        let mut new = self.file.clone().into_os_string();
        new.push(".new");
        let written = std::fs::write(&new, bytes).and_then(|()| std::fs::rename(&new, &self.file));
        written.map_err(|error| Failure::output(self.file.display(), error))
    }
}
