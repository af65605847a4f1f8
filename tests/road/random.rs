//! Random graphs: compares machine code with the interpreter. A graph is compiled once and runs at several sizes.
//!
//! `SHAPEFLOW_CASES` sets the number of graphs, `SHAPEFLOW_SEED` the first seed, and `SHAPEFLOW_TRACE` prints each seed
//! before its graph runs.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

use shapeflow::{CompileOptions, DType, Graph, Registry, Value};

use crate::backend_check::{Outcome, check_backends, compile, panic_message};
use crate::env_vars;
use crate::graph_generator::{GeneratedGraph, GraphGenerator, ValueIndex};
use crate::graph_recipe::{Content, Recipe, Size};
use crate::ops::{OPS, STRING_OPS, add_op};
use crate::rng::Rng;
use crate::shrink::shrink;

/// Returns the kernels that a recipe compiles to, as text, or the compile error.
fn kernels_text(recipe: &Recipe) -> String {
    let graph = Graph::new();
    let Ok(values) = recipe.build(&graph) else { return String::new() };
    let outputs: Vec<Value<'_>> = recipe.outputs.iter().map(|output| values[*output]).collect();
    compile(&graph, &CompileOptions::new(), &outputs)
        .map_or_else(|error| error.to_string(), |exe| exe.kernels())
}

/// Generates a graph of random ops.
pub fn random_graph(seed: u64) -> GeneratedGraph {
    let graph = Graph::new();
    let mut g = GraphGenerator::new(&graph, seed);
    let steps = 2 + g.rng.below(*Rng::new(seed ^ 77).choose(&[4, 10, 29]));
    let mut tries = 0;
    while g.recipe.steps.len() < steps && tries < 4 * steps {
        tries += 1;
        let op = g.rng.choose_weighted(OPS);
        add_op(&mut g, op);
    }
    finish(g, seed)
}

/// Generates a graph of random ops in which most sizes are known only at run time.
fn dynamic_shape_graph(seed: u64) -> GeneratedGraph {
    let graph = Graph::new();
    let mut g = GraphGenerator::new(&graph, seed);
    (g.dynamic_shapes, g.fed_per_mille) = (true, 500);
    let steps = 2 + g.rng.below(*Rng::new(seed ^ 78).choose(&[3, 6, 14]));
    let mut tries = 0;
    while g.recipe.steps.len() < steps && tries < 4 * steps {
        tries += 1;
        crate::dynamic_shape_graphs::add_random_op(&mut g);
    }
    finish(g, seed)
}

/// Generates a graph in which values meet other views of themselves.
fn self_view_graph(seed: u64) -> GeneratedGraph {
    let graph = Graph::new();
    let mut g = GraphGenerator::new(&graph, seed);
    let steps = 3 + g.rng.below(*Rng::new(seed ^ 79).choose(&[6, 12, 24]));
    crate::self_view_graphs::add_sources(&mut g);
    let mut tries = 0;
    while g.recipe.steps.len() < steps && tries < 4 * steps {
        tries += 1;
        crate::self_view_graphs::add_random_op(&mut g);
    }
    finish(g, seed)
}

/// Chooses outputs, drops the values that no output needs, and sometimes makes an input unranked.
fn finish(mut g: GraphGenerator<'_>, seed: u64) -> GeneratedGraph {
    let mut outputs = choose_outputs(&mut g);
    if outputs.is_empty() {
        let source = g.source(DType::F32, vec![Size::Known(2)], Content::SmallIntegers, false);
        outputs.extend(source);
    }
    let unpruned = g.finish(&outputs);
    // A value that no output needs must not constrain a run.
    let (recipe, old) = unpruned.recipe.pruned_with_old_indices();
    let props = old.iter().map(|index| unpruned.props[*index]).collect();
    let mut graph = GeneratedGraph { recipe, props };
    let mut rng = Rng::new(seed ^ 0xabcd);
    // An attribute that names a symbol needs an input that declares it.
    if !graph.recipe.sources.is_empty() && rng.chance(1, 30) && !has_symbols_in_attrs(&graph.recipe) {
        let number = rng.below(graph.recipe.sources.len());
        graph.recipe.sources[number].unranked = !graph.recipe.sources[number].constant;
    }
    graph
}

/// Returns whether an attribute contains a symbol.
fn has_symbols_in_attrs(recipe: &Recipe) -> bool {
    let attrs = recipe.steps.iter().flat_map(|step| &step.call.attrs);
    let mut found = false;
    for (_, attr) in attrs {
        attr.symbols(&mut |_| found = true);
    }
    found
}

/// Chooses the last value, some random values, and sometimes several of the last values.
fn choose_outputs(g: &mut GraphGenerator<'_>) -> Vec<ValueIndex> {
    let sources = g.recipe.sources.len();
    let all: Vec<ValueIndex> = (0..g.values.len()).map(ValueIndex).collect();
    let mut outputs: Vec<ValueIndex> = all.iter().copied().filter(|_| g.rng.chance(1, 8)).collect();
    outputs.extend(all.last());
    if g.rng.chance(1, 2) {
        outputs.extend(all.iter().rev().take(1 + sources / 2));
    }
    outputs.sort_by_key(|id| id.0);
    outputs.dedup();
    outputs
}

fn case_count(default: u64) -> u64 {
    env_vars::number("SHAPEFLOW_CASES").unwrap_or(default)
}

/// Checks the graphs of these seeds on both backends. Panics with the shrunk recipe of the first failure of each set of
/// ops.
fn assert_backends_agree(seeds: impl Iterator<Item = u64>, generate: impl Fn(u64) -> Option<GeneratedGraph>) {
    let start = Instant::now();
    let (mut graphs, mut nodes) = (0, 0);
    let mut total = Outcome::default();
    let mut failures: Vec<String> = Vec::new();
    let mut failed = 0;
    let trace = std::env::var_os("SHAPEFLOW_TRACE").is_some();
    let max_failures = if case_count(0) > 0 { 400 } else { 3 };
    let mut failures_by_ops: BTreeMap<String, usize> = BTreeMap::new();
    for seed in seeds {
        if trace {
            eprintln!("seed {seed}");
        }
        let Some(graph) = generate(seed) else { continue };
        graphs += 1;
        nodes += graph.recipe.steps.len();
        let result = catch_unwind(AssertUnwindSafe(|| check_backends(&graph.recipe, Some(&graph.props))));
        match result.unwrap_or_else(|panic| Err(format!("PANIC: {}", panic_message(&*panic)))) {
            Ok(outcome) => {
                total.runs += outcome.runs;
                total.refused += outcome.refused;
                total.skipped += outcome.skipped;
                total.compared += outcome.compared;
            }
            Err(difference) => {
                failed += 1;
                let (small, error) = shrink(&graph.recipe);
                let ops: Vec<&str> = small.steps.iter().map(|step| step.call.op).collect();
                let count = failures_by_ops.entry(ops.join(" ")).or_default();
                *count += 1;
                if *count == 1 && failures.len() < max_failures {
                    failures
                        .push(format!("seed {seed}: {difference}\n{small}{error}\n{}", kernels_text(&small)));
                }
                if failures.len() >= max_failures {
                    break;
                }
            }
        }
    }
    println!(
        "{graphs} graphs of {nodes} nodes, {} runs ({} refused by the interpreter), {} results compared, {} skipped, {:.1} s",
        total.runs,
        total.refused,
        total.compared,
        total.skipped,
        start.elapsed().as_secs_f64()
    );
    let list: Vec<String> = failures_by_ops.iter().map(|(ops, count)| format!("{count} {ops}")).collect();
    assert!(failed == 0, "{failed} graphs differ:\n{}\n{}", list.join("\n"), failures.join("\n\n"));
}

fn first_seed() -> u64 {
    env_vars::number("SHAPEFLOW_SEED").unwrap_or(1)
}

#[test]
pub fn random_graphs_agree_with_the_interpreter() {
    let first = first_seed();
    assert_backends_agree(first..first + case_count(400), |seed| Some(random_graph(seed)));
}

#[test]
fn dynamic_shape_graphs_agree_with_the_interpreter() {
    let first = first_seed() + 5_000_000_000;
    assert_backends_agree(first..first + case_count(400), |seed| Some(dynamic_shape_graph(seed)));
}

#[test]
fn self_view_graphs_agree_with_the_interpreter() {
    let first = first_seed() + 7_000_000_000;
    assert_backends_agree(first..first + case_count(400), |seed| Some(self_view_graph(seed)));
}

#[test]
fn single_op_graphs_agree_with_the_interpreter() {
    let each = case_count(300) / 100 + 1;
    let mut missing = Vec::new();
    let first = first_seed();
    for (number, (op, _)) in OPS.iter().enumerate() {
        let seeds = (0..each).map(|case| first + case + 1_000_000 * (number as u64 + 1));
        let graphs: Vec<GeneratedGraph> = seeds.filter_map(|seed| single_op_graph(op, seed)).collect();
        let count = graphs.len();
        if count * 4 < each as usize {
            missing.push(format!("{op}: {count} of {each}"));
        }
        assert_backends_agree(0..graphs.len() as u64, |number| graphs.get(number as usize).cloned());
    }
    assert!(missing.is_empty(), "too few graphs are generated for {missing:?}");
}

/// Generates a graph of one op; its operands and parameters may need other ops.
pub fn single_op_graph(op: &'static str, seed: u64) -> Option<GeneratedGraph> {
    for attempt in 0..8 {
        let graph = Graph::new();
        let mut g = GraphGenerator::new(&graph, seed * 8 + attempt);
        if let Some(id) = add_op(&mut g, op) {
            let outputs: Vec<ValueIndex> = (id.0..g.values.len()).map(ValueIndex).collect();
            return Some(g.finish(&outputs));
        }
    }
    None
}

#[test]
fn every_registered_op_is_listed() {
    let registry = Registry::builtin();
    let registered: BTreeSet<&str> = registry.iter().map(|def| def.name()).collect();
    let names: Vec<&str> = OPS.iter().map(|(op, _)| *op).chain(STRING_OPS.iter().copied()).collect();
    let listed: BTreeSet<&str> = names.iter().copied().collect();
    let missing: Vec<&&str> = registered.difference(&listed).collect();
    assert!(
        missing.is_empty(),
        "tests/road/ops/list.rs lacks {missing:?}; `add_op` needs a case for each too"
    );
    let unknown: Vec<&&str> = listed.difference(&registered).collect();
    assert!(unknown.is_empty(), "tests/road/ops/list.rs lists ops that are not registered: {unknown:?}");
    assert_eq!(names.len(), listed.len(), "tests/road/ops/list.rs lists an op twice");
}
