//! `reduce_min`: smallest elements over axes.

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
    /// The smallest element over some axes; NaN if there is one.
    ///
    /// `[.., d, ..] -> [.., ..]`, or `[.., 1, ..]` with [`Axes::keep_dims`](crate::Axes::keep_dims); integers
    /// and floats. Of no elements it is the highest value, for floats inf. As TensorFlow's `Min`.
    ///
    /// # Errors
    /// The element type is not an integer or a float; an axis is not one of the operand's or stands there twice.
    #[track_caller]
    pub fn reduce_min(self, axes: impl IntoAxes<'g>) -> Result<Value<'g>> {
        axes.into_axes().reduce(self, &DEF, Location::caller())
    }
}

pub(crate) static DEF: OpDef = OpDef::compute("reduce_min", lower)
    .operands(&[Operand::Data("input"), Operand::Structure("axis")])
    .shape_fn(shape_fns::reduce::min)
    .dtype_rule(dtype::unary::number)
    .tensorflow(&[TfOp::new("Min").absent(&[("axis", Absent::AllAxes)])]);

fn lower(cx: &mut dyn LowerCx, _output: usize, index: &[Index]) -> Expr {
    lower_fold(cx, index, FoldOp::Min)
}

#[cfg(test)]
mod tests {
    use super::DEF;
    use crate::ops::testing::{recorded, shape_table};

    shape_table! { DEF, {"axis": [0, -1]},
        "[2, n, 3]" => "[d0_1]",
        "?" => "?",
        "[n]" => error "axis",
        "bool[2, 3]" => error "must be an integer or a float, got bool",
    }
    shape_table! { kept: DEF, {"axis": [1], "keep_dims": true},
        "[2, n, 3]" => "[2, 1, 3]",
    }
    shape_table! { all_axes: DEF, {},
        "[2, n]" => "[]",
        "?" => "[]",
        "[2, n]; axis=i32[2]" => "[]",
        "[2, n]; axis=i64[]" => "[?]",
    }

    #[test]
    fn recorded_values() {
        recorded(&DEF);
    }
}
