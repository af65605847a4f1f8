//! `gather`: selects slices of a tensor by index.

use shapeflow_shape_fns::{Attribute, Attrs, DType};

use crate::dtype;
use crate::error::Result;
use crate::expr::{Expr, Index, LowerCx};
use crate::graph::{IntoOperand, IntoParam, Value};
use crate::op::{Absent, OpDef, Operand, TfOp};

use super::axis::body_axis;

impl<'g> Value<'g> {
    /// Selects slices along `axis`: `out[a, i, b] = self[a, indices[i], b]`.
    ///
    /// `[a.., d, b..], indices [i..] -> [a.., i.., b..]`, any dtype; `indices` is i16, i32 or i64. A negative `axis`
    /// counts from the end. An index outside `[0, d)`, also a negative one, fails the run. As TensorFlow's `GatherV2`
    /// and `Gather`. Fuses into kernels.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let x = g.constant([[1, 2, 3], [4, 5, 6]])?;
    /// let rows = x.gather(g.constant([1, 1, 0])?, 0)?;
    /// let columns = x.gather(g.constant([2, 0])?, 1)?;
    /// let [rows, columns] = g.compile([rows, columns])?.run(&[])?;
    /// assert_eq!(rows, Tensor::from([[4, 5, 6], [4, 5, 6], [1, 2, 3]]));
    /// assert_eq!(columns, Tensor::from([[3, 1], [6, 4]]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The axis is out of range, or `indices` has another dtype.
    #[doc(alias = "take")]
    #[doc(alias = "index_select")]
    #[doc(alias = "embedding_lookup")]
    #[doc(alias = "embedding")]
    #[track_caller]
    pub fn gather(self, indices: impl IntoOperand<'g>, axis: impl IntoParam<'g>) -> Result<Value<'g>> {
        self.gather_batched(indices, axis, 0)
    }

    /// Gathers as [`Value::gather`] does, separately for each index of the first `batch_dims` axes, which `self` and
    /// `indices` share.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let x = g.constant([[1, 2, 3], [4, 5, 6]])?;
    /// let y = x.gather_batched(g.constant([[0, 2], [1, 1]])?, 1, 1)?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from([[1, 3], [5, 5]]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Value::gather`]; also if the shared axes differ in size, or if `axis` is one of them.
    #[track_caller]
    pub fn gather_batched(
        self,
        indices: impl IntoOperand<'g>,
        axis: impl IntoParam<'g>,
        batch_dims: impl IntoParam<'g>,
    ) -> Result<Value<'g>> {
        let indices = indices.into_own_operand(self.graph(), std::panic::Location::caller());
        let builder = self.graph().op(&DEF).data(self).data(indices).structure("axis", axis);
        builder.int_attr("batch_dims", batch_dims).finish()
    }
}

pub(crate) static DEF: OpDef = OpDef::compute("gather", lower)
    .attrs(&[Attribute::elements_or("axis", &[0]), Attribute::int_or("batch_dims", 0)])
    .operands(&[Operand::Data("params"), Operand::Data("indices"), Operand::Structure("axis")])
    .shape_fn(shapeflow_shape_fns::array::gather)
    .dtype_rule(dtypes)
    .tensorflow(&[TfOp::new("GatherV2").absent(&[("axis", Absent::Zero)]), TfOp::new("Gather")]);

fn dtypes(operands: &[DType], _: &Attrs) -> Result<Vec<DType>> {
    dtype::check_narrow_indices(operands, 1)?;
    dtype::check_indices(operands, 2)?;
    Ok(vec![dtype::common(operands, 0, 1, dtype::Class::Any)?])
}

/// Returns the element of an operand of indices. Kernels index by 32 or 64 bits.
pub(super) fn index_operand(cx: &mut dyn LowerCx, operand: usize, index: &[Index]) -> Expr {
    let element = cx.operand(operand, index);
    if cx.dtype(operand) == DType::I16 { element.cast(DType::I32) } else { element }
}

fn lower(cx: &mut dyn LowerCx, _output: usize, index: &[Index]) -> Expr {
    let axis = body_axis(cx);
    let batch = cx.derived("batch_dims")[0].as_known().and_then(|batch| usize::try_from(batch).ok());
    let batch = batch.expect("the number of shared axes is known when the op is lowered");
    let indices_rank = cx.dims(1).len();
    // The axes of the output: the axes of params before `axis`, the axes of indices after the batch, then the axes of
    // params after `axis`.
    let after = axis + indices_rank - batch;
    let part = |from: usize, to: usize| index[from..to].iter().cloned();
    let indices_index: Vec<Index> = part(0, batch).chain(part(axis, after)).collect();
    let picked = index_operand(cx, 1, &indices_index);
    let limit = cx.dims(0)[axis].clone();
    let picked = cx.checked_index(picked, limit, axis);
    let read: Vec<Index> = part(0, axis).chain([picked]).chain(part(after, index.len())).collect();
    cx.operand(0, &read)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;
    use crate::ops::testing::{run, run_one, shape_table, tensor};

    shape_table! { DEF, {"axis": 1},
        "[a, d, b]; i32[i, j]" => "[a, i, j, b]",
        "[a, d, b]; i64[]" => "[a, b]",
        "[a]; i64[]" => error "axis",
        "[a, b]; [2]" => error "an index must be i16, i32 or i64, got f32",
        "[a, b, c]; i16[i]" => "[a, i, c]",
    }
    shape_table! { batched: DEF, {"axis": 1, "batch_dims": 1},
        "[n, d, b]; i32[?, j]" => "[n, j, b]",
    }

    #[test]
    fn batches_are_gathered_separately() {
        let x = tensor(&[2, 3], &[1, 2, 3, 4, 5, 6i32]);
        let indices = tensor(&[2, 2], &[2, 0, 1, 1i64]);
        let y = run_one(&DEF, &Attrs::new().with("axis", -1).with("batch_dims", 1), &[x, indices]);
        assert_eq!((y.sizes(), y.to_vec::<i32>().unwrap()), (&[2, 2][..], vec![3, 1, 5, 5]));
    }

    #[test]
    fn an_index_out_of_range_is_an_error_with_axis_and_limit() {
        // Inference does not track this many elements, so only the run finds the invalid index.
        let mut indices = vec![0i32; 5000];
        indices[7] = 3;
        let operands = [tensor(&[1, 3], &[1, 2, 3i32]), tensor(&[5000], &indices)];
        let error = run(&DEF, &Attrs::new().with("axis", 1), &operands).unwrap_err();
        assert_eq!(error.message(), "an index into axis 1 must lie in [0, 3), got 3 at [7] in operand 1");
        assert_eq!(error.kind(), ErrorKind::Index);
    }
}
