//! Threads with a small stack: no part of a graph's road needs a stack as deep as the graph is long.

use shapeflow::{
    Backend, CompileOptions, DType, ErrorKind, Graph, Result, StageKind, Tensor, TensorView, Value, shape,
};

/// Runs `f` in a thread with a stack of so many KiB, where a thread of Rust has 2048.
fn on_a_stack_of(kib: usize, f: impl FnOnce() -> Result<()> + Send + 'static) -> Result<()> {
    std::thread::Builder::new().stack_size(kib << 10).spawn(f).unwrap().join().unwrap()
}

fn floats(sizes: &[usize]) -> Tensor {
    let len: usize = sizes.iter().product();
    Tensor::from_vec(sizes, (0..len).map(|at| (at % 13) as f32 / 4.0 - 1.5).collect()).unwrap()
}

/// Explains, compiles, runs by machine code and by the interpreter, and prints.
fn every_road(g: &Graph, output: Value<'_>, feeds: &[Tensor]) -> Result<()> {
    let views: Vec<TensorView<'_>> = feeds.iter().map(Tensor::view).collect();
    assert!(output.explain()?.contains("axis 0"));
    let exe = g.compile(output)?;
    let [made] = exe.run(&views)?;
    assert!(!exe.kernels().is_empty() && !exe.clif()?.is_empty() && !exe.stats().compiles.is_empty());
    assert!(exe.snapshot(StageKind::Kernels)?.to_dot().len() > 100);
    let options = CompileOptions::new().backend(Backend::Interpreter);
    let [expected] = g.compile_with(&options, output)?.run(&views)?;
    made.allclose(&expected, 1e-4, 1e-4).unwrap();
    Ok(())
}

#[test]
fn long_chains_of_fused_ops() -> Result<()> {
    on_a_stack_of(512, || {
        let g = Graph::new();
        let x = g.input("x", DType::F32, shape!["n", ?])?;
        let mut y = x;
        for k in 0..1500 {
            y = if k % 3 == 0 { y.neg()? } else { (y + x * 0.5).relu()? };
        }
        every_road(&g, y, &[floats(&[3, 4])])
    })
}

#[test]
fn long_chains_of_views() -> Result<()> {
    on_a_stack_of(512, || {
        let g = Graph::new();
        let inputs = ["x", "y", "z"].map(|name| g.input(name, DType::F32, shape![?, ?]));
        let [x, y, z] = inputs;
        let (x, y, z) = (x?, y?, z?);
        let mut view = x;
        for k in 0..300 {
            let like = [y, z, x][k % 3];
            view = view.transpose([1, 0])?.reshape([like.dim(0)?, like.dim(1)?])?;
        }
        every_road(&g, view + x * 0.0, &[floats(&[3, 4]), floats(&[2, 6]), floats(&[12, 1])])
    })
}

/// Every axis is computed from what the stage before gave: each reverse waits for a stage of its own.
#[test]
fn long_chains_of_stages() -> Result<()> {
    const STAGES: usize = 100;
    on_a_stack_of(160, || {
        let g = Graph::new();
        let x = g.input("x", DType::F32, shape!["a", "b"])?;
        let mut y = x;
        for _ in 0..STAGES {
            let axis = (y.reduce_max(..)? * 0.0).cast(DType::I32)?.reshape([1])?;
            y = y.reverse(axis)?;
        }
        let exe = g.compile([y, x.neg()?])?;
        let x = floats(&[3, 4]);
        for _ in 0..2 {
            let [same, _] = exe.run(&[x.view()])?;
            assert_eq!(same, x);
        }
        assert_eq!(exe.stats().compiles.len(), STAGES + 1);
        Ok(())
    })
}

#[test]
fn structure_that_no_stage_can_know_is_refused() -> Result<()> {
    on_a_stack_of(512, || {
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
