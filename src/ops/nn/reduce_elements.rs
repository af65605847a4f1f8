//! `reduce_elements`: reductions of windows in the bodies of ops.

use shapeflow_shape_fns::Dim;

use crate::expr::{Expr, Index, LowerCx, ReduceOp};

/// The largest number of elements of a window that is not a loop in a kernel.
const SMALL_WINDOW: i64 = 32;

/// Returns the positions in a window in row-major order; `None` if the window is empty, large, or of unknown size.
fn small_window(extents: &[Dim]) -> Option<Vec<Vec<Index>>> {
    let mut positions: Vec<Vec<Index>> = vec![Vec::new()];
    let mut count = 1i64;
    for extent in extents {
        let extent = extent.as_known()?;
        count = count.checked_mul(extent).filter(|count| (1..=SMALL_WINDOW).contains(count))?;
        let longer = |position: Vec<Index>| {
            (0..extent).map(move |at| position.iter().cloned().chain([Index::from(at)]).collect())
        };
        positions = positions.into_iter().flat_map(longer).collect();
    }
    Some(positions)
}

/// Reduces the elements of a window of these extents by [`ReduceOp::Max`] or [`ReduceOp::Sum`]. A small window is a
/// sequence of operations, so that kernels keep its elements in registers.
pub(super) fn reduce_elements(
    cx: &mut dyn LowerCx,
    op: ReduceOp,
    extents: &[Dim],
    element: &mut dyn FnMut(&mut dyn LowerCx, &[Index]) -> Expr,
) -> Expr {
    let Some(positions) = small_window(extents) else { return cx.reduce(op, extents, element) };
    let elements = positions.iter().map(|position| element(cx, position));
    let reduced = elements.reduce(|a, b| if op == ReduceOp::Max { a.maximum(b) } else { a + b });
    reduced.expect("a window has a position")
}
