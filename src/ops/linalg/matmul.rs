//! `matmul`: matrix multiplication, batched over leading axes that broadcast.

use std::panic::Location;

use shapeflow_shape_fns::{Attribute, Attrs, DType};

use crate::dtype;
use crate::error::{Error, Result};
use crate::expr::{Expr, Index, LowerCx, ReduceOp};
use crate::graph::{IntoOperand, Value};
use crate::op::{CompositeCx, ContractionSpec, OpDef, Operand, TfOp};
use crate::ops::broadcast::{Indices, broadcast_dims};
use crate::ops::widen::widen;
use crate::shape_fns;

impl<'g> Value<'g> {
    /// Multiplies matrices: `out[.., i, j] = Σ_k self[.., i, k] · other[.., k, j]`.
    ///
    /// `[..batch, m, k], [..batch, k, n] -> [..batch, m, n]`, integers, floats and complex numbers of one dtype.
    /// Leading axes broadcast. The sum is computed in the dtype of the operands; f16 and bf16 are summed in f32 and
    /// rounded once; integers wrap; a complex product is made of four products of the parts. As TensorFlow's `MatMul`
    /// and `BatchMatMulV2`. Runs in matmul kernels, into which elementwise neighbors may fuse.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let y = g.constant([[1, 2], [3, 4]])?.matmul(g.constant([[5], [6]])?)?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from([[17], [39]]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The dtypes differ or are not integers, floats or complex numbers, a rank is below 2, the inner sizes differ, or
    /// leading axes do not broadcast.
    #[doc(alias = "dot")]
    #[doc(alias = "mm")]
    #[doc(alias = "bmm")]
    #[track_caller]
    pub fn matmul(self, other: impl IntoOperand<'g>) -> Result<Value<'g>> {
        self.binary(&DEF, other, Location::caller())
    }

    /// Multiplies as [`Value::matmul`] does, after transposing the last two axes of each operand whose flag is set.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let (x, y) = (g.constant([[1, 2], [3, 4]])?, g.constant([[5, 6]])?);
    /// let y = x.matmul_transposed(y, false, true)?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from([[17], [39]]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Value::matmul`].
    #[track_caller]
    pub fn matmul_transposed(
        self,
        other: impl IntoOperand<'g>,
        transpose_a: bool,
        transpose_b: bool,
    ) -> Result<Value<'g>> {
        let location = Location::caller();
        let other = other.into_operand(self, location);
        let mut call = self.graph().op(&DEF).data(self).data(other);
        if transpose_a {
            call = call.attr("transpose_a", true);
        }
        if transpose_b {
            call = call.attr("transpose_b", true);
        }
        call.finish_at(location)
    }
}

pub(crate) static DEF: OpDef = OpDef::contraction("matmul", lower, spec)
    .attrs(&[
        Attribute::bool_or("transpose_a", false),
        Attribute::bool_or("transpose_b", false),
        Attribute::int_or("conjugates", 0),
    ])
    .operands(&[Operand::Data("a"), Operand::Data("b")])
    .shape_fn(shape_fns::linalg::matmul)
    .dtype_rule(dtype::binary::numeric)
    .on_dtypes(|dtype| dtype.is_complex() || matches!(dtype, DType::F16 | DType::BF16), of_wider)
    .tensorflow(&[
        TfOp::new("MatMul").own_shape_fn().of_rank(2),
        TfOp::new("BatchMatMulV2").attrs(TRANSPOSE).in_composites(ADJOINT),
        TfOp::new("BatchMatMul").own_shape_fn().attrs(TRANSPOSE).in_composites(ADJOINT),
        TfOp::new("BatchMatMulV3").attrs(TRANSPOSE).in_composites(ADJOINT),
    ]);

/// The attributes for which TensorFlow's batched products transpose and conjugate.
const TRANSPOSE: &[(&str, &str)] = &[("adj_x", "transpose_a"), ("adj_y", "transpose_b")];
/// The attribute of batched products of complex numbers that conjugate the operands that they transpose.
const ADJOINT: &[(&str, i64)] = &[("conjugates", 1)];

/// Builds a product of matrices of f16 or bf16 from a product of f32, and a product of complex matrices from products
/// of their parts.
fn of_wider<'g>(cx: &CompositeCx<'_>, values: &[Value<'g>]) -> Result<Vec<Value<'g>>> {
    let &[a, b] = values else { return Err(Error::msg("matmul needs two operands")) };
    let dtype = dtype::common(&[a.dtype(), b.dtype()], 0, 2, dtype::Class::Numeric)?;
    if dtype.is_complex() {
        return of_parts(cx, values);
    }
    let [transpose_a, transpose_b] = transposed(cx.attrs());
    let (a, b) = (a.cast(DType::F32)?, b.cast(DType::F32)?);
    Ok(vec![a.matmul_transposed(b, transpose_a, transpose_b)?.cast(dtype)?])
}

/// Builds a product of complex matrices from four products of their parts.
fn of_parts<'g>(cx: &CompositeCx<'_>, values: &[Value<'g>]) -> Result<Vec<Value<'g>>> {
    let &[a, b] = values else { return Err(Error::msg("matmul needs two operands")) };
    let [transpose_a, transpose_b] = transposed(cx.attrs());
    let conjugates = cx.attrs().int("conjugates") != 0;
    let conjugated = |x: Value<'g>, transposed| if conjugates && transposed { x.conj() } else { x.ok() };
    let (a, b) = (conjugated(a, transpose_a)?, conjugated(b, transpose_b)?);
    let product =
        |a: Result<Value<'g>>, b: Result<Value<'g>>| a?.matmul_transposed(b?, transpose_a, transpose_b);
    let real = product(a.real(), b.real())?.sub(product(a.imag(), b.imag())?)?;
    let imaginary = product(a.real(), b.imag())?.add(product(a.imag(), b.real())?)?;
    Ok(vec![real.complex(imaginary)?])
}

fn spec(attrs: &Attrs) -> ContractionSpec {
    let [transpose_a, transpose_b] = transposed(attrs);
    ContractionSpec::Matrices { transpose_a, transpose_b }
}

/// Returns which operands are transposed.
fn transposed(attrs: &Attrs) -> [bool; 2] {
    ["transpose_a", "transpose_b"].map(|name| attrs.bool(name))
}

fn lower(cx: &mut dyn LowerCx, output: usize, index: &[Index]) -> Expr {
    let [transpose_a, transpose_b] = transposed(cx.attrs());
    let (a, b, to) = (cx.dims(0), cx.dims(1), cx.output_dims(output));
    let (Some(a_batch), Some(b_batch), Some(batch), [.., row, column]) =
        (a.len().checked_sub(2), b.len().checked_sub(2), to.len().checked_sub(2), index)
    else {
        unreachable!("the shape function requires matrices");
    };
    let a_leading = broadcast_dims(&a[..a_batch], &to[..batch], index);
    let b_leading = broadcast_dims(&b[..b_batch], &to[..batch], index);
    let inner = a[a_batch + usize::from(!transpose_a)].clone();
    let sum = cx.reduce(ReduceOp::Sum, &[inner], &mut |cx, reduced| {
        let left = widen(cx.operand(0, &matrix(&a_leading, row, &reduced[0], transpose_a)));
        let right = widen(cx.operand(1, &matrix(&b_leading, &reduced[0], column, transpose_b)));
        left * right
    });
    sum.cast(cx.output_dtype(output))
}

/// Returns the index of a matrix element: the batch index, then row and column, swapped if `transposed`.
fn matrix(batch: &[Index], row: &Index, column: &Index, transposed: bool) -> Indices {
    let (first, second) = if transposed { (column, row) } else { (row, column) };
    batch.iter().chain([first, second]).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::DEF;
    use crate::ops::testing::shape_table;

    shape_table! { DEF, {},
        "[m, k]; [k, n]" => "[d0_0, d1_1]",
        "[m, 4]; [?, n]" => "[d0_0, d1_1]",
        "[b, m, k]; [k, n]" => "[d0_0, d0_1, d1_1]",
        "[b, 1, m, k]; [5, k, n]" => "[d0_0, 5, d0_2, d1_2]",
        "i64[2, 3]; i64[3, 1]" => "i64[2, 1]",
        "?; ?" => "?",
        "[2, 3]; [4, 2]" => error "3 and 4",
        "[3]; [3, 2]" => error "rank",
        "[2, 2, 3]; [3, 3, 2]" => error "2 and 3",
        "[2, 2]; f64[2, 2]" => error "one dtype, got f32 and f64",
    }
    shape_table! { transposed: DEF, {"transpose_a": true, "transpose_b": true},
        "[k, m]; [n, k]" => "[d0_1, d1_0]",
    }
}
