//! `Jit`: codes compiled into one module; `CodeModule`: its executable functions.

use std::collections::hash_map::Entry;
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};

use cranelift_codegen::Context;
use cranelift_codegen::isa::{CallConv, OwnedTargetIsa, TargetIsa};
use cranelift_codegen::settings::{self, Configurable};
use cranelift_frontend::FunctionBuilderContext;
use cranelift_jit::{JITBuilder, JITModule};
use cranelift_module::{FuncId, Linkage, Module, default_libcall_names};
use rustc_hash::FxHashMap;

use super::abi::{KernelArgs, KernelFn};
use super::clif::{self, Target, kernel_signature};
use super::isa::Isa;
use super::simd;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::lower::code::Code;
use crate::lower::verify::verify;

/// A function of a module, in the order its code was first added.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub(crate) struct FuncIndex(pub u32);

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

/// Compiles codes; equal codes share a function. One of these serves one graph.
pub(crate) struct Jit {
    module: OwnedModule,
    target: Target,
    functions: Vec<FuncId>,
    known: FxHashMap<Code, FuncIndex>,
    context: Context,
    builder_context: FunctionBuilderContext,
    /// Bytes of each function.
    sizes: Vec<usize>,
    isa: Isa,
    bodies: Vec<Emitted>,
    /// What the functions took to make.
    time: Duration,
}

/// Which emitter made a function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Emitted {
    pub isa: Isa,
    /// Why it is not the one that was asked for.
    pub reason: Option<&'static str>,
}

impl std::fmt::Display for Emitted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.reason {
            Some(reason) => write!(f, "{} ({reason})", self.isa),
            None => write!(f, "{}", self.isa),
        }
    }
}

fn refused(reason: impl std::fmt::Display) -> Error {
    Error::new(ErrorKind::Compile, Phase::Compile, format!("machine code cannot be made: {reason}"))
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
fn make_isa(native: bool) -> std::result::Result<OwnedTargetIsa, String> {
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

impl Jit {
    /// An empty module for this machine, with functions in `isa` where its emitter serves.
    ///
    /// # Errors
    /// The machine is not supported, or lacks `isa`.
    pub fn new(isa: Isa) -> Result<Jit> {
        isa.check()?;
        Jit::with_isa(host_isa()?, isa)
    }

    fn with_isa(host: OwnedTargetIsa, isa: Isa) -> Result<Jit> {
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
        Ok(Jit {
            context: module.make_context(),
            module: OwnedModule(Some(module)),
            target,
            functions: Vec::new(),
            known: FxHashMap::default(),
            builder_context: FunctionBuilderContext::new(),
            sizes: Vec::new(),
            isa,
            bodies: Vec::new(),
            time: Duration::ZERO,
        })
    }

    /// A module for this machine or for the least the emitter supports, and whether `MulAdd` rounds
    /// once there.
    #[cfg(test)]
    pub(super) fn for_tests(native: bool, isa: Isa) -> (Jit, bool) {
        let host = make_isa(native).expect("the machine is supported");
        let fused = is_fused(&*host);
        (Jit::with_isa(host, isa).expect("the machine is supported"), fused)
    }

    /// Compiles `code`, or finds the function of an equal one.
    ///
    /// # Errors
    /// The code is ill-formed, or memory for it was refused.
    pub fn add(&mut self, code: &Code) -> Result<FuncIndex> {
        let entry = match self.known.entry(code.clone()) {
            Entry::Occupied(known) => return Ok(*known.get()),
            Entry::Vacant(entry) => entry,
        };
        verify(code).map_err(refused)?;
        let signature = kernel_signature(self.target.call_conv);
        let module = self.module.get()?;
        let id = module.declare_anonymous_function(&signature).map_err(refused)?;
        let start = Instant::now();
        let wide = self.isa.wide().map(|isa| simd::emit(code, isa));
        self.time += start.elapsed();
        let reason = match wide {
            Some(Ok(bytes)) => {
                module.define_function_bytes(id, simd::ALIGN, &bytes, &[]).map_err(refused)?;
                self.sizes.push(bytes.len());
                self.bodies.push(Emitted { isa: self.isa, reason: None });
                let index = FuncIndex(self.functions.len() as u32);
                self.functions.push(id);
                return Ok(*entry.insert(index));
            }
            Some(Err(reason)) => Some(reason),
            None => None,
        };
        let start = Instant::now();
        clif::emit(code, self.target, &mut self.context.func, &mut self.builder_context);
        let defined = module.define_function(id, &mut self.context);
        self.time += start.elapsed();
        let size = self.context.compiled_code().map_or(0, |code| code.code_info().total_size as usize);
        module.clear_context(&mut self.context);
        defined.map_err(|reason| refused(format_args!("{reason:?}")))?;
        self.sizes.push(size);
        self.bodies.push(Emitted { isa: Isa::Clif, reason });
        let index = FuncIndex(self.functions.len() as u32);
        self.functions.push(id);
        Ok(*entry.insert(index))
    }

    /// Which emitter made a function.
    #[cfg(test)]
    pub(super) fn emitted(&self, f: FuncIndex) -> Option<Emitted> {
        self.bodies.get(f.0 as usize).copied()
    }

    /// Makes the functions executable.
    ///
    /// # Errors
    /// Executable memory was refused.
    pub fn finish(mut self) -> Result<CodeModule> {
        let module = self.module.get()?;
        module.finalize_definitions().map_err(refused)?;
        let functions = self.functions.iter().map(|id| {
            let address = module.get_finalized_function(*id);
            // SAFETY: the address is the start of a finalized function that was emitted with the
            // signature and calling convention of `KernelFn`.
            unsafe { std::mem::transmute::<*const u8, KernelFn>(address) }
        });
        let functions = functions.collect();
        let (sizes, bodies, time) = (self.sizes, self.bodies, self.time);
        Ok(CodeModule { functions, sizes, bodies, time, _module: Mutex::new(self.module) })
    }

    /// `code` as Cranelift's textual IR.
    ///
    /// # Errors
    /// The code is ill-formed.
    pub fn clif_text(code: &Code) -> Result<String> {
        verify(code).map_err(refused)?;
        let mut func = cranelift_codegen::ir::Function::new();
        clif::emit(code, target_of(&*host_isa()?), &mut func, &mut FunctionBuilderContext::new());
        Ok(func.display().to_string())
    }
}

/// The functions of one module. Its memory is freed when it is dropped, so that whoever launches
/// holds it in an [`Arc`](std::sync::Arc).
pub(crate) struct CodeModule {
    functions: Vec<KernelFn>,
    /// Bytes of each function.
    sizes: Vec<usize>,
    bodies: Vec<Emitted>,
    time: Duration,
    /// Kept until the functions go; the lock, which nothing takes, makes the type `Sync`.
    _module: Mutex<OwnedModule>,
}

impl CodeModule {
    /// Runs a function.
    ///
    /// # Safety
    /// `args` must fit the code of `f`: `slots` holds one line per slot and `scalars`, `extents` as
    /// many words as the code names; for every position the loops reach, each load and gather slot
    /// (gathers at every offset that passes its checks and at offset 0) is readable and each store and
    /// scratch slot is writable memory of the slot's dtype, bools being 0 or 1; `tile` is writable for
    /// every fold of a column kernel, in which `n` is at most `TILE`; `failed` is writable. Memory that
    /// is stored to is not accessed by other threads meanwhile, and overlaps other slots only element
    /// on element.
    pub unsafe fn launch(&self, f: FuncIndex, args: &KernelArgs) {
        let Some(function) = self.functions.get(f.0 as usize) else {
            debug_assert!(false, "{f:?} is of another module");
            return;
        };
        // SAFETY: the module lives as long as `self`; the rest is the caller's.
        unsafe { function(args) }
    }

    /// What the functions took to make.
    pub fn code_time(&self) -> Duration {
        self.time
    }

    /// Bytes of machine code.
    pub fn code_bytes(&self) -> usize {
        self.sizes.iter().sum()
    }

    /// The machine code of a function.
    #[cfg(all(feature = "disasm", target_arch = "x86_64"))]
    pub(super) fn bytes(&self, f: FuncIndex) -> Option<&[u8]> {
        let (function, size) = (self.functions.get(f.0 as usize)?, self.sizes.get(f.0 as usize)?);
        let start = *function as *const u8;
        // SAFETY: the function was placed here with so many bytes, which stay readable as long as the module,
        // and nothing writes to finalized code.
        Some(unsafe { std::slice::from_raw_parts(start, *size) })
    }

    /// Which emitter made a function.
    pub fn emitted(&self, f: FuncIndex) -> Option<Emitted> {
        self.bodies.get(f.0 as usize).copied()
    }

    /// Number of functions.
    #[cfg(test)]
    pub fn function_count(&self) -> usize {
        self.functions.len()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn interpreters_round_as_machine_code_does() {
        assert_eq!(is_fused(&*host_isa().unwrap()), crate::expr::fused_mul_add());
    }

    fn shared<T: Send + Sync>() {}

    #[test]
    fn modules_are_shared_between_threads() {
        shared::<Arc<CodeModule>>();
    }
}
