//! [`buffer_view`]: a buffer of a run as a tensor view.

use shapeflow_shape_fns::DType;

use crate::compile::CompiledProgram;
use crate::error::Result;
use crate::lower::kernel::BufferIx;
use crate::runtime::Memory;
use crate::tensor::TensorView;

/// Returns a buffer, which must hold elements, as a view of these sizes.
///
/// # Errors
/// The buffer has other bytes than a view of these sizes needs.
pub(super) fn buffer_view<'a>(
    compiled: &CompiledProgram,
    buffer: BufferIx,
    sizes: &'a [usize],
    memory: &'a Memory<'_>,
) -> Result<TensorView<'a>> {
    let root = compiled.lowered.roots[buffer.index()];
    if let Some(tensor) = memory.held(root) {
        // A buffer of strings holds a tensor and no bytes.
        if tensor.dtype() == DType::String {
            return TensorView::from_strings(sizes, tensor.as_strings()?);
        }
        if tensor.sizes() == sizes {
            return Ok(tensor.view());
        }
    }
    TensorView::from_bytes(compiled.lowered.buffers[buffer.index()].dtype, sizes, memory.bytes(buffer))
}
