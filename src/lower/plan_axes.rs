//! [`PlanAxis`]: a loop of a [`Piece`] (a box of a kernel's domain), which may stand for several axes of the piece.

use smallvec::SmallVec;

use super::affine::Piece;

/// A loop over an axis of a piece, or over an axis and the outer neighbors that are merged into it.
#[derive(Clone, Copy)]
pub(super) struct PlanAxis {
    pub extent: i64,
    /// The axis of the piece along which a step of the loop moves; the innermost if several are merged. `None` for a
    /// loop of extent 1, which takes no step.
    pub step: Option<usize>,
}

impl PlanAxis {
    /// A loop of extent 1.
    pub(super) const UNIT: PlanAxis = PlanAxis { extent: 1, step: None };
}

/// Returns the loops over the axes `which` of a piece, outermost first. Drops axes of extent 1, and merges neighbors
/// `a`, `b` if `stride(a) = extent(b) · stride(b)` for every slot. `stride(slot, axis)` is the stride of one of `slots`
/// slots along an axis of the piece.
pub(super) fn merged_axes(
    piece: &Piece,
    which: impl Iterator<Item = usize>,
    slots: usize,
    stride: impl Fn(usize, usize) -> i64,
) -> SmallVec<[PlanAxis; 4]> {
    let mut merged: SmallVec<[PlanAxis; 4]> = SmallVec::new();
    let mut last = None;
    for axis in which {
        let extent = piece.axes[axis].extent;
        if extent == 1 {
            continue;
        }
        let is_dense = |outer: usize| {
            (0..slots).all(|slot| stride(slot, axis).checked_mul(extent) == Some(stride(slot, outer)))
        };
        match merged.last_mut() {
            Some(outer) if last.is_some_and(is_dense) => outer.extent *= extent,
            _ => merged.push(PlanAxis { extent, step: None }),
        }
        if let Some(merged) = merged.last_mut() {
            merged.step = Some(axis);
        }
        last = Some(axis);
    }
    merged
}
