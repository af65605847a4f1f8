//! `in_top_k`: whether a class is among the best predictions.

use shapeflow_shape_fns::{Attrs, DType};

use crate::dtype;
use crate::error::Result;
use crate::expr::Scalar;
use crate::graph::{IntoOperand, IntoParam, Value};
use crate::op::{HostCx, OpDef, Operand, TfOp};
use crate::ops::host_params::param_ints;
use crate::ops::integers::ints;

impl<'g> Value<'g> {
    /// Returns, for each row of predictions, whether the prediction of the row's target class is among the `k` largest,
    /// or equal to one of these.
    ///
    /// `[b, classes], targets [b] -> bool[b]`; `self` holds floats, `targets` i32 or i64. The result is false if a
    /// prediction of the row is not finite or the target is not a class. As TensorFlow's `InTopKV2`. Runs on the host.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let predictions = g.constant([[0.1f32, 0.7, 0.2], [0.5, 0.3, 0.2]])?;
    /// let y = predictions.in_top_k(g.constant([2, 2])?, 2)?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from([true, false]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// A rank is wrong, the numbers of rows differ, or a dtype is not supported.
    #[track_caller]
    pub fn in_top_k(self, targets: impl IntoOperand<'g>, k: impl IntoParam<'g>) -> Result<Value<'g>> {
        let targets = targets.into_own_operand(self.graph(), std::panic::Location::caller());
        self.graph().op(&DEF).data(self).data(targets).size("k", k).finish()
    }
}

pub(crate) static DEF: OpDef = OpDef::host("in_top_k", run)
    .operands(&[Operand::Data("predictions"), Operand::Data("targets"), Operand::Size("k")])
    .shape_fn(shapeflow_shape_fns::nn::in_top_k)
    .dtype_rule(|operands: &[DType], _: &Attrs| {
        dtype::common(operands, 0, 1, dtype::Class::Float)?;
        dtype::check_indices(operands, 1)?;
        Ok(vec![DType::Bool])
    })
    .tensorflow(&[TfOp::new("InTopKV2"), TfOp::new("InTopK")]);

fn run(cx: &mut HostCx<'_>) -> Result<()> {
    let (predictions, targets) = (cx.input(0)?, ints(&cx.input(1)?));
    let k = param_ints(cx, "k", 2)?.and_then(|k| k.first().copied()).unwrap_or(0);
    let classes = predictions.sizes().last().copied().unwrap_or(0);
    let prediction = |position: usize| {
        let bytes = predictions.element(position).expect("a class is in the row");
        Scalar::from_bytes(predictions.dtype(), bytes).map_or(f64::NAN, Scalar::to_f64)
    };
    let is_in = |row: usize, target: i64| {
        let Some(target) = usize::try_from(target).ok().filter(|target| *target < classes) else {
            return false;
        };
        let row = row * classes..(row + 1) * classes;
        let of_target = prediction(row.start + target);
        let better = row.clone().filter(|position| prediction(*position) > of_target).count();
        row.into_iter().all(|position| prediction(position).is_finite())
            && i64::try_from(better).is_ok_and(|better| better < k)
    };
    let mut output = cx.unfilled_output(0, &[targets.len()])?;
    for (row, (slot, target)) in output.as_mut_slice::<bool>()?.iter_mut().zip(&targets).enumerate() {
        *slot = is_in(row, *target);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::{run_one, shape_table, tensor};

    shape_table! { DEF, {"k": 2},
        "[b, c]; i32[b]" => "bool[b]",
        "i32[b, c]; i32[b]" => error "the element type must be a float",
        "[b, c]; [b]" => error "the element type must be i32 or i64",
    }

    #[test]
    fn ties_are_in_and_rows_that_are_not_finite_are_out() {
        let inf = f32::INFINITY;
        let x = tensor(&[5, 3], &[1.0, 2.0, 3.0, 2.0, 2.0, 2.0, 1.0, 2.0, 3.0, 1.0, inf, 0.0, 1.0, 2.0, 3.0]);
        let targets = tensor(&[5], &[1i64, 0, 0, 0, 3]);
        let y = run_one(&DEF, &Attrs::new().with("k", 2), &[x, targets]);
        assert_eq!(y.to_vec::<bool>().unwrap(), [true, true, false, false, false]);
    }
}
