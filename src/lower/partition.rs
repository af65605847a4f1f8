//! `partition`: which values get memory, and which nodes are computed together, by a rule free of sizes.
//!
//! Nodes are visited from the last to the first, so that every consumer of a value is settled before it.
//! A value's *places* are the indices at which its consumers need it, in the axes of their clusters. A value
//! with one place is inlined there; a cheap one is inlined at every place; an expensive one needed at equal
//! indices by clusters of one domain brings these clusters together; everything else is materialized.

use std::fmt;

use rustc_hash::FxHashMap;
use shapeflow_shape_fns::{Dim, Symbol};
use smallvec::SmallVec;

use super::access::{Access, Read, has_quotients, varies_with};
use crate::error::Result;
use crate::expr::{Atom, Axis, Index};
use crate::graph::{Inner, NodeIx, Template, ValueIx};
use crate::op::{Body, Operand};

/// A cluster takes no more primitive operations than this.
const MAX_COST: u32 = 256;
/// A cluster reads no more buffers than this.
const MAX_BUFFERS: usize = 16;
/// A cluster is split into no more piecewise variants than this.
const MAX_ARMS: u32 = 64;
/// A value of at most this many primitive operations, with all that is inlined into it, is computed again
/// rather than stored.
const CHEAP: u32 = 4;
/// A value needed at more indices than this is stored.
const MAX_PLACES: usize = 4;

/// Number of a cluster; merged clusters share a representative.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct ClusterIx(pub u32);

/// The row axes of a cluster that folds.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Row {
    None,
    /// New axes, numbered after those of the domain: all roots are one value per row.
    Added(Vec<Dim>),
    /// Axes of the domain: folds over them are read again by elements of the row.
    Within(Vec<usize>),
}

/// Nodes computed in one loop nest. Axis `k < domain.len()` is an axis of the domain.
#[derive(Debug)]
pub(crate) struct Cluster {
    parent: ClusterIx,
    pub domain: Vec<Dim>,
    pub row: Row,
    /// Materialized values; each has the cluster's domain, up to axes of size 1.
    pub roots: Vec<ValueIx>,
    pub members: Vec<ValueIx>,
    cost: u32,
    arms: u32,
    /// Values read from outside, or not yet settled.
    frontier: SmallVec<[ValueIx; 8]>,
    /// Axes inside quotients or remainders of some index: they may be split when sizes are known.
    split: SmallVec<[usize; 4]>,
    /// Steps with a larger depth run earlier.
    depth: u32,
    /// The least depth among the steps that make what this cluster reads.
    producers: u32,
}

/// Why a value has memory of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Why {
    /// A graph input or constant.
    Given,
    /// Made by a host kernel or a contraction.
    Made,
    /// An output of the graph.
    Output,
    /// Read by a host kernel or a contraction, or by the planner.
    ReadWhole,
    /// Read in row-major order.
    ReadFlat,
    /// Costly, and needed at several indices.
    SeveralIndices,
    /// Costly, and needed again along an axis it does not have.
    AddedAxis,
    /// A fold that feeds another domain.
    FoldBoundary,
    /// The cluster would grow too large.
    Full,
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Why::Given => "given",
            Why::Made => "made whole",
            Why::Output => "an output",
            Why::ReadWhole => "read whole",
            Why::ReadFlat => "read in row-major order",
            Why::SeveralIndices => "costly and read at several indices",
            Why::AddedAxis => "costly and read along an axis it does not have",
            Why::FoldBoundary => "folded, then read by another domain",
            Why::Full => "its kernel is full",
        })
    }
}

/// Where a value lives.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Home {
    /// Not needed.
    None,
    /// Computed where it is read.
    Inlined,
    /// In a buffer.
    Buffer(Why),
    /// The same elements as another value, which has a buffer.
    Alias(ValueIx),
}

/// One step of a program, before it is lowered.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Planned {
    Cluster(ClusterIx),
    Node(NodeIx),
}

/// The outcome: a home for every value, and the steps in order.
pub(crate) struct Partition {
    pub homes: Vec<Home>,
    pub templates: FxHashMap<ValueIx, Template>,
    pub clusters: Vec<Cluster>,
    pub steps: Vec<Planned>,
    /// For each step, the values that must be known when it is planned.
    pub needs: Vec<Vec<ValueIx>>,
}

type Place = (ClusterIx, SmallVec<[Index; 4]>);

#[derive(Default, Clone)]
struct Pending {
    places: SmallVec<[Place; 1]>,
    forced: Option<Why>,
    /// Clusters that need the value in memory.
    readers: SmallVec<[ClusterIx; 1]>,
    /// The largest depth of a step that needs the value in memory.
    depth: u32,
    used: bool,
}

struct Partitioner<'a> {
    inner: &'a Inner,
    pending: Vec<Pending>,
    homes: Vec<Home>,
    templates: FxHashMap<ValueIx, Template>,
    access: FxHashMap<ValueIx, Access>,
    /// Cost of a value with everything that could be inlined into it.
    full_cost: Vec<u32>,
    clusters: Vec<Cluster>,
    /// Values that must be computed before a symbol is bound.
    late: Late,
    node_depth: FxHashMap<NodeIx, u32>,
    is_output: Vec<bool>,
}

/// For each symbol that feeds' sizes do not bind: the values that must be computed before it is bound.
pub(crate) type Late = FxHashMap<Symbol, SmallVec<[ValueIx; 2]>>;

/// Partitions all of `inner`; every node is needed by `outputs`.
pub(crate) fn partition(inner: &Inner, outputs: &[ValueIx], late: Late) -> Result<Partition> {
    let count = inner.values.len();
    let mut this = Partitioner {
        inner,
        pending: vec![Pending::default(); count],
        homes: vec![Home::None; count],
        templates: FxHashMap::default(),
        access: FxHashMap::default(),
        full_cost: vec![0; count],
        clusters: Vec::new(),
        late,
        node_depth: FxHashMap::default(),
        is_output: vec![false; count],
    };
    this.lower_all()?;
    for &output in outputs {
        this.is_output[output.at()] = true;
        let pending = &mut this.pending[output.at()];
        pending.used = true;
        pending.forced = Some(Why::Output);
    }
    for index in (0..inner.nodes.len() as u32).rev().map(NodeIx) {
        this.settle(index);
    }
    Ok(this.finish())
}

impl Partitioner<'_> {
    fn lower_all(&mut self) -> Result<()> {
        for (number, node) in self.inner.nodes.iter().enumerate() {
            if !matches!(node.op.body, Body::Compute(_)) {
                continue;
            }
            for (output, value) in node.values().enumerate() {
                let template = self.inner.template(NodeIx(number as u32), output)?;
                let access = Access::of(&template.root);
                let operands = node.operands.iter().map(|operand| self.full_cost[operand.at()]);
                self.full_cost[value.at()] = operands.fold(access.cost, u32::saturating_add);
                self.templates.insert(value, template);
                self.access.insert(value, access);
            }
        }
        Ok(())
    }

    fn settle(&mut self, index: NodeIx) {
        let node = &self.inner.nodes[index.at()];
        let used = node.values().any(|value| self.pending[value.at()].used);
        match node.op.body {
            Body::Input | Body::Constant => {
                for value in node.values() {
                    self.homes[value.at()] = Home::Buffer(Why::Given);
                }
            }
            Body::Compute(_) => {
                let values: SmallVec<[ValueIx; 2]> = node.values().collect();
                if used && values.iter().any(|value| needs_interpreter(&self.access[value])) {
                    return self.settle_whole(index);
                }
                for value in values {
                    if self.pending[value.at()].used {
                        self.settle_value(index, value);
                    }
                }
            }
            _ if used => self.settle_whole(index),
            _ => {}
        }
    }

    /// A node that runs by itself: its outputs have buffers and so have its operands.
    fn settle_whole(&mut self, index: NodeIx) {
        let node = &self.inner.nodes[index.at()];
        let depth = node.values().map(|value| self.reader_depth(value)).max().unwrap_or(0) + 1;
        self.node_depth.insert(index, depth);
        for value in node.values() {
            self.homes[value.at()] = Home::Buffer(Why::Made);
            self.note_producer(value, depth);
        }
        for &operand in &node.operands {
            self.force(operand, Why::ReadWhole, depth);
        }
        for value in self.needed_by(index) {
            self.force(value, Why::ReadWhole, depth);
        }
    }

    /// The largest depth of a step that reads a value, in memory or inlined.
    fn reader_depth(&self, value: ValueIx) -> u32 {
        let pending = &self.pending[value.at()];
        let clusters =
            pending.places.iter().map(|(cluster, _)| *cluster).chain(pending.readers.iter().copied());
        clusters.map(|cluster| self.cluster(self.find(cluster)).depth).max().unwrap_or(0).max(pending.depth)
    }

    fn force(&mut self, value: ValueIx, why: Why, depth: u32) {
        let pending = &mut self.pending[value.at()];
        pending.used = true;
        pending.forced.get_or_insert(why);
        pending.depth = pending.depth.max(depth);
    }

    /// A cluster needs a value in memory before it runs.
    fn force_for(&mut self, value: ValueIx, why: Why, cluster: ClusterIx) {
        self.force(value, why, 0);
        let readers = &mut self.pending[value.at()].readers;
        if !readers.contains(&cluster) {
            readers.push(cluster);
        }
    }

    /// What must be known before a node is planned: parameters that are not known now, and the values that
    /// define the symbols of its shapes.
    fn needed_by(&self, index: NodeIx) -> SmallVec<[ValueIx; 4]> {
        let node = &self.inner.nodes[index.at()];
        let mut needed: SmallVec<[ValueIx; 4]> = SmallVec::new();
        if let Some(list) = node.op.operand_list() {
            let given = list.iter().enumerate().filter(|(i, _)| node.given & (1 << i) != 0);
            for ((_, operand), &value) in given.zip(&node.operands) {
                let elements = self.inner.values[value.at()].elements.as_ref();
                let known = elements
                    .is_some_and(|elements| self.inner.table.resolve_elements(elements).is_known())
                    && !self.inner.has_settled_elements(value);
                if matches!(operand, Operand::Size(_) | Operand::Structure(_)) && !known {
                    needed.push(value);
                }
            }
        }
        if !self.late.is_empty() {
            for value in node.values().chain(node.operands.iter().copied()) {
                for dim in self.inner.values[value.at()].shape.dims().unwrap_or_default() {
                    self.inner.table.resolve(dim).symbols(&mut |symbol| {
                        needed.extend(self.late.get(&symbol).into_iter().flatten().copied());
                    });
                }
            }
        }
        needed.retain(|value| self.inner.values[value.at()].node < index);
        needed
    }

    fn find(&self, mut cluster: ClusterIx) -> ClusterIx {
        while self.clusters[cluster.0 as usize].parent != cluster {
            cluster = self.clusters[cluster.0 as usize].parent;
        }
        cluster
    }

    fn cluster(&self, cluster: ClusterIx) -> &Cluster {
        &self.clusters[cluster.0 as usize]
    }

    /// The dimensions of a value that are not known to be 1, and the index of an element of it in them.
    fn domain(&self, value: ValueIx) -> (Vec<Dim>, SmallVec<[Index; 4]>) {
        let mut domain = Vec::new();
        let mut index = SmallVec::new();
        for dim in self.inner.values[value.at()].shape.dims().unwrap_or_default() {
            let dim = self.inner.table.resolve(dim);
            if dim.as_known() == Some(1) {
                index.push(Index::from(0));
            } else {
                index.push(Index::axis(Axis(domain.len() as u32)));
                domain.push(dim);
            }
        }
        (domain, index)
    }

    fn settle_value(&mut self, node: NodeIx, value: ValueIx) {
        let mut places: SmallVec<[Place; 1]> = SmallVec::new();
        for (cluster, index) in std::mem::take(&mut self.pending[value.at()].places) {
            let place = (self.find(cluster), index);
            if !places.contains(&place) {
                places.push(place);
            }
        }
        let why = match self.pending[value.at()].forced {
            Some(why) => why,
            None => match self.place_inline(node, value, &mut places) {
                Ok(()) => return,
                Err(why) => why,
            },
        };
        self.materialize(node, value, why, &places);
    }

    /// Inlines a value at all its places, or says why that cannot be.
    fn place_inline(
        &mut self,
        node: NodeIx,
        value: ValueIx,
        places: &mut SmallVec<[Place; 1]>,
    ) -> Result<(), Why> {
        if places.len() > 1 && self.full_cost[value.at()] > CHEAP {
            self.bring_together(value, places)?;
        }
        for (cluster, index) in places.iter() {
            self.may_inline(value, *cluster, index)?;
        }
        if places.len() > MAX_PLACES {
            return Err(Why::SeveralIndices);
        }
        self.homes[value.at()] = Home::Inlined;
        for (cluster, index) in places.clone() {
            self.enter(node, value, cluster, &index);
        }
        Ok(())
    }

    /// Merges the clusters that need a value at the whole of its domain.
    fn bring_together(&mut self, value: ValueIx, places: &mut SmallVec<[Place; 1]>) -> Result<(), Why> {
        let (domain, index) = self.domain(value);
        let whole =
            |this: &Self, (cluster, at): &Place| at == &index && this.cluster(*cluster).domain == domain;
        if !places.iter().all(|place| whole(self, place)) {
            return Err(Why::SeveralIndices);
        }
        let mut first = places[0].0;
        for (other, _) in places.clone().into_iter().skip(1) {
            first = self.merge(first, other).ok_or(Why::SeveralIndices)?;
        }
        places.truncate(1);
        places[0].0 = first;
        Ok(())
    }

    /// Makes one cluster of two of the same domain, if no path leads from one to the other.
    fn merge(&mut self, a: ClusterIx, b: ClusterIx) -> Option<ClusterIx> {
        let (a, b) = (self.find(a), self.find(b));
        if a == b {
            return Some(a);
        }
        let depth = self.cluster(a).depth.max(self.cluster(b).depth);
        let frontier: SmallVec<[ValueIx; 8]> = {
            let mut all = self.cluster(a).frontier.clone();
            all.extend(
                self.cluster(b).frontier.iter().filter(|v| !self.cluster(a).frontier.contains(v)).copied(),
            );
            all
        };
        let (ca, cb) = (self.cluster(a), self.cluster(b));
        let row = match (&ca.row, &cb.row) {
            (Row::None, row) | (row, Row::None) => row.clone(),
            (one, other) if one == other => one.clone(),
            _ => return None,
        };
        let fits = ca.cost + cb.cost <= MAX_COST
            && ca.arms.saturating_mul(cb.arms) <= MAX_ARMS
            && frontier.len() <= MAX_BUFFERS
            && (row == Row::None || ca.arms.max(cb.arms) == 1)
            && match &row {
                Row::Within(axes) => {
                    !axes.iter().any(|axis| ca.split.contains(axis) || cb.split.contains(axis))
                }
                Row::None | Row::Added(_) => true,
            }
            && (ca.depth == depth || depth < ca.producers)
            && (cb.depth == depth || depth < cb.producers);
        if !fits {
            return None;
        }
        let second = &mut self.clusters[b.0 as usize];
        second.parent = a;
        let (roots, members) = (std::mem::take(&mut second.roots), std::mem::take(&mut second.members));
        let split = std::mem::take(&mut second.split);
        let (cost, arms, producers) = (second.cost, second.arms, second.producers);
        let first = &mut self.clusters[a.0 as usize];
        first.roots.extend(roots);
        first.members.extend(members);
        first.split.extend(split);
        first.cost += cost;
        first.arms *= arms;
        first.producers = first.producers.min(producers);
        first.depth = depth;
        first.frontier = frontier;
        first.row = row;
        Some(a)
    }

    /// Whether a cluster takes a value at an index, by every limit there is.
    fn may_inline(&self, value: ValueIx, cluster: ClusterIx, index: &[Index]) -> Result<(), Why> {
        let access = &self.access[&value];
        let target = self.cluster(cluster);
        let operands =
            self.inner.node_of(value).operands.iter().filter(|operand| !target.frontier.contains(operand));
        if target.cost + access.cost > MAX_COST
            || target.arms.saturating_mul(access.arms) > MAX_ARMS
            || target.frontier.len().saturating_sub(1) + operands.count() > MAX_BUFFERS
        {
            return Err(Why::Full);
        }
        let quotients = index.iter().any(has_quotients);
        if quotients && (access.gathers || !access.folds.is_empty()) {
            return Err(Why::SeveralIndices);
        }
        // Pieces and quotients are resolved where sizes are known, run-time values are not.
        let mut has_values = false;
        index.iter().for_each(|index| index.for_each_value(&mut |_| has_values = true));
        let reads_split = access.reads.iter().any(|(_, read)| match read {
            Read::Element(read) => read.iter().any(has_quotients),
            Read::Flat => false,
        });
        if has_values && (access.arms > 1 || reads_split) {
            return Err(Why::SeveralIndices);
        }
        let row_axes = row_axes(target);
        let in_row = |axis: usize| row_axes.contains(&axis);
        let missing = missing_axes(target, index);
        let in_fold = target.row != Row::None;
        if in_fold {
            let rank = index.len();
            let mut splits_row = |index: &Index| split_axes(index).iter().any(|&axis| in_row(axis));
            let reads_split = access.reads.iter().any(|(_, read)| match read {
                Read::Element(read) => {
                    substitute(read, index, rank, access, &row_axes).iter().any(&mut splits_row)
                }
                Read::Flat => false,
            });
            if access.arms > 1 || reads_split || index.iter().any(splits_row) {
                return Err(Why::FoldBoundary);
            }
        }
        if !access.folds.is_empty() {
            return self.may_fold(access, target, index);
        }
        let costly = self.full_cost[value.at()] > CHEAP;
        if costly && (quotients || missing.iter().any(|axis| !in_row(*axis))) {
            return Err(if quotients { Why::SeveralIndices } else { Why::AddedAxis });
        }
        Ok(())
    }

    /// Whether the folds of a body can run over the row axes of a cluster.
    fn may_fold(&self, access: &Access, target: &Cluster, index: &[Index]) -> Result<(), Why> {
        let index = fold_index(access, index);
        let missing = &missing_axes(target, &index)[..];
        if access.mixed_folds || target.arms > 1 {
            return Err(Why::FoldBoundary);
        }
        let extents: Vec<Dim> = access.folds[0].iter().map(|(_, extent)| extent.clone()).collect();
        let on_row =
            row_axes(target).iter().any(|&axis| index.iter().any(|i| varies_with(i, Axis(axis as u32))));
        let plain = index.iter().all(|index| index.as_axis().is_some() || index.as_constant().is_some());
        if on_row || !plain {
            return Err(Why::FoldBoundary);
        }
        let extent = |axis: &usize| target.domain[*axis].clone();
        let fits = match &target.row {
            Row::None => {
                missing.is_empty()
                    || missing.iter().map(extent).collect::<Vec<_>>() == extents
                        && !missing.iter().any(|axis| target.split.contains(axis))
            }
            Row::Added(row) => missing.is_empty() && *row == extents,
            Row::Within(axes) => {
                missing == &axes[..] && axes.iter().map(extent).collect::<Vec<_>>() == extents
            }
        };
        if fits { Ok(()) } else { Err(Why::FoldBoundary) }
    }

    /// Puts a value into a cluster and hands its reads on to its operands.
    fn enter(&mut self, node: NodeIx, value: ValueIx, cluster: ClusterIx, index: &[Index]) {
        let access = self.access[&value].clone();
        {
            let target = &mut self.clusters[cluster.0 as usize];
            target.members.push(value);
            target.cost += access.cost;
            target.arms = target.arms.saturating_mul(access.arms);
            target.frontier.retain(|other| *other != value);
            if let Some(fold) = access.folds.first()
                && target.row == Row::None
            {
                let extents: Vec<Dim> = fold.iter().map(|(_, extent)| extent.clone()).collect();
                let missing = missing_axes(target, &fold_index(&access, index));
                let same = missing.iter().map(|axis| &target.domain[*axis]).eq(&extents);
                target.row =
                    if same && !missing.is_empty() { Row::Within(missing) } else { Row::Added(extents) };
            }
        }
        let row = row_axes(self.cluster(cluster));
        let rank = index.len();
        let operands = self.inner.nodes[node.at()].operands.clone();
        for (operand, read) in &access.reads {
            let source = operands[*operand as usize];
            let target = &mut self.clusters[cluster.0 as usize];
            if !target.frontier.contains(&source) {
                target.frontier.push(source);
            }
            match read {
                Read::Flat => self.force_for(source, Why::ReadFlat, cluster),
                Read::Element(read) => {
                    let at = substitute(read, index, rank, &access, &row);
                    target.split.extend(at.iter().flat_map(split_axes));
                    let pending = &mut self.pending[source.at()];
                    pending.used = true;
                    let place = (cluster, at);
                    if !pending.places.contains(&place) {
                        if pending.places.len() > 4 * MAX_PLACES {
                            self.force_for(source, Why::SeveralIndices, cluster);
                        } else {
                            pending.places.push(place);
                        }
                    }
                }
            }
        }
        for value in self.needed_by(node) {
            self.force_for(value, Why::ReadWhole, cluster);
        }
    }

    /// Tells the clusters that read a value how deep its maker is.
    fn note_producer(&mut self, value: ValueIx, depth: u32) {
        let pending = std::mem::take(&mut self.pending[value.at()]);
        for cluster in pending.places.into_iter().map(|(cluster, _)| cluster).chain(pending.readers) {
            let cluster = self.find(cluster);
            let reader = &mut self.clusters[cluster.0 as usize];
            reader.producers = reader.producers.min(depth);
        }
    }

    fn materialize(&mut self, node: NodeIx, value: ValueIx, why: Why, places: &[Place]) {
        self.pending[value.at()].places = places.iter().cloned().collect();
        if self.inner.nodes[node.at()].op.is_reinterpretation() {
            let source = self.inner.nodes[node.at()].operands[0];
            let given = matches!(self.inner.node_of(source).op.body, Body::Input | Body::Constant);
            if !given || !self.is_output[value.at()] {
                self.homes[value.at()] = Home::Alias(source);
                self.force(source, why, self.reader_depth(value));
                // Whoever reads the alias waits for the maker of the source.
                let pending = std::mem::take(&mut self.pending[value.at()]);
                let needed = self.needed_by(node);
                for cluster in pending.places.into_iter().map(|(cluster, _)| cluster).chain(pending.readers) {
                    self.force_for(source, why, cluster);
                    for &other in &needed {
                        self.force_for(other, Why::ReadWhole, cluster);
                    }
                }
                for other in needed {
                    self.force(other, Why::ReadWhole, pending.depth);
                }
                return;
            }
        }
        self.homes[value.at()] = Home::Buffer(why);
        if let Some(cluster) = self.join_as_root(value, places) {
            self.pending[value.at()].places.clear();
            self.note_producer(value, self.cluster(cluster).depth);
            self.clusters[cluster.0 as usize].roots.push(value);
            let index = self.domain(value).1;
            self.enter(node, value, cluster, &index);
            return;
        }
        let depth = self.reader_depth(value) + 1;
        self.note_producer(value, depth);
        let (domain, index) = self.domain(value);
        let cluster = ClusterIx(self.clusters.len() as u32);
        self.clusters.push(Cluster {
            parent: cluster,
            domain,
            row: Row::None,
            roots: vec![value],
            members: Vec::new(),
            cost: 0,
            arms: 1,
            frontier: SmallVec::new(),
            split: SmallVec::new(),
            depth,
            producers: u32::MAX,
        });
        self.enter(node, value, cluster, &index);
    }

    /// A cluster that needs the value at the whole of its domain stores it as well, if everyone else who
    /// reads it from memory runs later.
    fn join_as_root(&self, value: ValueIx, places: &[Place]) -> Option<ClusterIx> {
        let [(cluster, at)] = places else { return None };
        let (domain, index) = self.domain(value);
        let target = self.cluster(*cluster);
        let pending = &self.pending[value.at()];
        if at != &index || target.domain != domain || self.may_inline(value, *cluster, at).is_err() {
            return None;
        }
        let readers = pending.readers.iter().map(|reader| self.cluster(self.find(*reader)).depth);
        (pending.depth.max(readers.max().unwrap_or(0)) < target.depth).then_some(*cluster)
    }

    fn finish(self) -> Partition {
        let mut steps: Vec<(u32, u32, Planned)> = Vec::new();
        for (number, cluster) in self.clusters.iter().enumerate() {
            let number = ClusterIx(number as u32);
            if cluster.parent == number {
                let first = cluster.roots.iter().map(|root| root.0).min().unwrap_or(0);
                steps.push((cluster.depth, first, Planned::Cluster(number)));
            }
        }
        for (&node, &depth) in &self.node_depth {
            steps.push((depth, self.inner.nodes[node.at()].first_output.0, Planned::Node(node)));
        }
        steps.sort_by_key(|(depth, first, _)| (u32::MAX - depth, *first));
        let needs = steps
            .iter()
            .map(|(_, _, step)| match step {
                Planned::Node(node) => self.needed_by(*node).to_vec(),
                Planned::Cluster(cluster) => {
                    let members = &self.cluster(*cluster).members;
                    let nodes = members.iter().map(|member| self.inner.values[member.at()].node);
                    nodes.flat_map(|node| self.needed_by(node)).collect()
                }
            })
            .collect();
        Partition {
            needs,
            homes: self.homes,
            templates: self.templates,
            clusters: self.clusters,
            steps: steps.into_iter().map(|(_, _, step)| step).collect(),
        }
    }
}

/// The row axes of a cluster by number.
pub(crate) fn row_axes(cluster: &Cluster) -> SmallVec<[usize; 4]> {
    match &cluster.row {
        Row::None => SmallVec::new(),
        Row::Added(row) => (cluster.domain.len()..cluster.domain.len() + row.len()).collect(),
        Row::Within(axes) => axes.iter().copied().collect(),
    }
}

/// The indices that decide where the folds of a body are.
fn fold_index(access: &Access, index: &[Index]) -> Vec<Index> {
    access.fold_depends.iter().filter_map(|axis| index.get(axis.0 as usize).cloned()).collect()
}

/// The axes of a cluster's domain along which an index does not vary.
fn missing_axes(cluster: &Cluster, index: &[Index]) -> Vec<usize> {
    let varies = |axis: usize| index.iter().any(|index| varies_with(index, Axis(axis as u32)));
    (0..cluster.domain.len()).filter(|&axis| !varies(axis)).collect()
}

/// Whether a body has a form that kernels do not take: folds of different extents, or pieces or quotients along
/// the axes of a fold.
fn needs_interpreter(access: &Access) -> bool {
    if access.folds.is_empty() {
        return false;
    }
    let folded = |axis: usize| access.folds.iter().flatten().any(|(other, _)| other.0 as usize == axis);
    let splits = access.reads.iter().any(|(_, read)| match read {
        Read::Element(read) => read.iter().flat_map(split_axes).any(folded),
        Read::Flat => false,
    });
    access.mixed_folds || access.arms > 1 || splits
}

/// The axes inside quotients and remainders of an index.
fn split_axes(index: &Index) -> SmallVec<[usize; 4]> {
    let mut axes = SmallVec::new();
    for (atom, _) in &index.terms {
        if let Atom::FloorDiv(inner, _) | Atom::Mod(inner, _) = atom {
            inner.for_each_axis(&mut |axis| axes.push(axis.0 as usize));
        }
    }
    axes
}

/// A read of a template at an index of its output, in the axes of a cluster.
fn substitute(
    read: &[Index],
    index: &[Index],
    rank: usize,
    access: &Access,
    row: &[usize],
) -> SmallVec<[Index; 4]> {
    let mut axes = |axis: Axis| {
        if (axis.0 as usize) < rank {
            return index[axis.0 as usize].clone();
        }
        let position = access.folds.iter().find_map(|fold| fold.iter().position(|(other, _)| *other == axis));
        match position.and_then(|position| row.get(position)) {
            Some(&axis) => Index::axis(Axis(axis as u32)),
            None => Index::axis(axis),
        }
    };
    read.iter().map(|read| read.substitute(&mut axes, &mut |expr| expr.clone())).collect()
}
