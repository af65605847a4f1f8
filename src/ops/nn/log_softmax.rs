//! `log_softmax`: the logarithm of `softmax`.

use shapeflow_shape_fns::Attribute;

use std::panic::Location;

use super::in_tensorflow;
use super::row::Row;
use crate::dtype;
use crate::error::Result;
use crate::expr::{Expr, Index, LowerCx, math};
use crate::graph::{IntoParam, Value};
use crate::op::{OpDef, Operand, TfFunction, TfOp};
use crate::ops::widen::widen;
use crate::shape_fns;

impl<'g> Value<'g> {
    /// Computes `x - log(sum(exp(x)))` along `axis`, without overflow.
    ///
    /// `[.., d, ..] -> [.., d, ..]`, floats. The largest element of a row is subtracted first, so a row that contains
    /// NaN or `inf`, or only `-inf`, becomes NaN. As TensorFlow's `LogSoftmax`, along any axis. f16 and bf16 are
    /// computed in f32 and rounded once; TensorFlow rounds every partial sum and so loses digits of results near zero.
    /// Fuses into kernels.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let y = g.constant([[0.0, 0.0], [1000.0, 0.0]])?.log_softmax(1)?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// y.allclose(&Tensor::from([[-0.6931, -0.6931], [0.0, -1000.0]]), 1e-3, 1e-12).unwrap();
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The element type is not a float, or the axis is out of range.
    #[track_caller]
    pub fn log_softmax(self, axis: impl IntoParam<'g>) -> Result<Value<'g>> {
        self.graph().op(&DEF).data(self).structure("axis", axis).finish_at(Location::caller())
    }
}

/// The default axis is the last one.
pub(crate) static DEF: OpDef = OpDef::compute("log_softmax", lower)
    .attrs(&[Attribute::elements_or("axis", &[-1])])
    .operands(&[Operand::Data("logits"), Operand::Structure("axis")])
    .shape_fn(shape_fns::nn::softmax)
    .dtype_rule(dtype::unary::float)
    .tensorflow(&[TfOp::new("LogSoftmax").fixed(&[("axis", -1)])])
    .in_tensorflow(TfFunction::Composed(in_tensorflow::log_softmax));

fn lower(cx: &mut dyn LowerCx, output: usize, index: &[Index]) -> Expr {
    let row = Row::new(cx, index, widen);
    let sum = row.sum_of_exponentials(cx);
    let x = row.shifted(cx, row.index());
    (x - math::log(sum)).cast(cx.output_dtype(output))
}

#[cfg(test)]
mod tests {
    use super::DEF;
    use crate::ops::testing::shape_table;

    shape_table! { DEF, {"axis": -2},
        "[2, n]" => "[2, d0_1]",
        "?" => "?",
        "[n]" => error "axis",
        "[]" => error "rank",
        "i32[2, 3]" => error "must be a float, got i32",
    }
}
