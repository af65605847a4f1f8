//! `shape_n`: the sizes of several tensors as tensors.

use shapeflow_shape_fns::{Attribute, DType};

use crate::error::Result;
use crate::expr::{Expr, Index, LowerCx};
use crate::op::{OpDef, Operand, TfOp};

use super::shape::{size_dtype, size_of_axis};

/// An op for import only: programs call [`Value::shape_tensor`](crate::Value::shape_tensor). Output `i` holds the sizes
/// of operand `i`.
pub(crate) static DEF: OpDef = OpDef::compute("shape_n", lower)
    .attrs(&[Attribute::dtype_or("out_type", DType::I64)])
    .operands(&[Operand::Variadic("x..")])
    .outputs(|_, operands| operands)
    .shape_fn(shapeflow_shape_fns::array::shape_n)
    .dtype_rule(|operands, attrs| -> Result<_> {
        let size = size_dtype(operands, attrs)?[0];
        Ok(vec![size; operands.len()])
    })
    .tensorflow(&[TfOp::new("ShapeN")]);

fn lower(cx: &mut dyn LowerCx, output: usize, index: &[Index]) -> Expr {
    size_of_axis(cx, output, index)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::{run, shape_table, tensor};
    use crate::{Attrs, DType};

    shape_table! { DEF, {"out_type": DType::I32},
        "[n, 3]; []" => "i32[2]; i32[0]",
        "?" => "i32[?]",
    }

    #[test]
    fn each_output_holds_the_sizes_of_its_operand() {
        let operands = [tensor(&[2, 3], &[0u8; 6]), tensor(&[4], &[0u8; 4])];
        let outputs = run(&DEF, &Attrs::new(), &operands).unwrap();
        let sizes: Vec<Vec<i64>> = outputs.iter().map(|output| output.to_vec().unwrap()).collect();
        assert_eq!(sizes, [vec![2, 3], vec![4]]);
    }
}
