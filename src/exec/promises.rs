//! [`check_promise`]: compares the shape that a shape function gives in a run with the shape that the function gave
//! when the graph was built.
//!
//! An unknown dimension that the function makes promises nothing, even if a later equality gives it a number.
//!
//! The sizes of a run come from the graph: memory, loops and other nodes rely on them. A shape function that
//! contradicts itself is a mistake of the op, and the results of the op would not fit.

use shapeflow_shape_fns::{Dim, TensorShape};

use super::bindings::Bindings;
use super::guards::{infer_on_sizes, run_error};
use crate::compile::CompiledProgram;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::graph::{GraphData, NodeIx};

/// Checks the shape that the shape function of node `index` gives for an output in a run. `size` returns the size of an
/// axis and its dim in the graph, as far as the run knows it.
///
/// # Errors
/// The graph has another rank or another size.
pub(super) fn check_promise(
    graph: &GraphData,
    index: NodeIx,
    output: usize,
    inferred: &TensorShape,
    size: &dyn Fn(usize, &Dim) -> Option<i64>,
) -> Result<()> {
    let node = &graph.nodes[index.index()];
    let Some(value) = node.values().nth(output) else {
        let message = format!("{} must have {} outputs in a run too, got more", node.op.name(), node.outputs);
        return Err(Error::new(ErrorKind::Custom, Phase::Run, message));
    };
    let promised = &graph.values[value.index()].shape;
    let (Some(dims), Some(inferred_dims)) = (promised.dims(), inferred.dims()) else { return Ok(()) };
    let size = |axis: usize, dim: &Dim| size(axis, dim).filter(|_| !is_made_by(graph, index, dim));
    let differs = |(axis, (dim, inferred)): (usize, (&Dim, &Dim))| {
        inferred.as_known().is_some_and(|inferred| size(axis, dim).is_some_and(|size| size != inferred))
    };
    // Beside a size of 0, the size of an axis whose elements a reshape counts is not certain.
    let is_uncertain =
        || node.op.is_reinterpretation() && inferred_dims.iter().any(|dim| dim.as_known() == Some(0));
    let fits = dims.len() == inferred_dims.len() && !dims.iter().zip(inferred_dims).enumerate().any(differs);
    if fits || is_uncertain() {
        return Ok(());
    }
    let sized = dims.iter().enumerate().map(|(axis, dim)| size(axis, dim).map_or(dim.clone(), Dim::known));
    Err(contradiction(graph, index, output, promised, &TensorShape::new(sized), inferred))
}

/// Returns whether the shape function of node `index` made a symbol of `dim`.
fn is_made_by(graph: &GraphData, index: NodeIx, dim: &Dim) -> bool {
    let mut is_made = false;
    dim.symbols(&mut |symbol| is_made |= graph.table.maker(symbol) == Some(index.0));
    is_made
}

#[cold]
fn contradiction(
    graph: &GraphData,
    index: NodeIx,
    output: usize,
    promised: &TensorShape,
    sized: &TensorShape,
    inferred: &TensorShape,
) -> Error {
    let node = &graph.nodes[index.index()];
    let which = if node.outputs > 1 { format!(" for output {output}") } else { String::new() };
    let text = |shape: &TensorShape| graph.dim_names().shape(shape);
    let here = if sized == promised { String::new() } else { format!(", which is {}", text(sized)) };
    let message = format!(
        "the shape function of {} gave {}{which} when the graph was built{here}, and {} in the run",
        node.op.name(),
        text(promised),
        text(inferred)
    );
    Error::new(ErrorKind::Custom, Phase::Run, message)
}

/// Checks the results of the program's own ops that kernels compute. A host step checks its op when it runs.
///
/// # Errors
/// A shape function contradicts itself, or refuses the sizes of the run.
pub(super) fn check_own_ops(compiled: &CompiledProgram, bindings: &Bindings<'_>) -> Result<()> {
    let graph = &compiled.graph;
    for &index in &compiled.own_ops {
        let Some(inferred) = infer_on_sizes(graph, index, bindings, &|_, _| Ok(None)) else { continue };
        for (output, (_, shape)) in inferred?.outputs.iter().enumerate() {
            check_promise(graph, index, output, shape, &|_, dim| bindings.try_eval(dim))
                .map_err(|error| run_error(graph, index, error))?;
        }
    }
    Ok(())
}
