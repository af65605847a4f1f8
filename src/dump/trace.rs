//! `Trace`: records the times of building, compiling and running, each with its thread.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::ThreadId;
use std::time::Instant;

use shapeflow_shape_fns::counted;

/// Records times while graphs are compiled and run; see [`CompileOptions::trace`](crate::CompileOptions::trace).
///
/// Clones share their events. Without a trace, a run pays one branch for each kernel. A trace keeps at most a million
/// events and drops any later event.
///
/// ```
/// use shapeflow::{CompileOptions, DType, Graph, TensorView, Trace, shape};
///
/// let trace = Trace::new();
/// let g = Graph::new();
/// let y = trace.time("build", || g.input("x", DType::F32, shape!["n"])?.relu())?;
/// let exe = g.compile_with(&CompileOptions::new().trace(&trace), y)?;
/// let [_] = exe.run(&[TensorView::new(&[2], &[1.0f32, -1.0])?])?;
/// assert!(trace.len() >= 3);
/// # Ok::<(), shapeflow::Error>(())
/// ```
#[derive(Clone)]
pub struct Trace(Arc<TraceRecorder>);

/// The events of a trace, and the time from which their times count.
struct TraceRecorder {
    start: Instant,
    record: Mutex<TraceEvents>,
}

/// The events recorded so far.
#[derive(Default)]
pub(crate) struct TraceEvents {
    pub events: Vec<Event>,
    /// The threads, each with its name and the index of its last event, in the order of their first events.
    pub threads: Vec<(ThreadId, String, usize)>,
    /// The number of events that were dropped because the trace is full.
    pub dropped: u64,
}

/// A time span on one thread.
#[derive(Clone, Debug)]
pub(crate) struct Event {
    pub name: Arc<str>,
    pub category: &'static str,
    /// Index in [`TraceEvents::threads`].
    pub thread: usize,
    /// Nanoseconds from the start of the trace to the begin of the span.
    pub begin: u64,
    /// Nanoseconds from the start of the trace to the end of the span.
    pub end: u64,
    /// The number of consecutive parts of a kernel that are merged into this event.
    pub parts: u32,
    /// The kernel, if the span is a run of a kernel or a part of one.
    pub kernel: Option<KernelKey>,
}

/// The identity of a kernel: the number of its compiled program in this process, and its step.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct KernelKey {
    pub program: u64,
    pub step: usize,
}

/// Maximum number of events.
const EVENTS: usize = 1_000_000;

/// Maximum pause in nanoseconds between two parts of a kernel that are merged into one event.
const JOINED_NANOS: u64 = 20_000;

impl Default for Trace {
    fn default() -> Trace {
        Trace::new()
    }
}

impl fmt::Debug for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Trace({})", counted(self.len(), "event"))
    }
}

impl Trace {
    /// Creates an empty trace. Times count from now.
    pub fn new() -> Trace {
        Trace(Arc::new(TraceRecorder { start: Instant::now(), record: Mutex::default() }))
    }

    /// Returns the number of events.
    pub fn len(&self) -> usize {
        self.record().events.len()
    }

    /// Returns whether the trace has no events.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Removes all events. The first run is slower than later runs. Call this method after the first run to keep only
    /// the events of later runs.
    pub fn clear(&self) {
        *self.record() = TraceEvents::default();
    }

    /// Runs `f` and records its time under `name`.
    pub fn time<R>(&self, name: &str, f: impl FnOnce() -> R) -> R {
        let _span = self.span("program", name);
        f()
    }

    /// Begins a span, which records the time from now until it is dropped.
    pub(crate) fn span(&self, category: &'static str, name: impl Into<Arc<str>>) -> Span<'_> {
        Span { trace: self, name: name.into(), category, kernel: None, begin: self.now() }
    }

    pub(crate) fn record(&self) -> MutexGuard<'_, TraceEvents> {
        self.0.record.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> u64 {
        u64::try_from(self.0.start.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }
}

/// Begins a span if there is a trace.
pub(crate) fn span<'a>(trace: Option<&'a Trace>, category: &'static str, name: &str) -> Option<Span<'a>> {
    trace.map(|trace| trace.span(category, name))
}

/// A kernel with the trace that records its time.
#[derive(Clone, Copy)]
pub(crate) struct Traced<'a> {
    pub trace: &'a Trace,
    pub name: &'a Arc<str>,
    pub category: &'static str,
    pub key: KernelKey,
}

impl<'a> Traced<'a> {
    /// Begins a span of the kernel, which records the time from now until it is dropped.
    pub(crate) fn begin(self) -> Span<'a> {
        let mut span = self.trace.span(self.category, self.name.clone());
        span.kernel = Some(self.key);
        span
    }

    /// Returns the same kernel with the category of its parts, for the spans of several threads.
    pub(crate) fn part(self) -> Traced<'a> {
        Traced { category: PART, ..self }
    }
}

/// A time measurement that ends when the span is dropped.
pub(crate) struct Span<'a> {
    trace: &'a Trace,
    name: Arc<str>,
    category: &'static str,
    kernel: Option<KernelKey>,
    begin: u64,
}

impl Drop for Span<'_> {
    fn drop(&mut self) {
        let end = self.trace.now();
        let thread = std::thread::current();
        let mut guard = self.trace.record();
        let record = &mut *guard;
        let number = match record.threads.iter().position(|(id, _, _)| *id == thread.id()) {
            Some(number) => number,
            None => {
                let number = record.threads.len();
                let name = thread.name().map_or_else(|| format!("thread {number}"), str::to_string);
                record.threads.push((thread.id(), name, usize::MAX));
                number
            }
        };
        let last = &mut record.threads[number].2;
        if let Some(event) = record.events.get_mut(*last)
            && self.kernel.is_some()
            && event.kernel == self.kernel
            && event.category == self.category
            && self.begin.saturating_sub(event.end) <= JOINED_NANOS
            && self.category == PART
        {
            event.end = end;
            event.parts += 1;
            return;
        }
        if record.events.len() >= EVENTS {
            record.dropped += 1;
            return;
        }
        *last = record.events.len();
        record.events.push(Event {
            name: self.name.clone(),
            category: self.category,
            thread: number,
            begin: self.begin,
            end,
            parts: 1,
            kernel: self.kernel,
        });
    }
}

/// The category of the part of a kernel that one of several threads runs.
const PART: &str = "part";

/// The category of a whole step of a compiled program.
pub(crate) const STEP: &str = "kernel";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn consecutive_parts_on_a_thread_are_merged_and_steps_are_not() {
        let trace = Trace::new();
        let name: Arc<str> = "k".into();
        let traced = |category| Traced {
            trace: &trace,
            name: &name,
            category,
            key: KernelKey { program: 1, step: 0 },
        };
        for _ in 0..3 {
            drop(traced(STEP).begin());
        }
        for _ in 0..3 {
            drop(traced(PART).begin());
        }
        std::thread::scope(|scope| {
            scope.spawn(|| drop(traced(PART).begin()));
        });
        let record = trace.record();
        // A slow machine may pause between two parts for longer than `JOINED_NANOS`.
        assert!(record.events.len() >= 5);
        assert_eq!(record.events.iter().map(|event| event.parts).sum::<u32>(), 7);
        assert_eq!(record.threads.len(), 2);
        assert!(record.events.iter().all(|event| event.begin <= event.end));
    }
}
