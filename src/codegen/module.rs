//! `Jit`: codes compiled into one module; `CodeModule`: its executable functions.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use cranelift_module::FuncId;
use rustc_hash::FxHashMap;

use super::abi::{KernelArgs, KernelFn};
use super::code_buffer::{Placed, tell_perf};
use super::cranelift_module::Linked;
use super::isa::Isa;
use super::simd;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::lower::code::Code;
use crate::lower::verify::verify;

/// A function of a module, in the order its code was first added.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub(crate) struct FuncIndex(pub u32);

/// Where a function is.
#[derive(Clone, Copy, Debug)]
enum At {
    /// Among those placed without linking.
    Placed(usize),
    Linked(FuncId),
}

/// Compiles codes; equal codes share a function. One of these serves one graph.
pub(crate) struct Jit {
    isa: Isa,
    /// Functions that need no linking, one after the other.
    placed: Vec<u8>,
    /// Made for the first function that needs it.
    linked: Option<Box<Linked>>,
    functions: Vec<At>,
    known: FxHashMap<Code, FuncIndex>,
    /// Bytes of each function.
    sizes: Vec<usize>,
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

pub(super) fn refused(reason: impl std::fmt::Display) -> Error {
    Error::new(ErrorKind::Compile, Phase::Compile, format!("machine code cannot be made: {reason}"))
}

impl Jit {
    /// An empty module for this machine, with functions in `isa` where its emitter serves.
    ///
    /// # Errors
    /// The machine lacks `isa`.
    pub fn new(isa: Isa) -> Result<Jit> {
        isa.check()?;
        Ok(Jit::with(isa, None))
    }

    fn with(isa: Isa, linked: Option<Box<Linked>>) -> Jit {
        Jit {
            isa,
            placed: Vec::new(),
            linked,
            functions: Vec::new(),
            known: FxHashMap::default(),
            sizes: Vec::new(),
            bodies: Vec::new(),
            time: Duration::ZERO,
        }
    }

    /// A module for this machine or for the least the emitter supports, and whether `MulAdd` rounds
    /// once there.
    #[cfg(test)]
    pub(super) fn for_tests(native: bool, isa: Isa) -> (Jit, bool) {
        let host = super::cranelift_module::make_isa(native).expect("the machine is supported");
        let linked = Linked::with_isa(host).expect("the machine is supported");
        let fused = linked.is_fused();
        (Jit::with(isa, Some(Box::new(linked))), fused)
    }

    /// Compiles `code`, or finds the function of an equal one.
    ///
    /// # Errors
    /// The code is ill-formed, the machine is not supported, or memory was refused.
    pub fn add(&mut self, code: &Code) -> Result<FuncIndex> {
        if let Some(known) = self.known.get(code) {
            return Ok(*known);
        }
        verify(code).map_err(refused)?;
        let start = Instant::now();
        let reason = match self.isa.wide().map(|isa| simd::emit(code, isa)) {
            Some(Ok(bytes)) => {
                let at = self.placed.len().next_multiple_of(simd::ALIGN);
                // What stands between functions is never run: int3.
                self.placed.resize(at, 0xcc);
                self.placed.extend_from_slice(&bytes);
                self.time += start.elapsed();
                let emitted = Emitted { isa: self.isa, reason: None };
                return Ok(self.keep(code, At::Placed(at), bytes.len(), emitted));
            }
            Some(Err(reason)) => Some(reason),
            None => None,
        };
        let linked = match &mut self.linked {
            Some(linked) => linked,
            empty => empty.insert(Box::new(Linked::new()?)),
        };
        let (id, size) = linked.define(code)?;
        self.time += start.elapsed();
        Ok(self.keep(code, At::Linked(id), size, Emitted { isa: Isa::Clif, reason }))
    }

    /// Numbers the function of a code.
    fn keep(&mut self, code: &Code, at: At, size: usize, emitted: Emitted) -> FuncIndex {
        let index = FuncIndex(self.functions.len() as u32);
        self.functions.push(at);
        self.sizes.push(size);
        self.bodies.push(emitted);
        self.known.insert(code.clone(), index);
        index
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
        let placed = Placed::new(&self.placed, simd::ALIGN as u64)?;
        if let Some(linked) = &mut self.linked {
            linked.finish()?;
        }
        let own = self.functions.iter().zip(&self.sizes).filter_map(|(at, size)| match at {
            At::Placed(offset) => Some((placed.at(*offset)?, *size)),
            At::Linked(_) => None,
        });
        tell_perf(own);
        let mut functions = Vec::with_capacity(self.functions.len());
        for at in &self.functions {
            let address = match (at, &mut self.linked) {
                (At::Linked(id), Some(linked)) => linked.at(*id)?,
                (At::Placed(offset), _) => placed.at(*offset).ok_or_else(|| refused("a function is gone"))?,
                (At::Linked(_), None) => return Err(refused("the module is gone")),
            };
            // SAFETY: the address is the start of an executable function that was emitted with the
            // signature and calling convention of `KernelFn`.
            functions.push(unsafe { std::mem::transmute::<*const u8, KernelFn>(address) });
        }
        let (sizes, bodies, time) = (self.sizes, self.bodies, self.time);
        Ok(CodeModule { functions, sizes, bodies, time, _memory: Mutex::new((placed, self.linked)) })
    }

    /// `code` as Cranelift's textual IR.
    ///
    /// # Errors
    /// The code is ill-formed.
    pub fn clif_text(code: &Code) -> Result<String> {
        verify(code).map_err(refused)?;
        Linked::text(code)
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
    _memory: Mutex<(Placed, Option<Box<Linked>>)>,
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
        // SAFETY: the memory lives as long as `self`; the rest is the caller's.
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

    fn shared<T: Send + Sync>() {}

    #[test]
    fn modules_are_shared_between_threads() {
        shared::<Arc<CodeModule>>();
    }
}
