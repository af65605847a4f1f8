//! `fill`: one scalar everywhere.

use crate::dtype;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::expr::{Expr, Index, LowerCx};
use crate::graph::{Graph, IntoShapeArg, Value};
use crate::op::{OpDef, Operand, TfOp};

impl Graph {
    /// A tensor of shape `dims` whose elements all are `value`, a scalar.
    ///
    /// Any dtype. Nothing is stored: the value is repeated where it is read. TensorFlow's `Fill`.
    ///
    /// # Errors
    /// A size is negative, or `value` is no scalar.
    #[track_caller]
    pub fn fill<'g>(&'g self, dims: impl IntoShapeArg<'g>, value: Value<'g>) -> Result<Value<'g>> {
        self.op(&DEF).size("dims", dims.into_shape_arg()).data(value).finish()
    }
}

pub(crate) static DEF: OpDef = OpDef::compute("fill", lower)
    .operands(&[Operand::Size("dims"), Operand::Data("value")])
    .shape_fn(shapeflow_shape_fns::array::fill)
    .dtype_rule(|dtypes, _| match dtypes.last() {
        Some(value) => Ok(vec![*value]),
        None => Err(Error::new(ErrorKind::Attribute, Phase::Build, "fill needs a value")),
    })
    .tensorflow(&[TfOp::new("Fill")]);

fn lower(cx: &mut dyn LowerCx, _output: usize, _index: &[Index]) -> Expr {
    cx.operand(cx.operands() - 1, &[])
}
