//! `softmax`: exponentials as shares of their sum.

use std::panic::Location;

use super::row::Row;
use crate::dtype;
use crate::error::Result;
use crate::expr::{Expr, Index, LowerCx, math};
use crate::graph::{IntoParam, Value};
use crate::op::{OpDef, Operand, TfOp};
use crate::shape_fns;

impl<'g> Value<'g> {
    /// `exp(x) / sum(exp(x))` along `axis`, without overflow.
    ///
    /// `[.., d, ..] -> [.., d, ..]`, floats. The largest element of a row is subtracted before anything else, so
    /// that a row with NaN, with `inf`, or of nothing but `-inf` is NaN; exponentials below the normal numbers are 0.
    /// As TensorFlow's `Softmax`, along any axis; every step rounds to the element type, in half precision too.
    ///
    /// # Errors
    /// The element type is not a float, or the axis is not one of the operand's.
    #[track_caller]
    pub fn softmax(self, axis: impl IntoParam<'g>) -> Result<Value<'g>> {
        self.graph().op(&DEF).data(self).structure("axis", axis).finish_at(Location::caller())
    }
}

/// Without an axis it is the last one.
pub(crate) static DEF: OpDef = OpDef::compute("softmax", lower)
    .operands(&[Operand::Data("logits"), Operand::Structure("axis")])
    .shape_fn(shape_fns::nn::softmax)
    .dtype_rule(dtype::unary::float)
    .tensorflow(&[TfOp::new("Softmax").fixed(&[("axis", -1)])]);

fn lower(cx: &mut dyn LowerCx, _output: usize, index: &[Index]) -> Expr {
    let row = Row::new(cx, index, |x| x);
    let sum = row.sum_of_exponentials(cx);
    let x = row.shifted(cx, row.own_place());
    // One quotient a row, and a product an element.
    math::exp_nonpositive(x) * (sum.like(1.0) / sum)
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
