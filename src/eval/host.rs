//! Host steps: runs a Rust kernel on tensors and checks the outputs against the inferred shapes.

use shapeflow_shape_fns::{Attrs, DType, TensorShape};

use super::shape_of;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::op::{HostCx, HostOutput, OutputAllocator, caught};
use crate::tensor::TensorView;

/// A host kernel as a function.
pub(super) type Run<'a> = &'a dyn Fn(&mut HostCx<'_>) -> Result<()>;

/// Runs the kernel of the op named `op`.
///
/// # Errors
/// The kernel fails or panics, makes no tensor for an output, or makes an output of another shape than inference
/// promised.
pub(super) fn run_host(
    op: &str,
    run: Run<'_>,
    attrs: &Attrs,
    operands: &[TensorView<'_>],
    promised: &[(DType, &TensorShape)],
    allocator: OutputAllocator<'_>,
) -> Result<Vec<HostOutput>> {
    let mut cx = HostCx::new(operands, attrs, promised.iter().map(|(dtype, _)| *dtype), allocator);
    caught(op, "kernel", || run(&mut cx)).map_err(|error| error.with_phase(Phase::Run))?;
    cx.finish()
        .zip(promised)
        .enumerate()
        .map(|(number, (made, (_, promise)))| {
            let (made, sizes) = made.ok_or_else(|| {
                Error::new(ErrorKind::Custom, Phase::Run, format!("the kernel must make output {number}"))
            })?;
            let shape = shape_of(&sizes);
            if !promise.is_compatible_with(&shape) {
                let message = format!("output {number} must have shape {promise}, the kernel made {shape}");
                return Err(Error::new(ErrorKind::Custom, Phase::Run, message));
            }
            Ok(made)
        })
        .collect()
}
