//! `Order`: the expressions of one variant, parts first, with what is known of each.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::access::{is_nonzero_constant, varies_with};
use super::schedule::Nest;
use crate::expr::{Axis, BinaryOp, Expr, ExprKind, Index};

/// The place of an expression in its order.
pub(super) type At = usize;

pub(super) struct Order<'a> {
    pub exprs: &'a [&'a Expr],
    /// The places of the parts of each expression.
    pub parts: Vec<SmallVec<[At; 3]>>,
    pub facts: Vec<Facts>,
    /// Whether a check may fail at run time.
    pub can_fail: bool,
    /// By address.
    places: FxHashMap<usize, At>,
}

#[derive(Clone, Copy, Default)]
pub(super) struct Facts {
    /// The first pass in which the expression can be computed.
    pub ready: usize,
    /// Whether it varies along the row.
    pub in_row: bool,
    /// How many operations it takes.
    pub cost: u32,
}

impl Nest {
    /// Whether an index varies along the row.
    pub(super) fn varies_in_row(&self, index: &Index) -> bool {
        let mut axes = (self.outer as u32..(self.outer + self.row) as u32).map(Axis);
        axes.any(|axis| varies_with(index, axis))
    }
}

impl<'a> Order<'a> {
    /// Of a [`post_order`](crate::expr::post_order).
    pub fn new(exprs: &'a [&'a Expr], nest: Nest) -> Order<'a> {
        let places: FxHashMap<usize, At> =
            exprs.iter().enumerate().map(|(at, expr)| (expr.address(), at)).collect();
        let parts = exprs.iter().map(|expr| {
            let mut parts = SmallVec::new();
            expr.for_each_child(&mut |part| parts.push(places[&part.address()]));
            parts
        });
        let parts = parts.collect();
        let mut order =
            Order { exprs, parts, facts: Vec::with_capacity(exprs.len()), can_fail: false, places };
        order.derive_facts(nest);
        order
    }

    /// The place of an expression that is part of it.
    pub fn place(&self, expr: &Expr) -> At {
        self.places[&expr.address()]
    }

    fn derive_facts(&mut self, nest: Nest) {
        for (at, expr) in self.exprs.iter().enumerate() {
            let mut facts = Facts::default();
            for part in &self.parts[at] {
                let part = self.facts[*part];
                facts.ready = facts.ready.max(part.ready);
                facts.in_row |= part.in_row;
                facts.cost = facts.cost.saturating_add(part.cost);
            }
            match expr.kind() {
                ExprKind::Iota(index) => facts.in_row |= nest.varies_in_row(index),
                ExprKind::Load { index, .. } => {
                    facts.in_row |= index.iter().any(|index| nest.varies_in_row(index))
                }
                ExprKind::LoadFlat { position, .. } => facts.in_row |= nest.varies_in_row(position),
                ExprKind::Reduce { .. } => facts = Facts { ready: facts.ready + 1, in_row: false, cost: 0 },
                ExprKind::CheckIndex { .. } => self.can_fail = true,
                ExprKind::Binary(BinaryOp::Div | BinaryOp::Rem, _, divisor) if expr.dtype().is_integer() => {
                    self.can_fail |= !is_nonzero_constant(divisor);
                }
                _ => {}
            }
            if !self.parts[at].is_empty() {
                facts.cost = facts.cost.saturating_add(1);
            }
            self.facts.push(facts);
        }
    }
}
