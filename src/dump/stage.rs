//! `StageKind` and `StageSink`: the stages a graph goes through, and who watches them.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::Snapshot;
use crate::error::{Error, ErrorKind, Phase, Result};

/// A stage of the road from a graph to machine code.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub enum StageKind {
    /// The graph as it was built.
    Graph,
    /// What the outputs need of it, simplified.
    Optimized,
    /// Its fused kernels as loops, its products and host nodes.
    Kernels,
    /// The kernels in Cranelift's intermediate language.
    Clif,
    /// The kernels as instructions of the processor; needs the feature `disasm`.
    Asm,
}

impl StageKind {
    /// All stages in their order.
    pub const ALL: [StageKind; 5] =
        [StageKind::Graph, StageKind::Optimized, StageKind::Kernels, StageKind::Clif, StageKind::Asm];

    /// `graph`, `optimized`, `kernels`, `clif`, `asm`.
    pub const fn name(self) -> &'static str {
        match self {
            StageKind::Graph => "graph",
            StageKind::Optimized => "optimized",
            StageKind::Kernels => "kernels",
            StageKind::Clif => "clif",
            StageKind::Asm => "asm",
        }
    }
}

impl fmt::Display for StageKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for StageKind {
    type Err = Error;

    fn from_str(text: &str) -> Result<StageKind> {
        StageKind::ALL.into_iter().find(|stage| stage.name() == text).ok_or_else(|| {
            let message = format!("a stage is graph, optimized, kernels, clif or asm, got {text:?}");
            Error::new(ErrorKind::Parse, Phase::Build, message)
        })
    }
}

/// Who is shown every stage of a compilation; see [`CompileOptions::sink`](crate::CompileOptions::sink).
///
/// A graph that is compiled further when it runs shows those stages then, on the thread that runs it.
///
/// ```
/// use std::sync::{Arc, Mutex};
/// use shapeflow::{CompileOptions, DType, Graph, Snapshot, StageKind, StageSink, shape};
///
/// #[derive(Debug, Default)]
/// struct Seen(Mutex<Vec<String>>);
///
/// impl StageSink for Seen {
///     fn wants(&self, stage: StageKind) -> bool {
///         stage <= StageKind::Kernels
///     }
///     fn take(&self, _compile: u64, snapshot: &Snapshot) {
///         self.0.lock().unwrap().push(snapshot.stage().to_string());
///     }
/// }
///
/// let seen = Arc::new(Seen::default());
/// let g = Graph::new();
/// let y = g.input("x", DType::F32, shape!["n"])?.relu()?;
/// g.compile_with(&CompileOptions::new().sink(seen.clone()), y)?;
/// assert_eq!(*seen.0.lock().unwrap(), ["graph", "optimized", "kernels"]);
/// # Ok::<(), shapeflow::Error>(())
/// ```
pub trait StageSink: Send + Sync + fmt::Debug {
    /// Whether this stage is to be shown: what is not wanted costs nothing.
    fn wants(&self, stage: StageKind) -> bool {
        let _ = stage;
        true
    }

    /// Takes a stage. `compile` numbers the calls of `compile` in this process, from 1.
    fn take(&self, compile: u64, snapshot: &Snapshot);
}

/// A sink with the compilation it watches.
#[derive(Clone, Debug)]
pub(crate) struct Watch {
    sink: Arc<dyn StageSink>,
    compile: u64,
}

static COMPILES: AtomicU64 = AtomicU64::new(1);

impl Watch {
    /// Watches one more compilation.
    pub(crate) fn begin(sink: Arc<dyn StageSink>) -> Watch {
        Watch { sink, compile: COMPILES.fetch_add(1, Ordering::Relaxed) }
    }

    /// Shows a stage to the sink if it wants it.
    ///
    /// # Errors
    /// The snapshot cannot be made, or the sink panics.
    pub(crate) fn show(&self, stage: StageKind, make: &mut dyn FnMut() -> Result<Snapshot>) -> Result<()> {
        let panicked = |_| {
            Error::new(ErrorKind::Custom, Phase::Compile, format!("the sink of stages panicked at {stage}"))
        };
        if !catch_unwind(AssertUnwindSafe(|| self.sink.wants(stage))).map_err(panicked)? {
            return Ok(());
        }
        let snapshot = make()?;
        catch_unwind(AssertUnwindSafe(|| self.sink.take(self.compile, &snapshot))).map_err(panicked)
    }
}
