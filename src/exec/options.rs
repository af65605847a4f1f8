//! `CompileOptions`: how a graph is compiled and run.

use std::sync::Arc;

use crate::codegen::{Isa, ThreadPool};

/// What runs a compiled graph.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum Backend {
    /// Machine code made when the graph is compiled.
    #[default]
    Jit,
    /// The interpreter of expressions: slow, for places where executable memory is refused, and as the
    /// reference that machine code is tested against.
    Interpreter,
}

/// How a graph is compiled and run.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CompileOptions {
    threads: usize,
    pool: Option<Arc<dyn ThreadPool>>,
    memory_limit: Option<usize>,
    plans: usize,
    backend: Backend,
    isa: Option<Isa>,
}

impl Default for CompileOptions {
    fn default() -> CompileOptions {
        CompileOptions::new()
    }
}

impl CompileOptions {
    /// One thread, machine code for the host ([`Isa::of_host`]), no memory limit, 64 plans.
    pub fn new() -> CompileOptions {
        let backend = Backend::Jit;
        CompileOptions { threads: 1, pool: None, memory_limit: None, plans: 64, backend, isa: None }
    }

    /// Runs large kernels on so many threads of a pool of the executable's own; 1 makes none.
    ///
    /// Without the feature `threads`, kernels run on the calling thread.
    pub fn threads(mut self, threads: usize) -> CompileOptions {
        self.threads = threads.max(1);
        self
    }

    /// Runs large kernels on a pool of the caller's.
    pub fn pool(mut self, pool: Arc<dyn ThreadPool>) -> CompileOptions {
        self.pool = Some(pool);
        self
    }

    /// Refuses a run that needs more bytes than this for results and intermediate values, before anything is
    /// allocated.
    pub fn memory_limit(mut self, bytes: usize) -> CompileOptions {
        self.memory_limit = Some(bytes);
        self
    }

    /// Keeps plans for so many different sets of sizes.
    pub fn plans(mut self, plans: usize) -> CompileOptions {
        self.plans = plans.max(1);
        self
    }

    /// Chooses what runs the graph.
    pub fn backend(mut self, backend: Backend) -> CompileOptions {
        self.backend = backend;
        self
    }

    /// Makes kernels of these instructions; compiling fails if the processor lacks them.
    pub fn isa(mut self, isa: Isa) -> CompileOptions {
        self.isa = Some(isa);
        self
    }

    pub(crate) fn chosen_isa(&self) -> crate::error::Result<Isa> {
        self.isa.map_or_else(Isa::of_host, Ok)
    }

    pub(crate) fn interprets(&self) -> bool {
        self.backend == Backend::Interpreter
    }

    pub(crate) fn plan_limit(&self) -> usize {
        self.plans
    }

    pub(crate) fn memory_limit_bytes(&self) -> Option<usize> {
        self.memory_limit
    }

    pub(crate) fn make_pool(&self) -> crate::error::Result<crate::codegen::Pool> {
        if self.pool.is_some() {
            return Ok(crate::codegen::Pool::new(self.pool.clone()));
        }
        #[cfg(feature = "threads")]
        if self.threads > 1 {
            return Ok(crate::codegen::Pool::new(Some(crate::codegen::rayon_pool(self.threads)?)));
        }
        Ok(crate::codegen::Pool::new(None))
    }
}
