//! Measures the costs of building, compiling, and running a case, and of a run at a new batch size; once in a process
//! that compiled nothing before, and once in a process that compiled another graph before.

use std::process::{Command, Stdio};
use std::time::Instant;

use serde_json::{Value as Json, json};
use shapeflow::{DType, Graph, Result, Tensor, TensorShape, TensorView};

use super::case::Case;

/// The graphs that the process compiled before the measurement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Before {
    Nothing,
    /// A graph that shares nothing with the case.
    AnotherGraph,
}

impl Before {
    /// Parses the word that [`Before::word`] returns.
    pub fn of(word: &str) -> Before {
        if word == "nothing" { Before::Nothing } else { Before::AnotherGraph }
    }

    /// Returns the argument for the process that measures.
    fn word(self) -> &'static str {
        if self == Before::Nothing { "nothing" } else { "another graph" }
    }
}

/// The number of processes that measure a case. Each printed figure is the median of their figures.
const PROCESSES: usize = 5;

/// Measures each case in new processes, and prints the medians.
pub fn print(cases: &[&Case]) -> Result<()> {
    for case in cases {
        for before in [Before::Nothing, Before::AnotherGraph] {
            let runs: Option<Vec<Json>> = (0..PROCESSES).map(|_| measure_in_process(case, before)).collect();
            let Some(runs) = runs else {
                eprintln!("{}, compiled before: {}: a process failed", case.name, before.word());
                continue;
            };
            let Some(Json::Object(mut row)) = runs.first().cloned() else { continue };
            for (name, value) in row.iter_mut().filter(|(name, _)| name.ends_with("_us")) {
                let mut figures: Vec<f64> = runs.iter().filter_map(|run| run[name].as_f64()).collect();
                figures.sort_by(f64::total_cmp);
                *value = json!(figures.get(figures.len() / 2));
            }
            println!("{}", Json::Object(row));
        }
    }
    Ok(())
}

/// Measures a case in a new process. `None` if the process fails; its message is on standard error.
fn measure_in_process(case: &Case, before: Before) -> Option<Json> {
    let program = std::env::current_exe().ok()?;
    let mut command = Command::new(program);
    let done = command.args(["compile", case.name, before.word()]).stderr(Stdio::inherit()).output().ok()?;
    serde_json::from_slice(&done.stdout).ok()
}

/// Builds and compiles a case, and runs it at its batch size, then twice at half its batch size. Returns the times.
pub fn measure(case: &Case, before: Before) -> Result<Json> {
    let inputs = (case.inputs)()?;
    let fed = &inputs[..case.shapes.len()];
    let smaller = halved(case, fed)?;
    if before == Before::AnotherGraph {
        compile_another_graph()?;
    }
    let graph = Graph::new();
    let (outputs, build) = timed(|| case.build(&graph, &inputs))?;
    let (exe, compile) = timed(|| graph.compile(&outputs))?;
    let (_, first) = timed(|| exe.run_all(&views(fed)))?;
    let compiles = exe.stats().compiles.len();
    let (_, new) = timed(|| exe.run_all(&views(&smaller)))?;
    let (_, again) = timed(|| exe.run_all(&views(&smaller)))?;
    let stats = exe.stats();
    Ok(json!({
        "case": case.name,
        "compiled before": before.word(),
        "build_us": build,
        "compile_us": compile,
        "first_run_us": first,
        "new_size_us": new,
        "same_size_again_us": again,
        "compiles": compiles,
        "compiles_for_the_new_size": stats.compiles.len() - compiles,
        "kernels": stats.kernels,
        "code_bytes": stats.code_bytes,
    }))
}

/// Returns the result of `work` and its time in microseconds.
fn timed<T>(work: impl FnOnce() -> Result<T>) -> Result<(T, f64)> {
    let start = Instant::now();
    let result = work()?;
    Ok((result, start.elapsed().as_secs_f64() * 1e6))
}

fn views(tensors: &[Tensor]) -> Vec<TensorView<'_>> {
    tensors.iter().map(Tensor::view).collect()
}

/// Compiles and runs a graph that is not the graph of any case.
fn compile_another_graph() -> Result<()> {
    let g = Graph::new();
    let x = g.input("another", DType::F64, "[k, 3]".parse::<TensorShape>()?)?;
    let y = (x.floor()? - x).abs()?.reduce_max(-1)?;
    let exe = g.compile(y)?;
    exe.run_all(&[TensorView::new(&[2, 3], &[0.5, 1.0, -2.5, 3.0, 0.0, 1.5])?])?;
    Ok(())
}

/// Returns the inputs with half the batch size. The batch size is the first dim of the first input, if this dim is
/// symbolic. Only inputs whose first dim is the same symbol are cut; these must be f32.
fn halved(case: &Case, inputs: &[Tensor]) -> Result<Vec<Tensor>> {
    let shapes: Vec<TensorShape> = case.shapes.iter().map(|shape| shape.parse()).collect::<Result<_, _>>()?;
    let first = |shape: &TensorShape| shape.dims().and_then(|dims| dims.first()).cloned();
    let batch = shapes.first().and_then(first).filter(|dim| dim.as_known().is_none());
    let half = |(input, shape): (&Tensor, &TensorShape)| {
        if batch.is_none() || first(shape) != batch {
            return Ok(input.clone());
        }
        let mut sizes = input.sizes().to_vec();
        sizes[0] /= 2;
        let count = sizes.iter().product();
        Tensor::from_slice(&sizes, &input.as_slice::<f32>()?[..count])
    };
    inputs.iter().zip(&shapes).map(half).collect()
}
