//! The order in which a long body is computed: chains that do not depend on each other side by side.
//!
//! A processor looks a few dozen waiting instructions ahead, which is less than such a body has. What it finds there
//! should be able to run.

use smallvec::SmallVec;

use super::Isa;
use super::select::operands;
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
#[derive(Clone, Default)]
struct Node {
    /// Those that wait for it.
    users: Vec<u32>,
    /// How many it waits for.
    waits: u32,
    /// Uses of its result that are still to come.
    uses: u32,
    /// Cycles from its start to the end of the body.
    height: u32,
    /// When what it waits for is there.
    ready: u32,
}

/// The varying instructions of a body in the order in which to compute them; nothing if that is their own.
pub(super) fn order(insts: &[Inst], uniform: &[bool], isa: Isa) -> Vec<u32> {
    if insts.len() < LONG {
        return Vec::new();
    }
    let mut nodes = nodes(insts, uniform);
    // Two elements side by side use all registers; constants pass through some.
    let most = u32::from(isa.registers()) / 2 - 1;
    let mut open: Vec<u32> =
        (0..insts.len()).filter(|at| !uniform[*at] && nodes[*at].waits == 0).map(|at| at as u32).collect();
    let mut order = Vec::with_capacity(insts.len());
    let (mut live, mut now) = (0u32, 0);
    while !open.is_empty() {
        let growth = |at: u32| {
            let mut growth = i32::from(nodes[at as usize].uses > 0);
            let mut seen = SmallVec::<[u32; 4]>::new();
            operands(&insts[at as usize].op, |v| {
                if !uniform[v.0 as usize] && !seen.contains(&v.0) {
                    let own = count(&insts[at as usize], v.0);
                    growth -= i32::from(nodes[v.0 as usize].uses == own);
                    seen.push(v.0);
                }
            });
            growth
        };
        let full = live >= most;
        let rank = |at: u32| {
            let node = &nodes[at as usize];
            let late = node.ready.saturating_sub(now);
            if full && growth(at) > 0 {
                // No register is left for more: as the body has it.
                return (2, at, 0);
            }
            (u32::from(late > 0), late, u32::MAX - node.height)
        };
        let Some(k) = (0..open.len()).min_by_key(|k| (rank(open[*k]), open[*k])) else { break };
        let at = open.swap_remove(k);
        let grown = growth(at);
        live = live.saturating_add_signed(grown);
        now = now.max(nodes[at as usize].ready) + 1;
        let done = now - 1 + latency(&insts[at as usize]);
        operands(&insts[at as usize].op, |v| {
            nodes[v.0 as usize].uses = nodes[v.0 as usize].uses.saturating_sub(1)
        });
        for user in std::mem::take(&mut nodes[at as usize].users) {
            let node = &mut nodes[user as usize];
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

/// How often an instruction uses a value.
fn count(inst: &Inst, v: u32) -> u32 {
    let mut count = 0;
    operands(&inst.op, |own| count += u32::from(own.0 == v));
    count
}

/// What waits for what: values for their operands, and what reads memory stays on its side of what writes it.
fn nodes(insts: &[Inst], uniform: &[bool]) -> Vec<Node> {
    let mut nodes = vec![Node::default(); insts.len()];
    let (mut stored, mut loaded) = (None, Vec::new());
    for (at, inst) in insts.iter().enumerate() {
        if uniform[at] {
            continue;
        }
        let mut waits = SmallVec::<[u32; 8]>::new();
        operands(&inst.op, |v| {
            if !uniform[v.0 as usize] {
                nodes[v.0 as usize].uses += 1;
                waits.push(v.0);
            }
        });
        match inst.op {
            InstOp::Store { .. } => {
                waits.extend(stored.replace(at as u32));
                waits.extend(loaded.drain(..));
            }
            InstOp::Load(_) | InstOp::Gather { .. } => {
                waits.extend(stored);
                loaded.push(at as u32);
            }
            _ => {}
        }
        nodes[at].waits = waits.len() as u32;
        for on in waits {
            nodes[on as usize].users.push(at as u32);
        }
    }
    for at in (0..insts.len()).rev() {
        let above = nodes[at].users.iter().map(|user| nodes[*user as usize].height).max().unwrap_or(0);
        nodes[at].height = latency(&insts[at]) + above;
    }
    nodes
}
