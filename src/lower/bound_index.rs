//! [`BoundIndex`] and [`BoundDecision`]: an index, and a choice between variants of a kernel, with all sizes known.

use shapeflow_shape_fns::Dim;
use smallvec::SmallVec;

use super::kernel::Decision;
use crate::error::ErrorKind;
use crate::expr::{Atom, InRange, Index};

/// An index with all sizes known: `constant + Σ coefficient · atom`.
#[derive(Clone, Debug)]
pub(crate) struct BoundIndex {
    pub(super) constant: i64,
    pub(super) terms: SmallVec<[(BoundAtom, i64); 3]>,
}

/// A term of an index: an axis, or the floor quotient or remainder of an index and a positive divisor.
#[derive(Clone, Debug)]
pub(super) enum BoundAtom {
    Axis(usize),
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
    /// Evaluates the dimensions in an index with `dim`; see [`BoundIndex::add`].
    pub(crate) fn of(
        index: &Index,
        dim: &dyn Fn(&Dim) -> Result<i64, PlanError>,
    ) -> Result<BoundIndex, PlanError> {
        let mut bound = BoundIndex::zero();
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
            let atom = match atom {
                Atom::Axis(axis) => BoundAtom::Axis(axis.0 as usize),
                Atom::FloorDiv(inner, divisor) => {
                    BoundAtom::FloorDiv(Box::new(BoundIndex::of(inner, dim)?), at_least_one(dim(divisor)?))
                }
                Atom::Mod(inner, divisor) => {
                    BoundAtom::Mod(Box::new(BoundIndex::of(inner, dim)?), at_least_one(dim(divisor)?))
                }
                Atom::Broadcast(inner, size) => {
                    if dim(size)? != 1 {
                        self.add(inner, checked(coefficient.checked_mul(scale))?, dim)?;
                    }
                    continue;
                }
                Atom::Value(_) => continue,
            };
            if coefficient != 0 {
                self.terms.push((atom, checked(coefficient.checked_mul(scale))?));
            }
        }
        Ok(())
    }

    /// Returns the index 0.
    pub(crate) fn zero() -> BoundIndex {
        BoundIndex { constant: 0, terms: SmallVec::new() }
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
    /// Evaluates the dimensions in a decision with `dim`.
    pub(crate) fn of(
        decision: &Decision,
        dim: &dyn Fn(&Dim) -> Result<i64, PlanError>,
    ) -> Result<BoundDecision, PlanError> {
        let range = |range: &InRange| -> Result<BoundRange, PlanError> {
            Ok(BoundRange {
                index: BoundIndex::of(&range.index, dim)?,
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
                        Ok((ranges, BoundDecision::of(arm, dim)?))
                    })
                    .collect::<Result<Vec<_>, PlanError>>()?;
                BoundDecision::Switch(arms, Box::new(BoundDecision::of(otherwise, dim)?))
            }
        })
    }
}
