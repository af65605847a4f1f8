//! [`CraneliftModule`]: the functions of a graph that Cranelift compiles.

use std::mem::ManuallyDrop;
use std::sync::OnceLock;

use cranelift_codegen::Context;
use cranelift_codegen::ir::{AbiParam, Signature, types};
use cranelift_codegen::isa::{CallConv, OwnedTargetIsa, TargetIsa};
use cranelift_codegen::settings::{self, Configurable};
use cranelift_frontend::FunctionBuilderContext;
use cranelift_jit::{JITBuilder, JITModule};
pub(super) use cranelift_module::FuncId;
use cranelift_module::{Linkage, Module, default_libcall_names};

use super::clif::{self, Target, kernel_signature};
use super::error::cannot_compile;
use crate::error::Result;
use crate::lower::kernel_body::KernelBody;

/// A module that frees its memory on drop, which `JITModule` itself does not.
struct OwnedModule(ManuallyDrop<JITModule>);

impl Drop for OwnedModule {
    fn drop(&mut self) {
        // SAFETY: the module is taken once, here. Only `CodeModule`, which owns this module, holds pointers into its
        // memory, and `CodeModule` lends these pointers for the length of a call.
        unsafe { ManuallyDrop::take(&mut self.0).free_memory() }
    }
}

/// Compiles functions with Cranelift and owns them.
pub(super) struct CraneliftModule {
    module: OwnedModule,
    target: Target,
    context: Context,
    builder_context: FunctionBuilderContext,
}

impl CraneliftModule {
    /// Makes an empty module for this machine.
    ///
    /// # Errors
    /// Cranelift does not support the machine.
    pub fn new() -> Result<CraneliftModule> {
        CraneliftModule::with_isa(host_isa()?)
    }

    /// Makes an empty module for `isa`.
    ///
    /// # Errors
    /// Cranelift refuses the imported functions.
    pub fn with_isa(isa: OwnedTargetIsa) -> Result<CraneliftModule> {
        let target = target_of(&*isa);
        let mut builder = JITBuilder::with_isa(isa, default_libcall_names());
        builder.symbol(IMPORTS[0], remainder_f32 as *const u8);
        builder.symbol(IMPORTS[1], remainder_f64 as *const u8);
        let mut module = JITModule::new(builder);
        for ((name, number), float) in IMPORTS.into_iter().zip(target.remainder).zip([types::F32, types::F64])
        {
            let mut signature = Signature::new(target.call_conv);
            signature.params = vec![AbiParam::new(float); 2];
            signature.returns = vec![AbiParam::new(float)];
            let id = module.declare_function(name, Linkage::Import, &signature).map_err(cannot_compile)?;
            assert_eq!(id.as_u32(), number, "a module numbers its functions in the order of declaration");
        }
        Ok(CraneliftModule {
            context: module.make_context(),
            module: OwnedModule(ManuallyDrop::new(module)),
            target,
            builder_context: FunctionBuilderContext::new(),
        })
    }

    /// Returns whether `MulAdd` rounds once.
    #[cfg(test)]
    pub fn is_fused(&self) -> bool {
        self.target.fused
    }

    /// Compiles `code`, which must be verified. Returns the function and its size in bytes.
    ///
    /// # Errors
    /// Cranelift rejects the function, or the system refuses memory for it.
    pub fn define(&mut self, code: &KernelBody) -> Result<(FuncId, usize)> {
        let signature = kernel_signature(self.target.call_conv);
        let module = &mut self.module.0;
        let id = module.declare_anonymous_function(&signature).map_err(cannot_compile)?;
        clif::emit(code, self.target, &mut self.context.func, &mut self.builder_context);
        let defined = module.define_function(id, &mut self.context);
        let size = self.context.compiled_code().map(|code| code.code_info().total_size as usize);
        module.clear_context(&mut self.context);
        defined.map_err(|reason| cannot_compile(format_args!("{reason:?}")))?;
        Ok((id, size.expect("the context keeps the code of the function that it defined last")))
    }

    /// Makes all defined functions executable.
    ///
    /// # Errors
    /// The system refuses executable memory.
    pub fn finish(&mut self) -> Result<()> {
        self.module.0.finalize_definitions().map_err(cannot_compile)
    }

    /// Returns the address of a function, after [`CraneliftModule::finish`].
    pub fn address(&self, id: FuncId) -> *const u8 {
        self.module.0.get_finalized_function(id)
    }

    /// Prints `code`, which must be verified, as Cranelift's textual IR.
    ///
    /// # Errors
    /// Cranelift does not support the machine.
    pub fn text(code: &KernelBody) -> Result<String> {
        let mut func = cranelift_codegen::ir::Function::new();
        clif::emit(code, target_of(&*host_isa()?), &mut func, &mut FunctionBuilderContext::new());
        Ok(func.display().to_string())
    }
}

/// Returns whether `MulAdd` rounds once. On x86-64 that needs FMA and VEX encoding; other supported machines always
/// fuse.
fn is_fused(isa: &dyn TargetIsa) -> bool {
    let has =
        |name: &str| isa.isa_flags().iter().any(|flag| flag.name == name && flag.as_bool() == Some(true));
    !cfg!(target_arch = "x86_64") || has("has_fma") && has("has_avx")
}

/// Returns the target of this machine, built once.
fn host_isa() -> Result<OwnedTargetIsa> {
    static ISA: OnceLock<std::result::Result<OwnedTargetIsa, String>> = OnceLock::new();
    ISA.get_or_init(|| make_isa(true)).clone().map_err(cannot_compile)
}

/// Returns the target to compile for: this machine if `native`, otherwise the machine with the fewest features that the
/// emitter supports (on x86-64: up to AVX).
///
/// # Errors
/// Cranelift does not support this machine, or this x86-64 processor lacks AVX.
pub(super) fn make_isa(native: bool) -> std::result::Result<OwnedTargetIsa, String> {
    let mut flags = settings::builder();
    let verifier = if cfg!(debug_assertions) { "true" } else { "false" };
    // The emitter puts instructions in the order in which they should run; optimization would reorder them.
    let choices = [
        ("opt_level", "none"),
        ("enable_verifier", verifier),
        ("is_pic", "false"),
        ("use_colocated_libcalls", "false"),
        ("unwind_info", "false"),
        // A body with many reductions has a frame of more than one page.
        ("enable_probestack", "true"),
        ("probestack_strategy", "inline"),
    ];
    for (name, value) in choices {
        flags.set(name, value).map_err(|e| e.to_string())?;
    }
    let mut builder = cranelift_native::builder_with_options(native).map_err(str::to_owned)?;
    if cfg!(target_arch = "x86_64") {
        for name in ["has_sse3", "has_ssse3", "has_sse41", "has_sse42", "has_avx"] {
            if !native {
                builder.enable(name).map_err(|e| e.to_string())?;
            }
        }
        if !has_vector_baseline() {
            return Err("the processor lacks AVX".to_owned());
        }
    }
    builder.finish(settings::Flags::new(flags)).map_err(|e| e.to_string())
}

/// Returns whether the processor has AVX, which the emitter requires: Cranelift merges unaligned loads into
/// comparisons, and an unaligned memory operand faults in the SSE encodings that it uses without AVX.
#[cfg(target_arch = "x86_64")]
fn has_vector_baseline() -> bool {
    std::is_x86_feature_detected!("avx")
}

#[cfg(not(target_arch = "x86_64"))]
fn has_vector_baseline() -> bool {
    true
}

/// Defines an imported function: the remainder of a division toward zero, with the calling convention of kernels.
macro_rules! remainder {
    ($name:ident, $float:ty, $abi:literal) => {
        extern $abi fn $name(x: $float, y: $float) -> $float {
            x % y
        }
    };
}
#[cfg(target_arch = "x86_64")]
remainder!(remainder_f32, f32, "sysv64");
#[cfg(target_arch = "x86_64")]
remainder!(remainder_f64, f64, "sysv64");
#[cfg(not(target_arch = "x86_64"))]
remainder!(remainder_f32, f32, "C");
#[cfg(not(target_arch = "x86_64"))]
remainder!(remainder_f64, f64, "C");

/// Names of the imported functions: the remainder of `f32` and of `f64`. A module declares them first, so their ids are
/// 0 and 1.
const IMPORTS: [&str; 2] = ["shapeflow_remainder_f32", "shapeflow_remainder_f64"];

/// Returns the properties of `isa` that emission depends on.
fn target_of(isa: &dyn TargetIsa) -> Target {
    let call_conv = if cfg!(target_arch = "x86_64") { CallConv::SystemV } else { isa.default_call_conv() };
    Target { call_conv, frontend: isa.frontend_config(), fused: is_fused(isa), remainder: [0, 1] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interpreters_round_as_machine_code_does() {
        assert_eq!(is_fused(&*host_isa().unwrap()), crate::expr::fused_mul_add());
    }
}
