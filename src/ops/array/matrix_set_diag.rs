//! `matrix_set_diag`: replaces diagonals of matrices.

use shapeflow_shape_fns::Attribute;

use crate::dtype;
use crate::error::Result;
use crate::expr::{Expr, Index, LowerCx};
use crate::graph::{IntoOperand, IntoParam, Value};
use crate::op::{Absent, OpDef, Operand, TfOp};

use super::diagonals::{Band, DiagonalAlign};

impl<'g> Value<'g> {
    /// Replaces the main diagonals of matrices by the rows of `diagonal`.
    ///
    /// `[.., m, n], diagonal [.., min(m, n)] -> [.., m, n]`, any dtype. As TensorFlow's `MatrixSetDiag`. Fuses into
    /// kernels.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let y = g.constant([[1, 2], [3, 4]])?.matrix_set_diag(g.constant([0, 0])?)?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from([[0, 2], [3, 0]]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The rank is less than 2, or `diagonal` does not fit in shape or dtype.
    #[doc(alias = "fill_diagonal")]
    #[doc(alias = "set_diag")]
    #[track_caller]
    pub fn matrix_set_diag(self, diagonal: impl IntoOperand<'g>) -> Result<Value<'g>> {
        let diagonal = diagonal.into_operand(self, std::panic::Location::caller());
        self.graph().op(&DEF).data(self).data(diagonal).finish()
    }

    /// Replaces the diagonals `k` of matrices. `diagonal`, `k` and `align` are as for [`Value::matrix_diag_with`].
    ///
    /// `[.., m, n], diagonal [.., length] -> [.., m, n]` if `k` is one diagonal, with
    /// `diagonal [.., high-low+1, length]` if `k` is `[low, high]`. Any dtype. As TensorFlow's `MatrixSetDiagV3`, whose
    /// predecessor `MatrixSetDiagV2` has [`DiagonalAlign::LeftLeft`]. Fuses into kernels.
    ///
    /// ```
    /// use shapeflow::{DiagonalAlign, Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let x = g.constant([[1, 2, 3], [4, 5, 6], [7, 8, 9]])?;
    /// let y = x.matrix_set_diag_with(g.constant([0, 0])?, 1, DiagonalAlign::RightLeft)?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from([[1, 0, 3], [4, 5, 0], [7, 8, 9]]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The rank is less than 2, `k` is not one or two diagonals in ascending order, a diagonal is outside the matrices,
    /// or `diagonal` does not fit in shape or dtype.
    #[track_caller]
    pub fn matrix_set_diag_with(
        self,
        diagonal: impl IntoOperand<'g>,
        k: impl IntoParam<'g>,
        align: DiagonalAlign,
    ) -> Result<Value<'g>> {
        let diagonal = diagonal.into_operand(self, std::panic::Location::caller());
        let call = self.graph().op(&DEF).data(self).data(diagonal).structure("k", k);
        call.attr("align", align.name()).finish()
    }
}

pub(crate) static DEF: OpDef = OpDef::compute("matrix_set_diag", lower)
    .attrs(&[Attribute::str_or("align", "RIGHT_LEFT")])
    .operands(&[Operand::Data("input"), Operand::Data("diagonal"), Operand::Structure("k")])
    .shape_fn(shapeflow_shape_fns::array::matrix_set_diag)
    .dtype_rule(|dtypes, _| {
        dtype::check_indices(dtypes, 2)?;
        Ok(vec![dtype::common(dtypes, 0, 2, dtype::Class::Any)?])
    })
    .tensorflow(&[
        TfOp::new("MatrixSetDiagV3").absent(&[("k", Absent::Zero)]),
        TfOp::new("MatrixSetDiagV2").implied(&[("align", "LEFT_LEFT")]).absent(&[("k", Absent::Zero)]),
        TfOp::new("MatrixSetDiag"),
        TfOp::new("BatchMatrixSetDiag"),
    ]);

fn lower(cx: &mut dyn LowerCx, _output: usize, index: &[Index]) -> Expr {
    let (matrices, diagonals) = (cx.dims(0), cx.dims(1));
    let align = cx.attrs().str("align").to_string();
    let band =
        Band::new(cx, &matrices, diagonals.last().expect("the shape function refuses scalars"), &align);
    let (leading, matrix) = index.split_at(index.len() - 2);
    let mut arms = Vec::new();
    for (ranges, packed) in band.packed(&matrix[0], &matrix[1]) {
        arms.push((ranges, cx.operand(1, &[leading, &packed].concat())));
    }
    Expr::case(arms, cx.operand(0, index))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Attrs;
    use crate::ops::testing::{run_one, shape_table, tensor};

    shape_table! { DEF, {},
        "[b, 3, 4]; [b, 3]" => "[b, 3, 4]",
        "[3, 4]; [4]" => error "diagonal must have shape [3]",
        "[3, 4]; f64[3]" => error "operands must have one dtype",
    }
    shape_table! { with: DEF, {"k": [0, 1]},
        "[b, 3, 4]; [?, 2, 3]" => "[b, 3, 4]",
    }
    shape_table! { fed: DEF, {},
        "[b, 3, 4]; [?, 3]; k=i64[]" => "[b, 3, 4]",
    }

    #[test]
    fn other_elements_stay() {
        let x = tensor(&[2, 3], &[1, 2, 3, 4, 5, 6u8]);
        let y = run_one(&DEF, &Attrs::new().with("k", 1), &[x, tensor(&[2], &[8u8, 9])]);
        assert_eq!(y.to_vec::<u8>().unwrap(), [1, 8, 3, 4, 5, 9]);
    }
}
