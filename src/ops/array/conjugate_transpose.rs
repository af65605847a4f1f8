//! `conjugate_transpose`: permutes the axes of a tensor and conjugates its elements.

use super::transpose;
use crate::dtype;
use crate::error::Result;
use crate::expr::{Expr, Index, LowerCx};
use crate::graph::{IntoParam, Value};
use crate::op::{Absent, OpDef, Operand, TfOp};

impl<'g> Value<'g> {
    /// Permutes the axes as [`Value::transpose`] does, and conjugates complex elements.
    ///
    /// `[d0, …, dn] -> [d(perm[0]), …, d(perm[n])]`, any dtype. As TensorFlow's `ConjugateTranspose`. Fuses into
    /// kernels.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let z = g.constant([[1.0, 2.0]])?.complex(g.constant([[3.0, 4.0]])?)?;
    /// let y = z.conjugate_transpose([1, 0])?.imag()?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from([[-3.0], [-4.0]]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// `perm` is not a permutation of the axes.
    #[doc(alias = "adjoint")]
    #[track_caller]
    pub fn conjugate_transpose(self, perm: impl IntoParam<'g>) -> Result<Value<'g>> {
        self.graph().op(&DEF).data(self).structure("perm", perm).finish()
    }
}

pub(crate) static DEF: OpDef = OpDef::compute("conjugate_transpose", lower)
    .operands(&[Operand::Data("x"), Operand::Structure("perm")])
    .shape_fn(shapeflow_shape_fns::array::transpose)
    .dtype_rule(dtype::unary::any)
    .tensorflow(&[TfOp::new("ConjugateTranspose").absent(&[("perm", Absent::ReversedAxes)])]);

fn lower(cx: &mut dyn LowerCx, output: usize, index: &[Index]) -> Expr {
    let x = transpose::lower(cx, output, index);
    if x.dtype().is_complex() { Expr::complex(x.real(), -x.imag()) } else { x }
}

#[cfg(test)]
mod tests {
    use super::DEF;
    use crate::ops::testing::shape_table;

    shape_table! { DEF, {"perm": [1, 0]},
        "c64[2, n]" => "c64[n, 2]",
        "?" => "[?, ?]",
        "[2]" => error "perm must have one entry per axis, got 2",
    }
}
