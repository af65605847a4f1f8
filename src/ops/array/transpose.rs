//! `transpose`: permutes the axes of a tensor.

use crate::dtype;
use crate::error::Result;
use crate::expr::{Expr, Index, LowerCx};
use crate::graph::{IntoParam, Value};
use crate::op::{Absent, OpDef, Operand, TfOp};

impl<'g> Value<'g> {
    /// Permutes the axes: axis `i` of the result is axis `perm[i]` of `self`.
    ///
    /// `[d0, …, dn] -> [d(perm[0]), …, d(perm[n])]`, any dtype. Negative entries count from the end. As TensorFlow's
    /// `Transpose`; a repeated axis is refused when the graph is built. Fuses into kernels.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let matrix = g.constant([[1, 2, 3], [4, 5, 6]])?.transpose([1, 0])?;
    /// let matrices = g.constant([[[1, 2, 3], [4, 5, 6]], [[7, 8, 9], [10, 11, 12]]])?.transpose([0, 2, 1])?;
    /// let [matrix, matrices] = g.compile([matrix, matrices])?.run(&[])?;
    /// assert_eq!(matrix, Tensor::from([[1, 4], [2, 5], [3, 6]]));
    /// assert_eq!(matrices, Tensor::from([[[1, 4], [2, 5], [3, 6]], [[7, 10], [8, 11], [9, 12]]]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// `perm` is not a permutation of the axes.
    #[doc(alias = "permute")]
    #[doc(alias = "swapaxes")]
    #[doc(alias = "moveaxis")]
    #[doc(alias = "movedim")]
    #[doc(alias = "permute_dims")]
    #[track_caller]
    pub fn transpose(self, perm: impl IntoParam<'g>) -> Result<Value<'g>> {
        self.graph().op(&DEF).data(self).structure("perm", perm).finish()
    }

    /// Reverses the order of the axes, which is the usual transpose of a matrix. The rank may be unknown.
    ///
    /// `[d0, …, dn] -> [dn, …, d0]`, any dtype. As numpy's `T`. Fuses into kernels.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let [y] = g.compile(g.constant([[1, 2, 3], [4, 5, 6]])?.t()?)?.run(&[])?;
    /// assert_eq!(y, Tensor::from([[1, 4], [2, 5], [3, 6]]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The value is [poisoned](Value).
    #[doc(alias = "T")]
    #[doc(alias = "matrix_transpose")]
    #[track_caller]
    pub fn t(self) -> Result<Value<'g>> {
        self.graph().op(&DEF).data(self).finish()
    }
}

pub(crate) static DEF: OpDef = OpDef::compute("transpose", lower)
    .operands(&[Operand::Data("x"), Operand::Structure("perm")])
    .shape_fn(shapeflow_shape_fns::array::transpose)
    .dtype_rule(dtype::unary::any)
    .tensorflow(&[TfOp::new("Transpose").absent(&[("perm", Absent::ReversedAxes)])]);

pub(super) fn lower(cx: &mut dyn LowerCx, _output: usize, index: &[Index]) -> Expr {
    let mut read = vec![Index::from(0); index.len()];
    // The derived `perm` counts axes from the front. Without a `perm`, it reverses the axes.
    for (position, axis) in index.iter().zip(cx.derived("perm")) {
        if let Some(slot) = axis.as_known().and_then(|axis| read.get_mut(axis as usize)) {
            *slot = position.clone();
        }
    }
    cx.operand(0, &read)
}

#[cfg(test)]
mod tests {
    use shapeflow_shape_fns::Attrs;

    use super::*;
    use crate::ops::testing::{run_one, shape_table, tensor};

    shape_table! { DEF, {"perm": [1, 0]},
        "[2, n]" => "[n, 2]",
        "?" => "[?, ?]",
        "[2]" => error "perm must have one entry per axis, got 2",
    }
    shape_table! { reversed: DEF, {},
        "[2, n, ?]" => "[d0_2, n, 2]",
        "?" => "?",
    }
    shape_table! { fed: DEF, {},
        "[2, n]; perm=i32[2]" => "[?, ?]",
    }

    #[test]
    fn without_perm_axes_are_reversed() {
        let x = tensor(&[2, 3], &[1, 2, 3, 4, 5, 6i32]);
        let y = run_one(&DEF, &Attrs::new(), &[x]);
        assert_eq!((y.sizes(), y.to_vec::<i32>().unwrap()), (&[3, 2][..], vec![1, 4, 2, 5, 3, 6]));
    }
}
