//! Runs that another thread cancels.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use shapeflow::{
    Backend, CompileOptions, DType, Dim, Error, ErrorKind, Executable, Graph, HostCx, Isa, OpDef, Operand,
    Result, Tensor, TensorView, Value, shape, shape_fns,
};

fn new_token() -> Arc<AtomicBool> {
    Arc::new(AtomicBool::new(false))
}

/// Runs the executable with a token that becomes true after `delay`. Returns the error and the time between the token
/// and the end of the run.
fn cancelled_after(delay: Duration, exe: &Executable, inputs: &[TensorView<'_>]) -> (Error, Duration) {
    let token = new_token();
    let mut runner = exe.runner().cancel(token.clone());
    let set = std::thread::spawn(move || {
        std::thread::sleep(delay);
        token.store(true, Ordering::Relaxed);
        Instant::now()
    });
    let error = runner.run(inputs).unwrap_err();
    let end = Instant::now();
    let set = set.join().unwrap();
    assert_eq!(error.kind(), ErrorKind::Cancelled, "{error}");
    (error, end.saturating_duration_since(set))
}

fn endless<'g>(g: &'g Graph, body: impl Fn(Value<'g>) -> Result<Value<'g>>) -> Result<Vec<Value<'g>>> {
    let zero = g.constant(0i64)?;
    g.while_loop(&[zero], |s| s[0].greater_equal(0i64), |s| body(s[0]))
}

#[test]
fn a_cancelled_run_ends_and_a_later_run_succeeds() -> Result<()> {
    for backend in [Backend::Jit, Backend::Interpreter] {
        let g = Graph::new();
        let x = g.input("x", DType::F32, shape!["n"])?;
        let exe = g.compile_with(&CompileOptions::new().backend(backend), (x * 2.0).sort(0, false)?)?;
        let token = new_token();
        let (x, doubled) = (Tensor::from([2.0f32, 1.0]), Tensor::from([2.0f32, 4.0]));
        let mut runner = exe.runner().cancel(token.clone());
        let mut bound = exe.bind(&[x.view()])?.cancel(token.clone());
        for _ in 0..2 {
            token.store(true, Ordering::Relaxed);
            let error = runner.run(&[x.view()]).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Cancelled);
            assert!(error.message().contains("the run was cancelled"), "{error}");
            assert_eq!(bound.run().unwrap_err().kind(), ErrorKind::Cancelled);
            let error = exe.feed("x", &x).cancel(token.clone()).run().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Cancelled);
            token.store(false, Ordering::Relaxed);
            assert_eq!(runner.run(&[x.view()])?, std::slice::from_ref(&doubled));
            bound.run()?;
            assert_eq!(bound.output(0)?.to_tensor()?, doubled);
            exe.feed("x", &x).cancel(token.clone()).run()?;
        }
    }
    Ok(())
}

#[test]
fn loops_and_branches_inside_a_run_are_cancelled() -> Result<()> {
    let g = Graph::new();
    let flag = g.input("flag", DType::Bool, shape![])?;
    let nested =
        g.cond(flag, || endless(&g, |s| Ok(endless(&g, |t| Ok(t * 1i64))?[0] + s)), || g.constant(0i64))?;
    let exe = g.compile(&nested)?;
    let (error, _) = cancelled_after(Duration::from_millis(5), &exe, &[Tensor::scalar(true).view()]);
    assert!(error.to_string().contains("cancelled"), "{error}");
    assert_eq!(exe.run_all(&[Tensor::scalar(false).view()])?[0].item::<i64>()?, 0);
    // The state changes its sizes, so the loop is not bound to memory.
    let growing = Graph::new();
    let one = growing.constant([1i64])?;
    let options = shapeflow::LoopOptions::new().shape(0, shape![?]);
    let grown = growing.while_loop_with(
        &options,
        &[one],
        |s| s[0].reduce_max(0)?.greater(0i64),
        |s| shapeflow::concat(&[s[0], one], 0),
    )?;
    cancelled_after(Duration::from_millis(2), &growing.compile(&grown)?, &[]);
    Ok(())
}

#[test]
fn a_large_kernel_and_a_large_matmul_end_early() -> Result<()> {
    for threads in [1, 2] {
        let options = CompileOptions::new().threads(threads);
        let g = Graph::new();
        let x = g.input("x", DType::F32, shape!["n"])?;
        let mut y = x;
        for _ in 0..40 {
            y = y.tan()?.lgamma()?;
        }
        let exe = g.compile_with(&options, y)?;
        let x = Tensor::zeros(DType::F32, &[20_000_000])?;
        let (_, kernel) = cancelled_after(Duration::from_millis(20), &exe, &[x.view()]);
        let mut bound = exe.bind(&[x.view()])?;
        let token = new_token();
        bound = bound.cancel(token.clone());
        let set = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(20));
            token.store(true, Ordering::Relaxed);
        });
        assert_eq!(bound.run().unwrap_err().kind(), ErrorKind::Cancelled);
        set.join().unwrap();
        let a = g.input("a", DType::F64, shape!["m", "m"])?;
        let exe = g.compile_with(&options, a.matmul(a)?)?;
        let a = Tensor::zeros(DType::F64, &[3000, 3000])?;
        let (_, matmul) = cancelled_after(Duration::from_millis(20), &exe, &[a.view()]);
        println!("{threads} threads: a kernel ends after {kernel:?}, a matmul after {matmul:?}");
    }
    Ok(())
}

/// The elements of these rows are in no memory, so a run could take days.
#[test]
fn a_row_of_any_length_ends_early() -> Result<()> {
    let present = [Isa::Clif, Isa::Avx2, Isa::Avx512].into_iter().filter(|isa| isa.is_present());
    for (isa, threads) in present.flat_map(|isa| [(isa, 1), (isa, 2)]) {
        let options = CompileOptions::new().isa(isa).threads(threads);
        let g = Graph::new();
        let n = g.input("n", DType::I64, shape![])?.as_dim("n")?;
        let numbers = g.range(0, &n, 1)?;
        let row = [numbers.reduce_min(0)?, numbers.cast(DType::F64)?.sin()?.reduce_sum(0)?];
        // A loop around a short inner axis, and columns beside each other.
        let spread = |columns: i64| g.range(0, columns, 1)?.broadcast_to([n.clone(), Dim::known(columns)]);
        let short = [spread(3)?.reduce_max([0, 1])?, spread(3)?.reduce_max(0)?];
        let columns = [spread(500)?.reduce_sum(0)?, spread(5000)?.reduce_max(0)?];
        let twice = (numbers.cast(DType::F32)? - numbers.cast(DType::F32)?.reduce_mean(0)?).square()?;
        let outputs = row.into_iter().chain(short).chain(columns).chain([twice.reduce_sum(0)?]);
        for (number, output) in outputs.enumerate() {
            let exe = g.compile_with(&options, output)?;
            let n = Tensor::scalar(1i64 << 45);
            let (error, late) = cancelled_after(Duration::from_millis(5), &exe, &[n.view()]);
            println!("{isa:?}, {threads} threads: output {number} ends after {late:?}");
            assert!(error.message().contains("cancelled"), "{error}");
            let token = new_token();
            let small = exe.runner().cancel(token).run(&[Tensor::scalar(9000i64).view()])?;
            assert_eq!(small, exe.run_all(&[Tensor::scalar(9000i64).view()])?);
        }
    }
    Ok(())
}

#[test]
fn results_do_not_depend_on_the_token() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape!["n", "m"])?;
    let outputs = [x.sin()?, x.reduce_sum(0)?, x.reduce_sum(1)?, x.transpose([1, 0])?, x.softmax(-1)?];
    let left = x.slice([0, 0], [400, -1])?;
    let product = left.matmul(left.transpose([1, 0])?)?;
    let exe = g.compile(outputs.into_iter().chain([product]).collect::<Vec<_>>())?;
    let elements: Vec<f32> = (0..900 * 1100).map(|number| (number as f32).sin()).collect();
    let x = TensorView::new(&[900, 1100], &elements)?;
    let plain = exe.run_all(std::slice::from_ref(&x))?;
    assert_eq!(exe.runner().cancel(new_token()).run(std::slice::from_ref(&x))?, plain);
    let mut bound = exe.bind(&[x])?.cancel(new_token());
    bound.run()?;
    for (number, expected) in plain.iter().enumerate() {
        assert_eq!(&bound.output(number)?.to_tensor()?, expected);
    }
    Ok(())
}

#[test]
fn a_cancelled_run_does_not_search_for_a_wrong_index() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::F32, shapeflow::TensorShape::unranked())?;
    let index = g.input("index", DType::I32, shape![1])?;
    let exe = g.compile(x.gather(index, 0)?)?;
    let inputs = [TensorView::new(&[0], &[0.0f32; 0])?, TensorView::new(&[1], &[5i32])?];
    assert_eq!(exe.run_all(&inputs).unwrap_err().kind(), ErrorKind::Index);
    let token = new_token();
    token.store(true, Ordering::Relaxed);
    assert_eq!(exe.runner().cancel(token).run(&inputs).unwrap_err().kind(), ErrorKind::Cancelled);
    Ok(())
}

#[test]
fn a_host_op_of_the_user_can_ask() -> Result<()> {
    static STARTED: AtomicBool = AtomicBool::new(false);
    fn wait(cx: &mut HostCx<'_>) -> Result<()> {
        STARTED.store(true, Ordering::Relaxed);
        while !cx.is_cancelled() {
            std::thread::yield_now();
        }
        Err(Error::msg("the op stopped"))
    }
    static WAIT: OpDef =
        OpDef::host("wait", wait).operands(&[Operand::Data("x")]).shape_fn(shape_fns::common::unary);
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape!["n"])?;
    let exe = g.compile(g.op(&WAIT).data(x).finish()?)?;
    let token = new_token();
    let mut runner = exe.runner().cancel(token.clone());
    let set = std::thread::spawn(move || {
        while !STARTED.load(Ordering::Relaxed) {
            std::thread::yield_now();
        }
        token.store(true, Ordering::Relaxed);
    });
    let error = runner.run(&[Tensor::from([1.0f32]).view()]).unwrap_err();
    assert!(error.message().contains("the op stopped"), "{error}");
    set.join().unwrap();
    Ok(())
}
