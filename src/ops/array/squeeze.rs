//! `squeeze`: removes axes of size 1.

use std::panic::Location;

use shapeflow_shape_fns::Attribute;

use crate::dtype;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::expr::{Expr, Index, LowerCx};
use crate::graph::Value;
use crate::op::{OpDef, Operand, TfOp};
use crate::ops::derived;
use crate::ops::reduce::IntoAxes;

impl<'g> Value<'g> {
    /// Removes the given axes, which must have size 1. `..` or an empty list removes all axes of size 1.
    ///
    /// `[.., 1, ..] -> [.., ..]`, any dtype. Negative axes count from the end. The run checks a given axis of unknown
    /// size. With `..`, an unknown dimension leaves the rank of the result unknown. As TensorFlow's `Squeeze`. Fuses
    /// into kernels.
    ///
    /// ```
    /// use shapeflow::{DType, Graph, shape};
    ///
    /// let g = Graph::new();
    /// let t = g.input("t", DType::F32, shape![1, 2, 1, 3, 1, 1])?;
    /// assert_eq!(t.squeeze(..)?.shape().to_string(), "[2, 3]");
    /// assert_eq!(t.squeeze([2, 4])?.shape().to_string(), "[1, 2, 3, 1]");
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// An axis is out of range, or its size cannot be 1.
    #[track_caller]
    pub fn squeeze(self, axes: impl IntoAxes<'g>) -> Result<Value<'g>> {
        let (location, axes) = (Location::caller(), axes.into_axes());
        if axes.are_kept() {
            let message = "squeeze removes axes, so it cannot keep them: omit keep_dims";
            let error = Error::new(ErrorKind::Attribute, Phase::Build, message);
            return Err(error.with_op("squeeze", "squeeze").at(location));
        }
        let call = self.graph().op(&DEF).data(self);
        match axes.into_param() {
            Some(axes) => call.structure("axis", axes),
            None => call,
        }
        .finish_at(location)
    }
}

pub(crate) static DEF: OpDef = OpDef::compute("squeeze", lower)
    .attrs(&[Attribute::elements_or("axis", &[])])
    .operands(&[Operand::Data("x")])
    .shape_fn(shapeflow_shape_fns::array::squeeze)
    .dtype_rule(dtype::unary::any)
    .reinterprets()
    .tensorflow(&[TfOp::new("Squeeze")]);

fn lower(cx: &mut dyn LowerCx, _output: usize, index: &[Index]) -> Expr {
    let mut read = index.to_vec();
    for axis in derived::axes(cx) {
        read.insert(axis.min(read.len()), Index::from(0));
    }
    cx.operand(0, &read)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::shape_table;

    shape_table! { DEF, {},
        "[1, 2, 1]" => "[2]",
        "[1, n]" => "?",
    }
    shape_table! { given: DEF, {"axis": [0, -1]},
        "[?, n, 1]" => "[n]",
        "[2, n, 1]" => error "must have size 1, got 2",
    }
}
