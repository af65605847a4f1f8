//! `Facts`: what is known of a body before it is emitted.

use shapeflow_shape_fns::DType;
use smallvec::{SmallVec, smallvec};

use crate::codegen::repr::Repr;
use crate::codegen::uniform::uniform_insts;
use crate::expr::BinaryOp;
use crate::lower::code::{Code, Inst, InstOp, Vid};

/// The form in which an instruction takes an operand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Want {
    Vecs,
    Lanes,
    /// A mask with lanes of that many bytes.
    Mask(u32),
}

impl Want {
    /// The vector form of a value of `dtype`.
    pub fn vector(dtype: DType) -> Want {
        if dtype == DType::Bool { Want::Mask(4) } else { Want::Vecs }
    }
}

/// What is known of one body.
pub(super) struct Facts {
    /// Instructions with one value for the whole inner loop; a store never counts.
    pub uniform: Vec<bool>,
    /// Instructions whose every user takes scalars.
    pub lane_only: Vec<bool>,
    /// Every slot the body names, in order of first use.
    pub slots: Vec<u32>,
    /// Vectors of 4-byte lanes computed side by side.
    pub unroll: u32,
    /// Whether constants are loaded before the inner loop.
    pub hoist: bool,
    /// Vector registers that live values take at one vector of 4-byte lanes.
    pub pressure: u32,
    /// Number of instructions inside the inner loop.
    pub varying: usize,
}

/// Vector registers.
const REGISTERS: u32 = 16;
/// Registers that unrolling may ask for: past the last register a spilled operand is a memory operand.
const UNROLL_BUDGET: u32 = 24;

impl Facts {
    /// Looks at `body`, whose values numbered in `roots` are read by folds.
    pub fn new(code: &Code, body: &[Inst], roots: &[Vid]) -> Facts {
        let uniform = uniform_insts(code, body);
        let mut lane_only = vec![true; body.len()];
        let mut used = vec![false; body.len()];
        let mut last_use: Vec<usize> = (0..body.len()).collect();
        let mut slots = Vec::new();
        let mut by_lanes = false;
        for (at, inst) in body.iter().enumerate() {
            if let Some(slot) = inst.op.slot()
                && !slots.contains(&slot)
            {
                slots.push(slot);
            }
            for (operand, want) in wants(body, &uniform, at) {
                let operand = operand.0 as usize;
                used[operand] = true;
                lane_only[operand] &= want == Want::Lanes;
                last_use[operand] = at;
                by_lanes |= want == Want::Lanes && !uniform[at] && !uniform[operand];
            }
            by_lanes |= matches!(inst.op, InstOp::Gather { .. }) && !uniform[at];
        }
        for root in roots {
            lane_only[root.0 as usize] = false;
            last_use[root.0 as usize] = body.len();
        }
        for (only, used) in lane_only.iter_mut().zip(used) {
            *only &= used;
        }
        let varying = uniform.iter().filter(|u| !**u).count();
        let pressure = pressure(body, &uniform, &last_use);
        let held = |constants: bool| {
            let held = body
                .iter()
                .zip(&uniform)
                .filter(|(inst, uniform)| **uniform && matches!(inst.op, InstOp::Const(_)) == constants);
            held.count() as u32
        };
        let unroll = match pressure {
            _ if by_lanes => 1,
            p if p * 4 <= UNROLL_BUDGET => 4,
            p if p * 2 <= UNROLL_BUDGET => 2,
            _ => 1,
        };
        let hoist = pressure * unroll + held(false) + held(true) < REGISTERS;
        Facts { uniform, lane_only, slots, unroll, hoist, pressure, varying }
    }
}

/// The most vector registers that values inside the loop take at once, at one vector of 4-byte lanes.
fn pressure(body: &[Inst], uniform: &[bool], last_use: &[usize]) -> u32 {
    let mut freed = vec![0u32; body.len() + 1];
    let (mut live, mut most) = (0, 1);
    for (at, inst) in body.iter().enumerate() {
        if uniform[at] || matches!(inst.op, InstOp::Store { .. }) {
            live -= freed[at];
            continue;
        }
        let size = Repr::of(inst.dtype).bytes() / 4;
        live += size;
        most = most.max(live);
        if last_use[at] == at {
            live -= size;
        } else {
            freed[last_use[at]] += size;
        }
        live -= freed[at];
    }
    most
}

/// Whether a cast goes through scalars: 128-bit vectors convert between 64-bit integers and floats
/// only where they widen to `f64`.
pub(super) fn cast_by_lanes(from: DType, to: DType) -> bool {
    let pair = (Repr::of(from), Repr::of(to));
    matches!(pair, (Repr::I64, Repr::F32) | (Repr::F32, Repr::I64) | (Repr::F64, Repr::I64))
}

/// The operands of instruction `at` and the form it takes each in.
pub(super) fn wants(body: &[Inst], uniform: &[bool], at: usize) -> SmallVec<[(Vid, Want); 3]> {
    let inst = &body[at];
    let dtype = |v: Vid| body[v.0 as usize].dtype;
    let vector = |v: Vid| (v, Want::vector(dtype(v)));
    match &inst.op {
        InstOp::Const(_) | InstOp::Scalar(_) | InstOp::Iota(_) | InstOp::Load(_) | InstOp::Folded(_) => {
            smallvec![]
        }
        InstOp::Gather { offsets, .. } => offsets.iter().map(|(v, _)| (*v, Want::Lanes)).collect(),
        InstOp::Unary(_, a) | InstOp::Bitcast(a) => smallvec![vector(*a)],
        InstOp::Binary(BinaryOp::Div, a, b) if !dtype(*a).is_float() => {
            smallvec![(*a, Want::Lanes), (*b, Want::Lanes)]
        }
        InstOp::Binary(BinaryOp::Rem, a, b) => smallvec![(*a, Want::Lanes), (*b, Want::Lanes)],
        InstOp::Binary(BinaryOp::Shl | BinaryOp::Shr, a, b) => {
            let value = if uniform[b.0 as usize] { Want::Vecs } else { Want::Lanes };
            smallvec![(*a, value), (*b, Want::Lanes)]
        }
        InstOp::Binary(_, a, b) => smallvec![vector(*a), vector(*b)],
        InstOp::MulAdd(a, b, c) => smallvec![vector(*a), vector(*b), vector(*c)],
        InstOp::Select(c, a, b) => {
            smallvec![(*c, Want::Mask(Repr::of(inst.dtype).bytes())), vector(*a), vector(*b)]
        }
        InstOp::Cast(a) if dtype(*a) == DType::Bool => {
            smallvec![(*a, Want::Mask(Repr::of(inst.dtype).bytes()))]
        }
        InstOp::Cast(a) if cast_by_lanes(dtype(*a), inst.dtype) => smallvec![(*a, Want::Lanes)],
        InstOp::Cast(a) => smallvec![vector(*a)],
        InstOp::CheckIndex { value, .. } => smallvec![(*value, Want::Lanes)],
        InstOp::Store { value, .. } => smallvec![vector(*value)],
    }
}
