//! [`compare_strings`]: a body that is one comparison of strings, without handles.

use shapeflow_shape_fns::DType;
use smallvec::SmallVec;

use super::Template;
use crate::error::Result;
use crate::expr::{Axis, BinaryOp, Expr, ExprKind, Index};
use crate::tensor::{Tensor, TensorView};

/// Computes `x == y` or `x != y` of strings that broadcast to `sizes`. Returns none if the body is anything else.
///
/// # Errors
/// Memory is refused.
pub(super) fn compare_strings(
    template: &Template,
    sizes: &[usize],
    operands: &[TensorView<'_>],
) -> Result<Option<Tensor>> {
    let (x, y, wanted) = match template.root().kind() {
        ExprKind::Binary(BinaryOp::Eq, x, y) => (x, y, true),
        ExprKind::Binary(BinaryOp::Ne, x, y) => (x, y, false),
        _ => return Ok(None),
    };
    let strides = |side: &Expr| broadcast_strides(side, sizes.len(), operands);
    let (Some((x, x_strides)), Some((y, y_strides))) = (strides(x), strides(y)) else { return Ok(None) };
    let (x, y) = (operands[x].as_strings()?, operands[y].as_strings()?);
    let mut result = Tensor::zeros(DType::Bool, sizes)?;
    let mut position: SmallVec<[usize; 6]> = SmallVec::from_elem(0, sizes.len());
    let (mut left, mut right) = (0, 0);
    for equal in result.as_mut_slice::<bool>()? {
        let (a, b) = (x.at(left), y.at(right));
        // Padding makes most strings of many tensors empty.
        *equal = (a.len() == b.len() && (a.is_empty() || a == b)) == wanted;
        for axis in (0..sizes.len()).rev() {
            position[axis] += 1;
            left += x_strides[axis];
            right += y_strides[axis];
            if position[axis] < sizes[axis] {
                break;
            }
            left -= sizes[axis] * x_strides[axis];
            right -= sizes[axis] * y_strides[axis];
            position[axis] = 0;
        }
    }
    Ok(Some(result))
}

/// Returns the operand that `side` loads, and by axis of the result the strings from an element to the next. None if
/// `side` is no load of a row-major tensor of strings that is broadcast to `rank` axes.
fn broadcast_strides(
    side: &Expr,
    rank: usize,
    operands: &[TensorView<'_>],
) -> Option<(usize, SmallVec<[usize; 6]>)> {
    let ExprKind::Load { source, index } = side.kind() else { return None };
    let operand = operands.get(*source as usize)?;
    let own = operand.sizes();
    let skipped = rank.checked_sub(own.len())?;
    if operand.dtype() != DType::String || !operand.is_row_major() {
        return None;
    }
    let mut strides = SmallVec::from_elem(0, rank);
    let mut stride = 1;
    for (axis, (size, at)) in own.iter().zip(index).enumerate().rev() {
        if *at == Index::axis(Axis((axis + skipped) as u32)) {
            strides[axis + skipped] = stride;
        } else if *at != Index::from(0) {
            return None;
        }
        stride *= size;
    }
    Some((*source as usize, strides))
}
