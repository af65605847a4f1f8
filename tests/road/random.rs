//! Random graphs: machine code against the interpreter, at several sizes with one compile.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

use shapeflow::{
    Backend, CompileOptions, DType, Error, ErrorKind, Executable, Graph, Registry, Result, Tensor,
    TensorView, TensorViewMut, Value,
};

use crate::draws::Draws;
use crate::grow::{Facts, Grower, Grown, Id};
use crate::ops::{OPS, grow};
use crate::recipe::{Content, Recipe, Size, Source};
use crate::same::{Bound, Number, difference, numbers};

/// What a recipe came to.
#[derive(Default)]
struct Outcome {
    runs: usize,
    /// Runs that both refused.
    refused: usize,
    /// Outputs that were not compared, since nothing bounds the order of their folds.
    skipped: usize,
    compared: usize,
}

/// Whole numbers stay exact in sums below this.
const EXACT: f64 = 4096.0;
/// Folds of larger numbers are not compared.
const LARGE: f64 = 1e5;

fn message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_string())).unwrap_or_default()
}

fn compile<'g>(graph: &'g Graph, options: &CompileOptions, outputs: &[Value<'g>]) -> Result<Executable> {
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
fn check(recipe: &Recipe, facts: Option<&[Facts]>) -> std::result::Result<Outcome, String> {
    let mut outcome = Outcome::default();
    let graph = Graph::new();
    let values = match recipe.build(&graph) {
        Ok(values) => values,
        // Unknown ranks and fewer steps may make a graph that is refused.
        Err(_) => return Ok(outcome),
    };
    let wanted: Vec<Value<'_>> = recipe.outputs.iter().map(|at| values[*at]).collect();
    let oracle = CompileOptions::new().backend(Backend::Interpreter);
    let oracle = compile(&graph, &oracle, &values).map_err(|error| format!("interpreter: {error}"))?;
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
                    || ["indices must be positions", "must be empty where the result is"]
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
            // So is a check of a value of which only the shape is demanded, and the name of a size that no input that
            // is needed has.
            (Err(a), Ok(_)) if checks(recipe) && a.kind() == ErrorKind::Guard => {
                outcome.refused += 1;
                continue;
            }
            (Err(a), Ok(_)) if is_dangling(&a) => {
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
        let scale = largest(&expected, |at| feeding[at]);
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
    let pinned =
        recipe.sources.iter().any(|source| source.unranked || matches!(source.content, Content::Given(_)));
    if after != compiles && !pinned && !recipe.steps.iter().any(|step| is_staged(step.call.op)) {
        return Err(format!("a size was compiled for: {:?}", jit.stats().compiles));
    }
    Ok(outcome)
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

/// Smaller recipes that still fail, one step after the other.
fn shrink(recipe: &Recipe) -> (Recipe, String) {
    let dangling = |error: &String| error.contains(DANGLING);
    let fails = |recipe: &Recipe| {
        let error = catch_unwind(|| check(recipe, None).err()).unwrap_or_else(|p| Some(message(&*p)));
        error.filter(|error| !dangling(error))
    };
    let mut best = recipe.needed();
    let Some(mut what) = fails(&best) else {
        return (recipe.clone(), "a smaller form of it does not fail".to_string());
    };
    let mut tried = 0;
    'shrinking: loop {
        let mut candidates: Vec<Recipe> = Vec::new();
        if best.outputs.len() > 1 {
            for output in &best.outputs {
                candidates.push(Recipe { outputs: vec![*output], ..best.clone() });
            }
        }
        if best.runs.len() > 1 {
            for run in &best.runs {
                candidates.push(Recipe { runs: vec![run.clone()], ..best.clone() });
            }
        }
        // An operand of the last step as the output.
        if let [output] = best.outputs[..]
            && let Some((step, _)) = best.maker(output)
        {
            for operand in &best.steps[step].data {
                if best.maker(*operand).is_some() {
                    candidates.push(Recipe { outputs: vec![*operand], ..best.clone() });
                }
            }
        }
        candidates.extend((0..best.steps.len()).filter_map(|step| cut(&best, step)));
        candidates.extend((0..best.steps.len()).filter_map(|step| skip(&best, step)));
        for (number, source) in best.sources.iter().enumerate() {
            for (axis, size) in source.sizes.iter().enumerate() {
                if !matches!(size, Size::Known(_)) && best.runs.len() == 1 {
                    let mut smaller = best.clone();
                    smaller.sources[number].sizes[axis] = Size::Known(size.of(&best.runs[0]));
                    candidates.push(smaller);
                }
            }
            if source.unranked {
                let mut smaller = best.clone();
                smaller.sources[number].unranked = false;
                candidates.push(smaller);
            }
        }
        for at in 0..best.runs[0].len() {
            for run in 0..best.runs.len() {
                for less in [best.runs[run][at] / 2, best.runs[run][at] - 1] {
                    if less >= 0 && less < best.runs[run][at] {
                        let mut smaller = best.clone();
                        smaller.runs[run][at] = less;
                        candidates.push(smaller);
                    }
                }
            }
        }
        for candidate in candidates {
            tried += 1;
            if tried > 3000 {
                break 'shrinking;
            }
            let candidate = candidate.needed();
            if let Some(error) = fails(&candidate) {
                best = candidate;
                what = error;
                continue 'shrinking;
            }
        }
        break;
    }
    (best, what)
}

/// The recipe with an input in place of a step of one output, of the sizes that the first run has there.
fn cut(recipe: &Recipe, step: usize) -> Option<Recipe> {
    if recipe.steps[step].outputs != 1 {
        return None;
    }
    let graph = Graph::new();
    let values = recipe.build(&graph).ok()?;
    let first = recipe.sources.len() + recipe.steps[..step].iter().map(|step| step.outputs).sum::<usize>();
    let value = values[first];
    let sizes: Vec<Size> = value.shape().as_known()?.iter().map(|size| Size::Known(*size as i64)).collect();
    let source =
        Source { dtype: value.dtype(), sizes, content: Content::Whole, constant: false, unranked: false };
    let mut result = recipe.clone();
    result.sources.push(source);
    result.steps.remove(step);
    let new = recipe.sources.len();
    let rename = |at: &mut usize| {
        *at = match *at {
            at if at < new => at,
            at if at == first => new,
            at if at < first => at + 1,
            at => at,
        }
    };
    for step in &mut result.steps {
        step.data.iter_mut().chain(&mut step.params).for_each(rename);
    }
    result.outputs.iter_mut().for_each(rename);
    Some(result)
}

/// The recipe with a step's first operand in place of its result.
fn skip(recipe: &Recipe, step: usize) -> Option<Recipe> {
    let operand = *recipe.steps[step].data.first()?;
    if recipe.steps[step].outputs != 1 {
        return None;
    }
    let first = recipe.sources.len() + recipe.steps[..step].iter().map(|step| step.outputs).sum::<usize>();
    let mut result = recipe.clone();
    for step in &mut result.steps[step + 1..] {
        step.data.iter_mut().chain(&mut step.params).filter(|at| **at == first).for_each(|at| *at = operand);
    }
    result.outputs.iter_mut().filter(|at| **at == first).for_each(|at| *at = operand);
    Some(result)
}

fn describe(recipe: &Recipe) -> String {
    let graph = Graph::new();
    let Ok(values) = recipe.build(&graph) else { return String::new() };
    let outputs: Vec<Value<'_>> = recipe.outputs.iter().map(|at| values[*at]).collect();
    compile(&graph, &CompileOptions::new(), &outputs)
        .map_or_else(|error| error.to_string(), |exe| exe.kernels())
}

/// A random graph of some ops.
pub fn random_graph(seed: u64) -> Grown {
    let graph = Graph::new();
    let mut g = Grower::new(&graph, seed);
    let total: usize = OPS.iter().map(|(_, weight)| weight).sum();
    let steps = 2 + g.draws.below(*Draws::new(seed ^ 77).pick(&[4, 10, 29]));
    let mut tries = 0;
    while g.recipe.steps.len() < steps && tries < 4 * steps {
        tries += 1;
        let mut at = g.draws.below(total);
        let op = OPS.iter().find(|(_, weight)| {
            let here = at < *weight;
            at = at.wrapping_sub(*weight);
            here
        });
        if let Some((op, _)) = op {
            grow(&mut g, op);
        }
    }
    let mut outputs = choose_outputs(&mut g);
    if outputs.is_empty() {
        let source = g.source(DType::F32, vec![Size::Known(2)], Content::Whole, false);
        outputs.extend(source);
    }
    let grown = g.finish(&outputs);
    // What no output needs constrains nothing.
    let (recipe, old) = grown.recipe.renamed();
    let mut grown = Grown { recipe, facts: old.iter().map(|at| grown.facts[*at]).collect() };
    let mut draws = Draws::new(seed ^ 0xabcd);
    // A parameter that names a dimension needs the input that has it.
    if !grown.recipe.sources.is_empty() && draws.chance(1, 30) && !names_dims(&grown.recipe) {
        let number = draws.below(grown.recipe.sources.len());
        grown.recipe.sources[number].unranked = !grown.recipe.sources[number].constant;
    }
    grown
}

/// A dimension of what has been taken away stands in an attribute: nothing that a graph can be.
const DANGLING: &str = "sizes must be known when the op runs";

fn is_dangling(error: &shapeflow::Error) -> bool {
    error.message().contains(DANGLING)
}

/// Whether a step is there to fail.
fn checks(recipe: &Recipe) -> bool {
    recipe.steps.iter().any(|step| matches!(step.call.op, "checked" | "check_numerics"))
}

/// Whether a parameter is made of the names of dimensions.
fn names_dims(recipe: &Recipe) -> bool {
    let attrs = recipe.steps.iter().flat_map(|step| &step.call.attrs);
    let mut named = false;
    for (_, attr) in attrs {
        attr.symbols(&mut |_| named = true);
    }
    named
}

/// Every value that nothing reads, and some others.
fn choose_outputs(g: &mut Grower<'_>) -> Vec<Id> {
    let sources = g.recipe.sources.len();
    let all: Vec<Id> = (0..g.values.len()).map(Id).collect();
    let mut outputs: Vec<Id> = all.iter().copied().filter(|_| g.draws.chance(1, 8)).collect();
    outputs.extend(all.last());
    if g.draws.chance(1, 2) {
        outputs.extend(all.iter().rev().take(1 + sources / 2));
    }
    outputs.sort_by_key(|id| id.0);
    outputs.dedup();
    outputs
}

fn cases(default: u64) -> u64 {
    std::env::var("SHAPEFLOW_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// Checks graphs of these seeds; says at most a few failures, made small.
fn hold(seeds: impl Iterator<Item = u64>, make: impl Fn(u64) -> Option<Grown>) {
    let start = Instant::now();
    let (mut graphs, mut nodes) = (0, 0);
    let mut total = Outcome::default();
    let mut failures: Vec<String> = Vec::new();
    let mut failed = 0;
    let trace = std::env::var_os("SHAPEFLOW_TRACE").is_some();
    let most = if cases(0) > 0 { 400 } else { 3 };
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for seed in seeds {
        if trace {
            eprintln!("seed {seed}");
        }
        let Some(grown) = make(seed) else { continue };
        graphs += 1;
        nodes += grown.recipe.steps.len();
        let result = catch_unwind(AssertUnwindSafe(|| check(&grown.recipe, Some(&grown.facts))));
        match result.unwrap_or_else(|panic| Err(format!("PANIC: {}", message(&*panic)))) {
            Ok(outcome) => {
                total.runs += outcome.runs;
                total.refused += outcome.refused;
                total.skipped += outcome.skipped;
                total.compared += outcome.compared;
            }
            Err(what) => {
                failed += 1;
                let (small, error) = shrink(&grown.recipe);
                let ops: Vec<&str> = small.steps.iter().map(|step| step.call.op).collect();
                let count = seen.entry(ops.join(" ")).or_default();
                *count += 1;
                if *count == 1 && failures.len() < most {
                    failures.push(format!("seed {seed}: {what}\n{small}{error}\n{}", describe(&small)));
                }
                if failures.len() >= most {
                    break;
                }
            }
        }
    }
    println!(
        "{graphs} graphs of {nodes} nodes, {} runs ({} refused by both), {} results compared, {} skipped, {:.1} s",
        total.runs,
        total.refused,
        total.compared,
        total.skipped,
        start.elapsed().as_secs_f64()
    );
    let list: Vec<String> = seen.iter().map(|(ops, count)| format!("{count} {ops}")).collect();
    assert!(failed == 0, "{failed} graphs differ:\n{}\n{}", list.join("\n"), failures.join("\n\n"));
}

fn first_seed() -> u64 {
    std::env::var("SHAPEFLOW_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(1)
}

#[test]
pub fn random_graphs_agree_with_the_interpreter() {
    let first = first_seed();
    hold(first..first + cases(1000), |seed| Some(random_graph(seed)));
}

#[test]
fn every_op_alone_agrees_with_the_interpreter() {
    let each = cases(1000) / 50 + 1;
    let mut missing = Vec::new();
    let first = first_seed();
    for (number, (op, _)) in OPS.iter().enumerate() {
        let mut made = 0;
        let seeds = (0..each).map(|at| first + at + 1_000_000 * (number as u64 + 1));
        let graphs: Vec<Grown> = seeds.filter_map(|seed| single(op, seed)).collect();
        made += graphs.len();
        if made * 4 < each as usize {
            missing.push(format!("{op}: {made} of {each}"));
        }
        hold(0..graphs.len() as u64, |at| {
            graphs
                .get(at as usize)
                .map(|grown| Grown { recipe: grown.recipe.clone(), facts: grown.facts.clone() })
        });
    }
    assert!(missing.is_empty(), "too few graphs are made of {missing:?}");
}

/// A graph of one op; parameters may take another.
pub fn single(op: &'static str, seed: u64) -> Option<Grown> {
    for attempt in 0..8 {
        let graph = Graph::new();
        let mut g = Grower::new(&graph, seed * 8 + attempt);
        if let Some(id) = grow(&mut g, op) {
            let outputs: Vec<Id> = (id.0..g.values.len()).map(Id).collect();
            return Some(g.finish(&outputs));
        }
    }
    None
}

#[test]
fn no_op_is_forgotten() {
    let registry = Registry::builtin();
    let known: Vec<&str> = registry.iter().map(|def| def.name()).collect();
    let listed: Vec<&str> = OPS.iter().map(|(op, _)| *op).collect();
    assert_eq!(known, listed, "the list of ops in tests/road/ops.rs");
}
