//! [`PendingSymbols`]: binds symbols to elements in memory, and to the results of shape functions that read such
//! elements.

use shapeflow_shape_fns::{Dim, PartialElements};

use super::bindings::Bindings;
use super::buffer_view::buffer_view;
use super::guards::{OpenGuards, infer_on_sizes, refused_dim, run_error};
use super::promises::check_promise;
use crate::compile::{CompiledProgram, value_text};
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::eval::elements_of;
use crate::graph::{NodeIx, ValueIx};
use crate::lower::kernel::BufferIx;
use crate::runtime::Memory;

/// The sources of symbols that a run has not used yet, because their values are not in memory, and the guards on
/// symbols that have no value yet.
pub(super) struct PendingSymbols<'c> {
    /// Nodes whose shape functions define symbols from values.
    definers: Vec<NodeIx>,
    /// Values whose elements are symbols, and their buffers.
    elements: Vec<(ValueIx, BufferIx)>,
    guards: OpenGuards<'c>,
}

impl<'c> PendingSymbols<'c> {
    /// Returns all sources of symbols in a program, and all its guards.
    pub(super) fn new(compiled: &'c CompiledProgram) -> PendingSymbols<'c> {
        PendingSymbols {
            definers: compiled.lowered.definers.clone(),
            elements: compiled.lowered.elements.clone(),
            guards: OpenGuards::new(compiled),
        }
    }

    /// Binds the symbols whose values are in memory now, and the symbols that the graph's equalities derive from these
    /// symbols. Checks the guards whose symbols are bound now.
    ///
    /// # Errors
    /// An element or size differs from the value that its symbol has, a shape function refuses the values, or a guard
    /// does not hold.
    pub(super) fn define(
        &mut self,
        compiled: &CompiledProgram,
        bindings: &mut Bindings<'_>,
        memory: &Memory<'_>,
    ) -> Result<()> {
        let mut waiting = Vec::new();
        for (value, buffer) in std::mem::take(&mut self.elements) {
            let sizes = || bindings.sizes(&compiled.lowered.buffers[buffer.index()].dims);
            match memory.has(buffer).then(sizes).flatten() {
                Some(sizes) => {
                    let read = elements_of(&buffer_view(compiled, buffer, &sizes, memory)?);
                    bind_elements(compiled, value, read.as_deref(), bindings)?;
                }
                None => waiting.push((value, buffer)),
            }
        }
        self.elements = waiting;
        let mut waiting = Vec::new();
        for index in std::mem::take(&mut self.definers) {
            if !run_definer(compiled, index, bindings, memory)? {
                waiting.push(index);
            }
        }
        self.definers = waiting;
        bindings.bind_by_guards(self.guards.guards());
        bindings.solve_deferred().map_err(|mismatch| {
            let names = compiled.graph.dim_names();
            let message = names.scope(|| mismatch.message(&format!("the size {}", mismatch.dim)));
            Error::new(ErrorKind::Guard, Phase::Run, message)
        })?;
        self.guards.check(compiled, bindings)
    }
}

/// Binds the symbols among the elements of a value to the elements that a run has computed.
///
/// # Errors
/// An element differs from the value that its symbol has.
pub(super) fn bind_elements(
    compiled: &CompiledProgram,
    value: ValueIx,
    computed: Option<&PartialElements>,
    bindings: &mut Bindings<'_>,
) -> Result<()> {
    let graph = &compiled.graph;
    let (Some(symbolic), Some(computed)) = (&graph.values[value.index()].elements, computed) else {
        return Ok(());
    };
    for (dim, element) in symbolic.elements().iter().zip(computed.elements()) {
        let element = element.as_known().expect("elements in memory are known");
        bindings.bind(dim, element).map_err(|mismatch| {
            let element = format!("an element of {}", value_text(graph, value));
            refused_dim(graph, dim, &mismatch, &element)
        })?;
    }
    Ok(())
}

/// Runs the shape function of a node on the sizes and elements of its operands, and binds the symbols in its results.
/// Returns `false` if an operand or a result is not fully known yet.
fn run_definer(
    compiled: &CompiledProgram,
    index: NodeIx,
    bindings: &mut Bindings<'_>,
    memory: &Memory<'_>,
) -> Result<bool> {
    let graph = &compiled.graph;
    let node = &graph.nodes[index.index()];
    let read = |operand: ValueIx, sizes: &[usize]| match compiled.lowered.buffer_of.get(&operand) {
        Some(&buffer) if memory.has(buffer) => {
            Ok(elements_of(&buffer_view(compiled, buffer, sizes, memory)?))
        }
        _ => Ok(None),
    };
    let Some(inferred) = infer_on_sizes(graph, index, bindings, &read) else { return Ok(false) };
    let concrete = inferred?;
    let mut all_known = true;
    for (output, (_, shape)) in concrete.outputs.iter().enumerate() {
        check_promise(graph, index, output, shape, &|_, dim| bindings.try_eval(dim))
            .map_err(|error| run_error(graph, index, error))?;
    }
    let mut bind = |symbolic: &[Dim], concrete: &[Dim]| -> Result<()> {
        for (symbolic, concrete) in symbolic.iter().zip(concrete) {
            match concrete.as_known() {
                Some(known) => bindings.bind(symbolic, known).map_err(|mismatch| {
                    let message = graph.dim_names().scope(|| mismatch.message("a dimension"));
                    run_error(graph, index, Error::new(ErrorKind::Guard, Phase::Run, message))
                })?,
                None => all_known = false,
            }
        }
        Ok(())
    };
    for (value, (_, concrete)) in node.values().zip(&concrete.outputs) {
        let symbolic = graph.values[value.index()].shape.dims().unwrap_or_default();
        bind(symbolic, concrete.dims().unwrap_or_default())?;
    }
    for (name, symbolic) in node.derived() {
        // A shape function may derive a parameter only from symbolic operands.
        if let Some((_, concrete)) = concrete.derived.iter().find(|(other, _)| other == name) {
            bind(symbolic, concrete)?;
        }
    }
    Ok(all_known)
}
