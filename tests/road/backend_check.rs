//! A random graph on machine code and on the interpreter, held against each other.

use std::panic::{AssertUnwindSafe, catch_unwind};

use shapeflow::{
    Backend, CompileOptions, DType, Error, ErrorKind, Executable, Graph, Result, Tensor, TensorView,
    TensorViewMut, Value,
};

use crate::graph_recipe::{Content, Recipe};
use crate::tensor_compare::{Bound, Number, difference, numbers};
use crate::value_facts::Facts;

/// What a recipe came to.
#[derive(Default)]
pub struct Outcome {
    pub runs: usize,
    /// Runs that both refused.
    pub refused: usize,
    /// Outputs that were not compared, since nothing bounds the order of their folds.
    pub skipped: usize,
    pub compared: usize,
}

/// Whole numbers stay exact in sums below this.
const EXACT: f64 = 4096.0;

/// Folds of larger numbers are not compared.
const LARGE: f64 = 1e5;

pub fn message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_string())).unwrap_or_default()
}

pub fn compile<'g>(graph: &'g Graph, options: &CompileOptions, outputs: &[Value<'g>]) -> Result<Executable> {
    catch_unwind(AssertUnwindSafe(|| graph.compile_with(options, outputs)))
        .unwrap_or_else(|panic| Err(Error::msg(format!("PANIC: {}", message(&*panic)))))
}

fn run(exe: &Executable, views: &[TensorView<'_>]) -> Result<Vec<Tensor>> {
    catch_unwind(AssertUnwindSafe(|| exe.run_all(views)))
        .unwrap_or_else(|panic| Err(Error::msg(format!("PANIC: {}", message(&*panic)))))
}

fn largest(tensors: &[Tensor], which: impl Fn(usize) -> bool) -> f64 {
    let mut most = 0.0f64;
    for (at, tensor) in tensors.iter().enumerate() {
        if which(at) && tensor.dtype().is_float() {
            for number in numbers(tensor) {
                let size = match number {
                    Number::Float(x) if x.is_finite() => x.abs(),
                    Number::Float(_) => f64::INFINITY,
                    Number::Int(_) => 0.0,
                };
                most = most.max(size);
            }
        }
    }
    most
}

/// Holds both backends against each other; the error says what differs.
pub fn check(recipe: &Recipe, facts: Option<&[Facts]>) -> std::result::Result<Outcome, String> {
    let mut outcome = Outcome::default();
    let graph = Graph::new();
    let values = match recipe.build(&graph) {
        Ok(values) => values,
        // Unknown ranks and fewer steps may make a graph that is refused.
        Err(_) => return Ok(outcome),
    };
    let wanted: Vec<Value<'_>> = recipe.outputs.iter().map(|at| values[*at]).collect();
    let oracle = CompileOptions::new().backend(Backend::Interpreter);
    let oracle = match compile(&graph, &oracle, &values) {
        Ok(oracle) => oracle,
        // The name of a size that no input that is left has.
        Err(error) if is_dangling(&error) => return Ok(outcome),
        Err(error) => return Err(format!("interpreter: {error}")),
    };
    let jit =
        compile(&graph, &CompileOptions::new(), &wanted).map_err(|error| format!("compile: {error}"))?;
    let compiles = jit.stats().compiles.len();
    let facts: Vec<Facts> = facts.map_or_else(|| derive(recipe), <[Facts]>::to_vec);
    let mut runner = jit.runner();
    for number in 0..recipe.runs.len() {
        outcome.runs += 1;
        let feeds: Vec<Tensor> = recipe.fed().map(|source| recipe.tensor(source, number)).collect();
        let views: Vec<TensorView<'_>> = feeds.iter().map(Tensor::view).collect();
        let expected = run(&oracle, &views);
        let got = run(&jit, &views);
        let (expected, got) = match (expected, got) {
            (Ok(expected), Ok(got)) => (expected, got),
            (Err(a), _) if a.message().contains("PANIC") => {
                return Err(format!("run {number}: interpreter: {a}"));
            }
            (_, Err(b)) if b.message().contains("PANIC") => return Err(format!("run {number}: {b}")),
            // An element that fails may be one that nothing demands, and so may something to scatter into nothing.
            (Err(a), Ok(_))
                if matches!(a.kind(), ErrorKind::Index | ErrorKind::DivideByZero)
                    || ["indices must be in [0, ", "must be empty if the result is"]
                        .iter()
                        .any(|text| a.message().contains(text)) =>
            {
                outcome.refused += 1;
                continue;
            }
            (Err(_), Err(_)) => {
                outcome.refused += 1;
                continue;
            }
            // So is a check of a value of which only the shape is demanded.
            (Err(a), Ok(_)) if checks(recipe) && a.kind() == ErrorKind::Guard => {
                outcome.refused += 1;
                continue;
            }
            // So is what is required of a size that data decide, where nothing demands these data.
            (Err(a), Ok(_))
                if matches!(a.kind(), ErrorKind::Guard | ErrorKind::Shape) && decides_sizes(recipe) =>
            {
                outcome.refused += 1;
                continue;
            }
            (Err(a), Ok(_)) => return Err(format!("run {number}: only the interpreter refuses: {a}")),
            (Ok(_), Err(b)) => return Err(format!("run {number}: only machine code refuses: {b}")),
        };
        let whole_is_exact = largest(&expected, |at| facts[at].whole) <= EXACT;
        let loose = |at: usize| facts[at].loose;
        let mut feeding = vec![false; values.len()];
        let mut first = recipe.sources.len();
        for step in &recipe.steps {
            for output in 0..step.outputs {
                if loose(first + output) {
                    feeding[first + output] = true;
                    step.data.iter().for_each(|operand| feeding[*operand] = true);
                }
            }
            first += step.outputs;
        }
        let scale = match products_may_overflow(recipe, &expected) {
            true => f64::INFINITY,
            false => largest(&expected, |at| feeding[at]),
        };
        for (got, at) in got.iter().zip(&recipe.outputs) {
            let expected = &expected[*at];
            let bound = match (facts[*at].folded, loose(*at)) {
                (false, _) => None,
                // The order of a sum shows in the sign of zero.
                (true, false) if whole_is_exact => Some(Bound { relative: 0.0, absolute: 0.0 }),
                (true, true) if scale <= LARGE => {
                    let least = if any_f32(recipe) { 2e-5 } else { 1e-12 };
                    let part = if expected.dtype() == DType::F64 { least } else { 2e-5 };
                    Some(Bound { relative: part, absolute: part * scale.max(1.0) })
                }
                _ => {
                    outcome.skipped += 1;
                    if got.sizes() != expected.sizes() || got.dtype() != expected.dtype() {
                        return Err(format!("run {number}: %{at}: another shape"));
                    }
                    continue;
                }
            };
            outcome.compared += 1;
            if let Some(what) = difference(got, expected, bound) {
                return Err(format!("run {number}: %{at}: {what}"));
            }
        }
        again(recipe, &mut runner, &views, &got, number)?;
    }
    let after = jit.stats().compiles.len();
    let pinned = recipe
        .sources
        .iter()
        .any(|source| source.unranked || matches!(source.content, Content::Given(_) | Content::Sizes(_)));
    if after != compiles && !pinned && !recipe.steps.iter().any(|step| is_staged(step.call.op)) {
        return Err(format!("a size was compiled for: {:?}", jit.stats().compiles));
    }
    Ok(outcome)
}

/// Whether a product of floats may be infinite on the way, in some order of its factors: times 0 it is then no number.
fn products_may_overflow(recipe: &Recipe, values: &[Tensor]) -> bool {
    let products = recipe.steps.iter().filter(|step| step.call.op == "reduce_prod");
    products.filter_map(|step| values.get(step.data[0])).any(|factors| {
        let most = if factors.dtype() == DType::F64 { 700.0 } else { 80.0 };
        let growth = numbers(factors).into_iter().map(|number| match number {
            Number::Float(x) => x.abs().max(1.0).ln(),
            Number::Int(_) => 0.0,
        });
        growth.sum::<f64>() > most
    })
}

/// Whether data decide the size of a result.
fn decides_sizes(recipe: &Recipe) -> bool {
    let ops = [
        "unique",
        "unique_with_counts",
        "boolean_mask",
        "where_indices",
        "dynamic_stitch",
        "dynamic_partition",
    ];
    recipe.steps.iter().any(|step| ops.contains(&step.call.op) || step.call.op.starts_with("segment_"))
}

/// Whether an op's parameters may come from data, so that it waits for a run.
fn is_staged(op: &str) -> bool {
    op == "squeeze"
}

fn any_f32(recipe: &Recipe) -> bool {
    recipe.sources.iter().any(|source| source.dtype != DType::F64)
}

/// The other ways to run give the same bits.
fn again(
    recipe: &Recipe,
    runner: &mut shapeflow::Runner,
    views: &[TensorView<'_>],
    got: &[Tensor],
    number: usize,
) -> std::result::Result<(), String> {
    if recipe.steps.iter().any(|step| matches!(step.call.op, "unique" | "where_indices")) && number > 0 {
        return Ok(());
    }
    let mut results: Vec<Tensor> =
        got.iter().map(|tensor| Tensor::zeros(tensor.dtype(), tensor.sizes()).unwrap()).collect();
    let mut memory: Vec<TensorViewMut<'_>> =
        results.iter_mut().map(|tensor| tensor.view_mut().unwrap()).collect();
    runner.run_into(views, &mut memory).map_err(|error| format!("run {number}: run_into: {error}"))?;
    drop(memory);
    for (a, b) in results.iter().zip(got) {
        if let Some(what) = difference(a, b, None) {
            return Err(format!("run {number}: run_into: {what}"));
        }
    }
    if number.is_multiple_of(2) {
        let mut memory: Vec<TensorViewMut<'_>> =
            results.iter_mut().map(|tensor| tensor.view_mut().unwrap()).collect();
        // What cannot be bound says so.
        let Ok(mut bound) = runner.bind(views, &mut memory) else { return Ok(()) };
        for _ in 0..2 {
            bound.run().map_err(|error| format!("run {number}: bind: {error}"))?;
        }
        drop(bound);
        drop(memory);
        for (a, b) in results.iter().zip(got) {
            if let Some(what) = difference(a, b, None) {
                return Err(format!("run {number}: bind: {what}"));
            }
        }
    }
    Ok(())
}

/// The facts of a recipe that has been changed: without them, nothing that folds is compared exactly.
fn derive(recipe: &Recipe) -> Vec<Facts> {
    let graph = Graph::new();
    let values = recipe.build(&graph).unwrap_or_default();
    let mut facts: Vec<Facts> = recipe
        .sources
        .iter()
        .map(|source| Facts {
            whole: !matches!(source.content, Content::Ordinary | Content::Wild) || !source.dtype.is_float(),
            ..Facts::default()
        })
        .collect();
    for step in &recipe.steps {
        let mut all = Facts { whole: true, ..Facts::default() };
        for operand in &step.data {
            all.whole &= facts[*operand].whole;
            all.folded |= facts[*operand].folded;
            all.loose |= facts[*operand].loose;
        }
        let float =
            step.data.first().is_some_and(|at| values.get(*at).is_some_and(|value| value.dtype().is_float()));
        let folds = step.call.op.starts_with("reduce_")
            || matches!(step.call.op, "softmax" | "log_softmax" | "matmul");
        if folds && float && !matches!(step.call.op, "reduce_max" | "reduce_min") {
            all.folded = true;
            all.loose |= !all.whole || !matches!(step.call.op, "reduce_sum" | "matmul");
        }
        all.whole &= crate::ops::keeps_whole(step.call.op);
        facts.extend((0..step.outputs).map(|_| all));
    }
    facts
}

/// Whether a dimension of what has been taken away stands in an attribute: nothing that a graph can be. Only names do.
pub fn is_dangling(error: &shapeflow::Error) -> bool {
    error.kind() == ErrorKind::Compile && error.message().contains("nothing determines s")
}

/// Whether a step is there to fail.
fn checks(recipe: &Recipe) -> bool {
    recipe.steps.iter().any(|step| matches!(step.call.op, "checked" | "check_numerics"))
}
