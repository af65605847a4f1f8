//! [`Access`]: how the body of a node reads its operands. The partition asks only for the access, never for the op.

use rustc_hash::FxHashMap;
use shapeflow_shape_fns::{DType, Dim};
use smallvec::SmallVec;

use crate::error::{Error, ErrorKind, Phase, Result};
use crate::expr::{Atom, Axis, BinaryOp, Expr, ExprKind, Index, post_order};

/// One way to read an operand.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Read {
    /// The element at one index per axis of the operand.
    Element(Box<[Index]>),
    /// The element at a row-major position.
    Flat,
}

/// What the partition must know about a body.
#[derive(Clone, Debug, Default)]
pub(crate) struct Access {
    /// Pairs of an operand number and a way in which the body reads this operand. Each pair occurs once.
    pub reads: Vec<(u32, Read)>,
    /// The number of primitive operations, weighted: a division or remainder counts 8 for integers and 3 for floats.
    /// Loads, iotas, constants, sizes, choices and parts of complex numbers do not count.
    pub cost: u32,
    /// The axes and extents of each reduction. A reduction stands after the reductions that it reads. All reductions
    /// have the same extents unless `mixed_reduces` is true.
    pub reduces: Vec<Box<[(Axis, Dim)]>>,
    /// The output axes that the elements under a reduction depend on.
    pub reduce_depends: SmallVec<[Axis; 4]>,
    /// A bound of the number of ways to decide the choices ([`ExprKind::Case`]) of the body; 1 if there is no choice.
    pub variants: u32,
    /// Whether some index has other terms than axes and run-time values: quotients, remainders or broadcast axes.
    pub has_compound_index: bool,
    /// Whether some index contains a run-time value.
    pub gathers: bool,
    /// Whether a run-time check may fail.
    pub can_fail: bool,
    /// Whether the body reads or gives strings.
    pub has_strings: bool,
    /// Whether the body has reductions of different extents.
    pub mixed_reduces: bool,
}

impl Access {
    /// Describes the body whose expressions are `order`, in which operands stand before their users.
    pub(crate) fn of(order: &[Expr]) -> Access {
        let mut access = Access { variants: count_variants(order), ..Access::default() };
        for expr in order {
            access.has_strings |= expr.dtype() == DType::String;
            match expr.kind() {
                ExprKind::Const(_) | ExprKind::Size(_) | ExprKind::Complex(..) | ExprKind::Part(..) => {}
                ExprKind::Case(..) => {}
                ExprKind::Iota(index) => {
                    access.note_index(index);
                    // The positions are i64: a step of narrow elements computes several vectors of them.
                    access.cost += 4;
                }
                ExprKind::Load { source, index } => {
                    index.iter().for_each(|index| access.note_index(index));
                    access.note_read(*source, Read::Element(index.clone()));
                }
                ExprKind::LoadFlat { source, position } => {
                    access.note_index(position);
                    access.note_read(*source, Read::Flat);
                }
                ExprKind::Reduce { axes, body, .. } => {
                    access.note_reduce(axes, body);
                    let same = access.reduces.first().is_none_or(|first| {
                        first.len() == axes.len()
                            && first.iter().zip(&axes[..]).all(|((_, a), (_, b))| a == b)
                    });
                    access.mixed_reduces |= !same;
                    access.reduces.push(axes.clone());
                    access.cost += 1;
                }
                ExprKind::CheckIndex { .. } => {
                    access.can_fail = true;
                    access.cost += 1;
                }
                ExprKind::Binary(BinaryOp::Div | BinaryOp::Rem, _, divisor) if expr.dtype().is_integer() => {
                    access.can_fail |= !is_nonzero_constant(divisor);
                    access.cost += 8;
                }
                ExprKind::Binary(BinaryOp::Div | BinaryOp::Rem, ..) => access.cost += 3,
                _ => access.cost += 1,
            }
        }
        access
    }

    /// Adds the axes that the elements under a reduction over `axes` depend on.
    fn note_reduce(&mut self, axes: &[(Axis, Dim)], body: &Expr) {
        let mut note = |index: &Index| {
            index.for_each_axis(&mut |axis| {
                if !axes.iter().any(|(reduced, _)| *reduced == axis) && !self.reduce_depends.contains(&axis) {
                    self.reduce_depends.push(axis);
                }
            });
        };
        for expr in post_order([body]) {
            match expr.kind() {
                ExprKind::Iota(index) => note(index),
                ExprKind::Load { index, .. } => index.iter().for_each(&mut note),
                ExprKind::LoadFlat { position, .. } => note(position),
                ExprKind::Case(arms, _) => {
                    arms.iter().flat_map(|(ranges, _)| ranges).for_each(|range| note(&range.index));
                }
                _ => {}
            }
        }
    }

    /// Adds a way to read an operand, unless `reads` has this way already.
    fn note_read(&mut self, source: u32, read: Read) {
        if !self.reads.iter().any(|(other, known)| *other == source && *known == read) {
            self.reads.push((source, read));
        }
    }

    /// Records what terms an index has.
    fn note_index(&mut self, index: &Index) {
        self.gathers |= index.has_value();
        self.has_compound_index |=
            index.terms.iter().any(|(atom, _)| !matches!(atom, Atom::Axis(_) | Atom::Value(_)));
    }
}

/// Returns an upper bound of the number of variants that the piecewise choices of a body give. `order` has operands
/// before their users.
///
/// An arm is one alternative of a choice. A variant decides every choice that it reaches. So a choice has
/// `Σ variants(arm)` variants, and any other expression has `Π variants(child)` variants over its different children. A
/// choice that several expressions share is decided once. So the product of the numbers of arms is a bound too.
fn count_variants(order: &[Expr]) -> u32 {
    if !order.iter().any(|expr| matches!(expr.kind(), ExprKind::Case(..))) {
        return 1;
    }
    let mut all = 1u32;
    let mut variants: FxHashMap<usize, u32> = FxHashMap::default();
    for expr in order {
        let is_choice = matches!(expr.kind(), ExprKind::Case(..));
        let (mut seen, mut count) = (SmallVec::<[usize; 4]>::new(), if is_choice { 0 } else { 1 });
        expr.for_each_child(&mut |child| {
            let below = variants.get(&child.address()).copied().unwrap_or(1);
            if is_choice {
                count = u32::saturating_add(count, below);
            } else if !seen.contains(&child.address()) {
                count = u32::saturating_mul(count, below);
            }
            seen.push(child.address());
        });
        if is_choice {
            all = all.saturating_mul(seen.len() as u32);
        }
        if count > 1 {
            variants.insert(expr.address(), count);
        }
    }
    order.last().map_or(1, |body| variants.get(&body.address()).copied().unwrap_or(1).min(all))
}

/// Returns whether an expression is a constant whose bits are not all 0.
pub(super) fn is_nonzero_constant(expr: &Expr) -> bool {
    matches!(expr.kind(), ExprKind::Const(value) if value.to_bits() != 0)
}

/// Returns whether an index has quotients or remainders.
pub(super) fn has_quotients(index: &Index) -> bool {
    index.terms.iter().any(|(atom, _)| matches!(atom, Atom::FloorDiv(..) | Atom::Mod(..)))
}

/// Returns whether `axis` occurs in an index, outside its run-time values.
pub(super) fn has_axis(index: &Index, axis: Axis) -> bool {
    let mut found = false;
    index.for_each_axis(&mut |other| found |= other == axis);
    found
}

/// Returns the change of the row-major position of `index` when `axis` grows by 1, in a buffer with the sizes `dims`.
/// None means that the change is not known.
pub(super) fn step_along(index: &[Index], axis: Axis, dims: &[Dim]) -> Option<i64> {
    let (mut step, mut stride) = (0i64, Some(1i64));
    for (position, index) in index.iter().enumerate().rev() {
        for (atom, coefficient) in &index.terms {
            match atom {
                Atom::Axis(other) if *other != axis => {}
                Atom::Axis(_) => step = step.checked_add(coefficient.as_known()?.checked_mul(stride?)?)?,
                _ if has_axis(index, axis) => return None,
                _ => {}
            }
        }
        let size = dims.get(position).and_then(Dim::as_known);
        stride = stride.zip(size).and_then(|(stride, size)| stride.checked_mul(size));
    }
    Some(step)
}

/// Returns whether an index depends on `axis`, itself or by one of its run-time values.
pub(super) fn varies_with(index: &Index, axis: Axis) -> bool {
    let mut values = Vec::new();
    if has_axis(index, axis) {
        return true;
    }
    index.for_each_value(&mut |expr| values.push(expr));
    post_order(values).iter().any(|expr| match expr.kind() {
        ExprKind::Iota(index) => has_axis(index, axis),
        ExprKind::Load { index, .. } => index.iter().any(|index| has_axis(index, axis)),
        ExprKind::LoadFlat { position, .. } => has_axis(position, axis),
        _ => false,
    })
}

/// Splits an index into two parts: the index without run-time values, and the run-time values with their coefficients.
///
/// # Errors
/// A run-time value is inside a quotient or remainder.
pub(super) fn split_values(index: &Index) -> Result<(Index, Vec<(Expr, Dim)>)> {
    let mut fixed = index.clone();
    let mut values = Vec::new();
    fixed.terms.retain(|(atom, coefficient)| match atom {
        Atom::Value(expr) => {
            values.push((expr.clone(), coefficient.clone()));
            false
        }
        _ => true,
    });
    if fixed.has_value() {
        let message = "a run-time index must not be inside a quotient or remainder";
        return Err(Error::new(ErrorKind::Compile, Phase::Compile, message));
    }
    Ok((fixed, values))
}
