//! `Session`: a compiled model that keeps the values of its variables from run to run.

use std::panic::Location;

use super::imported::Imported;
use super::state_variable::free_name;
use crate::compile::CompileOptions;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::exec::{Executable, Results};
use crate::graph::Value;
use crate::nearest::did_you_mean_or_try;
use crate::tensor::{Tensor, TensorView};

/// A compiled model that keeps the values of its variables from run to run, as a session of TensorFlow does. See
/// [`ImportOptions::stateful`](super::ImportOptions::stateful) and
/// [`ImportOptions::variable_inputs`](super::ImportOptions::variable_inputs).
///
/// A clone has values of its own and shares the compiled code: give each stream of data a clone.
///
/// ```
/// use shapeflow::Tensor;
/// use shapeflow::interchange::{ImportOptions, SavedModel};
///
/// // The signature adds `by` to the variable `steps`, and returns the sum.
/// let model = SavedModel::load("tests/data/saved_models/layers")?;
/// let mut session = model.signature_with("count", &ImportOptions::new().stateful(true))?.session()?;
/// let by = Tensor::scalar(2i64);
/// session.run(&[("by", by.view())])?;
/// let results = session.run(&[("by", by.view())])?;
/// assert_eq!(results.tensor("steps")?, &Tensor::scalar(7i64));
/// assert_eq!(session.variable("steps")?, &Tensor::scalar(7i64));
/// # Ok::<(), shapeflow::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Session {
    executable: Executable,
    /// The number of results that are not values of variables.
    results: usize,
    variables: Vec<Variable>,
}

#[derive(Clone, Debug)]
struct Variable {
    name: String,
    /// The name of the input of the graph.
    input: String,
    /// Whether the model writes the variable. Its value after the run is then an output of the executable.
    is_written: bool,
    value: Tensor,
}

impl Imported {
    /// Compiles the outputs of the signature, or, without a signature, the tensors that the import fetched, into a
    /// [`Session`]. Its variables have the values of the checkpoint.
    ///
    /// # Errors
    /// As [`Imported::outputs`], [`Imported::state`] and [`Graph::compile`](crate::Graph::compile).
    #[track_caller]
    pub fn session(&self) -> Result<Session> {
        self.session_with(&CompileOptions::default())
    }

    /// Compiles the model as [`Imported::session`] does, with options.
    ///
    /// # Errors
    /// As [`Imported::session`].
    #[track_caller]
    pub fn session_with(&self, options: &CompileOptions) -> Result<Session> {
        let location = Location::caller();
        let mut results: Vec<(String, Value<'_>)> = Vec::new();
        results.extend(self.outputs()?.into_iter().map(|(name, value)| (name.to_string(), value)));
        if results.is_empty() {
            let fetches: Vec<&str> = match self.fetches.is_empty() {
                true => self.fetches().collect(),
                false => self.fetches.iter().map(String::as_str).collect(),
            };
            for name in fetches {
                results.push((name.to_string(), self.value(name)?));
            }
        }
        let count = results.len();
        let state = self.state()?;
        for variable in state.iter().filter(|variable| variable.is_written()) {
            let is_taken = |output: &str| results.iter().any(|(name, _)| name == output);
            results.push((free_name(variable.input, is_taken), variable.after));
        }
        let executable =
            self.graph().compile_with(options, &results[..]).map_err(|error| error.or_at(location))?;
        let variables = state.into_iter().map(|variable| Variable {
            name: variable.variable.to_string(),
            input: variable.input.to_string(),
            is_written: variable.is_written(),
            value: variable.initial.clone(),
        });
        Ok(Session { executable, results: count, variables: variables.collect() })
    }
}

impl Session {
    /// Runs the model on inputs by name, and returns the results by name. Afterwards the variables have the values that
    /// the run wrote. A run that fails changes no variable.
    ///
    /// # Errors
    /// As [`Executable::run_named`].
    #[track_caller]
    pub fn run(&mut self, feeds: &[(&str, TensorView<'_>)]) -> Result<Results> {
        let state = self.variables.iter().map(|variable| (variable.input.as_str(), variable.value.view()));
        let feeds: Vec<(&str, TensorView<'_>)> = feeds.iter().cloned().chain(state).collect();
        let mut results = self.executable.run_named(&feeds)?;
        let written = results.split_off(self.results);
        let variables = self.variables.iter_mut().filter(|variable| variable.is_written);
        for (variable, value) in variables.zip(written) {
            variable.value = value;
        }
        Ok(results)
    }

    /// Returns the names of the variables that are inputs, with their values.
    pub fn variables(&self) -> impl Iterator<Item = (&str, &Tensor)> {
        self.variables.iter().map(|variable| (variable.name.as_str(), &variable.value))
    }

    /// Returns the value of a variable.
    ///
    /// # Errors
    /// No variable of this name is an input.
    #[track_caller]
    pub fn variable(&self, name: &str) -> Result<&Tensor> {
        Ok(&self.variables[self.number(name).map_err(|error| error.at(Location::caller()))?].value)
    }

    /// Sets the value of a variable, such as a value that an earlier session had. The next run checks its shape.
    ///
    /// # Errors
    /// No variable of this name is an input, or the value has another dtype than the variable.
    #[track_caller]
    pub fn set_variable(&mut self, name: &str, value: Tensor) -> Result<()> {
        let location = Location::caller();
        let number = self.number(name).map_err(|error| error.at(location))?;
        let (dtype, got) = (self.variables[number].value.dtype(), value.dtype());
        if got != dtype {
            let message = format!("the variable {name} must be {dtype}, got {got}{:?}", value.sizes());
            return Err(Error::new(ErrorKind::DType, Phase::Run, message).at(location));
        }
        self.variables[number].value = value;
        Ok(())
    }

    /// Gives each variable the value that the variable of the same name has in another session. The sessions may be of
    /// two signatures, such as one that trains and one that predicts. They share the memory of the values until one
    /// writes them.
    ///
    /// # Errors
    /// The sessions have no variable in common, or a variable has two dtypes.
    #[track_caller]
    pub fn set_variables_of(&mut self, other: &Session) -> Result<()> {
        let location = Location::caller();
        let common: Vec<(&str, &Tensor)> =
            other.variables().filter(|(name, _)| self.number(name).is_ok()).collect();
        if common.is_empty() {
            let message = "the sessions must have a variable in common, got none".to_string();
            let error = Error::new(ErrorKind::Attribute, Phase::Run, message);
            return Err(error
                .with_help(
                    "ImportOptions::variable_inputs makes the variables that a model only reads inputs",
                )
                .at(location));
        }
        for (name, value) in common {
            self.set_variable(name, value.clone()).map_err(|error| error.at(location))?;
        }
        Ok(())
    }

    /// Returns the executable. Its inputs are the inputs of the model and the variables. Its outputs are the results and
    /// the new values of the written variables.
    pub fn executable(&self) -> &Executable {
        &self.executable
    }

    fn number(&self, name: &str) -> Result<usize> {
        let names = || self.variables.iter().map(|variable| variable.name.as_str());
        names().position(|known| known == name).ok_or_else(|| {
            let proposal = did_you_mean_or_try(name, names(), names());
            let message = format!("no variable named {name} is an input of the model{proposal}");
            Error::new(ErrorKind::Attribute, Phase::Run, message)
        })
    }
}
