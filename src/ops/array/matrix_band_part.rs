//! `matrix_band_part`, `tril` and `triu`: zero the elements of matrices outside a band; `eye`: identity matrices.

use shapeflow_shape_fns::{DType, InferenceContext};

use super::in_tensorflow;
use crate::dtype;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::expr::{Expr, Index, LowerCx};
use crate::graph::{Graph, IntoParam, Param, Value};
use crate::op::{OpDef, Operand, TfFunction, TfOp};
use crate::tensor::Tensor;

use super::concat;

impl<'g> Value<'g> {
    /// Keeps `lower` diagonals below the main diagonal, `upper` diagonals above it and the main diagonal itself, and
    /// zeros the other elements. A negative number keeps all diagonals on its side.
    ///
    /// `[.., m, n] -> [.., m, n]`, any dtype. As TensorFlow's `MatrixBandPart`. Fuses into kernels.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let x = g.constant([[1, 2, 3], [4, 5, 6], [7, 8, 9]])?;
    /// let y = x.matrix_band_part(0, 1)?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from([[1, 2, 0], [0, 5, 6], [0, 0, 9]]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The rank is less than 2, `lower` exceeds the number of rows, or `upper` exceeds the number of columns.
    #[doc(alias = "banded")]
    #[doc(alias = "band_part")]
    #[track_caller]
    pub fn matrix_band_part(self, lower: impl IntoParam<'g>, upper: impl IntoParam<'g>) -> Result<Value<'g>> {
        self.graph().op(&DEF).data(self).size("num_lower", lower).size("num_upper", upper).finish()
    }

    /// Keeps the elements on diagonal `k` and below it, and zeros the others. The main diagonal has the number 0, and
    /// the diagonal above it has the number 1.
    ///
    /// `[.., m, n] -> [.., m, n]`, any dtype. As numpy's `tril`. Fuses into kernels.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let y = g.constant([[1, 2], [3, 4]])?.tril(0)?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from([[1, 0], [3, 4]]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The rank is less than 2.
    #[track_caller]
    pub fn tril(self, k: impl IntoParam<'g>) -> Result<Value<'g>> {
        self.graph().op(&TRIL).data(self).size("k", k).finish()
    }

    /// Keeps the elements on diagonal `k` and above it, and zeros the others. The main diagonal has the number 0, and
    /// the diagonal above it has the number 1.
    ///
    /// `[.., m, n] -> [.., m, n]`, any dtype. As numpy's `triu`. Fuses into kernels.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let y = g.constant([[1, 2], [3, 4]])?.triu(0)?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from([[1, 2], [0, 4]]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The rank is less than 2.
    #[track_caller]
    pub fn triu(self, k: impl IntoParam<'g>) -> Result<Value<'g>> {
        self.graph().op(&TRIU).data(self).size("k", k).finish()
    }
}

impl Graph {
    /// Makes a matrix with ones on the main diagonal and zeros elsewhere.
    ///
    /// `[rows, columns]`, bool, integers and floats. As numpy's `eye` and TensorFlow's `tf.eye`. Fuses into kernels.
    ///
    /// ```
    /// use shapeflow::{DType, Graph};
    ///
    /// let g = Graph::new();
    /// let [y] = g.compile(g.eye(2, 3, DType::F32)?)?.run(&[])?;
    /// assert_eq!(y.to_vec::<f32>()?, [1.0, 0.0, 0.0, 0.0, 1.0, 0.0]);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// A size is negative or not one integer, or the dtype is neither bool nor a number.
    #[doc(alias = "identity_matrix")]
    #[track_caller]
    pub fn eye<'g>(
        &'g self,
        rows: impl IntoParam<'g>,
        columns: impl IntoParam<'g>,
        dtype: DType,
    ) -> Result<Value<'g>> {
        self.in_call("eye", || {
            let one = self.constant(Tensor::scalar(true))?.cast(dtype)?;
            let ones = match (rows.into_param(), columns.into_param()) {
                (Param::Elements(rows), Param::Elements(columns))
                    if rows.rank() == 0 && columns.rank() == 0 =>
                {
                    self.fill([rows.elements(), columns.elements()].concat(), one)?
                }
                (rows, columns) => {
                    let vectors = [self.size_vector("rows", rows)?, self.size_vector("columns", columns)?];
                    self.fill(concat(&vectors, 0)?, one)?
                }
            };
            ones.matrix_band_part(0, 0)
        })
    }

    /// Returns a vector that holds one size.
    fn size_vector<'g>(&'g self, name: &str, size: Param<'g>) -> Result<Value<'g>> {
        let message = match size {
            Param::Value(size) => return size.cast(DType::I64)?.reshape([1]),
            Param::Elements(size) if size.rank() == 0 => {
                return self.fill(size.elements(), false)?.shape_tensor_as(DType::I64);
            }
            Param::Elements(sizes) => format!("{name} must be one integer, got {sizes}"),
            Param::Refused(message) => message,
        };
        Err(Error::new(ErrorKind::Shape, Phase::Build, message))
    }
}

pub(crate) static DEF: OpDef = OpDef::compute("matrix_band_part", lower)
    .operands(&[Operand::Data("input"), Operand::Size("num_lower"), Operand::Size("num_upper")])
    .shape_fn(shapeflow_shape_fns::array::matrix_band_part)
    .dtype_rule(dtype::unary::any)
    .tensorflow(&[TfOp::new("MatrixBandPart"), TfOp::new("BatchMatrixBandPart")]);

pub(crate) static TRIL: OpDef = OpDef::compute("tril", |cx, _output, index| triangle(cx, index, true))
    .in_tensorflow(TfFunction::Composed(in_tensorflow::tril))
    .operands(&[Operand::Data("input"), Operand::Size("k")])
    .shape_fn(triangle_shape)
    .dtype_rule(dtype::unary::any);

pub(crate) static TRIU: OpDef = OpDef::compute("triu", |cx, _output, index| triangle(cx, index, false))
    .in_tensorflow(TfFunction::Composed(in_tensorflow::triu))
    .operands(&[Operand::Data("input"), Operand::Size("k")])
    .shape_fn(triangle_shape)
    .dtype_rule(dtype::unary::any);

/// Keeps the shape of matrices. Sets the derived parameter `k`.
fn triangle_shape(cx: &mut InferenceContext<'_>) -> shapeflow_shape_fns::Result<()> {
    let shape = cx.with_rank_at_least(0, 2)?;
    let k = cx.param_scalar("k")?.unwrap_or_else(|| cx.fresh_integer());
    cx.set_derived("k", [k]);
    cx.set_output(0, shape);
    Ok(())
}

/// Returns the number of the diagonal of an element: its column minus its row.
fn diagonal(index: &[Index]) -> Expr {
    let [.., row, column] = index else { unreachable!("the shape function checks the rank of matrices") };
    Expr::iota(column.clone() - row.clone())
}

fn lower(cx: &mut dyn LowerCx, _output: usize, index: &[Index]) -> Expr {
    let sizes: Vec<Expr> = cx.derived("band").into_iter().map(Expr::size).collect();
    let [below, above] = &sizes[..] else { unreachable!("the shape function derives two numbers") };
    let diagonal = diagonal(index);
    let zero = below.like(0.0);
    let kept = |number: &Expr, distance: Expr| {
        number.clone().less(zero.clone()) | distance.less_equal(number.clone())
    };
    let inside = kept(below, -diagonal.clone()) & kept(above, diagonal);
    let outside = Expr::zero(cx.dtype(0));
    inside.select(cx.operand(0, index), outside)
}

fn triangle(cx: &mut dyn LowerCx, index: &[Index], is_lower: bool) -> Expr {
    let k = Expr::size(cx.derived("k").pop().expect("the shape function derives k"));
    let diagonal = diagonal(index);
    let inside = if is_lower { diagonal.less_equal(k) } else { k.less_equal(diagonal) };
    let outside = Expr::zero(cx.dtype(0));
    inside.select(cx.operand(0, index), outside)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::{run_one, shape_table, tensor};
    use crate::{Attrs, shape};

    shape_table! { DEF, {"num_lower": 1, "num_upper": -1},
        "[b, 2, n]" => "[b, 2, n]",
        "[b, 0, n]" => error "num_lower must be negative or at most 0, got 1",
        "[n]" => error "must have rank at least 2",
    }
    shape_table! { fed: DEF, {},
        "[m, n]; num_lower=i32[]; num_upper=i64[]" => "[m, n]",
    }
    shape_table! { triangles: TRIL, {"k": -1},
        "bool[b, m, n]" => "bool[b, m, n]",
        "[n]" => error "must have rank at least 2",
    }

    #[test]
    fn bands_and_triangles_keep_the_diagonals_they_name() {
        let x: Vec<i32> = (1..=12).collect();
        for (rows, columns) in [(3i64, 4i64), (4, 3)] {
            let kept = |def: &'static OpDef, attrs: Attrs, keeps: &dyn Fn(i64) -> bool| {
                let y = run_one(def, &attrs, &[tensor(&[rows as usize, columns as usize], &x)]);
                let expected =
                    (0..12i64).map(|i| if keeps(i % columns - i / columns) { i as i32 + 1 } else { 0 });
                assert_eq!(
                    y.to_vec::<i32>().unwrap(),
                    expected.collect::<Vec<_>>(),
                    "{}, {attrs}",
                    def.name()
                );
            };
            for k in -4..=4i64 {
                kept(&TRIL, Attrs::new().with("k", k), &|diagonal| diagonal <= k);
                kept(&TRIU, Attrs::new().with("k", k), &|diagonal| diagonal >= k);
                for lower in -1..=rows {
                    let attrs = Attrs::new().with("num_lower", lower).with("num_upper", k.min(columns));
                    let upper = k.min(columns);
                    kept(&DEF, attrs, &|diagonal| {
                        (lower < 0 || -diagonal <= lower) && (upper < 0 || diagonal <= upper)
                    });
                }
            }
        }
    }

    #[test]
    fn each_size_of_an_identity_matrix_is_one_integer() {
        let g = Graph::new();
        for (rows, columns) in [(&[2, 3][..], &[4][..]), (&[2], &[]), (&[2, 3, 4], &[5])] {
            let error = g.eye(rows, columns, DType::F32).unwrap_err();
            assert!(error.message().contains("must be one integer"), "{error}");
        }
        let fed = g.input("rows", DType::I64, shape![]).unwrap();
        let error = g.eye(fed, [2, 3], DType::F32).unwrap_err();
        assert!(error.message().contains("columns must be one integer, got [2, 3]"), "{error}");
    }
}
