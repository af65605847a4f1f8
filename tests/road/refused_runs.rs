//! Mistakes that a run or a call refuses. Both backends give an error of the same kind and phase, and later runs still
//! work.

use std::sync::Arc;

use shapeflow::{
    Backend, CompileOptions, DType, Error, ErrorKind, Executable, Graph, HostCx, OpDef, Operand, Phase,
    Result, Tensor, TensorView, TensorViewMut, Value, concat, shape, shape_fns,
};

const BACKENDS: [Backend; 2] = [Backend::Jit, Backend::Interpreter];

fn compile(g: &Graph, backend: Backend, output: Value<'_>) -> Result<Executable> {
    g.compile_with(&CompileOptions::new().backend(backend), output)
}

/// Checks that an outcome is an error of this kind and phase whose text contains all `parts`.
#[track_caller]
fn expect_error<T>(outcome: Result<T>, kind: ErrorKind, phase: Phase, parts: &[&str]) -> Error {
    let Err(error) = outcome else { panic!("an error with {parts:?} was expected") };
    let text = error.to_string();
    assert_eq!((error.kind(), error.phase()), (kind, phase), "{text}");
    for part in parts {
        assert!(text.contains(part), "{part:?} is missing in {text}");
    }
    error
}

/// Nothing stores the shape of the reshape, so the search for the wrong index lacks its elements.
#[test]
fn a_wrong_index_after_a_reshape_is_found() -> Result<()> {
    for backend in BACKENDS {
        let g = Graph::new();
        let (x, index) = (g.input("x", DType::F32, shape!["n"])?, g.input("index", DType::I32, shape!["k"])?);
        let count = concat(&[g.constant([0i64; 0])?, x.shape_tensor()?.reduce_prod(0)?.expand_dims(0)?], 0)?;
        let exe = compile(&g, backend, x.reshape(count)?.gather(index, 0)?)?;
        let run = |index: &[i32]| {
            exe.run_all(&[TensorView::new(&[2], &[1.0f32, 2.0])?, TensorView::new(&[index.len()], index)?])
        };
        assert_eq!(run(&[1, 0])?[0], Tensor::from([2.0f32, 1.0]));
        expect_error(
            run(&[0, 2]),
            ErrorKind::Index,
            Phase::Run,
            &["must lie in [0, 2), got 2 at [1] in operand 1"],
        );
    }
    Ok(())
}

#[test]
fn feeds_of_wrong_dtype_shape_or_count_are_refused() -> Result<()> {
    for backend in BACKENDS {
        let g = Graph::new();
        let x = g.input("x", DType::F32, shape!["n", 2])?;
        let y = g.input("y", DType::F32, shape!["n"])?;
        let exe = compile(&g, backend, (x.reduce_sum(1)? + y).ok()?)?;
        let floats = [0.5f32; 8];
        let doubles = [0.5f64; 8];
        let good_x = TensorView::new(&[3, 2], &floats[..6])?;
        let good_y = TensorView::new(&[3], &floats[..3])?;
        let refuses = |parts: &[&str], feeds: &[TensorView<'_>]| {
            expect_error(exe.run_all(feeds), ErrorKind::Feed, Phase::Run, parts);
            let mut out = [0.0f32; 3];
            let mut runner = exe.runner();
            let sizes = [3];
            let outcome =
                TensorViewMut::new(&sizes, &mut out).and_then(|view| runner.run_into(feeds, &mut [view]));
            expect_error(outcome, ErrorKind::Feed, Phase::Run, parts);
        };
        refuses(&["\"x\"", "f64[3, 2]"], &[TensorView::new(&[3, 2], &doubles[..6])?, good_y.clone()]);
        let strings = Tensor::from_strings(&[3, 2], &["a"; 6])?;
        refuses(&["\"x\"", "got string[3, 2]"], &[strings.view(), good_y.clone()]);
        refuses(&["\"x\"", "rank"], &[TensorView::new(&[6], &floats[..6])?, good_y.clone()]);
        refuses(&["\"x\"", "axis 1"], &[TensorView::new(&[2, 3], &floats[..6])?, good_y.clone()]);
        refuses(&["\"y\"", "axis 0", "3"], &[good_x.clone(), TensorView::new(&[4], &floats[..4])?]);
        refuses(&["2 inputs", "got 1"], std::slice::from_ref(&good_x));
        refuses(&["2 inputs", "got 3"], &[good_x.clone(), good_y.clone(), good_y.clone()]);
        refuses(&["2 inputs", "got 0"], &[]);
        let refuses_named = |feeds: &[(&str, TensorView<'_>)], parts: &[&str]| {
            expect_error(exe.run_named(feeds), ErrorKind::Feed, Phase::Run, parts);
        };
        refuses_named(&[("x", good_x.clone())], &["\"y\"", "must be fed"]);
        refuses_named(
            &[("x", good_x.clone()), ("y", good_y.clone()), ("z", good_y.clone())],
            &["\"z\" is not an input"],
        );
        refuses_named(
            &[("x", good_x.clone()), ("y", good_y.clone()), ("y", good_y.clone())],
            &["\"y\"", "once"],
        );
        expect_error(
            exe.run::<2>(&[good_x.clone(), good_y.clone()]),
            ErrorKind::Attribute,
            Phase::Run,
            &["must be 1", "got 2"],
        );
        let [sum] = exe.run(&[good_x, good_y])?;
        assert_eq!(sum.to_vec::<f32>()?, [1.5; 3]);
    }
    Ok(())
}

#[test]
fn output_memory_of_wrong_size_or_dtype_is_refused() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape!["n"])?;
    let exe = g.compile((x * 2.0).ok()?)?;
    let data = [1.0f32, 2.0];
    let feeds = [TensorView::new(&[2], &data)?];
    let mut runner = exe.runner();
    let mut three = [0.0f32; 3];
    let mut doubles = [0.0f64; 2];
    for (name, view) in
        [("sizes", TensorViewMut::new(&[3], &mut three)?), ("dtype", TensorViewMut::new(&[2], &mut doubles)?)]
    {
        let mut views = [view];
        assert_eq!(runner.run_into(&feeds, &mut views).expect_err(name).kind(), ErrorKind::Feed);
    }
    expect_error(
        runner.run_into(&feeds, &mut []),
        ErrorKind::Attribute,
        Phase::Run,
        &["one for each output"],
    );
    Ok(())
}

#[test]
fn guards_are_checked_at_run_time() -> Result<()> {
    for backend in BACKENDS {
        let (g, h) = (Graph::new(), Graph::new());
        let folded = compile(&h, backend, h.input("x", DType::F32, shape!["n"])?.reshape([3, -1])?)?;
        let x = g.input("x", DType::F32, shape!["n"])?;
        let i = g.input("begin", DType::I64, shape![1])?;
        let sliced = compile(&g, backend, x.slice(i, [2])?)?;
        let data = [1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0];
        expect_error(
            folded.run_all(&[TensorView::new(&[5], &data[..5])?]),
            ErrorKind::Guard,
            Phase::Run,
            &["reshape", "5", file!()],
        );
        assert_eq!(folded.run::<1>(&[TensorView::new(&[6], &data)?])?[0].sizes(), [3, 2]);
        let x = TensorView::new(&[6], &data)?;
        for begin in [5i64, -1, i64::MAX, i64::MIN] {
            let error = sliced.run_all(&[x.clone(), TensorView::new(&[1], &[begin])?]).unwrap_err();
            assert_eq!(error.phase(), Phase::Run, "{error}");
            assert!(error.to_string().contains("slice"), "{error}");
        }
        let [two] = sliced.run(&[x, TensorView::new(&[1], &[4i64])?])?;
        assert_eq!(two.to_vec::<f32>()?, [5.0, 6.0]);
    }
    Ok(())
}

#[test]
fn indices_out_of_range_are_refused() -> Result<()> {
    for backend in BACKENDS {
        let g = Graph::new();
        let x = g.input("x", DType::F32, shape!["n", "m"])?;
        let i = g.input("i", DType::I64, shape!["k"])?;
        let exe = compile(&g, backend, (x.gather(i, 1)? * 2.0).ok()?)?;
        let data = [1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0];
        let x = TensorView::new(&[2, 3], &data)?;
        for (bad, indices) in
            [("3", [0i64, 3, 1]), ("-1", [-1, 0, 0]), ("-9223372036854775808", [0, 0, i64::MIN])]
        {
            let outcome = exe.run_all(&[x.clone(), TensorView::new(&[3], &indices)?]);
            expect_error(outcome, ErrorKind::Index, Phase::Run, &["gather", bad, "3", "axis 1", file!()]);
        }
        let [good] = exe.run(&[x, TensorView::new(&[3], &[2i64, 0, 2])?])?;
        assert_eq!(good.to_vec::<f32>()?, [6.0, 2.0, 6.0, 12.0, 8.0, 12.0]);
    }
    Ok(())
}

#[test]
fn integer_division_by_zero_is_refused() -> Result<()> {
    type Divide = for<'g> fn(Value<'g>, Value<'g>) -> Result<Value<'g>>;
    let ops: [(&str, Divide); 4] = [
        ("floordiv", |a, b| a.floordiv(b)),
        ("truncatediv", |a, b| a.truncatediv(b)),
        ("floormod", |a, b| a.floormod(b)),
        ("truncatemod", |a, b| a.truncatemod(b)),
    ];
    for backend in BACKENDS {
        for (name, divide) in ops {
            let g = Graph::new();
            let a = g.input("a", DType::I32, shape!["n"])?;
            let b = g.input("b", DType::I32, shape!["n"])?;
            let exe = compile(&g, backend, (divide(a, b)? + 1).ok()?)?;
            let a = [7i32, i32::MIN, -7];
            let a = TensorView::new(&[3], &a)?;
            let outcome = exe.run_all(&[a.clone(), TensorView::new(&[3], &[2i32, 1, 0])?]);
            expect_error(outcome, ErrorKind::DivideByZero, Phase::Run, &[name, file!()]);
            // The smallest number divided by -1 wraps and does not trap.
            let [got] = exe.run(&[a, TensorView::new(&[3], &[2i32, -1, 2])?])?;
            let expected = match name {
                "floordiv" => [4, i32::MIN + 1, -3],
                "truncatediv" => [4, i32::MIN + 1, -2],
                "floormod" => [2, 1, 2],
                _ => [2, 1, 0],
            };
            assert_eq!(got.to_vec::<i32>()?, expected, "{name}");
        }
    }
    Ok(())
}

static SHAPE_PANICS: OpDef = OpDef::compute("shape_panics", |cx, _, index| cx.operand(0, index))
    .operands(&[Operand::Data("x")])
    .shape_fn(|_| panic!("no shape today"));
static BODY_PANICS: OpDef = OpDef::compute("body_panics", |_, _, _| panic!("no body today"))
    .operands(&[Operand::Data("x")])
    .shape_fn(shape_fns::common::unary);
static BODY_READS_ELSEWHERE: OpDef =
    OpDef::compute("body_reads_elsewhere", |cx, _, index| cx.operand(7, index))
        .operands(&[Operand::Data("x")])
        .shape_fn(shape_fns::common::unary);
static DTYPE_PANICS: OpDef = OpDef::compute("dtype_panics", |cx, _, index| cx.operand(0, index))
    .operands(&[Operand::Data("x")])
    .shape_fn(shape_fns::common::unary)
    .dtype_rule(|_, _| panic!("no dtype today"));
static KERNEL_PANICS: OpDef = OpDef::host("kernel_panics", |_| panic!("no kernel today"))
    .operands(&[Operand::Data("x")])
    .shape_fn(shape_fns::common::unary);
static KERNEL_GIVES_NOTHING: OpDef = OpDef::host("kernel_gives_nothing", |_| Ok(()))
    .operands(&[Operand::Data("x")])
    .shape_fn(shape_fns::common::unary);
static COMPOSITE_PANICS: OpDef = OpDef::composite("composite_panics", |_, _| panic!("no parts today"));

/// A panic in a custom op becomes an error that names the op and its location; the rest of the graph still works.
#[test]
fn panics_in_custom_ops_are_errors() -> Result<()> {
    for backend in BACKENDS {
        let g = Graph::new();
        let x = g.input("x", DType::F32, shape!["n"])?;
        let data = [1.0f32, 2.0];
        let feed = TensorView::new(&[2], &data)?;
        for (def, panic_text) in [
            (&SHAPE_PANICS, "no shape today"),
            (&BODY_PANICS, "no body today"),
            (&BODY_READS_ELSEWHERE, ""),
            (&DTYPE_PANICS, "no dtype today"),
            (&KERNEL_PANICS, "no kernel today"),
            (&KERNEL_GIVES_NOTHING, ""),
            (&COMPOSITE_PANICS, "no parts today"),
        ] {
            let outcome = g
                .op(def)
                .data(x)
                .finish()
                .and_then(|y| compile(&g, backend, (y * 2.0).ok()?))
                .and_then(|exe| exe.run_all(std::slice::from_ref(&feed)));
            let text = outcome.expect_err(def.name()).to_string();
            for part in [def.name(), panic_text, file!()] {
                assert!(text.contains(part), "{}: {part:?} is missing in {text}", def.name());
            }
        }
        let [y] = compile(&g, backend, (x + 1.0).ok()?)?.run(&[feed])?;
        assert_eq!(y.to_vec::<f32>()?, [2.0, 3.0]);
    }
    Ok(())
}

/// A kernel fails on some inputs while other threads run the same executable.
#[test]
fn later_runs_work_after_a_kernel_failed() -> Result<()> {
    let run = |cx: &mut HostCx<'_>| {
        let x = cx.input(0)?.to_vec::<f32>()?;
        assert!(x[0] >= 0.0, "negative");
        let sizes = cx.input(0)?.sizes().to_vec();
        cx.output(0, &sizes)?.as_mut_slice::<f32>()?.copy_from_slice(&x);
        Ok(())
    };
    let def = Arc::new(
        OpDef::host_with("picky", run).operands(&[Operand::Data("x")]).shape_fn(shape_fns::common::unary),
    );
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape!["n"])?;
    let exe = g.compile((g.op(&def).data((x * 2.0).ok()?).finish()? + 1.0).ok()?)?;
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let exe = exe.clone();
            scope.spawn(move || {
                for round in 0..20 {
                    let x = if (round + thread) % 2 == 0 { 1.0f32 } else { -1.0 };
                    let got = exe.run::<1>(&[TensorView::new(&[1], &[x]).unwrap()]);
                    match got {
                        Ok([y]) => assert_eq!((x, y.item::<f32>().unwrap()), (1.0, 3.0)),
                        Err(error) => assert!(x < 0.0 && error.to_string().contains("negative"), "{error}"),
                    }
                }
            });
        }
    });
    Ok(())
}

#[test]
fn values_of_another_graph_are_refused() -> Result<()> {
    let (g, h) = (Graph::new(), Graph::new());
    let x = g.input("x", DType::F32, [2])?;
    let y = h.input("y", DType::F32, [2])?;
    for outcome in [(x + y).ok(), x.add(y), concat(&[x, y], 0), x.reshape(y), x.maximum(y)] {
        expect_error(outcome, ErrorKind::ForeignValue, Phase::Build, &["one graph", file!()]);
    }
    expect_error(g.compile([x, y]), ErrorKind::ForeignValue, Phase::Compile, &[file!()]);
    expect_error(g.value(y.id()), ErrorKind::ForeignValue, Phase::Build, &[]);
    // An id beyond the number of values of this graph is refused, too.
    let last = (0..10).try_fold(y, |y, _| y.relu())?;
    expect_error(g.value(last.id()), ErrorKind::ForeignValue, Phase::Build, &[]);
    Ok(())
}

#[test]
fn poisoned_values_keep_their_error() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::F32, [2])?;
    let y = g.input("y", DType::F32, [3])?;
    let before = g.len();
    let bad = x + y;
    let worse = -(bad * 2.0) / 3.0 + x;
    assert_eq!(worse.dtype(), DType::F32);
    assert!(worse.shape().rank().is_none());
    let first = bad.ok().unwrap_err();
    assert_eq!((first.kind(), first.op()), (ErrorKind::Shape, Some("add")));
    for outcome in [worse.ok(), worse.relu(), x.add(worse), concat(&[x, worse], 0), x.gather(worse, 0)] {
        assert_eq!(outcome.unwrap_err().location(), first.location());
    }
    assert!(worse.dim(0).is_err());
    let error = g.compile([x, worse]).unwrap_err();
    assert!(error.all().any(|error| error.location() == first.location()), "{error}");
    assert!(g.check().is_err());
    // A refused call adds no node; only the constants of the scalars are added.
    assert!(g.len() <= before + 2, "{g}");
    // The rest of the graph still compiles.
    let [double] = g
        .compile((x * 2.0).ok()?)?
        .run(&both_views(&Tensor::from([1.0f32, 2.0]), &Tensor::from([0.0f32; 3])))?;
    assert_eq!(double.to_vec::<f32>()?, [2.0, 4.0]);
    Ok(())
}

fn both_views<'a>(x: &'a Tensor, y: &'a Tensor) -> [TensorView<'a>; 2] {
    [x.view(), y.view()]
}

/// A later guard mentions the size that the operands would broadcast to. The sizes do not broadcast, so the op that
/// broadcasts them is at fault.
#[test]
fn sizes_that_do_not_broadcast_are_the_fault_of_the_op_that_broadcasts() -> Result<()> {
    let g = Graph::new();
    let (a, b) = (g.input("a", DType::F32, shape!["a"])?, g.input("b", DType::F32, shape!["b"])?);
    let product = (a * b).ok()?;
    let exes = [g.compile(product.reshape([a.dim(0)?])?)?, g.compile(product.ensure_shape([a.dim(0)?])?)?];
    for exe in exes {
        let run = exe.run::<1>(&[TensorView::new(&[3], &[1.0f32; 3])?, TensorView::new(&[2], &[1.0f32; 2])?]);
        let error = run.unwrap_err();
        assert_eq!(error.op(), Some("mul"), "{error}");
        assert!(error.message().contains("3") && error.message().contains("2"), "{error}");
    }
    Ok(())
}

/// A service matches on the kind of an error, so elements that an op refuses are data, whatever the op is.
#[test]
fn kinds_of_errors_tell_data_from_sizes() -> Result<()> {
    let g = Graph::new();
    let ints = g.input("ints", DType::I32, shape!["n"])?;
    let ids = g.input("ids", DType::I32, shape!["k"])?;
    let feeds = [Tensor::from([2, 2]), Tensor::from([-1])];
    let views: Vec<TensorView<'_>> = feeds.iter().map(Tensor::view).collect();
    let refuses = |output: Value<'_>, kind, parts: &[&str]| {
        for backend in BACKENDS {
            let outcome = compile(&g, backend, output).and_then(|exe| exe.run_all(&views));
            expect_error(outcome, kind, Phase::Run, parts);
        }
    };
    refuses(g.constant(2)?.pow(ids)?, ErrorKind::Data, &["pow", "the exponent of an integer", "-1"]);
    refuses(ids.bincount(4)?, ErrorKind::Data, &["bincount", "must not be negative", "-1"]);
    refuses(ints.segment_sum(ids)?, ErrorKind::Guard, &["segment_sum"]);
    #[cfg(feature = "strings")]
    {
        let lines = g.constant(["1,2,3"])?;
        let columns = lines.decode_csv(&[Tensor::from([0i64]), Tensor::from([0i64])], &Default::default())?;
        refuses(columns[0], ErrorKind::Data, &["decode_csv"]);
        refuses(g.constant(["x"])?.string_to_number(DType::F32)?, ErrorKind::Data, &["string_to_number"]);
        refuses(g.constant(["%"])?.decode_base64()?, ErrorKind::Data, &["decode_base64"]);
    }
    Ok(())
}

#[test]
fn a_graph_is_compiled_outside_the_closures_of_its_loops() -> Result<()> {
    let g = Graph::new();
    let k = g.input("k", DType::I32, shape![])?;
    let outcome = g.while_loop(
        &[k],
        |s| s[0].less(3),
        |s| {
            g.compile(s[0])?;
            Ok([s[0] + 1])
        },
    );
    let parts = ["a graph must be compiled outside the closures of its branches and loops", file!()];
    expect_error(outcome, ErrorKind::Compile, Phase::Compile, &parts);
    let [y] = g.compile((k + 1).ok()?)?.run(&[Tensor::scalar(1).view()])?;
    assert_eq!(y.item::<i32>()?, 2);
    Ok(())
}
