//! `abs`: absolute values of real numbers, and moduli of complex numbers.

use std::panic::Location;

use crate::dtype;
use crate::error::Result;
use crate::expr::math;
use crate::graph::Value;
use crate::op::{OpDef, Operand, TfOp};
use crate::shape_fns;

impl<'g> Value<'g> {
    /// The absolute value of every element. Integers wrap: the absolute value of `MIN` is `MIN`. The absolute value of
    /// a complex number is its modulus, a float.
    ///
    /// `[..] -> [..]`, signed integers, floats and complex numbers; c64 gives f32 and c128 gives f64. As TensorFlow's
    /// `Abs` and `ComplexAbs`. Fuses into kernels.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let y = g.constant([-1.5, 2.0])?.abs()?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from([1.5, 2.0]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The element type is not a signed integer, a float or a complex number.
    #[doc(alias = "absolute")]
    #[track_caller]
    pub fn abs(self) -> Result<Value<'g>> {
        let def = if self.dtype().is_complex() { &COMPLEX } else { &DEF };
        self.unary(def, Location::caller())
    }
}

pub(crate) static DEF: OpDef = OpDef::compute("abs", |cx, _output, index| cx.operand(0, index).abs())
    .operands(&[Operand::Data("x")])
    .shape_fn(shape_fns::common::unary)
    .dtype_rule(dtype::unary::signed)
    .tensorflow(&[TfOp::new("Abs")]);

pub(crate) static COMPLEX: OpDef =
    OpDef::compute("complex_abs", |cx, _output, index| math::magnitude(cx.operand(0, index)))
        .operands(&[Operand::Data("x")])
        .shape_fn(shape_fns::common::unary)
        .dtype_rule(dtype::part::complex)
        .tensorflow(&[TfOp::new("ComplexAbs")]);

#[cfg(test)]
mod tests {
    use super::{COMPLEX, DEF};
    use crate::ops::testing::shape_table;

    shape_table! { DEF, {},
        "i32[2, n]" => "i32[2, d0_1]",
        "u8[2]" => error "must be a signed integer or a float, got u8",
    }
    shape_table! { complex: COMPLEX, {},
        "c64[2, n]" => "f32[2, d0_1]",
        "c128?" => "f64?",
        "[2]" => error "must be a complex number, got f32",
    }
}
