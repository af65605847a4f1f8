//! [`run_specialized`]: runs the specialization for some inputs, and its continuations.
//!
//! The compiler must know every rank, and every structure value: an element that chooses a loop nest, such as an axis.
//! A graph that computes ranks or structure values is split. The first part computes them. The continuation is the
//! second part, specialized for the results of the first part. The second part may be split again.

use std::borrow::Cow;
use std::sync::Arc;

use super::interpret::interpret;
use super::output_buffer::{OutputBuffer, OutputBuffers};
use super::run::run_by_machine_code;
use super::run_state::RunState;
use crate::compile::{OutputSource, Specialization, SpecializationCache};
use crate::error::Result;
use crate::graph::GraphData;
use crate::op::Cancel;
use crate::tensor::{Tensor, TensorView, TensorViewMut};

/// Runs a graph: `inputs` has a view for each input of the graph. Stores the results in `outputs`. Returns the results
/// as tensors if `outputs` is `None`. A view that is not row-major is copied only if the run reads its elements.
///
/// # Errors
/// The errors of [`Executable::run`](crate::Executable::run).
pub(super) fn run_specialized(
    cache: &SpecializationCache,
    inputs: &[TensorView<'_>],
    outputs: Option<&mut [TensorViewMut<'_>]>,
    cancel: Cancel<'_>,
    state: &mut RunState,
) -> Result<Vec<Tensor>> {
    if inputs.iter().all(TensorView::is_row_major) {
        return run_found(&*cache.specialization(inputs)?, inputs, outputs, cancel, state);
    }
    let graph = cache.graph();
    let copies = copies_of(graph, inputs, &|port| cache.reads_value(port))?;
    let inputs = with_copies(inputs, &copies);
    let specialization = cache.specialization(&inputs)?;
    let copies = copies_of(graph, &inputs, &|port| specialization.program.reads_elements(port))?;
    run_found(&specialization, &with_copies(&inputs, &copies), outputs, cancel, state)
}

/// Copies the views that are not row-major and whose inputs satisfy `is_read`.
///
/// # Errors
/// Memory is refused.
fn copies_of(
    graph: &GraphData,
    inputs: &[TensorView<'_>],
    is_read: &dyn Fn(usize) -> bool,
) -> Result<Vec<Option<Tensor>>> {
    let copy = |(port, view): (usize, &TensorView<'_>)| {
        let is_copied = !view.is_row_major() && is_read(port);
        is_copied.then(|| graph.copy_of_input(port, view)).transpose()
    };
    inputs.iter().enumerate().map(copy).collect()
}

/// Returns `inputs` with the view of a copy in place of each copied view.
fn with_copies<'v>(inputs: &'v [TensorView<'v>], copies: &'v [Option<Tensor>]) -> Cow<'v, [TensorView<'v>]> {
    if copies.iter().all(Option::is_none) {
        return Cow::Borrowed(inputs);
    }
    let views = inputs.iter().zip(copies);
    views.map(|(view, copy)| copy.as_ref().map_or_else(|| view.clone(), Tensor::view)).collect()
}

/// Runs a specialization and its continuations. The views whose elements the specialization reads are row-major.
fn run_found(
    specialization: &Specialization,
    inputs: &[TensorView<'_>],
    outputs: Option<&mut [TensorViewMut<'_>]>,
    cancel: Cancel<'_>,
    state: &mut RunState,
) -> Result<Vec<Tensor>> {
    let mut outputs: Option<OutputBuffers<'_>> =
        outputs.map(|views| views.iter_mut().map(OutputBuffer::new).collect());
    if specialization.continuation.is_none() {
        return run_one(specialization, inputs, outputs.as_deref_mut(), cancel, state);
    }
    let results = run_chain(specialization, inputs, cancel, state)?;
    let Some(outputs) = &mut outputs else { return Ok(results) };
    for (number, (output, tensor)) in outputs.iter_mut().zip(&results).enumerate() {
        output.fill(number, tensor)?;
    }
    Ok(Vec::new())
}

/// Runs the program of one specialization, without its continuation.
fn run_one<'m>(
    specialization: &'m Specialization,
    inputs: &'m [TensorView<'m>],
    outputs: Option<&mut [OutputBuffer<'m>]>,
    cancel: Cancel<'_>,
    state: &mut RunState,
) -> Result<Vec<Tensor>> {
    match &specialization.program.code {
        Some(code) => run_by_machine_code(specialization, code, inputs, outputs, cancel, state),
        None => interpret(&specialization.program, inputs, outputs, cancel),
    }
}

/// Runs a specialization, then the specialization of its continuation, and so on. The function is a loop and not a
/// recursion, because a graph may have as many continuations as nodes.
fn run_chain(
    first: &Specialization,
    inputs: &[TensorView<'_>],
    cancel: Cancel<'_>,
    state: &mut RunState,
) -> Result<Vec<Tensor>> {
    let mut computed = run_one(first, inputs, None, cancel, state)?;
    let mut current: Option<Arc<Specialization>> = None;
    let count = first.continuation.as_ref().map_or(computed.len(), |next| next.sources.len());
    let mut results: Vec<Option<Tensor>> = vec![None; count];
    // The numbers of the outputs that the current specialization and its continuations compute.
    let mut numbers: Vec<usize> = (0..count).collect();
    while let Some(continuation) = &current.as_deref().unwrap_or(first).continuation {
        let mut remaining = Vec::new();
        for (&number, source) in numbers.iter().zip(&continuation.sources) {
            match source {
                OutputSource::FirstPart(index) => results[number] = Some(computed[*index].clone()),
                OutputSource::SecondPart => remaining.push(number),
            }
        }
        let feeds: Vec<TensorView<'_>> =
            computed[..continuation.cache.inputs()].iter().map(Tensor::view).collect();
        let next = continuation.cache.shared_specialization(&feeds)?;
        let following = run_one(&next, &feeds, None, cancel, state)?;
        (computed, numbers, current) = (following, remaining, Some(next));
    }
    for (number, tensor) in numbers.into_iter().zip(computed) {
        results[number] = Some(tensor);
    }
    Ok(results.into_iter().map(|result| result.expect("each output has a source")).collect())
}
