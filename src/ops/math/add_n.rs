//! `add_n`: the sum of several tensors.

use std::panic::Location;

use shapeflow_shape_fns::{Attribute, Attrs, DType};

use crate::dtype;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::expr::{Expr, Index, LowerCx};
use crate::graph::Value;
use crate::op::{OpDef, Operand, TfOp};
use crate::ops::widen::widen;
use crate::shape_fns;

/// Adds the values element by element, in their order.
///
/// `[..], [..], … -> [..]`, integers (which wrap), floats and complex numbers of one dtype and one shape. f16 and bf16
/// are added as f32 and rounded once. As TensorFlow's `AddN`. Fuses into kernels.
///
/// ```
/// use shapeflow::{Graph, add_n};
///
/// let g = Graph::new();
/// let (x, y) = (g.constant([1, 2])?, g.constant([10, 20])?);
/// let [sum] = g.compile(add_n(&[x, y, x])?)?.run(&[])?;
/// assert_eq!(sum.to_vec::<i32>()?, [12, 24]);
/// # Ok::<(), shapeflow::Error>(())
/// ```
///
/// # Errors
/// There are no values, their dtypes or shapes differ, or the element type is not an integer, a float or a complex
/// number.
#[doc(alias = "accumulate_n")]
#[track_caller]
pub fn add_n<'g>(values: &[Value<'g>]) -> Result<Value<'g>> {
    let location = Location::caller();
    let first = values.first().copied().ok_or_else(|| {
        Error::new(ErrorKind::Attribute, Phase::Build, "add_n needs at least one value, got none")
            .at(location)
    })?;
    first.graph().op(&DEF).data_all(values).finish_at(location)
}

pub(crate) static DEF: OpDef = OpDef::compute("add_n", lower)
    .attrs(&[Attribute::shape("shape").optional()])
    .operands(&[Operand::Variadic("inputs..")])
    .shape_fn(shape_fns::math::add_n)
    .dtype_rule(dtypes)
    .tensorflow(&[TfOp::new("AddN"), TfOp::new("AccumulateNV2")]);

fn dtypes(operands: &[DType], _: &Attrs) -> Result<Vec<DType>> {
    Ok(vec![dtype::common(operands, 0, operands.len(), dtype::Class::Numeric)?])
}

fn lower(cx: &mut dyn LowerCx, output: usize, index: &[Index]) -> Expr {
    let first = widen(cx.operand(0, index));
    let sum = (1..cx.operands()).fold(first, |sum, operand| sum + widen(cx.operand(operand, index)));
    sum.cast(cx.output_dtype(output))
}

#[cfg(test)]
mod tests {
    use shapeflow_shape_fns::Attrs;

    use super::DEF;
    use crate::ops::testing::{check_tensor, run_one, shape_table, tensor};

    shape_table! { DEF, {},
        "[2, n]; [?, 3]" => "[2, 3]",
        "?" => "?",
        "[2]; [3]" => error "2 and 3",
        "bool[2]" => error "must be an integer, a float or a complex number, got bool",
        "c64[n]; c64[2]" => "c64[2]",
        "[2]; f64[2]" => error "one dtype, got f32 and f64",
    }

    #[test]
    fn integers_wrap() {
        let x = tensor(&[2], &[100u8, 1]);
        let got = run_one(&DEF, &Attrs::new(), &[x.clone(), x.clone(), x]);
        check_tensor(&got, &tensor(&[2], &[44u8, 3]), "add_n");
    }
}
