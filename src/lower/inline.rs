//! Inlining: adds a value to the clusters that read it, and records where these clusters read its operands; decides
//! which values no cluster computes.

use smallvec::SmallVec;

use super::access::Read;
use super::cluster::{Cluster, ClusterIx, Recomputation, needs_interpreter, quotient_axes, substitute};
use super::partition::{CHEAP, MAX_USES, Partitioner, Use};
use super::placement::{MaterializeReason, Placement};
use crate::expr::Index;
use crate::graph::{NodeIx, ValueIx};
use crate::op::Body;

impl Partitioner<'_> {
    /// Returns whether a value of a node with a compute body needs a step of its own, because no kernel computes it.
    pub(super) fn needs_step(&self, node: NodeIx, value: ValueIx) -> bool {
        needs_interpreter(&self.access[value.index()]) && !self.can_alias(node, value)
    }

    /// Returns whether a loop of this crate, and not a kernel, runs a node with a compute body: all readers of the
    /// node's value read it from memory, and no cluster could compute the operand.
    pub(super) fn runs_whole(&self, node: NodeIx) -> bool {
        let node = &self.graph.nodes[node.index()];
        let (Some(_), Some(&operand), Some(value)) =
            (node.op.whole_fn(), node.operands.first(), node.values().next())
        else {
            return false;
        };
        let producer = &self.graph.node_of(operand).op;
        let is_stored = !self.is_expression(self.graph.values[operand.index()].node)
            || producer.is_reinterpretation()
            || self.pending[operand.index()].stored.is_some();
        let pending = &self.pending[value.index()];
        is_stored && pending.stored.is_some() && pending.uses.is_empty()
    }

    /// Returns whether a stored value may share the memory of its node's operand 0.
    pub(super) fn can_alias(&self, node: NodeIx, value: ValueIx) -> bool {
        let node = &self.graph.nodes[node.index()];
        let is_given = |source| matches!(self.graph.node_of(source).op.body, Body::Input | Body::Constant);
        node.op.is_reinterpretation() && !(self.is_output[value.index()] && is_given(node.operands[0]))
    }

    /// Returns the placement of a result of a node that runs by itself. If a host kernel only checks the elements of
    /// its operand, the result shares the memory of the operand. Any other result has a buffer.
    pub(super) fn single_node_placement(&self, node: NodeIx, value: ValueIx) -> Placement {
        let (node, info) = (&self.graph.nodes[node.index()], &self.graph.values[value.index()]);
        let shares_memory = matches!(node.op.body, Body::Host(_))
            && node.op.is_reinterpretation()
            && info.dtype.size_bytes().is_some()
            && info.shape.rank().is_some()
            // A kernel copies its operand to an output of the graph itself, while the elements are in the caches.
            && !self.is_output[value.index()];
        if shares_memory {
            return Placement::Alias(node.operands[0]);
        }
        Placement::Buffer(MaterializeReason::SingleNodeResult)
    }

    /// Inlines a value at all its uses.
    ///
    /// # Errors
    /// The reason why the value must be stored instead.
    pub(super) fn try_inline(
        &mut self,
        node: NodeIx,
        value: ValueIx,
        uses: &mut SmallVec<[Use; 1]>,
    ) -> Result<(), MaterializeReason> {
        if uses.len() > 1 && self.full_cost[value.index()] > CHEAP {
            self.merge_users(value, uses)?;
        }
        for (number, (cluster, index)) in uses.iter().enumerate() {
            self.check_inline(value, *cluster, index)?;
            // The first use of a reduction may give a cluster its row. The other uses must fit this row too.
            let first = uses[..number].iter().find(|(other, _)| other == cluster);
            let with_row =
                |(_, first): &Use| self.cluster(*cluster).with_row_of(&self.access[value.index()], first);
            if let Some(target) = first.and_then(with_row) {
                self.check_inline_in(&target, value, index)?;
            }
        }
        if uses.len() > MAX_USES {
            return Err(MaterializeReason::SeveralIndices);
        }
        self.placements[value.index()] = Placement::Inlined;
        for (cluster, index) in uses.clone() {
            self.add_member(node, value, cluster, &index);
        }
        Ok(())
    }

    /// Merges the clusters that use a value, if each cluster has the value's domain and reads, at every point of the
    /// domain, the element at this point.
    fn merge_users(
        &mut self,
        value: ValueIx,
        uses: &mut SmallVec<[Use; 1]>,
    ) -> Result<(), MaterializeReason> {
        let (domain, index) = self.domain(value);
        let reads_same_point = |this: &Self, (cluster, used_at): &Use| {
            used_at == &index && this.cluster(*cluster).domain == domain
        };
        if !uses.iter().all(|used| reads_same_point(self, used)) {
            return Err(MaterializeReason::SeveralIndices);
        }
        let mut first = uses[0].0;
        for (other, _) in uses.clone().into_iter().skip(1) {
            first = self.merge(first, other).ok_or(MaterializeReason::SeveralIndices)?;
        }
        uses.truncate(1);
        uses[0].0 = first;
        Ok(())
    }

    /// Merges two clusters of the same domain, if [`Cluster::joined`](super::cluster::Cluster::joined) allows it.
    /// Returns the representative.
    fn merge(&mut self, a: ClusterIx, b: ClusterIx) -> Option<ClusterIx> {
        let (a, b) = (self.find(a), self.find(b));
        if a == b {
            return Some(a);
        }
        let joined = self.cluster(a).joined(self.cluster(b))?;
        let second = &mut self.clusters[b.0 as usize];
        second.parent = a;
        (second.roots, second.members) = (Vec::new(), Vec::new());
        self.clusters[a.0 as usize] = joined;
        Some(a)
    }

    /// Checks that a cluster may compute a value at an index.
    ///
    /// # Errors
    /// The reason why the value must be stored instead.
    pub(super) fn check_inline(
        &self,
        value: ValueIx,
        cluster: ClusterIx,
        index: &[Index],
    ) -> Result<(), MaterializeReason> {
        self.check_inline_in(self.cluster(cluster), value, index)
    }

    fn check_inline_in(
        &self,
        cluster: &Cluster,
        value: ValueIx,
        index: &[Index],
    ) -> Result<(), MaterializeReason> {
        let recomputation = Recomputation {
            is_costly: self.full_cost[value.index()] > CHEAP,
            reads_reductions: self.reduces[value.index()],
        };
        let operands = &self.graph.node_of(value).operands;
        cluster.check_member(&self.access[value.index()], recomputation, operands, index)
    }

    /// Adds a value to a cluster, which computes it at `index`, and records the resulting uses of its operands.
    pub(super) fn add_member(&mut self, node: NodeIx, value: ValueIx, cluster: ClusterIx, index: &[Index]) {
        let access = std::mem::take(&mut self.access[value.index()]);
        {
            let target = &mut self.clusters[cluster.0 as usize];
            target.members.push(value);
            target.cost += access.cost;
            target.variants = target.variants.saturating_mul(access.variants);
            target.frontier.retain(|other| *other != value);
            target.row = target.row_with(&access, index);
        }
        let row = self.cluster(cluster).row_axes();
        let rank = index.len();
        let operands = &self.graph.nodes[node.index()].operands;
        for (operand, read) in &access.reads {
            let source = operands[*operand as usize];
            let target = &mut self.clusters[cluster.0 as usize];
            if !target.frontier.contains(&source) {
                target.frontier.push(source);
            }
            match read {
                Read::Flat => self.store_for(source, MaterializeReason::ReadFlat, cluster),
                Read::Element(read) => {
                    let used_at = substitute(read, index, rank, &access, &row);
                    target.quotient_axes.extend(used_at.iter().flat_map(quotient_axes));
                    let pending = &mut self.pending[source.index()];
                    pending.is_live = true;
                    let new = (cluster, used_at);
                    if !pending.uses.contains(&new) {
                        // Merges of clusters may make uses equal, so more than `MAX_USES` uses are collected first.
                        if pending.uses.len() > 4 * MAX_USES {
                            self.store_for(source, MaterializeReason::SeveralIndices, cluster);
                        } else {
                            pending.uses.push(new);
                        }
                    }
                }
            }
        }
        self.access[value.index()] = access;
        for value in self.known_before(node) {
            self.store_for(value, MaterializeReason::ReadByPlanner, cluster);
        }
    }
}
