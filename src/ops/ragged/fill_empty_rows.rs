//! `ragged_fill_empty_rows`: an element in each empty row of a ragged tensor.

use shapeflow_shape_fns::DType;

use super::errors::refuse;
use super::numbers::dim_value;
use crate::dtype;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::graph::{IntoOperand, RaggedValue, Value};
use crate::op::{HostCx, OpDef, Operand, TfOp};
use crate::ops::host_params::param_sizes;
use crate::ops::row_major::RowMajor;
use crate::ops::sparse::fill_empty_rows::FilledRows;
use crate::tensor::Tensor;

impl<'g> RaggedValue<'g> {
    /// Gives each empty row one element, `default`. Returns the rows and whether each row was empty.
    ///
    /// `[n, (r)], default [] -> [n, (s)], bool[n]`, any dtype. As TensorFlow's `RaggedFillEmptyRows`. Runs on the host.
    ///
    /// ```
    /// use shapeflow::{AnyValue, Graph, ragged};
    ///
    /// let g = Graph::new();
    /// let rt = g.ragged_constant(&ragged![[1, 2], [], [3]])?;
    /// let (filled, empty) = rt.fill_empty_rows(-1)?;
    /// let results = g.compile(&[AnyValue::from(filled), empty.into()])?.run_named(&[])?;
    /// assert_eq!(results.ragged_at(0)?.to_string(), "[[1, 2], [-1], [3]]");
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// `self` has more than one ragged axis or an inner axis, or `default` has another dtype.
    #[track_caller]
    pub fn fill_empty_rows(self, default: impl IntoOperand<'g>) -> Result<(RaggedValue<'g>, Value<'g>)> {
        let location = std::panic::Location::caller();
        self.in_call("fill_empty_rows", || {
            let flat = self.flat_values();
            if self.ragged_rank() != 1 || flat.shape().rank() != Some(1) {
                let message = format!(
                    "the value must have one ragged axis and no inner axis, got {}",
                    self.shape_text()
                );
                return Err(refuse(self.graph(), ErrorKind::Shape, message));
            }
            let default = default.into_operand(flat, location);
            let rowids = self.value_rowids()?.cast(DType::I64)?;
            let nrows = dim_value(self.graph(), self.own_nrows()?)?;
            let call = self.graph().op(&DEF).data(rowids).data(flat).size("nrows", nrows).data(default);
            let outputs = call.finish_all()?;
            let filled = RaggedValue::from_value_rowids(outputs[1], outputs[0], self.own_nrows()?)?;
            Ok((filled.with_row_splits_dtype(self.row_splits().dtype())?, outputs[2]))
        })
    }
}

pub(crate) static DEF: OpDef = OpDef::host("ragged_fill_empty_rows", run)
    .operands(&[
        Operand::Data("value_rowids"),
        Operand::Data("values"),
        Operand::Size("nrows"),
        Operand::Data("default_value"),
    ])
    .outputs(|_, _| 4)
    .shape_fn(shapeflow_shape_fns::ragged::fill_empty_rows)
    .dtype_rule(|dtypes, _| {
        let [rowids, values, .., default] = dtypes else {
            return dtype::refuse(format!(
                "there must be row ids, values and a default, got {}",
                dtype::names(dtypes)
            ));
        };
        match (rowids, values == default) {
            (DType::I64, true) => Ok(vec![DType::I64, *values, DType::Bool, DType::I64]),
            (DType::I64, false) => {
                dtype::refuse(format!("the default must be {values}, the dtype of the values, got {default}"))
            }
            _ => dtype::refuse(format!("value_rowids must be i64, got {rowids}")),
        }
    })
    .tensorflow(&[TfOp::new("RaggedFillEmptyRows")]);

fn run(cx: &mut HostCx<'_>) -> Result<()> {
    let [rowids, values] = [RowMajor::new(cx.input(0)?)?, RowMajor::new(cx.input(1)?)?];
    let default = RowMajor::new(cx.input(cx.inputs() - 1)?)?;
    let nrows = param_sizes(cx, "nrows", 2)?.first().copied().unwrap_or(0);
    let rowids = rowids.view();
    let rowids = rowids.as_slice::<i64>()?;
    if values.view().len() != rowids.len() {
        let message = format!(
            "there must be one value for each row id, got {} for {}",
            values.view().len(),
            rowids.len()
        );
        return Err(Error::new(ErrorKind::Shape, Phase::Run, message));
    }
    let filled = FilledRows::new(rowids, nrows, |number| format!(" at [{number}]"))?;
    cx.set_output(0, Tensor::from_slice(&[filled.rows.len()], &filled.rows)?)?;
    filled.set_outputs(cx, values.view(), default.view())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::{run, shape_table, tensor};
    use shapeflow_shape_fns::Attrs;

    shape_table! { DEF, {"nrows": 4},
        "i64[n]; string[n]; string[]" => "i64[?]; string[?]; bool[4]; i64[n]",
        "i64[n]; [n]; i32[]" => error "the default must be f32, the dtype of the values, got i32",
        "i32[n]; [n]; []" => error "value_rowids must be i64, got i32",
    }

    #[test]
    fn empty_rows_get_the_default() {
        let operands = [tensor(&[3], &[1i64, 1, 3]), tensor(&[3], &[5, 6, 7]), tensor(&[], &[-1])];
        let outputs = run(&DEF, &Attrs::new().with("nrows", 4), &operands).unwrap();
        assert_eq!(outputs[0], tensor(&[5], &[0i64, 1, 1, 2, 3]));
        assert_eq!(outputs[1], tensor(&[5], &[-1, 5, 6, -1, 7]));
        assert_eq!(outputs[2], tensor(&[4], &[true, false, true, false]));
        assert_eq!(outputs[3], tensor(&[3], &[1i64, 2, 4]));
        assert!(run(&DEF, &Attrs::new().with("nrows", 3), &operands).is_err());
        let error = run(&DEF, &Attrs::new().with("nrows", 1i64 << 60), &operands).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Memory, "{error}");
    }
}
