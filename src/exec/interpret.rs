//! [`interpret`]: runs a program without machine code, node by node, by the interpreter of expressions.

use rustc_hash::{FxHashMap, FxHashSet};
use shapeflow_shape_fns::TensorShape;

use super::definitions::bind_elements;
use super::guards::{OpenGuards, refused_dim, run_error};
use super::input_bindings::bind_inputs;
use super::output_buffer::OutputBuffer;
use super::planning::sizes_of_inputs;
use super::promises::check_promise;
use crate::compile::{CompiledProgram, value_text};
use crate::dump::span;
use crate::error::Result;
use crate::eval::{elements_of, evaluate_with};
use crate::graph::{NodeIx, ValueIx};
use crate::op::Cancel;
use crate::tensor::{Tensor, TensorView};

/// Computes one node after the other. Stores the results in `outputs`. Returns the results as tensors if `outputs` is
/// `None`.
///
/// # Errors
/// The errors of [`Executable::run`](crate::Executable::run).
pub(super) fn interpret(
    compiled: &CompiledProgram,
    inputs: &[TensorView<'_>],
    outputs: Option<&mut [OutputBuffer<'_>]>,
    cancel: Cancel<'_>,
) -> Result<Vec<Tensor>> {
    let _span = span(compiled.trace(), "interpreter", "interpreter");
    let graph = &compiled.graph;
    let mut bindings = bind_inputs(graph, &sizes_of_inputs(inputs))?;
    let defines_symbols: FxHashSet<ValueIx> =
        compiled.lowered.elements.iter().map(|(value, _)| *value).collect();
    let mut values: FxHashMap<ValueIx, Tensor> = FxHashMap::default();
    for ((_, value), view) in graph.inputs.iter().zip(inputs) {
        if defines_symbols.contains(value) {
            bind_elements(compiled, *value, elements_of(view).as_deref(), &mut bindings)?;
        }
        values.insert(*value, view.to_tensor()?);
    }
    let mut guards = OpenGuards::new(compiled);
    guards.check(compiled, &bindings)?;
    for (number, node) in graph.nodes.iter().enumerate() {
        let index = NodeIx(number as u32);
        if let Some(tensor) = graph.constants.get(&index) {
            values.insert(node.first_output, tensor.clone());
            continue;
        }
        if values.contains_key(&node.first_output) {
            // An input.
            continue;
        }
        cancel.check().map_err(|error| run_error(graph, index, error))?;
        let operands: Vec<TensorView<'_>> =
            node.operands.iter().map(|operand| values[operand].view()).collect();
        let attrs = node.attrs().substitute(&mut |symbol| bindings.known(symbol));
        let is_constant = |number: usize| {
            let operand = node.operands[number];
            graph.constants.contains_key(&graph.values[operand.index()].node)
        };
        let check = |output: usize, inferred: &TensorShape| {
            check_promise(graph, index, output, inferred, &|_, dim| bindings.try_eval(dim))
        };
        let given = node.given_operands;
        let computed = evaluate_with(&node.op, given, &attrs, &operands, &is_constant, &check, cancel)
            .map_err(|error| run_error(graph, index, error))?;
        for (value, tensor) in node.values().zip(computed) {
            let dims = graph.values[value.index()].shape.dims().unwrap_or_default();
            // Beside a size of 0, -1 stands for no certain size. The one that the graph inferred for all sizes holds:
            // `[n, m]` to `[n, -1]` is `[n, m]`, also if both are 0.
            let inferred =
                bindings.sizes(dims).filter(|_| node.op.is_reinterpretation() && tensor.is_empty());
            let tensor = inferred.and_then(|sizes| tensor.reshape(&sizes).ok()).unwrap_or(tensor);
            bindings.bind_sizes(dims, tensor.sizes()).map_err(|(number, mismatch)| {
                let axis = format!("axis {number} of {}", value_text(graph, value));
                run_error(graph, index, refused_dim(graph, &dims[number], &mismatch, &axis))
            })?;
            // The elements of other values are data. Data may wrap on overflow, where the arithmetic of dims fails.
            if defines_symbols.contains(&value) {
                bind_elements(compiled, value, elements_of(&tensor.view()).as_deref(), &mut bindings)?;
            }
            values.insert(value, tensor);
        }
        guards.check(compiled, &bindings)?;
    }
    let wanted = compiled.lowered.outputs.iter().map(|buffer| compiled.lowered.buffers[buffer.index()].value);
    let results = wanted.map(|value| &values[&value]);
    let Some(outputs) = outputs else { return Ok(results.cloned().collect()) };
    for (number, (output, tensor)) in outputs.iter_mut().zip(results).enumerate() {
        output.fill(number, tensor)?;
    }
    Ok(Vec::new())
}
