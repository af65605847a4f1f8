//! Inference from partial knowledge agrees with inference from known sizes, and refuses no graph that known sizes
//! allow.
//!
//! Each recipe is built twice: with some knowledge of its inputs removed, and with all sizes of a run known.

use std::collections::HashMap;

use shapeflow::shape_fns::Symbol;
use shapeflow::{Backend, CompileOptions, DType, Dim, Graph, Tensor, TensorShape, TensorView, Value};

use crate::backend_check::is_undetermined_symbol;
use crate::env_vars;
use crate::graph_recipe::{Content, Recipe, Size, Source};
use crate::ops::OPS;
use crate::random::{random_graph, single_op_graph};
use crate::rng::Rng;

/// Returns the recipe of one run in which all sizes are known and all parameters are constants.
fn concrete(recipe: &Recipe, run: usize) -> Recipe {
    let mut known = recipe.clone();
    known.runs = vec![recipe.runs[run].clone()];
    for (number, source) in known.sources.iter_mut().enumerate() {
        source.sizes = source.sizes.iter().map(|size| Size::Known(size.of(&recipe.runs[run]))).collect();
        // Shape inference reads the elements of parameters, but never the elements of data operands.
        source.constant = is_parameter(recipe, number);
        source.unranked = false;
        if let Content::OfRuns(all) = &source.content {
            source.content = Content::Fixed(all[run].clone());
        }
    }
    known
}

/// Returns whether a value is a parameter of a step.
fn is_parameter(recipe: &Recipe, value: usize) -> bool {
    recipe.steps.iter().any(|step| step.params.contains(&value))
}

/// Returns the recipe with less knowledge of its sources: sizes and names become symbols, constants become inputs.
fn with_less_knowledge(recipe: &Recipe, rng: &mut Rng) -> Recipe {
    let mut partial = recipe.clone();
    let chance = *rng.choose(&[0, 1, 3, 6]);
    for (number, source) in partial.sources.iter_mut().enumerate() {
        let parameter = is_parameter(recipe, number);
        if !parameter || rng.chance(chance, 12) {
            source.constant = false;
        }
        if source.constant || parameter {
            continue;
        }
        for size in &mut source.sizes {
            if !rng.chance(chance, 6) {
                continue;
            }
            let variable = partial.runs[0].len();
            for run in &mut partial.runs {
                run.push(size.of(run));
            }
            *size = if rng.chance(1, 4) { Size::Named(variable) } else { Size::Unnamed(variable) };
        }
        source.unranked |= rng.chance(chance, 60);
    }
    partial
}

/// The values of symbols, learned by matching inferred shapes with actual sizes.
#[derive(Default)]
pub struct SymbolSizes(HashMap<Symbol, i64>);

impl SymbolSizes {
    /// Returns how an inferred shape contradicts the actual sizes, or `None` if it agrees. An unknown size agrees.
    pub fn mismatch(&mut self, inferred: &TensorShape, sizes: &[Option<i64>]) -> Option<String> {
        let dims = inferred.dims()?;
        if dims.len() != sizes.len() {
            return Some(format!("rank {} was inferred, got {}", dims.len(), sizes.len()));
        }
        dims.iter().zip(sizes).enumerate().find_map(|(axis, (dim, size))| {
            let size = (*size)?;
            let inferred = self.dim_mismatch(dim, size)?;
            Some(format!("axis {axis}: {dim} is {inferred}, got {size}"))
        })
    }

    /// Returns the inferred size of a dimension if it contradicts the actual size. Solves a dimension that is linear in
    /// one unknown symbol for that symbol.
    fn dim_mismatch(&mut self, dim: &Dim, size: i64) -> Option<String> {
        match dim.eval(&|symbol| self.0.get(&symbol).copied()) {
            Ok(Some(inferred)) => (inferred != size).then(|| inferred.to_string()),
            Ok(None) => {
                let (scale, symbol, offset) = dim.as_linear()?;
                if (size - offset) % scale != 0 {
                    return Some(format!("never {size}"));
                }
                self.0.insert(symbol, (size - offset) / scale);
                None
            }
            Err(error) => Some(error.to_string()),
        }
    }
}

/// Returns the known sizes of a shape by axis, or `None` if its rank is unknown.
fn known_sizes(shape: &TensorShape) -> Option<Vec<Option<i64>>> {
    Some(shape.dims()?.iter().map(Dim::as_known).collect())
}

#[derive(Default, Debug)]
struct Count {
    graphs: usize,
    refused: usize,
    /// The number of comparisons of a value in a run.
    values: usize,
    runs: usize,
}

struct Checker {
    count: Count,
    failures: Vec<String>,
}

impl Checker {
    /// Records a failure.
    fn fail(&mut self, recipe: &Recipe, message: String) {
        if self.failures.len() < 10 {
            self.failures.push(format!("seed {}: {message}\n{recipe}", recipe.seed));
        }
    }

    /// Compares a recipe with less knowledge to the recipe with the known sizes of each of its runs.
    fn check(&mut self, recipe: &Recipe, rng: &mut Rng) {
        let partial = with_less_knowledge(recipe, rng);
        let partial_graph = Graph::new();
        let inferred = partial.build(&partial_graph);
        self.count.graphs += 1;
        for run in 0..recipe.runs.len() {
            let known = concrete(recipe, run);
            let graph = Graph::new();
            let found = known.build(&graph);
            let (inferred, found) = match (&inferred, &found) {
                (Ok(inferred), Ok(found)) => (inferred, found),
                (Err(error), Ok(_)) if !partial.sources.iter().any(|source| source.unranked) => {
                    self.fail(
                        &partial,
                        format!(
                            "refused, but valid at known sizes: {error}\nrun variables {:?}",
                            recipe.runs[run]
                        ),
                    );
                    return;
                }
                _ => {
                    self.count.refused += 1;
                    continue;
                }
            };
            if let Some(what) = self.compare(inferred, found) {
                self.fail(&partial, format!("{what}\nrun variables {:?}", recipe.runs[run]));
                return;
            }
        }
        if let Ok(inferred) = &inferred
            && rng.chance(1, 12)
            && let Some(what) = self.run(&partial, &partial_graph, inferred)
        {
            self.fail(&partial, what);
        }
    }

    fn compare(&mut self, inferred: &[Value<'_>], found: &[Value<'_>]) -> Option<String> {
        let mut symbols = SymbolSizes::default();
        for (number, (inferred, found)) in inferred.iter().zip(found).enumerate() {
            self.count.values += 1;
            if inferred.dtype() != found.dtype() {
                return Some(format!("v{number}: {} was inferred, got {}", inferred.dtype(), found.dtype()));
            }
            let Some(known) = known_sizes(&found.shape()) else {
                if inferred.shape().rank().is_some() {
                    return Some(format!("v{number}: the rank is unknown at known sizes"));
                }
                continue;
            };
            if let Some(what) = symbols.mismatch(&inferred.shape(), &known) {
                return Some(format!("v{number} {inferred:?}: {what}"));
            }
        }
        None
    }

    /// Runs the graph and compares the shapes of inputs and outputs with the inferred ones.
    fn run(&mut self, recipe: &Recipe, graph: &Graph, values: &[Value<'_>]) -> Option<String> {
        let outputs: Vec<Value<'_>> = recipe.outputs.iter().map(|output| values[*output]).collect();
        let options = CompileOptions::new().backend(Backend::Interpreter);
        let exe = match graph.compile_with(&options, &outputs) {
            Ok(exe) => exe,
            Err(error) if is_undetermined_symbol(&error) => return None,
            Err(error) => return Some(format!("compile: {error}")),
        };
        let inputs: Vec<usize> = recipe.inputs().collect();
        for run in 0..recipe.runs.len() {
            let tensors: Vec<Tensor> = inputs.iter().map(|input| recipe.source_tensor(*input, run)).collect();
            let views: Vec<TensorView<'_>> = tensors.iter().map(Tensor::view).collect();
            // Data may be refused: a division by zero, or an index out of range.
            let Ok(results) = exe.run_all(&views) else { continue };
            self.count.runs += 1;
            let mut symbols = SymbolSizes::default();
            let known =
                |tensor: &Tensor| tensor.sizes().iter().map(|size| Some(*size as i64)).collect::<Vec<_>>();
            let actual = inputs
                .iter()
                .map(|input| values[*input])
                .zip(&tensors)
                .chain(outputs.iter().copied().zip(&results));
            for (value, tensor) in actual {
                if value.dtype() != tensor.dtype() {
                    return Some(format!("{value:?} is {} in a run", tensor.dtype()));
                }
                if let Some(what) = symbols.mismatch(&value.shape(), &known(tensor)) {
                    return Some(format!("{value:?} in a run: {what}"));
                }
            }
        }
        None
    }
}

/// Checks each recipe three times. Each time removes the knowledge of other sources.
fn check_all(recipes: impl Iterator<Item = Recipe>, seed: u64) -> Count {
    let mut rng = Rng::new(seed);
    let mut checker = Checker { count: Count::default(), failures: Vec::new() };
    for recipe in recipes {
        for _ in 0..3 {
            checker.check(&recipe, &mut rng);
        }
    }
    println!("{:?}", checker.count);
    assert!(checker.failures.is_empty(), "{}", checker.failures.join("\n\n"));
    checker.count
}

/// Returns a default number of seeds, scaled by `SHAPEFLOW_CASES / 2000` if that variable is set.
fn seed_count(default: u64) -> u64 {
    env_vars::number("SHAPEFLOW_CASES").map_or(default, |cases: u64| (default * cases / 2000).max(1))
}

#[test]
fn random_graphs_with_less_knowledge_agree() {
    let recipes = (0..seed_count(220)).map(|seed| random_graph(seed ^ 0x5eed_0000).recipe);
    let count = check_all(recipes, 1);
    assert!(count.values >= 10_000 || seed_count(220) < 220, "only {count:?}");
}

#[test]
fn single_op_graphs_with_less_knowledge_agree() {
    let seeds = seed_count(4);
    let recipes =
        OPS.iter().flat_map(|(op, _)| (0..seeds).filter_map(|seed| single_op_graph(op, seed ^ 0x0b5e_0000)));
    let count = check_all(recipes.map(|graph| graph.recipe), 2);
    assert!(count.values >= 4_000 || seeds < 4, "only {count:?}");
}

#[test]
fn contradictions_are_detected() {
    let mut symbols = SymbolSizes::default();
    let shape = |text: &str| text.parse::<TensorShape>().unwrap();
    let n = shape("[n, 2*n+1, m]");
    assert_eq!(symbols.mismatch(&n, &[Some(3), Some(7), None]), None);
    assert!(symbols.mismatch(&shape("[n]"), &[Some(4)]).is_some());
    assert!(symbols.mismatch(&shape("[2*k]"), &[Some(3)]).is_some());
    assert!(symbols.mismatch(&shape("[n, n]"), &[Some(3)]).is_some());
    assert!(symbols.mismatch(&shape("[n+m]"), &[Some(5)]).is_none());
    let source = Source {
        dtype: DType::F32,
        sizes: vec![Size::Linear(2, 0, 1)],
        content: Content::SmallIntegers,
        constant: false,
        unranked: false,
    };
    let recipe = Recipe { sources: vec![source], runs: vec![vec![4]], ..Recipe::default() };
    assert_eq!(concrete(&recipe, 0).sources[0].sizes, [Size::Known(9)]);
}
