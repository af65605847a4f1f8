//! Walks over shared nodes without recursion: parts, an order with parts first, and their release.

use rustc_hash::{FxBuildHasher, FxHashSet};
use shapeflow_shape_fns::Dim;
use smallvec::SmallVec;

use super::{Atom, Expr, ExprKind, Index, Node, Scalar};

impl Expr {
    /// Calls `f` on the expressions this one is computed from, also on run-time values inside indices.
    pub(crate) fn for_each_child<'a>(&'a self, f: &mut dyn FnMut(&'a Expr)) {
        match self.kind() {
            ExprKind::Const(_) | ExprKind::Size(_) => {}
            ExprKind::Iota(index) => index.for_each_value(f),
            ExprKind::Load { index, .. } => index.iter().for_each(|i| i.for_each_value(f)),
            ExprKind::LoadFlat { position, .. } => position.for_each_value(f),
            ExprKind::Unary(_, a) | ExprKind::Cast(a) | ExprKind::Bitcast(a) => f(a),
            ExprKind::CheckIndex { value, .. } => f(value),
            ExprKind::Binary(_, a, b) => {
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

/// More nodes than most bodies have.
const MOST_BODIES: usize = 28;

/// Every node the roots are computed from, once, parts before what is made of them.
pub(crate) fn post_order<'a>(roots: impl IntoIterator<Item = &'a Expr>) -> Vec<&'a Expr> {
    let mut seen = FxHashSet::with_capacity_and_hasher(MOST_BODIES, FxBuildHasher);
    let mut order = Vec::new();
    let mut stack = Vec::new();
    for root in roots {
        stack.push((root, false));
        while let Some((expr, parts_done)) = stack.pop() {
            if parts_done {
                order.push(expr);
            } else if seen.insert(expr.address()) {
                let at = stack.len();
                stack.push((expr, true));
                expr.for_each_child(&mut |child| {
                    if !seen.contains(&child.address()) {
                        stack.push((child, false));
                    }
                });
                // The first part is on top: what a reader sees first is computed first.
                stack[at + 1..].reverse();
            }
        }
    }
    order
}

/// Nodes that wait to be released.
type Parts = SmallVec<[Expr; 4]>;

const LEAF: ExprKind = ExprKind::Const(Scalar::Bool(false));

impl Drop for Node {
    /// Releases the last holder of a chain of any length in a loop.
    fn drop(&mut self) {
        let mut released = Parts::new();
        take_parts(&mut self.kind, &mut released);
        while let Some(expr) = released.pop() {
            if let Some(mut node) = std::sync::Arc::into_inner(expr.0) {
                take_parts(&mut node.kind, &mut released);
            }
        }
    }
}

/// Moves the parts of `kind` out, so that dropping what is left drops no other node.
fn take_parts(kind: &mut ExprKind, parts: &mut Parts) {
    if matches!(kind, ExprKind::Const(_) | ExprKind::Size(_)) {
        return;
    }
    match std::mem::replace(kind, LEAF) {
        ExprKind::Const(_) | ExprKind::Size(_) => {}
        ExprKind::Iota(index) => take_values(*index, parts),
        ExprKind::Load { index, .. } => index.into_iter().for_each(|i| take_values(i, parts)),
        ExprKind::LoadFlat { position, .. } => take_values(*position, parts),
        ExprKind::Unary(_, a) | ExprKind::Cast(a) | ExprKind::Bitcast(a) => parts.push(a),
        ExprKind::CheckIndex { value, .. } => parts.push(value),
        ExprKind::Binary(_, a, b) => parts.extend([a, b]),
        ExprKind::MulAdd(a, b, c) | ExprKind::Select(a, b, c) => parts.extend([a, b, c]),
        ExprKind::Case(arms, otherwise) => {
            for (ranges, value) in arms {
                ranges.into_iter().for_each(|range| take_values(range.index, parts));
                parts.push(value);
            }
            parts.push(otherwise);
        }
        ExprKind::Reduce { body, .. } => parts.push(body),
    }
}

fn take_values(mut index: Index, parts: &mut Parts) {
    loop {
        let mut inner: Option<Index> = None;
        for (atom, _) in index.terms.drain(..) {
            match atom {
                Atom::Axis(_) => {}
                Atom::Value(expr) => parts.push(expr),
                Atom::FloorDiv(part, _) | Atom::Mod(part, _) | Atom::Broadcast(part, _) => match &mut inner {
                    None => inner = Some(*part),
                    // Only atoms matter here: one list holds those of all quotients.
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
    fn parts_come_first_and_once() {
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
