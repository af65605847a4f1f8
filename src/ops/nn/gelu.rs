//! `gelu`: the Gaussian error linear unit.

use shapeflow_shape_fns::Attribute;

use crate::dtype;
use crate::error::Result;
use crate::expr::{Expr, Index, LowerCx, math};
use crate::graph::Value;
use crate::op::{CompositeCx, OpDef, Operand, TfFunction};
use crate::ops::in_tensorflow::{self, operands};
use crate::ops::widen::widened;
use crate::shape_fns;

impl<'g> Value<'g> {
    /// Computes `x * Φ(x)` for every element, where `Φ` is the standard normal distribution function. With
    /// `approximate`, `0.5 * x * (1 + tanh(sqrt(2/π) * (x + 0.044715 * x³)))`, computed as a quotient that is also
    /// precise for `x` far below 0. Without `approximate`, the result is `0.5 * x * (1 + erf(x / sqrt(2)))`, whose
    /// absolute error is small but which has few correct digits for `x` far below 0.
    ///
    /// `[..] -> [..]`, floats. As TensorFlow's `tf.nn.gelu`, which TensorFlow composes of several ops. Fuses into
    /// kernels.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let y = g.constant([-1.0, 0.0, 1.0])?.gelu(false)?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// y.allclose(&Tensor::from([-0.1587, 0.0, 0.8413]), 1e-3, 1e-12).unwrap();
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The element type is not a float.
    #[track_caller]
    pub fn gelu(self, approximate: bool) -> Result<Value<'g>> {
        self.graph().op(&DEF).data(self).attr("approximate", approximate).finish()
    }
}

pub(crate) static DEF: OpDef = OpDef::compute("gelu", lower)
    .attrs(&[Attribute::bool_or("approximate", false)])
    .in_tensorflow(TfFunction::Composed(composed))
    .operands(&[Operand::Data("x")])
    .shape_fn(shape_fns::common::unary)
    .dtype_rule(dtype::unary::float);

/// Composes the op of TensorFlow's ops, because TensorFlow has no op for it.
fn composed<'g>(cx: &CompositeCx<'_>, values: &[Value<'g>]) -> Result<Vec<Value<'g>>> {
    let [given] = operands(values)?;
    let x = in_tensorflow::widened(given)?;
    let inner = match cx.attrs().bool("approximate") {
        true => ((x + x.square()? * x * 0.044715) * (2.0 / std::f64::consts::PI).sqrt()).tanh()?,
        false => (x * std::f64::consts::FRAC_1_SQRT_2).erf()?,
    };
    Ok(vec![(x * 0.5 * (inner + 1.0)).cast(given.dtype())?])
}

fn lower(cx: &mut dyn LowerCx, _output: usize, index: &[Index]) -> Expr {
    let approximate = cx.attrs().bool("approximate");
    widened(cx.operand(0, index), |x| {
        if approximate {
            return math::gelu_tanh(x);
        }
        let inner = math::erf(x.clone() * x.like(std::f64::consts::FRAC_1_SQRT_2));
        x.like(0.5) * x.clone() * (x.like(1.0) + inner)
    })
}

#[cfg(test)]
mod tests {
    use shapeflow_shape_fns::Attrs;

    use super::DEF;
    use crate::ops::testing::{check_tensor, run_one, shape_table, tensor};

    shape_table! { DEF, {"approximate": true},
        "[2, n]" => "[2, d0_1]",
        "?" => "?",
        "i32[2]" => error "must be a float, got i32",
    }

    #[test]
    fn values_are_those_of_tensorflow() {
        let x = tensor(&[5], &[-3.0f64, -1.0, 0.0, 0.5, 2.0]);
        let exact =
            [-0.00404969409489031, -0.15865525393145707, 0.0, 0.34573123063700656, 1.9544997361036416];
        let got = run_one(&DEF, &Attrs::new(), std::slice::from_ref(&x));
        check_tensor(&got, &tensor(&[5], &exact), "gelu");
        let close =
            [-0.0036373920817729943, -0.15880800939172324, 0.0, 0.34571400982514394, 1.954597694087775];
        let got = run_one(&DEF, &Attrs::new().with("approximate", true), &[x]);
        check_tensor(&got, &tensor(&[5], &close), "gelu");
    }
}
