//! The partial shapes that inference gives at build time hold for every result of a run.

use shapeflow::{Backend, CompileOptions, DType, Dim, Graph, Tensor, TensorShape, TensorView};

use crate::backend_check::is_undetermined_symbol;
use crate::graph_recipe::Recipe;
use crate::ops::OPS;
use crate::random::{random_graph, single_op_graph};
use crate::shape_refinement::SymbolSizes;

/// Compares the sizes of all values in every run with their inferred shapes. Returns the number of comparisons.
fn compare_with_inferred(recipe: &Recipe) -> Result<usize, String> {
    let graph = Graph::new();
    let Ok(values) = recipe.build(&graph) else { return Ok(0) };
    let inferred: Vec<TensorShape> = values.iter().map(|value| value.shape()).collect();
    let options = CompileOptions::new().backend(Backend::Interpreter);
    let exe = match graph.compile_with(&options, &values) {
        Ok(exe) => exe,
        Err(error) if is_undetermined_symbol(&error) => return Ok(0),
        Err(error) => return Err(error.to_string()),
    };
    let mut compared = 0;
    for run in 0..recipe.runs.len() {
        let feeds: Vec<_> = recipe.inputs().map(|source| recipe.source_tensor(source, run)).collect();
        let views: Vec<TensorView<'_>> = feeds.iter().map(|tensor| tensor.view()).collect();
        // A refused run has no results to compare.
        let Ok(results) = exe.run_all(&views) else { continue };
        let mut symbols = SymbolSizes::default();
        for (number, (shape, tensor)) in inferred.iter().zip(&results).enumerate() {
            compared += 1;
            let sizes: Vec<Option<i64>> = tensor.sizes().iter().map(|size| Some(*size as i64)).collect();
            let mut mismatch = symbols.mismatch(shape, &sizes);
            if tensor.dtype() != values[number].dtype() {
                mismatch = Some(format!("{} was inferred, got {}", values[number].dtype(), tensor.dtype()));
            }
            if let Some(mismatch) = mismatch {
                return Err(format!("%{number}: {mismatch}, in run {run} of\n{recipe}"));
            }
        }
    }
    Ok(compared)
}

#[test]
fn inferred_shapes_hold_at_run_time() {
    let graphs = (1..=200u64).map(|seed| random_graph(seed + 50_000).recipe);
    let ops = OPS.iter().enumerate().flat_map(|(number, (op, _))| {
        (0..3u64)
            .filter_map(move |case| single_op_graph(op, 2_000_000 * (number as u64 + 1) + case))
            .map(|graph| graph.recipe)
    });
    let (mut compared, mut failures) = (0, Vec::new());
    for mut recipe in graphs.chain(ops) {
        for unranked in [false, true] {
            for source in &mut recipe.sources {
                source.unranked = unranked && !source.constant;
            }
            match compare_with_inferred(&recipe) {
                Ok(count) => compared += count,
                Err(failure) => failures.push(failure),
            }
        }
    }
    println!("{compared} inferred shapes");
    assert!(compared >= 5_000);
    let count = failures.len();
    failures.truncate(5);
    assert!(
        failures.is_empty(),
        "{count} recipes differ from their inferred shapes:\n{}",
        failures.join("\n")
    );
}

/// -1 next to a size of 0: zeros do not count, whether sizes are known before the run or not.
#[test]
fn an_inferred_size_next_to_zero_leaves_zeros_out() -> shapeflow::Result<()> {
    for (sizes, shape, expected) in [
        (vec![1usize, 0, 0], vec![-1i64, 0], vec![1usize, 0]),
        (vec![0, 0, 3], vec![0, -1], vec![0, 3]),
        (vec![7, 0, 0, 2], vec![0, 1, -1, 1], vec![0, 1, 14, 1]),
    ] {
        let x = Tensor::zeros(DType::F32, &sizes)?;
        let fed = Tensor::from(shape.clone());
        let known = TensorShape::new(sizes.iter().map(|size| Dim::known(*size as i64)));
        let unknown = TensorShape::new((0..sizes.len()).map(|axis| Dim::symbol(&format!("d{axis}"))));
        for declared in [known, unknown] {
            let g = Graph::new();
            let input = g.input("x", DType::F32, declared)?;
            let sizes = g.input("sizes", DType::I64, [shape.len() as i64])?;
            let exe = g.compile([input.reshape(&shape[..])?, input.reshape(sizes)?])?;
            let [constant, computed] = exe.run(&[x.view(), fed.view()])?;
            assert_eq!((constant.sizes(), computed.sizes()), (&expected[..], &expected[..]), "{shape:?}");
        }
    }
    Ok(())
}

/// `[n, m]` to `[n, -1]` is `[n, m]` for all sizes, by machine code and by the interpreter. If `n` is 0, TensorFlow
/// leaves out an `m` of 0 and gives `[0, 1]`.
#[test]
fn a_symbol_that_shape_and_input_share_cancels_next_to_zero() -> shapeflow::Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::F32, [Dim::symbol("n"), Dim::symbol("m")])?;
    let rows = x.reshape([Dim::symbol("n"), Dim::known(-1)])?;
    let interpreted = CompileOptions::new().backend(Backend::Interpreter);
    for exe in [g.compile([rows])?, g.compile_with(&interpreted, [rows])?] {
        for sizes in [[0, 0], [0, 3], [3, 0], [2, 3]] {
            let [rows] = exe.run(&[Tensor::zeros(DType::F32, &sizes)?.view()])?;
            assert_eq!(rows.sizes(), sizes);
        }
    }
    Ok(())
}
