//! [`Partitioner::materialize`]: stores a value in memory, and makes its readers wait for it.

use super::cluster::{Cluster, ClusterIx};
use super::partition::{Partitioner, Use};
use super::placement::{MaterializeReason, Placement};
use crate::graph::{NodeIx, ValueIx};

impl Partitioner<'_> {
    /// Requires that a value is stored before the steps of this depth run.
    pub(super) fn store(&mut self, value: ValueIx, reason: MaterializeReason, depth: u32) {
        let pending = &mut self.pending[value.index()];
        pending.is_live = true;
        pending.stored.get_or_insert(reason);
        pending.depth = pending.depth.max(depth);
    }

    /// Requires that a value is stored before a cluster runs.
    pub(super) fn store_for(&mut self, value: ValueIx, reason: MaterializeReason, cluster: ClusterIx) {
        self.store(value, reason, 0);
        let readers = &mut self.pending[value.index()].readers;
        if !readers.contains(&cluster) {
            readers.push(cluster);
        }
    }

    /// Returns the largest depth of a step that reads a value, from memory or inlined.
    pub(super) fn reader_depth(&self, value: ValueIx) -> u32 {
        let pending = &self.pending[value.index()];
        let clusters =
            pending.uses.iter().map(|(cluster, _)| *cluster).chain(pending.readers.iter().copied());
        clusters.map(|cluster| self.cluster(self.find(cluster)).depth).max().unwrap_or(0).max(pending.depth)
    }

    /// Records the depth of the step that produces a value in the clusters that read it.
    pub(super) fn note_producer(&mut self, value: ValueIx, depth: u32) {
        let pending = std::mem::take(&mut self.pending[value.index()]);
        for cluster in pending.uses.into_iter().map(|(cluster, _)| cluster).chain(pending.readers) {
            let cluster = self.find(cluster);
            let reader = &mut self.clusters[cluster.0 as usize];
            reader.producer_depth = reader.producer_depth.min(depth);
        }
    }

    /// Stores a value: as an alias of its operand, as a further root of the cluster that uses it, or as the root of a
    /// new cluster.
    pub(super) fn materialize(
        &mut self,
        node: NodeIx,
        value: ValueIx,
        reason: MaterializeReason,
        uses: &[Use],
    ) {
        self.pending[value.index()].uses = uses.iter().cloned().collect();
        if self.can_alias(node, value) {
            let source = self.graph.nodes[node.index()].operands[0];
            self.placements[value.index()] = Placement::Alias(source);
            self.store(source, reason, self.reader_depth(value));
            // The readers of the alias wait for the step that produces the source.
            let pending = std::mem::take(&mut self.pending[value.index()]);
            let required = self.known_before(node);
            for cluster in pending.uses.into_iter().map(|(cluster, _)| cluster).chain(pending.readers) {
                self.store_for(source, reason, cluster);
                for &other in &required {
                    self.store_for(other, MaterializeReason::ReadByPlanner, cluster);
                }
            }
            for other in required {
                self.store(other, MaterializeReason::ReadByPlanner, pending.depth);
            }
            return;
        }
        self.placements[value.index()] = Placement::Buffer(reason);
        if let Some(cluster) = self.join_as_root(value, uses) {
            self.pending[value.index()].uses.clear();
            self.note_producer(value, self.cluster(cluster).depth);
            self.clusters[cluster.0 as usize].roots.push(value);
            let index = self.domain(value).1;
            self.add_member(node, value, cluster, &index);
            return;
        }
        let depth = self.reader_depth(value) + 1;
        self.note_producer(value, depth);
        let (domain, index) = self.domain(value);
        let cluster = ClusterIx(self.clusters.len() as u32);
        self.clusters.push(Cluster::new(cluster, domain, value, depth));
        self.add_member(node, value, cluster, &index);
    }

    /// Returns the only cluster that uses a value, if this cluster can store the value as well: the cluster has the
    /// value's domain, reads at every point of the domain the element at this point, and runs before all steps that
    /// read the value from memory.
    fn join_as_root(&self, value: ValueIx, uses: &[Use]) -> Option<ClusterIx> {
        let [(cluster, used_at)] = uses else { return None };
        let (domain, index) = self.domain(value);
        let target = self.cluster(*cluster);
        let pending = &self.pending[value.index()];
        if used_at != &index
            || target.domain != domain
            || self.check_inline(value, *cluster, used_at).is_err()
        {
            return None;
        }
        let readers = pending.readers.iter().map(|reader| self.cluster(self.find(*reader)).depth);
        (pending.depth.max(readers.max().unwrap_or(0)) < target.depth).then_some(*cluster)
    }
}
