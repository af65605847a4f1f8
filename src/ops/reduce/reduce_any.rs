//! `reduce_any`: whether one element holds over axes.

use std::panic::Location;

use super::axes::IntoAxes;
use super::reduction::lower_fold;
use crate::dtype;
use crate::error::Result;
use crate::expr::{Expr, FoldOp, Index, LowerCx};
use crate::graph::Value;
use crate::op::{Absent, OpDef, Operand, TfOp};
use crate::shape_fns;

impl<'g> Value<'g> {
    /// Whether at least one element holds over some axes.
    ///
    /// `[.., d, ..] -> [.., ..]`, or `[.., 1, ..]` with [`Axes::keep_dims`](crate::Axes::keep_dims); bool. Of
    /// no elements it is false. As TensorFlow's `Any`.
    ///
    /// # Errors
    /// The element type is not bool; an axis is not one of the operand's or stands there twice.
    #[track_caller]
    pub fn reduce_any(self, axes: impl IntoAxes<'g>) -> Result<Value<'g>> {
        axes.into_axes().reduce(self, &DEF, Location::caller())
    }
}

pub(crate) static DEF: OpDef = OpDef::compute("reduce_any", lower)
    .operands(&[Operand::Data("input"), Operand::Structure("axis")])
    .shape_fn(shape_fns::reduce::reduce)
    .dtype_rule(dtype::unary::boolean)
    .tensorflow(&[TfOp::new("Any").absent(&[("axis", Absent::AllAxes)])]);

fn lower(cx: &mut dyn LowerCx, _output: usize, index: &[Index]) -> Expr {
    lower_fold(cx, index, FoldOp::Any)
}

#[cfg(test)]
mod tests {
    use super::DEF;
    use crate::ops::testing::{recorded, shape_table};

    shape_table! { DEF, {"axis": [0, -1]},
        "bool[2, n, 3]" => "bool[d0_1]",
        "bool?" => "bool?",
        "bool[n]" => error "axis",
        "i32[2, 3]" => error "must be bool, got i32",
    }
    shape_table! { kept: DEF, {"axis": [1], "keep_dims": true},
        "bool[2, n, 3]" => "bool[2, 1, 3]",
    }
    shape_table! { all_axes: DEF, {},
        "bool[2, n]" => "bool[]",
        "bool?" => "bool[]",
        "bool[2, n]; axis=i32[2]" => "bool[]",
        "bool[2, n]; axis=i64[]" => "bool[?]",
    }

    #[test]
    fn recorded_values() {
        recorded(&DEF);
    }
}
