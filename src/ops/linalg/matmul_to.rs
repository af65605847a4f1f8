//! `matmul_to`: matrix multiplication with a result of another dtype.

use std::panic::Location;

use shapeflow_shape_fns::{Attribute, DType};

use super::matmul;
use crate::dtype::{self, Class};
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::graph::{IntoOperand, Value};
use crate::op::{CompositeCx, OpDef, Operand, TfOp};

impl<'g> Value<'g> {
    /// Multiplies matrices as [`Value::matmul`] does, after a cast of both operands to `dtype`. With
    /// [`DType::I32`], products of bytes are added as i32.
    ///
    /// `[..batch, m, k], [..batch, k, n] -> dtype[..batch, m, n]`, integers, floats and complex numbers. For bytes, as
    /// TensorFlow's `BatchMatMulV3`. The op is composed of other ops, which fuse into kernels.
    ///
    /// ```
    /// use shapeflow::{DType, Graph};
    ///
    /// let g = Graph::new();
    /// let (x, y) = (g.constant([[100i8, 100]])?, g.constant([[100i8], [100]])?);
    /// let [product] = g.compile(x.matmul_to(y, DType::I32)?)?.run(&[])?;
    /// assert_eq!(product.to_vec::<i32>()?, [20_000]);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The elements of an operand are not integers, floats or complex numbers, or [`Value::matmul`] fails.
    #[doc(alias = "preferred_element_type")]
    #[track_caller]
    pub fn matmul_to(self, other: impl IntoOperand<'g>, dtype: DType) -> Result<Value<'g>> {
        let location = Location::caller();
        let other = other.into_operand(self, location);
        self.graph().op(&DEF).data(self).data(other).attr("dtype", dtype).finish_at(location)
    }
}

pub(crate) static DEF: OpDef = OpDef::composite("matmul_to", build)
    .attrs(&[
        Attribute::dtype("dtype"),
        Attribute::bool_or("transpose_a", false),
        Attribute::bool_or("transpose_b", false),
    ])
    .operands(&[Operand::Data("a"), Operand::Data("b")])
    .dtype_rule(|operands, attrs| {
        for dtype in operands {
            dtype::common(&[*dtype], 0, 1, Class::Numeric)?;
        }
        Ok(vec![attrs.dtype("dtype")])
    })
    .tensorflow(&[TfOp::new("BatchMatMulV3").attrs(&[
        ("adj_x", "transpose_a"),
        ("adj_y", "transpose_b"),
        ("Tout", "dtype"),
    ])]);

/// An op for import only: the product of two matrices that may have many zeros. TensorFlow's kernels may skip
/// zeros: there, the product of 0 and an infinity may be 0. Here it is NaN.
pub(crate) static OF_SPARSE: OpDef = OpDef::composite("sparse_matmul", build_of_sparse)
    .attrs(&[
        Attribute::bool_or("transpose_a", false),
        Attribute::bool_or("transpose_b", false),
        Attribute::bool_or("a_is_sparse", false),
        Attribute::bool_or("b_is_sparse", false),
    ])
    .operands(&[Operand::Data("a"), Operand::Data("b")])
    .dtype_rule(|operands, _| dtype_of_sparse(operands))
    .tensorflow(&[TfOp::new("SparseMatMul")]);

fn build<'g>(cx: &CompositeCx<'_>, values: &[Value<'g>]) -> Result<Vec<Value<'g>>> {
    for value in values {
        dtype::common(&[value.dtype()], 0, 1, Class::Numeric)?;
    }
    product(cx, values, cx.attrs().dtype("dtype"))
}

fn dtype_of_sparse(operands: &[DType]) -> Result<Vec<DType>> {
    match operands.iter().find(|dtype| !matches!(dtype, DType::F32 | DType::BF16)) {
        None => Ok(vec![DType::F32]),
        Some(other) => dtype::refuse(format!("the element type must be f32 or bf16, got {other}")),
    }
}

fn build_of_sparse<'g>(cx: &CompositeCx<'_>, values: &[Value<'g>]) -> Result<Vec<Value<'g>>> {
    let dtypes: Vec<DType> = values.iter().map(|value| value.dtype()).collect();
    dtype_of_sparse(&dtypes)?;
    let mut matrices = Vec::new();
    for (operand, value) in values.iter().enumerate() {
        matrices.push(match value.shape().rank() {
            Some(2) => *value,
            // This transpose moves nothing. It makes the run check that the rank is 2.
            None => value.transpose([0, 1])?,
            Some(rank) => {
                let message = format!("operand {operand} of sparse_matmul must have rank 2, got rank {rank}");
                return Err(Error::new(ErrorKind::Shape, Phase::Build, message));
            }
        });
    }
    product(cx, &matrices, DType::F32)
}

/// Multiplies matrices after a cast to the dtype `to`.
fn product<'g>(cx: &CompositeCx<'_>, values: &[Value<'g>], to: DType) -> Result<Vec<Value<'g>>> {
    let &[a, b] = values else { return Err(Error::msg("a product needs two operands")) };
    let mut call = a.graph().op(&matmul::DEF).data(a.cast(to)?).data(b.cast(to)?);
    for name in ["transpose_a", "transpose_b"] {
        if cx.attrs().bool(name) {
            call = call.attr(name, true);
        }
    }
    Ok(vec![call.finish()?])
}

#[cfg(test)]
mod tests {
    use super::{DEF, OF_SPARSE};
    use crate::DType;
    use crate::ops::testing::shape_table;

    shape_table! { DEF, {"dtype": DType::I32, "transpose_b": true},
        "i8[m, k]; u8[n, k]" => "i32[d0_0, d1_0]",
        "i8[b, m, 3]; i8[n, 4]" => error "3 and 4",
        "bool[m, k]; i8[n, k]" => error "must be an integer, a float or a complex number, got bool",
    }
    shape_table! { of_sparse: OF_SPARSE, {"transpose_a": true, "a_is_sparse": true},
        "bf16[k, m]; [k, n]" => "[d0_1, d1_1]",
        "[b, k, m]; [k, n]" => error "operand 0 of sparse_matmul must have rank 2, got rank 3",
    }
}
