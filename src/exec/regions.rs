//! The compiled graphs inside the nodes of another graph: branches, loop bodies, and conditions of loops.

use std::any::Any;

use super::executable::Executable;
use super::stats::RegionStats;
use crate::graph::{MetRegions, NodeIx};

/// A compiled graph inside a node of the graph of another executable.
pub(super) struct CompiledRegion<'a> {
    pub node: String,
    pub name: &'a str,
    pub program: &'a Executable,
}

impl CompiledRegion<'_> {
    pub fn stats(&self, met: &mut MetRegions) -> RegionStats {
        RegionStats {
            node: self.node.clone(),
            name: self.name.to_string(),
            inputs: self.program.inputs().to_vec(),
            outputs: self.program.outputs().to_vec(),
            stats: self.program.new_stats(met),
        }
    }

    /// Returns the kernels as a block of text.
    pub fn kernels(&self, met: &mut MetRegions) -> String {
        let indented: String =
            self.program.new_kernels(met).lines().map(|line| format!("  {line}\n")).collect();
        format!("{} {} {{\n{indented}}}\n", self.node, self.name)
    }
}

impl Executable {
    /// Returns a copy of the executable as `dyn Any`: a node holds the compiled form of a graph inside it as this type.
    pub(crate) fn to_any(&self) -> Box<dyn Any + Send + Sync> {
        Box::new(self.clone())
    }

    /// Returns the compiled graphs inside the nodes of the graph, except the graphs that are in `met`. Adds the
    /// returned graphs to `met`, because several nodes may share a graph.
    pub(super) fn new_regions(&self, met: &mut MetRegions) -> Vec<CompiledRegion<'_>> {
        let graph = self.specializations().graph();
        let nodes = (0..graph.nodes.len()).map(|number| NodeIx(number as u32));
        let mut found = Vec::new();
        for node in nodes {
            let programs = graph.nodes[node.index()].op.programs();
            for (region, program) in graph.regions(node).into_iter().zip(programs) {
                let Some(program) = program.as_ref().filter(|_| met.is_new(region)) else { continue };
                let program: &Executable = program.downcast_ref().expect("programs are executables");
                found.push(CompiledRegion { node: graph.node_label(node), name: &region.name, program });
            }
        }
        found
    }

    /// Returns the kernels of the graphs inside the nodes as text.
    pub(super) fn region_kernels(&self, met: &mut MetRegions) -> String {
        let regions = self.new_regions(met);
        regions.iter().map(|region| region.kernels(met)).collect()
    }

    /// Returns the figures of the graphs inside the nodes.
    pub(super) fn region_stats(&self, met: &mut MetRegions) -> Vec<RegionStats> {
        let regions = self.new_regions(met);
        regions.iter().map(|region| region.stats(met)).collect()
    }
}
