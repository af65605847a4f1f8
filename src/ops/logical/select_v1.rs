//! `select_v1`: the `Select` of TensorFlow 1, with one condition per row or per element.

use shapeflow_shape_fns::{Attrs, DType};

use crate::dtype;
use crate::error::Result;
use crate::expr::{Expr, Index, LowerCx};
use crate::op::{OpDef, Operand, TfOp};
use crate::shape_fns;

/// An op for import only. Programs use [`Value::select`](crate::Value::select), which broadcasts.
pub(crate) static DEF: OpDef = OpDef::compute("select_v1", lower)
    .operands(&[Operand::Data("condition"), Operand::Data("x"), Operand::Data("y")])
    .shape_fn(shape_fns::math::select_v1)
    .dtype_rule(dtypes)
    .tensorflow(&[TfOp::new("Select")]);

fn dtypes(dtypes: &[DType], _: &Attrs) -> Result<Vec<DType>> {
    dtype::common(dtypes, 0, 1, dtype::Class::Bool)?;
    Ok(vec![dtype::common(dtypes, 1, 3, dtype::Class::Any)?])
}

fn lower(cx: &mut dyn LowerCx, _output: usize, index: &[Index]) -> Expr {
    // A vector of conditions aligns with the first axis; broadcasting would align the vector with the last axis.
    let rank = cx.dims(0).len().min(index.len());
    let condition = cx.operand(0, &index[..rank]);
    condition.select(cx.operand(1, index), cx.operand(2, index))
}

#[cfg(test)]
mod tests {
    use shapeflow_shape_fns::Attrs;

    use super::DEF;
    use crate::ops::testing::{check_tensor, run_one, shape_table, tensor};

    shape_table! { DEF, {},
        "bool[n]; [n, 3]; [n, 3]" => "[n, 3]",
        "bool[]; [2]; [2]" => "[2]",
        "bool[2]; [3, 4]; [3, 4]" => error "one entry per row",
        "[2]; [2]; [2]" => error "must be bool, got f32",
    }

    #[test]
    fn a_vector_of_conditions_chooses_rows() {
        let condition = tensor(&[2], &[true, false]);
        let (x, y) = (tensor(&[2, 2], &[1i32, 2, 3, 4]), tensor(&[2, 2], &[5i32, 6, 7, 8]));
        let expected = tensor(&[2, 2], &[1i32, 2, 7, 8]);
        check_tensor(&run_one(&DEF, &Attrs::new(), &[condition, x, y]), &expected, "select_v1");
    }
}
