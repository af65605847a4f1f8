//! What shape functions promise of partial shapes holds of every result of a run.

use std::collections::HashMap;

use shapeflow::shape_fns::Symbol;
use shapeflow::{Backend, CompileOptions, Dim, Graph, TensorShape, TensorView, Value};

use crate::backend_check::is_dangling;
use crate::graph_recipe::Recipe;
use crate::ops::OPS;
use crate::random::{random_graph, single};

/// Sizes of symbols in one run.
#[derive(Default)]
struct Known(HashMap<Symbol, i64>);

impl Known {
    /// Notes or checks that a dimension is `size`; false if it cannot be.
    fn agree(&mut self, dim: &Dim, size: i64) -> bool {
        if let Ok(Some(known)) = dim.eval(&|symbol| self.0.get(&symbol).copied()) {
            return known == size;
        }
        let Some((scale, symbol, offset)) = dim.as_linear() else { return true };
        if scale == 0 || (size - offset) % scale != 0 {
            return false;
        }
        self.0.insert(symbol, (size - offset) / scale);
        true
    }

    fn holds(&mut self, shape: &TensorShape, sizes: &[usize]) -> bool {
        let Some(dims) = shape.dims() else { return true };
        dims.len() == sizes.len() && dims.iter().zip(sizes).all(|(dim, size)| self.agree(dim, *size as i64))
    }
}

/// Runs all values of a recipe and compares each with what was promised of it; gives how many were.
fn check(recipe: &Recipe) -> Result<usize, String> {
    let graph = Graph::new();
    let Ok(values) = recipe.build(&graph) else { return Ok(0) };
    let promised: Vec<TensorShape> = values.iter().map(|value: &Value<'_>| value.shape()).collect();
    let options = CompileOptions::new().backend(Backend::Interpreter);
    let exe = match graph.compile_with(&options, &values) {
        Ok(exe) => exe,
        Err(error) if is_dangling(&error) => return Ok(0),
        Err(error) => return Err(error.to_string()),
    };
    let mut checked = 0;
    for run in 0..recipe.runs.len() {
        let feeds: Vec<_> = recipe.fed().map(|source| recipe.tensor(source, run)).collect();
        let views: Vec<TensorView<'_>> = feeds.iter().map(|tensor| tensor.view()).collect();
        // A run may be refused: what is promised is promised of runs.
        let Ok(results) = exe.run_all(&views) else { continue };
        let mut known = Known::default();
        for (number, (shape, tensor)) in promised.iter().zip(&results).enumerate() {
            checked += 1;
            if !known.holds(shape, tensor.sizes()) || tensor.dtype() != values[number].dtype() {
                let got = format!("{}{:?}", tensor.dtype(), tensor.sizes());
                return Err(format!(
                    "%{number} was promised as {shape}, got {got} in run {run} of\n{recipe}"
                ));
            }
        }
    }
    Ok(checked)
}

#[test]
fn what_was_promised_partially_holds_at_run_time() {
    let graphs = (1..=700u64).map(|seed| random_graph(seed + 50_000).recipe);
    let ops = OPS.iter().enumerate().flat_map(|(number, (op, _))| {
        (0..25u64)
            .filter_map(move |at| single(op, 2_000_000 * (number as u64 + 1) + at))
            .map(|grown| grown.recipe)
    });
    let (mut checked, mut broken) = (0, Vec::new());
    for mut recipe in graphs.chain(ops) {
        for unranked in [false, true] {
            for source in &mut recipe.sources {
                source.unranked = unranked && !source.constant;
            }
            match check(&recipe) {
                Ok(count) => checked += count,
                Err(what) => broken.push(what),
            }
        }
    }
    println!("{checked} promises");
    assert!(checked >= 10_000);
    let count = broken.len();
    broken.truncate(5);
    assert!(broken.is_empty(), "{count} promises are broken:\n{}", broken.join("\n"));
}
