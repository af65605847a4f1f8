//! [`KernelBody`]: the instructions of one kernel variant, as plain data without sizes. Emitters compile it.
//!
//! A kernel computes rows. The outer axes of the kernel number the rows; its row axes walk the elements of one row,
//! such as the elements that a reduction combines. A kernel without reductions may have no row axes. The inner axis is
//! the axis that the vector lanes run along: a row axis or an outer axis, as [`LaneLayout`] says. A slot is one access
//! of a body to a buffer, or an iota: an integer that is linear in the loops. The addresses and strides of slots are
//! run-time arguments.

use shapeflow_shape_fns::DType;

use crate::expr::{BinaryOp, ReduceOp, Scalar, UnaryOp};

/// The number of an instruction, and so of its result, within its pass or epilogue.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub(crate) struct InstId(pub u32);

/// How the address of a slot moves along the inner axis.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum AccessPattern {
    /// The address moves to the next element in memory. The body assumes this: for another stride, a launch copies the
    /// elements to contiguous memory first. An iota or gather moves by its run-time stride along the inner axis
    /// instead.
    Contiguous,
    /// The address does not move: the whole inner loop reads or writes one element.
    Splat,
    /// The address moves by 2 to 4 elements of 4 or 8 bytes. Loads have this pattern: the emitters pick the elements
    /// out of vectors. Stores of pairs have it, with 2 elements.
    Strided(u8),
}

impl AccessPattern {
    /// Returns the number of elements in memory between neighbors along the inner axis.
    pub(crate) fn step(self) -> i64 {
        match self {
            AccessPattern::Contiguous => 1,
            AccessPattern::Splat => 0,
            AccessPattern::Strided(step) => i64::from(step),
        }
    }

    /// Returns the pattern of a load along the inner axis, for elements of `size` bytes that are `step` elements apart.
    /// `None` means that the size or step is not known.
    pub(crate) fn of_load(size: Option<usize>, step: Option<i64>) -> AccessPattern {
        match (size, step) {
            (Some(4 | 8), Some(step @ 2..=4)) => AccessPattern::Strided(step as u8),
            _ => AccessPattern::Contiguous,
        }
    }
}

/// The purpose of a slot.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum SlotUse {
    /// A buffer that the body loads from.
    Load,
    /// A buffer that the body stores to.
    Store,
    /// Memory of the running thread that holds one row, always contiguous. One pass of a row writes this memory, and
    /// later passes read it.
    Scratch,
    /// No memory: an i64 that starts at the base of the slot and grows by its strides.
    Iota,
    /// A load whose address also depends on values that the body computes. With the pattern
    /// [`AccessPattern::Contiguous`], the address moves by a run-time stride, so the elements need not be adjacent. A
    /// launch may first make the elements of a [`SlotUse::Load`] adjacent by a copy, but never the elements of a
    /// gather.
    Gather,
}

/// The properties of a slot that are fixed in machine code. The address and strides of the slot are run-time arguments.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct SlotType {
    pub dtype: DType,
    pub pattern: AccessPattern,
    pub used: SlotUse,
}

/// An instruction of a straight-line body; `dtype` is the type of its result.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Inst {
    pub dtype: DType,
    pub op: InstOp,
}

/// The operation of an instruction. An unnamed `u32` is the index of a slot, except in [`InstOp::Scalar`],
/// [`InstOp::Gather`] and [`InstOp::Reduced`].
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum InstOp {
    Const(Scalar),
    /// Run-time scalar number `k` of the kernel, an i64.
    Scalar(u32),
    /// The value of an iota slot at the current element.
    Iota(u32),
    /// The element of a load or scratch slot.
    Load(u32),
    /// The element of a gather slot at its address plus `Σ value · scalars[k]` bytes over all `(value, k)` of
    /// `offsets`. The values are i64 results of `CheckIndex`.
    Gather {
        slot: u32,
        offsets: Box<[(InstId, u32)]>,
    },
    Unary(UnaryOp, InstId),
    Binary(BinaryOp, InstId, InstId),
    /// `a * b + c`, rounded once if the processor has a fused multiply-add, else twice. f16 and bf16 are computed in
    /// f32, and the result is then rounded to the dtype.
    MulAdd(InstId, InstId, InstId),
    /// The second operand if the first is true, else the third.
    Select(InstId, InstId, InstId),
    Cast(InstId),
    Bitcast(InstId),
    /// Reduction result `k`, which an earlier pass computed.
    Reduced(u32),
    /// The i32 or i64 argument as an i64 if it lies in `[0, scalars[limit])`; otherwise 0, and the kernel reports
    /// failure.
    CheckIndex {
        value: InstId,
        limit: u32,
    },
    /// Stores to a store or scratch slot. The result is the stored value.
    Store {
        slot: u32,
        value: InstId,
    },
    /// Stores two values of one dtype to a store slot of pattern `Strided(2)`: to its element and to the next one in
    /// memory. The result is the first value.
    StorePair {
        slot: u32,
        values: [InstId; 2],
    },
}

impl InstOp {
    /// Returns the slot that the instruction reads or writes.
    pub(crate) fn slot(&self) -> Option<u32> {
        match *self {
            InstOp::Iota(slot) | InstOp::Load(slot) => Some(slot),
            InstOp::Gather { slot, .. } | InstOp::Store { slot, .. } | InstOp::StorePair { slot, .. } => {
                Some(slot)
            }
            _ => None,
        }
    }

    /// Calls `f` for every operand.
    pub(crate) fn for_each_operand(&self, mut f: impl FnMut(InstId)) {
        match self {
            InstOp::Const(_) | InstOp::Scalar(_) | InstOp::Iota(_) | InstOp::Load(_) | InstOp::Reduced(_) => {
            }
            InstOp::Gather { offsets, .. } => offsets.iter().for_each(|(v, _)| f(*v)),
            InstOp::Unary(_, a) | InstOp::Cast(a) | InstOp::Bitcast(a) => f(*a),
            InstOp::CheckIndex { value, .. } | InstOp::Store { value, .. } => f(*value),
            InstOp::Binary(_, a, b) | InstOp::StorePair { values: [a, b], .. } => {
                [*a, *b].into_iter().for_each(f);
            }
            InstOp::MulAdd(a, b, c) | InstOp::Select(a, b, c) => [*a, *b, *c].into_iter().for_each(f),
        }
    }
}

/// A reduction of a pass: combines the value of every element of the row into result `into`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct ReduceStep {
    pub op: ReduceOp,
    pub value: InstId,
    /// The dtype of `value` and of the result.
    pub dtype: DType,
    pub into: u32,
}

/// One walk over the elements of a row: the body runs for each element, then the reductions take its values.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct Pass {
    pub body: Vec<Inst>,
    pub reduces: Vec<ReduceStep>,
}

/// The axis that the vector lanes run along.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum LaneLayout {
    /// The last row axis, or the last outer axis of a kernel without row axes. A reduction keeps lanes of accumulators
    /// and combines them at the end of a row.
    Row,
    /// The last outer axis. Every lane reduces its own row; the accumulators are a tile of at most [`TILE`] elements.
    Column,
}

/// The largest number of inner elements in one call of a column kernel.
pub(crate) const TILE: usize = 2048;

/// The number of inner elements after which a reduction in [`LaneLayout::Row`] combines its accumulators into its
/// totals.
pub(crate) const REDUCE_TILE: usize = 4096;

/// The bytes of accumulator lanes of one reduction in [`LaneLayout::Row`].
///
/// The order of combination is part of the meaning of a body, so that all emitters give the same bits:
/// - A reduction computes in a type of at least 32 bits: i32 for bool and smaller integers, f32 for f16 and bf16.
/// - Element `k` of the inner axis goes to lane `k mod (REDUCE_BYTES / size)`, where `size` is the size of that type.
/// - Accumulators start at the identity. For a float sum this is -0.0, the only exact identity.
/// - After every [`REDUCE_TILE`] elements of the inner axis and at its end, each lane is combined into the same lane of
///   the totals and starts again at the identity. If a row has a single tile, the totals equal the accumulators bit for
///   bit, and an emitter may skip this step.
/// - At the end of the row, the lanes of the totals are combined by halving: lane `i` with lane `i + half`.
/// - A float sum then adds 0.0, so that an empty sum is 0.0.
///
/// In [`LaneLayout::Column`], every lane combines the elements of its own row in order, from the same identity and with
/// the same last step.
pub(crate) const REDUCE_BYTES: usize = 128;

/// The machine-independent content of one kernel function.
///
/// The function runs `rows` rows. For each row it runs the passes in order. A pass walks `loops` loops with run-time
/// extents, and inside them the `n` elements of the inner axis: the last row axis in [`LaneLayout::Row`], the last
/// outer axis in [`LaneLayout::Column`]. The epilogue runs after the passes of a row: once in a row kernel, once for
/// each of the `n` lanes in a column kernel. The epilogue may read the results of reductions.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct KernelBody {
    pub layout: LaneLayout,
    /// The number of row axes that are loops around the inner axis.
    pub loops: u32,
    pub slots: Vec<SlotType>,
    /// The number of run-time scalars.
    pub scalars: u32,
    /// The dtype of each reduction result.
    pub reduced: Vec<DType>,
    pub passes: Vec<Pass>,
    pub epilogue: Vec<Inst>,
}
