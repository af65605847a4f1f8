//! [`BoundIndex`] and [`BoundDecision`]: an index, and a choice between variants of a kernel, with all sizes known.

use shapeflow_shape_fns::Dim;
use smallvec::SmallVec;

use super::kernel::Decision;
use crate::error::ErrorKind;
use crate::expr::{Atom, InRange, Index};

/// An index with all sizes known: `constant + Σ coefficient · axis + Σ coefficient · atom`.
#[derive(Clone, Debug)]
pub(crate) struct BoundIndex {
    pub(super) constant: i64,
    /// The coefficient of each axis of the kernel.
    pub(super) axes: SmallVec<[i64; 4]>,
    /// The terms that are no axes: each atom with its coefficient.
    pub(super) terms: Vec<(BoundAtom, i64)>,
}

/// The floor quotient or the remainder of an index and a positive divisor.
#[derive(Clone, Debug)]
pub(super) enum BoundAtom {
    FloorDiv(Box<BoundIndex>, i64),
    Mod(Box<BoundIndex>, i64),
}

/// Why a kernel cannot be planned: a dimension is not bound, an index overflows, or a slot leaves its buffer.
#[derive(Clone, Debug)]
pub(crate) struct PlanError {
    pub reason: String,
    /// `Memory` if the sizes are too large, else `Shape`.
    pub kind: ErrorKind,
}

impl PlanError {
    pub(crate) fn new(reason: String) -> PlanError {
        PlanError { reason, kind: ErrorKind::Shape }
    }

    pub(crate) fn too_large(reason: String) -> PlanError {
        PlanError { reason, kind: ErrorKind::Memory }
    }
}

impl BoundIndex {
    /// Evaluates the dimensions in an index of a kernel with `rank` axes with `dim`; see [`BoundIndex::add`].
    pub(crate) fn of(
        index: &Index,
        rank: usize,
        dim: &dyn Fn(&Dim) -> Result<i64, PlanError>,
    ) -> Result<BoundIndex, PlanError> {
        let mut bound = BoundIndex::zero(rank);
        bound.add(index, 1, dim)?;
        Ok(bound)
    }

    /// Adds `scale` times an index, and evaluates its dimensions with `dim`. Drops run-time values, which a gather adds
    /// as offsets.
    pub(crate) fn add(
        &mut self,
        index: &Index,
        scale: i64,
        dim: &dyn Fn(&Dim) -> Result<i64, PlanError>,
    ) -> Result<(), PlanError> {
        let constant = dim(&index.constant)?.checked_mul(scale);
        self.constant = checked(constant.and_then(|part| self.constant.checked_add(part)))?;
        for (atom, coefficient) in &index.terms {
            let coefficient = dim(coefficient)?;
            if coefficient == 0 || matches!(atom, Atom::Value(_)) {
                continue;
            }
            let scale = checked(coefficient.checked_mul(scale))?;
            let part_of = |inner: &Index, divisor: &Dim| -> Result<(Box<BoundIndex>, i64), PlanError> {
                Ok((Box::new(BoundIndex::of(inner, self.axes.len(), dim)?), at_least_one(dim(divisor)?)))
            };
            match atom {
                Atom::Axis(axis) => {
                    let total = &mut self.axes[axis.0 as usize];
                    *total = checked(total.checked_add(scale))?;
                }
                Atom::FloorDiv(inner, divisor) => {
                    let (inner, divisor) = part_of(inner, divisor)?;
                    self.terms.push((BoundAtom::FloorDiv(inner, divisor), scale));
                }
                Atom::Mod(inner, divisor) => {
                    let (inner, divisor) = part_of(inner, divisor)?;
                    self.terms.push((BoundAtom::Mod(inner, divisor), scale));
                }
                Atom::Broadcast(inner, size) => {
                    if dim(size)? != 1 {
                        self.add(inner, scale, dim)?;
                    }
                }
                Atom::Value(_) => {}
            }
        }
        Ok(())
    }

    /// Returns the index 0 of a kernel with `rank` axes.
    pub(crate) fn zero(rank: usize) -> BoundIndex {
        BoundIndex { constant: 0, axes: SmallVec::from_elem(0, rank), terms: Vec::new() }
    }
}

/// Returns `max(divisor, 1)`. A divisor can be 0 only if the domain is empty, and then no index is computed.
fn at_least_one(divisor: i64) -> i64 {
    divisor.max(1)
}

/// Returns the result of checked arithmetic on indices.
///
/// # Errors
/// The arithmetic overflowed.
fn checked(value: Option<i64>) -> Result<i64, PlanError> {
    value.ok_or_else(|| PlanError::too_large("an index must fit in 64 bits, but overflows".to_string()))
}

/// `low <= index < high`: an [`InRange`] with all sizes known.
#[derive(Clone, Debug)]
pub(crate) struct BoundRange {
    pub(super) index: BoundIndex,
    pub(super) low: i64,
    pub(super) high: i64,
}

/// A [`Decision`] with all sizes known.
#[derive(Clone, Debug)]
pub(crate) enum BoundDecision {
    Variant(u32),
    Switch(Vec<(Vec<BoundRange>, BoundDecision)>, Box<BoundDecision>),
}

impl BoundDecision {
    /// Evaluates the dimensions in a decision of a kernel with `rank` axes with `dim`.
    pub(crate) fn of(
        decision: &Decision,
        rank: usize,
        dim: &dyn Fn(&Dim) -> Result<i64, PlanError>,
    ) -> Result<BoundDecision, PlanError> {
        let range = |range: &InRange| -> Result<BoundRange, PlanError> {
            Ok(BoundRange {
                index: BoundIndex::of(&range.index, rank, dim)?,
                low: dim(&range.low)?,
                high: dim(&range.high)?,
            })
        };
        Ok(match decision {
            Decision::Variant(variant) => BoundDecision::Variant(*variant),
            Decision::Switch(arms, otherwise) => {
                let arms = arms
                    .iter()
                    .map(|(ranges, arm)| {
                        let ranges = ranges.iter().map(range).collect::<Result<Vec<_>, PlanError>>()?;
                        Ok((ranges, BoundDecision::of(arm, rank, dim)?))
                    })
                    .collect::<Result<Vec<_>, PlanError>>()?;
                BoundDecision::Switch(arms, Box::new(BoundDecision::of(otherwise, rank, dim)?))
            }
        })
    }
}
