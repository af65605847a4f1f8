//! Broadcasting: the operand index of an output element.

use crate::expr::{BinaryOp, Expr, Index, LowerCx};
pub(crate) use crate::expr::{Indices, broadcast_dims};

/// Returns the index of `operand` for the element of output 0 at `index`. Axes align from the right.
pub(crate) fn broadcast_index(cx: &dyn LowerCx, operand: usize, index: &[Index]) -> Indices {
    broadcast_dims(&cx.dims(operand), &cx.output_dims(0), index)
}

/// Loads the element of a broadcast operand for the element of output 0 at `index`.
pub(crate) fn broadcast_operand(cx: &mut dyn LowerCx, operand: usize, index: &[Index]) -> Expr {
    cx.broadcast_operand(operand, index)
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
    use shapeflow_shape_fns::Dim;

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
