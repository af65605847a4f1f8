//! `matrix_diag`: makes matrices from their diagonals.

use shapeflow_shape_fns::{Attribute, Attrs, DType};

use crate::dtype;
use crate::error::Result;
use crate::expr::{Expr, Index, LowerCx};
use crate::graph::{IntoParam, Value};
use crate::op::{OpDef, Operand, TfOp};

use super::diag::diagonal;
use super::diagonals::{Band, DiagonalAlign};
use super::scalar::IntoScalar;

impl<'g> Value<'g> {
    /// Makes square matrices with the elements of `self` on the main diagonal and zeros elsewhere.
    ///
    /// `[.., n] -> [.., n, n]`, any dtype. As TensorFlow's `MatrixDiag`. Fuses into kernels.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let y = g.constant([[1, 2], [3, 4]])?.matrix_diag()?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from([[[1, 0], [0, 2]], [[3, 0], [0, 4]]]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// `self` is a scalar.
    #[doc(alias = "diag_embed")]
    #[track_caller]
    pub fn matrix_diag(self) -> Result<Value<'g>> {
        self.graph().op(&DEF).data(self).finish()
    }

    /// Makes matrices with the elements of `self` on diagonals and `padding` elsewhere.
    ///
    /// `[.., n] -> [.., rows, columns]` if `k` is one diagonal, `[.., high-low+1, n] -> [.., rows, columns]` if `k` is
    /// `[low, high]`: the lowest and the highest diagonal. Diagonal 0 is the main diagonal, and diagonal 1 is the
    /// diagonal above it. `self` holds the highest diagonal first; `align` says where the elements of shorter diagonals
    /// are in their rows. `rows` and `columns` are sizes, or -1 for the least size that fits. Any dtype. As
    /// TensorFlow's `MatrixDiagV3`, whose predecessor `MatrixDiagV2` has [`DiagonalAlign::LeftLeft`]. Fuses into
    /// kernels.
    ///
    /// ```
    /// use shapeflow::{DiagonalAlign, Graph};
    ///
    /// let g = Graph::new();
    /// let x = g.constant([[0, 8, 9], [1, 2, 3], [4, 5, 0]])?;
    /// let y = x.matrix_diag_with([-1, 1], -1, -1, 0, DiagonalAlign::RightLeft)?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y.to_vec::<i32>()?, [1, 8, 0, 4, 2, 9, 0, 5, 3]);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// `k` is not one or two diagonals in ascending order, the number of diagonals or their length does not fit, or
    /// `padding` is not a scalar of the same dtype.
    #[track_caller]
    pub fn matrix_diag_with(
        self,
        k: impl IntoParam<'g>,
        rows: impl IntoParam<'g>,
        columns: impl IntoParam<'g>,
        padding: impl IntoScalar<'g>,
        align: DiagonalAlign,
    ) -> Result<Value<'g>> {
        let padding = padding.into_operand(self, std::panic::Location::caller());
        let call = self.graph().op(&WITH).data(self).structure("k", k);
        let call = call.size("num_rows", rows).size("num_cols", columns).data(padding);
        call.attr("align", align.name()).finish()
    }
}

pub(crate) static DEF: OpDef = OpDef::compute("matrix_diag", |cx, _output, index| {
    let (rows, column) = index.split_at(index.len() - 1);
    let zero = Expr::zero(cx.dtype(0));
    diagonal(&rows[rows.len() - 1..], column).select(cx.operand(0, rows), zero)
})
.operands(&[Operand::Data("diagonal")])
.shape_fn(shapeflow_shape_fns::array::matrix_diag)
.dtype_rule(dtype::unary::any)
.tensorflow(&[TfOp::new("MatrixDiag"), TfOp::new("BatchMatrixDiag")]);

pub(crate) static WITH: OpDef = OpDef::compute("matrix_diag_with", |cx, _output, index| {
    let padding = cx.operand(cx.operands() - 1, &[]);
    lower(cx, index, padding)
})
.attrs(&[Attribute::str_or("align", "RIGHT_LEFT")])
.operands(&[
    Operand::Data("diagonal"),
    Operand::Structure("k"),
    Operand::Size("num_rows"),
    Operand::Size("num_cols"),
    Operand::Data("padding_value"),
])
.shape_fn(shapeflow_shape_fns::array::matrix_diag)
.dtype_rule(dtypes_with_padding)
.tensorflow(&[TfOp::new("MatrixDiagV3"), TfOp::new("MatrixDiagV2").implied(&[("align", "LEFT_LEFT")])]);

/// The dtype rule of an op whose last operand is the padding of the first.
pub(super) fn dtypes_with_padding(operands: &[DType], _: &Attrs) -> Result<Vec<DType>> {
    let (Some((first, rest)), Some(padding)) = (operands.split_first(), operands.last()) else {
        return dtype::refuse("operands must be given, got none".to_string());
    };
    if first != padding {
        return dtype::refuse(format!(
            "the padding must have the dtype of the tensor, got {padding} for {first}"
        ));
    }
    dtype::check_indices(rest.split_last().map_or(&[], |(_, parameters)| parameters), 0)?;
    Ok(vec![*first])
}

fn lower(cx: &mut dyn LowerCx, index: &[Index], padding: Expr) -> Expr {
    let (source, target) = (cx.dims(0), cx.output_dims(0));
    let align = cx.attrs().str("align").to_string();
    let band = Band::new(cx, &target, source.last().expect("the shape function refuses scalars"), &align);
    let (leading, matrix) = index.split_at(index.len() - 2);
    let mut arms = Vec::new();
    for (ranges, packed) in band.packed(&matrix[0], &matrix[1]) {
        arms.push((ranges, cx.operand(0, &[leading, &packed].concat())));
    }
    Expr::case(arms, padding)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::{run_one, shape_table, tensor};

    shape_table! { DEF, {},
        "[b, n]" => "[b, n, n]",
        "[]" => error "must have rank at least 1",
    }
    shape_table! { with: WITH, {"k": [-1, 1], "num_rows": -1, "num_cols": -1},
        "[3, n]; []" => "[n, n]",
        "[2, n]; []" => error "diagonal must hold the 3 diagonals that k selects, got 2",
        "[3, n]; f64[]" => error "the padding must have the dtype of the tensor, got f64 for f32",
    }
    shape_table! { fed: WITH, {"num_rows": -1, "num_cols": -1},
        "[n]; k=i32[]; []" => "[?, ?]",
        "[3, n]; k=i32[?]; []" => "?",
    }
    shape_table! { unknown_align: WITH, {"k": 0, "num_rows": -1, "num_cols": -1, "align": "LEFT"},
        "[n]; []" => error "align must be RIGHT_LEFT",
    }

    #[test]
    fn diagonals_are_where_their_numbers_say() {
        for (low, high) in [(-2i64, 1i64), (0, 0), (2, 2), (-3, -1), (1, 3), (-1, 4)] {
            for (rows, columns) in [(4i64, 5i64), (5, 4), (4, 4)] {
                for align in ["RIGHT_LEFT", "LEFT_RIGHT", "LEFT_LEFT", "RIGHT_RIGHT"] {
                    check(low, high, rows, columns, align);
                }
            }
        }
    }

    fn check(low: i64, high: i64, rows: i64, columns: i64, align: &str) {
        let length = |k: i64| (rows + k.min(0)).min(columns - k.max(0));
        let longest = (low..=high).map(length).max().unwrap();
        if (low..=high).any(|k| length(k) < 1) {
            return;
        }
        let count = (high - low + 1) as usize;
        let packed: Vec<i64> = (1..=count as i64 * longest).collect();
        let mut expected = vec![0; (rows * columns) as usize];
        for (number, k) in (low..=high).rev().enumerate() {
            let word = align.split('_').nth(usize::from(k < 0)).unwrap();
            let skipped = if word == "LEFT" || count == 1 { 0 } else { longest - length(k) };
            for step in 0..length(k) {
                let (row, column) = (step - k.min(0), step + k.max(0));
                expected[(row * columns + column) as usize] =
                    packed[number * longest as usize + (skipped + step) as usize];
            }
        }
        let sizes = if count == 1 { vec![longest as usize] } else { vec![count, longest as usize] };
        let attrs = Attrs::new().with("k", [low, high]).with("align", align);
        let attrs = attrs.with("num_rows", rows).with("num_cols", columns);
        let y = run_one(&WITH, &attrs, &[tensor(&sizes, &packed), tensor(&[], &[0i64])]);
        assert_eq!(y.to_vec::<i64>().unwrap(), expected, "{low}..={high} of {rows}, {columns}, {align}");
        let attrs = Attrs::new().with("k", [low, high]).with("align", align);
        let y = run_one(&super::super::matrix_diag_part::WITH, &attrs, &[y, tensor(&[], &[0i64])]);
        for (back, packed) in y.to_vec::<i64>().unwrap().into_iter().zip(packed) {
            assert_eq!(back, if expected.contains(&packed) { packed } else { 0 });
        }
    }
}
