//! Errors of builder calls on ragged values.

use std::panic::Location;

use shapeflow_shape_fns::DType;

use crate::error::{Error, ErrorKind, Phase, Result, is_library_line};
use crate::graph::{AnyValue, Graph, IntoParam, RaggedValue, Value};

/// Makes an error of the open builder call of a graph, with the line of the call.
pub(super) fn refuse(graph: &Graph, kind: ErrorKind, message: String) -> Error {
    at_call(graph, Error::new(kind, Phase::Build, message))
}

impl<'g> RaggedValue<'g> {
    /// Runs the body of the method `name` of this value, which the caller calls. A refused body leaves the graph as it
    /// was, and its error names the call in the program and has the line of this call.
    #[track_caller]
    pub(super) fn in_call<T>(self, name: &'static str, body: impl FnOnce() -> Result<T>) -> Result<T> {
        self.in_call_at(name, Location::caller(), body)
    }

    /// Runs the body of the method `name`, as [`RaggedValue::in_call`] does, for a call at the given line.
    pub(super) fn in_call_at<T>(
        self,
        name: &'static str,
        location: &'static Location<'static>,
        body: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        let is_of_program = !is_library_line(location);
        self.graph().in_call_at(name, location, || {
            body().map_err(|error| if is_of_program { in_call(self, name, error) } else { error })
        })
    }
}

/// Adds the call of a method of a ragged value to an error that names no op.
fn in_call(value: RaggedValue<'_>, op: &'static str, error: Error) -> Error {
    if error.op().is_some() {
        return error;
    }
    let call = format!("{op}({}{})", value.dtype(), value.shape_text());
    error.with_op(op, call)
}

/// Returns the error about an axis that a value of this rank does not have.
pub(super) fn no_axis(graph: &Graph, rank: i64, axis: i64) -> Error {
    let error =
        refuse(graph, ErrorKind::Shape, format!("an axis must be in [{}, {rank}), got {axis}", -rank));
    match axis == rank && rank > 0 {
        true => error.with_help(format!("axes count from 0: the last one is {} or -1", rank - 1)),
        false => error,
    }
}

/// Returns the integer of an argument that must be known when the graph is built.
pub(super) fn known_int<'g>(graph: &Graph, given: impl IntoParam<'g>, name: &str) -> Result<i64> {
    given.into_param().known_int(name).map_err(|error| at_call(graph, error))
}

/// Returns the integers of an argument that must be known when the graph is built.
pub(super) fn known_ints<'g>(graph: &Graph, given: impl IntoParam<'g>, name: &str) -> Result<Vec<i64>> {
    given.into_param().known_ints(name).map_err(|error| at_call(graph, error))
}

/// Checks that values belong to `graph`, as the other operands of a call do.
///
/// # Errors
/// They belong to another graph.
pub(super) fn check_graphs<'g>(graph: &Graph, values: impl Into<AnyValue<'g>>) -> Result<()> {
    graph.check_operand(values.into().flat_values()).map_err(|error| at_call(graph, error))
}

/// Checks that an encoding of a row partition, which errors call `name`, is a vector of i32 or i64, as far as its rank
/// is known.
pub(super) fn check_encoding(graph: &Graph, name: &str, encoding: Value<'_>) -> Result<()> {
    check_graphs(graph, encoding)?;
    let encoding = encoding.ok()?;
    let (graph, dtype, shape) = (encoding.graph(), encoding.dtype(), encoding.shape());
    if !matches!(dtype, DType::I32 | DType::I64) {
        return Err(refuse(graph, ErrorKind::DType, format!("{name} must be i32 or i64, got {dtype}")));
    }
    if shape.rank().is_some_and(|rank| rank != 1) {
        return Err(refuse(graph, ErrorKind::Shape, format!("{name} must be a vector, got {shape}")));
    }
    Ok(())
}

/// Adds the line of the open builder call.
fn at_call(graph: &Graph, error: Error) -> Error {
    match graph.read().call {
        Some(location) => error.at(location),
        None => error,
    }
}
