//! Records what computes the nodes of the model that are in branches and loop bodies: kernels, the host, or nothing.
//! The nodes of a region leave the graph when the region is complete, so the importer makes the record before.

use std::collections::HashSet;
use std::sync::Arc;

use super::super::imported::{RegionNode, types_of};
use super::super::node_usage::{NodeUsage, live_nodes, nodes_of};
use super::importer::Importer;
use crate::error::Result;
use crate::graph::{DimNames, Value, ValueIx};

impl<'g> Importer<'_, 'g> {
    /// Records what computes the nodes in `built_nodes` from index `first` on. These nodes belong to a region whose
    /// outputs are `outputs`, or `None` if the region is refused, and the region is not complete yet. If an earlier import of the same region has left
    /// nodes in `built_nodes`, from index `built_before` on, this function drops them: a loop imports its body again
    /// if the state turns out to have less specific shapes.
    ///
    /// # Errors
    /// An output is poisoned.
    pub(super) fn record_region(
        &mut self,
        built_before: usize,
        first: usize,
        outputs: Option<&[Value<'g>]>,
    ) -> Result<()> {
        let data = self.graph.read();
        let is_live = match outputs {
            Some(outputs) => {
                let outputs: Vec<ValueIx> =
                    outputs.iter().map(|output| output.index()).collect::<Result<_>>()?;
                live_nodes(&data, nodes_of(&data, outputs))
            }
            // Which nodes the outputs would need is unknown.
            None => vec![true; data.nodes.len()],
        };
        let mut names: Option<Arc<DimNames>> = None;
        for built in &mut self.built_nodes[first..] {
            if let Some(nodes) = built.nodes.take()
                && built.in_region.is_none()
            {
                let names = names.get_or_insert_with(|| Arc::new(data.dim_names())).clone();
                let outputs = types_of(self.graph, &built.values);
                let usage = NodeUsage::of(&data, nodes, &is_live);
                built.in_region = Some(RegionNode { usage, outputs, names });
                built.values = Box::default();
            }
        }
        drop(data);
        let latest = self.built_nodes.split_off(first);
        let names: HashSet<&str> = latest.iter().map(|built| built.name.as_str()).collect();
        let earlier = self.built_nodes.split_off(built_before);
        self.built_nodes.extend(earlier.into_iter().filter(|built| !names.contains(built.name.as_str())));
        self.built_nodes.extend(latest);
        Ok(())
    }

    /// Completes the nodes of regions in `built_nodes`, from index `built_before` on: their nodes are all nodes of the
    /// graph from `first` on, which are the nodes of the branch or the loop.
    pub(super) fn place_regions(&mut self, built_before: usize, first: u32) {
        let nodes = first..self.graph.len() as u32;
        for built in self.built_nodes[built_before..].iter_mut().filter(|built| built.nodes.is_none()) {
            built.nodes = Some(nodes.clone());
        }
    }
}
