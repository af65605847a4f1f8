//! `sparse_softmax`: the softmax of the elements in each row of a sparse tensor.

use std::panic::Location;

use shapeflow_shape_fns::{DType, counted};

use super::operand::{check_i64, parts, refuse, rows_of};
use crate::dtype;
use crate::error::Result;
use crate::expr::{Scalar, eval_cast};
use crate::graph::{IntoOperand, Value};
use crate::op::{HostCx, OpDef, Operand, TfOp};
use crate::ops::row_major::RowMajor;
use crate::tensor::TensorView;

impl<'g> Value<'g> {
    /// Returns the softmax, `exp(x) / sum(exp(x))`, along the last axis of a sparse tensor whose indices are `self`.
    /// The result holds the new values, in the order of the indices. An absent element is not 0; it has no share.
    ///
    /// `[count, r], values [count], shape [r] -> [count]`, where `r` is at least 2. The values are f16, f32 or f64, the
    /// indices and the shape are i64. The indices ascend, as [`Value::sparse_reorder`] sorts them. As TensorFlow's
    /// `SparseSoftmax`, which gives values in another order if the indices do not ascend. Runs on the host.
    ///
    /// ```
    /// use shapeflow::Graph;
    ///
    /// let g = Graph::new();
    /// let (indices, shape) = (g.constant([[0i64, 0], [0, 3], [2, 1]])?, g.constant([3i64, 4])?);
    /// let y = indices.sparse_softmax(g.constant([1.0, 1.0, 7.0])?, shape)?;
    /// assert_eq!(g.compile(y)?.run::<1>(&[])?[0].to_vec::<f64>()?, [0.5, 0.5, 1.0]);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// An operand has another dtype or rank. The run fails if there are fewer than 2 axes or the indices do not ascend.
    #[track_caller]
    pub fn sparse_softmax(
        self,
        values: impl IntoOperand<'g>,
        shape: impl IntoOperand<'g>,
    ) -> Result<Value<'g>> {
        let location = Location::caller();
        let parts = parts(self, values, shape, location);
        Ok(self.graph().op(&DEF).data_all(&parts).finish_all_at(location)?[0])
    }
}

pub(crate) static DEF: OpDef = OpDef::host("sparse_softmax", run)
    .operands(&[Operand::Data("sp_indices"), Operand::Data("sp_values"), Operand::Data("sp_shape")])
    .shape_fn(shapeflow_shape_fns::sparse::softmax)
    .dtype_rule(|dtypes, _| {
        check_i64(dtypes, &[0, 2])?;
        match dtype::common(dtypes, 1, 2, dtype::Class::Any)? {
            values @ (DType::F16 | DType::F32 | DType::F64) => Ok(vec![values]),
            other => dtype::refuse(format!("the values must be f16, f32 or f64, got {other}")),
        }
    })
    .tensorflow(&[TfOp::new("SparseSoftmax")]);

fn run(cx: &mut HostCx<'_>) -> Result<()> {
    let [indices, values, shape] =
        [RowMajor::new(cx.input(0)?)?, RowMajor::new(cx.input(1)?)?, RowMajor::new(cx.input(2)?)?];
    let (values, shape) = (values.view(), shape.view());
    let shape = shape.as_slice::<i64>()?;
    let (indices, rank) = rows_of(indices.view(), shape)?;
    if rank < 2 {
        return refuse(format!("there must be at least 2 axes, got {rank}"));
    }
    if values.len() != indices.len() {
        return refuse(format!(
            "there must be {}, one for each index, got {}",
            counted(indices.len(), "value"),
            values.len()
        ));
    }
    if let Some(place) = indices.windows(2).position(|pair| pair[0] > pair[1]) {
        let (first, second) = (indices[place], indices[place + 1]);
        return refuse(format!("the indices must ascend, got {second:?} after {first:?}"));
    }
    // Elements of one row differ in the last index only.
    let rows = indices.chunk_by(|a, b| a[..rank - 1] == b[..rank - 1]).map(<[_]>::len);
    let (dtype, mut start, mut results) = (values.dtype(), 0, Vec::with_capacity(values.len()));
    for count in rows {
        let row: Vec<f64> = (start..start + count).map(|position| real(&values, position)).collect();
        results.extend(softmax(&row, dtype));
        start += count;
    }
    let bytes = dtype.size_bytes().expect("the dtype rule accepts floats only");
    let mut output = cx.unfilled_output(0, &[results.len()])?;
    for (slot, result) in output.bytes_mut().chunks_exact_mut(bytes).zip(results) {
        eval_cast(Scalar::F64(result), dtype).write_bytes(slot).expect("a slot holds one element");
    }
    Ok(())
}

fn real(x: &TensorView<'_>, position: usize) -> f64 {
    let element = x.element(position).expect("the position is in the tensor");
    Scalar::from_bytes(x.dtype(), element).expect("the dtype rule accepts floats only").to_f64()
}

/// Returns the softmax of a row. Each difference from the greatest element is rounded to `dtype`, as in TensorFlow. For
/// f16 it is rounded to f32 instead, so that the result is rounded to f16 only once.
fn softmax(row: &[f64], dtype: DType) -> Vec<f64> {
    let dtype = if dtype == DType::F16 { DType::F32 } else { dtype };
    let greatest = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let exp = |x: &f64| eval_cast(Scalar::F64(x - greatest), dtype).to_f64().exp();
    let exponentials: Vec<f64> = row.iter().map(exp).collect();
    let sum: f64 = exponentials.iter().sum();
    exponentials.into_iter().map(|x| x / sum).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::{check_tensor, run, shape_table, tensor};
    use shapeflow_shape_fns::Attrs;

    shape_table! { DEF, {},
        "i64[n, 2]; f16[n]; i64[2]" => "f16[d0_0]",
        "i64[n, 2]; bf16[n]; i64[2]" => error "the values must be f16, f32 or f64, got bf16",
        "i64[n, 2]; f32[n]; i32[2]" => error "indices and shapes must be i64, got i32 in operand 2",
    }

    #[test]
    fn rows_of_more_axes_are_independent() {
        let indices = tensor(&[5, 3], &[0i64, 0, 1, 0, 0, 2, 0, 1, 0, 1, 1, 0, 1, 1, 7]);
        let values = [1.0f64, 3.0, -700.0, 800.0, 799.0];
        let shape = tensor(&[3], &[2i64, 2, 8]);
        let given = [indices, tensor(&[5], &values), shape.clone()];
        let got = run(&DEF, &Attrs::new(), &given).unwrap();
        let share = |x: f64| 1.0 / (1.0 + x.exp());
        let expected = [share(2.0), share(-2.0), 1.0, share(-1.0), share(1.0)];
        check_tensor(&got[0], &tensor(&[5], &expected), "rows");
        let none = [tensor::<i64>(&[0, 3], &[]), tensor::<f64>(&[0], &[]), shape];
        assert_eq!(run(&DEF, &Attrs::new(), &none).unwrap()[0].sizes(), [0]);
    }

    #[test]
    fn indices_that_do_not_ascend_are_refused() {
        let given =
            [tensor(&[2, 2], &[1i64, 0, 0, 5]), tensor(&[2], &[1.0f32, 2.0]), tensor(&[2], &[2i64, 6])];
        let error = run(&DEF, &Attrs::new(), &given).unwrap_err();
        assert!(error.message().contains("the indices must ascend, got [0, 5] after [1, 0]"), "{error}");
    }
}
