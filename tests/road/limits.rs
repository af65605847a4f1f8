//! The limits: many graphs, long and wide ones, sizes near overflow, and everything that is refused.

use std::sync::Arc;
use std::time::Instant;

use shapeflow::{
    CompileOptions, DType, Error, ErrorKind, Executable, Graph, HostCx, OpDef, Operand, Phase, Result, Tensor,
    TensorShape, TensorView, Value, concat, shape,
};

fn set(name: &str, default: usize) -> usize {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// Bytes of memory in use, where the system says.
fn resident() -> Option<usize> {
    let text = std::fs::read_to_string("/proc/self/statm").ok()?;
    Some(text.split(' ').nth(1)?.parse::<usize>().ok()? * 4096)
}

/// Runs on a stack of 2 MiB.
fn on_small_stack(f: impl FnOnce() + Send + 'static) {
    std::thread::Builder::new().stack_size(2 << 20).spawn(f).unwrap().join().unwrap();
}

fn row(values: &[f32]) -> Tensor {
    Tensor::from_slice(&[values.len()], values).unwrap()
}

#[test]
fn graphs_come_and_go() -> Result<()> {
    let graphs = set("SHAPEFLOW_GRAPHS", 2000);
    let one = |number: usize| -> Result<()> {
        let g = Graph::new();
        let x = g.input("x", DType::F32, shape!["n", 3])?;
        let w = g.constant([[1.0f32, 2.0], [3.0, 4.0], [5.0, number as f32]])?;
        let y = (x.matmul(w)? + 1.0).relu()?.softmax(-1)?;
        let exe = g.compile(y)?;
        let n = number % 5;
        let data = vec![0.5f32; n * 3];
        assert_eq!(exe.run::<1>(&[TensorView::new(&[n, 3], &data)?])?[0].sizes(), [n, 2]);
        Ok(())
    };
    (0..graphs / 4).try_for_each(one)?;
    let Some(before) = resident() else { return Ok(()) };
    (0..graphs).try_for_each(one)?;
    let grown = resident().unwrap_or_default().saturating_sub(before);
    println!("{graphs} graphs: {grown} bytes more");
    // Other tests run beside this one.
    assert!(grown < 64 << 20, "{grown} bytes more after {graphs} graphs");
    Ok(())
}

/// Builds, compiles and runs; prints times and bytes a node.
fn measure(what: &str, nodes: usize, build: impl for<'g> Fn(&'g Graph) -> Result<Value<'g>>, expected: &[f32]) {
    let before = resident().unwrap_or_default();
    let start = Instant::now();
    let g = Graph::new();
    let y = build(&g).unwrap();
    let built = start.elapsed();
    let bytes = resident().unwrap_or_default().saturating_sub(before);
    let start = Instant::now();
    let exe = g.compile(y).unwrap();
    let compiled = start.elapsed();
    let start = Instant::now();
    let x = row(&[1.0, -2.0]);
    let [result] = exe.run(&[x.view()]).unwrap();
    let ran = start.elapsed();
    assert_eq!(result.to_vec::<f32>().unwrap(), expected, "{what}");
    println!(
        "{what} of {nodes} nodes: built in {built:.1?} ({:.2} µs and {} bytes a node), compiled in {compiled:.1?}, \
         run in {ran:.1?}, {} kernels, {} bytes of code",
        built.as_secs_f64() * 1e6 / nodes as f64,
        bytes / nodes,
        exe.stats().kernels,
        exe.stats().code_bytes
    );
    drop(exe);
    drop(g);
}

#[test]
fn long_chains_do_not_overflow_a_stack() {
    on_small_stack(|| {
        let nodes = set("SHAPEFLOW_NODES", 20_000);
        measure(
            "a chain of two ops in turn",
            nodes,
            |g| {
                let x = g.input("x", DType::F32, shape!["n"])?;
                let mut y = x;
                for number in 0..nodes {
                    y = if number % 2 == 0 { y.neg()? } else { y.abs()? };
                }
                Ok(y)
            },
            if nodes % 2 == 0 { &[1.0, 2.0] } else { &[-1.0, -2.0] },
        );
    });
}

#[test]
fn long_chains_of_views_do_not_overflow_a_stack() {
    on_small_stack(|| {
        let nodes = set("SHAPEFLOW_NODES", 20_000) / 10;
        let (mut first, mut reversed) = (false, false);
        for number in 0..nodes {
            first ^= number % 3 == 0;
            reversed ^= number % 3 == 2 && first;
        }
        measure(
            "a chain of views",
            nodes,
            |g| {
                let x = g.input("x", DType::F32, shape!["n"])?;
                let mut y = x.expand_dims(0)?;
                for number in 0..nodes {
                    y = match number % 3 {
                        0 => y.transpose([1, 0])?,
                        1 => y.identity()?,
                        _ => y.reverse([0])?,
                    };
                }
                y.reshape([-1])
            },
            if reversed { &[-2.0, 1.0] } else { &[1.0, -2.0] },
        );
    });
}

#[test]
fn long_chains_of_shapes_do_not_overflow_a_stack() {
    on_small_stack(|| {
        let nodes = set("SHAPEFLOW_NODES", 20_000) / 10;
        measure(
            "a chain of growing shapes",
            nodes,
            |g| {
                let x = g.input("x", DType::F32, shape!["n"])?;
                let mut y = x;
                for _ in 0..nodes / 2 {
                    y = y.pad([0, 1])?.slice([0], [2])?;
                }
                Ok(y)
            },
            &[1.0, -2.0],
        );
    });
}

#[test]
fn wide_graphs_do_not_overflow_a_stack() {
    on_small_stack(|| {
        let nodes = set("SHAPEFLOW_NODES", 20_000);
        measure(
            "a wide graph",
            nodes,
            |g| {
                let x = g.input("x", DType::F32, shape!["n"])?;
                let mut layer: Vec<Value<'_>> = (0..nodes / 2).map(|_| x.relu()).collect::<Result<_>>()?;
                while layer.len() > 1 {
                    layer = layer.chunks(2).map(|pair| if let [a, b] = pair { a.maximum(*b) } else { Ok(pair[0]) }).collect::<Result<_>>()?;
                }
                Ok(layer[0])
            },
            &[1.0, 0.0],
        );
    });
}

#[test]
fn wide_graphs_of_different_nodes_do_not_overflow_a_stack() {
    on_small_stack(|| {
        let nodes = set("SHAPEFLOW_NODES", 20_000) / 4;
        measure(
            "a wide graph of different nodes",
            nodes,
            |g| {
                let x = g.input("x", DType::F32, shape!["n"])?;
                let mut layer: Vec<Value<'_>> =
                    (0..nodes / 3).map(|number| (x * (number as f64 / nodes as f64)).ok()).collect::<Result<_>>()?;
                while layer.len() > 1 {
                    layer = layer.chunks(2).map(|pair| if let [a, b] = pair { a.maximum(*b) } else { Ok(pair[0]) }).collect::<Result<_>>()?;
                }
                layer[0].minimum(x * 0.0)
            },
            &[0.0, -0.0],
        );
    });
}

#[test]
fn doubling_thirty_times_stays_small() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::F64, shape!["n"])?;
    let mut y = x;
    for _ in 0..30 {
        y = y + y;
    }
    let exe = g.compile(y)?;
    assert_eq!(exe.stats().kernels, 1);
    let adds = exe.kernels().matches(" + ").count();
    assert!(adds <= 30, "{adds} additions:\n{}", exe.kernels());
    let [y] = exe.run(&[TensorView::new(&[1], &[1.0f64])?])?;
    assert_eq!(y.item::<f64>()?, f64::from(1u32 << 30));
    Ok(())
}

fn refused(result: Result<Vec<Tensor>>, kind: ErrorKind, parts: &[&str]) {
    let error = result.expect_err("a refusal");
    let text = error.to_string();
    assert_eq!((error.kind(), error.phase()), (kind, Phase::Run), "{text}");
    for part in parts {
        assert!(text.contains(part), "{part:?} is not in: {text}");
    }
}

#[test]
fn memory_limits_name_the_value() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape!["n", 1])?;
    let wide = (x.broadcast_to(shape!["n", 1000])? * 2.0).softmax(-1)?.named("wide");
    let y = wide.matmul(g.constant(Tensor::zeros(DType::F32, &[1000, 1])?)?)?;
    let exe = g.compile_with(&CompileOptions::new().memory_limit(1 << 20), y)?;
    assert!(exe.run_all(&[TensorView::new(&[10, 1], &[1.0f32; 10])?]).is_ok());
    let data = vec![0.0f32; 1000];
    refused(
        exe.run_all(&[TensorView::new(&[1000, 1], &data)?]),
        ErrorKind::Memory,
        &["memory limit of 1048576 bytes", "wide", "4000000 bytes"],
    );
    assert!(exe.run_all(&[TensorView::new(&[10, 1], &[1.0f32; 10])?]).is_ok());
    Ok(())
}

#[test]
fn limits_hold_for_results_too() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape!["n"])?;
    let exe = g.compile_with(&CompileOptions::new().memory_limit(4096), (x * 2.0).named("doubled"))?;
    assert!(exe.run_all(&[row(&[0.0; 1000]).view()]).is_ok());
    refused(exe.run_all(&[row(&[0.0; 2000]).view()]), ErrorKind::Memory, &["4096 bytes", "doubled"]);
    let n = g.input("count", DType::I64, shape![])?;
    let huge = g.fill(n.reshape([1])?, 1.5f32)?.named("filled");
    let exe = g.compile_with(&CompileOptions::new().memory_limit(4096), huge)?;
    let run = |count: i64| exe.run_all(&[row(&[]).view(), TensorView::new(&[], &[count])?]);
    assert_eq!(run(7)?[0].sizes(), [7]);
    refused(run(1 << 40), ErrorKind::Memory, &["4096 bytes", "filled"]);
    assert!(run(-1).is_err());
    Ok(())
}

#[test]
fn memory_that_is_refused_is_an_error() -> Result<()> {
    let g = Graph::new();
    let n = g.input("count", DType::I64, shape![1])?;
    let huge = g.fill(n, 1.5f32)?.named("filled");
    let exe = g.compile(huge)?;
    for count in [1i64 << 46, 1 << 60, 1 << 61, 1 << 62, i64::MAX] {
        refused(exe.run_all(&[TensorView::new(&[1], &[count])?]), ErrorKind::Memory, &["filled"]);
    }
    Ok(())
}

#[test]
fn feeds_are_checked() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape!["n", 3])?;
    let y = g.input("y", DType::F32, shape!["n"])?;
    let exe = g.compile([("z", x + y.expand_dims(1)?)])?;
    let (six, two, three) = ([0.0f32; 6], [0.0f32; 2], [0.0f32; 3]);
    let x = TensorView::new(&[2, 3], &six)?;
    let y = TensorView::new(&[2], &two)?;
    assert!(exe.run_all(&[x, y]).is_ok());
    let feed = |inputs: &[TensorView<'_>], parts: &[&str]| refused(exe.run_all(inputs), ErrorKind::Feed, parts);
    feed(&[x], &["2 inputs must be fed", "got 1"]);
    feed(&[x, y, y], &["got 3"]);
    feed(&[TensorView::new(&[2, 3], &[0.0f64; 6])?, y], &["\"x\"", "f32[n, 3]", "got f64[2, 3]"]);
    feed(&[TensorView::new(&[6], &six)?, y], &["\"x\"", "the rank must be 2"]);
    feed(&[TensorView::new(&[3, 2], &six)?, y], &["\"x\"", "got f32[3, 2]"]);
    feed(&[x, TensorView::new(&[3], &three)?], &["\"y\"", "already 2"]);
    let named = |feeds: &[(&str, TensorView<'_>)], part: &str| {
        let error = exe.run_named(feeds).expect_err("a refusal");
        assert!(error.kind() == ErrorKind::Feed && error.message().contains(part), "{error}");
    };
    named(&[("x", x)], "\"y\"");
    named(&[("x", x), ("y", y), ("x", x)], "once");
    named(&[("x", x), ("y", y), ("w", y)], "\"w\" is not an input");
    assert!(exe.run::<2>(&[x, y]).unwrap_err().message().contains("1 results"));
    assert!(exe.output_sizes(&[&[2, 3]]).is_err() && exe.output_sizes(&[&[2, 4], &[2]]).is_err());
    assert_eq!(exe.output_sizes(&[&[2, 3], &[2]])?, [Some(vec![2, 3])]);
    Ok(())
}

#[test]
fn guards_and_checks_of_data_are_errors() -> Result<()> {
    let g = Graph::new();
    let a = g.input("a", DType::F32, shape!["n"])?;
    let b = g.input("b", DType::F32, shape!["m"])?;
    let exe = g.compile((a + b).ok()?)?;
    let run = |n: usize, m: usize| exe.run_all(&[row(&vec![1.0; n]).view(), row(&vec![1.0; m]).view()]);
    for (n, m, size) in [(3, 3, 3), (1, 4, 4), (4, 1, 4), (0, 1, 0), (1, 0, 0)] {
        assert_eq!(run(n, m)?[0].sizes(), [size]);
    }
    assert!(matches!(run(2, 3).unwrap_err().kind(), ErrorKind::Guard | ErrorKind::Shape));

    let g = Graph::new();
    let x = g.input("x", DType::F32, shape![4, "n"])?;
    let i = g.input("i", DType::I32, shape!["k"])?;
    let exe = g.compile(x.gather(i, 1)?.relu()?)?;
    let x = Tensor::zeros(DType::F32, &[4, 6])?;
    let run = |indices: &[i32]| exe.run_all(&[x.view(), TensorView::new(&[indices.len()], indices)?]);
    assert_eq!(run(&[0, 5, 5])?[0].sizes(), [4, 3]);
    for bad in [6, -1, i32::MAX, i32::MIN] {
        let error = run(&[0, bad, 2]).expect_err("a refusal");
        let text = error.to_string();
        assert!(text.contains(&format!("got {bad}")) && text.contains("[0, 6)") && text.contains("axis 1"), "{text}");
        assert_eq!(error.phase(), Phase::Run);
    }
    let many = vec![9i32; 5000];
    refused(run(&many), ErrorKind::Index, &["axis 1", "[0, 6)", "got 9"]);

    for (op, wide) in [("floordiv", false), ("floormod", true), ("truncatediv", false), ("truncatemod", true)] {
        let g = Graph::new();
        let dtype = if wide { DType::I64 } else { DType::I32 };
        let x = g.input("x", dtype, shape!["n"])?;
        let y = g.input("y", dtype, shape!["n"])?;
        let z = match op {
            "floordiv" => x.floordiv(y),
            "floormod" => x.floormod(y),
            "truncatediv" => x.truncatediv(y),
            _ => x.truncatemod(y),
        };
        let exe = g.compile(z?)?;
        let run = |x: &[i64], y: &[i64]| {
            let of = |values: &[i64]| match wide {
                true => Tensor::from_slice(&[values.len()], values),
                false => Tensor::from_vec(&[values.len()], values.iter().map(|x| *x as i32).collect()),
            };
            exe.run_all(&[of(x)?.view(), of(y)?.view()])
        };
        assert!(run(&[7; 9], &[2; 9]).is_ok());
        refused(run(&[7; 9], &[1, 2, 3, 4, 5, 6, 7, 8, 0]), ErrorKind::DivideByZero, &[op, "zero"]);
        // The one quotient that overflows.
        let least = if wide { i64::MIN } else { i64::from(i32::MIN) };
        assert!(run(&[least; 5], &[-1; 5]).is_ok());
        assert!(run(&[], &[]).is_ok());
    }
    Ok(())
}

fn user_op(def: OpDef) -> Arc<OpDef> {
    Arc::new(def.operands(&[Operand::Data("x")]))
}

#[test]
fn panics_of_users_are_errors() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape!["n"])?;
    let said = |error: &Error, part: &str| assert!(error.message().contains(part), "{error}");

    let shape_fn = user_op(OpDef::host("a", |_| Ok(())).shape_fn(|_| panic!("no shape")));
    said(&g.op(&shape_fn).data(x).finish().unwrap_err(), "no shape");
    let rule = user_op(OpDef::host("b", |_| Ok(())).shape_fn(shapeflow::shape_fns::common::unary).dtype_rule(|_, _| panic!("no dtype")));
    said(&g.op(&rule).data(x).finish().unwrap_err(), "no dtype");
    let outputs = user_op(OpDef::host("c", |_| Ok(())).shape_fn(shapeflow::shape_fns::common::unary).outputs(|_, _| panic!("no count")));
    said(&g.op(&outputs).data(x).finish().unwrap_err(), "no count");
    let composite = Arc::new(OpDef::composite("d", |_, _| panic!("no parts")));
    said(&g.op(&composite).data(x).finish().unwrap_err(), "no parts");
    assert_eq!(g.len(), 1, "what was refused left nothing");

    let body = user_op(OpDef::compute("e", |_, _, _| panic!("no body")).shape_fn(shapeflow::shape_fns::common::unary));
    let y = g.op(&body).data(x).finish()?;
    said(&g.compile(y).unwrap_err(), "no body");
    let odd = user_op(
        OpDef::compute("f", |cx, _, index| cx.operand(7, index)).shape_fn(shapeflow::shape_fns::common::unary),
    );
    said(&g.compile(g.op(&odd).data(x).finish()?).unwrap_err(), "operand 7");
    let rank = user_op(OpDef::compute("g", |cx, _, _| cx.operand(0, &[])).shape_fn(shapeflow::shape_fns::common::unary));
    said(&g.compile(g.op(&rank).data(x).finish()?).unwrap_err(), "indices");
    let other = user_op(
        OpDef::compute("h", |cx, _, index| cx.operand(0, index).cast(DType::I32)).shape_fn(shapeflow::shape_fns::common::unary),
    );
    said(&g.compile(g.op(&other).data(x).finish()?).unwrap_err(), "f32");

    let run = |kernel: fn(&mut HostCx<'_>) -> Result<()>| -> Result<Error> {
        let def = user_op(OpDef::host("host", kernel).shape_fn(shapeflow::shape_fns::common::unary));
        let y = (g.op(&def).data(x).finish()? + 1.0).ok()?;
        let exe = g.compile(y)?;
        let error = exe.run::<1>(&[row(&[1.0, 2.0]).view()]).expect_err("a refusal");
        assert_eq!(error.phase(), Phase::Run, "{error}");
        assert_eq!(error.op(), Some("host"), "{error}");
        // A failed run leaves the executable as it was.
        assert!(exe.run::<1>(&[row(&[1.0, 2.0]).view()]).is_err());
        Ok(error)
    };
    said(&run(|_| panic!("no kernel"))?, "no kernel");
    said(&run(|_| Ok(()))?, "output 0");
    said(&run(|cx| cx.output(1, &[2]).map(drop))?, "no output 1");
    said(&run(|cx| cx.output(0, &[3]).map(drop))?, "promised");
    said(&run(|cx| cx.set_output(0, Tensor::zeros(DType::F64, &[2])?))?, "f64");
    said(&run(|cx| cx.input(3).map(drop))?, "input 3");
    said(&run(|_| Err(Error::msg("not today")))?, "not today");
    Ok(())
}

#[test]
fn values_of_another_graph_are_refused() -> Result<()> {
    let (g, h) = (Graph::new(), Graph::new());
    let x = g.input("x", DType::F32, [2])?;
    let y = h.input("y", DType::F32, [2])?;
    let foreign = |error: Error| assert_eq!(error.kind(), ErrorKind::ForeignValue, "{error}");
    foreign((x + y).ok().unwrap_err());
    foreign(concat(&[x, y], 0).unwrap_err());
    foreign(g.compile(y).unwrap_err());
    foreign(g.compile([x, y]).unwrap_err());
    foreign(x.reshape(y.cast(DType::I64)?).unwrap_err());
    foreign(x.maximum(y + y).unwrap_err());
    foreign(g.value(y.id()).unwrap_err());
    Ok(())
}

#[test]
fn poisoned_values_are_refused_everywhere() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::F32, [2])?;
    let bad = x + g.constant([1.0f32, 2.0, 3.0])?;
    let worse = bad * 2.0 - x;
    assert!(worse.shape().rank().is_none());
    for error in [
        bad.ok().unwrap_err(),
        worse.relu().unwrap_err(),
        x.maximum(bad).unwrap_err(),
        concat(&[x, worse], 0).unwrap_err(),
        x.reshape(bad).unwrap_err(),
        bad.dim(0).unwrap_err(),
        bad.split::<2>(0).unwrap_err(),
        g.compile(worse).unwrap_err(),
        g.check().unwrap_err(),
    ] {
        assert!(error.to_string().contains("2 and 3"), "{error}");
    }
    // Its id stands for nothing.
    assert!(g.value(bad.id()).is_err());
    let other = x * g.constant(1.0f64)?;
    let all = g.compile([bad, other]).unwrap_err();
    assert_eq!(all.all().count(), 2, "{all}");
    Ok(())
}

#[test]
fn sizes_near_overflow_are_refused() -> Result<()> {
    let g = Graph::new();
    assert!(g.input("negative", DType::F32, [-1]).is_err());
    let huge = g.input("x", DType::F32, [i64::MAX, i64::MAX])?;
    // No product of the sizes can be written; whatever is said of it, it is no panic.
    let tried: Vec<Result<Value<'_>>> = vec![
        huge.reshape([-1]),
        huge.reduce_sum(..),
        concat(&[huge, huge], 0),
        huge.tile([3, 3]),
        huge.pad([i64::MAX, i64::MAX, 0, 0]),
        huge.size_tensor(),
        huge.matmul(huge),
        huge.slice([i64::MAX, 0], [i64::MAX, 1]),
        huge.reverse([0, 1]),
        huge.one_hot(i64::MAX, 1.0f32, 0.0f32, -1),
        huge.cast(DType::I64)?.one_hot(i64::MAX, 1.0f32, 0.0f32, -1),
        g.fill([i64::MAX, i64::MAX, 4], 1.0f32),
        g.range(i64::MIN, i64::MAX, 1),
        g.range(i64::MIN, i64::MAX, i64::MAX),
        g.range(0, 10, 0),
        huge.transpose([1, 0]),
        huge.expand_dims(i64::MIN),
        huge.gather(g.constant(i64::MAX)?, i64::MIN),
        huge.strided_slice([i64::MIN, 0], [i64::MAX, 1], [i64::MAX, i64::MIN], Default::default()),
        huge.split_n(i64::MAX, 0).map(|values| values[0]),
    ];
    for (number, value) in tried.into_iter().enumerate() {
        let Ok(value) = value else { continue };
        let Ok(exe) = g.compile(value) else { continue };
        let data = [0.0f32; 4];
        assert!(exe.run_all(&[TensorView::new(&[2, 2], &data)?]).is_err(), "case {number}");
    }
    assert!(Tensor::zeros(DType::F64, &[usize::MAX, 2]).is_err());
    assert!(Tensor::zeros(DType::F64, &[1 << 40, 1 << 40]).is_err());

    let g = Graph::new();
    let n = g.input("n", DType::I64, [2])?;
    let filled = g.fill(n, 1.0f32)?;
    let values = [filled, filled.reshape([-1])?, filled.reduce_sum([0])?, concat(&[filled, filled], 1)?, filled.tile([2, 2])?];
    let exes: Vec<Executable> = values.iter().map(|value| g.compile(*value)).collect::<Result<_>>()?;
    for exe in &exes {
        for sizes in [[i64::MAX, 2], [i64::MAX, i64::MAX], [1 << 32, 1 << 32], [-1, 2], [i64::MIN, 1], [1 << 62, 2]] {
            assert!(exe.run_all(&[TensorView::new(&[2], &sizes)?]).is_err(), "{sizes:?}");
        }
        assert!(exe.run_all(&[TensorView::new(&[2], &[0i64, 1 << 40])?]).is_ok() || exe.outputs()[0].shape.rank() == Some(1));
    }
    Ok(())
}

#[test]
fn twenty_axes() -> Result<()> {
    let g = Graph::new();
    let sizes: Vec<i64> = (0..20).map(|axis| if axis % 6 == 0 { 2 } else { 1 }).collect();
    let dims: TensorShape = sizes.iter().map(|size| shapeflow::Dim::known(*size)).collect::<Vec<_>>().into();
    let x = g.input("x", DType::F32, dims)?;
    let unknown = g.input("y", DType::F32, vec![shapeflow::Unknown; 20])?;
    let perm: Vec<i64> = (0..20).rev().collect();
    let y = (x.transpose(&perm[..])? + unknown.reverse([0, 19])?).reduce_max([3, 5, 7, -1])?;
    let z = y.softmax(-1)?.reshape([-1])?.pad([1, 1])?;
    let exe = g.compile([y, z, concat(&[x, unknown], 18)?])?;
    let oracle = CompileOptions::new().backend(shapeflow::Backend::Interpreter);
    let oracle = g.compile_with(&oracle, [y, z, concat(&[x, unknown], 18)?])?;
    let sizes: Vec<usize> = sizes.into_iter().map(|size| size as usize).collect();
    let others: Vec<usize> = (0..20).rev().map(|axis| sizes[axis]).collect();
    let data: Vec<f32> = (0..16).map(|k| (k * 7 % 11) as f32).collect();
    let fits = TensorView::new(&others, &data)?;
    let x = TensorView::new(&sizes, &data)?;
    let got = exe.run_all(&[x, fits]);
    let expected = oracle.run_all(&[x, fits]);
    match (got, expected) {
        (Ok(got), Ok(expected)) => {
            for (got, expected) in got.iter().zip(&expected) {
                got.allclose(expected, 1e-6, 0.0).unwrap();
            }
        }
        (Err(_), Err(_)) => {}
        (got, expected) => panic!("{got:?} and {expected:?}"),
    }
    Ok(())
}

#[test]
fn zero_sized_everything() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape!["n", "m"])?;
    let i = g.input("i", DType::I64, shape!["n"])?;
    let outputs = [
        (x * 2.0).relu()?,
        x.softmax(-1)?,
        x.softmax(0)?,
        x.reduce_sum([0])?,
        x.reduce_sum([1])?,
        x.reduce_max(..)?,
        x.reduce_mean([1])?,
        x.transpose([1, 0])?.matmul(x)?,
        x.matmul(x.transpose([1, 0])?)?,
        concat(&[x, x * 3.0], 0)?,
        x.pad([1, 0, 0, 1])?,
        x.tile([2, 0])?,
        x.reshape([-1])?,
        x.reverse([0, 1])?,
        x.gather(i, 0)?,
        i.one_hot(0, 1.0f32, 0.0f32, -1)?,
        x.cumsum(0)?,
        x.where_indices()?,
        x.slice([0, 0], [-1, 0])?,
    ];
    let exe = g.compile(&outputs)?;
    let oracle = g.compile_with(&CompileOptions::new().backend(shapeflow::Backend::Interpreter), &outputs)?;
    for (n, m) in [(0, 0), (0, 3), (3, 0), (1, 0), (0, 1), (2, 3)] {
        let data = vec![1.0f32; n * m];
        let zeros = vec![0i64; n];
        let sizes = [n, m];
        let count = [n];
        let feeds = [TensorView::new(&sizes, &data)?, TensorView::new(&count, &zeros)?];
        let (got, expected) = (exe.run_all(&feeds)?, oracle.run_all(&feeds)?);
        for (number, (got, expected)) in got.iter().zip(&expected).enumerate() {
            got.allclose(expected, 1e-6, 0.0).unwrap_or_else(|what| panic!("output {number} at {sizes:?}: {what}"));
        }
    }
    assert_eq!(exe.stats().compiles.len(), 1);
    Ok(())
}

#[test]
fn unaligned_and_strided_inputs() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape!["n", "m"])?;
    let exe = g.compile([(x * 2.0).ok()?, x.reduce_sum([1])?, x])?;
    let data: Vec<f32> = (0..300).map(|k| k as f32).collect();
    for (n, m) in [(1usize, 1usize), (3, 4), (7, 9), (2, 64), (16, 16)] {
        let sizes = [n, m];
        let plain: Vec<f32> = (0..n * m).map(|k| data[k + 1]).collect();
        let expected = exe.run_all(&[TensorView::new(&sizes, &plain)?])?;
        // One element past the beginning of an allocation.
        let unaligned = exe.run_all(&[TensorView::new(&sizes, &data[1..1 + n * m])?])?;
        assert_eq!(expected, unaligned);
        let column_major: Vec<f32> = (0..n * m).map(|k| plain[k % n * m + k / n]).collect();
        let strides = [1isize, n as isize];
        let strided = exe.run_all(&[TensorView::with_strides(&sizes, &strides, &column_major, 0)?])?;
        assert_eq!(expected, strided);
        let reversed: Vec<f32> = plain.iter().rev().copied().collect();
        let strides = [-(m as isize), -1];
        let strided = exe.run_all(&[TensorView::with_strides(&sizes, &strides, &reversed, n * m - 1)?])?;
        assert_eq!(expected, strided);
        let strides = [0isize, 1];
        let repeated: Vec<f32> = (0..n).flat_map(|_| plain[..m].to_vec()).collect();
        let strided = exe.run_all(&[TensorView::with_strides(&sizes, &strides, &plain, 0)?])?;
        assert_eq!(strided, exe.run_all(&[TensorView::new(&sizes, &repeated)?])?);
    }
    Ok(())
}

#[test]
fn threads_do_not_change_a_bit() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape!["n", "m"])?;
    let y = x.softmax(-1)?;
    let outputs = [
        (x * 1.7 + 0.3).tanh()?,
        y,
        x.reduce_sum([0])?,
        x.reduce_sum([1])?,
        x.reduce_mean(..)?,
        x.transpose([1, 0])?.sigmoid()?,
        concat(&[x, y * x], 1)?,
        x.argmax(1)?,
        (x - x.reduce_mean(shapeflow::Axes::of([1]).keep_dims())?).square()?.reduce_sum([1])?,
    ];
    let one = g.compile(&outputs)?;
    let two = g.compile_with(&CompileOptions::new().threads(2), &outputs)?;
    let four = g.compile_with(&CompileOptions::new().threads(4), &outputs)?;
    for (n, m) in [(1usize, 1usize), (3, 200_000), (200_000, 3), (700, 700), (1, 500_000), (500_000, 1), (0, 5)] {
        let mut state = 1u32;
        let data: Vec<f32> = (0..n * m)
            .map(|_| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (state >> 8) as f32 / (1 << 22) as f32 - 2.0
            })
            .collect();
        let sizes = [n, m];
        if m == 0 || n == 0 {
            continue;
        }
        let view = TensorView::new(&sizes, &data)?;
        let expected = one.run_all(&[view])?;
        for exe in [&two, &four] {
            for (number, (got, expected)) in exe.run_all(&[view])?.iter().zip(&expected).enumerate() {
                assert_eq!(got, expected, "output {number} at {sizes:?}");
            }
        }
    }
    Ok(())
}
