//! `fill`: a tensor whose elements are all one scalar.

use crate::dtype;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::expr::{Expr, Index, LowerCx};
use crate::graph::{Graph, IntoShapeArg, Value};
use crate::op::{OpDef, Operand, TfOp};

use super::scalar::IntoScalar;

impl Graph {
    /// Makes a tensor of shape `dims` whose elements are all `value`: a Rust number, which keeps its type, or a scalar
    /// value.
    ///
    /// `dims [n], value [] -> dims`, any dtype: `g.fill([2, 3], 0.5f32)` is `f32[2, 3]`. As TensorFlow's `Fill`. Fuses
    /// into kernels, so the elements are usually not stored.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let y = g.fill([2, 3], 0.5)?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from([[0.5, 0.5, 0.5], [0.5, 0.5, 0.5]]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// A size is negative, or `value` is not a scalar.
    #[doc(alias = "full")]
    #[doc(alias = "zeros")]
    #[doc(alias = "ones")]
    #[doc(alias = "full_like")]
    #[doc(alias = "constant")]
    #[track_caller]
    pub fn fill<'g>(&'g self, dims: impl IntoShapeArg<'g>, value: impl IntoScalar<'g>) -> Result<Value<'g>> {
        let value = value.into_own_operand(self, std::panic::Location::caller());
        self.op(&DEF).size("dims", dims.into_shape_arg()).data(value).finish()
    }
}

pub(crate) static DEF: OpDef = OpDef::compute("fill", lower)
    .operands(&[Operand::Size("dims"), Operand::Data("value")])
    .shape_fn(shapeflow_shape_fns::array::fill)
    .dtype_rule(|dtypes, _| match dtypes.split_last() {
        Some((value, dims)) => dtype::check_indices(dims, 0).map(|()| vec![*value]),
        None => Err(Error::new(ErrorKind::Attribute, Phase::Build, "fill needs a value")),
    })
    .tensorflow(&[TfOp::new("Fill")]);

fn lower(cx: &mut dyn LowerCx, _output: usize, _index: &[Index]) -> Expr {
    cx.operand(cx.operands() - 1, &[])
}

#[cfg(test)]
mod tests {
    use shapeflow_shape_fns::shape;

    use super::*;
    use crate::ops::testing::shape_table;

    shape_table! { DEF, {"dims": shape!["n", 3]},
        "[]" => "[n, 3]",
        "bool[]" => "bool[n, 3]",
        "[2]" => error "value must have rank 0",
    }
    shape_table! { fed: DEF, {},
        "dims=i32[2]; f64[]" => "f64[?, ?]",
    }
    shape_table! { negative: DEF, {"dims": [-1]},
        "[]" => error "dims must not be negative, got -1",
    }
}
