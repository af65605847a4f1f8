//! Programs as users write them: expressions, layers, services. The tests also check that such programs compile.

use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;

use shapeflow::{
    DType, Dim, Error, Executable, Graph, OpDef, Registry, Result, Runner, Tensor, TensorShape, TensorView,
    TensorViewMut, Value, ValueId, concat, shape, stack,
};

fn is_send<T: Send>() {}
fn is_sync<T: Sync>() {}
fn is_static<T: 'static>() {}
fn is_unwind_safe<T: UnwindSafe + RefUnwindSafe>() {}

#[test]
fn public_types_are_send_and_sync_and_small() {
    is_send::<Executable>();
    is_sync::<Executable>();
    is_static::<Executable>();
    is_send::<Error>();
    is_sync::<Error>();
    is_static::<Error>();
    is_send::<Graph>();
    is_send::<Runner>();
    is_static::<Runner>();
    is_send::<ValueId>();
    is_sync::<ValueId>();
    is_send::<Tensor>();
    is_sync::<Tensor>();
    is_send::<TensorView<'_>>();
    is_sync::<TensorView<'_>>();
    is_send::<TensorShape>();
    is_send::<Registry>();
    is_sync::<OpDef>();
    is_unwind_safe::<Executable>();
    is_unwind_safe::<Tensor>();
    is_unwind_safe::<Error>();
    assert_eq!(size_of::<Value<'_>>(), 16);
    assert_eq!(size_of::<Error>(), 8);
    assert!(size_of::<Result<Value<'_>>>() <= 24);
    assert!(size_of::<Dim>() <= 16);
}

fn arithmetic<'g>(x: Value<'g>, w: Value<'g>, b: Value<'g>, t: &Tensor) -> Result<Vec<Value<'g>>> {
    let half: f32 = 0.5;
    let sum: Value<'_> = [x, w, b].into_iter().sum();
    let folded = [w, b].into_iter().try_fold(x, |sum, value| (sum + value).ok())?;
    let [first, _] = concat(&[x, w], 0)?.split::<2>(0)?;
    Ok(vec![
        (x * w + b).relu()?,
        x * w + b * w * 2.0,
        (x * 2.0).relu()?,
        (2.0 * x).relu()?,
        2 * x + 1,
        1.0 - x,
        -(x * w) / 3.0 + t,
        x + w.relu(),
        x * half,
        sum,
        x.maximum(0.0)?.maximum(w * b)?,
        ((x * w + b).ok()?).relu()?,
        folded,
        stack(&[x, w], -1)?.reduce_max(-1)?,
        first,
        x % 2.0,
    ])
}

#[test]
fn operator_expressions_compute_what_they_spell() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape!["n"])?;
    let w = g.input("w", DType::F32, shape!["n"])?;
    let b = g.input("b", DType::F32, shape!["n"])?;
    let outputs = arithmetic(x, w, b, &Tensor::from([0.25f32]))?;
    let exe = g.compile(&outputs)?;
    let feed = |values: &'static [f32]| TensorView::new(&[2], values);
    let results = exe.run_all(&[feed(&[-1.5, 2.0])?, feed(&[4.0, -0.5])?, feed(&[1.0, 3.0])?])?;
    let expected: [fn(f32, f32, f32) -> f32; 16] = [
        |x, w, b| (x * w + b).max(0.0),
        |x, w, b| x * w + b * w * 2.0,
        |x, _, _| (x * 2.0).max(0.0),
        |x, _, _| (2.0 * x).max(0.0),
        |x, _, _| 2.0 * x + 1.0,
        |x, _, _| 1.0 - x,
        |x, w, _| -(x * w) / 3.0 + 0.25,
        |x, w, _| x + w.max(0.0),
        |x, _, _| x * 0.5,
        |x, w, b| x + w + b,
        |x, w, b| x.max(0.0).max(w * b),
        |x, w, b| (x * w + b).max(0.0),
        |x, w, b| x + w + b,
        |x, w, _| x.max(w),
        |x, _, _| x,
        |x, _, _| x.rem_euclid(2.0),
    ];
    for (number, (result, expected)) in results.iter().zip(expected).enumerate() {
        assert_eq!(
            result.to_vec::<f32>()?,
            [expected(-1.5, 4.0, 1.0), expected(2.0, -0.5, 3.0)],
            "output {number}"
        );
    }
    Ok(())
}

/// Declares shapes in every notation, and compiles a graph that is dropped on return.
fn build() -> Result<Executable> {
    let g = Graph::new();
    let (batch, width) = (Dim::symbol("batch"), 2usize);
    let x = g.input("x", DType::F32, shape!["batch", width])?;
    let z = g.input("z", DType::F32, shape![?, 3, 2 * &batch + 1, ?])?;
    let y = g.input("y", DType::F32, shape![batch, 2 * width])?;
    let u = g.input("u", DType::F32, shape![..])?;
    let s = g.input("s", DType::F32, [2, 2])?;
    let p = g.input("p", DType::F32, "[batch, ?, 1]".parse::<TensorShape>().map_err(Error::wrap)?)?;
    assert_eq!((u.shape().rank(), shape![].rank(), z.shape().rank()), (None, Some(0), Some(4)));
    let w = g.constant([[1.0f32, 2.0], [3.0, 4.0]])?;
    let rows = x.reshape([-1, 2])?.reshape(shape![x.dim(0)?, -1])?.reshape(&[-1i64, 2][..])?;
    assert_eq!(rows.shape(), shape!["batch", 2]);
    g.compile([rows, x.matmul(w)? + y.slice([0, 0], [-1, 2])?, p.reduce_sum(..)? + u + s, z])
}

#[test]
fn an_executable_outlives_its_graph() -> Result<()> {
    let exe = build()?;
    let names: Vec<&str> = exe.inputs().iter().map(|port| port.name.as_str()).collect();
    assert_eq!(names, ["x", "z", "y", "u", "s", "p"]);
    let ones = [1.0f32; 16];
    let view = |sizes: &'static [usize]| TensorView::new(sizes, &ones[..sizes.iter().product()]);
    let feeds =
        [view(&[1, 2])?, view(&[1, 3, 3, 1])?, view(&[1, 4])?, view(&[])?, view(&[2, 2])?, view(&[1, 3, 1])?];
    let [rows, matmul, sum, z] = exe.run(&feeds)?;
    assert_eq!((rows.to_vec::<f32>()?, matmul.to_vec::<f32>()?), (vec![1.0; 2], vec![5.0, 7.0]));
    assert_eq!((sum.to_vec::<f32>()?, z.sizes()), (vec![5.0; 4], &[1, 3, 3, 1][..]));
    Ok(())
}

/// A graph and ids of its values, so that it can be extended later.
struct Model {
    graph: Graph,
    x: ValueId,
    probabilities: ValueId,
}

impl Model {
    fn new() -> Result<Model> {
        let graph = Graph::new();
        let (x, probabilities) = {
            let x = graph.input("x", DType::F32, shape!["b", 4])?;
            (x.id(), x.softmax(-1)?.id())
        };
        Ok(Model { graph, x, probabilities })
    }

    fn extend(&self) -> Result<Executable> {
        let p = self.graph.value(self.probabilities)?;
        self.graph.compile([("probabilities", p), ("twice", (p * 2.0).ok()?)])
    }
}

struct Service {
    exe: Executable,
}

impl Service {
    fn score(&self, rows: &[f32], out: &mut [f32]) -> Result<()> {
        let n = rows.len() / 4;
        let sizes = [n, 4];
        let x = TensorView::new(&sizes, rows)?;
        let [probabilities, twice] = self.exe.run(std::slice::from_ref(&x))?;
        let named = self.exe.run_named(&[("x", x.clone())])?;
        assert_eq!(named.tensor("probabilities")?, &probabilities);
        assert_eq!(named.iter().map(|(name, _)| name).collect::<Vec<_>>(), ["probabilities", "twice"]);
        let tensor = Tensor::from_slice(&sizes, rows)?;
        let [again, _] = self.exe.run(&[(&tensor).into()])?;
        assert_eq!(again, probabilities);
        let mut copy = vec![0.0f32; rows.len()];
        let mut views = [TensorViewMut::new(&sizes, &mut copy)?, TensorViewMut::new(&sizes, out)?];
        let mut runner = self.exe.runner();
        runner.run_into(std::slice::from_ref(&x), &mut views)?;
        let mut bound = self.exe.bind(&[x])?;
        bound.run()?;
        bound.run()?;
        assert_eq!(bound.output("twice")?.to_tensor()?, twice);
        assert_eq!((copy, out.to_vec()), (probabilities.to_vec::<f32>()?, twice.to_vec::<f32>()?));
        Ok(())
    }
}

async fn handler() -> Result<Executable> {
    let exe = Model::new()?.extend()?;
    std::future::ready(()).await;
    Ok(exe)
}

/// Requires a future that a multi-threaded executor accepts.
fn spawnable<F: Future + Send + 'static>(future: F) -> F {
    future
}

#[test]
fn threads_share_an_executable() -> Result<()> {
    let model = Model::new()?;
    assert_eq!(model.graph.value(model.x)?.shape(), shape!["b", 4]);
    let service = Arc::new(Service { exe: model.extend()? });
    drop(model);
    drop(spawnable(handler()));
    std::thread::scope(|scope| {
        let run = |n: usize| {
            let service = service.clone();
            move || service.score(&vec![0.5f32; 4 * n], &mut vec![0.0; 4 * n])
        };
        let threads: Vec<_> = (1..5).map(|n| scope.spawn(run(n))).collect();
        threads.into_iter().try_for_each(|thread| thread.join().unwrap())
    })
}

/// One thread builds a graph, and another thread extends it.
#[test]
fn graphs_move_between_threads() -> Result<()> {
    let model = Model::new()?;
    let (model, exe) = std::thread::spawn(move || {
        let exe = model.extend();
        (model, exe)
    })
    .join()
    .unwrap();
    assert_eq!(exe?.outputs().len(), 2);
    assert_eq!(model.extend()?.outputs().len(), 2);
    Ok(())
}
