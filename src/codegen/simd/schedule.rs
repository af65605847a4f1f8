//! The order in which a long body is computed: chains that do not depend on each other side by side.
//!
//! A processor looks a few dozen waiting instructions ahead, which is less than such a body has. What it finds there
//! should be able to run.

use std::ops::Range;

use super::Isa;
use crate::expr::{BinaryOp, UnaryOp};
use crate::lower::code::{Inst, InstOp};

/// Shorter bodies are computed as they are: the processor sees the next element. Tests order them too.
const LONG: usize = if cfg!(test) { 4 } else { 48 };

/// Cycles until the result of an instruction can be used.
fn latency(inst: &Inst) -> u32 {
    match &inst.op {
        InstOp::Const(_) | InstOp::Scalar(_) | InstOp::Folded(_) | InstOp::Store { .. } => 0,
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

/// What is known of an instruction while an order is sought.
#[derive(Clone, Copy, Default)]
struct Node {
    /// Where its operands and its users start in the lists of all; they end where the next one's start.
    operands: u32,
    users: u32,
    /// How many it waits for.
    waits: u32,
    /// Uses of its result that are still to come.
    uses: u32,
    /// Cycles from its start to the end of the body.
    height: u32,
    /// When what it waits for is there.
    ready: u32,
}

/// What waits for what.
struct Nodes {
    /// By instruction, and one more.
    nodes: Vec<Node>,
    /// The varying values that each instruction takes, and how often.
    operands: Vec<(u32, u32)>,
    /// Those that wait for each instruction.
    users: Vec<u32>,
}

impl Nodes {
    fn operands(&self, at: u32) -> Range<usize> {
        let [node, next] = [at, at + 1].map(|at| self.nodes[at as usize].operands as usize);
        node..next
    }

    fn users(&self, at: u32) -> Range<usize> {
        let [node, next] = [at, at + 1].map(|at| self.nodes[at as usize].users as usize);
        node..next
    }

    /// How many more registers hold values after an instruction than before.
    fn growth(&self, at: u32) -> i32 {
        let last = |(v, own): &(u32, u32)| i32::from(self.nodes[*v as usize].uses == *own);
        let dying: i32 = self.operands[self.operands(at)].iter().map(last).sum();
        i32::from(self.nodes[at as usize].uses > 0) - dying
    }
}

/// The varying instructions of a body in the order in which to compute them; nothing if that is their own.
pub(super) fn order(insts: &[Inst], uniform: &[bool], isa: Isa) -> Vec<u32> {
    if insts.len() < LONG {
        return Vec::new();
    }
    let mut all = nodes(insts, uniform);
    // Two elements side by side then keep some values in memory, which costs less than chains that wait for each other.
    let most = u32::from(isa.registers()) * 3 / 4;
    let waits = |at: &usize| !uniform[*at] && all.nodes[*at].waits == 0;
    let mut open: Vec<u32> = (0..insts.len()).filter(waits).map(|at| at as u32).collect();
    let mut order = Vec::with_capacity(insts.len());
    let (mut live, mut now) = (0u32, 0);
    while !open.is_empty() {
        let full = live >= most;
        // The least is next: what is late by how much, else by its height; two numbers in one are compared at once.
        let rank = |at: u32| {
            if full && all.growth(at) > 0 {
                // No register is left for more: as the body has it.
                return (u64::MAX, u64::from(at));
            }
            let node = &all.nodes[at as usize];
            let late = node.ready.saturating_sub(now);
            (u64::from(late), u64::from(u32::MAX - node.height) << 32 | u64::from(at))
        };
        let Some(k) = (0..open.len()).min_by_key(|k| rank(open[*k])) else { break };
        let at = open.swap_remove(k);
        live = live.saturating_add_signed(all.growth(at));
        now = now.max(all.nodes[at as usize].ready) + 1;
        let done = now - 1 + latency(&insts[at as usize]);
        for v in all.operands(at) {
            let (v, own) = all.operands[v];
            all.nodes[v as usize].uses -= own;
        }
        for user in all.users(at) {
            let user = all.users[user];
            let node = &mut all.nodes[user as usize];
            node.ready = node.ready.max(done);
            node.waits -= 1;
            if node.waits == 0 {
                open.push(user);
            }
        }
        order.push(at);
    }
    order
}

/// What waits for what: values for their operands, and what reads memory stays on its side of what writes it.
fn nodes(insts: &[Inst], uniform: &[bool]) -> Nodes {
    let mut nodes = vec![Node::default(); insts.len() + 1];
    let mut operands: Vec<(u32, u32)> = Vec::with_capacity(2 * insts.len());
    // Which waits for which.
    let mut edges: Vec<(u32, u32)> = Vec::with_capacity(2 * insts.len());
    let (mut stored, mut loaded) = (None, Vec::new());
    for (at, inst) in insts.iter().enumerate() {
        nodes[at].operands = operands.len() as u32;
        if uniform[at] {
            continue;
        }
        let (first, before) = (operands.len(), edges.len());
        let own = at as u32;
        inst.op.for_each_operand(|v| {
            if !uniform[v.0 as usize] {
                nodes[v.0 as usize].uses += 1;
                match operands[first..].iter_mut().find(|(known, _)| *known == v.0) {
                    Some((_, count)) => *count += 1,
                    None => operands.push((v.0, 1)),
                }
                edges.push((own, v.0));
            }
        });
        match inst.op {
            InstOp::Store { .. } => {
                edges.extend(stored.replace(own).map(|on| (own, on)));
                edges.extend(loaded.drain(..).map(|on| (own, on)));
            }
            InstOp::Load(_) | InstOp::Gather { .. } => {
                edges.extend(stored.map(|on| (own, on)));
                loaded.push(own);
            }
            _ => {}
        }
        nodes[at].waits = (edges.len() - before) as u32;
    }
    nodes[insts.len()].operands = operands.len() as u32;
    // The users of each instruction, side by side: first their ends, from which their starts are counted down.
    for (_, on) in &edges {
        nodes[*on as usize].users += 1;
    }
    let mut end = 0;
    for node in &mut nodes {
        end += node.users;
        node.users = end;
    }
    let mut users = vec![0; edges.len()];
    for (own, on) in edges.iter().rev() {
        let node = &mut nodes[*on as usize];
        node.users -= 1;
        users[node.users as usize] = *own;
    }
    let mut all = Nodes { nodes, operands, users };
    for at in (0..insts.len()).rev() {
        let users = &all.users[all.users(at as u32)];
        let above = users.iter().map(|user| all.nodes[*user as usize].height).max().unwrap_or(0);
        all.nodes[at].height = latency(&insts[at]) + above;
    }
    all
}
