//! `sparse_slice`: a box of a sparse tensor.

use std::panic::Location;

use crate::dtype;
use crate::error::Result;
use crate::graph::{IntoOperand, Value};
use crate::op::{HostCx, OpDef, Operand, TfOp};
use crate::ops::integers::ints;
use crate::ops::row_major::RowMajor;
use crate::tensor::Tensor;
use shapeflow_shape_fns::DType;

use super::operand::{check_i64, parts, pick_values, refuse, rows_of};

impl<'g> Value<'g> {
    /// Returns the elements of a sparse tensor in the box that begins at `start` and has sizes `size`: indices, values
    /// and sizes. `self` has the indices of the sparse tensor. The new indices count from the start of the box.
    /// Elements keep their order.
    ///
    /// `[count, r], values [count], shape [r], start [r], size [r] -> [m, r], [m], [r]`. The values have any dtype, all
    /// else is i64. A box that reaches past the end of an axis is cut. As TensorFlow's `SparseSlice`. Runs on the host.
    ///
    /// ```
    /// use shapeflow::Graph;
    ///
    /// let g = Graph::new();
    /// let (indices, values) = (g.constant([[0i64, 0], [0, 2], [1, 1]])?, g.constant([5.0f32, 6.0, 7.0])?);
    /// let (shape, start, size) = (g.constant([2i64, 3])?, g.constant([0i64, 1])?, g.constant([2i64, 9])?);
    /// let part = indices.sparse_slice(values, shape, start, size)?;
    /// let [indices, values, sizes] = g.compile(&part[..])?.run(&[])?;
    /// assert_eq!(indices.to_vec::<i64>()?, [0, 1, 1, 0]);
    /// assert_eq!(values.to_vec::<f32>()?, [6.0, 7.0]);
    /// assert_eq!(sizes.to_vec::<i64>()?, [2, 2]);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// An operand has another dtype or rank. The run fails if a size is negative.
    #[track_caller]
    pub fn sparse_slice(
        self,
        values: impl IntoOperand<'g>,
        shape: impl IntoOperand<'g>,
        start: impl IntoOperand<'g>,
        size: impl IntoOperand<'g>,
    ) -> Result<[Value<'g>; 3]> {
        let location = Location::caller();
        let parts = parts(self, values, shape, location);
        let (start, size) = (start.into_operand(self, location), size.into_operand(self, location));
        let call = self.graph().op(&DEF).data_all(&parts).data(start).data(size);
        let outputs = call.finish_all_at(location)?;
        Ok([outputs[0], outputs[1], outputs[2]])
    }
}

pub(crate) static DEF: OpDef = OpDef::host("sparse_slice", run)
    .operands(&[
        Operand::Data("indices"),
        Operand::Data("values"),
        Operand::Data("shape"),
        Operand::Data("start"),
        Operand::Data("size"),
    ])
    .outputs(|_, _| 3)
    .shape_fn(shapeflow_shape_fns::sparse::slice)
    .dtype_rule(|dtypes, _| {
        check_i64(dtypes, &[0, 2, 3, 4])?;
        Ok(vec![DType::I64, dtype::common(dtypes, 1, 2, dtype::Class::Stored)?, DType::I64])
    })
    .tensorflow(&[TfOp::new("SparseSlice")]);

fn run(cx: &mut HostCx<'_>) -> Result<()> {
    let (indices, values) = (RowMajor::new(cx.input(0)?)?, RowMajor::new(cx.input(1)?)?);
    let [shape, start, size] = [ints(&cx.input(2)?), ints(&cx.input(3)?), ints(&cx.input(4)?)];
    if let Some(negative) = size.iter().find(|size| **size < 0) {
        return refuse(format!("the sizes of a slice must not be negative, got {negative}"));
    }
    let (rows, rank) = rows_of(indices.view(), &shape)?;
    // The difference is exact as a u64, because `index` is at least `start`. The size keeps its value as a u64, because
    // it is not negative.
    let inside = |index: i64, axis: usize| {
        index >= start[axis] && index.wrapping_sub(start[axis]).cast_unsigned() < size[axis].cast_unsigned()
    };
    let kept: Vec<usize> =
        (0..rows.len()).filter(|row| (0..rank).all(|axis| inside(rows[*row][axis], axis))).collect();
    let moved: Vec<i64> = kept
        .iter()
        .flat_map(|row| rows[*row].iter().zip(&start))
        .map(|(index, start)| index - start)
        .collect();
    let sizes: Vec<i64> =
        (0..rank).map(|axis| shape[axis].saturating_sub(start[axis]).max(0).min(size[axis])).collect();
    cx.set_output(0, Tensor::from_slice(&[kept.len(), rank], &moved)?)?;
    pick_values(cx, 1, values.view(), kept)?;
    cx.set_output(2, Tensor::from_slice(&[rank], &sizes)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::{run, shape_table, tensor};
    use shapeflow_shape_fns::Attrs;

    shape_table! { DEF, {},
        "i64[n, 2]; string[n]; i64[2]; i64[2]; i64[2]" => "i64[?, 2]; string[?]; i64[2]",
        "i64[n, 2]; f32[n]; i64[2]; i32[2]; i64[2]" => error "indices and shapes must be i64, got i32 in operand 3",
    }

    #[test]
    fn a_box_may_begin_before_the_tensor_and_end_behind_it() {
        let indices = tensor(&[4, 2], &[0i64, 0, 2, 0, 0, 2, 1, 1]);
        let sliced = |start: [i64; 2], size: [i64; 2]| {
            let values = Tensor::from_strings(&[4], &["a", "b", "c", "d"]).unwrap();
            let bounds = [tensor(&[2], &start), tensor(&[2], &size)];
            let [start, size] = bounds;
            run(&DEF, &Attrs::new(), &[indices.clone(), values, tensor(&[2], &[3i64, 4]), start, size])
        };
        let outputs = sliced([-1, 0], [2, 1]).unwrap();
        assert_eq!(outputs[0], tensor(&[1, 2], &[1i64, 0]));
        assert_eq!(outputs[1], Tensor::from_strings(&[1], &["a"]).unwrap());
        assert_eq!(outputs[2].to_vec::<i64>().unwrap(), [2, 1]);
        let outputs = sliced([1, 0], [i64::MAX, i64::MAX]).unwrap();
        assert_eq!(outputs[0], tensor(&[2, 2], &[1i64, 0, 0, 1]));
        assert_eq!(outputs[2].to_vec::<i64>().unwrap(), [2, 4]);
        assert_eq!(sliced([9, 0], [1, 1]).unwrap()[2].to_vec::<i64>().unwrap(), [0, 1]);
        assert!(sliced([0, 0], [-1, 1]).unwrap_err().message().contains("must not be negative, got -1"));
    }
}
