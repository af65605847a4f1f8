//! `cross`: the cross product of vectors.

use std::panic::Location;

use crate::dtype;
use crate::error::Result;
use crate::expr::{Expr, Index, LowerCx};
use crate::graph::{IntoOperand, Value};
use crate::op::{OpDef, Operand, TfOp};
use crate::ops::widen::widen;
use crate::shape_fns;

impl<'g> Value<'g> {
    /// The cross product along the last axis, whose size is 3.
    ///
    /// `[.., 3], [.., 3] -> [.., 3]`, integers (which wrap) and floats of one dtype; the shapes must be equal. As
    /// TensorFlow's `Cross` (`tf.linalg.cross`). Fuses into kernels.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let y = g.constant([1, 0, 0])?.cross(g.constant([0, 1, 0])?)?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from([0, 0, 1]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The dtypes differ or are neither integers nor floats, the shapes differ, or the last axis does not have size 3.
    #[track_caller]
    pub fn cross(self, other: impl IntoOperand<'g>) -> Result<Value<'g>> {
        self.binary(&DEF, other, Location::caller())
    }
}

pub(crate) static DEF: OpDef = OpDef::compute("cross", lower)
    .operands(&[Operand::Data("a"), Operand::Data("b")])
    .shape_fn(shape_fns::linalg::cross)
    .dtype_rule(dtype::binary::number)
    .tensorflow(&[TfOp::new("Cross")]);

fn lower(cx: &mut dyn LowerCx, output: usize, index: &[Index]) -> Expr {
    let (component, leading) = index.split_last().expect("a vector has an axis");
    let mut element = |operand: usize, ahead: i64| {
        let mut read = leading.to_vec();
        read.push((component.clone() + Index::from(ahead)).modulo(3));
        widen(cx.operand(operand, &read))
    };
    let (a, b) = ([element(0, 1), element(0, 2)], [element(1, 1), element(1, 2)]);
    (&a[0] * &b[1] - &a[1] * &b[0]).cast(cx.output_dtype(output))
}

#[cfg(test)]
mod tests {
    use shapeflow_shape_fns::Attrs;

    use super::DEF;
    use crate::ops::testing::{check_tensor, run_one, shape_table, tensor};

    shape_table! { DEF, {},
        "[n, 3]; [2, ?]" => "[2, 3]",
        "[2]; [2]" => error "3",
        "bool[3]; bool[3]" => error "must be an integer or a float, got bool",
    }

    #[test]
    fn values() {
        let a = tensor(&[2, 3], &[1, 2, 3, 0, 1, 0]);
        let b = tensor(&[2, 3], &[3, 2, 1, 1, 0, 0]);
        let got = run_one(&DEF, &Attrs::new(), &[a, b]);
        check_tensor(&got, &tensor(&[2, 3], &[-4, 8, -4, 0, 0, -1]), "cross");
    }
}
