//! Loops whose number of iterations is constant and small are compiled as their iterations.

use shapeflow::{Backend, CompileOptions, DType, Graph, LoopOptions, Result, Tensor, Value, shape};

/// Adds a loop of `count` iterations over a counter and `x`, and returns the last counter and the last `x`.
fn repeat<'g>(
    g: &'g Graph,
    options: &LoopOptions,
    count: i32,
    x: Value<'g>,
    body: impl Fn(Value<'g>) -> Result<Value<'g>>,
) -> Result<Vec<Value<'g>>> {
    let start = [g.constant(0i32)?, x];
    g.while_loop_with(options, &start, |s| s[0].less(count), |s| Ok([(s[0] + 1).ok()?, body(s[1])?]))
}

fn halve(x: Value<'_>) -> Result<Value<'_>> {
    (x * 0.5 + 1.0).ok()
}

#[test]
fn short_loops_become_kernels() -> Result<()> {
    for backend in [Backend::Jit, Backend::Interpreter] {
        for count in [0, 1, 2, 16] {
            let g = Graph::new();
            let x = g.input("x", DType::F32, shape![3])?;
            let last = repeat(&g, &LoopOptions::new(), count, x.abs()?, halve)?;
            assert_eq!(last[1].shape().to_string(), "[3]");
            assert!(g.to_string().contains("while"), "the graph keeps the loop");
            let options = CompileOptions::new().backend(backend);
            let exe = g.compile_with(&options, [last[0], last[1]])?;
            if backend == Backend::Jit {
                let stats = exe.stats();
                assert_eq!((stats.regions.len(), stats.host_nodes), (0, 0));
                assert!(stats.kernels <= 2, "{}", exe.kernels());
            }
            let [counter, y] = exe.run(&[Tensor::from([1.0f32, -2.0, 8.0]).view()])?;
            let expected = [1.0f32, 2.0, 8.0].map(|x| (0..count).fold(x, |x, _| x * 0.5 + 1.0));
            assert_eq!((counter.item::<i32>()?, y), (count, Tensor::from(expected)));
        }
    }
    Ok(())
}

/// Compiles the last value of a loop, and returns the number of its regions.
fn regions(g: &Graph, last: &[Value<'_>]) -> Result<usize> {
    Ok(g.compile(last[1])?.stats().regions.len())
}

#[test]
fn other_loops_stay() -> Result<()> {
    let g = Graph::new();
    let (x, n) = (g.input("x", DType::F32, shape![3])?, g.input("n", DType::F32, shape!["n"])?);
    let free = LoopOptions::new();
    assert_eq!(regions(&g, &repeat(&g, &free, 17, x, halve)?)?, 2, "too many iterations");
    assert_eq!(regions(&g, &repeat(&g, &free, 2, n, halve)?)?, 2, "a size is unknown");
    assert_eq!(regions(&g, &repeat(&g, &LoopOptions::new().limit(9), 2, x, halve)?)?, 2, "there is a limit");
    let i = g.input("i", DType::I32, shape![3])?;
    let divided = repeat(&g, &free, 2, i, |x| g.constant(7)?.floordiv(x))?;
    assert_eq!(regions(&g, &divided)?, 2, "the error of a division by zero must name the iteration");
    let sorted = repeat(&g, &free, 2, x, |x| x.sort(0, false))?;
    assert_eq!(regions(&g, &sorted)?, 2, "a node of the body runs on the host");
    let start = [g.constant(0.0f32)?, x];
    let by_data = g.while_loop(&start, |s| s[0].less(1.0), |s| Ok([s[1].reduce_max(0)?, s[1] * 2.0]))?;
    assert_eq!(regions(&g, &by_data)?, 2, "the number of iterations depends on data");
    Ok(())
}

#[test]
fn a_short_loop_in_a_loop_and_an_unchanged_state_keep_their_results() -> Result<()> {
    let g = Graph::new();
    let (x, scale) = (g.input("x", DType::F32, shape![2])?, g.input("scale", DType::F32, shape![2])?);
    let start = [g.constant(0i32)?, x, scale];
    let last = g.while_loop(
        &start,
        |s| s[0].less(3),
        |s| {
            let inner = repeat(&g, &LoopOptions::new(), 2, s[1], |x| (x * s[2]).ok())?;
            Ok([s[0] + 1, inner[1], s[2]])
        },
    )?;
    let exe = g.compile(&last[1..])?;
    let inputs = [Tensor::from([1.0f32, 3.0]), Tensor::from([2.0f32, 0.5])];
    let [y, unchanged] = exe.run(&[inputs[0].view(), inputs[1].view()])?;
    assert_eq!((y, unchanged), (Tensor::from([64.0f32, 3.0 / 64.0]), inputs[1].clone()));
    Ok(())
}
