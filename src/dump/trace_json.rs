//! Writes traces in the Trace Event format, which chrome://tracing and Perfetto read.

use rustc_hash::FxHashMap;
use serde_json::{Value, json};

use super::Trace;
use super::trace::{KernelKey, STEP};

/// The times of a kernel's runs, in microseconds.
#[derive(Clone, Copy, Default)]
pub(super) struct KernelTime {
    pub runs: u64,
    /// The sum over all runs.
    pub total_us: f64,
    /// The time of the fastest run.
    pub least_us: f64,
}

impl Trace {
    /// Returns the events so far as a JSON document in the Trace Event format.
    ///
    /// The document has complete events (`"ph": "X"`) in microseconds, on one track for each thread. There is an event
    /// for each call of [`Trace::time`], each phase of a compilation, each run of a kernel, and each part of a kernel
    /// that one of several threads runs. Parts that follow each other closely on one thread are one event.
    pub fn to_json(&self) -> String {
        let record = self.record();
        let mut events: Vec<Value> = vec![json!({
            "ph": "M", "name": "process_name", "pid": 1, "tid": 0, "args": {"name": "shapeflow"},
        })];
        for (number, (_, name, _)) in record.threads.iter().enumerate() {
            events.push(json!({
                "ph": "M", "name": "thread_name", "pid": 1, "tid": number, "args": {"name": name},
            }));
        }
        let micros = |nanos: u64| nanos as f64 / 1000.0;
        for event in &record.events {
            let mut args = json!({});
            if let (Some(key), Some(object)) = (event.kernel, args.as_object_mut()) {
                object.insert("step".to_string(), key.step.into());
                object.insert("parts".to_string(), event.parts.into());
            }
            events.push(json!({
                "ph": "X",
                "name": &*event.name,
                "cat": event.category,
                "ts": micros(event.begin),
                "dur": micros(event.end.saturating_sub(event.begin)),
                "pid": 1,
                "tid": event.thread,
                "args": args,
            }));
        }
        let mut document = json!({"displayTimeUnit": "ns", "traceEvents": events});
        if record.dropped > 0
            && let Some(object) = document.as_object_mut()
        {
            object.insert("otherData".to_string(), json!({"dropped events": record.dropped}));
        }
        document.to_string()
    }

    /// Sums up the times of every kernel.
    pub(super) fn kernel_times(&self) -> FxHashMap<KernelKey, KernelTime> {
        let mut times: FxHashMap<KernelKey, KernelTime> = FxHashMap::default();
        for event in self.record().events.iter().filter(|event| event.category == STEP) {
            let Some(key) = event.kernel else { continue };
            let micros = event.end.saturating_sub(event.begin) as f64 / 1000.0;
            let time =
                times.entry(key).or_insert(KernelTime { least_us: f64::INFINITY, ..KernelTime::default() });
            time.runs += 1;
            time.total_us += micros;
            time.least_us = time.least_us.min(micros);
        }
        times
    }
}

#[cfg(test)]
mod tests {
    use crate::{CompileOptions, DType, Graph, Result, TensorView, Trace, shape};

    #[test]
    fn a_trace_has_every_phase_and_kernel() -> Result<()> {
        let trace = Trace::new();
        let g = Graph::new();
        let y = trace.time("build", || g.input("x", DType::F32, shape!["n"])?.relu())?;
        let exe = g.compile_with(&CompileOptions::new().trace(&trace), y)?;
        let x = [1.0f32; 64];
        for _ in 0..2 {
            exe.run::<1>(&[TensorView::new(&[64], &x)?])?;
        }
        let json: serde_json::Value = serde_json::from_str(&trace.to_json()).map_err(crate::Error::wrap)?;
        let events = json["traceEvents"].as_array().cloned().unwrap_or_default();
        let count =
            |name: &str| events.iter().filter(|event| event["ph"] == "X" && event["name"] == name).count();
        for (name, times) in [("build", 1), ("lower", 1), ("machine code", 1), ("relu", 2)] {
            assert_eq!(count(name), times, "{name} in {json}");
        }
        assert!(count("passes") >= 1);
        Ok(())
    }
}
