//! An op of two operands that broadcast, from the expression of one element. The op fuses with its neighbors.

use shapeflow::expr::{Expr, Index, LowerCx};
use shapeflow::{DType, Graph, OpDef, Operand, Result, Tensor, Value, shape, shape_fns};

/// Huber's loss: half of the square of a difference up to 1, and a linear function of a greater difference.
static HUBER: OpDef = OpDef::compute("huber", huber)
    .operands(&[Operand::Data("labels"), Operand::Data("predictions")])
    .shape_fn(shape_fns::common::broadcast)
    .floats();

fn huber(cx: &mut dyn LowerCx, _output: usize, index: &[Index]) -> Expr {
    let (labels, predictions) = (cx.broadcast_operand(0, index), cx.broadcast_operand(1, index));
    let distance = (labels - predictions).abs();
    let (half, one) = (distance.like(0.5), distance.like(1.0));
    let square = distance.clone() * distance.clone() * half.clone();
    distance.clone().less(one).select(square, distance - half)
}

/// Makes `huber` a method of values, as built-in ops are.
trait Huber<'g> {
    #[track_caller]
    fn huber(self, predictions: Value<'g>) -> Result<Value<'g>>;
}

impl<'g> Huber<'g> for Value<'g> {
    #[track_caller]
    fn huber(self, predictions: Value<'g>) -> Result<Value<'g>> {
        self.graph().op(&HUBER).data(self).data(predictions).finish()
    }
}

pub(crate) fn main() -> Result<()> {
    let g = Graph::new();
    let labels = g.input("labels", DType::F32, shape!["rows", 1])?;
    let predictions = g.input("predictions", DType::F32, shape!["rows", "models"])?;
    let loss = labels.huber(predictions * 2.0)?.reduce_mean(0)?;
    assert_eq!(loss.shape().to_string(), "[models]");
    let exe = g.compile(loss)?;
    assert_eq!(exe.stats().kernels, 1);

    let labels_fed = Tensor::from([[1.0f32], [3.0]]);
    let predictions_fed = Tensor::from([[0.5f32, 0.25, 2.0], [1.0, 1.5, 1.25]]);
    let [loss] = exe.run(&[labels_fed.view(), predictions_fed.view()])?;
    println!("the loss of each model: {loss}");
    assert_eq!(loss.to_vec::<f32>()?, [0.25, 0.0625, 1.3125]);

    // A mistake is an error at the line of the call.
    let wide = g.input("wide", DType::F32, shape![2, 5])?;
    let error = g.input("narrow", DType::F32, shape![2, 4])?.huber(wide).unwrap_err();
    assert!(error.message().contains("huber(f32[2, 4], f32[2, 5])"), "{error}");
    Ok(())
}
