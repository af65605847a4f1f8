//! `clip_by_value`: clamps elements between two bounds.

use std::panic::Location;

use crate::dtype;
use crate::error::Result;
use crate::expr::{Expr, Index, LowerCx};
use crate::graph::{IntoOperand, Value};
use crate::op::{OpDef, Operand, TfOp};
use crate::ops::broadcast::broadcast_operand;
use crate::shape_fns;

impl<'g> Value<'g> {
    /// Computes `max(min(x, high), low)` for every element. NaN stays NaN. A complex number is clamped part by part.
    ///
    /// `[..], low, high -> [..]`, integers, floats and complex numbers of one dtype. The bounds broadcast to the shape
    /// of `self`. If `low` is above `high`, the result is `low`. As TensorFlow's `ClipByValue`. Fuses into kernels.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let y = g.constant([-1, 5, 20])?.clip_by_value(0, 10)?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from([0, 5, 10]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The dtypes differ or are not numbers, or a bound does not broadcast to the shape of `self`.
    #[doc(alias = "clamp")]
    #[doc(alias = "clip")]
    #[track_caller]
    pub fn clip_by_value(self, low: impl IntoOperand<'g>, high: impl IntoOperand<'g>) -> Result<Value<'g>> {
        let location = Location::caller();
        let low = low.into_operand(self, location);
        let high = high.into_operand(self, location);
        self.graph().op(&DEF).data(self).data(low).data(high).finish_at(location)
    }
}

pub(crate) static DEF: OpDef = OpDef::compute("clip_by_value", lower)
    .operands(&[Operand::Data("x"), Operand::Data("min"), Operand::Data("max")])
    .shape_fn(shape_fns::math::clip_by_value)
    .dtype_rule(dtype::ternary::numeric)
    .tensorflow(&[TfOp::new("ClipByValue")]);

fn lower(cx: &mut dyn LowerCx, _output: usize, index: &[Index]) -> Expr {
    let x = broadcast_operand(cx, 0, index);
    let low = broadcast_operand(cx, 1, index);
    let high = broadcast_operand(cx, 2, index);
    let clamped = |x: Expr, low: Expr, high: Expr| x.minimum(high).maximum(low);
    if x.dtype().is_complex() {
        let real = clamped(x.real(), low.real(), high.real());
        return Expr::complex(real, clamped(x.imag(), low.imag(), high.imag()));
    }
    clamped(x, low, high)
}

#[cfg(test)]
mod tests {
    use super::DEF;
    use crate::ops::testing::shape_table;

    shape_table! { DEF, {},
        "[2, n]; []; []" => "[2, d0_1]",
        "[2, n]; [n]; [2, 1]" => "[2, d0_1]",
        "?; []; []" => "?",
        "[2]; [3]; []" => error "2",
        "[2]; []; f64[]" => error "one dtype, got f32 and f64",
        "c64[2]; c64[]; c64[]" => "c64[2]",
        "bool[2]; bool[]; bool[]" => error "must be an integer, a float or a complex number, got bool",
    }
}
