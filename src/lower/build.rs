//! [`build`]: makes the kernel of a cluster.

use rustc_hash::FxHashMap;
use shapeflow_shape_fns::Dim;
use smallvec::SmallVec;

use super::cluster::{Cluster, RowAxes};
use super::kernel::{BufferInfo, BufferIx, Decision, Kernel, Variant};
use super::kernel_body::LaneLayout;
use super::lane_axis::{LaneAxis, choose_lane_axis};
use super::loop_nest::LoopNest;
use super::partition::Partition;
use super::placement::Placement;
use super::ranked_dims::ranked_dims;
use super::root::{Root, storage_roots};
use super::schedule::schedule;
use crate::error::Result;
use crate::expr::{
    Axis, Expr, ExprKind, InRange, Index, Interner, is_own_storage_form, keep_checks, post_order,
};
use crate::graph::{GraphData, ValueIx};

struct KernelBuilder<'a> {
    graph: &'a GraphData,
    partition: &'a Partition,
    cluster: &'a Cluster,
    buffers: &'a FxHashMap<ValueIx, BufferIx>,
    /// The kernel axis of each axis of the cluster.
    axes: Vec<u32>,
    /// The number of outer axes.
    outer: usize,
    /// The expressions built so far, by value and index.
    built: FxHashMap<(ValueIx, Box<[Index]>), Expr>,
    /// The buffers that the kernel loads from, in the order of the loads.
    reads: Vec<BufferIx>,
}

/// Makes the kernel that computes the roots of `cluster`. `buffers` has the buffer of each stored value, and `infos`
/// describes each buffer.
pub(crate) fn build(
    graph: &GraphData,
    partition: &Partition,
    cluster: &Cluster,
    buffers: &FxHashMap<ValueIx, BufferIx>,
    infos: &[BufferInfo],
) -> Result<Kernel> {
    let (axes, mut outer, row) = place_axes(cluster);
    let mut this = KernelBuilder {
        graph,
        partition,
        cluster,
        buffers,
        axes,
        outer: outer.len(),
        built: FxHashMap::default(),
        reads: Vec::new(),
    };
    let bodies = || cluster.members.iter().filter_map(|member| partition.templates[member.index()].as_ref());
    let mut interner = Interner::with_capacity(bodies().map(|body| body.order.len()).sum());
    let mut roots = Vec::with_capacity(cluster.roots.len());
    let mut order = cluster.roots.clone();
    order.sort();
    for &value in &order {
        let index = this.root_index(value);
        let expr = this.inline(&mut interner, value, &index);
        roots.push(Root { expr, imaginary: None, buffer: buffers[&value], index: index.to_vec() });
    }
    let lanes = choose_lane_axis(&roots, &outer, &row, infos);
    if lanes == LaneAxis::SecondLastOuter {
        swap_last_axes(&mut interner, &mut roots, &mut outer);
    }
    let layout = if row.is_empty() || lanes == LaneAxis::Row { LaneLayout::Row } else { LaneLayout::Column };
    let nest = LoopNest { outer: outer.len(), row: row.len(), layout };
    let short_rows = match layout {
        LaneLayout::Row => range_of_short_rows(&outer, &row, &this.reads, infos),
        LaneLayout::Column => None,
    };
    let mut variants = Vec::new();
    let mut can_fail = false;
    let is_stored_as_is =
        bodies().all(|body| body.order.iter().all(|expr| is_own_storage_form(expr.dtype())));
    let mut decider = Decider {
        interner: &mut interner,
        nest,
        infos,
        is_stored_as_is,
        variants: &mut variants,
        can_fail: &mut can_fail,
    };
    let mut decision = decider.decide(&roots)?;
    let mut short_row_variants = None;
    if let Some(range) = short_rows.filter(|_| decider.variants.len() <= MAX_DOUBLED_VARIANTS) {
        short_row_variants = Some(decider.variants.len());
        decider.nest.layout = LaneLayout::Column;
        decision = Decision::Switch(vec![(vec![range], decider.decide(&roots)?)], Box::new(decision));
    }
    let mut fused = cluster.members.clone();
    fused.sort();
    fused.dedup();
    this.reads.sort();
    this.reads.dedup();
    let writes = order.iter().map(|value| buffers[value]).collect();
    Ok(Kernel {
        outer,
        row,
        decision,
        variants,
        short_row_variants,
        reads: this.reads,
        writes,
        can_fail,
        roots: order,
        fused,
    })
}

/// The number of bytes of the longest row that counts as short. Such rows are faster if each vector lane computes a row
/// of its own, although a launch may have to copy their elements.
const SHORT_ROW_BYTES: usize = 96;

/// The greatest number of variants of a kernel that gets the same variants again, for short rows.
const MAX_DOUBLED_VARIANTS: usize = 2;

/// Returns the condition that rows are short, if only a run knows their length. `None` if the length is known, or if
/// the kernel has no outer axis, such as a sum of all elements.
///
/// The condition must not depend on the number of rows. Then a row has the same result in every batch.
fn range_of_short_rows(
    outer: &[Dim],
    row: &[Dim],
    reads: &[BufferIx],
    infos: &[BufferInfo],
) -> Option<InRange> {
    let len = row.iter().try_fold(Dim::known(1), |len, extent| len.checked_mul(extent)).ok()?;
    if outer.is_empty() || len.is_known() {
        return None;
    }
    let sizes = reads.iter().filter_map(|buffer| infos[buffer.index()].dtype.size_bytes());
    let longest = SHORT_ROW_BYTES / sizes.max()?.max(1);
    Some(InRange { index: Index::constant(len), low: 0.into(), high: (longest as i64 + 1).into() })
}

/// Returns the kernel axis of each cluster axis, the outer extents and the row extents. Row axes stand last in the
/// kernel.
fn place_axes(cluster: &Cluster) -> (Vec<u32>, Vec<Dim>, Vec<Dim>) {
    match &cluster.row {
        RowAxes::None => ((0..cluster.domain.len() as u32).collect(), cluster.domain.clone(), Vec::new()),
        RowAxes::NewAxes(row) => {
            ((0..(cluster.domain.len() + row.len()) as u32).collect(), cluster.domain.clone(), row.clone())
        }
        RowAxes::DomainAxes(reduced) => {
            let mut axes = vec![0; cluster.domain.len()];
            let (mut outer, mut row) = (Vec::new(), Vec::new());
            for (axis, extent) in cluster.domain.iter().enumerate() {
                if !reduced.contains(&axis) {
                    axes[axis] = outer.len() as u32;
                    outer.push(extent.clone());
                }
            }
            for &axis in reduced {
                axes[axis] = (outer.len() + row.len()) as u32;
                row.push(cluster.domain[axis].clone());
            }
            (axes, outer, row)
        }
    }
}

impl KernelBuilder<'_> {
    /// Returns the index at which the kernel stores a root, in the kernel's axes: 0 on axes of size 1.
    fn root_index(&self, value: ValueIx) -> SmallVec<[Index; 4]> {
        let mut kernel_axes = self.axes.iter();
        let dims = ranked_dims(self.graph, value);
        dims.iter()
            .map(|dim| {
                if self.graph.table.resolve(dim).as_known() == Some(1) {
                    return Index::from(0);
                }
                Index::axis(Axis(*kernel_axes.next().expect("a root has the cluster's domain")))
            })
            .collect()
    }

    /// Returns the element of a value at an index in the kernel's axes: computed by this kernel, or loaded from memory.
    fn read(&mut self, interner: &mut Interner, value: ValueIx, index: &[Index]) -> Expr {
        let is_stored_here = self.cluster.roots.contains(&value) && self.root_index(value)[..] == *index;
        if is_stored_here || self.partition.placements[value.index()] == Placement::Inlined {
            let element = self.inline(interner, value, index);
            return with_checks(interner, element, index);
        }
        self.load(interner, value, index)
    }

    fn load(&mut self, interner: &mut Interner, value: ValueIx, index: &[Index]) -> Expr {
        let buffer = self.buffers[&value];
        self.reads.push(buffer);
        let dtype = self.graph.values[value.index()].dtype;
        interner.intern(dtype, ExprKind::Load { source: buffer.0, index: index.iter().cloned().collect() })
    }

    /// Returns the expression of a value at an index. A template is this expression in the axes of the value. In the
    /// result, each load of an operand becomes the expression of the operand if it is inlined, else a load of its
    /// buffer.
    ///
    /// The recursion is as deep as the chain of nodes in a kernel. An unoptimized build gives each variable memory on
    /// the stack, so this function and [`KernelBuilder::read`] have few variables.
    fn inline(&mut self, interner: &mut Interner, value: ValueIx, index: &[Index]) -> Expr {
        let key = (value, Box::from(index));
        if let Some(built) = self.built.get(&key) {
            return built.clone();
        }
        let template = self.partition.templates[value.index()].as_ref().expect("an inlined value has a body");
        let (reduce_axes, rank) = (reduce_axes(&template.order, self.outer), template.rank);
        let mut axes = |axis: Axis| match reduce_axes.get(&axis) {
            Some(&row) => Index::axis(Axis(row)),
            None if (axis.0 as usize) < rank => index[axis.0 as usize].clone(),
            None => Index::axis(axis),
        };
        let operands = self.graph.node_of(value).operands.clone();
        let mut replace = |interner: &mut Interner, node: &Expr| match node.kind() {
            ExprKind::Load { source, index } => Some(self.read(interner, operands[*source as usize], index)),
            ExprKind::LoadFlat { .. } => Some(self.load_flat(interner, node, &operands)),
            _ => None,
        };
        let expr = interner.rewrite(&template.order, &mut axes, &mut replace);
        self.built.insert(key, expr.clone());
        expr
    }

    /// Turns a `LoadFlat` of an operand into a `LoadFlat` of the operand's buffer.
    fn load_flat(&mut self, interner: &mut Interner, load: &Expr, operands: &[ValueIx]) -> Expr {
        let ExprKind::LoadFlat { source, position } = load.kind() else {
            unreachable!("the expression is a LoadFlat")
        };
        let buffer = self.buffers[&operands[*source as usize]];
        self.reads.push(buffer);
        interner.intern(load.dtype(), ExprKind::LoadFlat { source: buffer.0, position: position.clone() })
    }
}

/// Maps each reduced axis of a template to an axis of the row of a kernel. These axes follow the `outer` outer axes.
fn reduce_axes(order: &[Expr], outer: usize) -> FxHashMap<Axis, u32> {
    let mut rows = FxHashMap::default();
    for expr in order {
        if let ExprKind::Reduce { axes, .. } = expr.kind() {
            for (position, (axis, _)) in axes.iter().enumerate() {
                rows.insert(*axis, (outer + position) as u32);
            }
        }
    }
    rows
}

/// Adds to an element the bounds checks of the index at which it is read.
fn with_checks(interner: &mut Interner, element: Expr, index: &[Index]) -> Expr {
    let mut checks = Vec::new();
    index.iter().for_each(|index| index.for_each_value(&mut |check| checks.push(check)));
    keep_checks(element, checks, &mut |dtype, kind| interner.intern(dtype, kind))
}

/// Swaps the last two outer axes of a kernel.
fn swap_last_axes(interner: &mut Interner, roots: &mut [Root], axes: &mut [Dim]) {
    let last = axes.len() - 1;
    axes.swap(last - 1, last);
    let swapped = |axis: Axis| match axis.0 as usize {
        number if number == last => Axis(last as u32 - 1),
        number if number + 1 == last => Axis(last as u32),
        _ => axis,
    };
    for root in roots {
        let mut renamed = |axis: Axis| Index::axis(swapped(axis));
        root.expr = interner.rewrite(post_order([&root.expr]), &mut renamed, &mut |_, _| None);
        for index in &mut root.index {
            if let Some(axis) = index.as_axis() {
                *index = renamed(axis);
            }
        }
    }
}

/// Makes the variants of a kernel. A variant is a body without piecewise choices.
struct Decider<'a> {
    interner: &'a mut Interner,
    nest: LoopNest,
    infos: &'a [BufferInfo],
    /// Whether every expression is its own storage form.
    is_stored_as_is: bool,
    variants: &'a mut Vec<Variant>,
    can_fail: &'a mut bool,
}

impl Decider<'_> {
    /// Splits the roots on their outermost piecewise choice, recursively. Schedules each result without choices as a
    /// variant.
    fn decide(&mut self, roots: &[Root]) -> Result<Decision> {
        let order = post_order(roots.iter().map(|root| &root.expr));
        let Some(&choice) = order.iter().rev().find(|expr| matches!(expr.kind(), ExprKind::Case(..))) else {
            let (variant, fails) = if self.is_stored_as_is {
                schedule(self.nest, roots, &order, self.infos)?
            } else {
                let roots = storage_roots(self.interner, roots);
                let order = post_order(roots.iter().flat_map(Root::exprs));
                schedule(self.nest, &roots, &order, self.infos)?
            };
            *self.can_fail |= fails;
            self.variants.push(variant);
            return Ok(Decision::Variant(self.variants.len() as u32 - 1));
        };
        let ExprKind::Case(arms, otherwise) = choice.kind() else { unreachable!("`find` returns a case") };
        let mut decided = Vec::with_capacity(arms.len());
        for (ranges, arm) in arms {
            decided.push((ranges.to_vec(), self.decide_arm(roots, choice, arm)?));
        }
        let otherwise = self.decide_arm(roots, choice, otherwise)?;
        Ok(Decision::Switch(decided, Box::new(otherwise)))
    }

    /// Decides the roots with `arm`, one alternative of `choice`, in place of `choice`.
    fn decide_arm(&mut self, roots: &[Root], choice: &Expr, arm: &Expr) -> Result<Decision> {
        let roots: Vec<Root> = roots
            .iter()
            .map(|root| Root {
                // If the root is the choice itself, the arm replaces it without a rewrite. This case keeps a concat of
                // many operands fast.
                expr: if root.expr == *choice {
                    arm.clone()
                } else {
                    self.interner.rewrite(post_order([&root.expr]), &mut Index::axis, &mut |_, node| {
                        (node == choice).then(|| arm.clone())
                    })
                },
                ..root.clone()
            })
            .collect();
        self.decide(&roots)
    }
}
