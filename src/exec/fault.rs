//! [`find_fault`]: finds the node and the element that made a kernel fail; [`find_outside_read`]: finds the node that
//! makes a kernel impossible to plan.

use rustc_hash::FxHashMap;
use shapeflow_shape_fns::Attrs;

use super::bindings::Bindings;
use super::buffer_view::buffer_view;
use super::guards::run_error;
use crate::compile::{CompiledProgram, value_text};
use crate::error::{Error, ErrorKind, Phase};
use crate::eval::evaluate;
use crate::graph::ValueIx;
use crate::lower::kernel::{BufferIx, Kernel};
use crate::runtime::{BufferSizes, Memory, SegmentPlan};
use crate::tensor::{Tensor, TensorView};

/// Computes the nodes of a failed kernel one by one, and returns the error of the first node that fails.
///
/// A kernel reports only that some check failed. If an operand is no longer in memory, the error names the results of
/// the kernel instead. A run of a static program has no bindings, so they come from the sizes in its plan.
pub(super) fn find_fault(
    compiled: &CompiledProgram,
    kernel: &Kernel,
    plan: &SegmentPlan,
    memory: &Memory<'_>,
    bindings: Option<&Bindings<'_>>,
) -> Error {
    let (graph, lowered) = (&compiled.graph, &compiled.lowered);
    let of_plan;
    let bindings = match bindings {
        Some(bindings) => bindings,
        None => {
            of_plan = bindings_of_plan(compiled, plan);
            &of_plan
        }
    };
    let mut computed: FxHashMap<ValueIx, Tensor> = FxHashMap::default();
    for &value in &kernel.fused {
        let index = graph.values[value.index()].node;
        let node = &graph.nodes[index.index()];
        let sizes: Vec<Option<BufferSizes>> = node
            .operands
            .iter()
            .map(|operand| {
                let buffer = *lowered.buffer_of.get(operand)?;
                let planned = plan.sizes(buffer).cloned();
                planned.or_else(|| bindings.sizes(&lowered.buffers[buffer.index()].dims))
            })
            .collect();
        let zeros: Vec<Option<Tensor>> = node
            .operands
            .iter()
            .zip(&sizes)
            .map(|(&operand, sizes)| zeros_of_unread(compiled, kernel, operand, sizes.as_ref()?))
            .collect();
        let mut has_zeros = false;
        let mut operands: Vec<TensorView<'_>> = Vec::with_capacity(zeros.len());
        for ((&operand, sizes), zeros) in node.operands.iter().zip(&sizes).zip(&zeros) {
            let view = operand_view(compiled, operand, sizes, &computed, memory);
            has_zeros |= view.is_none();
            operands.extend(view.or_else(|| zeros.as_ref().map(Tensor::view)));
        }
        if operands.len() < node.operands.len() {
            continue;
        }
        let attrs = node.attrs().substitute(&mut |symbol| bindings.known(symbol));
        if has_symbols(&attrs) {
            continue;
        }
        match evaluate(&node.op, node.given_operands, &attrs, &operands) {
            // The node fails on zeros, but the kernel does not compute it. The run knows the sizes of a reshape without
            // the elements of its shape.
            Err(_) if has_zeros => computed.extend(reshaped(compiled, value, &operands, bindings)),
            Err(error) => return run_error(graph, index, error),
            Ok(tensors) => computed.extend(node.values().zip(tensors)),
        }
    }
    let roots: Vec<String> = kernel.roots.iter().map(|root| value_text(graph, *root)).collect();
    let message = format!("an index or divisor is out of range in {}", roots.join(", "));
    Error::new(ErrorKind::Index, Phase::Run, message)
}

/// Returns a value whose node gives the elements of its first operand other sizes. Returns `None` for the value of
/// another node, or if the run does not know the sizes.
fn reshaped(
    compiled: &CompiledProgram,
    value: ValueIx,
    operands: &[TensorView<'_>],
    bindings: &Bindings<'_>,
) -> Option<(ValueIx, Tensor)> {
    let graph = &compiled.graph;
    let info = &graph.values[value.index()];
    let operand = operands.first().filter(|operand| operand.dtype() == info.dtype)?;
    if !graph.node_of(value).op.is_reinterpretation() {
        return None;
    }
    let sizes = bindings.sizes(info.shape.dims()?)?;
    Some((value, operand.to_tensor().ok()?.reshape(&sizes).ok()?))
}

/// Returns the values of the symbols that the sizes of the buffers determine.
fn bindings_of_plan<'c>(compiled: &'c CompiledProgram, plan: &SegmentPlan) -> Bindings<'c> {
    let mut bindings = Bindings::new(&compiled.graph.table);
    for (number, buffer) in compiled.lowered.buffers.iter().enumerate() {
        if let Some(sizes) = plan.sizes(BufferIx(number as u32)) {
            // The plan was made for these sizes, so no size contradicts another.
            let _ = bindings.bind_sizes(&buffer.dims, sizes);
        }
    }
    let _ = bindings.solve_deferred();
    bindings.bind_by_guards(compiled.graph.table.guards().iter());
    bindings
}

/// Returns zeros in place of an operand that a kernel does not read, so that its elements do not matter: the operand of
/// `ones_like`, for example. Returns `None` for an operand that the kernel reads or computes.
fn zeros_of_unread(
    compiled: &CompiledProgram,
    kernel: &Kernel,
    operand: ValueIx,
    sizes: &BufferSizes,
) -> Option<Tensor> {
    let buffer = compiled.lowered.buffer_of.get(&operand)?;
    let matters = kernel.reads.contains(buffer) || kernel.fused.contains(&operand);
    let info = &compiled.graph.values[operand.index()];
    if matters { None } else { Tensor::zeros(info.dtype, sizes).ok() }
}

/// Returns the error of the first fused node whose body reads outside an operand of these sizes, or at an index into an
/// empty axis, if there is one.
///
/// The plan of such a kernel cannot be made, and the operands of the kernel may not be in memory yet. So the
/// interpreter computes each node on its constants, and on zeros in place of its other operands.
pub(super) fn find_outside_read(
    compiled: &CompiledProgram,
    kernel: &Kernel,
    bindings: &Bindings<'_>,
) -> Option<Error> {
    let graph = &compiled.graph;
    kernel.fused.iter().find_map(|value| {
        let index = graph.values[value.index()].node;
        let node = &graph.nodes[index.index()];
        let zeros = node.operands.iter().map(|operand| {
            let info = &graph.values[operand.index()];
            if let Some(constant) = graph.constants.get(&info.node) {
                return Some(constant.clone());
            }
            Tensor::zeros(info.dtype, &bindings.sizes(info.shape.dims()?)?).ok()
        });
        let zeros: Vec<Tensor> = zeros.collect::<Option<_>>()?;
        let operands: Vec<TensorView<'_>> = zeros.iter().map(Tensor::view).collect();
        let attrs = node.attrs().substitute(&mut |symbol| bindings.known(symbol));
        if has_symbols(&attrs) {
            return None;
        }
        let error = evaluate(&node.op, node.given_operands, &attrs, &operands).err()?;
        match error.kind() {
            ErrorKind::Custom => Some(run_error(graph, index, error)),
            // Index 0 is out of range only in an empty axis, so every index is. The index of the run is not known here.
            ErrorKind::Index => {
                let message = "an index must lie in its axis, but the axis is empty";
                Some(run_error(graph, index, Error::new(ErrorKind::Index, Phase::Run, message)))
            }
            _ => None,
        }
    })
}

/// Returns whether an attribute holds a symbol. The run has not bound this symbol, so the node cannot be evaluated.
fn has_symbols(attrs: &Attrs) -> bool {
    let mut found = false;
    attrs.symbols(&mut |_| found = true);
    found
}

/// Returns the elements of an operand: from `computed`, from memory, or from a constant that the kernel's code
/// contains. Returns `None` if the elements are in none of these places.
fn operand_view<'a>(
    compiled: &'a CompiledProgram,
    operand: ValueIx,
    sizes: &'a Option<BufferSizes>,
    computed: &'a FxHashMap<ValueIx, Tensor>,
    memory: &'a Memory<'_>,
) -> Option<TensorView<'a>> {
    if let Some(tensor) = computed.get(&operand) {
        return Some(tensor.view());
    }
    if let (Some(sizes), Some(&buffer)) = (sizes, compiled.lowered.buffer_of.get(&operand))
        && memory.has(buffer)
        && let Ok(view) = buffer_view(compiled, buffer, sizes, memory)
    {
        return Some(view);
    }
    compiled.graph.constants.get(&compiled.graph.values[operand.index()].node).map(Tensor::view)
}
