//! [`PlanAxes`]: the loops of a box with what every slot moves along them.

use smallvec::SmallVec;

use super::affine::Piece;

/// An axis with every slot's stride along it.
pub(super) struct PlanAxis {
    pub extent: i64,
    pub strides: SmallVec<[i64; 6]>,
}

/// The outer axes or the row axes of a box, outermost first.
pub(super) struct PlanAxes {
    pub axes: Vec<PlanAxis>,
}

impl PlanAxes {
    pub(super) fn new(
        piece: &Piece,
        which: impl Iterator<Item = usize>,
        strides: &[SmallVec<[i64; 6]>],
    ) -> PlanAxes {
        let axes = which
            .map(|axis| PlanAxis {
                extent: piece.axes[axis].extent,
                strides: strides.iter().map(|slot| slot[axis]).collect(),
            })
            .collect();
        PlanAxes { axes }
    }

    /// Drops axes of one element and joins neighbours along which every slot moves evenly.
    pub(super) fn coalesce(&mut self) {
        let mut joined: Vec<PlanAxis> = Vec::with_capacity(self.axes.len());
        for axis in self.axes.drain(..) {
            if axis.extent == 1 {
                continue;
            }
            let even = joined.last().is_some_and(|last| {
                last.strides.iter().zip(&axis.strides).all(|(a, b)| b.checked_mul(axis.extent) == Some(*a))
            });
            match joined.last_mut() {
                Some(last) if even => {
                    last.extent *= axis.extent;
                    last.strides = axis.strides;
                }
                _ => joined.push(axis),
            }
        }
        self.axes = joined;
    }

    /// An axis of one element, along which nothing moves.
    pub(super) fn one(slots: usize) -> PlanAxis {
        PlanAxis { extent: 1, strides: SmallVec::from_elem(0, slots) }
    }
}
