//! `StageSink`: receives every stage of a compilation.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::{Snapshot, StageKind};
use crate::error::{Error, ErrorKind, Phase, Result};

/// Receives every stage of a compilation; see [`CompileOptions::sink`](crate::CompileOptions::sink).
///
/// A run may compile further specializations of the graph. The sink receives their stages on the thread of the run.
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
    /// Returns whether the sink wants this stage. A stage that the sink does not want costs nothing.
    fn wants(&self, stage: StageKind) -> bool {
        let _ = stage;
        true
    }

    /// Receives a stage. `compile` is the number of the compilation: the compilations of this process that have a sink
    /// are numbered from 1.
    fn take(&self, compile: u64, snapshot: &Snapshot);
}

/// A sink, and the number of the compilation whose stages the sink receives.
#[derive(Clone, Debug)]
pub(crate) struct Watch {
    sink: Arc<dyn StageSink>,
    compile: u64,
}

/// The number of the next compilation.
static COMPILES: AtomicU64 = AtomicU64::new(1);

impl Watch {
    /// Begins a compilation with the next number.
    pub(crate) fn begin(sink: Arc<dyn StageSink>) -> Watch {
        Watch { sink, compile: COMPILES.fetch_add(1, Ordering::Relaxed) }
    }

    /// Passes a stage to the sink if the sink wants it. `make` creates the snapshot, and is called in this case only.
    ///
    /// # Errors
    /// `make` fails, or the sink panics.
    pub(crate) fn show(&self, stage: StageKind, make: &mut dyn FnMut() -> Result<Snapshot>) -> Result<()> {
        let panicked = |_| {
            let message = format!("a StageSink must not panic, got a panic at the stage {stage}");
            Error::new(ErrorKind::Custom, Phase::Compile, message)
        };
        if !catch_unwind(AssertUnwindSafe(|| self.sink.wants(stage))).map_err(panicked)? {
            return Ok(());
        }
        let snapshot = make()?;
        catch_unwind(AssertUnwindSafe(|| self.sink.take(self.compile, &snapshot))).map_err(panicked)
    }
}
