//! [`PlanAxes`]: the loops of a [`Piece`] (a box of a kernel's domain), each with the stride of every slot along it.

use smallvec::SmallVec;

use super::affine::Piece;

/// A loop, with every slot's stride along it in bytes.
pub(super) struct PlanAxis {
    pub extent: i64,
    pub strides: SmallVec<[i64; 6]>,
}

impl PlanAxis {
    /// Makes an axis of extent 1 with stride 0 for each of `slots` slots.
    pub(super) fn unit(slots: usize) -> PlanAxis {
        PlanAxis { extent: 1, strides: SmallVec::from_elem(0, slots) }
    }
}

/// The outer axes or the row axes of a piece, outermost first.
pub(super) struct PlanAxes {
    pub axes: SmallVec<[PlanAxis; 2]>,
}

impl PlanAxes {
    /// Takes the axes `which` of a piece. `strides` returns the stride of every slot along an axis, in bytes.
    pub(super) fn new<S: Iterator<Item = i64>>(
        piece: &Piece,
        which: impl Iterator<Item = usize>,
        strides: impl Fn(usize) -> S,
    ) -> PlanAxes {
        let axes = which
            .map(|axis| PlanAxis { extent: piece.axes[axis].extent, strides: strides(axis).collect() })
            .collect();
        PlanAxes { axes }
    }

    /// Drops axes of extent 1, and merges neighbors `a`, `b` with `stride(a) = extent(b) · stride(b)` for every slot.
    pub(super) fn coalesce(&mut self) {
        let mut merged: SmallVec<[PlanAxis; 2]> = SmallVec::new();
        for axis in std::mem::take(&mut self.axes) {
            if axis.extent == 1 {
                continue;
            }
            let extent_with_last = merged.last().and_then(|last| {
                let mut strides = last.strides.iter().zip(&axis.strides);
                let is_dense = strides.all(|(a, b)| b.checked_mul(axis.extent) == Some(*a));
                is_dense.then(|| last.extent * axis.extent)
            });
            match (merged.last_mut(), extent_with_last) {
                (Some(last), Some(extent)) => {
                    last.extent = extent;
                    last.strides = axis.strides;
                }
                _ => merged.push(axis),
            }
        }
        self.axes = merged;
    }
}
