//! Values that are computed where they are read: which clusters take them, and what that asks of their operands.

use shapeflow_shape_fns::Dim;
use smallvec::SmallVec;

use super::access::Read;
use super::cluster::{ClusterIx, Cost, Row, fold_index, split_axes, substitute};
use super::home::{Home, Why};
use super::partition::{CHEAP, MAX_PLACES, Partitioner, Place};
use crate::expr::Index;
use crate::graph::{NodeIx, ValueIx};

impl Partitioner<'_> {
    /// Inlines a value at all its places, or says why that cannot be.
    pub(super) fn place_inline(
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
        let joined = self.cluster(a).joined(self.cluster(b))?;
        let second = &mut self.clusters[b.0 as usize];
        second.parent = a;
        (second.roots, second.members) = (Vec::new(), Vec::new());
        self.clusters[a.0 as usize] = joined;
        Some(a)
    }

    /// Whether a cluster takes a value at an index, by every limit there is.
    pub(super) fn may_inline(&self, value: ValueIx, cluster: ClusterIx, index: &[Index]) -> Result<(), Why> {
        let cost = Cost { high: self.full_cost[value.at()] > CHEAP, folds: self.folds[value.at()] };
        let operands = &self.graph.node_of(value).operands;
        self.cluster(cluster).accepts(&self.access[value.at()], cost, operands, index)
    }

    /// Puts a value into a cluster and hands its reads on to its operands.
    pub(super) fn enter(&mut self, node: NodeIx, value: ValueIx, cluster: ClusterIx, index: &[Index]) {
        let access = std::mem::take(&mut self.access[value.at()]);
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
                let missing = target.missing_axes(&fold_index(&access, index));
                let same = missing.iter().map(|axis| &target.domain[*axis]).eq(&extents);
                target.row =
                    if same && !missing.is_empty() { Row::Within(missing) } else { Row::Added(extents) };
            }
        }
        let row = self.cluster(cluster).row_axes();
        let rank = index.len();
        let operands = &self.graph.nodes[node.at()].operands;
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
        self.access[value.at()] = access;
        for value in self.needed_by(node) {
            self.force_for(value, Why::ReadWhole, cluster);
        }
    }
}
