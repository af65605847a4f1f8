//! Broadcast operands: the index at which an operand is read for an element of the output.

use shapeflow_shape_fns::Dim;
use smallvec::SmallVec;

use crate::expr::{BinaryOp, Expr, Index, LowerCx};

/// An index into an operand: one entry for each of its axes.
pub(crate) type Indices = SmallVec<[Index; 4]>;

/// The index at which `operand` is read for the element of output 0 at `index`; axes align from the right.
pub(crate) fn broadcast_index(cx: &dyn LowerCx, operand: usize, index: &[Index]) -> Indices {
    broadcast_dims(&cx.dims(operand), &cx.output_dims(0), index)
}

/// The index at which a tensor of shape `from` is read for the element at `index` of shape `to`, to which it
/// broadcasts.
///
/// An axis of size 1 is read at 0; an axis of the output's size is read at the output's index. An unknown size turns
/// out to be one of the two at run time; [`Index::broadcast`] is right for both.
pub(crate) fn broadcast_dims(from: &[Dim], to: &[Dim], index: &[Index]) -> Indices {
    let skipped = to.len().saturating_sub(from.len());
    from.iter()
        .zip(to.iter().zip(index).skip(skipped))
        .map(|(dim, (target, at))| match dim.as_known() {
            Some(1) => Index::from(0),
            Some(_) => at.clone(),
            None if dim == target => at.clone(),
            None => at.clone().broadcast(dim.clone()),
        })
        .collect()
}

/// The element of a broadcast operand for the element of output 0 at `index`.
pub(crate) fn broadcast_operand(cx: &mut dyn LowerCx, operand: usize, index: &[Index]) -> Expr {
    let at = broadcast_index(cx, operand, index);
    cx.operand(operand, &at)
}

/// The body of an elementwise op of two operands.
pub(crate) fn lower_binary(cx: &mut dyn LowerCx, index: &[Index], combine: fn(Expr, Expr) -> Expr) -> Expr {
    let a = broadcast_operand(cx, 0, index);
    let b = broadcast_operand(cx, 1, index);
    combine(a, b)
}

/// The body of an elementwise op of two operands that is one primitive operation.
pub(crate) fn lower_primitive(cx: &mut dyn LowerCx, index: &[Index], op: BinaryOp) -> Expr {
    let a = broadcast_operand(cx, 0, index);
    let b = broadcast_operand(cx, 1, index);
    a.binary(op, b)
}

/// The body of a comparison for equality. TensorFlow's op may give one scalar for operands that do not broadcast, which
/// then differ.
pub(crate) fn lower_equality(cx: &mut dyn LowerCx, index: &[Index], op: BinaryOp) -> Expr {
    let rank = cx.output_dims(0).len();
    if cx.dims(0).len() > rank || cx.dims(1).len() > rank {
        return Expr::constant(op == BinaryOp::Ne);
    }
    lower_primitive(cx, index, op)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expr::Axis;

    #[test]
    fn axes_align_from_the_right() {
        let axes: Vec<Index> = (0..3).map(|axis| Index::axis(Axis(axis))).collect();
        let n = Dim::symbol("n");
        let m = Dim::symbol("m");
        let to = [Dim::known(2), n.clone(), n.bcast(&m).unwrap()];
        let text = |from: &[Dim]| -> Vec<String> {
            broadcast_dims(from, &to, &axes).iter().map(Index::to_string).collect()
        };
        assert_eq!(text(&[]), [""; 0]);
        assert_eq!(text(std::slice::from_ref(&m)), ["broadcast(i2, m)"]);
        assert_eq!(text(&[n.clone(), Dim::known(1)]), ["i1", "0"]);
        assert_eq!(text(&[Dim::known(2), Dim::known(1), n]), ["i0", "0", "broadcast(i2, n)"]);
    }
}
