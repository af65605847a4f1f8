//! `leaky_relu`: scales negative elements by a small factor.

use shapeflow_shape_fns::{Attribute, Attrs};

use crate::dtype;
use crate::error::Result;
use crate::expr::{Expr, Index, LowerCx};
use crate::graph::Value;
use crate::op::{OpDef, Operand, TfOp};
use crate::ops::widen::widened;
use crate::shape_fns;

impl<'g> Value<'g> {
    /// Computes `if x > 0 { x } else { alpha * x }` for every element.
    ///
    /// `[..] -> [..]`, floats. `alpha` is rounded to the element type. As TensorFlow's `LeakyRelu`, which stores
    /// `alpha` as an f32: an imported graph uses this f32 also for f64 elements, and 0.2 in f32 by default. Fuses into
    /// kernels.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let y = g.constant([-2.0, 3.0])?.leaky_relu(0.25)?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from([-0.5, 3.0]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The element type is not a float.
    #[track_caller]
    pub fn leaky_relu(self, alpha: f64) -> Result<Value<'g>> {
        self.graph().op(&DEF).data(self).attr("alpha", alpha).finish()
    }
}

pub(crate) static DEF: OpDef = OpDef::compute("leaky_relu", lower)
    .attrs(&[Attribute::float_or("alpha", DEFAULT_ALPHA as f64)])
    .operands(&[Operand::Data("x")])
    .shape_fn(shape_fns::common::unary)
    .dtype_rule(dtype::unary::float)
    .tensorflow(&[TfOp::new("LeakyRelu")]);

/// TensorFlow's default `alpha`.
const DEFAULT_ALPHA: f32 = 0.2;

/// Returns attribute `alpha`.
pub(super) fn alpha(attrs: &Attrs) -> f64 {
    attrs.float("alpha")
}

fn lower(cx: &mut dyn LowerCx, _output: usize, index: &[Index]) -> Expr {
    let alpha = alpha(cx.attrs());
    let x = cx.operand(0, index);
    // TensorFlow rounds alpha to the element type.
    let alpha = x.like(alpha);
    widened(x, |x| {
        let (zero, alpha) = (x.like(0.0), alpha.cast(x.dtype()));
        zero.less(x.clone()).select(x.clone(), alpha * x)
    })
}

#[cfg(test)]
mod tests {
    use shapeflow_shape_fns::{Attrs, DType};

    use super::DEF;
    use crate::ops::testing::{check_tensor, run_one, shape_table, tensor};
    use crate::tensor::Tensor;

    shape_table! { DEF, {"alpha": 0.1},
        "[2, n]" => "[2, d0_1]",
        "?" => "?",
        "i32[2]" => error "must be a float, got i32",
    }

    /// An f32 `alpha` keeps its f32 value for f64 elements, and is rounded for f16 elements.
    #[test]
    fn alpha_has_the_element_type() {
        let halves = Tensor::from_bits(DType::F16, &[1], &[half::f16::from_f32(-3.3).to_bits()]).unwrap();
        let y = run_one(&DEF, &Attrs::new().with("alpha", 1.7), &[halves]);
        assert_eq!(half::f16::from_bits(y.to_bits::<u16>().unwrap()[0]).to_f32(), -5.613_281_3);
        let y = run_one(&DEF, &Attrs::new(), &[tensor(&[1], &[-1.0f64])]);
        assert_eq!(y.to_vec::<f64>().unwrap(), [-f64::from(0.2f32)]);
    }

    #[test]
    fn values() {
        let x = tensor(&[4], &[-2.0f64, 0.0, 3.0, f64::NAN]);
        let expected = tensor(&[4], &[-1.0f64, 0.0, 3.0, f64::NAN]);
        check_tensor(&run_one(&DEF, &Attrs::new().with("alpha", 0.5), &[x]), &expected, "leaky_relu");
    }
}
