//! What is inferred when less is known holds where all sizes are known, and nothing is refused for want of knowledge.

use std::collections::HashMap;

use shapeflow::shape_fns::Symbol;
use shapeflow::{Backend, CompileOptions, DType, Dim, Graph, Tensor, TensorShape, TensorView, Value};

use crate::backend_check::is_dangling;
use crate::graph_recipe::{Recipe, Size, Source};
use crate::ops::OPS;
use crate::random::{random_graph, single};
use crate::random_numbers::Draws;

/// The recipe with every size of one run known, and every parameter.
fn concrete(recipe: &Recipe, run: usize) -> Recipe {
    let mut known = recipe.clone();
    known.runs = vec![recipe.runs[run].clone()];
    for (number, source) in known.sources.iter_mut().enumerate() {
        source.sizes = source.sizes.iter().map(|size| Size::Known(size.of(&recipe.runs[run]))).collect();
        // The elements of parameters are known as well, those of data are not asked for.
        (source.constant, source.unranked) = (is_parameter(recipe, number), false);
    }
    known
}

fn is_parameter(recipe: &Recipe, value: usize) -> bool {
    recipe.steps.iter().any(|step| step.params.contains(&value))
}

/// The recipe with less known of its sources: numbers and names become unknown, constants are fed.
fn loosened(recipe: &Recipe, draws: &mut Draws) -> Recipe {
    let mut loose = recipe.clone();
    let part = *draws.pick(&[0, 1, 3, 6]);
    for (number, source) in loose.sources.iter_mut().enumerate() {
        let parameter = is_parameter(recipe, number);
        if !parameter || draws.chance(part, 12) {
            source.constant = false;
        }
        if source.constant || parameter {
            continue;
        }
        for size in &mut source.sizes {
            if !draws.chance(part, 6) {
                continue;
            }
            let variable = loose.runs[0].len();
            for run in &mut loose.runs {
                run.push(size.of(run));
            }
            *size = if draws.chance(1, 4) { Size::Named(variable) } else { Size::Unnamed(variable) };
        }
        source.unranked |= draws.chance(part, 60);
    }
    loose
}

/// The sizes of symbols, as the sizes that are met show them.
#[derive(Default)]
struct Sizes(HashMap<Symbol, i64>);

impl Sizes {
    /// Says what is wrong if a promised shape does not have these sizes.
    fn meet(&mut self, promised: &TensorShape, sizes: &[Option<i64>]) -> Option<String> {
        let dims = promised.dims()?;
        if dims.len() != sizes.len() {
            return Some(format!("rank {} was promised, got {}", dims.len(), sizes.len()));
        }
        dims.iter().zip(sizes).enumerate().find_map(|(axis, (dim, size))| {
            let size = (*size)?;
            self.meet_dim(dim, size).map(|promised| format!("axis {axis}: {dim} is {promised}, got {size}"))
        })
    }

    /// What the dimension is where that is another size.
    fn meet_dim(&mut self, dim: &Dim, size: i64) -> Option<String> {
        match dim.eval(&|symbol| self.0.get(&symbol).copied()) {
            Ok(Some(promised)) => (promised != size).then(|| promised.to_string()),
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

fn known_sizes(shape: &TensorShape) -> Option<Vec<Option<i64>>> {
    Some(shape.dims()?.iter().map(Dim::as_known).collect())
}

#[derive(Default, Debug)]
struct Count {
    graphs: usize,
    refused: usize,
    /// Nodes at a set of sizes.
    nodes: usize,
    runs: usize,
}

struct Checker {
    count: Count,
    broken: Vec<String>,
}

impl Checker {
    fn note(&mut self, recipe: &Recipe, what: String) {
        if self.broken.len() < 10 {
            self.broken.push(format!("seed {}: {what}\n{recipe}", recipe.seed));
        }
    }

    /// Infers a recipe partially, and at the sizes of each of its runs.
    fn check(&mut self, recipe: &Recipe, draws: &mut Draws) {
        let loose = loosened(recipe, draws);
        let partial = Graph::new();
        let promised = loose.build(&partial);
        self.count.graphs += 1;
        for run in 0..recipe.runs.len() {
            let known = concrete(recipe, run);
            let graph = Graph::new();
            let found = known.build(&graph);
            let (promised, found) = match (&promised, &found) {
                (Ok(promised), Ok(found)) => (promised, found),
                (Err(error), Ok(_)) if !loose.sources.iter().any(|source| source.unranked) => {
                    self.note(
                        &loose,
                        format!("refused although sizes exist: {error}\nsizes {:?}", recipe.runs[run]),
                    );
                    return;
                }
                _ => {
                    self.count.refused += 1;
                    continue;
                }
            };
            if let Some(what) = self.compare(promised, found) {
                self.note(&loose, format!("{what}\nsizes {:?}", recipe.runs[run]));
                return;
            }
        }
        if let Ok(promised) = &promised
            && draws.chance(1, 12)
            && let Some(what) = self.run(&loose, &partial, promised)
        {
            self.note(&loose, what);
        }
    }

    fn compare(&mut self, promised: &[Value<'_>], found: &[Value<'_>]) -> Option<String> {
        let mut sizes = Sizes::default();
        for (number, (promised, found)) in promised.iter().zip(found).enumerate() {
            self.count.nodes += 1;
            if promised.dtype() != found.dtype() {
                return Some(format!("v{number}: {} was promised, got {}", promised.dtype(), found.dtype()));
            }
            let Some(known) = known_sizes(&found.shape()) else {
                if promised.shape().rank().is_some() {
                    return Some(format!("v{number}: the rank is lost where sizes are known"));
                }
                continue;
            };
            if let Some(what) = sizes.meet(&promised.shape(), &known) {
                return Some(format!("v{number} {promised:?}: {what}"));
            }
        }
        None
    }

    /// Holds the outputs of a run against what was promised of them.
    fn run(&mut self, recipe: &Recipe, graph: &Graph, values: &[Value<'_>]) -> Option<String> {
        let outputs: Vec<Value<'_>> = recipe.outputs.iter().map(|at| values[*at]).collect();
        let options = CompileOptions::new().backend(Backend::Interpreter);
        let exe = match graph.compile_with(&options, &outputs) {
            Ok(exe) => exe,
            Err(error) if is_dangling(&error) => return None,
            Err(error) => return Some(format!("is not compiled: {error}")),
        };
        let inputs: Vec<usize> = recipe.fed().collect();
        for run in 0..recipe.runs.len() {
            let tensors: Vec<Tensor> = inputs.iter().map(|input| recipe.tensor(*input, run)).collect();
            let views: Vec<TensorView<'_>> = tensors.iter().map(Tensor::view).collect();
            // Data may be refused: a division by zero, an index that a loosened size has put out of range.
            let Ok(results) = exe.run_all(&views) else { continue };
            self.count.runs += 1;
            let mut sizes = Sizes::default();
            let known =
                |tensor: &Tensor| tensor.sizes().iter().map(|size| Some(*size as i64)).collect::<Vec<_>>();
            let met = inputs
                .iter()
                .map(|input| values[*input])
                .zip(&tensors)
                .chain(outputs.iter().copied().zip(&results));
            for (value, tensor) in met {
                let dtypes: (DType, DType) = (value.dtype(), tensor.dtype());
                if dtypes.0 != dtypes.1 {
                    return Some(format!("{value:?} is {} in a run", dtypes.1));
                }
                if let Some(what) = sizes.meet(&value.shape(), &known(tensor)) {
                    return Some(format!("{value:?} in a run: {what}"));
                }
            }
        }
        None
    }
}

fn hold(recipes: impl Iterator<Item = Recipe>, seed: u64) -> Count {
    let mut draws = Draws::new(seed);
    let mut checker = Checker { count: Count::default(), broken: Vec::new() };
    for recipe in recipes {
        for _ in 0..3 {
            checker.check(&recipe, &mut draws);
        }
    }
    println!("{:?}", checker.count);
    assert!(checker.broken.is_empty(), "{}", checker.broken.join("\n\n"));
    checker.count
}

/// So many times as much as the environment asks for.
fn times(default: u64) -> u64 {
    let asked = std::env::var("SHAPEFLOW_CASES").ok().and_then(|text| text.parse::<u64>().ok());
    asked.map_or(default, |cases| (default * cases / 2000).max(1))
}

#[test]
fn graphs_of_which_less_is_known() {
    let recipes = (0..times(220)).map(|seed| random_graph(seed ^ 0x5eed_0000).recipe);
    let count = hold(recipes, 1);
    assert!(count.nodes >= 10_000 || times(220) < 220, "only {count:?}");
}

#[test]
fn ops_of_which_less_is_known() {
    let seeds = times(4);
    let recipes = OPS.iter().flat_map(|(op, _)| (0..seeds).filter_map(|seed| single(op, seed ^ 0x0b5e_0000)));
    let count = hold(recipes.map(|grown| grown.recipe), 2);
    assert!(count.nodes >= 4_000 || seeds < 4, "only {count:?}");
}

#[test]
fn broken_promises_are_seen() {
    let mut sizes = Sizes::default();
    let shape = |text: &str| text.parse::<TensorShape>().unwrap();
    let n = shape("[n, 2*n+1, m]");
    assert_eq!(sizes.meet(&n, &[Some(3), Some(7), None]), None);
    assert!(sizes.meet(&shape("[n]"), &[Some(4)]).is_some());
    assert!(sizes.meet(&shape("[2*k]"), &[Some(3)]).is_some());
    assert!(sizes.meet(&shape("[n, n]"), &[Some(3)]).is_some());
    assert!(sizes.meet(&shape("[n+m]"), &[Some(5)]).is_none());
    let source = Source {
        dtype: DType::F32,
        sizes: vec![Size::Linear(2, 0, 1)],
        content: crate::graph_recipe::Content::Whole,
        constant: false,
        unranked: false,
    };
    let recipe = Recipe { sources: vec![source], runs: vec![vec![4]], ..Recipe::default() };
    assert_eq!(concrete(&recipe, 0).sources[0].sizes, [Size::Known(9)]);
}
