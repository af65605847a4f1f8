//! [`CompiledCase`]: a compiled case that can be timed.

use std::time::{Duration, Instant};

use shapeflow::{Executable, Result, Tensor, TensorView, TensorViewMut};

use super::case::Case;
use super::row::How;

/// A compiled case, with its inputs and memory for its results.
pub struct CompiledCase {
    exe: Executable,
    inputs: Vec<Tensor>,
    /// The number of inputs that are fed. The inputs after them are constants of the graph.
    fed: usize,
    outputs: Vec<Tensor>,
}

impl CompiledCase {
    /// Compiles a case and runs it once.
    pub fn new(case: &Case, inputs: Vec<Tensor>) -> Result<CompiledCase> {
        CompiledCase::of(case.compile(&inputs)?, inputs, case.shapes.len())
    }

    /// Returns the case of an executable that takes the first `fed` inputs. Runs the executable once.
    pub fn of(exe: Executable, inputs: Vec<Tensor>, fed: usize) -> Result<CompiledCase> {
        let outputs = exe.run_all(&views(&inputs[..fed]))?;
        Ok(CompiledCase { exe, inputs, fed, outputs })
    }

    /// Returns the inputs that are fed, followed by the constants of the graph.
    pub fn inputs(&self) -> &[Tensor] {
        &self.inputs
    }

    /// Returns the results of the first run.
    pub fn outputs(&self) -> &[Tensor] {
        &self.outputs
    }

    /// Calls `user` with a function that runs the case once, in the way that `how` measures.
    pub fn with_call<R>(
        &mut self,
        how: How,
        user: impl FnOnce(&mut dyn FnMut() -> Result<()>) -> Result<R>,
    ) -> Result<R> {
        let inputs = views(&self.inputs[..self.fed]);
        let mut runner = self.exe.runner();
        match how {
            How::RunInto => {
                let mut outputs = views_mut(&mut self.outputs)?;
                user(&mut || runner.run_into(&inputs, &mut outputs))
            }
            How::Bind => {
                let mut bound = self.exe.bind(&inputs)?;
                user(&mut || bound.run())
            }
            How::Run | How::First | How::Memory => user(&mut || self.exe.run_all(&inputs).map(drop)),
        }
    }

    /// Returns samples of the microseconds of a call, taken until `time` has passed. A sample is the mean over several
    /// calls, which together take at least 200 µs.
    pub fn samples(&mut self, how: How, time: Duration) -> Result<Vec<f64>> {
        const MIN_SAMPLES: usize = 3;
        self.with_call(how, |call| {
            call()?;
            let mut count = 1u32;
            loop {
                let taken = timed(count, call)?;
                if taken >= Duration::from_micros(200) || count >= 1 << 20 {
                    break;
                }
                count *= 2;
            }
            let (start, mut samples) = (Instant::now(), Vec::new());
            while samples.len() < MIN_SAMPLES || start.elapsed() < time {
                samples.push(timed(count, call)?.as_secs_f64() * 1e6 / f64::from(count));
            }
            Ok(samples)
        })
    }
}

/// Returns the time of `count` calls.
fn timed(count: u32, call: &mut dyn FnMut() -> Result<()>) -> Result<Duration> {
    let start = Instant::now();
    for _ in 0..count {
        call()?;
    }
    Ok(start.elapsed())
}

/// Returns the microseconds to build the graph of a case, compile it, and run it.
pub fn first_result(case: &Case, inputs: &[Tensor]) -> Result<f64> {
    let start = Instant::now();
    let exe = case.compile(inputs)?;
    let outputs = exe.run_all(&views(&inputs[..case.shapes.len()]))?;
    let time = start.elapsed();
    drop(outputs);
    Ok(time.as_secs_f64() * 1e6)
}

/// Calls a case `calls` times after the first run. Returns the number of elements of its results.
pub fn call_repeatedly(case: &Case, calls: usize) -> Result<usize> {
    let mut compiled = CompiledCase::new(case, (case.inputs)()?)?;
    compiled.with_call(How::RunInto, |call| (0..calls).try_for_each(|_| call()))?;
    Ok(compiled.outputs.iter().map(Tensor::len).sum())
}

/// Returns the peak memory in MiB while a process makes the inputs of a case, compiles it and runs it once, minus the
/// memory that the process held before.
pub fn memory(case: &Case) -> Result<f64> {
    let before = resident("VmRSS:");
    let inputs = (case.inputs)()?;
    let exe = case.compile(&inputs)?;
    let outputs = exe.run_all(&views(&inputs[..case.shapes.len()]))?;
    let peak = resident("VmHWM:");
    drop(outputs);
    Ok(peak - before)
}

/// Returns the memory of this process in MiB that Linux reports under `name`.
fn resident(name: &str) -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let kib: Option<f64> =
        line.and_then(|line| line.split_whitespace().next()).and_then(|word| word.parse().ok());
    kib.unwrap_or(f64::NAN) / 1024.0
}

fn views(tensors: &[Tensor]) -> Vec<TensorView<'_>> {
    tensors.iter().map(Tensor::view).collect()
}

fn views_mut(tensors: &mut [Tensor]) -> Result<Vec<TensorViewMut<'_>>> {
    tensors.iter_mut().map(Tensor::view_mut).collect()
}
