//! Broadcasting: the operand index of an output element.

use shapeflow_shape_fns::Dim;
use smallvec::SmallVec;

use crate::expr::{BinaryOp, Expr, Index, LowerCx};

/// An index into an operand, one entry per axis.
pub(crate) type Indices = SmallVec<[Index; 4]>;

/// Returns the index of `operand` for the element of output 0 at `index`. Axes align from the right.
pub(crate) fn broadcast_index(cx: &dyn LowerCx, operand: usize, index: &[Index]) -> Indices {
    broadcast_dims(&cx.dims(operand), &cx.output_dims(0), index)
}

/// Returns the index into a tensor of shape `from` for the element at `index` of shape `to`. `from` broadcasts to `to`.
///
/// The index is 0 along an axis of size 1, and the output's index along an axis of the output's size. An unknown size
/// is 1 or the output's size at run time, and [`Index::broadcast`] handles both cases.
pub(crate) fn broadcast_dims(from: &[Dim], to: &[Dim], index: &[Index]) -> Indices {
    let skipped = to.len().saturating_sub(from.len());
    from.iter()
        .zip(to.iter().zip(index).skip(skipped))
        .map(|(dim, (target, position))| match dim.as_known() {
            Some(1) => Index::from(0),
            Some(_) => position.clone(),
            None if dim == target => position.clone(),
            None => position.clone().broadcast(dim.clone()),
        })
        .collect()
}

/// Loads the element of a broadcast operand for the element of output 0 at `index`.
pub(crate) fn broadcast_operand(cx: &mut dyn LowerCx, operand: usize, index: &[Index]) -> Expr {
    let read = broadcast_index(cx, operand, index);
    cx.operand(operand, &read)
}

/// Builds the body of an elementwise op of two operands.
pub(crate) fn lower_binary(cx: &mut dyn LowerCx, index: &[Index], combine: fn(Expr, Expr) -> Expr) -> Expr {
    let a = broadcast_operand(cx, 0, index);
    let b = broadcast_operand(cx, 1, index);
    combine(a, b)
}

/// Builds the body of an elementwise op of two operands that is one primitive operation.
pub(crate) fn lower_primitive(cx: &mut dyn LowerCx, index: &[Index], op: BinaryOp) -> Expr {
    let a = broadcast_operand(cx, 0, index);
    let b = broadcast_operand(cx, 1, index);
    a.binary(op, b)
}

/// Builds the body of an equality or inequality. As in TensorFlow, two operands whose shapes do not broadcast may give
/// a scalar result: `equal` is then false and `not_equal` is true.
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
