//! `checked`: passes its operand on, and fails the run unless a condition holds.

use std::sync::Arc;

use shapeflow_shape_fns::{Attr, Attribute, DType};

use crate::dtype;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::graph::Value;
use crate::op::{HostCx, OpDef, Operand, TfFunction};
use crate::tensor::Tensor;

impl<'g> Value<'g> {
    /// Returns the same elements. The run fails with `message` if `condition` is false.
    ///
    /// `[..], condition bool[] -> [..]`, any dtype. As TensorFlow's `Assert` with a control edge to the users of the
    /// result. Runs on the host; a condition on constants that holds costs nothing.
    ///
    /// ```
    /// use shapeflow::{DType, Graph, TensorView, shape};
    ///
    /// let g = Graph::new();
    /// let x = g.input("x", DType::F32, shape!["n"])?;
    /// let positive = x.greater(0.0)?.reduce_all([0])?;
    /// let exe = g.compile(x.checked(positive, "x must be positive")?.log()?)?;
    /// let error = exe.run::<1>(&[TensorView::new(&[2], &[1.0f32, -1.0])?]).unwrap_err();
    /// assert!(error.to_string().contains("x must be positive"));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The condition is not a bool scalar.
    #[doc(alias = "assert")]
    #[track_caller]
    pub fn checked(self, condition: Value<'g>, message: &str) -> Result<Value<'g>> {
        self.checked_with(condition, message, &[])
    }

    /// Checks a condition as [`Value::checked`] does. The text of the error is `message`, then each value of `shown`
    /// with the text that follows it.
    ///
    /// # Errors
    /// The condition is not a bool scalar.
    #[track_caller]
    pub(crate) fn checked_with(
        self,
        condition: Value<'g>,
        message: &str,
        shown: &[(Value<'g>, &str)],
    ) -> Result<Value<'g>> {
        let mut call = self.graph().op(&DEF).data(self).data(condition).attr("message", message);
        if !shown.is_empty() {
            let texts = shown.iter().map(|(_, after)| Arc::from(*after)).collect();
            call = shown.iter().fold(call, |call, (value, _)| call.data(*value));
            call = call.attr("after", Attr::Strs(texts));
        }
        let checked = call.finish()?;
        let decided = condition.index().ok().and_then(|condition| self.graph().read().const_fold(condition));
        let holds = decided.is_some_and(|decided| decided == Tensor::scalar(true));
        Ok(if holds { self } else { checked })
    }
}

/// The text of the error is `message`, then for each entry of `after`: the operand of `data` with the same number, and
/// this entry. Operands without an entry are not shown.
pub(crate) static DEF: OpDef = OpDef::host("checked", run)
    .in_tensorflow(TfFunction::Assertion)
    .attrs(&[Attribute::str_or("message", "a condition must hold"), Attribute::strs_or("after", &[])])
    .message_attrs(&["message", "after"])
    .operands(&[Operand::Data("x"), Operand::Data("condition"), Operand::Variadic("data..")])
    // The result has the elements of `x`, so both may share memory. `HostCx::pass_on` relies on this.
    .reinterprets()
    .shape_fn(|cx| {
        cx.with_rank(1, 0)?;
        // Only the shape is inferred. If the elements were inferred too, a program could use them without running this
        // op, and nothing would check the condition.
        shapeflow_shape_fns::common::unary(cx)
    })
    .dtype_rule(|dtypes, _| {
        dtype::common(dtypes, 1, 2, dtype::Class::Bool)?;
        Ok(dtypes.iter().take(1).copied().collect())
    });

/// The greatest number of elements shown of an operand.
const SHOWN: usize = 8;

fn run(cx: &mut HostCx<'_>) -> Result<()> {
    let condition = cx.input(1)?;
    if condition.dtype() == DType::Bool && condition.to_vec::<bool>()?.iter().all(|holds| *holds) {
        return cx.pass_on();
    }
    let mut text = cx.attrs().str("message").to_string();
    for (number, after) in cx.attrs().strs("after").into_iter().enumerate() {
        text.push_str(&cx.input(number + 2)?.to_tensor()?.elements_text(SHOWN));
        text.push_str(after);
    }
    Err(Error::new(ErrorKind::Guard, Phase::Run, text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Attrs;
    use crate::ops::testing::{run, run_one, shape_table, tensor};

    shape_table! { DEF, {"message": "it must"},
        "[n, 3]; bool[]" => "[n, 3]",
        "i32?; bool?" => "i32?",
        "[2]; bool[1]" => error "condition must have rank 0",
        "[2]; i32[]" => error "must be bool, got i32",
    }

    #[test]
    fn a_false_condition_is_an_error_with_the_message() {
        let after = Attr::Strs([" in {}".into()].into());
        let attrs = Attrs::new().with("message", "{} must be small, got ").with("after", after);
        let x = tensor(&[2], &[1, 2i32]);
        let y = run_one(&DEF, &attrs, &[x.clone(), Tensor::scalar(true)]);
        assert_eq!(y, x);
        let error = run(&DEF, &attrs, &[x.clone(), Tensor::scalar(false), x]).unwrap_err();
        assert_eq!((error.message(), error.kind()), ("{} must be small, got [1, 2] in {}", ErrorKind::Guard));
    }
}
