//! [`Rebuilder::select_branch`]: a branch whose two regions are cheap and cannot fail becomes both regions and a
//! selection.
//!
//! A branch runs on the host, which costs more than some hundred elements in a kernel. A selection fuses with the nodes
//! around it, so a loop whose body has a branch may still consist of kernels only, which is the fast case of loops. A
//! region qualifies if its sizes are known and small, and none of its nodes runs on the host, moves strings or can
//! fail: a region that is not taken must not raise an error.

use shapeflow_shape_fns::{Attrs, DType};
use smallvec::{SmallVec, smallvec};

use super::late_knowledge::LateKnowledge;
use super::rebuilder::Rebuilder;
use crate::error::Result;
use crate::expr::{BinaryOp, Expr, ExprKind};
use crate::graph::{GraphData, Node, NodeIx, ValueIx, graph_of};
use crate::op::{Body, BodyRegion, BranchesForm, ControlForm, OpDef};

/// The maximum number of nodes of a region.
const MAX_NODES: usize = 8;

/// The maximum number of elements of a value in a region.
const MAX_ELEMENTS: i64 = 64;

/// The maximum number of levels of branches inside a branch that becomes a selection.
pub(super) const MAX_DEPTH: usize = 3;

impl Rebuilder<'_> {
    /// Adds a branch of the old graph as both of its regions and a selection of their results, if both regions are
    /// cheap and cannot fail. Returns whether it added them.
    ///
    /// # Errors
    /// Inference refuses a node.
    pub(super) fn select_branch(&mut self, index: NodeIx) -> Result<bool> {
        let node = &self.old.nodes[index.index()];
        let Some(selection) = selection(node) else { return Ok(false) };
        let limits = RegionLimits { nodes: MAX_NODES, elements: MAX_ELEMENTS };
        let is_cheap = |region: &BodyRegion<'_>| nodes_of(region, MAX_DEPTH, limits).is_some();
        if !selection.regions.iter().all(is_cheap) || !have_equal_sizes(&selection) {
            return Ok(false);
        }
        let operands: SmallVec<[ValueIx; 8]> =
            node.operands.iter().map(|operand| self.values[operand]).collect();
        let predicate = operands[0];
        if self.new.values[predicate.index()].shape.rank() != Some(0)
            || !selection.regions.iter().all(|region| has_sizes(region, &self.new, &operands))
        {
            return Ok(false);
        }
        let mut results = Vec::with_capacity(2);
        for region in &selection.regions {
            let captures = region.captures.iter().map(|operand| operands[*operand]);
            results.push(self.inline(region, captures.collect())?);
        }
        for (number, old) in node.values().enumerate() {
            let (yes, no) = (results[1][number], results[0][number]);
            let new = match yes == no {
                true => yes,
                false => {
                    let operands = smallvec![predicate, yes, no];
                    self.find_or_add_call(old, selection.select, operands, Attrs::new())?
                }
            };
            self.learn_value(old, new);
            self.values.insert(old, new);
        }
        Ok(true)
    }

    /// Adds the nodes of a region, with `captures` in place of its inputs. Returns the results of the region.
    ///
    /// # Errors
    /// Inference refuses a node.
    pub(super) fn inline(&mut self, region: &BodyRegion<'_>, captures: Vec<ValueIx>) -> Result<Vec<ValueIx>> {
        let graph = graph_of(region);
        let mut inner = Rebuilder::new(graph, LateKnowledge::default());
        inner.exchange(self);
        for ((_, input), capture) in graph.inputs.iter().zip(captures) {
            inner.learn_value(*input, capture);
            inner.values.insert(*input, capture);
        }
        let copied = inner.copy_region();
        inner.exchange(self);
        copied?;
        Ok(region.outputs.iter().map(|output| inner.values[&ValueIx(*output)]).collect())
    }

    /// Adds all nodes of the old graph but its inputs.
    fn copy_region(&mut self) -> Result<()> {
        let graph = self.old;
        for (number, node) in graph.nodes.iter().enumerate() {
            let index = NodeIx(number as u32);
            match node.op.body {
                Body::Input => {}
                Body::Constant => {
                    let tensor = graph.constants.get(&index).expect("a constant node has a tensor");
                    self.constant(node, tensor.clone());
                }
                Body::Control(_) if self.select_branch(index)? || self.unroll_loop(index)? => {}
                _ => self.copy(index)?,
            }
        }
        Ok(())
    }
}

/// The two regions of a node that computes one of them. A bool chooses the region.
struct Selection<'a> {
    /// The region for false, then the region for true.
    regions: [BodyRegion<'a>; 2],
    /// The op that selects elements: its operands are the bool, the elements for true and the elements for false.
    select: &'static OpDef,
}

/// Returns the two regions of a node that computes one of them; a bool chooses the region.
fn selection(node: &Node) -> Option<Selection<'_>> {
    let Body::Control(control) = &node.op.body else { return None };
    let ControlForm::Branches(BranchesForm { regions, select: Some(select) }) = control.form() else {
        return None;
    };
    regions.try_into().ok().map(|regions| Selection { regions, select })
}

/// Returns whether the results of both regions have the same known sizes, so that no size depends on the predicate.
fn have_equal_sizes(selection: &Selection<'_>) -> bool {
    let [first, second] = selection.regions.each_ref().map(|region| {
        let graph = graph_of(region);
        let sizes = region.outputs.iter().map(|output| known_sizes(graph, ValueIx(*output)));
        sizes.collect::<Option<Vec<_>>>()
    });
    first.is_some() && first == second
}

/// Returns whether the operands of a region have the sizes that the region states. A region may state sizes that the
/// outer graph does not know: a run that does not take the region does not check these sizes.
fn has_sizes(region: &BodyRegion<'_>, around: &GraphData, operands: &[ValueIx]) -> bool {
    let graph = graph_of(region);
    graph.inputs.iter().zip(region.captures).all(|((_, input), operand)| {
        known_sizes(graph, *input).is_some_and(|sizes| known_sizes(around, operands[*operand]) == Some(sizes))
    })
}

/// Returns the sizes of a value; `None` if one of them is unknown.
pub(super) fn known_sizes(graph: &GraphData, value: ValueIx) -> Option<Vec<i64>> {
    let shape = graph.table.resolve_shape(&graph.values[value.index()].shape);
    shape.dims()?.iter().map(|dim| dim.as_known()).collect()
}

/// The maximum size of a region that is computed in another way than by a node of control flow.
#[derive(Clone, Copy)]
pub(super) struct RegionLimits {
    /// The maximum number of nodes.
    pub nodes: usize,
    /// The maximum number of elements of a value.
    pub elements: i64,
}

/// Returns the number of nodes that a region computes, including the nodes of branches inside the region; `None` if
/// there are too many nodes or elements, or if a node may fail or runs on the host.
pub(super) fn nodes_of(region: &BodyRegion<'_>, depth: usize, limits: RegionLimits) -> Option<usize> {
    let graph = graph_of(region);
    let is_small = |number: usize| {
        let value = &graph.values[number];
        let elements = known_sizes(graph, ValueIx(number as u32))
            .and_then(|sizes| sizes.iter().try_fold(1i64, |count, size| count.checked_mul(*size)));
        elements.is_some_and(|count| count <= limits.elements) && has_scalars(value.dtype)
    };
    if !(0..graph.values.len()).all(is_small) {
        return None;
    }
    let mut count = 0;
    for (number, node) in graph.nodes.iter().enumerate() {
        count += match &node.op.body {
            Body::Input | Body::Constant => 0,
            Body::Compute(_) if cannot_fail(graph, NodeIx(number as u32)) => 1,
            Body::Control(_) if depth > 0 => {
                let selection = selection(node).filter(have_equal_sizes)?;
                if !selection.regions.iter().all(|region| has_sizes(region, graph, &node.operands)) {
                    return None;
                }
                let nodes = selection.regions.iter().map(|region| nodes_of(region, depth - 1, limits));
                nodes.sum::<Option<usize>>()? + 1
            }
            _ => return None,
        };
        if count > limits.nodes {
            return None;
        }
    }
    Some(count)
}

fn has_scalars(dtype: DType) -> bool {
    dtype.size_bytes().is_some()
}

/// Returns whether no data can make a compute node fail.
pub(crate) fn cannot_fail(graph: &GraphData, index: NodeIx) -> bool {
    let node = &graph.nodes[index.index()];
    let mut has_symbols = false;
    node.attrs().symbols(&mut |_| has_symbols = true);
    if has_symbols || node.parameters().next().is_some() {
        return false;
    }
    (0..node.values().count()).all(|output| {
        let template = graph.template(index, output);
        template.is_ok_and(|template| template.order.iter().all(|expr| !may_fail(graph, node, expr)))
    })
}

/// Returns whether an operation of a body may fail: a checked index, or a division of integers.
fn may_fail(graph: &GraphData, node: &Node, expr: &Expr) -> bool {
    match expr.kind() {
        ExprKind::CheckIndex { .. } => true,
        ExprKind::Binary(BinaryOp::Div | BinaryOp::Rem, _, divisor) if expr.dtype().is_integer() => {
            match divisor.kind() {
                ExprKind::Const(divisor) => divisor.to_bits() == 0,
                ExprKind::Load { source, .. } => !is_never_zero(graph, node.operands[*source as usize]),
                _ => true,
            }
        }
        _ => false,
    }
}

/// Returns whether a value is a constant scalar other than 0.
fn is_never_zero(graph: &GraphData, value: ValueIx) -> bool {
    let constant = graph.constants.get(&graph.values[value.index()].node);
    constant.is_some_and(|tensor| {
        tensor.sizes().is_empty() && tensor.view().bytes().iter().any(|byte| *byte != 0)
    })
}
