//! Custom ops that a user's program defines, and registries of ops.

use std::sync::Arc;

use shapeflow::{
    Attribute, Attrs, Axes, DType, Error, Graph, HostCx, HostKernel, OpDef, Operand, Registry, Result,
    Tensor, TensorView, Value, shape, shape_fns,
};

static CUBE: OpDef = OpDef::compute("cube", |cx, _output, index| {
    let x = cx.operand(0, index);
    x.clone() * x.clone() * x
})
.operands(&[Operand::Data("x")])
.attrs(&[Attribute::ints("note").optional()])
.shape_fn(|cx| {
    let shape = cx.input(0).clone();
    cx.set_output(0, shape);
    Ok(())
})
.dtype_rule(|dtypes, _| Ok(vec![dtypes[0]]));

static TWICE: OpDef =
    OpDef::composite("twice", |_cx, values| Ok(vec![values[0] + values[0]])).operands(&[Operand::Data("x")]);

/// A host kernel with state: the sum of all elements fed so far.
struct RunningSum(std::sync::Mutex<f64>);

impl HostKernel for RunningSum {
    fn run(&self, cx: &mut HostCx<'_>) -> Result<()> {
        let sum: f64 = cx.input(0)?.to_vec::<f64>()?.into_iter().sum();
        let mut total = self.0.lock().map_err(|_| Error::msg("a run has failed"))?;
        *total += sum;
        cx.set_output(0, Tensor::scalar(*total))
    }
}

trait Cubes: Sized {
    #[track_caller]
    fn cube(self) -> Result<Self>;
}

impl Cubes for Value<'_> {
    #[track_caller]
    fn cube(self) -> Result<Self> {
        self.graph().op(&CUBE).data(self).attr("note", [1i64, 2]).finish()
    }
}

#[test]
fn custom_compute_and_composite_ops_fuse_into_one_kernel() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::F64, shape!["n"])?;
    let cube = (x + 1.0).cube()?;
    let twice = g.op(&TWICE).data(cube).finish()?;
    let exe = g.compile((twice - 1.0).ok()?)?;
    assert_eq!(exe.stats().kernels, 1, "{}", exe.kernels());
    let [y] = exe.run(&[TensorView::new(&[2], &[1.0f64, -3.0])?])?;
    assert_eq!(y.to_vec::<f64>()?, [15.0, -17.0]);
    let wrong = g.op(&CUBE).finish().unwrap_err();
    assert!(wrong.to_string().contains("cube") && wrong.to_string().contains(file!()), "{wrong}");
    Ok(())
}

#[test]
fn a_layer_norm_is_one_kernel() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape!["rows", "columns"])?;
    let scale = g.input("scale", DType::F32, shape!["columns"])?;
    let centered = x - x.reduce_mean(Axes::of(-1).keep_dims())?;
    let variance = centered.square()?.reduce_mean(Axes::of(-1).keep_dims())?;
    let exe = g.compile((centered * (variance + 1e-5).rsqrt()? * scale).ok()?)?;
    assert_eq!(exe.stats().kernels, 1, "{}", exe.kernels());
    for columns in [3usize, 200] {
        let data: Vec<f32> = (0..2 * columns).map(|k| (k * k % 17) as f32 - 4.0).collect();
        let scales: Vec<f32> = (0..columns).map(|k| 1.0 + k as f32).collect();
        let [y] =
            exe.run(&[TensorView::new(&[2, columns], &data)?, TensorView::new(&[columns], &scales)?])?;
        let mut expected = Vec::new();
        for row in data.chunks(columns) {
            let mean = |values: &dyn Fn(f64) -> f64| {
                row.iter().map(|x| values(f64::from(*x))).sum::<f64>() / columns as f64
            };
            let center = mean(&|x| x);
            let root = (mean(&|x| (x - center).powi(2)) + 1e-5).sqrt();
            expected.extend(
                row.iter().zip(&scales).map(|(x, s)| (f64::from(*x) - center) / root * f64::from(*s)),
            );
        }
        for (got, expected) in y.to_vec::<f32>()?.iter().zip(expected) {
            assert!((f64::from(*got) - expected).abs() <= 1e-5 * expected.abs().max(1.0), "{got} {expected}");
        }
    }
    Ok(())
}

#[test]
fn host_kernels_may_hold_state() -> Result<()> {
    let running = Arc::new(
        OpDef::host_with("running", RunningSum(Default::default())).operands(&[Operand::Data("x")]).shape_fn(
            |cx| {
                cx.set_output(0, shape![]);
                Ok(())
            },
        ),
    );
    let offset = 10.0f64;
    let shifted = move |cx: &mut HostCx<'_>| {
        let x: Vec<f64> = cx.input(0)?.to_vec()?;
        let sizes = cx.input(0)?.sizes().to_vec();
        let scale = cx.attrs().float("scale");
        let mut out = cx.output(0, &sizes)?;
        for (out, x) in out.as_mut_slice::<f64>()?.iter_mut().zip(x) {
            *out = x * scale + offset;
        }
        Ok(())
    };
    let shifted = Arc::new(
        OpDef::host_with("shifted", shifted)
            .attrs(const { &[Attribute::float_or("scale", 1.0)] })
            .operands(&[Operand::Data("x")])
            .shape_fn(shape_fns::common::unary)
            .dtype_rule(|dtypes: &[DType], _: &Attrs| match dtypes {
                [DType::F64] => Ok(vec![DType::F64]),
                _ => Err(Error::msg("x must be f64")),
            }),
    );
    let g = Graph::new();
    let x = g.input("x", DType::F64, shape!["n"])?;
    let y = g.op(&shifted).data(x).attr("scale", 2.0).finish()?;
    let exe = g.compile([y, g.op(&running).data((x * 1.0).ok()?).finish()?])?;
    for (round, total) in [(1, 3.0), (2, 6.0)] {
        let [y, sum] = exe.run(&[TensorView::new(&[2], &[1.0f64, 2.0])?])?;
        assert_eq!((y.to_vec::<f64>()?, sum.item::<f64>()?), (vec![12.0, 14.0], total), "round {round}");
    }
    let f = g.input("f", DType::F32, shape!["n"])?;
    assert!(g.op(&shifted).data(f).finish().unwrap_err().to_string().contains("must be f64"));
    Ok(())
}

#[test]
fn registries_are_extended_without_changing_the_builtin_one() {
    let builtin = Registry::builtin();
    let extended = Registry::builtin().with(&CUBE).with(Arc::new(TWICE.clone()));
    assert!(builtin.get("cube").is_none());
    assert_eq!(extended.get("cube").map(|def| def.name()), Some("cube"));
    assert_eq!(extended.iter().count(), builtin.iter().count() + 2);
}
