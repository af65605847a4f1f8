//! [`collect_outputs`]: hands out the results of a run.

use shapeflow_shape_fns::DType;

use super::buffer_view::buffer_view;
use super::output_buffer::OutputBuffer;
use super::planning::undetermined;
use crate::compile::CompiledProgram;
use crate::error::Result;
use crate::lower::kernel::BufferIx;
use crate::lower::program::Content;
use crate::runtime::{BufferSizes, Memory};
use crate::tensor::Tensor;

/// Returns the sizes of the tensor that the memory holds for a buffer. `None` means that the memory holds no tensor, or
/// that the buffer is an alias of another buffer.
pub(super) fn held_sizes(
    compiled: &CompiledProgram,
    buffer: BufferIx,
    memory: &Memory<'_>,
) -> Option<BufferSizes> {
    let owns_bytes = compiled.lowered.roots[buffer.index()] == buffer;
    let held = memory.held(buffer).filter(|_| owns_bytes);
    held.map(|tensor| BufferSizes::from_slice(tensor.sizes()))
}

/// Returns the results as tensors. If the caller gives memory in `outputs`, the function returns no tensors, and copies
/// to `outputs` each result that no step has stored there.
///
/// # Errors
/// The caller's memory for a result has another dtype or other sizes, nothing determines the sizes of a result, or
/// memory is refused.
pub(super) fn collect_outputs(
    compiled: &CompiledProgram,
    sizes: &dyn Fn(BufferIx) -> Option<BufferSizes>,
    memory: &mut Memory<'_>,
    outputs: Option<&mut [OutputBuffer<'_>]>,
) -> Result<Vec<Tensor>> {
    let sizes = |buffer: BufferIx, memory: &Memory<'_>| {
        let sizes = held_sizes(compiled, buffer, memory).or_else(|| sizes(buffer));
        sizes.ok_or_else(|| undetermined(compiled, buffer))
    };
    let Some(outputs) = outputs else {
        let mut results: Vec<Tensor> = Vec::with_capacity(compiled.lowered.outputs.len());
        for (number, &buffer) in compiled.lowered.outputs.iter().enumerate() {
            let sizes = sizes(buffer, memory)?;
            // Outputs with the same bytes share one tensor.
            let earlier = compiled.first_output_with_bytes[number];
            let tensor = if earlier < number {
                results[earlier].clone()
            } else {
                output_tensor(compiled, buffer, &sizes, memory)?
            };
            results.push(if tensor.sizes() == &sizes[..] { tensor } else { tensor.reshape(&sizes)? });
        }
        return Ok(results);
    };
    for (number, (output, &buffer)) in outputs.iter_mut().zip(&compiled.lowered.outputs).enumerate() {
        // A step takes the memory only if it fits, and stores the result there.
        if !output.is_taken() {
            let sizes = sizes(buffer, memory)?;
            let dtype = compiled.lowered.buffers[buffer.index()].dtype;
            if dtype == DType::String {
                output.fill(number, &buffer_view(compiled, buffer, &sizes, memory)?.to_tensor()?)?;
            } else {
                output.fill_bytes(number, dtype, &sizes, memory.bytes(buffer))?;
            }
        }
    }
    Ok(Vec::new())
}

/// Returns a result as a tensor. The tensor shares or takes the memory that holds the result, or else is a copy.
fn output_tensor(
    compiled: &CompiledProgram,
    buffer: BufferIx,
    sizes: &[usize],
    memory: &mut Memory<'_>,
) -> Result<Tensor> {
    // The buffer that owns the bytes: `buffer` itself unless it is an alias.
    let owner = compiled.lowered.roots[buffer.index()];
    let tensor = match compiled.lowered.contents[owner.index()] {
        Content::Computed => memory.take(owner),
        Content::Constant(node) => Some(compiled.graph.constants[&node].clone()),
        Content::Input(_) | Content::Alias(_) => memory.held(owner).cloned(),
    };
    match tensor {
        Some(tensor) => Ok(tensor),
        None => buffer_view(compiled, buffer, sizes, memory)?.to_tensor(),
    }
}
