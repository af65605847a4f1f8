//! `sparse_reorder`: sorts the elements of a sparse tensor by their indices.

use std::panic::Location;

use crate::dtype;
use crate::error::Result;
use crate::graph::{IntoOperand, Value};
use crate::op::{HostCx, OpDef, Operand, TfOp};
use crate::ops::row_major::RowMajor;
use crate::tensor::Tensor;
use shapeflow_shape_fns::{DType, counted};

use super::operand::{check_i64, parts, pick_values, refuse, rows_of};

impl<'g> Value<'g> {
    /// Sorts the elements of a sparse tensor in row-major order. `self` has the indices of the sparse tensor. Elements
    /// with equal indices keep their order. Returns the indices and the values.
    ///
    /// `[count, r], values [count], shape [r] -> [count, r], [count]`. The values have any dtype, the indices and the
    /// shape are i64. As TensorFlow's `SparseReorder`, which does not compare indices with the shape. Runs on the host.
    ///
    /// ```
    /// use shapeflow::Graph;
    ///
    /// let g = Graph::new();
    /// let (indices, shape) = (g.constant([[1i64, 0], [0, 1]])?, g.constant([2i64, 2])?);
    /// let [indices, values] = indices.sparse_reorder(g.constant([20, 10])?, shape)?;
    /// let [indices, values] = g.compile([indices, values])?.run(&[])?;
    /// assert_eq!((indices.to_vec::<i64>()?, values.to_vec::<i32>()?), (vec![0, 1, 1, 0], vec![10, 20]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// An operand has another dtype or rank.
    #[track_caller]
    pub fn sparse_reorder(
        self,
        values: impl IntoOperand<'g>,
        shape: impl IntoOperand<'g>,
    ) -> Result<[Value<'g>; 2]> {
        let location = Location::caller();
        let parts = parts(self, values, shape, location);
        let outputs = self.graph().op(&DEF).data_all(&parts).finish_all_at(location)?;
        Ok([outputs[0], outputs[1]])
    }
}

pub(crate) static DEF: OpDef = OpDef::host("sparse_reorder", run)
    .operands(&[Operand::Data("input_indices"), Operand::Data("input_values"), Operand::Data("input_shape")])
    .outputs(|_, _| 2)
    .shape_fn(shapeflow_shape_fns::sparse::reorder)
    .dtype_rule(|dtypes, _| {
        check_i64(dtypes, &[0, 2])?;
        Ok(vec![DType::I64, dtype::common(dtypes, 1, 2, dtype::Class::Stored)?])
    })
    .tensorflow(&[TfOp::new("SparseReorder")]);

fn run(cx: &mut HostCx<'_>) -> Result<()> {
    let [indices, values, shape] =
        [RowMajor::new(cx.input(0)?)?, RowMajor::new(cx.input(1)?)?, RowMajor::new(cx.input(2)?)?];
    let shape = shape.view().as_slice::<i64>()?;
    let (rows, rank) = rows_of(indices.view(), shape)?;
    if values.view().len() != rows.len() {
        return refuse(format!(
            "there must be {}, one for each index, got {}",
            counted(rows.len(), "value"),
            values.view().len()
        ));
    }
    let mut order: Vec<usize> = (0..rows.len()).collect();
    order.sort_by_key(|number| rows[*number]);
    let sorted: Vec<i64> = order.iter().flat_map(|number| rows[*number]).copied().collect();
    cx.set_output(0, Tensor::from_slice(&[rows.len(), rank], &sorted)?)?;
    pick_values(cx, 1, values.view(), order)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::{run, shape_table, tensor};
    use shapeflow_shape_fns::Attrs;

    shape_table! { DEF, {},
        "i64[n, 2]; string[n]; i64[2]" => "[d0_0, 2]; [d0_0]",
        "i64[n, 2]; variant[n]; i64[2]" => error "must be any but variant, got variant",
        "i64[n, 2]; f32[n]; i32[2]" => error "indices and shapes must be i64, got i32 in operand 2",
    }

    #[test]
    fn elements_are_sorted_row_by_row_and_equal_indices_keep_their_order() {
        let indices = tensor(&[4, 2], &[1i64, 1, 0, 2, 1, 0, 0, 2]);
        let values = tensor(&[4], &[1u8, 2, 3, 4]);
        let outputs = run(&DEF, &Attrs::new(), &[indices, values, tensor(&[2], &[2i64, 3])]).unwrap();
        assert_eq!(outputs[0], tensor(&[4, 2], &[0i64, 2, 0, 2, 1, 0, 1, 1]));
        assert_eq!(outputs[1].to_vec::<u8>().unwrap(), [2, 4, 3, 1]);
    }
}
