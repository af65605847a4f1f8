//! What programs are written like: operators, layers, models, ops of their own.

use std::sync::Arc;

use shapeflow::{
    DType, Dim, Error, ErrorKind, Executable, Graph, HostCx, OpDef, Operand, Registry, Result, Runner, Tensor, TensorView,
    TensorViewMut, Value, ValueId, concat, shape, stack,
};

fn floats(exe: &Executable, inputs: &[TensorView<'_>]) -> Vec<f32> {
    exe.run::<1>(inputs).unwrap()[0].to_vec().unwrap()
}

#[test]
fn types_are_small_and_may_be_sent() {
    fn is_send<T: Send>() {}
    fn is_sync<T: Sync>() {}
    fn is_static<T: 'static>() {}
    is_send::<Executable>();
    is_sync::<Executable>();
    is_send::<Error>();
    is_sync::<Error>();
    is_static::<Error>();
    is_send::<Graph>();
    is_send::<Runner>();
    is_send::<ValueId>();
    is_send::<Tensor>();
    is_sync::<Tensor>();
    is_send::<OpDef>();
    is_sync::<OpDef>();
    assert_eq!((size_of::<Value<'_>>(), size_of::<Error>()), (16, 8));
    assert!(size_of::<Result<Value<'_>>>() <= 24);
}

#[test]
fn expressions_are_written_as_usual() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape!["n", 2])?;
    let w = g.input("w", DType::F32, shape!["n", 2])?;
    let b = g.input("b", DType::F32, [2])?;
    let t = Tensor::from_slice(&[2], &[10.0f32, 20.0])?;
    let a = (x * w + b).relu()?;
    let c = x * w + b * w * 2.0;
    let d = (x * 2.0).relu()?;
    let e = (2.0 * x).relu()?;
    let f = 2 * x + 1;
    let h = (2 * x).relu()?;
    let i = 1.0 - x;
    let j = -(x * w) / 3.0 + &t;
    let k = x + w.relu();
    let l = 0.5f32;
    let m = x * l;
    let n: Value<'_> = [x, w, b].into_iter().sum();
    let o = x.maximum(0.0)?.maximum(w * b)?;
    let p = (x * w + b).ok()?.relu()?;
    let q = [a, c, d].into_iter().try_fold(x, |sum, value| (sum + value).ok())?;
    let r = concat(&[a, c, d, e + f, h], 0)?;
    let s = stack(&[i, j], -1)?;
    let [u, v] = x.split::<2>(1)?;
    let text: Vec<String> = [r, s, u].iter().map(|value| value.shape().to_string()).collect();
    assert_eq!(text, ["[5*n, 2]", "[n, 2, 2]", "[n, 1]"]);
    let all = a + c + k + m + n + o + p + q + u + v;
    let exe = g.compile([a, c, d, f, i, j, k, m, n, o, p, q, all])?;
    let feeds = [[1.0f32, -2.0].as_slice(), &[3.0, 4.0], &[0.5, -0.5]].map(|data| data.to_vec());
    let got = exe.run::<13>(&[
        TensorView::new(&[1, 2], &feeds[0])?,
        TensorView::new(&[1, 2], &feeds[1])?,
        TensorView::new(&[2], &feeds[2])?,
    ])?;
    let expected: [[f32; 2]; 12] = [
        [3.5, 0.0],
        [6.0, -12.0],
        [2.0, 0.0],
        [3.0, -3.0],
        [0.0, 3.0],
        [9.0, 8.0 / 3.0 + 20.0],
        [4.0, 2.0],
        [0.5, -1.0],
        [4.5, 1.5],
        [1.5, 0.0],
        [3.5, 0.0],
        [12.5, -14.0],
    ];
    for (number, (got, expected)) in got.iter().zip(&expected).enumerate() {
        let expected = Tensor::from_slice(&[1, 2], expected)?;
        got.allclose(&expected, 1e-6, 0.0).unwrap_or_else(|what| panic!("result {number}: {what}"));
    }
    Ok(())
}

#[test]
fn operators_carry_their_error_to_the_next_method() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::F32, [2, 3])?;
    let y = g.input("y", DType::F32, [2, 4])?;
    let nodes = g.len();
    let broken = x * y + 1.0;
    assert_eq!(broken.dtype(), DType::F32);
    let error = broken.relu().unwrap_err();
    assert!(error.message().contains("3 and 4"), "{error}");
    assert_eq!(error.kind(), ErrorKind::Shape);
    assert_eq!(error.location().unwrap().file(), file!());
    assert_eq!(g.compile(broken).unwrap_err().kind(), ErrorKind::Shape);
    assert!(g.check().is_err());
    assert_eq!(g.len(), nodes + 1, "the constant alone was added");
    // The graph goes on.
    assert_eq!(floats(&g.compile((x + 1.0).relu()?)?, &[TensorView::new(&[2, 3], &[0f32; 6])?, TensorView::new(&[2, 4], &[0f32; 8])?]), [1.0; 6]);
    Ok(())
}

struct Dense {
    w: Tensor,
    b: Tensor,
}

trait Layer {
    fn apply<'g>(&self, x: Value<'g>) -> Result<Value<'g>>;
}

impl Layer for Dense {
    fn apply<'g>(&self, x: Value<'g>) -> Result<Value<'g>> {
        (x.matmul(&self.w)? + &self.b).ok()
    }
}

struct Relu;

impl Layer for Relu {
    fn apply<'g>(&self, x: Value<'g>) -> Result<Value<'g>> {
        x.relu()
    }
}

fn sequential<'g>(x: Value<'g>, layers: &[Box<dyn Layer>]) -> Result<Value<'g>> {
    layers.iter().enumerate().try_fold(x, |x, (number, layer)| {
        let _scope = x.graph().scope(format!("layer{number}"));
        layer.apply(x)
    })
}

fn residual<'g>(x: Value<'g>, f: impl FnOnce(Value<'g>) -> Result<Value<'g>>) -> Result<Value<'g>> {
    (x + f(x)?).ok()
}

/// A function that builds a graph and gives what runs it.
fn classifier() -> Result<Executable> {
    let g = Graph::new();
    let width = 2usize;
    let x = g.input("x", DType::F32, shape!["b", width])?;
    let w = Tensor::from_slice(&[2, 2], &[1.0f32, 0.0, 0.0, -1.0])?;
    let b = Tensor::from_slice(&[2], &[0.5f32, 0.5])?;
    let layers: Vec<Box<dyn Layer>> = vec![Box::new(Dense { w, b }), Box::new(Relu)];
    let y = residual(x, |x| sequential(x, &layers))?;
    g.compile([("y", y), ("probabilities", y.softmax(-1)?)])
}

#[test]
fn layers_are_functions_and_trait_objects() -> Result<()> {
    let exe = classifier()?;
    let x = [1.0f32, 2.0, -3.0, -4.0];
    let [y, p] = exe.run(&[TensorView::new(&[2, 2], &x)?])?;
    assert_eq!(y.to_vec::<f32>()?, [2.5, 2.0, -3.0, 0.5]);
    let sums: Vec<f32> = p.to_vec::<f32>()?.chunks(2).map(|row| row.iter().sum()).collect();
    assert!(sums.iter().all(|sum| (sum - 1.0).abs() < 1e-6));
    let named = exe.run_named(&[("x", TensorView::new(&[2, 2], &x)?)])?;
    assert_eq!(named.tensor("y")?, &y);
    let ports: Vec<String> = exe.inputs().iter().chain(exe.outputs()).map(|port| format!("{} {}", port.name, port.shape)).collect();
    assert_eq!(ports, ["x [b, 2]", "y [b, 2]", "probabilities [b, 2]"]);
    Ok(())
}

#[test]
fn executables_serve_threads() -> Result<()> {
    let exe = classifier()?;
    let threads: Vec<_> = (1..5usize)
        .map(|rows| {
            let exe = exe.clone();
            std::thread::spawn(move || -> Result<Vec<usize>> {
                let data = vec![1.0f32; rows * 2];
                let mut runner = exe.runner();
                let (mut y, mut p) = (vec![0.0f32; rows * 2], vec![0.0f32; rows * 2]);
                let sizes = [rows, 2];
                for _ in 0..20 {
                    let mut outputs = [TensorViewMut::new(&sizes, &mut y)?, TensorViewMut::new(&sizes, &mut p)?];
                    runner.run_into(&[TensorView::new(&sizes, &data)?], &mut outputs)?;
                }
                assert_eq!(y, [2.5, 1.0].repeat(rows));
                Ok(exe.run::<2>(&[TensorView::new(&sizes, &data)?])?[0].sizes().to_vec())
            })
        })
        .collect();
    for (number, thread) in threads.into_iter().enumerate() {
        assert_eq!(thread.join().unwrap()?, [number + 1, 2]);
    }
    assert_eq!(exe.stats().compiles.len(), 1);
    Ok(())
}

#[test]
fn futures_may_hold_executables() {
    async fn handler() -> Result<Executable> {
        let exe = classifier()?;
        std::future::ready(()).await;
        Ok(exe)
    }
    fn spawn<F: Future + Send + 'static>(_: F) {}
    spawn(handler());
}

/// A graph beside handles of its values.
struct Model {
    graph: Graph,
    x: ValueId,
    y: ValueId,
}

impl Model {
    fn new() -> Result<Model> {
        let graph = Graph::new();
        let (x, y) = {
            let x = graph.input("x", DType::F32, shape!["b", 2])?;
            (x.id(), x.relu()?.id())
        };
        Ok(Model { graph, x, y })
    }

    fn twice(&self) -> Result<Executable> {
        let y = self.graph.value(self.y)?;
        self.graph.compile([("y", y), ("twice", y * 2.0 + self.graph.value(self.x)? * 0.0)])
    }
}

#[test]
fn graphs_are_kept_beside_their_handles() -> Result<()> {
    let model = std::thread::spawn(Model::new).join().unwrap()?;
    let [_, twice] = model.twice()?.run(&[TensorView::new(&[1, 2], &[1.5f32, -1.0])?])?;
    assert_eq!(twice.to_vec::<f32>()?, [3.0, 0.0]);
    let other = Graph::new();
    assert_eq!(other.value(model.y).unwrap_err().kind(), ErrorKind::ForeignValue);
    Ok(())
}

#[test]
fn shapes_are_given_in_many_ways() -> Result<()> {
    let g = Graph::new();
    let b = Dim::symbol("b");
    let n = 3usize;
    let x = g.input("x", DType::F32, shape!["b", 4])?;
    let z = g.input("z", DType::F32, shape![?, 3, 2 * &b + 1, ?])?;
    let y = g.input("y", DType::F32, shape![b, 2 * n])?;
    let u = g.input("u", DType::F32, shape![..])?;
    let s = g.input("s", DType::F32, [2, 3])?;
    let e = g.input("e", DType::F32, shape![])?;
    let text: Vec<String> = [x, z, y, u, s, e].iter().map(|value| value.shape().to_string()).collect();
    assert_eq!(text, ["[b, 4]", "[?, 3, 2*b+1, ?]", "[b, 6]", "?", "[2, 3]", "[]"]);
    let r = x.reshape([-1, 2])?.reshape(&[-1i64, 2, 2][..])?.reshape(shape![x.dim(0)?, 4])?;
    assert_eq!(r.shape().to_string(), "[b, 4]");
    let r = x.reshape([2 * &x.dim(0)?, Dim::known(2)])?;
    assert_eq!(r.shape().to_string(), "[2*b, 2]");
    assert!(g.same_dim(&x.dim(0)?, &y.dim(0)?) == Some(true));
    Ok(())
}

static CUBE: OpDef = OpDef::compute("cube", |cx, _output, index| {
    let x = cx.operand(0, index);
    x.clone() * x.clone() * x
})
.operands(&[Operand::Data("x")])
.shape_fn(shapeflow::shape_fns::common::unary);

static PAIR_SUM: OpDef = OpDef::composite("pair_sum", |_cx, operands| Ok(vec![operands[0] + operands[1]]));

trait CubeExt: Sized {
    fn cube(self) -> Result<Self>;
}

impl CubeExt for Value<'_> {
    #[track_caller]
    fn cube(self) -> Result<Self> {
        self.graph().op(&CUBE).data(self).finish()
    }
}

#[test]
fn computed_ops_of_users_fuse_with_others() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape!["n"])?;
    let y = (x + 1.0).cube()? * 2.0;
    let z = g.op(&PAIR_SUM).data(x).data(y).finish()?;
    let exe = g.compile(z)?;
    assert_eq!(exe.stats().kernels, 1, "{}", exe.kernels());
    for n in [0usize, 1, 5, 100] {
        let data: Vec<f32> = (0..n).map(|i| i as f32 - 2.0).collect();
        let expected: Vec<f32> = data.iter().map(|x| x + (x + 1.0) * (x + 1.0) * (x + 1.0) * 2.0).collect();
        assert_eq!(floats(&exe, &[TensorView::new(&[n], &data)?]), expected);
    }
    let registry = Registry::builtin().with(&CUBE);
    assert_eq!(registry.get("cube").unwrap().name(), "cube");
    assert!(Registry::builtin().get("cube").is_none());
    Ok(())
}

#[test]
fn host_ops_of_users_keep_state_and_decide_sizes() -> Result<()> {
    let words = Arc::new(vec![3.0f32, 5.0, 7.0]);
    let lookup = OpDef::host_with("lookup", move |cx: &mut HostCx<'_>| {
        let indices = cx.input(0)?.to_vec::<i64>()?;
        let sizes = [indices.len()];
        let mut output = cx.output(0, &sizes)?;
        for (slot, index) in output.as_mut_slice::<f32>()?.iter_mut().zip(indices) {
            let at = usize::try_from(index).ok();
            *slot = *at.and_then(|at| words.get(at)).ok_or_else(|| Error::msg(format!("no word has number {index}")))?;
        }
        Ok(())
    })
    .operands(&[Operand::Data("indices")])
    .shape_fn(shapeflow::shape_fns::common::unary)
    .dtype_rule(|_, _| Ok(vec![DType::F32]));
    let lookup = Arc::new(lookup);

    // As many elements as the first element says.
    let repeat = Arc::new(
        OpDef::host_with("repeat", |cx: &mut HostCx<'_>| {
            let data = cx.input(0)?.to_vec::<f32>()?;
            let count = data.first().map_or(0, |first| *first as usize);
            cx.output(0, &[count])?.as_mut_slice::<f32>()?.fill(data[1]);
            Ok(())
        })
        .operands(&[Operand::Data("x")])
        .shape_fn(|cx| {
            let unknown = cx.unknown_shape_of_rank(1);
            cx.set_output(0, unknown);
            Ok(())
        }),
    );
    let g = Graph::new();
    let i = g.input("i", DType::I64, shape!["n"])?;
    let y = g.op(&lookup).data(i).finish()? * 2.0;
    let z = (g.op(&repeat).data(y).finish()? + 1.0).relu()?;
    let exe = g.compile([y, z, z.reduce_sum(..)?])?;
    let [y, z, sum] = exe.run(&[TensorView::new(&[2], &[0i64, 2])?])?;
    assert_eq!((y.to_vec::<f32>()?, z.to_vec::<f32>()?), (vec![6.0, 14.0], vec![15.0; 6]));
    assert_eq!(sum.item::<f32>()?, 90.0);
    let [_, z, _] = exe.run(&[TensorView::new(&[3], &[1i64, 0, 0])?])?;
    assert_eq!(z.sizes(), [10]);
    assert_eq!(exe.stats().compiles.len(), 1);
    let error = exe.run::<3>(&[TensorView::new(&[1], &[9i64])?]).unwrap_err();
    assert!(error.message().contains("no word has number 9"), "{error}");
    assert_eq!(error.op(), Some("lookup"));
    // A panic, here by an index, is an error too.
    let error = exe.run::<3>(&[TensorView::new(&[1], &[0i64])?]).unwrap_err();
    assert!(error.message().contains("panicked"), "{error}");
    Ok(())
}

#[test]
fn ranks_may_depend_on_data() -> Result<()> {
    let pack = Arc::new(
        OpDef::host_with("as_rank", |cx: &mut HostCx<'_>| {
            let rank = cx.input(0)?.to_vec::<i64>()?[0] as usize;
            cx.output(0, &vec![2; rank])?.as_mut_slice::<f32>()?.fill(1.5);
            Ok(())
        })
        .operands(&[Operand::Data("x")])
        .shape_fn(|cx| {
            cx.set_output(0, shapeflow::TensorShape::unranked());
            Ok(())
        })
        .dtype_rule(|_, _| Ok(vec![DType::F32])),
    );
    let g = Graph::new();
    let x = g.input("x", DType::I64, [1])?;
    let y = g.op(&pack).data(x).finish()?;
    let exe = g.compile([y, (y * 2.0).ok()?, y.reduce_sum(..)?])?;
    for rank in [0usize, 1, 3, 1] {
        let [y, twice, sum] = exe.run(&[TensorView::new(&[1], &[rank as i64])?])?;
        assert_eq!((y.sizes(), twice.sizes()), (&vec![2; rank][..], &vec![2; rank][..]));
        assert_eq!(sum.item::<f32>()?, 1.5 * (1 << rank) as f32);
    }
    Ok(())
}
