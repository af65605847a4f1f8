//! [`Sized`]: an index, and the decision between variants, with all sizes known.

use shapeflow_shape_fns::Dim;
use smallvec::SmallVec;

use super::kernel::Decision;
use crate::expr::{Atom, InRange, Index};

/// An index with all sizes known.
#[derive(Clone, Debug)]
pub(crate) struct Sized {
    pub(super) constant: i64,
    pub(super) terms: SmallVec<[(SizedAtom, i64); 3]>,
}

#[derive(Clone, Debug)]
pub(super) enum SizedAtom {
    Axis(usize),
    FloorDiv(Box<Sized>, i64),
    Mod(Box<Sized>, i64),
}

/// Why an index has no size: a dimension is not bound, or arithmetic overflows.
#[derive(Clone, Debug)]
pub(crate) struct Unsized(pub String);

impl Sized {
    /// An index whose dimensions are given by `dim`. Run-time values are left out.
    pub(crate) fn of(index: &Index, dim: &dyn Fn(&Dim) -> Result<i64, Unsized>) -> Result<Sized, Unsized> {
        let mut sized = Sized { constant: dim(&index.constant)?, terms: SmallVec::new() };
        for (atom, coefficient) in &index.terms {
            let scale = dim(coefficient)?;
            let atom = match atom {
                Atom::Axis(axis) => SizedAtom::Axis(axis.0 as usize),
                Atom::FloorDiv(inner, divisor) => {
                    SizedAtom::FloorDiv(Box::new(Sized::of(inner, dim)?), positive(dim(divisor)?))
                }
                Atom::Mod(inner, divisor) => {
                    SizedAtom::Mod(Box::new(Sized::of(inner, dim)?), positive(dim(divisor)?))
                }
                Atom::Broadcast(inner, size) => {
                    if dim(size)? != 1 {
                        sized.add(&Sized::of(inner, dim)?, scale)?;
                    }
                    continue;
                }
                Atom::Value(_) => continue,
            };
            if scale != 0 {
                sized.terms.push((atom, scale));
            }
        }
        Ok(sized)
    }

    /// Adds `scale` times another index.
    pub(crate) fn add(&mut self, other: &Sized, scale: i64) -> Result<(), Unsized> {
        self.constant =
            checked(other.constant.checked_mul(scale).and_then(|part| self.constant.checked_add(part)))?;
        for (atom, coefficient) in &other.terms {
            self.terms.push((atom.clone(), checked(coefficient.checked_mul(scale))?));
        }
        Ok(())
    }

    pub(crate) fn zero() -> Sized {
        Sized { constant: 0, terms: SmallVec::new() }
    }
}

/// A divisor of an axis that has no elements may be zero; no index is ever computed then.
fn positive(divisor: i64) -> i64 {
    divisor.max(1)
}

pub(super) fn checked(value: Option<i64>) -> Result<i64, Unsized> {
    value.ok_or_else(|| Unsized("an index overflows 64 bits".to_string()))
}

/// [`InRange`] with all sizes known.
#[derive(Clone, Debug)]
pub(crate) struct SizedRange {
    pub(super) index: Sized,
    pub(super) low: i64,
    pub(super) high: i64,
}

/// [`Decision`] with all sizes known.
#[derive(Clone, Debug)]
pub(crate) enum SizedDecision {
    Variant(u32),
    Switch(Vec<(Vec<SizedRange>, SizedDecision)>, Box<SizedDecision>),
}

impl SizedDecision {
    pub(crate) fn of(
        decision: &Decision,
        dim: &dyn Fn(&Dim) -> Result<i64, Unsized>,
    ) -> Result<SizedDecision, Unsized> {
        let range = |range: &InRange| -> Result<SizedRange, Unsized> {
            Ok(SizedRange {
                index: Sized::of(&range.index, dim)?,
                low: dim(&range.low)?,
                high: dim(&range.high)?,
            })
        };
        Ok(match decision {
            Decision::Variant(variant) => SizedDecision::Variant(*variant),
            Decision::Switch(arms, otherwise) => {
                let arms = arms
                    .iter()
                    .map(|(ranges, arm)| {
                        let ranges = ranges.iter().map(range).collect::<Result<Vec<_>, Unsized>>()?;
                        Ok((ranges, SizedDecision::of(arm, dim)?))
                    })
                    .collect::<Result<Vec<_>, Unsized>>()?;
                SizedDecision::Switch(arms, Box::new(SizedDecision::of(otherwise, dim)?))
            }
        })
    }
}
