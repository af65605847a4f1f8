//! `Trace`: when a program built, compiled and ran what, on which thread.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::ThreadId;
use std::time::Instant;

/// Records times while graphs are compiled and run; see [`CompileOptions::trace`](crate::CompileOptions::trace).
///
/// Clones share what is recorded. Work without a trace costs one branch a kernel. At most a million events are
/// kept; what comes later is dropped.
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
pub struct Trace(Arc<Recorder>);

struct Recorder {
    start: Instant,
    record: Mutex<Record>,
}

#[derive(Default)]
pub(crate) struct Record {
    pub events: Vec<Event>,
    /// In the order of their first events, each with its last event.
    pub threads: Vec<(ThreadId, String, usize)>,
    pub dropped: u64,
}

/// A stretch of time on one thread.
#[derive(Clone, Debug)]
pub(crate) struct Event {
    pub name: Arc<str>,
    pub category: &'static str,
    pub thread: usize,
    /// Nanoseconds since the trace began.
    pub begin: u64,
    pub end: u64,
    /// How many parts of a kernel the thread ran one after the other.
    pub parts: u32,
    pub kernel: Option<KernelKey>,
}

/// A kernel of a compiled program: the number of the program, which is unique in this process, and the step.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct KernelKey {
    pub program: u64,
    pub step: usize,
}

/// Events kept at most.
const EVENTS: usize = 1_000_000;

/// Parts of a kernel on one thread that are no further apart than this are one event.
const JOINED_NANOS: u64 = 20_000;

impl Default for Trace {
    fn default() -> Trace {
        Trace::new()
    }
}

impl fmt::Debug for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Trace({} events)", self.len())
    }
}

impl Trace {
    /// An empty trace that begins now.
    pub fn new() -> Trace {
        Trace(Arc::new(Recorder { start: Instant::now(), record: Mutex::default() }))
    }

    /// How many events have been recorded.
    pub fn len(&self) -> usize {
        self.record().events.len()
    }

    /// Whether nothing has been recorded.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Runs `f` and records its time under this name.
    pub fn time<R>(&self, name: &str, f: impl FnOnce() -> R) -> R {
        let _span = self.span("program", name);
        f()
    }

    /// Records from now until the span is dropped.
    pub(crate) fn span(&self, category: &'static str, name: impl Into<Arc<str>>) -> Span<'_> {
        Span { trace: self, name: name.into(), category, kernel: None, begin: self.now() }
    }

    pub(crate) fn record(&self) -> MutexGuard<'_, Record> {
        self.0.record.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> u64 {
        u64::try_from(self.0.start.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }
}

/// Times a scope if a trace is kept.
pub(crate) fn span<'a>(trace: Option<&'a Trace>, category: &'static str, name: &str) -> Option<Span<'a>> {
    trace.map(|trace| trace.span(category, name))
}

/// A kernel whose time is recorded.
#[derive(Clone, Copy)]
pub(crate) struct Traced<'a> {
    pub trace: &'a Trace,
    pub name: &'a Arc<str>,
    pub category: &'static str,
    pub key: KernelKey,
}

impl<'a> Traced<'a> {
    /// Records from now until the span is dropped.
    pub(crate) fn begin(self) -> Span<'a> {
        let mut span = self.trace.span(self.category, self.name.clone());
        span.kernel = Some(self.key);
        span
    }

    /// A part of it, on one of several threads.
    pub(crate) fn part(self) -> Traced<'a> {
        Traced { category: PART, ..self }
    }
}

/// Time that is being recorded.
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

/// The category of a kernel's part on one of several threads.
const PART: &str = "part";

/// The category of a whole step.
pub(crate) const STEP: &str = "kernel";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_on_one_thread_are_one_event_and_steps_are_not() {
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
        // A slow machine may leave a longer pause between parts.
        assert!(record.events.len() >= 5);
        assert_eq!(record.events.iter().map(|event| event.parts).sum::<u32>(), 7);
        assert_eq!(record.threads.len(), 2);
        assert!(record.events.iter().all(|event| event.begin <= event.end));
    }
}
