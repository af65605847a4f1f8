//! Sizes that depend only on the nodes that compute a value, and `unknown_size`, which gives an axis such a size.

use shapeflow_shape_fns::{Attribute, Dim, TensorShape};

use super::in_tensorflow;
use crate::error::Result;
use crate::expr::{Expr, Index, LowerCx};
use crate::graph::Value;
use crate::op::{OpDef, Operand, TfFunction};

/// Returns the size of an axis as a dim that depends only on the nodes that compute the value. It is the size in every
/// graph that has these nodes.
///
/// Another node may have found that the size is a number, or the size of another value. [`Value::dim`] then returns the
/// number or the other size. A graph without the other node does not know the equality, so ops that choose their nodes
/// by a size use this dim.
pub(in crate::ops) fn own_dim(value: Value<'_>, axis: usize) -> Result<Dim> {
    match value.own_dim(axis)? {
        Some(dim) => Ok(dim),
        None => value.graph().op(&DEF).data(value).attr("axis", axis as i64).finish()?.dim(axis as i64),
    }
}

/// Returns the shape with the dims of [`own_dim`]; unranked if the rank is unknown.
pub(in crate::ops) fn own_shape(value: Value<'_>) -> Result<TensorShape> {
    match value.shape().rank() {
        Some(rank) => {
            Ok(TensorShape::new((0..rank).map(|axis| own_dim(value, axis)).collect::<Result<Vec<Dim>>>()?))
        }
        None => Ok(TensorShape::unranked()),
    }
}

/// Passes a value on, with an unknown size along an axis. The compiler replaces a call by its operand
/// ([`OpDef::forwards`]), so a compiled graph does not have this op.
pub(crate) static DEF: OpDef = OpDef::compute("unknown_size", pass_on)
    .attrs(&[Attribute::int("axis")])
    .in_tensorflow(TfFunction::Composed(in_tensorflow::pass_on))
    .operands(&[Operand::Data("x")])
    .reinterprets()
    .forwards(|_, _| true)
    .shape_fn(|cx| {
        let (shape, axis) = (cx.input(0).clone(), cx.attrs().int("axis") as usize);
        let dims = shape.dims().unwrap_or_default().to_vec();
        let fresh = cx.fresh();
        let dims = dims.into_iter().enumerate().map(|(i, dim)| if i == axis { fresh.clone() } else { dim });
        cx.set_output(0, TensorShape::new(dims));
        Ok(())
    });

fn pass_on(cx: &mut dyn LowerCx, _output: usize, index: &[Index]) -> Expr {
    cx.operand(0, index)
}
