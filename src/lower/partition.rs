//! [`partition`]: which values are stored, and which nodes form a cluster. The rules depend on no size.
//!
//! To *place* a node is to inline or store each of its values. Nodes are placed from the last to the first, so every
//! consumer of a value is placed before the value. A *use* of a value is the index at which a cluster reads the value,
//! in the axes of the cluster. The rules:
//! - A value that must be in memory is stored, such as an output or an operand of a host kernel.
//! - A value with one use is inlined there. A cheap value with a few uses is inlined at each of them.
//! - If clusters of one domain use a costly value at the same index, they are merged, and the value is inlined.
//! - Every other value is stored. A value that a cluster refuses is stored too ([`Cluster::check_member`]).

use rustc_hash::FxHashMap;
use shapeflow_shape_fns::{Dim, Symbol};
use smallvec::SmallVec;

use super::access::Access;
use super::cluster::{Cluster, ClusterIx};
use super::placement::{MaterializeReason, Placement};
use super::ranked_dims::ranked_dims;
use crate::error::Result;
use crate::eval::Template;
use crate::expr::{Axis, Index};
use crate::graph::{GraphData, NodeIx, ValueIx};
use crate::op::Body;

/// A value of at most this many primitive operations, inlined operands included, is computed again rather than stored.
pub(super) const CHEAP: u32 = 4;
/// A value with more uses than this is stored.
pub(super) const MAX_USES: usize = 4;

/// One step of a program, before its kernel is built.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum PlannedStep {
    Cluster(ClusterIx),
    Node(NodeIx),
}

/// A placement for every value, and the steps in the order in which they run.
pub(crate) struct Partition {
    /// The placement of each value.
    pub placements: Vec<Placement>,
    /// For each value: its body, if it has one.
    pub templates: Vec<Option<Template>>,
    pub clusters: Vec<Cluster>,
    pub steps: Vec<PlannedStep>,
    /// For each step: the values that must be in memory before the sizes of the step can be planned.
    pub known_before: Vec<Vec<ValueIx>>,
}

/// A cluster, and the index at which it reads a value.
pub(super) type Use = (ClusterIx, SmallVec<[Index; 4]>);

/// What the placed consumers of a value need from the value.
#[derive(Default, Clone)]
pub(super) struct Pending {
    pub(super) uses: SmallVec<[Use; 1]>,
    /// Why the value must be stored. `None` if the uses of the value decide.
    pub(super) stored: Option<MaterializeReason>,
    /// The clusters that need the value in memory.
    pub(super) readers: SmallVec<[ClusterIx; 1]>,
    /// The largest depth of a step, other than the clusters in `readers`, that needs the value in memory. A step with a
    /// larger depth runs earlier.
    pub(super) depth: u32,
    /// Whether a step or an output reads the value.
    pub(super) is_live: bool,
}

/// The state of a partition. Vectors are indexed by value, apart from `clusters`.
pub(super) struct Partitioner<'a> {
    pub(super) graph: &'a GraphData,
    pub(super) pending: Vec<Pending>,
    pub(super) placements: Vec<Placement>,
    templates: Vec<Option<Template>>,
    /// For each value: how its body reads operands. Empty for a value without a body.
    pub(super) access: Vec<Access>,
    /// For each value: the cost of the value and of all values that could be inlined into it.
    pub(super) full_cost: Vec<u32>,
    /// For each value: whether the value depends on results of reductions.
    pub(super) reduces: Vec<bool>,
    pub(super) clusters: Vec<Cluster>,
    late: LateSymbols,
    /// The depth of each node that runs by itself.
    node_depth: FxHashMap<NodeIx, u32>,
    pub(super) is_output: Vec<bool>,
}

/// For each symbol that the sizes of inputs do not bind: the values that must be computed before it is bound.
pub(crate) type LateSymbols = FxHashMap<Symbol, SmallVec<[ValueIx; 2]>>;

/// Partitions `graph`. An output must need every node of the graph; it may need only the shape of a node. The outputs
/// and the `watched` values are stored.
pub(crate) fn partition(
    graph: &GraphData,
    outputs: &[ValueIx],
    late: LateSymbols,
    watched: &[ValueIx],
) -> Result<Partition> {
    let count = graph.values.len();
    let mut this = Partitioner {
        graph,
        pending: vec![Pending::default(); count],
        placements: vec![Placement::Unused; count],
        templates: (0..count).map(|_| None).collect(),
        access: vec![Access::default(); count],
        full_cost: vec![0; count],
        reduces: vec![false; count],
        clusters: Vec::new(),
        late,
        node_depth: FxHashMap::default(),
        is_output: vec![false; count],
    };
    this.describe_values()?;
    for &output in outputs {
        this.is_output[output.index()] = true;
        let pending = &mut this.pending[output.index()];
        pending.is_live = true;
        pending.stored = Some(MaterializeReason::Output);
    }
    for &value in watched {
        this.store(value, MaterializeReason::ReadByPlanner, 0);
    }
    for index in (0..graph.nodes.len() as u32).rev().map(NodeIx) {
        this.place(index);
    }
    Ok(this.finish())
}

impl Partitioner<'_> {
    /// Derives the body, access and cost of every value that a body computes.
    fn describe_values(&mut self) -> Result<()> {
        for (number, node) in self.graph.nodes.iter().enumerate() {
            for (output, value) in node.values().enumerate() {
                if !node.op.is_expression(self.graph.values[value.index()].dtype) {
                    continue;
                }
                let template = self.graph.template(NodeIx(number as u32), output)?;
                let access = Access::of(&template.order);
                let operands = node.operands.iter().map(|operand| self.full_cost[operand.index()]);
                self.full_cost[value.index()] = operands.fold(access.cost, u32::saturating_add);
                let mut operands = node.operands.iter();
                self.reduces[value.index()] =
                    !access.reduces.is_empty() || operands.any(|operand| self.reduces[operand.index()]);
                self.templates[value.index()] = Some(template);
                self.access[value.index()] = access;
            }
        }
        Ok(())
    }

    /// Inlines or stores the values of a node, whose consumers are all placed.
    fn place(&mut self, index: NodeIx) {
        let node = &self.graph.nodes[index.index()];
        let is_live = node.values().any(|value| self.pending[value.index()].is_live);
        match node.op.body {
            Body::Input | Body::Constant => {
                for value in node.values() {
                    self.placements[value.index()] = Placement::Buffer(MaterializeReason::Given);
                }
            }
            _ if self.is_expression(index) => {
                let values: SmallVec<[ValueIx; 2]> = node.values().collect();
                if is_live
                    && (values.iter().any(|value| self.needs_step(index, *value)) || self.runs_whole(index))
                {
                    return self.place_single_node(index);
                }
                for value in values {
                    if self.pending[value.index()].is_live {
                        self.place_value(index, value);
                    }
                }
            }
            _ if is_live => self.place_single_node(index),
            _ => {}
        }
    }

    /// Returns whether a kernel may compute the values of a node.
    pub(super) fn is_expression(&self, index: NodeIx) -> bool {
        let node = &self.graph.nodes[index.index()];
        node.values()
            .next()
            .is_some_and(|value| node.op.is_expression(self.graph.values[value.index()].dtype))
    }

    /// Makes a node a step of its own. The results and operands of the node are stored.
    fn place_single_node(&mut self, index: NodeIx) {
        let node = &self.graph.nodes[index.index()];
        let depth = node.values().map(|value| self.reader_depth(value)).max().unwrap_or(0) + 1;
        self.node_depth.insert(index, depth);
        for value in node.values() {
            self.placements[value.index()] = self.single_node_placement(index, value);
            self.note_producer(value, depth);
        }
        let reader = match node.op.body {
            Body::Contraction { .. } => MaterializeReason::ReadByMatMul,
            Body::Compute(_) if node.op.whole_fn().is_some() => MaterializeReason::ReadByLoop,
            _ => MaterializeReason::ReadByHostKernel,
        };
        for &operand in &node.operands {
            self.store(operand, reader, depth);
        }
        for value in self.known_before(index) {
            self.store(value, MaterializeReason::ReadByPlanner, depth);
        }
    }

    /// Returns the values that must be in memory before a node can be planned: parameters whose elements are not known
    /// at compile time, and values that define symbols of the node's shapes and attributes.
    pub(super) fn known_before(&self, index: NodeIx) -> SmallVec<[ValueIx; 4]> {
        let node = &self.graph.nodes[index.index()];
        let mut required: SmallVec<[ValueIx; 4]> = SmallVec::new();
        for (_, value) in node.parameters() {
            let elements = self.graph.values[value.index()].elements.as_ref();
            let known = elements
                .is_some_and(|elements| self.graph.table.resolve_elements(elements).is_known())
                // The run must check an equality of elements, so it needs them in memory.
                && !self.graph.has_equated_elements(value);
            if !known {
                required.push(value);
            }
        }
        if !self.late.is_empty() {
            let mut require = |dim: &Dim| {
                self.graph.table.resolve(dim).symbols(&mut |symbol| {
                    required.extend(self.late.get(&symbol).into_iter().flatten().copied());
                });
            };
            for value in node.values().chain(node.operands.iter().copied()) {
                // The result of a host kernel may have an unknown rank. Such a result has no dims to wait for.
                self.graph.values[value.index()]
                    .shape
                    .dims()
                    .unwrap_or_default()
                    .iter()
                    .for_each(&mut require);
            }
            // A body may compute with a dim that is in no shape, such as the start of a range.
            node.attrs().symbols(&mut |symbol| require(&Dim::from(symbol)));
        }
        required.retain(|value| self.graph.values[value.index()].node < index);
        required
    }

    /// Returns the representative of a cluster.
    pub(super) fn find(&self, mut cluster: ClusterIx) -> ClusterIx {
        while self.clusters[cluster.0 as usize].parent != cluster {
            cluster = self.clusters[cluster.0 as usize].parent;
        }
        cluster
    }

    /// Returns a cluster by number.
    pub(super) fn cluster(&self, cluster: ClusterIx) -> &Cluster {
        &self.clusters[cluster.0 as usize]
    }

    /// Returns the dimensions of a value that are not known to be 1, and the index of its element in these axes.
    pub(super) fn domain(&self, value: ValueIx) -> (Vec<Dim>, SmallVec<[Index; 4]>) {
        let mut domain = Vec::new();
        let mut index = SmallVec::new();
        for dim in ranked_dims(self.graph, value) {
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

    /// Inlines or stores a value.
    fn place_value(&mut self, node: NodeIx, value: ValueIx) {
        let mut uses: SmallVec<[Use; 1]> = SmallVec::new();
        for (cluster, index) in std::mem::take(&mut self.pending[value.index()].uses) {
            let new = (self.find(cluster), index);
            if !uses.contains(&new) {
                uses.push(new);
            }
        }
        let reason = match self.pending[value.index()].stored {
            Some(reason) => reason,
            None => match self.try_inline(node, value, &mut uses) {
                Ok(()) => return,
                Err(reason) => reason,
            },
        };
        self.materialize(node, value, reason, &uses);
    }

    /// Sorts the steps by falling depth, then by their first value.
    fn finish(self) -> Partition {
        let mut steps: Vec<(u32, u32, PlannedStep)> = Vec::new();
        for (number, cluster) in self.clusters.iter().enumerate() {
            let number = ClusterIx(number as u32);
            if cluster.parent == number {
                let first = cluster
                    .roots
                    .iter()
                    .map(|root| root.0)
                    .min()
                    .expect("a cluster that is not merged has a root");
                steps.push((cluster.depth, first, PlannedStep::Cluster(number)));
            }
        }
        for (&node, &depth) in &self.node_depth {
            steps.push((depth, self.graph.nodes[node.index()].first_output.0, PlannedStep::Node(node)));
        }
        steps.sort_by_key(|(depth, first, _)| (u32::MAX - depth, *first));
        let known_before = steps
            .iter()
            .map(|(_, _, step)| match step {
                PlannedStep::Node(node) => self.known_before(*node).to_vec(),
                PlannedStep::Cluster(cluster) => {
                    let members = &self.cluster(*cluster).members;
                    let nodes = members.iter().map(|member| self.graph.values[member.index()].node);
                    nodes.flat_map(|node| self.known_before(node)).collect()
                }
            })
            .collect();
        Partition {
            known_before,
            placements: self.placements,
            templates: self.templates,
            clusters: self.clusters,
            steps: steps.into_iter().map(|(_, _, step)| step).collect(),
        }
    }
}
