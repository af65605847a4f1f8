//! `matrix_diag_part`: the diagonals of matrices.

use shapeflow_shape_fns::Attribute;

use crate::dtype;
use crate::error::Result;
use crate::expr::{Expr, Index, LowerCx};
use crate::graph::{IntoParam, Value};
use crate::op::{OpDef, Operand, TfOp};

use super::diagonals::{Band, DiagonalAlign};
use super::matrix_diag::dtypes_with_padding;
use super::scalar::IntoScalar;

impl<'g> Value<'g> {
    /// Returns the main diagonals of matrices.
    ///
    /// `[.., m, n] -> [.., min(m, n)]`, any dtype. As TensorFlow's `MatrixDiagPart`. Fuses into kernels.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let y = g.constant([[1, 2, 3], [4, 5, 6]])?.matrix_diag_part()?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from([1, 5]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The rank is less than 2.
    #[doc(alias = "diagonal")]
    #[track_caller]
    pub fn matrix_diag_part(self) -> Result<Value<'g>> {
        self.graph().op(&DEF).data(self).finish()
    }

    /// Returns diagonals of matrices, packed into rows: the inverse of [`Value::matrix_diag_with`], whose docs explain
    /// `k` and `align`. Where a diagonal is shorter than its row, the row holds `padding`.
    ///
    /// `[.., m, n] -> [.., length]` if `k` is one diagonal, `[.., m, n] -> [.., high-low+1, length]` if `k` is
    /// `[low, high]`; `length` is the length of the longest diagonal. Any dtype. As TensorFlow's `MatrixDiagPartV3`,
    /// whose predecessor `MatrixDiagPartV2` has [`DiagonalAlign::LeftLeft`]. Fuses into kernels.
    ///
    /// ```
    /// use shapeflow::{DiagonalAlign, Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let x = g.constant([[1, 2, 3], [4, 5, 6], [7, 8, 9]])?;
    /// let y = x.matrix_diag_part_with([0, 1], 0, DiagonalAlign::RightLeft)?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from([[0, 2, 6], [1, 5, 9]]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The rank is less than 2, `k` is not one or two diagonals in ascending order, a diagonal is outside the matrices,
    /// or `padding` is not a scalar of the same dtype.
    #[track_caller]
    pub fn matrix_diag_part_with(
        self,
        k: impl IntoParam<'g>,
        padding: impl IntoScalar<'g>,
        align: DiagonalAlign,
    ) -> Result<Value<'g>> {
        let padding = padding.into_operand(self, std::panic::Location::caller());
        let call = self.graph().op(&WITH).data(self).structure("k", k).data(padding);
        call.attr("align", align.name()).finish()
    }
}

pub(crate) static DEF: OpDef = OpDef::compute("matrix_diag_part", |cx, _output, index| {
    let zero = Expr::zero(cx.dtype(0));
    // One diagonal fills its row, so that its alignment has no effect.
    lower(cx, index, zero, "LEFT_LEFT")
})
.operands(&[Operand::Data("input")])
.shape_fn(shapeflow_shape_fns::array::matrix_diag_part)
.dtype_rule(dtype::unary::any)
.tensorflow(&[TfOp::new("MatrixDiagPart"), TfOp::new("BatchMatrixDiagPart")]);

pub(crate) static WITH: OpDef = OpDef::compute("matrix_diag_part_with", |cx, _output, index| {
    let padding = cx.operand(cx.operands() - 1, &[]);
    let align = cx.attrs().str("align").to_string();
    lower(cx, index, padding, &align)
})
.attrs(&[Attribute::str_or("align", "RIGHT_LEFT")])
.operands(&[Operand::Data("input"), Operand::Structure("k"), Operand::Data("padding_value")])
.shape_fn(shapeflow_shape_fns::array::matrix_diag_part)
.dtype_rule(dtypes_with_padding)
.tensorflow(&[
    TfOp::new("MatrixDiagPartV3"),
    TfOp::new("MatrixDiagPartV2").implied(&[("align", "LEFT_LEFT")]),
]);

fn lower(cx: &mut dyn LowerCx, index: &[Index], padding: Expr, align: &str) -> Expr {
    let (source, target) = (cx.dims(0), cx.output_dims(0));
    let band = Band::new(cx, &source, target.last().expect("packed diagonals have a last axis"), align);
    let (leading, packed) = index.split_at(index.len() - band.packed_axes());
    let mut arms = Vec::new();
    for (ranges, element) in band.unpacked(packed) {
        arms.push((ranges, cx.operand(0, &[leading, &element].concat())));
    }
    Expr::case(arms, padding)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Attrs;
    use crate::ops::testing::{run_one, shape_table, tensor};

    shape_table! { DEF, {},
        "[b, n, n]" => "[b, n]",
        "[b, 2, 3]" => "[b, 2]",
        "[n]" => error "must have rank at least 2",
    }
    shape_table! { with: WITH, {"k": [-1, 1]},
        "[b, 4, 5]; []" => "[b, 3, 4]",
        "[4, 5]; f64[]" => error "the padding must have the dtype of the tensor",
    }
    shape_table! { fed: WITH, {},
        "[b, 4, 5]; k=i32[1]; []" => "[b, ?]",
    }

    #[test]
    fn rows_are_padded_past_the_end_of_a_diagonal() {
        let x = tensor(&[2, 3], &[1, 2, 3, 4, 5, 6i32]);
        let part = |align: &str| {
            let attrs = Attrs::new().with("k", [-1, 2]).with("align", align);
            run_one(&WITH, &attrs, &[x.clone(), tensor(&[], &[9i32])]).to_vec::<i32>().unwrap()
        };
        assert_eq!(part("RIGHT_LEFT"), [9, 3, 2, 6, 1, 5, 4, 9]);
        assert_eq!(part("LEFT_RIGHT"), [3, 9, 2, 6, 1, 5, 9, 4]);
    }
}
