//! Graphs at the limits: long chains, many operands, many graphs, high ranks, tensors without elements or larger than
//! memory.

use std::time::Instant;

use shapeflow::{
    Backend, CompileOptions, DType, Dim, ErrorKind, Executable, Graph, Phase, Result, Tensor, TensorView,
    Value, concat, shape, stack,
};

use crate::env_vars;
use crate::stack::run_with_stack_kib;

/// Runs a test on a stack of a thread's default size, which is smaller than the stack of a main thread.
fn on_thread_stack(test: fn() -> Result<()>) -> Result<()> {
    run_with_stack_kib(2048, test)
}

/// Returns a count, which an environment variable overrides.
fn count(variable: &str, default: usize) -> usize {
    env_vars::number(variable).unwrap_or(default)
}

/// Returns the resident memory of this process in bytes.
#[cfg(target_os = "linux")]
fn resident_bytes() -> usize {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    text.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4096
}

/// Builds, compiles and runs a graph of several kernels, with constants, guards and an interned symbol name.
fn run_small_network(round: usize) -> Result<Vec<Tensor>> {
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape!["batch", 8])?;
    let y = g.input("y", DType::F32, shape![?, 8])?;
    let w = g.constant(vec![round as f32; 64])?.reshape([8, 8])?;
    let hidden = (x.matmul(w)? + y).relu()?;
    let exe = g.compile([hidden.softmax(-1)?, concat(&[hidden, y], 0)?.reduce_sum(0)?])?;
    let data = vec![0.5f32; 24];
    exe.run_all(&[TensorView::new(&[3, 8], &data)?, TensorView::new(&[3, 8], &data)?])
}

/// The test runs itself in a process of its own, since concurrent tests would change the resident memory.
#[cfg(target_os = "linux")]
#[test]
fn dropped_graphs_free_their_memory() -> Result<()> {
    const ALONE: &str = "SHAPEFLOW_ALONE";
    if std::env::var_os(ALONE).is_none() {
        let name = "limits::dropped_graphs_free_their_memory";
        let output = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", name, "--test-threads=1", "--nocapture"])
            .env(ALONE, "1")
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        print!("{text}");
        assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
        assert!(text.contains("1 passed"), "{text}");
        return Ok(());
    }
    let graphs = count("SHAPEFLOW_GRAPHS", 200);
    // The first graphs let allocators and the interner reach their steady size.
    for round in 0..graphs / 3 {
        run_small_network(round)?;
    }
    let before = resident_bytes();
    for round in 0..graphs {
        run_small_network(round)?;
    }
    let grown = resident_bytes().saturating_sub(before);
    println!("{graphs} graphs: {} KiB before, {} KiB more after", before >> 10, grown >> 10);
    assert!(grown < 2 << 20, "{graphs} graphs left {grown} bytes behind");
    Ok(())
}

/// Builds, compiles and runs a chain of elementwise nodes, and prints the times.
fn run_chain(nodes: usize, backend: Backend) -> Result<()> {
    let start = Instant::now();
    let g = Graph::new();
    let x = g.input("x", DType::I32, shape!["n"])?;
    let one = g.constant(1i32)?;
    let mut y = x;
    for link in 0..nodes {
        y = if link % 2 == 0 { y.add(one)? } else { y.maximum(one)? };
    }
    let built = start.elapsed();
    let exe = g.compile_with(&CompileOptions::new().backend(backend), y)?;
    println!("{nodes} nodes: built in {built:?}, compiled after {:?}", start.elapsed());
    let [result] = exe.run(&[TensorView::new(&[3], &[0i32, 5, -7])?])?;
    let expected = |x: i32| (0..nodes).fold(x, |x, link| if link % 2 == 0 { x + 1 } else { x.max(1) });
    assert_eq!(result.to_vec::<i32>()?, [0, 5, -7].map(expected));
    println!("run after {:?}", start.elapsed());
    Ok(())
}

#[test]
fn a_long_chain_needs_no_stack() -> Result<()> {
    on_thread_stack(|| run_chain(count("SHAPEFLOW_NODES", 20_000), Backend::Jit))
}

#[test]
fn interpreting_a_long_chain_needs_no_stack() -> Result<()> {
    on_thread_stack(|| run_chain(5_000, Backend::Interpreter))
}

#[test]
fn a_long_chain_of_views_needs_no_stack() -> Result<()> {
    on_thread_stack(|| {
        let g = Graph::new();
        let x = g.input("x", DType::I32, shape!["n", 2])?;
        let mut y = x;
        for _ in 0..1_000 {
            y = y.transpose([1, 0])?.reverse([0])?;
        }
        let exe = g.compile(y)?;
        let data = [1i32, 2, 3, 4];
        let [got] = exe.run(&[TensorView::new(&[2, 2], &data)?])?;
        // Each pair rotates the matrix by a quarter turn, so 1000 pairs are the identity.
        assert_eq!((got.sizes(), got.to_vec::<i32>()?), (&[2, 2][..], data.to_vec()));
        Ok(())
    })
}

/// Every size is an expression of the previous size, and inference simplifies the expressions.
#[test]
fn a_long_chain_of_sizes_gives_a_small_expression() -> Result<()> {
    on_thread_stack(|| {
        let g = Graph::new();
        let x = g.input("x", DType::I32, shape!["n"])?;
        let mut y = x;
        for _ in 0..500 {
            y = y.pad([1, 0])?;
        }
        assert_eq!(y.shape().to_string(), "[n+500]");
        let [got] = g.compile(y)?.run(&[TensorView::new(&[1], &[9i32])?])?;
        assert_eq!((got.len(), got.to_vec::<i32>()?.last().copied()), (501, Some(9)));
        Ok(())
    })
}

#[test]
fn a_wide_graph_needs_no_stack() -> Result<()> {
    on_thread_stack(|| {
        let width = count("SHAPEFLOW_WIDTH", 500);
        let g = Graph::new();
        let x = g.input("x", DType::I64, shape!["n"])?;
        let branches: Vec<Value<'_>> =
            (0..width).map(|branch| (x * (branch as i64)).ok()).collect::<Result<_>>()?;
        let sum: Value<'_> = branches.iter().copied().sum();
        let joined = concat(&branches, 0)?;
        let [sum, joined] = g.compile([sum, joined])?.run(&[TensorView::new(&[2], &[1i64, 3])?])?;
        let total = (width * (width - 1) / 2) as i64;
        assert_eq!(sum.to_vec::<i64>()?, [total, 3 * total]);
        assert_eq!(joined.sizes(), [2 * width]);
        assert_eq!(joined.to_vec::<i64>()?[2 * width - 1], 3 * (width as i64 - 1));
        Ok(())
    })
}

#[test]
fn graphs_may_have_many_inputs_and_outputs() -> Result<()> {
    let g = Graph::new();
    let mut outputs = Vec::new();
    for number in 0..300 {
        let x = g.input(&format!("x{number}"), DType::I32, shape!["n"])?;
        outputs.push((x + number).ok()?);
    }
    let exe = g.compile(&outputs)?;
    let data = [[1i32, 2]; 300];
    let feeds: Vec<TensorView<'_>> =
        data.iter().map(|data| TensorView::new(&[2], data)).collect::<Result<_>>()?;
    for (number, result) in exe.run_all(&feeds)?.iter().enumerate() {
        assert_eq!(result.to_vec::<i32>()?, [1 + number as i32, 2 + number as i32]);
    }
    Ok(())
}

/// A value that is added to itself 30 times has 2^30 paths to the input, but its kernel has 30 additions.
#[test]
fn shared_subexpressions_are_computed_once() -> Result<()> {
    let doubled = |times: usize| -> Result<(Graph, Executable)> {
        let g = Graph::new();
        let x = g.input("x", DType::I64, shape!["n"])?;
        let y = (0..times).fold(x, |y, _| y + y);
        let exe = g.compile(y)?;
        Ok((g, exe))
    };
    let (_, one) = doubled(1)?;
    let (g, thirty) = doubled(30)?;
    assert_eq!(g.len(), 31);
    assert_eq!(thirty.stats().kernels, 1);
    let lines = |exe: &Executable| exe.kernels().lines().count();
    assert!(lines(&thirty) <= lines(&one) + 29, "{}", thirty.kernels());
    let (bytes, least) = (thirty.stats().code_bytes, one.stats().code_bytes);
    assert!(bytes < 16 * least, "{bytes} bytes of code, {least} for one addition");
    let [y] = thirty.run(&[TensorView::new(&[2], &[1i64, -3])?])?;
    assert_eq!(y.to_vec::<i64>()?, [1 << 30, -3 << 30]);
    Ok(())
}

#[test]
fn tensors_may_have_rank_twenty() -> Result<()> {
    let g = Graph::new();
    let mut dims = vec![Dim::known(1); 20];
    (dims[0], dims[19]) = (Dim::symbol("a"), Dim::symbol("b"));
    let x = g.input("x", DType::I32, dims)?;
    assert_eq!(x.shape().rank(), Some(20));
    let perm: Vec<i64> = (0..20).rev().collect();
    let swapped = x.transpose(&perm[..])?;
    let y = (swapped + 1).ok()?;
    let sums = y.reduce_sum([0, 7])?;
    let mut paddings = [0i64; 40];
    (paddings[0], paddings[39]) = (1, 2);
    let wide = y.pad(paddings)?;
    let exe = g.compile([y, sums, wide])?;
    let mut sizes = [1usize; 20];
    (sizes[0], sizes[19]) = (2, 3);
    let [y, sums, wide] = exe.run(&[TensorView::new(&sizes, &[1i32, 2, 3, 4, 5, 6])?])?;
    assert_eq!(y.to_vec::<i32>()?, [2, 5, 3, 6, 4, 7]);
    assert_eq!((sums.sizes().len(), sums.to_vec::<i32>()?), (18, vec![9, 18]));
    assert_eq!((wide.sizes()[0], wide.sizes()[19], wide.len()), (4, 4, 16));
    Ok(())
}

/// Covers every kind of access to tensors without elements.
#[test]
fn empty_tensors_have_the_right_sizes_and_reductions() -> Result<()> {
    for backend in [Backend::Jit, Backend::Interpreter] {
        let g = Graph::new();
        let x = g.input("x", DType::F32, shape!["n", "m"])?;
        let i = g.input("i", DType::I64, shape!["k"])?;
        let outputs = [
            (x * 2.0 + 1.0).relu()?,
            x.transpose([1, 0])?,
            concat(&[x, x], 0)?,
            stack(&[x, x], 1)?,
            x.softmax(-1)?,
            x.reduce_sum(..)?,
            x.reduce_sum(1)?,
            x.reduce_max(0)?,
            x.reverse([0, 1])?,
            x.tile([2, 3])?,
            x.reshape([-1])?,
            x.matmul(x.t()?)?,
            x.gather(i, 0)?,
            i.one_hot(4, 1i64, 0i64, -1)?,
            x.shape_tensor()?,
            x.pad([1; 4])?,
        ];
        let exe = g.compile_with(&CompileOptions::new().backend(backend), outputs)?;
        for (n, m) in [(0, 0), (0, 3), (3, 0)] {
            let sizes = [n, m];
            let x = TensorView::new(&sizes, &[] as &[f32])?;
            let got = exe.run_all(&[x.clone(), TensorView::new(&[0], &[] as &[i64])?])?;
            let got: Vec<&[usize]> = got.iter().map(Tensor::sizes).collect();
            let expected: [&[usize]; 16] = [
                &[n, m],
                &[m, n],
                &[2 * n, m],
                &[n, 2, m],
                &[n, m],
                &[],
                &[n],
                &[m],
                &[n, m],
                &[2 * n, 3 * m],
                &[0],
                &[n, n],
                &[0, m],
                &[0, 4],
                &[2],
                &[n + 2, m + 2],
            ];
            assert_eq!(got, expected, "[{n}, {m}]");
            let results = exe.run_all(&[x, TensorView::new(&[0], &[] as &[i64])?])?;
            assert_eq!(results[5].item::<f32>()?, 0.0);
            assert!(results[6].to_vec::<f32>()?.iter().all(|sum| *sum == 0.0));
            assert!(results[7].to_vec::<f32>()?.iter().all(|most| *most == f32::NEG_INFINITY));
            assert!(results[11].to_vec::<f32>()?.iter().all(|product| *product == 0.0));
            assert_eq!(results[14].to_vec::<i64>()?, [n as i64, m as i64]);
            assert!(results[15].to_vec::<f32>()?.iter().all(|padding| *padding == 0.0));
        }
    }
    Ok(())
}

#[test]
fn the_memory_limit_names_the_largest_value() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape!["n"])?;
    let square = x.reshape([-1, 1])?.mul(x)?.named("square");
    let y = square.matmul(square)?.reduce_sum(..)?;
    let exe = g.compile_with(&CompileOptions::new().memory_limit(1 << 20), y)?;
    let small = vec![0.5f32; 10];
    assert_eq!(exe.run::<1>(&[TensorView::new(&[10], &small)?])?[0].len(), 1);
    let large = vec![0.5f32; 1000];
    let error = exe.run_all(&[TensorView::new(&[1000], &large)?]).unwrap_err();
    assert_eq!((error.kind(), error.phase()), (ErrorKind::Memory, Phase::Run));
    let text = error.to_string();
    for part in ["1048576", "with 4000000 bytes", "limits.rs"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert_eq!(exe.run::<1>(&[TensorView::new(&[10], &small)?])?[0].len(), 1);
    Ok(())
}

/// Covers sizes whose product overflows, as a number of elements or of bytes.
#[test]
fn overflowing_sizes_are_refused_at_run_time() -> Result<()> {
    for backend in [Backend::Jit, Backend::Interpreter] {
        for (a, b, c) in [
            (1 << 31, 1 << 31, 1 << 31),
            (i64::MAX, 1, 1),
            (i64::MAX, i64::MAX, i64::MAX),
            (1 << 62, 2, 1),
            (1 << 60, 1, 1),
            (0, i64::MAX, 1),
        ] {
            let g = Graph::new();
            let dims = g.input("dims", DType::I64, [3])?;
            let filled = g.fill(dims, 1.0f64)?;
            let doubled = concat(&[filled, filled], 1)?;
            let sum = (filled * 3.0).reduce_sum(..)?;
            let options = CompileOptions::new().backend(backend);
            let sizes = [a, b, c];
            let feed = TensorView::new(&[3], &sizes)?;
            for (output, name) in [(filled, "fill"), (doubled, "concat")] {
                let exe = g.compile_with(&options, output)?;
                if a == 0 && name == "fill" {
                    assert_eq!(exe.run::<1>(std::slice::from_ref(&feed))?[0].len(), 0);
                    continue;
                }
                let error = exe.run_all(std::slice::from_ref(&feed)).expect_err(name);
                assert_eq!(error.phase(), Phase::Run, "{sizes:?}: {error}");
            }
            // A reduction of the larger sizes would not end, so only the empty one runs.
            if a == 0 {
                let [sum] = g.compile_with(&options, sum)?.run(&[feed])?;
                assert_eq!(sum.item::<f64>()?, 0.0);
            }
        }
    }
    Ok(())
}

/// A parameter that is computed from a constant of 2^80 elements stays unknown until run time.
#[test]
fn constants_with_overflowing_element_counts_are_not_folded() -> Result<()> {
    let g = Graph::new();
    let huge = g.fill([1i64 << 40, 1 << 40], 1i64)?;
    let multiples = huge.reduce_max(..)?.reshape([1])?;
    let x = g.input("x", DType::F32, shape!["n"])?;
    assert_eq!(x.tile(multiples)?.shape().rank(), Some(1));
    Ok(())
}

#[test]
fn ops_on_dimensions_near_overflow_do_not_panic() -> Result<()> {
    let g = Graph::new();
    let n = Dim::symbol("n");
    let x = g.input("x", DType::F32, shape![i64::MAX, i64::MAX, n])?;
    let outcomes = [
        concat(&[x, x], 0),
        x.reshape([-1]),
        x.tile([2, 1, 1]),
        x.pad([i64::MAX, i64::MAX, 0, 0, 0, 0]),
        x.slice([i64::MAX, 0, 0], [i64::MAX, 1, 1]),
    ];
    for outcome in outcomes {
        if let Err(error) = outcome {
            assert_eq!(error.phase(), Phase::Build, "{error}");
        }
    }
    assert!(g.input("y", DType::F32, [-1]).is_err());
    assert!(g.input("z", DType::F32, shape![i64::MIN]).is_err());
    // Views and tensors of more elements than memory holds are refused.
    assert!(TensorView::new(&[usize::MAX, 2], &[0.0f32]).is_err());
    assert!(Tensor::zeros(DType::F64, &[usize::MAX / 2, 3]).is_err());
    assert!(Tensor::zeros(DType::F64, &[isize::MAX as usize]).is_err());
    Ok(())
}

#[test]
fn sizes_that_no_memory_has_are_refused_with_their_op() -> Result<()> {
    let g = Graph::new();
    let k = g.input("k", DType::I64, shape![])?;
    let size = k.as_dim("k")?;
    let line = line!() + 1;
    let filled = g.fill(shape![&size], 1.5f32)?;
    let one_hot = g.constant([1i64, 2])?.one_hot(&size, 1.0f32, 0.0f32, -1)?;
    let doubled = (filled * 2.0).ok()?;
    let frequencies = g.constant([1.0f32, 2.0])?.rfft([&size])?;
    let real = frequencies.real()?;
    let values = [filled, one_hot, doubled, frequencies, real];
    for (value, line) in values.into_iter().zip(line..) {
        let error = g.compile(value)?.run::<1>(&[Tensor::scalar(i64::MAX).view()]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Memory, "{error}");
        let is_named = error.message().contains(&format!("limits.rs:{line}"));
        let is_located = error.location().is_some_and(|location| location.line() == line);
        assert!(is_named || is_located, "{error}");
    }
    Ok(())
}

#[test]
fn the_memory_limit_counts_what_host_ops_make() -> Result<()> {
    const LIMIT: usize = 1 << 20;
    let g = Graph::new();
    let n = g.input("n", DType::I64, shape![])?;
    let size = n.as_dim("size")?;
    let counted = g.constant([1i64])?.bincount(n)?;
    let drawn = g.constant([1i64, 2])?.random_uniform([1 << 20], DType::F32)?;
    let scattered = g.constant([[0i64]])?.scatter_nd(g.constant([1.0f32])?, [&size])?;
    let sorted = g.fill([&size], 1.0f32)?.sort(0, false)?;
    let doubled = g.while_loop(
        &[g.constant(0i64)?, g.constant("long enough")?],
        |state| state[0].less(n),
        |state| Ok([(state[0] + 1).ok()?, state[1].string_add(state[1])?]),
    )?;
    for (output, small, large) in [
        (counted, 10, 1 << 27),
        (scattered, 10, 1 << 27),
        (sorted, 10, 200_000),
        (doubled[1], 10, 30),
        (drawn, -1, 1),
    ] {
        let exe = g.compile_with(&CompileOptions::new().memory_limit(LIMIT), output)?;
        let needed = exe.inputs()[0].needed;
        let run = |n: i64| {
            exe.run_all(
                if needed { vec![Tensor::scalar(n)] } else { vec![] }
                    .iter()
                    .map(Tensor::view)
                    .collect::<Vec<_>>()
                    .as_slice(),
            )
        };
        assert!(small < 0 || run(small).is_ok());
        let error = run(large).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Memory, "{error}");
        assert!(error.message().contains("the memory limit of 1048576 bytes"), "{error}");
        assert!(error.op().is_some() && error.location().is_some(), "{error}");
    }
    Ok(())
}
