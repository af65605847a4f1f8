//! Equal calls run once, and calls that change nothing do not run.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use shapeflow::{
    Axes, DType, Graph, HostCx, HostKernel, LookupTable, OpDef, Operand, Result, Tensor, TensorView, shape,
    shape_fns,
};

/// Returns how many steps of a compiled program have this text.
fn steps(kernels: &str, text: &str) -> usize {
    kernels.lines().filter(|line| line.starts_with("step ") && line.contains(text)).count()
}

#[test]
fn calls_on_equal_constants_run_once() -> Result<()> {
    let keys = Tensor::from_strings(&[2], &["low", "high"])?;
    let table = LookupTable::new(&keys, &Tensor::from([1.5f32, 9.0]))?;
    let g = Graph::new();
    let x = g.input("x", DType::String, shape!["n"])?;
    // Each of the branches has constants of its own.
    let branch = |name: &str| {
        let is_text = x.not_equal(g.constant([""])?)?.named(format!("{name}_is_text"));
        let level = x.identity()?.lookup(&table, g.constant(-1.0f32)?)?.named(format!("{name}_level"));
        is_text.select(level, 0.0)
    };
    let exe = g.compile((branch("a")? + branch("b")?.neg()?).ok()?)?;
    let words = Tensor::from_strings(&[3], &["high", "", "other"])?;
    let [y] = exe.run(&[words.view()])?;
    assert_eq!(y.to_vec::<f32>()?, [0.0; 3]);
    let kernels = exe.kernels();
    assert_eq!((steps(&kernels, "a_is_text"), steps(&kernels, "a_level")), (1, 1), "{kernels}");
    assert_eq!((steps(&kernels, "b_is_text"), steps(&kernels, "b_level")), (0, 0), "{kernels}");
    Ok(())
}

#[test]
fn constants_that_differ_in_sign_or_sizes_stay_apart() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape!["n"])?;
    let zeros = [0.0f32, -0.0].map(|zero| x.div(g.constant(zero)?));
    let [positive, negative] = zeros;
    let columns = [vec![2usize, 3], vec![3, 2]].map(|sizes| g.constant(Tensor::zeros(DType::F32, &sizes)?));
    let [wide, high] = columns;
    let exe = g.compile(&[positive?, negative?, wide?, high?][..])?;
    let results = exe.run_all(&[TensorView::new(&[1], &[1.0f32])?])?;
    assert_eq!(results[0].to_vec::<f32>()?, [f32::INFINITY]);
    assert_eq!(results[1].to_vec::<f32>()?, [f32::NEG_INFINITY]);
    assert_eq!((results[2].sizes(), results[3].sizes()), (&[2, 3][..], &[3, 2][..]));
    Ok(())
}

#[test]
fn sparse_tensors_that_keep_their_sizes_are_not_reshaped() -> Result<()> {
    let g = Graph::new();
    let dense = g.input("dense", DType::I32, shape!["rows", "columns"])?;
    let indices = dense.not_equal(0)?.where_indices()?;
    let sizes = dense.shape_tensor_as(DType::I64)?;
    let rows = sizes.slice([0], [1])?;
    let same = shapeflow::concat(&[rows, g.constant([-1i64])?], 0)?;
    let [moved, moved_sizes] = indices.sparse_reshape(sizes, same)?;
    let [turned, _] = moved.sparse_reshape(moved_sizes, g.constant([-1i64, 1])?)?;
    let exe = g.compile(&[moved, moved_sizes, turned][..])?;
    let results = exe.run_all(&[TensorView::new(&[2, 2], &[0, 5, 6, 0])?])?;
    assert_eq!(results[0].to_vec::<i64>()?, [0, 1, 1, 0]);
    assert_eq!(results[1].to_vec::<i64>()?, [2, 2]);
    assert_eq!(results[2].to_vec::<i64>()?, [1, 0, 2, 0]);
    let kernels = exe.kernels();
    assert_eq!(steps(&kernels, "sparse_reshape"), 1, "{kernels}");
    // The first size is unchanged, so -1 keeps the last size, even if there are no rows.
    let none = exe.run_all(&[TensorView::new(&[0, 7], &[0i32; 0])?])?;
    assert_eq!(none[1].to_vec::<i64>()?, [0, 7]);
    Ok(())
}

/// Counts its runs.
struct Counter {
    runs: Arc<AtomicUsize>,
    is_pure: bool,
}

impl HostKernel for Counter {
    fn run(&self, cx: &mut HostCx<'_>) -> Result<()> {
        self.runs.fetch_add(1, Ordering::Relaxed);
        let x = cx.input(0)?.to_tensor()?;
        cx.set_output(0, x)
    }

    fn is_pure(&self) -> bool {
        self.is_pure
    }
}

#[test]
fn equal_calls_of_a_custom_kernel_run_once_only_if_the_kernel_is_pure() -> Result<()> {
    for (is_pure, expected) in [(true, 1), (false, 2)] {
        let runs = Arc::new(AtomicUsize::new(0));
        let def = OpDef::host_with("counter", Counter { runs: runs.clone(), is_pure })
            .operands(&[Operand::Data("x")])
            .shape_fn(shape_fns::common::unary);
        let def = Arc::new(def);
        let g = Graph::new();
        let x = g.input("x", DType::F32, shape!["n"])?;
        let call = || g.op(def.clone()).data(x).finish();
        let exe = g.compile((call()? + call()?).ok()?)?;
        let [y] = exe.run(&[TensorView::new(&[2], &[1.0f32, 2.0])?])?;
        assert_eq!(y.to_vec::<f32>()?, [2.0, 4.0]);
        assert_eq!(runs.load(Ordering::Relaxed), expected);
    }
    Ok(())
}

#[test]
fn sizes_that_equal_calls_compute_are_known_to_be_equal() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape!["n"])?;
    // Only a run knows how many elements are found, and an attribute of the range has this size.
    let numbers = || g.range(0i64, x.greater(0.0)?.where_indices()?.dim(0)?, 1i64);
    let exe = g.compile((numbers()? + numbers()?).ok()?)?;
    let [y] = exe.run(&[TensorView::new(&[3], &[1.0f32, -1.0, 2.0])?])?;
    assert_eq!(y.to_vec::<i64>()?, [0, 2]);
    // Each reduction finds the number of columns, which is an element of a value.
    let rows = g.ragged_constant(&shapeflow::ragged![[[1.0f32, 2.0], [5.0]], [], [[3.0]]])?;
    let least = rows.reduce_min(Axes::of(0).keep_dims())?;
    let most = rows.reduce_max(Axes::of(0).keep_dims())?;
    let results = g.compile([least, most])?.run_named(&[])?;
    assert_eq!(results.ragged_at(0)?.to_string(), "[[[1.0, 2.0], [5.0]]]");
    assert_eq!(results.ragged_at(1)?.to_string(), "[[[3.0, 2.0], [5.0]]]");
    Ok(())
}
