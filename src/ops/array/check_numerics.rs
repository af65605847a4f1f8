//! `check_numerics`: passes its operand on, and fails the run unless all elements are finite.

use shapeflow_shape_fns::Attribute;

use crate::dtype;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::expr::Scalar;
use crate::graph::Value;
use crate::op::{HostCx, OpDef, Operand, TfOp};
use crate::ops::row_major::RowMajor;
use crate::tensor::place_text;

impl<'g> Value<'g> {
    /// Returns the same elements. The run fails with `message` if an element is NaN or infinite.
    ///
    /// `[..] -> [..]`, floats. As TensorFlow's `CheckNumerics`. Runs on the host.
    ///
    /// ```
    /// use shapeflow::{DType, Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let x = g.input("x", DType::F64, [2])?;
    /// let exe = g.compile(x.check_numerics("the loss diverged")?)?;
    /// let [y] = exe.run(&[Tensor::from([1.0, 2.0]).view()])?;
    /// assert_eq!(y, Tensor::from([1.0, 2.0]));
    /// let error = exe.run::<1>(&[Tensor::from([1.0, f64::NAN]).view()]).unwrap_err();
    /// assert!(error.to_string().contains("the loss diverged"));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The elements are not floats.
    #[track_caller]
    pub fn check_numerics(self, message: &str) -> Result<Value<'g>> {
        self.graph().op(&DEF).data(self).attr("message", message).finish()
    }
}

pub(crate) static DEF: OpDef = OpDef::host("check_numerics", run)
    .attrs(&[Attribute::bytes_or("message", "")])
    .operands(&[Operand::Data("x")])
    .shape_fn(shapeflow_shape_fns::common::unary)
    .dtype_rule(dtype::unary::float)
    .tensorflow(&[TfOp::new("CheckNumerics"), TfOp::new("CheckNumericsV2")]);

fn run(cx: &mut HostCx<'_>) -> Result<()> {
    let x = RowMajor::new(cx.input(0)?)?;
    let x = x.view();
    let mut found = None;
    for position in 0..x.len() {
        let element = x.element(position).and_then(|bytes| Scalar::from_bytes(x.dtype(), bytes));
        if let Some(value) = element.map(Scalar::to_f64).filter(|value| !value.is_finite()) {
            found = Some((position, if value.is_nan() { "NaN" } else { "an infinity" }));
            break;
        }
    }
    let Some((position, found)) = found else {
        let same = x.to_tensor()?;
        return cx.set_output(0, same);
    };
    let message = String::from_utf8_lossy(cx.attrs().bytes("message"));
    let separator = if message.is_empty() { "" } else { ": " };
    let place = place_text(position, x.sizes());
    let text = format!("{message}{separator}every element must be finite, got {found}");
    Err(Error::new(ErrorKind::Guard, Phase::Run, text).in_element(0, &place).blame_element(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Attrs;
    use crate::ops::testing::{run, run_one, shape_table, tensor};

    shape_table! { DEF, {"message": ""},
        "[n, 3]" => "[n, 3]",
        "i32[2]" => error "must be a float, got i32",
    }

    #[test]
    fn nan_and_infinity_are_errors() {
        let x = tensor(&[2], &[1.0, 2.0f64]);
        assert_eq!(run_one(&DEF, &Attrs::new(), std::slice::from_ref(&x)), x);
        let attrs = Attrs::new().with("message", "loss");
        let error = run(&DEF, &attrs, &[tensor(&[2], &[1.0, f64::NAN])]).unwrap_err();
        assert_eq!(error.message(), "loss: every element must be finite, got NaN at [1] in operand 0");
        assert!(run(&DEF, &attrs, &[tensor(&[1], &[f32::INFINITY])]).is_err());
    }
}
