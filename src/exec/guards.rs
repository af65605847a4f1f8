//! Checks the requirements of a graph on the sizes of a run, and runs shape functions on these sizes.

use shapeflow_shape_fns::{Dim, Guard, GuardRecord, PartialElements};

use super::bindings::{Bindings, DimMismatch};
use super::input_bindings::note_attr_symbols;
use crate::compile::{CompiledProgram, locate};
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::eval::{SizedInference, SizedOperand, infer_sizes};
use crate::graph::{GraphData, Node, NodeIx, SHOWN_OPERANDS, ValueIx};
use crate::runtime::BufferSizes;

/// Checks every guard of the graph whose symbols are bound.
///
/// # Errors
/// A guard does not hold. The error comes from the node's shape function, if the function refuses the sizes.
pub(super) fn check_guards(compiled: &CompiledProgram, bindings: &Bindings<'_>) -> Result<()> {
    compiled.graph.name_errors(|| {
        for record in compiled.graph.table.guards() {
            is_decided(compiled, bindings, record)?;
        }
        check_partial_dims(compiled, bindings, u32::MAX)
    })
}

/// The guards and the partial dims of a graph whose symbols a run has not bound yet.
pub(super) struct OpenGuards<'c> {
    guards: Vec<&'c GuardRecord>,
    partial: Vec<&'c (Dim, NodeIx)>,
}

impl<'c> OpenGuards<'c> {
    /// Returns all guards and partial dims of a program.
    pub(super) fn new(compiled: &'c CompiledProgram) -> OpenGuards<'c> {
        let guards = compiled.graph.table.guards().iter().collect();
        OpenGuards { guards, partial: compiled.partial.iter().collect() }
    }

    /// Returns the guards.
    pub(super) fn guards(&self) -> impl Iterator<Item = &'c GuardRecord> + Clone {
        self.guards.iter().copied()
    }

    /// Checks those whose symbols are bound, and keeps the others.
    ///
    /// # Errors
    /// As [`check_guards`].
    pub(super) fn check(&mut self, compiled: &CompiledProgram, bindings: &Bindings<'_>) -> Result<()> {
        let (guards, partial) = compiled.graph.name_errors(|| {
            let guards = undecided(&self.guards, &|record| is_decided(compiled, bindings, record))?;
            let partial = undecided(&self.partial, &|partial| has_value(compiled, bindings, partial))?;
            Ok((guards, partial))
        })?;
        (self.guards, self.partial) = (guards, partial);
        Ok(())
    }
}

/// Returns the elements that are not decided.
///
/// # Errors
/// The first error of `is_decided`.
fn undecided<T: Copy>(elements: &[T], is_decided: &dyn Fn(T) -> Result<bool>) -> Result<Vec<T>> {
    let mut undecided = Vec::new();
    for &element in elements {
        if !is_decided(element)? {
            undecided.push(element);
        }
    }
    Ok(undecided)
}

/// Checks a guard. Returns `false` if a symbol of the guard is not bound.
fn is_decided(compiled: &CompiledProgram, bindings: &Bindings<'_>, record: &GuardRecord) -> Result<bool> {
    let graph = &compiled.graph;
    // The table may equate a symbol of a guard with another symbol after it records the guard. `known` follows such an
    // equality.
    match record.guard.check(&|symbol| bindings.known(symbol)?.as_known()) {
        Ok(Some(true)) => return Ok(true),
        Ok(None) => return Ok(false),
        Ok(Some(false)) | Err(_) => {}
    }
    // A guard may mention a size that an earlier node refuses to compute. The error of that node comes first.
    check_partial_dims(compiled, bindings, record.origin)?;
    let message = unmet_message(&record.guard, &|dim| bindings.try_eval(dim));
    Err(match graph.nodes.get(record.origin as usize) {
        Some(_) => refusal(graph, NodeIx(record.origin), bindings, message),
        None => Error::new(ErrorKind::Guard, Phase::Run, message),
    })
}

/// Checks that the dims of nodes before node `end` have values. A partial dim is a partial function of its symbols: it
/// has no value for sizes that do not broadcast, for example.
fn check_partial_dims(compiled: &CompiledProgram, bindings: &Bindings<'_>, end: u32) -> Result<()> {
    for partial in compiled.partial.iter().filter(|(_, node)| node.0 < end) {
        has_value(compiled, bindings, partial)?;
    }
    Ok(())
}

/// Checks that a partial dim of a node has a value. Returns `false` if a symbol of the dim is not bound.
fn has_value(
    compiled: &CompiledProgram,
    bindings: &Bindings<'_>,
    (dim, node): &(Dim, NodeIx),
) -> Result<bool> {
    match dim.eval(&|symbol| bindings.known(symbol)?.as_known()) {
        Ok(value) => Ok(value.is_some()),
        Err(error) => Err(refusal(&compiled.graph, *node, bindings, error.to_string())),
    }
}

/// Returns the error of the first node whose result sizes cannot be computed from the values of the symbols. The node's
/// shape function refuses these values, or there is no value of an unbound symbol that the shape function accepts.
pub(super) fn uncomputable_sizes(compiled: &CompiledProgram, bindings: &Bindings<'_>) -> Option<Error> {
    let graph = &compiled.graph;
    graph.values.iter().find_map(|info| {
        let dims = info.shape.dims()?.iter();
        let mut sizes = dims.map(|dim| graph.table.resolve(dim).eval(&|symbol| bindings.get(symbol)));
        match sizes.find(|size| !matches!(size, Ok(Some(_))))? {
            Err(reason) => Some(refusal(graph, info.node, bindings, reason.to_string())),
            Ok(_) => infer_on_sizes(graph, info.node, bindings, &|_, _| Ok(None))?.err(),
        }
    })
}

/// Returns the error of a node that does not accept these sizes: the error of the node's shape function, or `message`
/// if the function gives no error.
fn refusal(graph: &GraphData, index: NodeIx, bindings: &Bindings<'_>, message: String) -> Error {
    match infer_on_sizes(graph, index, bindings, &|_, _| Ok(None)) {
        Some(Err(error)) => error,
        _ => run_error(graph, index, Error::new(ErrorKind::Guard, Phase::Run, message)),
    }
}

/// Makes an error of a run of an error of a node: see [`Error::of_run`].
pub(super) fn run_error(graph: &GraphData, index: NodeIx, error: Error) -> Error {
    locate(graph, index, error.of_run())
}

/// Returns the error about a dim of a run that has another value than the graph requires. `what` says where the dim
/// stands. A note has the call that made the requirement: the closure of `map_flat_values` must keep the number of
/// values, for example.
pub(super) fn refused_dim(graph: &GraphData, dim: &Dim, mismatch: &DimMismatch, what: &str) -> Error {
    let message = graph.dim_names().scope(|| mismatch.message(what));
    let error = Error::new(ErrorKind::Guard, Phase::Run, message);
    match graph.call_that_tied(dim) {
        Some((call, location)) => error.note(format!("the requirement is from {call}"), Some(location)),
        None => error,
    }
}

/// A function that returns the elements of a value of these sizes; `None` if the elements are not in memory.
pub(super) type ReadElements<'a> = dyn Fn(ValueIx, &[usize]) -> Result<Option<Box<PartialElements>>> + 'a;

/// Runs the shape function of a node on the sizes of its operands. Returns `None` while some size is not known.
pub(super) fn infer_on_sizes(
    graph: &GraphData,
    index: NodeIx,
    bindings: &Bindings<'_>,
    read_elements: &ReadElements<'_>,
) -> Option<Result<SizedInference>> {
    let node = &graph.nodes[index.index()];
    let mut sizes: Vec<BufferSizes> = Vec::with_capacity(node.operands.len());
    for operand in &node.operands {
        sizes.push(bindings.sizes(graph.values[operand.index()].shape.dims().unwrap_or_default())?);
    }
    let mut operands = Vec::with_capacity(sizes.len());
    for (&operand, sizes) in node.operands.iter().zip(&sizes) {
        match elements_in_run(graph, operand, sizes, bindings, read_elements) {
            Ok(elements) => {
                let dtype = graph.values[operand.index()].dtype;
                operands.push(SizedOperand { dtype, sizes, elements });
            }
            Err(error) => return Some(Err(error)),
        }
    }
    let attrs = node.attrs().substitute(&mut |symbol| bindings.known(symbol));
    let inferred = infer_sizes(&node.op, node.given_operands, &attrs, operands);
    let refuse = |error| {
        let error = note_operands(graph, node, run_error(graph, index, error));
        let error = note_attr_symbols(graph, node.attrs(), bindings, error);
        note_parameters(graph, node, bindings, read_elements, error)
    };
    Some(inferred.map_err(refuse))
}

/// Returns the elements of a value of these sizes, as far as a run knows them: from the values of symbols, or else from
/// memory.
///
/// # Errors
/// `read_elements` fails.
fn elements_in_run(
    graph: &GraphData,
    value: ValueIx,
    sizes: &[usize],
    bindings: &Bindings<'_>,
    read_elements: &ReadElements<'_>,
) -> Result<Option<Box<PartialElements>>> {
    let symbolic = graph.values[value.index()].elements.as_ref();
    let symbolic = symbolic.map(|elements| elements.substitute(&mut |symbol| bindings.known(symbol)));
    let elements = symbolic.map(|elements| Box::new(graph.table.resolve_elements(&elements)));
    match elements {
        Some(elements) if elements.is_known() => Ok(Some(elements)),
        elements => Ok(read_elements(value, sizes)?.or(elements)),
    }
}

/// Adds notes to an error about the sizes of a node's operands: the nodes that made the data operands, as an error of a
/// call does.
#[cold]
fn note_operands(graph: &GraphData, node: &Node, error: Error) -> Error {
    let shows_other_operands = graph.operands_of_program(&node.op, node.origin).is_some();
    if shows_other_operands || error.is_of_element() || !error.origins().is_empty() {
        return error;
    }
    let declared = node.op.operands_of(node.given_operands);
    let data = declared.zip(&node.operands).enumerate().filter(|(_, (operand, _))| !operand.is_parameter());
    data.take(SHOWN_OPERANDS)
        .fold(error, |error, (number, (_, value))| graph.note_operand(error, number, *value, node.location))
}

/// Adds notes to an error of a node: the elements of the node's parameters that only a run knows, such as
/// `size is [5], from count`.
#[cold]
fn note_parameters(
    graph: &GraphData,
    node: &Node,
    bindings: &Bindings<'_>,
    read_elements: &ReadElements<'_>,
    error: Error,
) -> Error {
    node.parameters().fold(error, |error, (operand, value)| {
        let info = &graph.values[value.index()];
        if info.elements.as_ref().is_some_and(|elements| elements.is_known()) {
            return error;
        }
        let sizes = bindings.sizes(info.shape.dims().unwrap_or_default());
        let read = |sizes: BufferSizes| elements_in_run(graph, value, &sizes, bindings, read_elements).ok();
        let is_short =
            |elements: &PartialElements| elements.is_known() && elements.elements().len() <= MAX_NOTED;
        let elements = sizes.and_then(read).flatten();
        let Some(elements) = elements.filter(|elements| is_short(elements)) else { return error };
        let fact = format!(" is {elements}, from {}", graph.node_label(info.node));
        // A symbol that names this parameter has a note already.
        if error.has_note_ending(&fact) {
            return error;
        }
        error.note(format!("{}{fact}", operand.name()), Some(graph.nodes[info.node.index()].location))
    })
}

/// The maximum number of elements of a parameter that an error shows.
const MAX_NOTED: usize = 8;

/// Returns the message about a guard that does not hold: the requirement, and the values of its dims.
fn unmet_message(guard: &Guard, value: &dyn Fn(&Dim) -> Option<i64>) -> String {
    let got = |dims: &[&Dim]| {
        let values = dims.iter().filter(|dim| !dim.is_known()).map(|dim| match value(dim) {
            Some(value) => value.to_string(),
            None => dim.to_string(),
        });
        values.collect::<Vec<_>>().join(" and ")
    };
    match guard {
        Guard::Eq(a, b) if a.is_known() => format!("{b} must be {a}, got {}", got(&[b])),
        Guard::Eq(a, b) if b.is_known() => format!("{a} must be {b}, got {}", got(&[a])),
        Guard::Eq(a, b) => format!("{a} and {b} must be equal, got {}", got(&[a, b])),
        // The sentence begins with the dimension, not with the number.
        Guard::Ge(a, b) if a.is_known() => format!("{b} must be at most {a}, got {}", got(&[b])),
        Guard::Ge(a, b) => format!("{a} must be at least {b}, got {}", got(&[a, b])),
        Guard::OneOrEqual(a, b) => format!("{a} must be 1 or {b}, got {}", got(&[a, b])),
        Guard::Divides { divisor, dividend } => {
            format!("{dividend} must be a multiple of {divisor}, got {}", got(&[dividend, divisor]))
        }
    }
}
