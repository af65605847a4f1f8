//! `inst_order`: an order for a long body in which independent chains run side by side.
//!
//! The processor searches a few dozen waiting instructions for instructions that can run. A long body has more
//! instructions, so the order of the body decides how many instructions run at once.

use std::ops::Range;

use crate::codegen::simd::asm::VectorIsa;
use crate::expr::{BinaryOp, UnaryOp};
use crate::lower::kernel_body::{Inst, InstOp};

/// The least number of instructions of a body that is ordered. In a shorter body the processor already finds
/// independent instructions in the next element. Tests use a lower limit, so that they order random bodies.
const MIN_ORDERED: usize = if cfg!(test) { 4 } else { 48 };

/// Returns the approximate number of cycles until the result of an instruction is available, on x86-64 processors.
fn latency(inst: &Inst) -> u32 {
    match &inst.op {
        InstOp::Const(_)
        | InstOp::Scalar(_)
        | InstOp::Reduced(_)
        | InstOp::Store { .. }
        | InstOp::StorePair { .. } => 0,
        InstOp::Binary(BinaryOp::Div | BinaryOp::Rem, ..) => 12,
        InstOp::Unary(UnaryOp::Sqrt, _) => 16,
        InstOp::MulAdd(..) | InstOp::Binary(BinaryOp::Mul, ..) => 4,
        InstOp::Binary(BinaryOp::Add | BinaryOp::Sub, ..) if inst.dtype.is_float() => 3,
        InstOp::Cast(_) | InstOp::Unary(UnaryOp::Round, _) => 4,
        InstOp::Load(_) | InstOp::Gather { .. } => 6,
        InstOp::Bitcast(_) => 0,
        _ => 1,
    }
}

/// The state of an instruction while it is scheduled.
#[derive(Clone, Copy, Default)]
struct DependencyNode {
    /// Start of its operands and of its users in the lists of the graph. Each list ends where the next node's list
    /// starts.
    operands: u32,
    users: u32,
    /// The number of its dependencies on unscheduled instructions. Two uses of one operand count twice.
    waits: u32,
    /// The number of unscheduled uses of its result.
    uses: u32,
    /// Cycles from its start to the end of the longest chain through it.
    height: u32,
    /// The earliest cycle in which all its operands are available.
    ready: u32,
}

/// Dependency graph of varying instructions: data dependencies, and loads ordered against stores.
struct DependencyGraph {
    /// One node per instruction, and a last node that ends the lists.
    nodes: Vec<DependencyNode>,
    /// For each instruction its distinct varying operands, each with the number of times that the instruction uses it.
    operands: Vec<(u32, u32)>,
    /// For each instruction, the instructions that depend on it.
    users: Vec<u32>,
}

impl DependencyGraph {
    fn operands(&self, index: u32) -> Range<usize> {
        let [start, end] = [index, index + 1].map(|index| self.nodes[index as usize].operands as usize);
        start..end
    }

    fn users(&self, index: u32) -> Range<usize> {
        let [start, end] = [index, index + 1].map(|index| self.nodes[index as usize].users as usize);
        start..end
    }

    /// Returns by how much an instruction increases the number of live values.
    fn growth(&self, index: u32) -> i32 {
        let last = |(v, count): &(u32, u32)| i32::from(self.nodes[*v as usize].uses == *count);
        let dying: i32 = self.operands[self.operands(index)].iter().map(last).sum();
        i32::from(self.nodes[index as usize].uses > 0) - dying
    }
}

/// Returns the varying instructions of a body in the order in which to compute them. For a body with fewer than
/// [`MIN_ORDERED`] instructions, returns an empty list: the body keeps its order.
pub(crate) fn inst_order(insts: &[Inst], uniform: &[bool], isa: VectorIsa) -> Vec<u32> {
    if insts.len() < MIN_ORDERED {
        return Vec::new();
    }
    let mut graph = dependency_graph(insts, uniform);
    // The largest number of live values. The limit counts one register for each value. A loop step that computes two
    // vectors of each value needs two registers for each value, so it spills some values. The spills cost less than
    // chains that wait for each other.
    let most = u32::from(isa.registers()) * 3 / 4;
    let is_runnable = |index: &usize| !uniform[*index] && graph.nodes[*index].waits == 0;
    let mut runnable: Vec<u32> = (0..insts.len()).filter(is_runnable).map(|index| index as u32).collect();
    let mut order = Vec::with_capacity(insts.len());
    let (mut live, mut now) = (0u32, 0);
    while !runnable.is_empty() {
        let full = live >= most;
        // The instruction of least rank is next: by the cycles it must still wait, then by the greatest height, then in
        // body order. The height and the body order are one number, so that they are compared at once.
        let rank = |index: u32| {
            if full && graph.growth(index) > 0 {
                // No register is free: instructions that need one come last, in body order.
                return (u64::MAX, u64::from(index));
            }
            let node = &graph.nodes[index as usize];
            let late = node.ready.saturating_sub(now);
            (u64::from(late), u64::from(u32::MAX - node.height) << 32 | u64::from(index))
        };
        let k = (0..runnable.len()).min_by_key(|k| rank(runnable[*k])).expect("the list is not empty");
        let index = runnable.swap_remove(k);
        live = live.saturating_add_signed(graph.growth(index));
        now = now.max(graph.nodes[index as usize].ready) + 1;
        let done = now - 1 + latency(&insts[index as usize]);
        for v in graph.operands(index) {
            let (v, count) = graph.operands[v];
            graph.nodes[v as usize].uses -= count;
        }
        for user in graph.users(index) {
            let user = graph.users[user];
            let node = &mut graph.nodes[user as usize];
            node.ready = node.ready.max(done);
            node.waits -= 1;
            if node.waits == 0 {
                runnable.push(user);
            }
        }
        order.push(index);
    }
    order
}

/// Returns the graph of a body, with all nodes unscheduled.
fn dependency_graph(insts: &[Inst], uniform: &[bool]) -> DependencyGraph {
    let mut nodes = vec![DependencyNode::default(); insts.len() + 1];
    let mut operands: Vec<(u32, u32)> = Vec::with_capacity(2 * insts.len());
    // Pairs of nodes: the first node depends on the second node.
    let mut edges: Vec<(u32, u32)> = Vec::with_capacity(2 * insts.len());
    let (mut stored, mut loaded) = (None, Vec::new());
    for (index, inst) in insts.iter().enumerate() {
        nodes[index].operands = operands.len() as u32;
        if uniform[index] {
            continue;
        }
        let (first, before) = (operands.len(), edges.len());
        let this = index as u32;
        inst.op.for_each_operand(|v| {
            if !uniform[v.0 as usize] {
                nodes[v.0 as usize].uses += 1;
                match operands[first..].iter_mut().find(|(known, _)| *known == v.0) {
                    Some((_, count)) => *count += 1,
                    None => operands.push((v.0, 1)),
                }
                edges.push((this, v.0));
            }
        });
        match inst.op {
            InstOp::Store { .. } | InstOp::StorePair { .. } => {
                edges.extend(stored.replace(this).map(|on| (this, on)));
                edges.extend(loaded.drain(..).map(|on| (this, on)));
            }
            InstOp::Load(_) | InstOp::Gather { .. } => {
                edges.extend(stored.map(|on| (this, on)));
                loaded.push(this);
            }
            _ => {}
        }
        nodes[index].waits = (edges.len() - before) as u32;
    }
    nodes[insts.len()].operands = operands.len() as u32;
    // Counting sort of the edges by the instruction that they depend on. `users` of a node is first the length of its
    // list, then the end of its list, and counts down to the start while the list is filled.
    for (_, on) in &edges {
        nodes[*on as usize].users += 1;
    }
    let mut end = 0;
    for node in &mut nodes {
        end += node.users;
        node.users = end;
    }
    let mut users = vec![0; edges.len()];
    for (index, on) in edges.iter().rev() {
        let node = &mut nodes[*on as usize];
        node.users -= 1;
        users[node.users as usize] = *index;
    }
    let mut graph = DependencyGraph { nodes, operands, users };
    for index in (0..insts.len()).rev() {
        let users = &graph.users[graph.users(index as u32)];
        let above = users.iter().map(|user| graph.nodes[*user as usize].height).max().unwrap_or(0);
        graph.nodes[index].height = latency(&insts[index]) + above;
    }
    graph
}
