//! [`ExprOrder`]: the expressions of one variant, operands before their users, with facts about each. A pass is one
//! walk over the elements of a row.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::access::is_nonzero_constant;
use super::loop_nest::LoopNest;
use crate::expr::{BinaryOp, Expr, ExprKind};

/// The position of an expression in its [`ExprOrder`].
pub(super) type ExprIx = usize;

/// The expressions of one variant, operands before their users.
pub(super) struct ExprOrder<'a> {
    pub exprs: &'a [&'a Expr],
    /// For each expression: the operands of the expression.
    pub operands: Vec<SmallVec<[ExprIx; 3]>>,
    /// The facts about each expression.
    pub facts: Vec<ExprFacts>,
    /// Whether a check may fail at run time.
    pub can_fail: bool,
    /// The position of each expression, by its address.
    index_of: FxHashMap<usize, ExprIx>,
}

/// What the scheduler must know about an expression.
#[derive(Clone, Copy, Default)]
pub(super) struct ExprFacts {
    /// The first pass that can compute the expression.
    pub first_pass: usize,
    /// Whether the expression varies along the row.
    pub in_row: bool,
    /// The number of operations that compute the expression, operands included. An operand counts once for each use. A
    /// reduction counts as one operation.
    pub cost: u32,
}

impl<'a> ExprOrder<'a> {
    /// Derives the facts of expressions in [`post_order`](crate::expr::post_order).
    pub fn new(exprs: &'a [&'a Expr], nest: LoopNest) -> ExprOrder<'a> {
        let index_of: FxHashMap<usize, ExprIx> =
            exprs.iter().enumerate().map(|(index, expr)| (expr.address(), index)).collect();
        let operands = exprs.iter().map(|expr| {
            let mut operands = SmallVec::new();
            expr.for_each_child(&mut |operand| operands.push(index_of[&operand.address()]));
            operands
        });
        let operands = operands.collect();
        let facts = Vec::with_capacity(exprs.len());
        let mut order = ExprOrder { exprs, operands, facts, can_fail: false, index_of };
        order.derive_facts(nest);
        order
    }

    /// Returns the position of an expression, which must be in the order.
    pub fn index(&self, expr: &Expr) -> ExprIx {
        self.index_of[&expr.address()]
    }

    /// Derives the facts of every expression from the facts of its operands.
    fn derive_facts(&mut self, nest: LoopNest) {
        for (expr, operands) in self.exprs.iter().zip(&self.operands) {
            let mut facts = ExprFacts::default();
            for operand in operands {
                let operand = self.facts[*operand];
                facts.first_pass = facts.first_pass.max(operand.first_pass);
                facts.in_row |= operand.in_row;
                facts.cost = facts.cost.saturating_add(operand.cost);
            }
            match expr.kind() {
                ExprKind::Iota(index) => facts.in_row |= nest.varies_in_row(index),
                ExprKind::Load { index, .. } => {
                    facts.in_row |= index.iter().any(|index| nest.varies_in_row(index))
                }
                ExprKind::LoadFlat { position, .. } => facts.in_row |= nest.varies_in_row(position),
                // The result of a reduction is known in the next pass, and has one value per row.
                ExprKind::Reduce { .. } => {
                    facts = ExprFacts { first_pass: facts.first_pass + 1, in_row: false, cost: 0 }
                }
                ExprKind::CheckIndex { .. } => self.can_fail = true,
                ExprKind::Binary(BinaryOp::Div | BinaryOp::Rem, _, divisor) if expr.dtype().is_integer() => {
                    self.can_fail |= !is_nonzero_constant(divisor);
                }
                _ => {}
            }
            if !operands.is_empty() {
                facts.cost = facts.cost.saturating_add(1);
            }
            self.facts.push(facts);
        }
    }
}
