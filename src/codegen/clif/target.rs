//! `Target`: the machine and the module that a function is emitted for.

use cranelift_codegen::ir::{AbiParam, Signature, types};
use cranelift_codegen::isa::{CallConv, TargetFrontendConfig};

/// The properties of the machine and the module that emission depends on.
#[derive(Clone, Copy)]
pub(in crate::codegen) struct Target {
    pub call_conv: CallConv,
    pub frontend: TargetFrontendConfig,
    /// Whether `MulAdd` is one instruction.
    pub fused: bool,
    /// Numbers of the imported functions `fmodf` and `fmod`.
    pub remainder: [u32; 2],
}

/// Returns the signature of every kernel function.
pub(in crate::codegen) fn kernel_signature(call_conv: CallConv) -> Signature {
    let mut signature = Signature::new(call_conv);
    signature.params.push(AbiParam::new(types::I64));
    signature
}
