//! `diag` and `diag_part`: place a tensor on the diagonal of a tensor of twice its rank, and take it back.

use crate::dtype;
use crate::error::Result;
use crate::expr::{Expr, Index, LowerCx};
use crate::graph::Value;
use crate::op::{OpDef, Operand, TfOp};

impl<'g> Value<'g> {
    /// Makes a tensor of twice the rank with the elements of `self` where both halves of the index are equal, and zeros
    /// elsewhere: `out[i.., i..] = self[i..]`.
    ///
    /// `[d0, …, dn] -> [d0, …, dn, d0, …, dn]`, any dtype. As TensorFlow's `Diag`; [`Value::matrix_diag`] treats the
    /// leading axes as a batch. Fuses into kernels.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let y = g.constant([1, 2])?.diag()?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from([[1, 0], [0, 2]]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// `self` is a scalar.
    #[doc(alias = "tensor_diag")]
    #[track_caller]
    pub fn diag(self) -> Result<Value<'g>> {
        self.graph().op(&DEF).data(self).finish()
    }

    /// Returns the elements where both halves of the index are equal, `out[i..] = self[i.., i..]`: the inverse of
    /// [`Value::diag`].
    ///
    /// `[d0, …, dn, d0, …, dn] -> [d0, …, dn]`, any dtype. As TensorFlow's `DiagPart`. Fuses into kernels.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let y = g.constant([[1, 2], [3, 4]])?.diag_part()?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from([1, 4]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The rank is odd or 0, or the halves of the axes differ.
    #[doc(alias = "tensor_diag_part")]
    #[track_caller]
    pub fn diag_part(self) -> Result<Value<'g>> {
        self.graph().op(&PART).data(self).finish()
    }
}

pub(crate) static DEF: OpDef = OpDef::compute("diag", lower)
    .operands(&[Operand::Data("diagonal")])
    .shape_fn(shapeflow_shape_fns::array::diag)
    .dtype_rule(dtype::unary::any)
    .tensorflow(&[TfOp::new("Diag")]);

pub(crate) static PART: OpDef =
    OpDef::compute("diag_part", |cx, _output, index| cx.operand(0, &[index, index].concat()))
        .operands(&[Operand::Data("input")])
        .shape_fn(shapeflow_shape_fns::array::diag_part)
        .dtype_rule(dtype::unary::any)
        .tensorflow(&[TfOp::new("DiagPart")]);

fn lower(cx: &mut dyn LowerCx, _output: usize, index: &[Index]) -> Expr {
    let (rows, columns) = index.split_at(index.len() / 2);
    let zero = Expr::zero(cx.dtype(0));
    diagonal(rows, columns).select(cx.operand(0, rows), zero)
}

/// Returns whether two indices are equal.
pub(super) fn diagonal(rows: &[Index], columns: &[Index]) -> Expr {
    let equal = |(row, column): (&Index, &Index)| Expr::iota(row.clone()).equal(Expr::iota(column.clone()));
    rows.iter().zip(columns).map(equal).reduce(|a, b| a & b).unwrap_or_else(|| Expr::constant(true))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Attrs;
    use crate::ops::testing::{run_one, shape_table, tensor};

    shape_table! { DEF, {},
        "[m, n]" => "[m, n, m, n]",
        "[]" => error "must have rank at least 1",
    }
    shape_table! { part: PART, {},
        "[m, 3, m, ?]" => "[m, 3]",
        "[2, 3]" => error "the first and the last half of the axes must agree",
        "[n]" => error "must have an even rank",
    }

    #[test]
    fn a_part_of_a_diagonal_is_the_tensor() {
        let x = tensor(&[2, 3], &[1, 2, 3, 4, 5, 6i16]);
        let y = run_one(&DEF, &Attrs::new(), std::slice::from_ref(&x));
        let sum: i16 = y.to_vec::<i16>().unwrap().into_iter().sum();
        assert_eq!((y.sizes(), sum), (&[2, 3, 2, 3][..], 21));
        assert_eq!(run_one(&PART, &Attrs::new(), &[y]), x);
    }
}
