//! [`CompileOptions`]: how a graph is compiled and run.

use std::any::Any;
use std::sync::{Arc, Mutex, Weak};

use rustc_hash::FxHashMap;

use crate::codegen::Isa;
use crate::dump::{Snapshot, StageKind, StageSink, Trace, Watch};
use crate::error::Result;
#[cfg(feature = "graphdef")]
use crate::runtime::lock;
#[cfg(feature = "threads")]
use crate::runtime::rayon_pool;
use crate::runtime::{Pool, ThreadPool};

/// The executor of a compiled graph.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum Backend {
    /// Machine code, which is emitted when the graph is compiled.
    #[default]
    Jit,
    /// The interpreter of expressions, which is slow. The interpreter runs where executable memory is refused, and is
    /// the reference for tests of machine code. It adds up the elements of a reduction in their order. Machine code
    /// adds up several parts, so that a sum, a mean, a softmax or a matrix product of floats can differ in the last
    /// bits: compare them with a tolerance, as [`Tensor::allclose`](crate::Tensor::allclose) does.
    Interpreter,
}

/// How a graph is compiled and run.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CompileOptions {
    threads: usize,
    pool: Option<Arc<dyn ThreadPool>>,
    memory_limit: Option<usize>,
    plan_bytes: usize,
    backend: Backend,
    sink: Option<Arc<dyn StageSink>>,
    watch: Option<Watch>,
    trace: Option<Trace>,
    isa: Option<Isa>,
    #[cfg_attr(
        not(feature = "graphdef"),
        expect(dead_code, reason = "only a model has functions with several calls")
    )]
    compiled_once: Weak<CompiledOnce>,
}

/// What one call of `compile` has compiled for several nodes, by the keys of [`CompileOptions::compiled_once`].
pub(crate) type CompiledOnce = Mutex<FxHashMap<usize, Arc<dyn Any + Send + Sync>>>;

impl Default for CompileOptions {
    fn default() -> CompileOptions {
        CompileOptions::new()
    }
}

impl CompileOptions {
    /// Returns default options: one thread, machine code for the host ([`Isa::of_host`]), no memory limit, 4 MiB of
    /// plans.
    pub fn new() -> CompileOptions {
        CompileOptions {
            threads: 1,
            pool: None,
            memory_limit: None,
            plan_bytes: 4 << 20,
            backend: Backend::Jit,
            sink: None,
            watch: None,
            trace: None,
            isa: None,
            compiled_once: Weak::new(),
        }
    }

    /// Runs large kernels on this number of threads, in a pool that the executable owns. One thread needs no pool: it
    /// is the calling thread. 0 means one thread too, and not the number of processors.
    ///
    /// Without the feature `threads`, all kernels run on the calling thread.
    pub fn threads(mut self, threads: usize) -> CompileOptions {
        self.threads = threads.max(1);
        self
    }

    /// Runs large kernels on a pool of the caller.
    pub fn pool(mut self, pool: Arc<dyn ThreadPool>) -> CompileOptions {
        self.pool = Some(pool);
        self
    }

    /// Limits the bytes that a run may use for results and intermediate values. A run that needs more is refused
    /// before it allocates. An op that runs on the host may use memory besides its results: each of its allocations has
    /// at most the bytes that the limit leaves.
    ///
    /// ```
    /// use shapeflow::{CompileOptions, DType, ErrorKind, Graph, Tensor, shape};
    ///
    /// let g = Graph::new();
    /// let y = g.input("x", DType::F32, shape!["n"])?.exp()?;
    /// let exe = g.compile_with(&CompileOptions::new().memory_limit(1000), y)?;
    /// let run = |n| exe.run_all(&[Tensor::zeros(DType::F32, &[n])?.view()]);
    /// assert!(run(100).is_ok());
    /// assert_eq!(run(1000).unwrap_err().kind(), ErrorKind::Memory);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    pub fn memory_limit(mut self, bytes: usize) -> CompileOptions {
        self.memory_limit = Some(bytes);
        self
    }

    /// Limits the bytes of all plans that are kept for one program. The default is 4 MiB.
    ///
    /// Most graphs are compiled to one program. A graph with an input of unknown rank, or with an axis or a permutation
    /// that is fed, is compiled to a program for each rank and each such value that runs meet. The executable keeps at
    /// most 64 of these programs, each with plans of its own; before it makes one more, it drops them all.
    /// [`Executable::trim`](crate::Executable::trim) frees programs and plans.
    ///
    /// A run needs a plan for the sizes of its inputs. The plan says where each buffer lies, and how each kernel covers
    /// its elements. A plan takes 0.5 to 1.2 KiB for each kernel and each matrix product, whatever the number of ops is
    /// that a kernel fuses: 4 MiB hold the plans of about 3,700 sizes for a program of one kernel, and of about 1,700
    /// sizes for two kernels and a product. A run makes its plan more slowly than it finds a kept plan.
    ///
    /// If the plans take too many bytes, the program drops the plan that was used longest ago. So a program that runs
    /// through more sizes than fit, again and again in the same order, never finds a plan: raise the limit then.
    /// [`Stats::plan_hits`] and [`Stats::plan_misses`] count the runs with and without a plan, and `Display` of
    /// [`Stats`](crate::Stats) has the number of kernels and matrix products.
    ///
    /// [`Stats::plan_hits`]: crate::Stats::plan_hits
    /// [`Stats::plan_misses`]: crate::Stats::plan_misses
    ///
    /// ```
    /// use shapeflow::{CompileOptions, DType, Graph, Tensor, shape};
    ///
    /// let g = Graph::new();
    /// let y = g.input("x", DType::F32, shape!["n"])?.exp()?;
    /// let exe = g.compile_with(&CompileOptions::new().plan_memory(16 << 20), y)?;
    /// for n in [1, 2, 1] {
    ///     exe.run_all(&[Tensor::zeros(DType::F32, &[n])?.view()])?;
    /// }
    /// assert_eq!(exe.stats().plan_misses, 2);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    pub fn plan_memory(mut self, bytes: usize) -> CompileOptions {
        self.plan_bytes = bytes;
        self
    }

    /// Chooses the executor of the graph.
    pub fn backend(mut self, backend: Backend) -> CompileOptions {
        self.backend = backend;
        self
    }

    /// Shows every stage of the compilation to a sink.
    ///
    /// Without a sink, every stage of every compilation is written to the folder that the environment variable
    /// `SHAPEFLOW_DUMP` names, if it is set.
    pub fn sink(mut self, sink: Arc<dyn StageSink>) -> CompileOptions {
        self.sink = Some(sink);
        self
    }

    /// Records the time of each step of the compilation, and of every kernel of every run.
    ///
    /// ```
    /// use shapeflow::{CompileOptions, DType, Graph, Tensor, Trace, shape};
    ///
    /// let g = Graph::new();
    /// let y = g.input("x", DType::F32, shape!["n"])?.exp()?;
    /// let trace = Trace::new();
    /// let exe = g.compile_with(&CompileOptions::new().trace(&trace), y)?;
    /// trace.clear();
    /// exe.run_all(&[Tensor::from([1.0f32]).view()])?;
    /// assert!(!trace.is_empty());
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    pub fn trace(mut self, trace: &Trace) -> CompileOptions {
        self.trace = Some(trace.clone());
        self
    }

    /// Returns the options for one call of `compile`. The stages of the compilation go to the sink of the options, or
    /// else to `default`.
    pub(crate) fn watched(&self, default: Option<Arc<dyn StageSink>>) -> CompileOptions {
        let watch = self.sink.clone().or(default).map(Watch::begin);
        CompileOptions { watch, ..self.clone() }
    }

    /// Returns the options for one call of `compile`, in which several nodes share what is compiled for them.
    pub(crate) fn sharing(self, compiled_once: &Arc<CompiledOnce>) -> CompileOptions {
        CompileOptions { compiled_once: Arc::downgrade(compiled_once), ..self }
    }

    /// Returns what `make` returned for this key in the same call of `compile`. If there is no such result yet, runs
    /// `make`.
    ///
    /// # Errors
    /// The errors of `make`.
    #[cfg(feature = "graphdef")]
    pub(crate) fn compiled_once(
        &self,
        key: usize,
        make: &mut dyn FnMut() -> Result<Arc<dyn Any + Send + Sync>>,
    ) -> Result<Arc<dyn Any + Send + Sync>> {
        let Some(compiled) = self.compiled_once.upgrade() else { return make() };
        if let Some(made) = lock(&compiled).get(&key) {
            return Ok(made.clone());
        }
        // `make` may compile other functions, so the lock is not held.
        let made = make()?;
        lock(&compiled).insert(key, made.clone());
        Ok(made)
    }

    /// Returns the options for a graph inside a node of a graph that is compiled with these options. Both graphs share
    /// `threads`. The sink gets no stages of the inner graph, because it has one file for each stage.
    pub(crate) fn inside(&self, threads: &Pool) -> CompileOptions {
        CompileOptions { threads: 1, pool: threads.shared(), sink: None, watch: None, ..self.clone() }
    }

    /// Shows a stage to the sink, if there is one.
    ///
    /// # Errors
    /// The snapshot cannot be made, or the sink panics.
    pub(crate) fn show(&self, stage: StageKind, make: &mut dyn FnMut() -> Result<Snapshot>) -> Result<()> {
        self.watch.as_ref().map_or(Ok(()), |watch| watch.show(stage, make))
    }

    /// Returns the trace that [`CompileOptions::trace`] set.
    pub(crate) fn kept_trace(&self) -> Option<&Trace> {
        self.trace.as_ref()
    }

    /// Emits kernels with these instructions. Compilation fails if the processor lacks them.
    pub fn isa(mut self, isa: Isa) -> CompileOptions {
        self.isa = Some(isa);
        self
    }

    /// Returns the instruction set that [`CompileOptions::isa`] set, or else the instruction set of the host.
    pub(crate) fn chosen_isa(&self) -> Result<Isa> {
        self.isa.map_or_else(Isa::of_host, Ok)
    }

    /// Checks the environment variable that names the default instruction set, if the default is in force.
    ///
    /// # Errors
    /// The variable names no instruction set.
    pub(crate) fn check_default_isa(&self) -> Result<()> {
        self.isa.map_or_else(Isa::check_variable, |_| Ok(()))
    }

    pub(crate) fn interprets(&self) -> bool {
        self.backend == Backend::Interpreter
    }

    pub(crate) fn plan_bytes(&self) -> usize {
        self.plan_bytes
    }

    pub(crate) fn memory_limit_bytes(&self) -> Option<usize> {
        self.memory_limit
    }

    pub(crate) fn make_pool(&self) -> Result<Pool> {
        if self.pool.is_some() {
            return Ok(Pool::new(self.pool.clone()));
        }
        #[cfg(feature = "threads")]
        if self.threads > 1 {
            return Ok(Pool::new(Some(rayon_pool(self.threads)?)));
        }
        Ok(Pool::new(None))
    }
}
