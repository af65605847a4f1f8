//! Runs a recipe as machine code and by the interpreter, and compares the results.

use std::panic::{AssertUnwindSafe, catch_unwind};

use shapeflow::{
    Backend, CompileOptions, DType, Error, ErrorKind, Executable, Graph, Result, Tensor, TensorView,
    TensorViewMut, Value,
};

use crate::element_props::{ElementProps, has_fractions};
use crate::graph_recipe::{Content, Recipe};
use crate::rng::Rng;
use crate::tensor_compare::{Bound, Number, difference, numbers};

/// The counts of a check.
#[derive(Default)]
pub struct Outcome {
    pub runs: usize,
    /// Runs that the interpreter refused, so that nothing was compared.
    pub refused: usize,
    /// Outputs whose elements were not compared, because no bound holds for the rounding of their reductions.
    pub skipped: usize,
    /// Outputs whose elements were compared.
    pub compared: usize,
}

/// Sums of small integers count as exact if no element of a value with `small_integers` is larger than this.
const MAX_EXACT: f64 = 4096.0;

/// The results of a reduction are not compared if its operands have larger elements than this.
const MAX_REDUCED: f64 = 1e5;

/// Returns the text of a panic.
pub fn panic_message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_string())).unwrap_or_default()
}

/// Compiles a graph; a panic becomes an error whose message starts with "PANIC".
pub fn compile<'g>(graph: &'g Graph, options: &CompileOptions, outputs: &[Value<'g>]) -> Result<Executable> {
    catch_unwind(AssertUnwindSafe(|| graph.compile_with(options, outputs)))
        .unwrap_or_else(|panic| Err(Error::msg(format!("PANIC: {}", panic_message(&*panic)))))
}

/// Runs an executable; a panic becomes an error whose message starts with "PANIC".
fn run(exe: &Executable, views: &[TensorView<'_>]) -> Result<Vec<Tensor>> {
    catch_unwind(AssertUnwindSafe(|| exe.run_all(views)))
        .unwrap_or_else(|panic| Err(Error::msg(format!("PANIC: {}", panic_message(&*panic)))))
}

/// Returns the largest magnitude of the float tensors that `filter` selects; infinity if one holds NaN.
fn max_abs(tensors: &[Tensor], filter: impl Fn(usize) -> bool) -> f64 {
    let mut most = 0.0f64;
    for (index, tensor) in tensors.iter().enumerate() {
        if filter(index) && has_fractions(tensor.dtype()) {
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

/// Compares both backends at every run of a recipe. The error says what differs.
///
/// `props` are the properties of the recipe's values. If `props` is `None`, the properties are derived from the ops.
pub fn check_backends(
    recipe: &Recipe,
    props: Option<&[ElementProps]>,
) -> std::result::Result<Outcome, String> {
    let mut outcome = Outcome::default();
    let graph = Graph::new();
    let values = match recipe.build(&graph) {
        Ok(values) => values,
        // A shrunk recipe, or a recipe with unranked inputs, may not be a valid graph.
        Err(_) => return Ok(outcome),
    };
    let outputs: Vec<Value<'_>> = recipe.outputs.iter().map(|output| values[*output]).collect();
    let oracle = CompileOptions::new().backend(Backend::Interpreter);
    let oracle = match compile(&graph, &oracle, &values) {
        Ok(oracle) => oracle,
        // Shrinking removed the input that determines a symbol.
        Err(error) if is_undetermined_symbol(&error) => return Ok(outcome),
        Err(error) => return Err(format!("interpreter: {error}")),
    };
    let jit =
        compile(&graph, &CompileOptions::new(), &outputs).map_err(|error| format!("compile: {error}"))?;
    let compiles = jit.stats().compiles.len();
    let props: Vec<ElementProps> = props.map_or_else(|| derive_props(recipe), <[ElementProps]>::to_vec);
    let mut runner = jit.runner();
    let mut finished = Vec::new();
    for number in 0..recipe.runs.len() {
        outcome.runs += 1;
        let feeds: Vec<Tensor> = recipe.inputs().map(|source| recipe.source_tensor(source, number)).collect();
        let views: Vec<TensorView<'_>> = feeds.iter().map(Tensor::view).collect();
        let expected = run(&oracle, &views);
        let got = run(&jit, &views);
        let (expected, got) = match (expected, got) {
            (Ok(expected), Ok(got)) => (expected, got),
            (Err(a), _) if a.message().contains("PANIC") => {
                return Err(format!("run {number}: interpreter: {a}"));
            }
            (_, Err(b)) if b.message().contains("PANIC") => return Err(format!("run {number}: {b}")),
            // Machine code computes only live elements, so it may not see the element that the interpreter refuses.
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
            // Machine code skips the check of a value if only the value's shape is live.
            (Err(a), Ok(_)) if has_checks(recipe) && a.kind() == ErrorKind::Guard => {
                outcome.refused += 1;
                continue;
            }
            // Machine code skips the requirements on a data-dependent size if the data are not live.
            (Err(a), Ok(_))
                if matches!(a.kind(), ErrorKind::Guard | ErrorKind::Shape)
                    && has_data_dependent_sizes(recipe) =>
            {
                outcome.refused += 1;
                continue;
            }
            // Machine code drops a node if only the shapes of its results are live.
            (Err(a), Ok(_)) if is_dropped(&jit, &a) => {
                outcome.refused += 1;
                continue;
            }
            // An empty tensor does not determine `s1` in its reshape to `[s1, s0]`. The interpreter needs the size
            // there; machine code may get it from a later op.
            (Err(a), Ok(_)) if a.message().contains("sizes must be known when the op runs") => {
                outcome.refused += 1;
                continue;
            }
            (Err(a), Ok(_)) => return Err(format!("run {number}: only the interpreter refuses: {a}")),
            (Ok(_), Err(b)) => return Err(format!("run {number}: only machine code refuses: {b}")),
        };
        let sums_are_exact = max_abs(&expected, |index| props[index].small_integers) <= MAX_EXACT;
        let rounding_varies = |index: usize| props[index].rounding_varies;
        // Marks values whose rounding varies, and the operands of the steps that compute them: the error of a sum
        // scales with its summands.
        let mut contributes = vec![false; values.len()];
        let mut first = recipe.sources.len();
        for step in &recipe.steps {
            for output in 0..step.outputs {
                if rounding_varies(first + output) {
                    contributes[first + output] = true;
                    step.data.iter().for_each(|operand| contributes[*operand] = true);
                }
            }
            first += step.outputs;
        }
        let scale = match products_may_overflow(recipe, &expected) {
            true => f64::INFINITY,
            false => max_abs(&expected, |index| contributes[index]),
        };
        for (got, output) in got.iter().zip(&recipe.outputs) {
            let expected = &expected[*output];
            let bound = match (props[*output].reduced, rounding_varies(*output)) {
                (false, _) if props[*output].zero_sign_unknown => {
                    Some(Bound { relative: 0.0, absolute: 0.0 })
                }
                (false, _) => None,
                // The bound 0 ignores the sign of zero, which depends on the order of a sum.
                (true, false) if sums_are_exact => Some(Bound { relative: 0.0, absolute: 0.0 }),
                (true, true) if scale <= MAX_REDUCED => {
                    // An f64 result of f64 sources only has the precision of f64.
                    let only_f64 =
                        matches!(expected.dtype(), DType::F64 | DType::C128) && !has_other_than_f64(recipe);
                    let relative = if only_f64 { 1e-12 } else { 2e-5 };
                    Some(Bound { relative, absolute: relative * scale.max(1.0) })
                }
                _ => {
                    outcome.skipped += 1;
                    if got.sizes() != expected.sizes() || got.dtype() != expected.dtype() {
                        return Err(format!("run {number}: %{output}: shapes or dtypes differ"));
                    }
                    continue;
                }
            };
            outcome.compared += 1;
            if let Some(what) = difference(got, expected, bound) {
                return Err(format!("run {number}: %{output}: {what}"));
            }
        }
        compare_run_into_and_bind(recipe, &jit, &mut runner, &views, &got, number)?;
        drop(views);
        finished.push((number, feeds, got));
    }
    repeat_runs(recipe.seed, &jit, &mut runner, &finished)?;
    let after = jit.stats().compiles.len();
    // At run time, the graph is compiled for the rank of an unranked input, and for the values of a structure parameter
    // that is an input.
    let may_specialize = recipe.sources.iter().any(|source| {
        let content = &source.content;
        source.unranked
            || matches!(content, Content::Fixed(_) | Content::OfRuns(_) | Content::RunVariables(_))
    });
    if after != compiles
        && !may_specialize
        && !recipe.steps.iter().any(|step| may_take_structure_from_data(step.call.op))
    {
        return Err(format!("a size must not cause a compile: {:?}", jit.stats().compiles));
    }
    Ok(outcome)
}

/// Returns whether a `reduce_prod` of floats may overflow in some order of its factors. An infinite partial product
/// times 0 is NaN, so the result then depends on the order.
fn products_may_overflow(recipe: &Recipe, values: &[Tensor]) -> bool {
    let products = recipe.steps.iter().filter(|step| matches!(step.call.op, "reduce_prod" | "complex_prod"));
    products.filter_map(|step| values.get(step.data[0])).any(|factors| {
        // These limits are a little below the natural logarithms of the largest f64 and f32.
        let limit = if matches!(factors.dtype(), DType::F64 | DType::C128) { 700.0 } else { 80.0 };
        let log_magnitudes = numbers(factors).into_iter().map(|number| match number {
            Number::Float(x) => x.abs().max(1.0).ln(),
            Number::Int(_) => 0.0,
        });
        log_magnitudes.sum::<f64>() > limit
    })
}

/// Returns whether a step has an op whose result may have a data-dependent size.
fn has_data_dependent_sizes(recipe: &Recipe) -> bool {
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

/// Returns whether an op may compile at run time, since the elements of a structure parameter (such as axes) may come
/// from data.
fn may_take_structure_from_data(op: &str) -> bool {
    op == "squeeze"
}

/// Returns whether a source has a dtype other than f64 and c128, a pair of f64.
fn has_other_than_f64(recipe: &Recipe) -> bool {
    recipe.sources.iter().any(|source| !matches!(source.dtype, DType::F64 | DType::C128))
}

/// Checks that `run_into` and `bind` give the same bits as `run_all`.
fn compare_run_into_and_bind(
    recipe: &Recipe,
    exe: &Executable,
    runner: &mut shapeflow::Runner,
    views: &[TensorView<'_>],
    got: &[Tensor],
    number: usize,
) -> std::result::Result<(), String> {
    // The first run is enough for results of data-dependent size.
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
        let mut bound = exe.bind(views).map_err(|error| format!("run {number}: bind: {error}"))?;
        for _ in 0..2 {
            bound.run().map_err(|error| format!("run {number}: bind: {error}"))?;
            for (output, b) in got.iter().enumerate() {
                let a = bound.output(output).and_then(|view| view.to_tensor());
                let a = a.map_err(|error| format!("run {number}: bind: {error}"))?;
                if let Some(what) = difference(&a, b, None) {
                    return Err(format!("run {number}: bind: {what}"));
                }
            }
        }
    }
    Ok(())
}

/// Repeats finished runs in random order, and checks that they give the same bits. Each run has a number, its feeds and
/// its results.
fn repeat_runs(
    seed: u64,
    exe: &Executable,
    runner: &mut shapeflow::Runner,
    finished: &[(usize, Vec<Tensor>, Vec<Tensor>)],
) -> std::result::Result<(), String> {
    let mut rng = Rng::new(seed ^ 0x0bde);
    // A single run has been repeated by `bind`.
    let repetitions = if finished.len() > 1 { 2 * finished.len() } else { 0 };
    for _ in 0..repetitions {
        let (number, feeds, expected) = rng.choose(finished);
        let views: Vec<TensorView<'_>> = feeds.iter().map(Tensor::view).collect();
        let results = if rng.chance(1, 2) { runner.run(&views) } else { run(exe, &views) };
        let results = results.map_err(|error| format!("run {number} again: {error}"))?;
        for (a, b) in results.iter().zip(expected) {
            if let Some(what) = difference(a, b, None) {
                return Err(format!("run {number} again: {what}"));
            }
        }
    }
    Ok(())
}

/// Derives the properties of a shrunk recipe's values from its ops only.
fn derive_props(recipe: &Recipe) -> Vec<ElementProps> {
    let graph = Graph::new();
    let values = recipe.build(&graph).unwrap_or_default();
    let mut props: Vec<ElementProps> = recipe
        .sources
        .iter()
        .map(|source| ElementProps {
            small_integers: !matches!(source.content, Content::Ordinary | Content::Extreme)
                || !has_fractions(source.dtype),
            ..ElementProps::default()
        })
        .collect();
    for step in &recipe.steps {
        let mut all = ElementProps { small_integers: true, ..ElementProps::default() };
        for operand in &step.data {
            all.small_integers &= props[*operand].small_integers;
            all.reduced |= props[*operand].reduced;
            all.rounding_varies |= props[*operand].rounding_varies;
        }
        let float = step
            .data
            .first()
            .is_some_and(|first| values.get(*first).is_some_and(|value| has_fractions(value.dtype())));
        let reduces = step.call.op.starts_with("reduce_")
            || matches!(step.call.op, "softmax" | "log_softmax" | "matmul");
        if reduces && float && !matches!(step.call.op, "reduce_max" | "reduce_min") {
            all.reduced = true;
            all.rounding_varies |= !all.small_integers || !matches!(step.call.op, "reduce_sum" | "matmul");
        }
        all.small_integers &= crate::ops::keeps_small_integers(step.call.op);
        props.extend((0..step.outputs).map(|_| all));
    }
    props
}

/// Returns whether a compile failed because an attribute names a symbol that no input determines. Shrinking a recipe,
/// or making an input unranked, removes the inputs of a symbol. Recipes name symbols `s0`, `s1`, ….
pub fn is_undetermined_symbol(error: &shapeflow::Error) -> bool {
    error.kind() == ErrorKind::Compile && error.message().contains("nothing determines s")
}

/// Returns whether no step of a program computes the op whose call an error names.
fn is_dropped(exe: &Executable, error: &Error) -> bool {
    let text = error.to_string();
    let Some((op, _)) = text.trim_start_matches("error: ").split_once('(') else { return false };
    !exe.kernels().lines().any(|line| line.starts_with("step ") && line.contains(op))
}

/// Returns whether a step has an op whose only effect is to refuse runs.
fn has_checks(recipe: &Recipe) -> bool {
    recipe.steps.iter().any(|step| matches!(step.call.op, "checked" | "check_numerics"))
}
