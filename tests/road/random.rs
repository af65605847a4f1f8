//! Random graphs: machine code against the interpreter, at several sizes with one compile.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

use shapeflow::{CompileOptions, DType, Graph, Registry, Value};

use crate::backend_check::{Outcome, check, compile, message};
use crate::graph_generator::{Grower, Grown, Id};
use crate::graph_recipe::{Content, Recipe, Size};
use crate::ops::{OPS, grow};
use crate::random_numbers::Draws;
use crate::shrink::shrink;

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
    finish(g, seed)
}

/// A random graph most of whose sizes only a run determines.
fn open_graph(seed: u64) -> Grown {
    let graph = Graph::new();
    let mut g = Grower::new(&graph, seed);
    (g.open, g.fed) = (true, 500);
    let steps = 2 + g.draws.below(*Draws::new(seed ^ 78).pick(&[3, 6, 14]));
    let mut tries = 0;
    while g.recipe.steps.len() < steps && tries < 4 * steps {
        tries += 1;
        crate::open_graphs::grow(&mut g);
    }
    finish(g, seed)
}

/// What has grown, with outputs.
fn finish(mut g: Grower<'_>, seed: u64) -> Grown {
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
fn open_graphs_agree_with_the_interpreter() {
    let first = first_seed() + 5_000_000_000;
    hold(first..first + cases(600), |seed| Some(open_graph(seed)));
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
    assert_eq!(known, listed, "the list of ops in tests/road/ops/list.rs");
}
