//! `selu`: scaled `elu`.

use crate::dtype;
use crate::error::Result;
use crate::expr::{Expr, Index, LowerCx, math};
use crate::graph::Value;
use crate::op::{OpDef, Operand, TfOp};
use crate::ops::wide::widened;
use crate::shape_fns;

impl<'g> Value<'g> {
    /// `scale * x`, and `scale * alpha * (exp(x) - 1)` below zero, with the constants that keep mean 0 and
    /// variance 1.
    ///
    /// `[..] -> [..]`, floats. As TensorFlow's `Selu`.
    ///
    /// # Errors
    /// The element type is not a float.
    #[track_caller]
    pub fn selu(self) -> Result<Value<'g>> {
        self.graph().op(&DEF).data(self).finish()
    }
}

pub(crate) static DEF: OpDef = OpDef::compute("selu", lower)
    .operands(&[Operand::Data("x")])
    .shape_fn(shape_fns::common::unary)
    .dtype_rule(dtype::unary::float)
    .tensorflow(&[TfOp::new("Selu")]);

/// The fixed point of mean 0 and variance 1 (Klambauer et al. 2017).
const SCALE: f64 = 1.050_700_987_355_480_5;
const ALPHA: f64 = 1.673_263_242_354_377_2;

fn lower(cx: &mut dyn LowerCx, _output: usize, index: &[Index]) -> Expr {
    widened(cx.operand(0, index), |x| {
        let (zero, scale, slope) = (x.like(0.0), x.like(SCALE), x.like(SCALE * ALPHA));
        x.clone().less(zero).select(slope * math::expm1(x.clone()), scale * x)
    })
}

#[cfg(test)]
mod tests {
    use shapeflow_shape_fns::Attrs;

    use super::{ALPHA, DEF, SCALE};
    use crate::ops::testing::{check_tensor, run_one, shape_table, tensor};

    shape_table! { DEF, {},
        "[2, n]" => "[2, d0_1]",
        "?" => "?",
        "i32[2]" => error "must be a float, got i32",
    }

    #[test]
    fn values() {
        let x = [-3.0, -0.5, 0.0, 0.5, 3.0, 100.0, f64::NAN];
        let expected = x.map(|x: f64| if x < 0.0 { SCALE * ALPHA * x.exp_m1() } else { SCALE * x });
        check_tensor(&run_one(&DEF, &Attrs::new(), &[tensor(&[7], &x)]), &tensor(&[7], &expected), "selu");
    }
}
