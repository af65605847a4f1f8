//! `ensure_broadcasts`: returns its operand, which must broadcast to a given shape.

use shapeflow_shape_fns::{Attribute, TensorShape};

use super::in_tensorflow;
use crate::error::Result;
use crate::expr::{Expr, Index, LowerCx};
use crate::graph::Value;
use crate::op::{OpDef, Operand, TfFunction};

impl<'g> Value<'g> {
    /// Returns the same elements. The value must broadcast to `shape`: the call or the run fails otherwise. Errors call
    /// the value `name`, which is its name among the arguments of the method that the program calls.
    #[track_caller]
    pub(in crate::ops) fn ensure_broadcasts(self, name: &str, shape: TensorShape) -> Result<Value<'g>> {
        self.graph().op(&DEF).data(self).attr("name", name).attr("shape", shape).finish()
    }
}

/// A part of methods that compose ops. The ops after it may then broadcast the operand: the shape of their results is
/// the given one.
pub(crate) static DEF: OpDef = OpDef::compute("ensure_broadcasts", lower)
    .internal()
    .attrs(&[Attribute::str("name"), Attribute::shape("shape")])
    .in_tensorflow(TfFunction::Composed(in_tensorflow::pass_on))
    .operands(&[Operand::Data("x")])
    .reinterprets()
    .shape_fn(|cx| {
        let (name, shape) = (cx.str("name")?.to_string(), cx.shape("shape")?.clone());
        shapeflow_shape_fns::common::require_broadcast(cx, 0, Some(&name), &shape)?;
        shapeflow_shape_fns::common::unary(cx)
    });

fn lower(cx: &mut dyn LowerCx, _output: usize, index: &[Index]) -> Expr {
    cx.operand(0, index)
}

#[cfg(test)]
mod tests {
    use shapeflow_shape_fns::shape;

    use super::DEF;
    use crate::ops::testing::shape_table;

    shape_table! { DEF, {"name": "scale", "shape": shape!["n", 3]},
        "[3]" => "[3]",
        "[]" => "[]",
        "?" => "?",
        "[m, 1]" => "[d0_0, 1]",
        "[2]" => error "scale must broadcast to [n, 3], got [2]",
        "[1, n, 3]" => error "scale must broadcast to [n, 3], got [1, n, 3]",
    }
}
