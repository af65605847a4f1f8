//! `softmax`: exponentials divided by their sum.

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
    /// Computes `exp(x) / sum(exp(x))` along `axis`, without overflow.
    ///
    /// `[.., d, ..] -> [.., d, ..]`, floats. The largest element of a row is subtracted first, so a row that contains
    /// NaN or `inf`, or only `-inf`, becomes NaN. Exponentials below the normal numbers are 0. As TensorFlow's
    /// `Softmax`, along any axis; f16 and bf16 are computed as f32 and rounded once. Fuses into kernels.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let y = g.constant([[0.0, 0.0], [1000.0, 0.0]])?.softmax(1)?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// y.allclose(&Tensor::from([[0.5, 0.5], [1.0, 0.0]]), 1e-3, 1e-12).unwrap();
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The element type is not a float, or the axis is out of range.
    #[track_caller]
    pub fn softmax(self, axis: impl IntoParam<'g>) -> Result<Value<'g>> {
        self.graph().op(&DEF).data(self).structure("axis", axis).finish_at(Location::caller())
    }
}

/// The default axis is the last one.
pub(crate) static DEF: OpDef = OpDef::compute("softmax", lower)
    .attrs(&[Attribute::elements_or("axis", &[-1])])
    .operands(&[Operand::Data("logits"), Operand::Structure("axis")])
    .shape_fn(shape_fns::nn::softmax)
    .dtype_rule(dtype::unary::float)
    .tensorflow(&[TfOp::new("Softmax").fixed(&[("axis", -1)])])
    .in_tensorflow(TfFunction::Composed(in_tensorflow::softmax));

fn lower(cx: &mut dyn LowerCx, output: usize, index: &[Index]) -> Expr {
    let row = Row::new(cx, index, widen);
    let sum = row.sum_of_exponentials(cx);
    let x = row.shifted(cx, row.index());
    // One division per row and one multiplication per element.
    (math::exp_nonpositive(x) * (sum.like(1.0) / sum)).cast(cx.output_dtype(output))
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
