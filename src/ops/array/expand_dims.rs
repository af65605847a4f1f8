//! `expand_dims`: inserts an axis of size 1.

use crate::dtype;
use crate::error::Result;
use crate::expr::{Expr, Index, LowerCx};
use crate::graph::{IntoParam, Value};
use crate::op::{OpDef, Operand, TfOp};

use super::axis::{body_axis, without};

impl<'g> Value<'g> {
    /// Inserts an axis of size 1, which becomes axis `axis` of the result. A negative `axis` counts from the end of the
    /// result.
    ///
    /// `[d0, …, dn] -> [d0, …, 1, …, dn]`, any dtype. As TensorFlow's `ExpandDims`. Fuses into kernels.
    ///
    /// ```
    /// use shapeflow::{DType, Graph, shape};
    ///
    /// let g = Graph::new();
    /// let t = g.input("t", DType::F32, shape![2, 3, 5])?;
    /// assert_eq!(t.expand_dims(0)?.shape().to_string(), "[1, 2, 3, 5]");
    /// assert_eq!(t.expand_dims(2)?.shape().to_string(), "[2, 3, 1, 5]");
    /// assert_eq!(t.expand_dims(-1)?.shape().to_string(), "[2, 3, 5, 1]");
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// `axis` is outside `[-rank - 1, rank]`.
    #[doc(alias = "unsqueeze")]
    #[doc(alias = "newaxis")]
    #[track_caller]
    pub fn expand_dims(self, axis: impl IntoParam<'g>) -> Result<Value<'g>> {
        self.graph().op(&DEF).data(self).structure("axis", axis).finish()
    }
}

pub(crate) static DEF: OpDef = OpDef::compute("expand_dims", lower)
    .operands(&[Operand::Data("x"), Operand::Structure("axis")])
    .shape_fn(shapeflow_shape_fns::array::expand_dims)
    .dtype_rule(dtype::unary::any)
    .reinterprets()
    .tensorflow(&[TfOp::new("ExpandDims")]);

fn lower(cx: &mut dyn LowerCx, _output: usize, index: &[Index]) -> Expr {
    let read = without(index, body_axis(cx));
    cx.operand(0, &read)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::shape_table;

    shape_table! { DEF, {"axis": -1},
        "[2, n]" => "[2, n, 1]",
        "[]" => "[1]",
        "?" => "?",
    }
    shape_table! { errors: DEF, {"axis": 3},
        "[2, n]" => error "axis must be in [-3, 3), got 3",
    }
    shape_table! { fed: DEF, {},
        "[2, n]; axis=i32[]" => "[?, ?, ?]",
    }
}
