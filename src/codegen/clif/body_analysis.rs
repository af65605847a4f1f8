//! `BodyAnalysis`: properties of a body that its emission depends on.

use shapeflow_shape_fns::DType;
use smallvec::{SmallVec, smallvec};

use crate::codegen::repr::Repr;
use crate::codegen::uniform::uniform_insts;
use crate::expr::BinaryOp;
use crate::lower::kernel_body::{Inst, InstId, InstOp, KernelBody};

/// The form in which an instruction takes an operand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum WantedForm {
    /// Vectors whose lanes have the size of the value's `Repr`.
    Vecs,
    /// Separate scalars, one per element.
    Lanes,
    /// A mask with lanes of this many bytes.
    Mask(u32),
}

impl WantedForm {
    /// Returns the vector form of a value of `dtype`.
    pub fn vector(dtype: DType) -> WantedForm {
        if dtype == DType::Bool { WantedForm::Mask(4) } else { WantedForm::Vecs }
    }
}

/// The properties of one body.
pub(super) struct BodyAnalysis {
    /// For each instruction: whether it has one value for the whole inner loop.
    pub uniform: Vec<bool>,
    /// For each instruction: whether its value has uses, and every use is an instruction that takes scalars.
    pub lane_only: Vec<bool>,
    /// The slots that the body names, in order of first use.
    pub slots: Vec<u32>,
    /// The unroll factor: one iteration of the inner loop computes `4 * unroll` elements.
    pub unroll: u32,
    /// Whether constants are loaded before the inner loop.
    pub hoist: bool,
    /// The largest number of vector registers that varying values occupy at once, without unrolling. At least 1.
    pub pressure: u32,
    /// The number of instructions inside the inner loop.
    pub varying: usize,
}

/// The number of vector registers of x86-64 without AVX-512.
const REGISTERS: u32 = 16;
/// The largest number of registers that an unrolled body may need. This number exceeds [`REGISTERS`], because a spilled
/// value costs little as a memory operand.
const UNROLL_BUDGET: u32 = 24;

impl BodyAnalysis {
    /// Analyzes `body`. `roots` are the instructions whose values reductions read after the body.
    pub fn new(code: &KernelBody, body: &[Inst], roots: &[InstId]) -> BodyAnalysis {
        let uniform = uniform_insts(code, body);
        let mut lane_only = vec![true; body.len()];
        let mut used = vec![false; body.len()];
        let mut last_use: Vec<usize> = (0..body.len()).collect();
        let mut slots = Vec::new();
        // Whether the inner loop computes a varying value scalar by scalar. Unrolling would not speed this up.
        let mut by_lanes = false;
        for (index, inst) in body.iter().enumerate() {
            if let Some(slot) = inst.op.slot()
                && !slots.contains(&slot)
            {
                slots.push(slot);
            }
            for (operand, want) in wanted_operands(body, &uniform, index) {
                let operand = operand.0 as usize;
                used[operand] = true;
                lane_only[operand] &= want == WantedForm::Lanes;
                last_use[operand] = index;
                by_lanes |= want == WantedForm::Lanes && !uniform[index] && !uniform[operand];
            }
            by_lanes |= matches!(inst.op, InstOp::Gather { .. }) && !uniform[index];
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
        let uniform_count = |constants: bool| {
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
        let hoist = pressure * unroll + uniform_count(false) + uniform_count(true) < REGISTERS;
        BodyAnalysis { uniform, lane_only, slots, unroll, hoist, pressure, varying }
    }
}

/// Returns [`BodyAnalysis::pressure`]. `last_use` has for each instruction the last instruction that uses its value, or
/// the instruction itself if none does. A value of 8-byte lanes takes two registers per 4 elements.
fn pressure(body: &[Inst], uniform: &[bool], last_use: &[usize]) -> u32 {
    let mut freed = vec![0u32; body.len() + 1];
    let (mut live, mut most) = (0, 1);
    for (index, inst) in body.iter().enumerate() {
        if uniform[index] || matches!(inst.op, InstOp::Store { .. } | InstOp::StorePair { .. }) {
            live -= freed[index];
            continue;
        }
        let size = Repr::of(inst.dtype).bytes() / 4;
        live += size;
        most = most.max(live);
        if last_use[index] == index {
            live -= size;
        } else {
            freed[last_use[index]] += size;
        }
        live -= freed[index];
    }
    most
}

/// Returns whether a cast runs scalar by scalar. Of the casts between 64-bit integers and floats, only a cast from
/// integer to `f64` has a form for 128-bit vectors.
pub(super) fn cast_by_lanes(from: DType, to: DType) -> bool {
    let pair = (Repr::of(from), Repr::of(to));
    matches!(pair, (Repr::I64, Repr::F32) | (Repr::F32, Repr::I64) | (Repr::F64, Repr::I64))
}

/// Returns the operands of instruction `index`, each with the form in which the instruction takes it.
pub(super) fn wanted_operands(
    body: &[Inst],
    uniform: &[bool],
    index: usize,
) -> SmallVec<[(InstId, WantedForm); 3]> {
    let inst = &body[index];
    let dtype = |v: InstId| body[v.0 as usize].dtype;
    let vector = |v: InstId| (v, WantedForm::vector(dtype(v)));
    match &inst.op {
        InstOp::Const(_) | InstOp::Scalar(_) | InstOp::Iota(_) | InstOp::Load(_) | InstOp::Reduced(_) => {
            smallvec![]
        }
        InstOp::Gather { offsets, .. } => offsets.iter().map(|(v, _)| (*v, WantedForm::Lanes)).collect(),
        InstOp::Unary(_, a) | InstOp::Bitcast(a) => smallvec![vector(*a)],
        InstOp::Binary(BinaryOp::Div, a, b) if !dtype(*a).is_float() => {
            smallvec![(*a, WantedForm::Lanes), (*b, WantedForm::Lanes)]
        }
        InstOp::Binary(BinaryOp::Rem, a, b) => smallvec![(*a, WantedForm::Lanes), (*b, WantedForm::Lanes)],
        InstOp::Binary(BinaryOp::Shl | BinaryOp::Shr, a, b) => {
            let value = if uniform[b.0 as usize] { WantedForm::Vecs } else { WantedForm::Lanes };
            smallvec![(*a, value), (*b, WantedForm::Lanes)]
        }
        InstOp::Binary(_, a, b) => smallvec![vector(*a), vector(*b)],
        InstOp::MulAdd(a, b, c) => smallvec![vector(*a), vector(*b), vector(*c)],
        InstOp::Select(c, a, b) => {
            smallvec![(*c, WantedForm::Mask(Repr::of(inst.dtype).bytes())), vector(*a), vector(*b)]
        }
        InstOp::Cast(a) if dtype(*a) == DType::Bool => {
            smallvec![(*a, WantedForm::Mask(Repr::of(inst.dtype).bytes()))]
        }
        InstOp::Cast(a) if cast_by_lanes(dtype(*a), inst.dtype) => smallvec![(*a, WantedForm::Lanes)],
        InstOp::Cast(a) => smallvec![vector(*a)],
        InstOp::CheckIndex { value, .. } => smallvec![(*value, WantedForm::Lanes)],
        InstOp::Store { value, .. } => smallvec![vector(*value)],
        InstOp::StorePair { values: [a, b], .. } => smallvec![vector(*a), vector(*b)],
    }
}
