//! `Target`: the machine and the module that a function is emitted for.

use cranelift_codegen::ir::{AbiParam, Signature, types};
use cranelift_codegen::isa::{CallConv, TargetFrontendConfig};

/// The properties of the machine and the module that emission depends on.
#[derive(Clone, Copy)]
pub(in crate::codegen) struct Target {
    pub call_conv: CallConv,
    pub frontend: TargetFrontendConfig,
    /// Whether the machine has a fused instruction for `MulAdd`, which rounds once.
    pub fused: bool,
    /// Numbers of the imported functions for the remainder of `f32` and of `f64`.
    pub remainder: [u32; 2],
}

/// Returns the signature of every kernel function: one parameter, the address of the arguments.
pub(in crate::codegen) fn kernel_signature(call_conv: CallConv) -> Signature {
    let mut signature = Signature::new(call_conv);
    signature.params.push(AbiParam::new(types::I64));
    signature
}
