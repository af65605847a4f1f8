//! `CompileOptions`: how a graph is compiled and run.

use std::sync::Arc;

use crate::codegen::Isa;
use crate::dump::{Snapshot, StageKind, StageSink, Trace, Watch};
use crate::error::Result;
use crate::runtime::ThreadPool;

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
    sink: Option<Arc<dyn StageSink>>,
    watch: Option<Watch>,
    trace: Option<Trace>,
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
        CompileOptions {
            threads: 1,
            pool: None,
            memory_limit: None,
            plans: 64,
            backend: Backend::Jit,
            sink: None,
            watch: None,
            trace: None,
            isa: None,
        }
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

    /// Shows every stage of the compilation to a sink.
    ///
    /// Without one, the environment variable `SHAPEFLOW_DUMP` may name a folder that every stage of every
    /// compilation is written to.
    pub fn sink(mut self, sink: Arc<dyn StageSink>) -> CompileOptions {
        self.sink = Some(sink);
        self
    }

    /// Records when what is compiled, and every kernel of every run.
    pub fn trace(mut self, trace: &Trace) -> CompileOptions {
        self.trace = Some(trace.clone());
        self
    }

    /// The options for one call of `compile`: its stages go to the sink, or else to the `default` one.
    pub(crate) fn watched(&self, default: Option<Arc<dyn StageSink>>) -> CompileOptions {
        let watch = self.sink.clone().or(default).map(Watch::begin);
        CompileOptions { watch, ..self.clone() }
    }

    /// Shows a stage if someone watches.
    pub(crate) fn show(&self, stage: StageKind, make: &mut dyn FnMut() -> Result<Snapshot>) -> Result<()> {
        self.watch.as_ref().map_or(Ok(()), |watch| watch.show(stage, make))
    }

    pub(crate) fn kept_trace(&self) -> Option<&Trace> {
        self.trace.as_ref()
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

    pub(crate) fn make_pool(&self) -> crate::error::Result<crate::runtime::Pool> {
        if self.pool.is_some() {
            return Ok(crate::runtime::Pool::new(self.pool.clone()));
        }
        #[cfg(feature = "threads")]
        if self.threads > 1 {
            return Ok(crate::runtime::Pool::new(Some(crate::runtime::rayon_pool(self.threads)?)));
        }
        Ok(crate::runtime::Pool::new(None))
    }
}
