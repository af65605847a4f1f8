//! `argmin`: where the smallest element stands along an axis.

use std::panic::Location;

use shapeflow_shape_fns::DType;

use super::arg;
use crate::error::Result;
use crate::expr::{Expr, FoldOp, Index, LowerCx};
use crate::graph::{IntoParam, Value};
use crate::op::{OpDef, Operand, TfOp};
use crate::shape_fns;

impl<'g> Value<'g> {
    /// Where the smallest element stands along `axis`, the first of several equal ones.
    ///
    /// `[.., d, ..] -> i64[.., ..]`; bool, integers and floats. NaN counts as inf: it is passed over, and a
    /// row of nothing else gives 0. As TensorFlow's `ArgMin`.
    ///
    /// # Errors
    /// The axis is not one of the operand's or has no elements.
    #[track_caller]
    pub fn argmin(self, axis: impl IntoParam<'g>) -> Result<Value<'g>> {
        self.graph().op(&DEF).data(self).structure("axis", axis).finish_at(Location::caller())
    }

    /// As [`Value::argmin`], with places as `dtype`: i32 or i64.
    ///
    /// # Errors
    /// As [`Value::argmin`], or another dtype.
    #[track_caller]
    pub fn argmin_as(self, axis: impl IntoParam<'g>, dtype: DType) -> Result<Value<'g>> {
        let call = self.graph().op(&DEF).data(self).structure("axis", axis);
        call.attr("output_type", dtype).finish_at(Location::caller())
    }
}

pub(crate) static DEF: OpDef = OpDef::compute("argmin", lower)
    .operands(&[Operand::Data("input"), Operand::Structure("axis")])
    .shape_fn(shape_fns::reduce::argmin)
    .dtype_rule(arg::dtypes)
    .tensorflow(&[TfOp::new("ArgMin")]);

fn lower(cx: &mut dyn LowerCx, output: usize, index: &[Index]) -> Expr {
    arg::lower(cx, output, index, FoldOp::Min, f64::INFINITY)
}

#[cfg(test)]
mod tests {
    use shapeflow_shape_fns::DType;

    use super::DEF;
    use crate::ops::testing::{recorded, shape_table};

    shape_table! { DEF, {"axis": -1},
        "[2, n]" => "i64[2]",
        "i32[a, b, 3]" => "i64[d0_0, d0_1]",
        "?" => "i64?",
        "[]" => error "axis",
        "[2, 0]" => error "0",
        "string[2]" => error "must be bool, an integer or a float, got string",
    }
    shape_table! { narrow: DEF, {"axis": 0, "output_type": DType::I32},
        "[2, n]" => "i32[d0_1]",
    }
    shape_table! { fed: DEF, {},
        "[2, n]; axis=i32[]" => "i64[?]",
        "[2, n]; axis=f32[]" => error "a parameter must be i32 or i64, got f32",
    }

    #[test]
    fn recorded_values() {
        recorded(&DEF);
    }
}
