//! Ops of one's own, by the same `OpDef` as the built-in ones: a scalar formula that is fused and compiled, and
//! a Rust closure that carries state; and what their mistakes look like.

use std::sync::Arc;

use shapeflow::expr::{Expr, Index, LowerCx};
use shapeflow::{
    Attrs, DType, Error, Graph, HostCx, InferenceContext, OpDef, Operand, Result, ShapeError, Tensor,
    TensorView, Value, shape, shape_fns,
};

/// `triangle(x) = max(0, 1 - |x|)`: one element of the output, as an expression of one of the input.
static TRIANGLE: OpDef = OpDef::compute("triangle", triangle)
    .operands(&[Operand::Data("x")])
    .shape_fn(shape_fns::common::unary)
    .dtype_rule(floats);

fn triangle(cx: &mut dyn LowerCx, _output: usize, index: &[Index]) -> Expr {
    let x = cx.operand(0, index);
    let (zero, one) = (x.like(0.0), x.like(1.0));
    (one - x.abs()).maximum(zero)
}

fn floats(dtypes: &[DType], _attrs: &Attrs) -> Result<Vec<DType>> {
    match dtypes {
        [dtype] if dtype.is_float() => Ok(vec![*dtype]),
        _ => Err(Error::msg("x must be of a float dtype")),
    }
}

/// The method that makes it read like a built-in op.
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

/// `[n] -> [n, width]`: each id's row of a table that the op carries with it.
fn lookup(table: Vec<Vec<f32>>) -> Arc<OpDef> {
    let run = move |cx: &mut HostCx<'_>| {
        let ids = cx.input(0)?.to_vec::<i64>()?;
        let mut rows = Vec::new();
        for id in &ids {
            let row = usize::try_from(*id).ok().and_then(|id| table.get(id));
            let row =
                row.ok_or_else(|| Error::msg(format!("ids must be below {}, got {id}", table.len())))?;
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

const WIDTH: usize = 2;

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
    println!("triangle is part of the fused kernel:\n{}", exe.kernels());

    // Their mistakes are located like those of every op: by the dtype rule, the shape function, the kernel.
    for error in [
        ids.triangle().err(),
        g.op(&table).data(rows).finish().err(),
        exe.run_all(&[TensorView::new(&[2], &[0i64, 3])?]).err(),
    ] {
        println!("{}\n", error.ok_or_else(|| Error::msg("the call must be refused"))?);
    }
    Ok(())
}
