//! `nth_element`: the element at a position of each sorted row.

use shapeflow_shape_fns::Attribute;

use crate::dtype;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::graph::{IntoParam, Value};
use crate::op::{HostCx, OpDef, Operand, TfOp};
use crate::ops::host_params::param_sizes;
use crate::ops::row_major::RowMajor;
use crate::ops::take::take;

use super::order::order_keys;

impl<'g> Value<'g> {
    /// Returns the element at position `n` of each row of the last axis, if the row were sorted in ascending order, or
    /// in descending order with `reverse`.
    ///
    /// `[.., d] -> [..]`, integers and floats; NaN counts as the largest. As TensorFlow's `NthElement`. Runs on the
    /// host.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let y = g.constant([[5, 1, 3], [2, 9, 4]])?.nth_element(1, false)?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from([3, 4]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// `self` is a scalar, `n` is negative or not less than the last dimension, or the dtype is not supported.
    #[doc(alias = "kthvalue")]
    #[track_caller]
    pub fn nth_element(self, n: impl IntoParam<'g>, reverse: bool) -> Result<Value<'g>> {
        self.graph().op(&DEF).data(self).size("n", n).attr("reverse", reverse).finish()
    }
}

pub(crate) static DEF: OpDef = OpDef::host("nth_element", run)
    .attrs(&[Attribute::bool_or("reverse", false)])
    .operands(&[Operand::Data("input"), Operand::Size("n")])
    .shape_fn(shapeflow_shape_fns::nn::nth_element)
    .dtype_rule(dtype::unary::number)
    .tensorflow(&[TfOp::new("NthElement")]);

fn run(cx: &mut HostCx<'_>) -> Result<()> {
    let x = RowMajor::new(cx.input(0)?)?;
    let x = x.view();
    let n = param_sizes(cx, "n", 1)?.first().copied().unwrap_or(0);
    let (length, leading) = x.sizes().split_last().map_or((0, &[][..]), |(last, rest)| (*last, rest));
    if n >= length {
        let message = format!("n must be less than the last dimension, got {n} and {length}");
        return Err(Error::new(ErrorKind::Shape, Phase::Run, message));
    }
    let is_reversed = cx.attrs().bool("reverse");
    let rank = if is_reversed { length - 1 - n } else { n };
    let keys = order_keys(&x)?;
    let mut order: Vec<usize> = Vec::new();
    let mut starts = Vec::with_capacity(keys.len() / length);
    for (number, row) in keys.chunks_exact(length).enumerate() {
        order.clear();
        order.extend(0..length);
        let (_, nth, _) = order.select_nth_unstable_by_key(rank, |position| (row[*position], *position));
        starts.push(number * length + *nth);
    }
    cx.set_output(0, take(&x, leading, 1, starts.into_iter())?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Attrs;
    use crate::ops::testing::{run_one, shape_table, tensor};

    shape_table! { DEF, {"n": 2},
        "[m, 3]" => "[m]",
        "[2]" => error "must have more than n elements",
    }
    shape_table! { fed: DEF, {"reverse": true},
        "i8[m, 3]; n=i32[]" => "i8[m]",
    }

    #[test]
    fn a_tensor_without_rows_needs_no_memory() {
        let y = run_one(&DEF, &Attrs::new().with("n", 3), &[tensor::<u8>(&[0, 1 << 60], &[])]);
        assert_eq!(y.sizes(), [0]);
    }

    #[test]
    fn positions_are_those_of_sorted_rows() {
        let x: Vec<u8> = (0..40).map(|i| (i * 29 % 13) as u8).collect();
        for n in 0..20usize {
            for reverse in [false, true] {
                let attrs = Attrs::new().with("n", n as i64).with("reverse", reverse);
                let y = run_one(&DEF, &attrs, &[tensor(&[2, 20], &x)]).to_vec::<u8>().unwrap();
                for (row, y) in x.chunks(20).zip(y) {
                    let mut row = row.to_vec();
                    row.sort_unstable();
                    assert_eq!(y, row[if reverse { 19 - n } else { n }]);
                }
            }
        }
    }
}
