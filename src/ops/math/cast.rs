//! `cast`: converts elements to another dtype.

use shapeflow_shape_fns::{Attr, Attrs, DType};

use crate::dtype;
use crate::error::Result;
use crate::expr::{Expr, Index, LowerCx};
use crate::graph::Value;
use crate::op::{OpDef, Operand, TfOp};
use crate::shape_fns;

impl<'g> Value<'g> {
    /// Converts every element to `dtype`. Returns `self` if it has that dtype.
    ///
    /// `[..] -> [..]`, between bool, integers and floats. Float to integer truncates toward zero and saturates, and NaN
    /// becomes 0 (in TensorFlow both depend on the processor); integer to integer wraps; a bool is `x != 0`; a
    /// conversion to a float rounds to nearest even. As TensorFlow's `Cast`; an imported graph may set `Truncate`,
    /// which rounds floats toward zero. Fuses into kernels.
    ///
    /// # Errors
    /// The element type or `dtype` is not bool, an integer or a float.
    #[track_caller]
    pub fn cast(self, dtype: DType) -> Result<Value<'g>> {
        if self.dtype() == dtype {
            return self.ok();
        }
        self.graph().op(&DEF).data(self).attr("dtype", dtype).finish()
    }
}

pub(crate) static DEF: OpDef = OpDef::compute("cast", lower)
    .operands(&[Operand::Data("x")])
    .shape_fn(shape_fns::math::cast)
    .dtype_rule(dtypes)
    .tensorflow(&[TfOp::new("Cast")]);

fn dtypes(dtypes: &[DType], attrs: &Attrs) -> Result<Vec<DType>> {
    dtype::common(dtypes, 0, 1, dtype::Class::Scalar)?;
    let Some(target) = dtype::attribute(attrs, "dtype")? else {
        return dtype::refuse("dtype must be given".to_string());
    };
    dtype::common(&[target], 0, 1, dtype::Class::Scalar)?;
    Ok(vec![target])
}

fn lower(cx: &mut dyn LowerCx, output: usize, index: &[Index]) -> Expr {
    let dtype = cx.output_dtype(output);
    let truncates = matches!(cx.attrs().get("Truncate"), Some(Attr::Bool(true)));
    let x = cx.operand(0, index);
    let x = if truncates { shortened(x, dtype) } else { x };
    x.cast(dtype)
}

/// Clears the fraction bits of a float that `dtype` lacks, so that the conversion rounds toward zero. As in TensorFlow,
/// a conversion from f64 to bf16 is not truncated.
fn shortened(x: Expr, dtype: DType) -> Expr {
    let bits = match (x.dtype(), dtype) {
        (DType::F64, DType::F32) => f64::MANTISSA_DIGITS - f32::MANTISSA_DIGITS,
        (DType::F64, DType::F16) => f64::MANTISSA_DIGITS - half::f16::MANTISSA_DIGITS,
        (DType::F32, DType::F16) => f32::MANTISSA_DIGITS - half::f16::MANTISSA_DIGITS,
        (DType::F32, DType::BF16) => f32::MANTISSA_DIGITS - half::bf16::MANTISSA_DIGITS,
        _ => return x,
    };
    let mask = match x.dtype() {
        DType::F64 => Expr::constant(u64::MAX << bits),
        _ => Expr::constant(u32::MAX << bits),
    };
    let dtype = x.dtype();
    (x.bitcast(mask.dtype()) & mask).bitcast(dtype)
}

#[cfg(test)]
mod tests {
    use shapeflow_shape_fns::DType;

    use super::DEF;
    use crate::Graph;
    use crate::ops::testing::shape_table;

    shape_table! { DEF, {"dtype": DType::I32},
        "[2, n]" => "i32[2, d0_1]",
        "bool?" => "i32?",
        "string[2]" => error "bool, an integer or a float, got string",
    }
    shape_table! { refused: DEF, {"dtype": DType::String},
        "[2, n]" => error "bool, an integer or a float, got string",
    }

    #[test]
    fn a_cast_to_the_same_dtype_returns_the_value() {
        let graph = Graph::new();
        let x = graph.input("x", DType::F32, [2]).unwrap();
        assert_eq!(x.cast(DType::F32).unwrap().id(), x.id());
    }
}
