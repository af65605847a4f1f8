//! `Interner`: hash-consing and rewriting of expressions.

use std::hash::{Hash, Hasher};

use rustc_hash::{FxBuildHasher, FxHashMap, FxHashSet};
use shapeflow_shape_fns::DType;

use super::{
    Axis, BinaryOp, Expr, ExprKind, InRange, Index, Part, Scalar, UnaryOp, eval_binary, eval_bitcast,
    eval_cast, eval_unary,
};

/// Shares one [`Expr`] among structurally equal nodes, so that equality is identity.
///
/// Two nodes are structurally equal if their dtypes, operations and indices are equal and their children are the same
/// nodes. An expression built outside the interner enters it through [`Interner::rewrite`].
#[derive(Default)]
pub(crate) struct Interner {
    nodes: FxHashSet<Structural>,
}

/// A node that compares by its structure one level deep: children compare by identity.
struct Structural(Expr);

impl PartialEq for Structural {
    fn eq(&self, other: &Structural) -> bool {
        self.0.dtype() == other.0.dtype() && self.0.kind() == other.0.kind()
    }
}

impl Eq for Structural {}

impl Hash for Structural {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.dtype().hash(state);
        self.0.kind().hash(state);
    }
}

impl Interner {
    /// Makes an empty interner.
    pub(crate) fn new() -> Interner {
        Interner::default()
    }

    /// Makes an empty interner with capacity for `nodes` nodes.
    pub(crate) fn with_capacity(nodes: usize) -> Interner {
        Interner { nodes: FxHashSet::with_capacity_and_hasher(nodes, FxBuildHasher) }
    }

    /// Returns the shared node of this kind, after folding constants and applying exact identities. The children of the
    /// node must come from this interner.
    pub(crate) fn intern(&mut self, dtype: DType, kind: ExprKind) -> Expr {
        self.intern_or_descendant(dtype, kind).0
    }

    /// Does what [`Interner::intern`] does, and also returns whether an identity reduced the node to one of its
    /// descendants (`x * 1` to `x`).
    fn intern_or_descendant(&mut self, dtype: DType, kind: ExprKind) -> (Expr, bool) {
        match simplify(dtype, &kind) {
            Some(Simpler::Descendant(expr)) => (expr, true),
            Some(Simpler::Constant(value)) => (self.unique(dtype, ExprKind::Const(value)), false),
            Some(Simpler::Extremum(op, a, b)) => (self.unique(dtype, ExprKind::Binary(op, a, b)), false),
            None => (self.unique(dtype, kind), false),
        }
    }

    fn unique(&mut self, dtype: DType, kind: ExprKind) -> Expr {
        self.share(Expr::new(dtype, kind))
    }

    /// Returns the known node that is structurally equal to `expr`, or makes `expr` known.
    fn share(&mut self, expr: Expr) -> Expr {
        let node = Structural(expr);
        match self.nodes.get(&node) {
            Some(known) => known.0.clone(),
            None => {
                let expr = node.0.clone();
                self.nodes.insert(node);
                expr
            }
        }
    }

    /// Rebuilds an expression in this interner and returns its root. `order` is a [`post_order`](super::post_order);
    /// its last node is the root, and each shared node is rebuilt once.
    ///
    /// `axes` maps each axis inside indices to an index. The function `axes` also renames the axes that reductions
    /// bind; for such an axis it must return a plain axis. `replace` is called once for each rebuilt node and may
    /// return a replacement from this interner. `replace` is not called for replacements. `replace` gets a load before
    /// the load is interned, so this load has no shared identity yet.
    pub(crate) fn rewrite<'a>(
        &mut self,
        order: impl IntoIterator<Item = &'a Expr, IntoIter: ExactSizeIterator>,
        axes: &mut dyn FnMut(Axis) -> Index,
        replace: &mut dyn FnMut(&mut Interner, &Expr) -> Option<Expr>,
    ) -> Expr {
        let order = order.into_iter();
        let mut rebuilt: FxHashMap<usize, Expr> =
            FxHashMap::with_capacity_and_hasher(order.len(), FxBuildHasher);
        let mut last = None;
        for expr in order {
            let kind = {
                let mut child = |old: &Expr| rebuilt.get(&old.address()).unwrap_or(old).clone();
                rebuild(expr.kind(), axes, &mut child)
            };
            let new = match kind {
                ExprKind::Load { .. } | ExprKind::LoadFlat { .. } => {
                    let load = Expr::new(expr.dtype(), kind);
                    replace(self, &load).unwrap_or_else(|| self.share(load))
                }
                kind => {
                    // If the node reduced to a descendant, `replace` got this descendant when it was rebuilt.
                    let (new, is_descendant) = self.intern_or_descendant(expr.dtype(), kind);
                    if is_descendant { new } else { replace(self, &new).unwrap_or(new) }
                }
            };
            last = Some(new.clone());
            rebuilt.insert(expr.address(), new);
        }
        last.expect("an expression has a root")
    }

    /// Rebuilds `root` from nodes of this interner. Folds constants and applies exact identities, but replaces no axis
    /// and no node.
    #[cfg(test)]
    pub(crate) fn import(&mut self, root: &Expr) -> Expr {
        self.rewrite(super::post_order([root]), &mut Index::axis, &mut |_, _| None)
    }
}

/// Returns `kind` with `axes` applied to its indices and `child` applied to its children.
pub(super) fn rebuild(
    kind: &ExprKind,
    axes: &mut dyn FnMut(Axis) -> Index,
    child: &mut dyn FnMut(&Expr) -> Expr,
) -> ExprKind {
    match kind {
        ExprKind::Const(value) => ExprKind::Const(*value),
        ExprKind::Size(dim) => ExprKind::Size(dim.clone()),
        ExprKind::Iota(index) => ExprKind::Iota(Box::new(index.substitute(axes, child))),
        ExprKind::Load { source, index } => {
            let index = index.iter().map(|index| index.substitute(axes, child)).collect();
            ExprKind::Load { source: *source, index }
        }
        ExprKind::LoadFlat { source, position } => {
            ExprKind::LoadFlat { source: *source, position: Box::new(position.substitute(axes, child)) }
        }
        ExprKind::Unary(op, a) => ExprKind::Unary(*op, child(a)),
        ExprKind::Binary(op, a, b) => ExprKind::Binary(*op, child(a), child(b)),
        ExprKind::MulAdd(a, b, c) => ExprKind::MulAdd(child(a), child(b), child(c)),
        ExprKind::Select(a, b, c) => ExprKind::Select(child(a), child(b), child(c)),
        ExprKind::Cast(a) => ExprKind::Cast(child(a)),
        ExprKind::Bitcast(a) => ExprKind::Bitcast(child(a)),
        ExprKind::Case(arms, otherwise) => {
            let arms = arms
                .iter()
                .map(|(ranges, value)| {
                    let ranges = ranges.iter().map(|range| InRange {
                        index: range.index.substitute(axes, child),
                        low: range.low.clone(),
                        high: range.high.clone(),
                    });
                    (ranges.collect(), child(value))
                })
                .collect();
            ExprKind::Case(arms, child(otherwise))
        }
        ExprKind::Reduce { op, axes: bound, body } => {
            let renamed = bound
                .iter()
                .map(|(axis, extent)| (axes(*axis).as_axis().unwrap_or(*axis), extent.clone()))
                .collect();
            ExprKind::Reduce { op: *op, axes: renamed, body: child(body) }
        }
        ExprKind::Complex(a, b) => ExprKind::Complex(child(a), child(b)),
        ExprKind::Part(part, a) => ExprKind::Part(*part, child(a)),
        ExprKind::CheckIndex { value, limit, axis } => {
            ExprKind::CheckIndex { value: child(value), limit: limit.clone(), axis: *axis }
        }
    }
}

/// The result of a simplification.
enum Simpler {
    /// A descendant of the simplified node.
    Descendant(Expr),
    Constant(Scalar),
    /// The minimum or maximum of two descendants.
    Extremum(BinaryOp, Expr, Expr),
}

/// Returns the value of a constant node.
fn constant(expr: &Expr) -> Option<Scalar> {
    match expr.kind() {
        ExprKind::Const(value) => Some(*value),
        _ => None,
    }
}

/// Returns a descendant of a node of this kind, a constant, or an extremum of descendants, that equals the node bit for
/// bit; `None` if there is none.
fn simplify(dtype: DType, kind: &ExprKind) -> Option<Simpler> {
    let value = match kind {
        ExprKind::Size(dim) => Scalar::I64(dim.as_known()?),
        ExprKind::Iota(index) => match &index.terms[..] {
            [] => Scalar::I64(index.constant.as_known()?),
            _ => return None,
        },
        ExprKind::Unary(UnaryOp::Neg, x) => match (constant(x), x.kind()) {
            (Some(value), _) => eval_unary(UnaryOp::Neg, value),
            (None, ExprKind::Unary(UnaryOp::Neg, inner)) => return Some(Simpler::Descendant(inner.clone())),
            _ => return None,
        },
        ExprKind::Unary(op, x) => eval_unary(*op, constant(x)?),
        ExprKind::Cast(x) if x.dtype() == dtype => return Some(Simpler::Descendant(x.clone())),
        ExprKind::Cast(x) => eval_cast(constant(x)?, dtype),
        ExprKind::Bitcast(x) => match (constant(x), x.kind()) {
            (Some(value), _) => eval_bitcast(value, dtype),
            _ if x.dtype() == dtype => return Some(Simpler::Descendant(x.clone())),
            (None, ExprKind::Bitcast(inner)) if inner.dtype() == dtype => {
                return Some(Simpler::Descendant(inner.clone()));
            }
            _ => return None,
        },
        ExprKind::Binary(op, a, b) => match (constant(a), constant(b)) {
            (Some(a), Some(b)) if a.dtype() == b.dtype() => eval_binary(*op, a, b)?,
            (_, Some(b)) if is_right_identity(*op, b) => return Some(Simpler::Descendant(a.clone())),
            (Some(a), _) if is_left_identity(*op, a) => return Some(Simpler::Descendant(b.clone())),
            _ => return None,
        },
        ExprKind::Select(condition, yes, no) => {
            if let Some((op, a, b)) = extremum(condition, yes, no) {
                return Some(Simpler::Extremum(op, a.clone(), b.clone()));
            }
            let child = match constant(condition) {
                Some(Scalar::Bool(true)) => yes,
                Some(Scalar::Bool(false)) => no,
                _ if yes == no => yes,
                _ => return None,
            };
            // A select evaluates both choices, so the choice that is not taken may still fail the run.
            return (!can_fail(yes) && !can_fail(no) && !can_fail(condition))
                .then(|| Simpler::Descendant(child.clone()));
        }
        ExprKind::Case(arms, otherwise) => {
            let child = match arms.first() {
                None => otherwise,
                Some((ranges, value)) if ranges.is_empty() => value,
                Some(_) => return None,
            };
            return Some(Simpler::Descendant(child.clone()));
        }
        ExprKind::Part(part, x) => match x.kind() {
            ExprKind::Complex(real, imaginary) => {
                let child = if *part == Part::Real { real } else { imaginary };
                return Some(Simpler::Descendant(child.clone()));
            }
            _ => return None,
        },
        ExprKind::Complex(a, b) => match (a.kind(), b.kind()) {
            (ExprKind::Part(Part::Real, a), ExprKind::Part(Part::Imaginary, b)) if a == b => {
                return Some(Simpler::Descendant(a.clone()));
            }
            _ => return None,
        },
        _ => return None,
    };
    // An ill-typed node stays, so that `verify` finds it.
    (value.dtype() == dtype).then_some(Simpler::Constant(value))
}

/// Returns the minimum or maximum that equals a selection: `a < b ? a : b` is the minimum of `b` and `a` if `a` is
/// never NaN, and `a < b ? b : a` the maximum of `a` and `b` if `b` is never NaN.
fn extremum<'a>(condition: &Expr, yes: &'a Expr, no: &'a Expr) -> Option<(BinaryOp, &'a Expr, &'a Expr)> {
    let ExprKind::Binary(BinaryOp::Lt, a, b) = condition.kind() else { return None };
    let is_never_nan =
        |x: &Expr| !x.dtype().is_float() || constant(x).is_some_and(|value| !value.to_f64().is_nan());
    let op = if yes == a && no == b { BinaryOp::Min } else { BinaryOp::Max };
    let compares_both = yes == a && no == b || yes == b && no == a;
    (compares_both && is_never_nan(yes)).then_some((op, no, yes))
}

/// Returns whether `x op value` is `x` for every `x`.
fn is_right_identity(op: BinaryOp, value: Scalar) -> bool {
    let float = value.dtype().is_float();
    match op {
        BinaryOp::Mul | BinaryOp::Div => value == Scalar::one(value.dtype()),
        BinaryOp::Sub if float => value == Scalar::zero(value.dtype()),
        BinaryOp::Add if float => is_negative_zero(value),
        BinaryOp::Add | BinaryOp::Sub | BinaryOp::Or | BinaryOp::Xor | BinaryOp::Shl | BinaryOp::Shr => {
            !float && value.to_bits() == 0
        }
        BinaryOp::And => value == all_ones(value.dtype()),
        _ => false,
    }
}

/// Returns whether `value op x` is `x` for every `x`.
fn is_left_identity(op: BinaryOp, value: Scalar) -> bool {
    let commutes = matches!(op, BinaryOp::Add | BinaryOp::Mul | BinaryOp::And | BinaryOp::Or | BinaryOp::Xor);
    commutes && is_right_identity(op, value)
}

fn is_negative_zero(value: Scalar) -> bool {
    value.to_f64() == 0.0 && value.to_bits() != 0
}

fn all_ones(dtype: DType) -> Scalar {
    eval_unary(UnaryOp::Not, Scalar::zero(dtype))
}

/// Returns whether evaluation may fail the run. The answer is conservative: `false` only for constants, sizes, and
/// loads and iotas without run-time indices.
fn can_fail(expr: &Expr) -> bool {
    match expr.kind() {
        ExprKind::Const(_) | ExprKind::Size(_) => false,
        ExprKind::Iota(index) => index.has_value(),
        ExprKind::Load { index, .. } => index.iter().any(Index::has_value),
        ExprKind::LoadFlat { position, .. } => position.has_value(),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expr::{ReduceOp, post_order};
    use shapeflow_shape_fns::Dim;

    fn load(source: u32, index: Index) -> Expr {
        Expr::new(DType::F32, ExprKind::Load { source, index: [index].into() })
    }

    fn i(axis: u32) -> Index {
        Index::axis(Axis(axis))
    }

    #[test]
    fn a_selection_by_a_bound_is_an_extremum() {
        use BinaryOp::{Max, Min};
        let x = load(0, i(0));
        let simpler = |condition: Expr, yes: &Expr, no: &Expr| {
            Interner::new().import(&condition.select(yes.clone(), no.clone())).to_string()
        };
        let below = |a: &Expr, b: &Expr| a.clone().less(b.clone());
        let bound = Expr::constant(2.0f32);
        assert_eq!(simpler(below(&bound, &x), &bound, &x), x.clone().binary(Min, bound.clone()).to_string());
        assert_eq!(simpler(below(&x, &bound), &bound, &x), x.clone().binary(Max, bound.clone()).to_string());
        let stays = |condition: Expr, yes: &Expr, no: &Expr| {
            let selection = condition.clone().select(yes.clone(), no.clone()).to_string();
            assert_eq!(simpler(condition, yes, no), selection);
        };
        // NaN would pass through an extremum.
        stays(below(&x, &bound), &x, &bound);
        stays(below(&load(1, i(0)), &x), &load(1, i(0)), &x);
        let nan = Expr::constant(f32::NAN);
        stays(below(&nan, &x), &nan, &x);
    }

    #[test]
    fn equal_nodes_are_shared() {
        let mut interner = Interner::new();
        let make = || (load(0, i(0)) + load(1, i(1) + i(0))).maximum(Expr::constant(0.0f32));
        let (a, b) = (interner.import(&make()), interner.import(&make()));
        assert!(a == b);
        assert!(interner.import(&load(0, i(0))) != interner.import(&load(0, i(1))));
        assert!(interner.import(&Expr::constant(0.0f32)) != interner.import(&Expr::constant(-0.0f32)));
        assert!(interner.import(&Expr::constant(0i32)) != interner.import(&Expr::constant(0u32)));
    }

    #[test]
    fn rewriting_substitutes_axes_renames_reductions_and_inlines_loads() {
        let mut interner = Interner::new();
        let body = load(0, i(0) * 2i64 + i(7)).reduce(ReduceOp::Sum, [(Axis(7), Dim::known(3))].into());
        let mut axes = |axis: Axis| if axis == Axis(7) { i(9) } else { i(1) + Index::from(5i64) };
        let rewritten =
            interner.rewrite(post_order([&body]), &mut axes, &mut |interner, node| match node.kind() {
                ExprKind::Load { index, .. } => {
                    let square = load(3, index[0].clone());
                    Some(interner.import(&(square.clone() * square)))
                }
                _ => None,
            });
        assert_eq!(rewritten.to_string(), "sum(i9 < 3) %3[2*i1 + i9 + 10] * %3[2*i1 + i9 + 10]");
    }

    #[test]
    fn exact_identities_and_constants_fold() {
        let mut interner = Interner::new();
        let x = load(0, i(0));
        let n = x.clone().cast(DType::I32);
        let flag = x.clone().less(x.like(0.0));
        let kept = interner.import(&x);
        for expr in [
            x.clone() * x.like(1.0),
            x.like(1.0) * x.clone(),
            x.clone() / x.like(1.0),
            x.clone() - x.like(0.0),
            x.clone() + x.like(-0.0),
            -(-x.clone()),
            x.clone().bitcast(DType::I32).bitcast(DType::F32),
            Expr::constant(true).select(x.clone(), load(1, i(0))),
            Expr::case(vec![(vec![], x.clone())], x.like(0.0)),
        ] {
            assert!(interner.import(&expr) == kept, "{expr}");
        }
        let kept = interner.import(&n);
        for expr in [n.clone() + n.like(0.0), n.clone() & n.like(-1.0), n.clone() ^ n.like(0.0)] {
            assert!(interner.import(&expr) == kept, "{expr}");
        }
        let kept = interner.import(&flag);
        assert!(interner.import(&(flag.clone() & Expr::constant(true))) == kept);
        let three = (n.like(1.0) + n.like(2.0)).cast(DType::F32).sqrt();
        assert_eq!(interner.import(&three).to_string(), Scalar::F32(3f32.sqrt()).to_string());
        for unfolded in [x.clone() + x.like(0.0), x.clone() - x.like(-0.0), n.like(1.0) / n.like(0.0)] {
            assert_eq!(interner.import(&unfolded).to_string(), unfolded.to_string());
        }
    }

    #[test]
    fn long_chains_are_rewritten_in_a_loop() {
        let mut interner = Interner::new();
        let mut chain = load(0, i(0));
        for _ in 0..100_000 {
            chain = chain.clone() + chain;
        }
        let first = interner.import(&chain);
        assert!(first == interner.import(&chain));
    }
}
