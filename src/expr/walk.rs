//! Walks over shared nodes without recursion: children, post-order, and release.

use rustc_hash::{FxBuildHasher, FxHashSet};
use shapeflow_shape_fns::Dim;
use smallvec::SmallVec;

use super::{Atom, Expr, ExprKind, ExprNode, Index, Scalar};

impl Expr {
    /// Calls `f` on every child, also on the run-time values inside indices.
    pub(crate) fn for_each_child<'a>(&'a self, f: &mut dyn FnMut(&'a Expr)) {
        match self.kind() {
            ExprKind::Const(_) | ExprKind::Size(_) => {}
            ExprKind::Iota(index) => index.for_each_value(f),
            ExprKind::Load { index, .. } => index.iter().for_each(|i| i.for_each_value(f)),
            ExprKind::LoadFlat { position, .. } => position.for_each_value(f),
            ExprKind::Unary(_, a) | ExprKind::Cast(a) | ExprKind::Bitcast(a) | ExprKind::Part(_, a) => f(a),
            ExprKind::CheckIndex { value, .. } => f(value),
            ExprKind::Binary(_, a, b) | ExprKind::Complex(a, b) => {
                f(a);
                f(b);
            }
            ExprKind::MulAdd(a, b, c) | ExprKind::Select(a, b, c) => {
                f(a);
                f(b);
                f(c);
            }
            ExprKind::Case(arms, otherwise) => {
                for (ranges, value) in arms {
                    ranges.iter().for_each(|range| range.index.for_each_value(f));
                    f(value);
                }
                f(otherwise);
            }
            ExprKind::Reduce { body, .. } => f(body),
        }
    }
}

/// The initial capacity of the set of visited nodes. Most bodies have fewer nodes.
const TYPICAL_NODES: usize = 28;

/// Returns every node reachable from the roots once, children before parents.
pub(crate) fn post_order<'a>(roots: impl IntoIterator<Item = &'a Expr>) -> Vec<&'a Expr> {
    let mut seen = FxHashSet::with_capacity_and_hasher(TYPICAL_NODES, FxBuildHasher);
    let mut order = Vec::new();
    let mut stack = Vec::new();
    for root in roots {
        stack.push((root, false));
        while let Some((expr, children_done)) = stack.pop() {
            if children_done {
                order.push(expr);
            } else if seen.insert(expr.address()) {
                let parent = stack.len();
                stack.push((expr, true));
                expr.for_each_child(&mut |child| {
                    if !seen.contains(&child.address()) {
                        stack.push((child, false));
                    }
                });
                // The first child goes on top, so that children come in the order in which they are written.
                stack[parent + 1..].reverse();
            }
        }
    }
    order
}

/// Nodes to release.
type Pending = SmallVec<[Expr; 4]>;

/// A kind without children, which takes the place of a kind that [`take_children`] consumes.
const LEAF: ExprKind = ExprKind::Const(Scalar::Bool(false));

impl Drop for ExprNode {
    /// Releases descendants in a loop. Recursion would overflow the stack on a long chain.
    fn drop(&mut self) {
        let mut pending = Pending::new();
        take_children(&mut self.kind, &mut pending);
        while let Some(expr) = pending.pop() {
            if let Some(mut node) = std::sync::Arc::into_inner(expr.0) {
                take_children(&mut node.kind, &mut pending);
            }
        }
    }
}

/// Moves the children of `kind` out, so that dropping `kind` drops no other node.
fn take_children(kind: &mut ExprKind, pending: &mut Pending) {
    if matches!(kind, ExprKind::Const(_) | ExprKind::Size(_)) {
        return;
    }
    match std::mem::replace(kind, LEAF) {
        ExprKind::Const(_) | ExprKind::Size(_) => {}
        ExprKind::Iota(index) => take_values(*index, pending),
        ExprKind::Load { index, .. } => index.into_iter().for_each(|i| take_values(i, pending)),
        ExprKind::LoadFlat { position, .. } => take_values(*position, pending),
        ExprKind::Unary(_, a) | ExprKind::Cast(a) | ExprKind::Bitcast(a) | ExprKind::Part(_, a) => {
            pending.push(a);
        }
        ExprKind::CheckIndex { value, .. } => pending.push(value),
        ExprKind::Binary(_, a, b) | ExprKind::Complex(a, b) => pending.extend([a, b]),
        ExprKind::MulAdd(a, b, c) | ExprKind::Select(a, b, c) => pending.extend([a, b, c]),
        ExprKind::Case(arms, otherwise) => {
            for (ranges, value) in arms {
                ranges.into_iter().for_each(|range| take_values(range.index, pending));
                pending.push(value);
            }
            pending.push(otherwise);
        }
        ExprKind::Reduce { body, .. } => pending.push(body),
    }
}

/// Moves the run-time values of `index` out.
fn take_values(mut index: Index, pending: &mut Pending) {
    loop {
        let mut inner: Option<Index> = None;
        for (atom, _) in index.terms.drain(..) {
            match atom {
                Atom::Axis(_) => {}
                Atom::Value(expr) => pending.push(expr),
                Atom::FloorDiv(part, _) | Atom::Mod(part, _) | Atom::Broadcast(part, _) => match &mut inner {
                    None => inner = Some(*part),
                    // Only the atoms matter here, so the atoms of all quotients are merged into one index.
                    Some(inner) => inner.terms.extend(part.terms),
                },
            }
        }
        match inner {
            None => return,
            Some(part) => index = Index { terms: part.terms, constant: Dim::known(0) },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expr::{Axis, BinaryOp};
    use shapeflow_shape_fns::DType;

    fn load(index: Index) -> Expr {
        Expr::new(DType::I64, ExprKind::Load { source: 0, index: [index].into() })
    }

    #[test]
    fn children_come_first_and_once() {
        let x = load(Index::axis(Axis(0)));
        let sum = x.clone() + x.clone();
        let gathered = load(Index::value(sum.clone()).floordiv(2i64));
        let order = post_order([&gathered, &sum]);
        assert!(order == [&x, &sum, &gathered]);
    }

    #[test]
    fn deep_expressions_are_walked_and_released_in_a_loop() {
        let mut chain = load(Index::axis(Axis(0)));
        for k in 0..300_000 {
            chain = match k % 3 {
                0 => load(Index::value(chain).floordiv(2i64) + Index::axis(Axis(0)).modulo(3i64)),
                1 => chain.clone().binary(BinaryOp::Add, chain),
                _ => chain.abs(),
            };
        }
        assert_eq!(post_order([&chain]).len(), 300_001);
        let other = chain.clone();
        drop(chain);
        drop(other);
    }

    #[test]
    fn long_quotients_are_released_in_a_loop() {
        let index = (0..100).fold(Index::axis(Axis(0)), |index, _| index.floordiv(2i64).modulo(3i64));
        drop(load(index));
    }
}
