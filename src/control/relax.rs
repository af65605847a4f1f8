//! `StateShapes`: the shapes of a loop's state, relaxed until the body keeps them.

use std::panic::Location;

use shapeflow_shape_fns::{DType, IntoDim, TensorShape, Unknown, counted};

use super::loop_options::LoopOptions;
use super::node::with_origin;
use super::recorder::Recorder;
use crate::dtype::type_text;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::graph::Value;

/// The dtypes and shapes of a loop's state at the start of every iteration, as the graph around the loop knows them.
pub(super) struct StateShapes {
    pub dtypes: Vec<DType>,
    pub shapes: Vec<TensorShape>,
    /// Whether the shape is declared, so that it must not be relaxed.
    declared: Vec<bool>,
    /// Where each initial value comes from, for errors.
    origins: Vec<(String, &'static Location<'static>)>,
    /// Whether the body may change the rank of a state value whose shape is not declared.
    ranks_may_change: bool,
}

impl StateShapes {
    /// Starts from the shapes of the initial values, or from declared shapes.
    ///
    /// # Errors
    /// An initial value does not fit its declared shape.
    pub(super) fn new(
        initial: &[Value<'_>],
        options: &LoopOptions,
        ranks_may_change: bool,
    ) -> Result<StateShapes> {
        if let Some(index) = options.unknown_index(initial.len()) {
            let message = format!(
                "a declared shape must have the index of a state value, got index {index} for {}",
                counted(initial.len(), "value")
            );
            return fail(ErrorKind::Attribute, message);
        }
        let mut this = StateShapes {
            dtypes: Vec::new(),
            shapes: Vec::new(),
            declared: Vec::new(),
            origins: Vec::new(),
            ranks_may_change,
        };
        for (index, value) in initial.iter().enumerate() {
            let shape = value.ok()?.shape();
            let declared = options.declared_shape(index);
            if let Some(declared) = declared
                && !shape.is_subtype_of(declared)
            {
                let message = format!(
                    "the initial value of state {index} must fit the declared shape {declared}, got {shape}"
                );
                let help = format!(
                    "declare a shape that the initial value has too: `LoopOptions::shape({index}, ..)`"
                );
                return fail(ErrorKind::Shape, message)
                    .map_err(|error| with_origin(error, "the initial value", *value).with_help(help));
            }
            this.origins.push(origin(value)?);
            this.dtypes.push(value.dtype());
            this.declared.push(declared.is_some());
            this.shapes.push(declared.cloned().unwrap_or(shape));
        }
        Ok(this)
    }

    /// Adds the state, which starts with the values `initial`, as parameters of a region.
    pub(super) fn parameters<'g>(
        &self,
        recorder: &mut Recorder<'g>,
        initial: &[Value<'g>],
    ) -> Vec<Value<'g>> {
        let states = self.dtypes.iter().zip(&self.shapes).enumerate();
        let parameter = |(number, (dtype, shape)): (usize, (&DType, &TensorShape))| {
            recorder.parameter_of(format!("state {number}"), initial[number], *dtype, shape)
        };
        states.map(parameter).collect()
    }

    /// Returns the dtypes and shapes of the last state. A value that the body returns as it is keeps the shape of its
    /// initial value.
    pub(super) fn results(&self, initial: &[Value<'_>], unchanged: &[bool]) -> Vec<(DType, TensorShape)> {
        let states = self.dtypes.iter().zip(&self.shapes).enumerate();
        let result = |(number, (dtype, shape)): (usize, (&DType, &TensorShape))| match unchanged[number] {
            true => (*dtype, initial[number].shape()),
            false => (*dtype, shape.clone()),
        };
        states.map(result).collect()
    }

    /// Compares the state that the body was given with the state that it returns. `determined` has the shapes of both
    /// as far as the nodes that compute them determine them: see [`Recorder::shapes_of`]. Returns whether some shape
    /// was relaxed, so that the body must be built again.
    ///
    /// # Errors
    /// The body returns another number of values, other dtypes, another rank, or a shape that does not fit a declared
    /// shape.
    pub(super) fn relax(
        &mut self,
        given: &[Value<'_>],
        returned: &[Value<'_>],
        determined: &[[TensorShape; 2]],
    ) -> Result<bool> {
        if returned.len() != given.len() {
            let message = format!(
                "the body must return {}, as many as it gets, got {}",
                counted(given.len(), "state value"),
                returned.len()
            );
            return fail(ErrorKind::Attribute, message);
        }
        let mut is_relaxed = false;
        for (index, (given, returned_value)) in given.iter().zip(returned).enumerate() {
            let (expected, got) = (self.dtypes[index], returned_value.ok()?.dtype());
            if got != expected {
                let message = format!(
                    "the body must return state {index} with the dtype of its initial value, {expected}, got {got}"
                );
                return fail(ErrorKind::DType, message)
                    .map_err(|error| self.with_origins(error, index, *returned_value));
            }
            // A run checks a declared shape again. So the comparison with it may use equalities from nodes that the run
            // does not need.
            let [given, returned] = match self.declared[index] {
                true => [given.shape(), returned_value.shape()],
                false => determined[index].clone(),
            };
            let relaxed = relaxed(&self.shapes[index], &given, &returned);
            if relaxed == self.shapes[index] {
                continue;
            }
            if self.declared[index] {
                let message = format!(
                    "the body must return state {index} with a shape that fits the declared shape {}, got {returned}",
                    self.shapes[index]
                );
                let help = format!(
                    "if the sizes are equal in every run, let the body return `x.ensure_shape(..)` with the declared \
                     shape; else declare `?` for what changes: `LoopOptions::new().shape({index}, shape![?, ..])`"
                );
                return fail(ErrorKind::Shape, message)
                    .map_err(|error| self.with_origins(error, index, *returned_value).with_help(help));
            }
            if relaxed.rank().is_none() && !self.ranks_may_change {
                let rank = self.shapes[index].rank().expect("a relaxed shape had a rank");
                let message = format!(
                    "the body must return state {index} with the rank of its initial value, {rank}, got {}",
                    type_text(got, &returned)
                );
                let help = format!(
                    "the body may change the rank of a state value whose shape is declared: `LoopOptions::new().shape({index}, \
                     shape![..])`"
                );
                return fail(ErrorKind::Shape, message)
                    .map_err(|error| self.with_origins(error, index, *returned_value).with_help(help));
            }
            self.shapes[index] = relaxed;
            is_relaxed = true;
        }
        Ok(is_relaxed)
    }

    /// Adds to an error where the initial value of a state value and the value that the body returns come from.
    fn with_origins(&self, error: Error, index: usize, returned: Value<'_>) -> Error {
        let (label, location) = &self.origins[index];
        let error = error.note(format!("the initial value of state {index} is {label}"), Some(*location));
        with_origin(error, "the returned value", returned)
    }
}

/// Returns `outer` with an unknown for each dimension that the body changes; an unknown rank if the body changes the
/// rank. `outer` is the shape of a state value in the outer graph, `given` is the same shape in the graph of the body,
/// and `returned` is the shape that the body returns.
fn relaxed(outer: &TensorShape, given: &TensorShape, returned: &TensorShape) -> TensorShape {
    let (Some(outer_dims), Some(given), Some(returned)) = (outer.dims(), given.dims(), returned.dims())
    else {
        return TensorShape::unranked();
    };
    if given.len() != returned.len() {
        return TensorShape::unranked();
    }
    TensorShape::new(outer_dims.iter().zip(given.iter().zip(returned)).map(|(outer, (given, returned))| {
        let is_unknown = outer.as_symbol().is_some_and(|symbol| symbol.is_free());
        if given == returned || is_unknown { outer.clone() } else { Unknown.into_dim() }
    }))
}

/// Returns whether a state value has the same sizes after every iteration as before, by its shapes at the start and at
/// the end of an iteration.
pub(super) fn keeps_sizes([given, returned]: &[TensorShape; 2]) -> bool {
    given.rank().is_some() && given == returned
}

/// Returns the label of the node that makes a value, and its line.
fn origin(value: &Value<'_>) -> Result<(String, &'static Location<'static>)> {
    let data = value.graph().read();
    let node = data.values[value.index()?.index()].node;
    Ok((data.node_label(node), data.nodes[node.index()].location))
}

fn fail<T>(kind: ErrorKind, message: String) -> Result<T> {
    Err(Error::new(kind, Phase::Build, message))
}
