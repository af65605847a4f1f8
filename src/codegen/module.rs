//! [`Jit`]: compiles kernel bodies into one module. [`CodeModule`]: the module's executable functions.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use rustc_hash::FxHashMap;

use super::abi::{KernelArgs, KernelFn};
use super::code_buffer::{CodeBuffer, tell_perf};
use super::cranelift_module::{CraneliftModule, FuncId};
use super::error::cannot_compile;
use super::isa::Isa;
use super::simd;
use crate::error::Result;
use crate::lower::kernel_body::KernelBody;
use crate::lower::verify::verify;

/// Number of a function in its module. Functions are numbered in the order in which their bodies are first added.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub(crate) struct FuncIndex(pub u32);

/// The location of a compiled function.
#[derive(Clone, Copy, Debug)]
enum Location {
    /// In [`Jit::bytes`], at this offset.
    Bytes(usize),
    /// In [`Jit::cranelift`], under this id.
    Cranelift(FuncId),
}

/// Compiles kernel bodies. Equal bodies share a function. Each graph has a `Jit` of its own.
pub(crate) struct Jit {
    isa: Isa,
    /// The position-independent code of all functions of the SIMD emitter.
    bytes: Vec<u8>,
    /// The functions of Cranelift. `None` until the first one is compiled.
    cranelift: Option<Box<CraneliftModule>>,
    /// For each function: its location.
    locations: Vec<Location>,
    /// For each function: its size and emitter.
    functions: Vec<FunctionInfo>,
    /// The function of each body that was added.
    known: FxHashMap<KernelBody, FuncIndex>,
    /// Time spent on compilation.
    time: Duration,
}

#[derive(Clone, Copy)]
struct FunctionInfo {
    /// Size in bytes.
    size: usize,
    emitted: Emitted,
}

/// The emitter that made a function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Emitted {
    pub isa: Isa,
    /// The reason why the function does not use the instruction set that the caller chose; `None` if it does.
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

impl Jit {
    /// Makes an empty module for this machine. A function uses `isa` if the emitter for `isa` supports its body, and
    /// [`Isa::Clif`] otherwise.
    ///
    /// # Errors
    /// This processor lacks `isa`, or this build lacks the emitter for `isa`.
    pub fn new(isa: Isa) -> Result<Jit> {
        isa.check()?;
        Ok(Jit::with(isa, None))
    }

    fn with(isa: Isa, cranelift: Option<Box<CraneliftModule>>) -> Jit {
        Jit {
            isa,
            bytes: Vec::new(),
            cranelift,
            locations: Vec::new(),
            functions: Vec::new(),
            known: FxHashMap::default(),
            time: Duration::ZERO,
        }
    }

    /// Makes a module for this machine if `native`, else for the least machine that Cranelift's emitter supports. Also
    /// returns whether `MulAdd` rounds once on that machine.
    #[cfg(all(test, feature = "cranelift"))]
    pub(super) fn for_tests(native: bool, isa: Isa) -> (Jit, bool) {
        let host = super::cranelift_module::make_isa(native).expect("the machine is supported");
        let cranelift = CraneliftModule::with_isa(host).expect("the machine is supported");
        let fused = cranelift.is_fused();
        (Jit::with(isa, Some(Box::new(cranelift))), fused)
    }

    /// Compiles `code`, or finds the function of an equal body.
    ///
    /// # Errors
    /// The body is ill-formed; or the body needs Cranelift, and the build lacks Cranelift, Cranelift does not support
    /// the machine, or the system refuses memory.
    pub fn add(&mut self, code: &KernelBody) -> Result<FuncIndex> {
        if let Some(known) = self.known.get(code) {
            return Ok(*known);
        }
        verify(code).map_err(cannot_compile)?;
        let start = Instant::now();
        let (location, size, emitted) = match self.isa.wide().map(|isa| simd::emit(code, isa)) {
            Some(Ok(function)) => {
                let offset = self.bytes.len().next_multiple_of(simd::ALIGN);
                // The gap before an aligned function never runs. The bytes of the gap are `int3`, which traps.
                self.bytes.resize(offset, 0xcc);
                self.bytes.extend_from_slice(&function);
                (Location::Bytes(offset), function.len(), Emitted { isa: self.isa, reason: None })
            }
            unsupported => {
                let cranelift = match &mut self.cranelift {
                    Some(cranelift) => cranelift,
                    empty => empty.insert(Box::new(CraneliftModule::new()?)),
                };
                let (id, size) = cranelift.define(code)?;
                let reason = unsupported.and_then(std::result::Result::err);
                (Location::Cranelift(id), size, Emitted { isa: Isa::Clif, reason })
            }
        };
        self.time += start.elapsed();
        let index = FuncIndex(self.locations.len() as u32);
        self.locations.push(location);
        self.functions.push(FunctionInfo { size, emitted });
        self.known.insert(code.clone(), index);
        Ok(index)
    }

    /// Returns the emitter that made a function.
    #[cfg(test)]
    pub(super) fn emitted(&self, f: FuncIndex) -> Emitted {
        self.functions[f.0 as usize].emitted
    }

    /// Makes the functions executable.
    ///
    /// # Errors
    /// The system refuses executable memory.
    pub fn finish(mut self) -> Result<CodeModule> {
        let buffer = CodeBuffer::new(&self.bytes)?;
        if let Some(cranelift) = &mut self.cranelift {
            cranelift.finish()?;
        }
        let in_buffer =
            self.locations.iter().zip(&self.functions).filter_map(|(location, function)| match *location {
                Location::Bytes(offset) => Some((buffer.address(offset), function.size)),
                Location::Cranelift(_) => None,
            });
        tell_perf(in_buffer);
        let entry = |location: &Location| {
            let address = match *location {
                Location::Bytes(offset) => buffer.address(offset),
                Location::Cranelift(id) => {
                    let cranelift = self.cranelift.as_ref();
                    cranelift.expect("the module that defined a function is kept").address(id)
                }
            };
            // SAFETY: the address is the start of an executable function. Both emitters give functions the signature
            // and the calling convention of `KernelFn`.
            unsafe { std::mem::transmute::<*const u8, KernelFn>(address) }
        };
        let entries = self.locations.iter().map(entry).collect();
        let (functions, time) = (self.functions, self.time);
        Ok(CodeModule { entries, functions, time, _memory: Mutex::new((buffer, self.cranelift)) })
    }

    /// Whether this build can print Cranelift's textual IR.
    pub const PRINTS_CLIF: bool = cfg!(feature = "cranelift");

    /// Prints `code` as Cranelift's textual IR.
    ///
    /// # Errors
    /// The body is ill-formed, Cranelift does not support the machine, or the build lacks Cranelift.
    pub fn clif_text(code: &KernelBody) -> Result<String> {
        verify(code).map_err(cannot_compile)?;
        CraneliftModule::text(code)
    }
}

/// The executable functions of one module. Dropping the module frees the memory of the functions, so whoever launches
/// a function keeps the module alive.
pub(crate) struct CodeModule {
    /// For each function: its entry point.
    entries: Vec<KernelFn>,
    functions: Vec<FunctionInfo>,
    time: Duration,
    /// The memory of the functions. Nothing locks the mutex; it makes the type `Sync`.
    _memory: Mutex<(CodeBuffer, Option<Box<CraneliftModule>>)>,
}

impl CodeModule {
    /// Runs a function of this module.
    ///
    /// # Safety
    /// `args` must fit the code of `f`:
    /// - `slots` holds the words of every slot, `scalars` every run-time scalar, and `extents` one extent per loop.
    /// - At every position that the loops reach, each load and gather slot is readable, and each store and scratch
    ///   slot is writable, with elements of the slot's dtype; bools are 0 or 1. A gather slot is readable at offset 0
    ///   and at every offset that passes its checks.
    /// - In a column kernel, `tile` is writable for every reduction, and `n` is at most `TILE`.
    /// - `outcome` is writable, and `stop` readable.
    /// - No other thread accesses memory that the function stores to. If that memory overlaps the memory of another
    ///   slot, then both slots access the same element at the same position of the loops.
    pub unsafe fn launch(&self, f: FuncIndex, args: &KernelArgs) {
        let function = self.entries[f.0 as usize];
        // SAFETY: the function's memory lives as long as `self`; the caller promises the rest.
        unsafe { function(args) }
    }

    /// Returns the time spent on compilation.
    pub fn code_time(&self) -> Duration {
        self.time
    }

    /// Returns the number of bytes of machine code.
    pub fn code_bytes(&self) -> usize {
        self.functions.iter().map(|function| function.size).sum()
    }

    /// Returns the machine code of a function.
    #[cfg(all(feature = "disasm", target_arch = "x86_64"))]
    pub(super) fn bytes(&self, f: FuncIndex) -> &[u8] {
        let index = f.0 as usize;
        let start = self.entries[index] as *const u8;
        // SAFETY: the function has `size` bytes at `start`. The bytes stay readable as long as the module, and nothing
        // writes to finished code.
        unsafe { std::slice::from_raw_parts(start, self.functions[index].size) }
    }

    /// Returns the emitter that made a function.
    pub fn emitted(&self, f: FuncIndex) -> Emitted {
        self.functions[f.0 as usize].emitted
    }

    /// Returns the number of functions.
    #[cfg(test)]
    pub fn function_count(&self) -> usize {
        self.entries.len()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn shared<T: Send + Sync>() {}

    #[test]
    fn modules_are_shared_between_threads() {
        shared::<Arc<CodeModule>>();
    }

    #[test]
    #[should_panic = "index out of bounds"]
    fn a_function_of_another_module_is_never_skipped() {
        let module = Jit::with(Isa::Clif, None).finish().unwrap();
        let mut outcome = 0;
        let args = KernelArgs {
            slots: std::ptr::null(),
            scalars: std::ptr::null(),
            tile: std::ptr::null_mut(),
            rows: 0,
            n: 0,
            extents: std::ptr::null(),
            stream: 0,
            outcome: &raw mut outcome,
            stop: &std::sync::atomic::AtomicBool::new(false),
            called_functions: crate::codegen::CALLED_FUNCTIONS,
        };
        // SAFETY: the module has no function to run.
        unsafe { module.launch(FuncIndex(0), &args) }
    }
}
