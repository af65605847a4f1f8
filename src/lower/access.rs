//! `Access`: how a lowered body reads its operands, derived once for any op.

use shapeflow_shape_fns::Dim;
use smallvec::SmallVec;

use crate::expr::{Atom, Axis, BinaryOp, Expr, ExprKind, Index, post_order};

/// One way in which an operand is read.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Read {
    /// At an index per axis of the operand.
    Element(Box<[Index]>),
    /// At a row-major position.
    Flat,
}

/// What the partition must know of a template.
#[derive(Clone, Debug, Default)]
pub(crate) struct Access {
    /// Operand number and how it is read, each pair once.
    pub reads: Vec<(u32, Read)>,
    /// Primitive operations.
    pub cost: u32,
    /// Axes and extents of the folds, outermost fold first; all have the same extents.
    pub folds: Vec<Box<[(Axis, Dim)]>>,
    /// Axes of the output on which what is folded depends.
    pub fold_depends: SmallVec<[Axis; 4]>,
    /// Number of piecewise arms; 1 is none.
    pub arms: u32,
    /// Whether some index holds more than axes: quotients, remainders, or axes that may be broadcast.
    pub compound: bool,
    /// Whether operands are read at run-time values.
    pub gathers: bool,
    /// Whether a run-time check is made.
    pub can_fail: bool,
    /// Whether folds of different extents stand in one body.
    pub mixed_folds: bool,
}

impl Access {
    /// Of a body whose nodes these are, parts first.
    pub(crate) fn of(order: &[Expr]) -> Access {
        let mut access = Access { arms: 1, ..Access::default() };
        for expr in order {
            match expr.kind() {
                ExprKind::Const(_) | ExprKind::Size(_) => {}
                ExprKind::Iota(index) => access.note_index(index),
                ExprKind::Load { source, index } => {
                    index.iter().for_each(|index| access.note_index(index));
                    access.read(*source, Read::Element(index.clone()));
                }
                ExprKind::LoadFlat { source, position } => {
                    access.note_index(position);
                    access.read(*source, Read::Flat);
                }
                ExprKind::Case(arms, _) => {
                    access.arms = access.arms.saturating_mul(arms.len() as u32 + 1);
                }
                ExprKind::Reduce { axes, body, .. } => {
                    access.note_fold(axes, body);
                    let same = access.folds.first().is_none_or(|first| {
                        first.len() == axes.len()
                            && first.iter().zip(&axes[..]).all(|((_, a), (_, b))| a == b)
                    });
                    access.mixed_folds |= !same;
                    access.folds.push(axes.clone());
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

    fn note_fold(&mut self, axes: &[(Axis, Dim)], body: &Expr) {
        let mut note = |index: &Index| {
            index.for_each_axis(&mut |axis| {
                if !axes.iter().any(|(own, _)| *own == axis) && !self.fold_depends.contains(&axis) {
                    self.fold_depends.push(axis);
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

    fn read(&mut self, source: u32, read: Read) {
        if !self.reads.iter().any(|(other, known)| *other == source && *known == read) {
            self.reads.push((source, read));
        }
    }

    fn note_index(&mut self, index: &Index) {
        index.for_each_value(&mut |_| self.gathers = true);
        self.compound |= index.terms.iter().any(|(atom, _)| !matches!(atom, Atom::Axis(_) | Atom::Value(_)));
    }
}

pub(crate) fn is_nonzero_constant(expr: &Expr) -> bool {
    matches!(expr.kind(), ExprKind::Const(value) if value.to_bits() != 0)
}

/// Whether an index holds quotients or remainders.
pub(crate) fn has_quotients(index: &Index) -> bool {
    index.terms.iter().any(|(atom, _)| matches!(atom, Atom::FloorDiv(..) | Atom::Mod(..)))
}

/// Whether `axis` takes part in the index, not counting run-time values.
pub(crate) fn depends_on(index: &Index, axis: Axis) -> bool {
    let mut found = false;
    index.for_each_axis(&mut |other| found |= other == axis);
    found
}

/// How many elements of a buffer with these dims an index moves along `axis`, if that is known.
pub(crate) fn step_along(index: &[Index], axis: Axis, dims: &[Dim]) -> Option<i64> {
    let (mut step, mut stride) = (0i64, Some(1i64));
    for (position, index) in index.iter().enumerate().rev() {
        for (atom, coefficient) in &index.terms {
            match atom {
                Atom::Axis(other) if *other != axis => {}
                Atom::Axis(_) => step = step.checked_add(coefficient.as_known()?.checked_mul(stride?)?)?,
                _ if depends_on(index, axis) => return None,
                _ => {}
            }
        }
        let size = dims.get(position).and_then(Dim::as_known);
        stride = stride.zip(size).and_then(|(stride, size)| stride.checked_mul(size));
    }
    Some(step)
}

/// Whether `axis` takes part in the index or in a run-time value it holds.
pub(crate) fn varies_with(index: &Index, axis: Axis) -> bool {
    let mut values = Vec::new();
    if depends_on(index, axis) {
        return true;
    }
    index.for_each_value(&mut |expr| values.push(expr));
    post_order(values).iter().any(|expr| match expr.kind() {
        ExprKind::Iota(index) => depends_on(index, axis),
        ExprKind::Load { index, .. } => index.iter().any(|index| depends_on(index, axis)),
        ExprKind::LoadFlat { position, .. } => depends_on(position, axis),
        _ => false,
    })
}
