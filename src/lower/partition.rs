//! `partition`: which values get memory, and which nodes are computed together, by a rule free of sizes.
//!
//! Nodes are visited from the last to the first, so that every consumer of a value is settled before it.
//! A value's *places* are the indices at which its consumers need it, in the axes of their clusters. A value
//! with one place is inlined there; a cheap one is inlined at every place; an expensive one needed at equal
//! indices by clusters of one domain brings these clusters together; everything else is materialized.

use rustc_hash::FxHashMap;
use shapeflow_shape_fns::{Dim, Symbol};
use smallvec::SmallVec;

use super::access::Access;
use super::cluster::{Cluster, ClusterIx, needs_interpreter};
use super::home::{Home, Why};
use crate::error::Result;
use crate::eval::Template;
use crate::expr::{Axis, Index};
use crate::graph::{GraphData, NodeIx, ValueIx};
use crate::op::Body;

/// A value of at most this many primitive operations, with all that is inlined into it, is computed again
/// rather than stored.
pub(super) const CHEAP: u32 = 4;
/// A value needed at more indices than this is stored.
pub(super) const MAX_PLACES: usize = 4;

/// One step of a program, before it is lowered.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Planned {
    Cluster(ClusterIx),
    Node(NodeIx),
}

/// The outcome: a home for every value, and the steps in order.
pub(crate) struct Partition {
    pub homes: Vec<Home>,
    /// By value: its body, if it has one.
    pub templates: Vec<Option<Template>>,
    pub clusters: Vec<Cluster>,
    pub steps: Vec<Planned>,
    /// For each step, the values that must be known when it is planned.
    pub needs: Vec<Vec<ValueIx>>,
}

pub(super) type Place = (ClusterIx, SmallVec<[Index; 4]>);

#[derive(Default, Clone)]
pub(super) struct Pending {
    pub(super) places: SmallVec<[Place; 1]>,
    forced: Option<Why>,
    /// Clusters that need the value in memory.
    readers: SmallVec<[ClusterIx; 1]>,
    /// The largest depth of a step that needs the value in memory.
    depth: u32,
    pub(super) used: bool,
}

pub(super) struct Partitioner<'a> {
    pub(super) graph: &'a GraphData,
    pub(super) pending: Vec<Pending>,
    pub(super) homes: Vec<Home>,
    templates: Vec<Option<Template>>,
    /// By value: how its body reads; nothing of values that are not computed by a body.
    pub(super) access: Vec<Access>,
    /// Cost of a value with everything that could be inlined into it.
    pub(super) full_cost: Vec<u32>,
    /// Whether a value is made from results of folds.
    pub(super) folds: Vec<bool>,
    pub(super) clusters: Vec<Cluster>,
    /// Values that must be computed before a symbol is bound.
    late: Late,
    node_depth: FxHashMap<NodeIx, u32>,
    is_output: Vec<bool>,
}

/// For each symbol that feeds' sizes do not bind: the values that must be computed before it is bound.
pub(crate) type Late = FxHashMap<Symbol, SmallVec<[ValueIx; 2]>>;

/// Partitions all of `graph`; every node is needed by `outputs`. What is `watched` has memory, as outputs have.
pub(crate) fn partition(
    graph: &GraphData,
    outputs: &[ValueIx],
    late: Late,
    watched: &[ValueIx],
) -> Result<Partition> {
    let count = graph.values.len();
    let mut this = Partitioner {
        graph,
        pending: vec![Pending::default(); count],
        homes: vec![Home::None; count],
        templates: (0..count).map(|_| None).collect(),
        access: vec![Access::default(); count],
        full_cost: vec![0; count],
        folds: vec![false; count],
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
    for &value in watched {
        this.force(value, Why::ReadWhole, 0);
    }
    for index in (0..graph.nodes.len() as u32).rev().map(NodeIx) {
        this.settle(index);
    }
    Ok(this.finish())
}

impl Partitioner<'_> {
    fn lower_all(&mut self) -> Result<()> {
        for (number, node) in self.graph.nodes.iter().enumerate() {
            if !matches!(node.op.body, Body::Compute(_)) {
                continue;
            }
            for (output, value) in node.values().enumerate() {
                let template = self.graph.template(NodeIx(number as u32), output)?;
                let access = Access::of(&template.order);
                let operands = node.operands.iter().map(|operand| self.full_cost[operand.at()]);
                self.full_cost[value.at()] = operands.fold(access.cost, u32::saturating_add);
                let mut operands = node.operands.iter();
                self.folds[value.at()] =
                    !access.folds.is_empty() || operands.any(|operand| self.folds[operand.at()]);
                self.templates[value.at()] = Some(template);
                self.access[value.at()] = access;
            }
        }
        Ok(())
    }

    fn settle(&mut self, index: NodeIx) {
        let node = &self.graph.nodes[index.at()];
        let used = node.values().any(|value| self.pending[value.at()].used);
        match node.op.body {
            Body::Input | Body::Constant => {
                for value in node.values() {
                    self.homes[value.at()] = Home::Buffer(Why::Given);
                }
            }
            Body::Compute(_) => {
                let values: SmallVec<[ValueIx; 2]> = node.values().collect();
                if used && values.iter().any(|value| needs_interpreter(&self.access[value.at()])) {
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
        let node = &self.graph.nodes[index.at()];
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
    pub(super) fn force_for(&mut self, value: ValueIx, why: Why, cluster: ClusterIx) {
        self.force(value, why, 0);
        let readers = &mut self.pending[value.at()].readers;
        if !readers.contains(&cluster) {
            readers.push(cluster);
        }
    }

    /// What must be known before a node is planned: parameters that are not known now, and the values that
    /// define the symbols of its shapes.
    pub(super) fn needed_by(&self, index: NodeIx) -> SmallVec<[ValueIx; 4]> {
        let node = &self.graph.nodes[index.at()];
        let mut needed: SmallVec<[ValueIx; 4]> = SmallVec::new();
        for (_, value) in node.parameters() {
            let elements = self.graph.values[value.at()].elements.as_ref();
            let known = elements
                .is_some_and(|elements| self.graph.table.resolve_elements(elements).is_known())
                && !self.graph.has_settled_elements(value);
            if !known {
                needed.push(value);
            }
        }
        if !self.late.is_empty() {
            for value in node.values().chain(node.operands.iter().copied()) {
                for dim in self.graph.values[value.at()].shape.dims().unwrap_or_default() {
                    self.graph.table.resolve(dim).symbols(&mut |symbol| {
                        needed.extend(self.late.get(&symbol).into_iter().flatten().copied());
                    });
                }
            }
        }
        needed.retain(|value| self.graph.values[value.at()].node < index);
        needed
    }

    pub(super) fn find(&self, mut cluster: ClusterIx) -> ClusterIx {
        while self.clusters[cluster.0 as usize].parent != cluster {
            cluster = self.clusters[cluster.0 as usize].parent;
        }
        cluster
    }

    pub(super) fn cluster(&self, cluster: ClusterIx) -> &Cluster {
        &self.clusters[cluster.0 as usize]
    }

    /// The dimensions of a value that are not known to be 1, and the index of an element of it in them.
    pub(super) fn domain(&self, value: ValueIx) -> (Vec<Dim>, SmallVec<[Index; 4]>) {
        let mut domain = Vec::new();
        let mut index = SmallVec::new();
        for dim in self.graph.values[value.at()].shape.dims().unwrap_or_default() {
            let dim = self.graph.table.resolve(dim);
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
        if self.graph.nodes[node.at()].op.is_reinterpretation() {
            let source = self.graph.nodes[node.at()].operands[0];
            let given = matches!(self.graph.node_of(source).op.body, Body::Input | Body::Constant);
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
        self.clusters.push(Cluster::new(cluster, domain, value, depth));
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
            steps.push((depth, self.graph.nodes[node.at()].first_output.0, Planned::Node(node)));
        }
        steps.sort_by_key(|(depth, first, _)| (u32::MAX - depth, *first));
        let needs = steps
            .iter()
            .map(|(_, _, step)| match step {
                Planned::Node(node) => self.needed_by(*node).to_vec(),
                Planned::Cluster(cluster) => {
                    let members = &self.cluster(*cluster).members;
                    let nodes = members.iter().map(|member| self.graph.values[member.at()].node);
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
