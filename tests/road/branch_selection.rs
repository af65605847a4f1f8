//! A branch whose regions are cheap and cannot fail becomes a selection in a kernel, and no other branch does.

use shapeflow::{
    Backend, CompileOptions, DType, Executable, Graph, Result, Tensor, TensorShape, TensorView, Value,
    concat, shape,
};

/// Adds the inputs: a predicate, floats of shape `floats`, four integers, a scalar integer, and four floats.
fn inputs(g: &Graph, floats: TensorShape) -> Result<[Value<'_>; 5]> {
    Ok([
        g.input("p", DType::Bool, shape![])?,
        g.input("x", DType::F32, floats)?,
        g.input("i", DType::I64, shape![4])?,
        g.input("k", DType::I64, shape![])?,
        g.input("y", DType::F32, shape![4])?,
    ])
}

/// A function that builds a branch from the inputs.
type Build = for<'g> fn(&'g Graph, [Value<'g>; 5]) -> Result<Vec<Value<'g>>>;

fn compile(floats: TensorShape, build: Build, backend: Backend) -> Result<Executable> {
    let g = Graph::new();
    let given = inputs(&g, floats)?;
    let outputs = build(&g, given)?;
    // The outputs keep every input.
    let all: Vec<Value<'_>> = outputs.into_iter().chain(given).collect();
    g.compile_with(&CompileOptions::new().backend(backend), &all)
}

fn feeds(predicate: bool, count: usize, divisor: i64) -> Vec<Tensor> {
    let floats = |scale: f32| (0..count).map(|number| number as f32 * scale).collect();
    vec![
        Tensor::scalar(predicate),
        Tensor::from_vec(&[count], floats(0.5)).unwrap(),
        Tensor::from([7i64, 0, -5, 3]),
        Tensor::scalar(divisor),
        Tensor::from([1.0f32, -2.0, 0.0, 8.0]),
    ]
}

/// Branches that become selections in a kernel.
const SELECTED: &[(&str, Build)] = &[
    ("one op each", |g, [p, x, ..]| g.cond(p, || Ok(x * 2.0), || Ok(x + 1.0))),
    ("several results", |g, [p, x, i, ..]| {
        g.cond(p, || Ok(vec![x.sin()?, (i * 3i64).ok()?]), || Ok(vec![x, i.floordiv(4i64)?]))
    }),
    ("a scalar", |g, [p, _, _, k, _]| g.cond(p, || Ok(k + 1i64), || k.floormod(7i64))),
    ("a sum", |g, [p, x, ..]| g.cond(p, || x.reduce_sum(0), || x.reduce_max(0))),
    ("a branch in a branch", |g, [p, x, _, k, y]| {
        let is_small = k.less(3i64)?;
        g.cond(p, || g.cond(is_small, || Ok(x - y), || Ok(y - x)), || Ok([(x * y).ok()?]))
    }),
    ("a constant", |g, [p, x, ..]| g.cond(p, || g.constant([1.0f32, 2.0, 3.0, 4.0]), || Ok(x))),
    ("movement", |g, [p, x, ..]| {
        g.cond(p, || x.reverse([0]), || x.reshape([2, 2])?.transpose([1, 0])?.reshape([4]))
    }),
];

/// Branches that stay branches.
const BRANCHES: &[(&str, Build)] = &[
    ("a division of integers", |g, [p, _, i, k, _]| g.cond(p, || i.floordiv(k), || Ok(i))),
    ("a remainder of integers", |g, [p, _, i, k, _]| g.cond(p, || Ok(i), || i.floormod(k))),
    ("a gather", |g, [p, x, _, k, _]| g.cond(p, || x.gather(k, 0), || x.reduce_sum(0))),
    ("a host op", |g, [p, x, ..]| g.cond(p, || x.top_k(4)?[0].ok(), || Ok(x))),
    ("other sizes", |g, [p, x, _, _, y]| g.cond(p, || concat(&[x, y], 0), || Ok(x))),
    ("many nodes", |g, [p, x, ..]| g.cond(p, || (0..9).try_fold(x, |x, _| (x * 1.5).sin()), || Ok(x))),
    ("a failing branch in a branch", |g, [p, _, i, k, _]| {
        let is_small = k.less(3i64)?;
        g.cond(p, || g.cond(is_small, || i.floordiv(k), || Ok(i)), || Ok([i]))
    }),
    ("strings", |g, [p, ..]| {
        let (yes, no) = (Tensor::from_strings(&[], &["yes"])?, Tensor::from_strings(&[], &["no"])?);
        let chosen = g.cond(p, || g.constant(yes), || g.constant(no))?;
        Ok(chosen)
    }),
];

#[test]
fn cheap_branches_become_one_kernel() -> Result<()> {
    for (name, build) in SELECTED {
        let exe = compile(shape![4], *build, Backend::Jit)?;
        let stats = exe.stats();
        assert_eq!(stats.host_nodes, 0, "{name}: {}", exe.kernels());
        let interpreted = compile(shape![4], *build, Backend::Interpreter)?;
        // With a size that only a run knows, the graph keeps the branch. The branch gives the expected results.
        let branch = compile(shape!["n"], *build, Backend::Jit)?;
        for (predicate, divisor) in [(true, 2), (false, 5), (true, 9)] {
            let feeds = feeds(predicate, 4, divisor);
            let views: Vec<TensorView<'_>> = feeds.iter().map(Tensor::view).collect();
            let results = exe.run_all(&views)?;
            assert_eq!(results, interpreted.run_all(&views)?, "{name}");
            assert_eq!(results, branch.run_all(&views)?, "{name}");
        }
    }
    let one = compile(shape![4], SELECTED[0].1, Backend::Jit)?;
    assert_eq!(one.stats().kernels, 1, "{}", one.kernels());
    Ok(())
}

#[test]
fn a_branch_that_may_fail_or_is_costly_becomes_no_selection() -> Result<()> {
    for (name, build) in BRANCHES {
        let stats = compile(shape![4], *build, Backend::Jit)?.stats();
        assert!(stats.host_nodes > 0, "{name} became a selection");
    }
    let simple: Build = |g, [p, x, ..]| g.cond(p, || Ok(x * 2.0), || Ok(x + 1.0));
    for floats in [shape!["n"], shape![65], shape![?]] {
        let stats = compile(floats, simple, Backend::Jit)?.stats();
        assert_eq!(stats.host_nodes, 1);
    }
    Ok(())
}

/// A region states that `n` is 4, which holds only if a run takes the region.
#[test]
fn sizes_required_in_a_branch_that_is_not_taken_are_not_checked() -> Result<()> {
    let build: Build = |g, [p, x, _, _, y]| g.cond(p, || (x.ensure_shape(shape![4])? + y).ok(), || Ok(y));
    let exe = compile(shape!["n"], build, Backend::Jit)?;
    let feeds = feeds(false, 9, 1);
    let views: Vec<TensorView<'_>> = feeds.iter().map(Tensor::view).collect();
    assert_eq!(exe.run_all(&views)?[0], feeds[4]);
    Ok(())
}

#[test]
fn a_division_by_zero_in_a_branch_that_is_not_taken_does_not_fail() -> Result<()> {
    let build: Build = |g, [_, _, i, k, _]| g.cond(k.not_equal(0i64)?, || i.floordiv(k), || Ok(i));
    let exe = compile(shape![4], build, Backend::Jit)?;
    for (divisor, expected) in [(0, [7i64, 0, -5, 3]), (2, [3, 0, -3, 1])] {
        let feeds = feeds(true, 4, divisor);
        let views: Vec<TensorView<'_>> = feeds.iter().map(Tensor::view).collect();
        assert_eq!(exe.run_all(&views)?[0], Tensor::from(expected));
    }
    Ok(())
}
