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
    /// Replaces every element above `high` by `high`, then every element below `low` by `low`. NaN stays NaN, and a
    /// bound of NaN has no effect. A complex number is clamped part by part.
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
    #[doc(alias = "hardtanh")]
    #[track_caller]
    pub fn clip_by_value(self, low: impl IntoOperand<'g>, high: impl IntoOperand<'g>) -> Result<Value<'g>> {
        let location = Location::caller();
        let low = low.into_operand(self, location);
        let high = high.into_operand(self, location);
        self.graph().op(&DEF).data(self).data(low).data(high).finish_at(location)
    }
}

pub(crate) static DEF: OpDef = OpDef::compute("clip_by_value", lower)
    .operands(&[Operand::Data("x"), Operand::Data("low"), Operand::Data("high")])
    .shape_fn(shape_fns::math::clip_by_value)
    .dtype_rule(dtype::ternary::numeric)
    .tensorflow(&[TfOp::new("ClipByValue")]);

fn lower(cx: &mut dyn LowerCx, _output: usize, index: &[Index]) -> Expr {
    let x = broadcast_operand(cx, 0, index);
    let low = broadcast_operand(cx, 1, index);
    let high = broadcast_operand(cx, 2, index);
    let clamped = |x: Expr, low: Expr, high: Expr| {
        let x = high.clone().less(x.clone()).select(high, x);
        x.clone().less(low.clone()).select(low, x)
    };
    if x.dtype().is_complex() {
        let real = clamped(x.real(), low.real(), high.real());
        return Expr::complex(real, clamped(x.imag(), low.imag(), high.imag()));
    }
    clamped(x, low, high)
}

#[cfg(test)]
mod tests {
    use shapeflow_shape_fns::Attrs;

    use super::DEF;
    use crate::ops::testing::{run_one, shape_table, tensor};

    shape_table! { DEF, {},
        "[2, n]; []; []" => "[2, d0_1]",
        "[2, n]; [n]; [2, 1]" => "[2, d0_1]",
        "?; []; []" => "?",
        "[2]; [3]; []" => error "2",
        "[2]; []; f64[]" => error "one dtype, got f32 and f64",
        "c64[2]; c64[]; c64[]" => "c64[2]",
        "bool[2]; bool[]; bool[]" => error "must be an integer, a float or a complex number, got bool",
    }

    #[test]
    fn a_bound_of_nan_bounds_nothing() {
        let x = tensor(&[6], &[1.0f32, f32::NAN, 5.0, -3.0, f32::INFINITY, f32::NEG_INFINITY]);
        let of = |low: f32, high: f32| {
            let operands = [x.clone(), tensor(&[], &[low]), tensor(&[], &[high])];
            run_one(&DEF, &Attrs::new(), &operands).to_vec::<f32>().unwrap()
        };
        let (no, inf) = (f32::NAN, f32::INFINITY);
        for ((low, high), expected) in [
            ((no, 3.0), [1.0, no, 3.0, -3.0, 3.0, -inf]),
            ((0.0, no), [1.0, no, 5.0, 0.0, inf, 0.0]),
            ((no, no), [1.0, no, 5.0, -3.0, inf, -inf]),
        ] {
            let got = of(low, high);
            let same = |(got, expected): (&f32, f32)| *got == expected || got.is_nan() && expected.is_nan();
            assert!(got.iter().zip(expected).all(same), "{low} {high}: {got:?}");
        }
    }
}
