//! Long graphs on threads with a small stack: no part of the library recurses once per node.

use shapeflow::{
    Backend, CompileOptions, DType, ErrorKind, Graph, Result, StageKind, Tensor, TensorView, Value, shape,
};

/// Runs `f` on a new thread with a stack of `kib` KiB; the default of the standard library is 2048.
pub fn run_with_stack_kib(kib: usize, f: impl FnOnce() -> Result<()> + Send + 'static) -> Result<()> {
    std::thread::Builder::new()
        .stack_size(kib << 10)
        .spawn(f)
        .unwrap()
        .join()
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

fn floats(sizes: &[usize]) -> Tensor {
    let len: usize = sizes.iter().product();
    Tensor::from_vec(sizes, (0..len).map(|index| (index % 13) as f32 / 4.0 - 1.5).collect()).unwrap()
}

/// Explains, compiles and prints a value, and compares its results on both backends.
fn exercise(g: &Graph, output: Value<'_>, feeds: &[Tensor]) -> Result<()> {
    let views: Vec<TensorView<'_>> = feeds.iter().map(Tensor::view).collect();
    assert!(output.explain()?.contains("axis 0"));
    let exe = g.compile(output)?;
    let [got] = exe.run(&views)?;
    assert!(!exe.kernels().is_empty() && !exe.clif()?.is_empty() && !exe.stats().compiles.is_empty());
    assert!(exe.snapshot(StageKind::Kernels)?.to_dot().len() > 100);
    let options = CompileOptions::new().backend(Backend::Interpreter);
    let [expected] = g.compile_with(&options, output)?.run(&views)?;
    got.allclose(&expected, 1e-4, 1e-4).unwrap();
    Ok(())
}

#[test]
fn long_chains_of_fused_ops_need_little_stack() -> Result<()> {
    run_with_stack_kib(512, || {
        let g = Graph::new();
        let x = g.input("x", DType::F32, shape!["n", ?])?;
        let mut y = x;
        for k in 0..1500 {
            y = if k % 3 == 0 { y.neg()? } else { (y + x * 0.5).relu()? };
        }
        exercise(&g, y, &[floats(&[3, 4])])
    })
}

#[test]
fn nested_branches_need_no_more_than_the_usual_stack() -> Result<()> {
    fn nested<'g>(x: Value<'g>, flag: Value<'g>, depth: usize) -> Result<Value<'g>> {
        if depth == 0 {
            return x.exp();
        }
        let taken = || Ok([(nested(x, flag, depth - 1)? + 1.0).ok()?]);
        Ok(x.graph().cond(flag, taken, || Ok([x.sort(0, false)?]))?[0])
    }
    run_with_stack_kib(2048, || {
        let g = Graph::new();
        let x = g.input("x", DType::F32, shape!["n"])?;
        let flag = g.input("flag", DType::Bool, shape![])?;
        let error = nested(x, flag, 65).unwrap_err();
        assert!(error.message().contains("must be nested at most 64 deep"), "{error}");
        let deep = nested(x, flag, 64)?;
        let feeds = [Tensor::from([0.0f32]), Tensor::from(true)];
        let views: Vec<TensorView<'_>> = feeds.iter().map(Tensor::view).collect();
        for backend in [Backend::Jit, Backend::Interpreter] {
            let exe = g.compile_with(&CompileOptions::new().backend(backend), deep)?;
            assert_eq!(exe.run::<1>(&views)?[0], Tensor::from([65.0f32]));
        }
        assert!(g.to_string().len() > 1000);
        Ok(())
    })
}

#[test]
fn long_chains_of_views_need_little_stack() -> Result<()> {
    run_with_stack_kib(512, || {
        let g = Graph::new();
        let inputs = ["x", "y", "z"].map(|name| g.input(name, DType::F32, shape![?, ?]));
        let [x, y, z] = inputs;
        let (x, y, z) = (x?, y?, z?);
        let mut view = x;
        for k in 0..300 {
            let like = [y, z, x][k % 3];
            view = view.transpose([1, 0])?.reshape([like.dim(0)?, like.dim(1)?])?;
        }
        exercise(&g, view + x * 0.0, &[floats(&[3, 4]), floats(&[2, 6]), floats(&[12, 1])])
    })
}

/// Every axis is computed from the result of the previous `reverse`, so that each `reverse` is specialized after the
/// previous `reverse` has run.
#[test]
fn long_chains_of_specializations_need_little_stack() -> Result<()> {
    const LENGTH: usize = 100;
    run_with_stack_kib(160, || {
        let g = Graph::new();
        let x = g.input("x", DType::F32, shape!["a", "b"])?;
        let mut y = x;
        for _ in 0..LENGTH {
            let axis = (y.reduce_max(..)? * 0.0).cast(DType::I32)?.reshape([1])?;
            y = y.reverse(axis)?;
        }
        let exe = g.compile([y, x.neg()?])?;
        let x = floats(&[3, 4]);
        for _ in 0..2 {
            let [same, _] = exe.run(&[x.view()])?;
            assert_eq!(same, x);
        }
        assert_eq!(exe.stats().compiles.len(), LENGTH + 1);
        Ok(())
    })
}

#[test]
fn structure_values_of_more_than_4096_elements_are_refused() -> Result<()> {
    run_with_stack_kib(512, || {
        let g = Graph::new();
        let x = g.input("x", DType::F32, shape!["n", "m"])?;
        let long = g.constant(vec![0i32; 5000])?;
        let fed = g.input("fed", DType::I32, shape![?])?;
        let feeds = [floats(&[2, 3]), Tensor::from_vec(&[5000], vec![0i32; 5000])?];
        let views = [feeds[0].view(), feeds[1].view()];
        let calls = [
            (x.reverse(long)?, "axis"),
            (x.reshape(long)?, "shape"),
            (x.reduce_sum(long)?, "axis"),
            (x.reverse(fed)?, "axis"),
            (x.reshape(fed)?, "shape"),
            (x.reduce_sum(fed)?, "axis"),
        ];
        for (value, name) in calls {
            let error = g.compile(value).and_then(|exe| exe.run_all(&views)).unwrap_err();
            let message = format!("{name} must hold integers, at most 4096 of them, got i32[5000]");
            assert_eq!(error.kind(), ErrorKind::Compile);
            assert!(error.message().ends_with(&message), "{error}");
        }
        Ok(())
    })
}
