//! `next_after`: the neighboring float.

use std::panic::Location;

use shapeflow_shape_fns::{Attrs, DType};

use crate::dtype;
use crate::error::Result;
use crate::expr::{Expr, Index, LowerCx, math};
use crate::graph::{IntoOperand, Value};
use crate::op::{OpDef, Operand, TfOp};
use crate::ops::broadcast::lower_binary;
use crate::shape_fns;

impl<'g> Value<'g> {
    /// The float next to `self` in the direction of `other`; `other` if both are equal, NaN if one is NaN.
    ///
    /// `[..], [..] -> broadcast`, f32 or f64. As TensorFlow's `NextAfter` and C's `nextafter`. Fuses into kernels.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let y = g.constant([1.0])?.next_after(g.constant([2.0])?)?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from([1.0 + f64::EPSILON]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The dtypes differ or are neither f32 nor f64, or the shapes do not broadcast.
    #[doc(alias = "nextafter")]
    #[track_caller]
    pub fn next_after(self, other: impl IntoOperand<'g>) -> Result<Value<'g>> {
        self.binary(&DEF, other, Location::caller())
    }
}

pub(crate) static DEF: OpDef = OpDef::compute("next_after", lower)
    // The neighbor of a number in a wider dtype is nearer to it.
    .never_widened()
    .operands(&[Operand::Data("x1"), Operand::Data("x2")])
    .shape_fn(shape_fns::common::broadcast)
    .dtype_rule(dtypes)
    .tensorflow(&[TfOp::new("NextAfter")]);

fn dtypes(dtypes: &[DType], _: &Attrs) -> Result<Vec<DType>> {
    match dtype::common(dtypes, 0, 2, dtype::Class::Float)? {
        dtype @ (DType::F32 | DType::F64) => Ok(vec![dtype]),
        other => dtype::refuse(format!("the element type must be f32 or f64, got {other}")),
    }
}

fn lower(cx: &mut dyn LowerCx, _output: usize, index: &[Index]) -> Expr {
    lower_binary(cx, index, math::next_after)
}

#[cfg(test)]
mod tests {
    use shapeflow_shape_fns::Attrs;

    use super::DEF;
    use crate::ops::testing::{run_one, shape_table, tensor};

    shape_table! { DEF, {},
        "[2, n]; [n]" => "[2, d0_1]",
        "[2]; f64[2]" => error "one dtype, got f32 and f64",
        "f16[2]; f16[2]" => error "must be f32 or f64, got f16",
    }

    #[test]
    fn values() {
        let infinity = f32::INFINITY;
        let x = [1.0f32, 1.0, 0.0, -0.0, -1.0, f32::MAX, infinity, 3.0, f32::NAN, f32::from_bits(1), 0.0];
        let y = [2.0f32, 0.0, -1.0, 1.0, 0.0, infinity, 0.0, 3.0, 1.0, 0.0, -0.0];
        let got = run_one(&DEF, &Attrs::new(), &[tensor(&[11], &x), tensor(&[11], &y)]);
        let expected = [
            1.0f32.next_up(),
            1.0f32.next_down(),
            0.0f32.next_down(),
            0.0f32.next_up(),
            (-1.0f32).next_up(),
            infinity,
            f32::MAX,
            3.0,
            f32::NAN,
            0.0,
            -0.0,
        ];
        for (got, expected) in got.to_vec::<f32>().unwrap().iter().zip(expected) {
            assert!(
                got.to_bits() == expected.to_bits() || got.is_nan() && expected.is_nan(),
                "{got} {expected}"
            );
        }
    }
}
