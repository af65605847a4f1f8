//! The order in which a long body is computed: chains that do not depend on each other side by side.
//!
//! A processor looks a few dozen waiting instructions ahead, which is less than such a body has. What it finds there
//! should be able to run.

use smallvec::SmallVec;

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
#[derive(Clone, Default)]
struct Node {
    /// The varying values it takes, and how often.
    operands: SmallVec<[(u32, u32); 3]>,
    /// Those that wait for it.
    users: SmallVec<[u32; 4]>,
    /// How many it waits for.
    waits: u32,
    /// Uses of its result that are still to come.
    uses: u32,
    /// Cycles from its start to the end of the body.
    height: u32,
    /// When what it waits for is there.
    ready: u32,
}

/// How many more registers hold values after an instruction than before.
fn growth(nodes: &[Node], at: u32) -> i32 {
    let node = &nodes[at as usize];
    let last = node.operands.iter().filter(|(v, own)| nodes[*v as usize].uses == *own).count();
    i32::from(node.uses > 0) - last as i32
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
        let full = live >= most;
        let rank = |at: u32| {
            if full && growth(&nodes, at) > 0 {
                // No register is left for more: as the body has it.
                return (2, at, 0);
            }
            let node = &nodes[at as usize];
            let late = node.ready.saturating_sub(now);
            (u32::from(late > 0), late, u32::MAX - node.height)
        };
        let Some(k) = (0..open.len()).min_by_key(|k| (rank(open[*k]), open[*k])) else { break };
        let at = open.swap_remove(k);
        live = live.saturating_add_signed(growth(&nodes, at));
        now = now.max(nodes[at as usize].ready) + 1;
        let done = now - 1 + latency(&insts[at as usize]);
        for (v, own) in std::mem::take(&mut nodes[at as usize].operands) {
            nodes[v as usize].uses -= own;
        }
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

/// What waits for what: values for their operands, and what reads memory stays on its side of what writes it.
fn nodes(insts: &[Inst], uniform: &[bool]) -> Vec<Node> {
    let mut nodes = vec![Node::default(); insts.len()];
    let (mut stored, mut loaded) = (None, Vec::new());
    for (at, inst) in insts.iter().enumerate() {
        if uniform[at] {
            continue;
        }
        let mut waits = SmallVec::<[u32; 8]>::new();
        let mut operands = SmallVec::<[(u32, u32); 3]>::new();
        inst.op.for_each_operand(|v| {
            if !uniform[v.0 as usize] {
                nodes[v.0 as usize].uses += 1;
                waits.push(v.0);
                match operands.iter_mut().find(|(known, _)| *known == v.0) {
                    Some((_, count)) => *count += 1,
                    None => operands.push((v.0, 1)),
                }
            }
        });
        nodes[at].operands = operands;
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
