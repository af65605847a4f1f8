//! `cast`: elements converted to another dtype.

use shapeflow_shape_fns::{Attr, Attrs, DType};

use crate::dtype;
use crate::error::Result;
use crate::expr::{Expr, Index, LowerCx};
use crate::graph::Value;
use crate::op::{OpDef, Operand, TfOp};
use crate::shape_fns;

impl<'g> Value<'g> {
    /// Every element converted to `dtype`; the value itself if it has that dtype.
    ///
    /// `[..] -> [..]`, between bool, integers and floats. Float to integer truncates and saturates, NaN becomes
    /// 0 (in TensorFlow the processor decides about both); integer to integer wraps; to bool is `!= 0`; to a
    /// float rounds to nearest even. As TensorFlow's `Cast`, whose `Truncate`, which rounds floats toward zero, is
    /// taken from graphs that are imported.
    ///
    /// # Errors
    /// One of the two is neither bool, integer nor float.
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

/// A float without the bits of its fraction that `dtype` has no place for, so that the conversion rounds toward zero.
/// As in TensorFlow, not from f64 to bf16.
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
    fn to_its_own_dtype_is_the_value_itself() {
        let graph = Graph::new();
        let x = graph.input("x", DType::F32, [2]).unwrap();
        assert_eq!(x.cast(DType::F32).unwrap().id(), x.id());
    }
}
