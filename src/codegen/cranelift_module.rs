//! `Linked`: functions that Cranelift makes, in a module of its own.

use std::sync::OnceLock;

use cranelift_codegen::Context;
use cranelift_codegen::isa::{CallConv, OwnedTargetIsa, TargetIsa};
use cranelift_codegen::settings::{self, Configurable};
use cranelift_frontend::FunctionBuilderContext;
use cranelift_jit::{JITBuilder, JITModule};
use cranelift_module::{FuncId, Linkage, Module, default_libcall_names};

use super::clif::{self, Target, kernel_signature};
use super::module::refused;
use crate::error::Result;
use crate::lower::code::Code;

/// A module whose memory goes with it. Pointers into it are handed out by [`CodeModule`] only, which
/// lends them for the length of a launch.
struct OwnedModule(Option<JITModule>);

impl OwnedModule {
    fn get(&mut self) -> Result<&mut JITModule> {
        self.0.as_mut().ok_or_else(|| refused("the module is gone"))
    }
}

impl Drop for OwnedModule {
    fn drop(&mut self) {
        if let Some(module) = self.0.take() {
            // SAFETY: functions run through a borrow of the `CodeModule` that owns this, and no
            // pointer to one leaves it.
            unsafe { module.free_memory() }
        }
    }
}

/// Makes functions.
pub(super) struct Linked {
    module: OwnedModule,
    target: Target,
    context: Context,
    builder_context: FunctionBuilderContext,
}

impl Linked {
    /// An empty module for this machine.
    ///
    /// # Errors
    /// The machine is not supported.
    pub fn new() -> Result<Linked> {
        Linked::with_isa(host_isa()?)
    }

    pub fn with_isa(host: OwnedTargetIsa) -> Result<Linked> {
        let target = target_of(&*host);
        let mut builder = JITBuilder::with_isa(host, default_libcall_names());
        builder.symbol(IMPORTS[0], remainder_f32 as *const u8);
        builder.symbol(IMPORTS[1], remainder_f64 as *const u8);
        let mut module = JITModule::new(builder);
        for (name, of) in IMPORTS.into_iter().zip(target.remainder) {
            let float = [cranelift_codegen::ir::types::F32, cranelift_codegen::ir::types::F64][of as usize];
            let mut signature = cranelift_codegen::ir::Signature::new(target.call_conv);
            signature.params = vec![cranelift_codegen::ir::AbiParam::new(float); 2];
            signature.returns = vec![cranelift_codegen::ir::AbiParam::new(float)];
            let id = module.declare_function(name, Linkage::Import, &signature).map_err(refused)?;
            debug_assert_eq!(id.as_u32(), of);
        }
        Ok(Linked {
            context: module.make_context(),
            module: OwnedModule(Some(module)),
            target,
            builder_context: FunctionBuilderContext::new(),
        })
    }

    /// Whether `MulAdd` rounds once.
    #[cfg(test)]
    pub fn is_fused(&self) -> bool {
        self.target.fused
    }

    /// The function of a verified code, and its bytes.
    ///
    /// # Errors
    /// Memory for it was refused.
    pub fn define(&mut self, code: &Code) -> Result<(FuncId, usize)> {
        let signature = kernel_signature(self.target.call_conv);
        let module = self.module.get()?;
        let id = module.declare_anonymous_function(&signature).map_err(refused)?;
        clif::emit(code, self.target, &mut self.context.func, &mut self.builder_context);
        let defined = module.define_function(id, &mut self.context);
        let size = self.context.compiled_code().map_or(0, |code| code.code_info().total_size as usize);
        module.clear_context(&mut self.context);
        defined.map_err(|reason| refused(format_args!("{reason:?}")))?;
        Ok((id, size))
    }

    /// Makes the functions executable.
    ///
    /// # Errors
    /// Executable memory was refused.
    pub fn finish(&mut self) -> Result<()> {
        self.module.get()?.finalize_definitions().map_err(refused)
    }

    /// Where a function is, once it is executable.
    pub fn at(&mut self, id: FuncId) -> Result<*const u8> {
        Ok(self.module.get()?.get_finalized_function(id))
    }

    /// `code`, which was verified, as Cranelift's textual IR.
    ///
    /// # Errors
    /// The machine is not supported.
    pub fn text(code: &Code) -> Result<String> {
        let mut func = cranelift_codegen::ir::Function::new();
        clif::emit(code, target_of(&*host_isa()?), &mut func, &mut FunctionBuilderContext::new());
        Ok(func.display().to_string())
    }
}

/// The x86 backend fuses in VEX encoding only; other supported machines always can.
fn is_fused(isa: &dyn TargetIsa) -> bool {
    let has =
        |name: &str| isa.isa_flags().iter().any(|flag| flag.name == name && flag.as_bool() == Some(true));
    !cfg!(target_arch = "x86_64") || has("has_fma") && has("has_avx")
}

/// The machine this process runs on, chosen once.
fn host_isa() -> Result<OwnedTargetIsa> {
    static ISA: OnceLock<std::result::Result<OwnedTargetIsa, String>> = OnceLock::new();
    ISA.get_or_init(|| make_isa(true)).clone().map_err(refused)
}

/// The machine code is made for: this one, or (not `native`) the least that the emitter supports.
pub(super) fn make_isa(native: bool) -> std::result::Result<OwnedTargetIsa, String> {
    let mut flags = settings::builder();
    let verifier = if cfg!(debug_assertions) { "true" } else { "false" };
    // Instructions are emitted in the order in which they should run; optimisation undoes it.
    let choices = [
        ("opt_level", "none"),
        ("enable_verifier", verifier),
        ("is_pic", "false"),
        ("use_colocated_libcalls", "false"),
        ("unwind_info", "false"),
        // Many folds make a frame of more than one page.
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

/// AVX, for its encodings: the older ones fault on unaligned memory operands, which Cranelift merges
/// into comparisons all the same.
#[cfg(target_arch = "x86_64")]
fn has_vector_baseline() -> bool {
    std::is_x86_feature_detected!("avx")
}

#[cfg(not(target_arch = "x86_64"))]
fn has_vector_baseline() -> bool {
    true
}

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

/// Names of the imported functions; they are the first a module declares.
const IMPORTS: [&str; 2] = ["shapeflow_remainder_f32", "shapeflow_remainder_f64"];

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
