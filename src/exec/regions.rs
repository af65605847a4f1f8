//! The compiled graphs inside the nodes of another graph: branches, loop bodies, and conditions of loops.

use std::any::Any;

use super::executable::Executable;
use super::stats::RegionStats;
use crate::graph::NodeIx;

/// A compiled graph inside a node of the graph of another executable.
pub(super) struct CompiledRegion<'a> {
    pub node: String,
    pub name: &'a str,
    pub program: &'a Executable,
}

impl CompiledRegion<'_> {
    pub fn stats(&self) -> RegionStats {
        RegionStats {
            node: self.node.clone(),
            name: self.name.to_string(),
            inputs: self.program.inputs().to_vec(),
            outputs: self.program.outputs().to_vec(),
            stats: self.program.stats(),
        }
    }

    /// Returns the kernels as a block of text.
    pub fn kernels(&self) -> String {
        let indented: String = self.program.kernels().lines().map(|line| format!("  {line}\n")).collect();
        format!("{} {} {{\n{indented}}}\n", self.node, self.name)
    }
}

impl Executable {
    /// Returns the program as the compiled form of a graph inside a node.
    pub(crate) fn to_any(&self) -> Box<dyn Any + Send + Sync> {
        Box::new(self.clone())
    }

    /// Returns the compiled graphs inside the nodes of the graph.
    pub(super) fn regions(&self) -> impl Iterator<Item = CompiledRegion<'_>> {
        let graph = self.specializations().graph();
        let nodes = (0..graph.nodes.len()).map(|number| NodeIx(number as u32));
        nodes.flat_map(move |node| {
            let programs = graph.nodes[node.index()].op.programs();
            graph.regions(node).into_iter().zip(programs).filter_map(move |(region, program)| {
                let program: &Executable =
                    program.as_ref()?.downcast_ref().expect("programs are executables");
                Some(CompiledRegion { node: graph.node_label(node), name: &region.name, program })
            })
        })
    }

    /// Returns the kernels of the graphs inside the nodes as text.
    pub(super) fn region_kernels(&self) -> String {
        self.regions().map(|region| region.kernels()).collect()
    }
}
