//! [`compare_strings`]: computes a body that is one comparison of strings. The function compares the bytes, without a
//! table of handles (integers that stand for strings).

use shapeflow_shape_fns::DType;
use smallvec::SmallVec;

use super::Template;
use crate::error::Result;
use crate::expr::{Axis, BinaryOp, Expr, ExprKind, Index};
use crate::tensor::{Strings, Tensor, TensorView};

/// Computes `x == y` or `x != y` of strings that broadcast to `sizes`. Returns `None` for any other body.
///
/// # Errors
/// Memory is refused.
pub(super) fn compare_strings(
    template: &Template,
    sizes: &[usize],
    operands: &[TensorView<'_>],
) -> Result<Option<Tensor>> {
    let (x, y, is_eq) = match template.root().kind() {
        ExprKind::Binary(BinaryOp::Eq, x, y) => (x, y, true),
        ExprKind::Binary(BinaryOp::Ne, x, y) => (x, y, false),
        _ => return Ok(None),
    };
    let strides = |side: &Expr| broadcast_strides(side, sizes.len(), operands);
    let (Some((x, x_strides)), Some((y, y_strides))) = (strides(x), strides(y)) else { return Ok(None) };
    let (x, y) = (operands[x].as_strings()?, operands[y].as_strings()?);
    let mut result = Tensor::zeros(DType::Bool, sizes)?;
    // Rows are along the last axis; a scalar is one row.
    let (length, outer) = match sizes.split_last() {
        Some((length, outer)) => (*length, outer),
        None => (1, sizes),
    };
    let [x_step, y_step] = [&x_strides, &y_strides].map(|strides| strides.last().copied().unwrap_or(0));
    let mut position: SmallVec<[usize; 6]> = SmallVec::from_elem(0, outer.len());
    let (mut left, mut right) = (0, 0);
    for row in result.as_mut_slice::<bool>()?.chunks_exact_mut(length.max(1)) {
        compare_row(row, [(x, left, x_step), (y, right, y_step)], is_eq);
        for axis in (0..outer.len()).rev() {
            position[axis] += 1;
            left += x_strides[axis];
            right += y_strides[axis];
            if position[axis] < outer[axis] {
                break;
            }
            left -= outer[axis] * x_strides[axis];
            right -= outer[axis] * y_strides[axis];
            position[axis] = 0;
        }
    }
    Ok(Some(result))
}

/// Writes for each position of a row whether the strings of both sides are equal (if `is_eq`) or differ (otherwise). A
/// side has strings, the position of the first string of the row, and a step: 1, or 0 if one string is compared with
/// all strings of the other side.
fn compare_row(row: &mut [bool], sides: [(Strings<'_>, usize, usize); 2], is_eq: bool) {
    let [(x, left, x_step), (y, right, y_step)] = sides;
    // Padding makes most strings of many tensors empty.
    let is_equal = |a: &[u8], b: &[u8]| a.len() == b.len() && (a.is_empty() || a == b);
    let count = row.len();
    match (x_step, y_step) {
        (1, 0) if y.at(right).is_empty() => {
            let lengths = x.slice(left..left + count).lengths();
            row.iter_mut().zip(lengths).for_each(|(to, length)| *to = (length == 0) == is_eq);
        }
        (1, 0) => {
            let b = y.at(right);
            let strings = x.slice(left..left + count).iter();
            row.iter_mut().zip(strings).for_each(|(to, a)| *to = is_equal(a, b) == is_eq);
        }
        (0, 1) => compare_row(row, [sides[1], sides[0]], is_eq),
        _ => {
            for (number, to) in row.iter_mut().enumerate() {
                *to = is_equal(x.at(left + number * x_step), y.at(right + number * y_step)) == is_eq;
            }
        }
    }
}

/// Returns the operand that `side` loads and, for each axis of the result, the distance in strings between neighboring
/// elements. Returns `None` if `side` is not a load of a row-major tensor of strings that broadcasts to `rank` axes.
fn broadcast_strides(
    side: &Expr,
    rank: usize,
    operands: &[TensorView<'_>],
) -> Option<(usize, SmallVec<[usize; 6]>)> {
    let ExprKind::Load { source, index } = side.kind() else { return None };
    let operand = operands.get(*source as usize)?;
    let sizes = operand.sizes();
    let skipped = rank.checked_sub(sizes.len())?;
    if operand.dtype() != DType::String || !operand.is_row_major() {
        return None;
    }
    let mut strides = SmallVec::from_elem(0, rank);
    let mut stride = 1;
    for (axis, (size, position)) in sizes.iter().zip(index).enumerate().rev() {
        if *position == Index::axis(Axis((axis + skipped) as u32)) {
            strides[axis + skipped] = stride;
        } else if *position != Index::from(0) {
            return None;
        }
        stride *= size;
    }
    Some((*source as usize, strides))
}
