//! [`Stats`]: what an executable has compiled, planned and allocated so far, with the graphs inside its nodes.

use std::fmt;
use std::time::Duration;

use shapeflow_shape_fns::counted;

use super::port::Port;
use crate::compile::{Specialization, value_text};
use crate::lower::program::Step;
use crate::op::Body;

/// What an executable has compiled, planned and allocated so far.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Stats {
    /// Number of kernels: fused kernels, and precompiled loops that compute one node.
    pub kernels: usize,
    /// Number of matrix products.
    pub products: usize,
    /// Number of nodes that no kernel computes: a Rust function of the op or the interpreter of expressions computes
    /// them.
    pub host_nodes: usize,
    /// The host nodes that the interpreter computes, each with the line that made it, if it is known: `pad made at
    /// src/model.rs:3:1`. A kernel would be many times faster.
    pub interpreted_nodes: Vec<String>,
    /// The reason of each compilation, in order.
    pub compiles: Vec<String>,
    /// Bytes of machine code.
    pub code_bytes: usize,
    /// Bytes of the largest arena of any run.
    pub arena_bytes: usize,
    /// Bytes of constants that are packed in the order in which matrix products read them.
    pub packed_bytes: usize,
    /// Runs that found a plan for their sizes. A run whose sizes depend on data counts once for each segment, because
    /// each segment has a plan of its own.
    pub plan_hits: u64,
    /// Runs that made a new plan, counted in the same way.
    pub plan_misses: u64,
    /// Duration of the compilation in [`Graph::compile`](crate::Graph::compile), without later specializations.
    pub compile_time: Duration,
    /// Duration of code generation for the kernels of all specializations.
    pub code_time: Duration,
    /// The branches, loop bodies and loop conditions. The other fields do not count them.
    pub regions: Vec<RegionStats>,
}

/// Three lines: the parts of the program, the memory, and the compilations and plans. If the interpreter computes
/// nodes, another line names them after the first. A region has its own lines, indented below its name.
impl fmt::Display for Stats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{}, {}, {}",
            counted(self.kernels, "kernel"),
            counted(self.products, "matrix product"),
            counted(self.host_nodes, "host node")
        )?;
        if !self.interpreted_nodes.is_empty() {
            writeln!(f, "no kernel, so the interpreter computes: {}", self.interpreted_nodes.join(", "))?;
        }
        writeln!(
            f,
            "bytes: {} of code, {} of the largest arena, {} of packed constants",
            self.code_bytes, self.arena_bytes, self.packed_bytes
        )?;
        write!(
            f,
            "{}{} in {:.1?}, code in {:.1?}; plans: {} found, {} made",
            counted(self.compiles.len(), "compilation"),
            if self.compiles.len() > 1 { ", the first" } else { "" },
            self.compile_time,
            self.code_time,
            self.plan_hits,
            self.plan_misses
        )?;
        for region in &self.regions {
            let stats = region.stats.to_string().replace('\n', "\n  ");
            write!(f, "\n{}/{}:\n  {stats}", region.node, region.name)?;
        }
        Ok(())
    }
}

/// A compiled branch or loop body, or the condition that a loop tests before its first iteration. The body computes the
/// later conditions.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RegionStats {
    /// The name of the node that holds the branch or the body.
    pub node: String,
    /// The name inside the node: `then`, `body`.
    pub name: String,
    /// The inputs of the region: the state of a loop, the rows that an iteration of a scan takes, then the values that
    /// the region reads from the graph around it.
    pub inputs: Vec<Port>,
    /// The outputs of the region: the next state and the outputs of a loop body, or the results of a branch.
    pub outputs: Vec<Port>,
    /// The figures of the region.
    pub stats: Stats,
}

impl Stats {
    /// Adds the figures of one specialization.
    pub(super) fn add(&mut self, specialization: &Specialization) {
        let Specialization { program, state, .. } = specialization;
        for step in &program.lowered.steps {
            match step {
                Step::Kernel(_) | Step::Whole { .. } => self.kernels += 1,
                Step::MatMul { .. } => self.products += 1,
                Step::Node { node, .. } => {
                    self.host_nodes += 1;
                    let node = &program.graph.nodes[node.index()];
                    if matches!(node.op.body, Body::Compute(_) | Body::Contraction { .. }) {
                        self.interpreted_nodes.push(value_text(&program.graph, node.first_output));
                    }
                }
            }
        }
        if let Some(code) = &program.code {
            self.code_bytes += code.module.code_bytes();
            self.code_time += code.module.code_time();
        }
        let counts = state.counts();
        self.arena_bytes = self.arena_bytes.max(counts.arena_bytes);
        self.packed_bytes += state.packed.bytes();
        self.plan_hits += counts.plan_hits;
        self.plan_misses += counts.plan_misses;
    }
}
