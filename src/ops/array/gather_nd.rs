//! `gather_nd`: selects slices of a tensor by multi-dimensional index.

use std::panic::Location;

use shapeflow_shape_fns::{Attribute, Attrs, DType, Dim, InferenceContext};

use super::gather::index_operand;
use crate::dtype;
use crate::error::Result;
use crate::expr::{Expr, Index, LowerCx};
use crate::graph::{IntoOperand, IntoParam, Value};
use crate::op::{OpDef, Operand, TfOp};
use crate::ops::positions::{check_policy, ignores_outside};

impl<'g> Value<'g> {
    /// Selects slices: `out[i, ..] = self[indices[i, 0], …, indices[i, k-1], ..]`.
    ///
    /// `[d0, …, dn], indices [i.., k] -> [i.., dk, …, dn]`, any dtype; `indices` is i16, i32 or i64. If `k` is the rank
    /// of `self`, the slices are elements. An index outside its axis, also a negative one, fails the run. As
    /// TensorFlow's `GatherNd`; an imported graph may ask for a zero slice instead of the failure. Fuses into kernels.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let x = g.constant([[1, 2], [3, 4]])?;
    /// let matrix = [
    ///     x.gather_nd(g.constant([[0, 0], [1, 1]])?)?,
    ///     x.gather_nd(g.constant([[1], [0]])?)?,
    ///     x.gather_nd(g.constant([[[0, 0]], [[0, 1]]])?)?,
    ///     x.gather_nd(g.constant([[[1]], [[0]]])?)?,
    /// ];
    /// let [elements, rows, column, blocks] = g.compile(matrix)?.run(&[])?;
    /// assert_eq!(elements, Tensor::from([1, 4]));
    /// assert_eq!(rows, Tensor::from([[3, 4], [1, 2]]));
    /// assert_eq!(column, Tensor::from([[1], [2]]));
    /// assert_eq!(blocks, Tensor::from([[[3, 4]], [[1, 2]]]));
    ///
    /// let x = g.constant([[[1, 2], [3, 4]], [[5, 6], [7, 8]]])?;
    /// let volume = [
    ///     x.gather_nd(g.constant([[1]])?)?,
    ///     x.gather_nd(g.constant([[0, 1], [1, 0]])?)?,
    ///     x.gather_nd(g.constant([[0, 0, 1], [1, 0, 1]])?)?,
    ///     x.gather_nd(g.constant([[[1]], [[0]]])?)?,
    ///     x.gather_nd(g.constant([[[0, 1], [1, 0]], [[0, 0], [1, 1]]])?)?,
    ///     x.gather_nd(g.constant([[[0, 0, 1], [1, 0, 1]], [[0, 1, 1], [1, 1, 0]]])?)?,
    /// ];
    /// let [matrix, rows, elements, matrices, row_blocks, element_blocks] = g.compile(volume)?.run(&[])?;
    /// assert_eq!(matrix, Tensor::from([[[5, 6], [7, 8]]]));
    /// assert_eq!(rows, Tensor::from([[3, 4], [5, 6]]));
    /// assert_eq!(elements, Tensor::from([2, 6]));
    /// assert_eq!(matrices, Tensor::from([[[[5, 6], [7, 8]]], [[[1, 2], [3, 4]]]]));
    /// assert_eq!(row_blocks, Tensor::from([[[3, 4], [5, 6]], [[1, 2], [7, 8]]]));
    /// assert_eq!(element_blocks, Tensor::from([[2, 6], [4, 7]]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// `indices` is a scalar or has another dtype, or `k` exceeds the rank of `self`.
    #[track_caller]
    pub fn gather_nd(self, indices: impl IntoOperand<'g>) -> Result<Value<'g>> {
        let indices = indices.into_own_operand(self.graph(), Location::caller());
        self.graph().op(&DEF).data(self).data(indices).finish()
    }

    /// Gathers as [`Value::gather_nd`] does, separately for each index of the first `batch_dims` axes, which `self` and
    /// `indices` share. As TensorFlow's `tf.gather_nd`.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let x = g.constant([[1, 2, 3], [4, 5, 6]])?;
    /// let y = x.gather_nd_batched(g.constant([[2], [0]])?, 1)?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from([3, 4]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Value::gather_nd`]; also if the shared axes differ in size.
    #[track_caller]
    pub fn gather_nd_batched(
        self,
        indices: impl IntoOperand<'g>,
        batch_dims: impl IntoParam<'g>,
    ) -> Result<Value<'g>> {
        let indices = indices.into_own_operand(self.graph(), Location::caller());
        self.graph().op(&DEF).data(self).data(indices).int_attr("batch_dims", batch_dims).finish()
    }
}

pub(crate) static DEF: OpDef = OpDef::compute("gather_nd", lower)
    .attrs(&[Attribute::int_or("batch_dims", 0), Attribute::str_or("bad_indices_policy", "")])
    .operands(&[Operand::Data("params"), Operand::Data("indices")])
    .shape_fn(shape)
    .dtype_rule(dtypes)
    .tensorflow(&[TfOp::new("GatherNd").fixed(&[("batch_dims", 0)])]);

fn shape(cx: &mut InferenceContext<'_>) -> shapeflow_shape_fns::Result<()> {
    check_policy(cx)?;
    shapeflow_shape_fns::array::gather_nd(cx)
}

fn dtypes(operands: &[DType], _: &Attrs) -> Result<Vec<DType>> {
    dtype::check_narrow_indices(operands, 1)?;
    Ok(vec![dtype::common(operands, 0, 1, dtype::Class::Any)?])
}

fn lower(cx: &mut dyn LowerCx, _output: usize, index: &[Index]) -> Expr {
    let batch = cx.derived("batch_dims").first().and_then(|batch| usize::try_from(batch.as_known()?).ok());
    let batch = batch.unwrap_or(0);
    let (params, indices) = (cx.dims(0), cx.dims(1));
    let after = indices.len().saturating_sub(1);
    let depth = indices.last().and_then(|depth| usize::try_from(depth.as_known()?).ok()).unwrap_or(0);
    let (leading, rest) = index.split_at(after.min(index.len()));
    let mut read = leading.get(..batch).unwrap_or_default().to_vec();
    let ignores = ignores_outside(cx.attrs());
    let mut inside = Expr::constant(true);
    for (axis, limit) in params.iter().enumerate().skip(batch).take(depth) {
        let mut indices_index = leading.to_vec();
        indices_index.push(Index::from((axis - batch) as i64));
        let mut picked = index_operand(cx, 1, &indices_index);
        if ignores {
            let is_inside;
            (picked, is_inside) = within(picked, limit.clone());
            inside = inside & is_inside;
        }
        read.push(cx.checked_index(picked, limit.clone(), axis));
    }
    read.extend_from_slice(rest);
    let element = cx.operand(0, &read);
    if !ignores {
        return element;
    }
    let zero = Expr::zero(element.dtype());
    inside.select(element, zero)
}

/// Returns an index that is safe to read along an axis of this size, and whether this index equals `index`. An empty
/// axis has no safe index: the run then fails, as TensorFlow's does.
fn within(index: Expr, size: Dim) -> (Expr, Expr) {
    let (index, size) = (index.cast(DType::I64), Expr::size(size));
    let zero = || Expr::constant(0i64);
    let is_inside = zero().less_equal(index.clone()) & index.clone().less(size.clone());
    let first = size.equal(zero()).select(index.clone(), zero());
    (is_inside.clone().select(index, first), is_inside)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;
    use crate::ops::testing::{recorded, run, run_one, shape_table, tensor};

    shape_table! { DEF, {},
        "[a, b, c]; i32[i, j, 2]" => "[i, j, c]",
        "[a, b]; i64[2]" => "[]",
        "[a, b]; i64[i, 0]" => "[i, a, b]",
        "[a]; [i, 1]" => error "an index must be i16, i32 or i64, got f32",
        "[a]; i32[i, 2]" => error "must be at most the rank of params",
    }
    shape_table! { batched: DEF, {"batch_dims": 1},
        "[n, a, b]; i32[?, j, 1]" => "[n, j, b]",
        "[2, a]; i32[3, 1]" => error "batch dimensions must agree, got 2 and 3 at axis 0",
    }

    shape_table! { unknown_policy: DEF, {"bad_indices_policy": "ignore"},
        "[a]; i32[i, 1]" => error "must be \"\", \"DEFAULT\", \"ERROR\" or \"IGNORE\", got \"ignore\"",
    }
    shape_table! { ignoring: DEF, {"bad_indices_policy": "IGNORE"},
        "[a, b]; i64[i, 1]" => "[i, b]",
        "string[a]; i64[i, 1]" => "string[i]",
        "c64[a]; i64[i, 1]" => "c64[i]",
    }

    #[test]
    fn ignored_indices_give_zeros_except_along_an_empty_axis() {
        let ignore = Attrs::new().with("bad_indices_policy", "IGNORE");
        let indices = tensor(&[3, 2], &[1, 0, 0, 1, i64::MIN, i64::MAX]);
        let y = run_one(&DEF, &ignore, &[tensor(&[2, 1], &[7, 8i32]), indices.clone()]);
        assert_eq!(y.to_vec::<i32>().unwrap(), [8, 0, 0]);
        let error = run(&DEF, &ignore, &[tensor::<i32>(&[0, 1], &[]), indices]).unwrap_err();
        assert_eq!(error.message(), "an index into axis 0 must lie in [0, 0), got 1 at [0, 0] in operand 1");
    }

    #[test]
    fn values_are_those_recorded() {
        recorded(&DEF);
    }

    #[test]
    fn batches_are_gathered_separately() {
        let x = tensor(&[2, 3], &[1, 2, 3, 4, 5, 6i32]);
        let indices = tensor(&[2, 2, 1], &[2, 0, 1, 1i64]);
        let y = run_one(&DEF, &Attrs::new().with("batch_dims", 1), &[x, indices]);
        assert_eq!((y.sizes(), y.to_vec::<i32>().unwrap()), (&[2, 2][..], vec![3, 1, 5, 5]));
    }

    #[test]
    fn an_index_out_of_range_is_an_error_with_axis_and_limit() {
        let mut indices = vec![0i32; 10_000];
        indices[7] = -1;
        let operands = [tensor(&[1, 3], &[1, 2, 3i32]), tensor(&[5000, 2], &indices)];
        let error = run(&DEF, &Attrs::new(), &operands).unwrap_err();
        assert_eq!(error.message(), "an index into axis 1 must lie in [0, 3), got -1 at [3, 1] in operand 1");
        assert_eq!(error.kind(), ErrorKind::Index);
    }
}
