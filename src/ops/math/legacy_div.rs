//! `legacy_div`: the `Div` of TensorFlow 1, which rounds integers toward zero.

use crate::dtype;
use crate::expr::{BinaryOp, Expr, Index, LowerCx};
use crate::op::{OpDef, Operand, TfOp};
use crate::ops::broadcast::lower_primitive;
use crate::shape_fns;

/// An op for import only. Programs choose between [`Value::div`](crate::Value::div),
/// [`Value::floordiv`](crate::Value::floordiv) and [`Value::truncatediv`](crate::Value::truncatediv).
pub(crate) static DEF: OpDef = OpDef::compute("legacy_div", lower)
    .operands(&[Operand::Data("x"), Operand::Data("y")])
    .shape_fn(shape_fns::common::broadcast)
    .dtype_rule(dtype::binary::numeric)
    .tensorflow(&[TfOp::new("Div").own_shape_fn()]);

fn lower(cx: &mut dyn LowerCx, _output: usize, index: &[Index]) -> Expr {
    lower_primitive(cx, index, BinaryOp::Div)
}

#[cfg(test)]
mod tests {
    use shapeflow_shape_fns::Attrs;

    use super::DEF;
    use crate::ops::testing::{check_tensor, run_one, shape_table, tensor};

    shape_table! { DEF, {},
        "[2, n]; [n]" => "[2, d0_1]",
        "i32[2]; i32[2]" => "i32[2]",
    }

    #[test]
    fn integers_round_toward_zero_and_floats_do_not_round() {
        let (x, y) = (tensor(&[2], &[7i32, -7]), tensor(&[], &[2i32]));
        check_tensor(&run_one(&DEF, &Attrs::new(), &[x, y]), &tensor(&[2], &[3i32, -3]), "legacy_div");
        let (x, y) = (tensor(&[2], &[7.0f32, -7.0]), tensor(&[], &[2.0f32]));
        check_tensor(&run_one(&DEF, &Attrs::new(), &[x, y]), &tensor(&[2], &[3.5f32, -3.5]), "legacy_div");
    }
}
