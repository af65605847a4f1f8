//! `div`: float division.

use std::panic::Location;

use shapeflow_shape_fns::{Attrs, DType};

use crate::dtype;
use crate::error::Result;
use crate::expr::{BinaryOp, Expr, Index, LowerCx};
use crate::graph::{IntoOperand, Value};
use crate::op::{OpDef, Operand, TfOp};
use crate::ops::broadcast::lower_primitive;
use crate::shape_fns;

impl<'g> Value<'g> {
    /// Computes `self / other`, as the operator.
    ///
    /// `[..], [..] -> broadcast`, floats and complex numbers of one dtype; for integers, see [`Value::floordiv`] and
    /// [`Value::truncatediv`]. As TensorFlow's `RealDiv`. Fuses into kernels.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let y = g.constant([1.0, 9.0])?.div(g.constant([4.0, 3.0])?)?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from([0.25, 3.0]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The dtypes differ or are not floats or complex numbers, or the shapes do not broadcast.
    #[doc(alias = "divide")]
    #[doc(alias = "true_divide")]
    #[expect(clippy::should_implement_trait, reason = "the operator cannot return a `Result`")]
    #[track_caller]
    pub fn div(self, other: impl IntoOperand<'g>) -> Result<Value<'g>> {
        self.binary(&DEF, other, Location::caller())
    }
}

pub(crate) static DEF: OpDef = OpDef::compute("div", lower)
    .operands(&[Operand::Data("x"), Operand::Data("y")])
    .shape_fn(shape_fns::common::broadcast)
    .dtype_rule(dtypes)
    .tensorflow(&[TfOp::new("RealDiv")]);

fn dtypes(dtypes: &[DType], _: &Attrs) -> Result<Vec<DType>> {
    let dtype = dtype::common(dtypes, 0, 2, dtype::Class::Numeric)?;
    if dtype.is_integer() {
        return dtype::refuse_with_help(
            format!("`/` divides floats, got {dtype}"),
            format!(
                "integers have .floordiv(..) and .truncatediv(..), or cast both operands with {}",
                dtype::float_cast(dtype)
            ),
        );
    }
    Ok(vec![dtype])
}

fn lower(cx: &mut dyn LowerCx, _output: usize, index: &[Index]) -> Expr {
    lower_primitive(cx, index, BinaryOp::Div)
}

#[cfg(test)]
mod tests {
    use super::DEF;
    use crate::ops::testing::shape_table;

    shape_table! { DEF, {},
        "[2, n]; [n]" => "[2, d0_1]",
        "[3, 1]; [?]" => "[3, d1_0]",
        "[2]; f64[2]" => error "one dtype, got f32 and f64",
        "i32[2]; i32[2]" => error "`/` divides floats, got i32",
        "bool[2]; bool[2]" => error "must be an integer, a float or a complex number, got bool",
    }
}
