//! Two user-defined ops, and the errors that they report. An [`OpDef`] defines each op, as it defines a built-in op.
//! One op is a scalar formula, which is fused and compiled; the other op is a Rust closure with state.

use std::sync::Arc;

use shapeflow::expr::{Expr, Index, LowerCx};
use shapeflow::{
    DType, Error, Graph, HostCx, InferenceContext, OpDef, Operand, Result, ShapeError, Tensor, TensorView,
    Value, shape, shape_fns,
};

/// `triangle(x) = max(0, 1 - |x|)`, defined by an expression for one element of the output.
static TRIANGLE: OpDef = OpDef::compute("triangle", triangle)
    .operands(&[Operand::Data("x")])
    .shape_fn(shape_fns::common::unary)
    .floats();

/// Returns the element at `index` of the output, as an expression of the operand's element at `index`.
fn triangle(cx: &mut dyn LowerCx, _output: usize, index: &[Index]) -> Expr {
    let x = cx.operand(0, index);
    let (zero, one) = (x.like(0.0), x.like(1.0));
    (one - x.abs()).maximum(zero)
}

/// Makes `triangle` a method of values, as built-in ops are.
trait Triangle<'g> {
    #[track_caller]
    fn triangle(self) -> Result<Value<'g>>;
}

impl<'g> Triangle<'g> for Value<'g> {
    #[track_caller]
    fn triangle(self) -> Result<Value<'g>> {
        self.graph().op(&TRIANGLE).data(self).finish()
    }
}

/// Returns an op `[n] -> [n, width]` that looks up the row of each id in `table`, which the op owns.
fn lookup(table: Vec<Vec<f32>>) -> Arc<OpDef> {
    let run = move |cx: &mut HostCx<'_>| {
        let ids = cx.input(0)?.to_vec::<i64>()?;
        let mut rows = Vec::new();
        for id in &ids {
            let row = usize::try_from(*id).ok().and_then(|id| table.get(id));
            let row =
                row.ok_or_else(|| Error::msg(format!("ids must be less than {}, got {id}", table.len())))?;
            rows.extend_from_slice(row);
        }
        let width = rows.len().checked_div(ids.len()).unwrap_or(WIDTH);
        cx.set_output(0, Tensor::from_slice(&[ids.len(), width], &rows)?)
    };
    Arc::new(
        OpDef::host_with("lookup", run)
            .operands(&[Operand::Data("ids")])
            .shape_fn(lookup_shape)
            .dtype_rule(|_, _| Ok(vec![DType::F32])),
    )
}

/// The width of the rows of the table.
const WIDTH: usize = 2;

/// The shape function of `lookup`: `[n]` gives `[n, WIDTH]`.
fn lookup_shape(cx: &mut InferenceContext<'_>) -> std::result::Result<(), ShapeError> {
    let ids = cx.with_rank(0, 1)?;
    let rows = ids.dim(0).cloned().unwrap_or_else(|| cx.fresh());
    cx.set_output(0, shape![rows, WIDTH]);
    Ok(())
}

fn main() -> Result<()> {
    let table = lookup(vec![vec![0.0, 0.25], vec![-0.5, 2.0], vec![1.0, -0.75]]);
    let g = Graph::new();
    let ids = g.input("ids", DType::I64, shape!["n"])?;
    let rows = g.op(&table).data(ids).finish()?;
    let y = (rows.triangle()? * 10.0).relu()?;
    println!("{g}\n");

    let exe = g.compile(y)?;
    let [y] = exe.run(&[TensorView::new(&[4], &[2i64, 0, 1, 1])?])?;
    println!("{y}\n");
    println!("The kernel that triangle is fused into:\n{}", exe.kernels());

    // The dtype rule of `triangle`, the shape function of `lookup` and its closure report an error. Each error names
    // the source line of the call.
    for error in [
        ids.triangle().err(),
        g.op(&table).data(rows).finish().err(),
        exe.run_all(&[TensorView::new(&[2], &[0i64, 3])?]).err(),
    ] {
        println!("{}\n", error.ok_or_else(|| Error::msg("the call must fail"))?);
    }
    Ok(())
}
