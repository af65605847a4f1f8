//! `Code`: what an emitter turns into machine code, as plain data without sizes.

use shapeflow_shape_fns::DType;

use crate::expr::{BinaryOp, ReduceOp, Scalar, UnaryOp};

/// The number of an instruction's result within its body.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub(crate) struct Vid(pub u32);

/// How a slot moves with the inner axis.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Class {
    /// The next element: the element size in bytes (1 for an iota is `inner` at run time).
    Contiguous,
    /// It does not move: one value for the whole inner loop.
    Splat,
    /// The element so many after it: 2 to 4, of 4 or 8 bytes each. A load, whose elements are picked out of vectors.
    Strided(u8),
}

impl Class {
    /// How many elements of memory it moves from one element to the next.
    pub(crate) fn step(self) -> i64 {
        match self {
            Class::Contiguous => 1,
            Class::Splat => 0,
            Class::Strided(step) => i64::from(step),
        }
    }

    /// What a load is of elements of `size` bytes that lie `step` apart, if that is known.
    pub(crate) fn of_load(size: Option<usize>, step: Option<i64>) -> Class {
        match (size, step) {
            (Some(4 | 8), Some(step @ 2..=4)) => Class::Strided(step as u8),
            _ => Class::Contiguous,
        }
    }
}

/// What a slot is used for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum SlotUse {
    Load,
    Store,
    /// Written by one pass of a row and read by later ones: memory of the running thread that
    /// holds one row. Always contiguous.
    Scratch,
    /// No memory: an i64 that starts at `base` and moves by run-time strides.
    Iota,
    /// A load whose address also depends on values computed in the body. Such a load honours the
    /// run-time `inner` stride if it is `Contiguous`, so it is never staged.
    Gather,
}

/// The fixed part of a memory operand.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct SlotType {
    pub dtype: DType,
    pub class: Class,
    pub used: SlotUse,
}

/// One step of a straight-line body; its result has the given dtype.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Inst {
    pub dtype: DType,
    pub op: InstOp,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum InstOp {
    Const(Scalar),
    /// Run-time scalar number `k` of the kernel, an i64.
    Scalar(u32),
    /// The value of an iota slot at the current element.
    Iota(u32),
    /// The element of a load or scratch slot.
    Load(u32),
    /// The element of a gather slot at its address plus `Σ value · scalars[k]` bytes; values are
    /// i64 results of `CheckIndex`.
    Gather {
        slot: u32,
        offsets: Box<[(Vid, u32)]>,
    },
    Unary(UnaryOp, Vid),
    Binary(BinaryOp, Vid, Vid),
    MulAdd(Vid, Vid, Vid),
    Select(Vid, Vid, Vid),
    Cast(Vid),
    Bitcast(Vid),
    /// Result `k` of the folds of earlier passes.
    Folded(u32),
    /// The i32 or i64 argument as an i64 if it lies in `[0, scalars[limit])`; otherwise 0, and the
    /// kernel reports failure.
    CheckIndex {
        value: Vid,
        limit: u32,
    },
    /// Stores to a store or scratch slot; the result is the value itself.
    Store {
        slot: u32,
        value: Vid,
    },
}

impl InstOp {
    /// The slot it names.
    pub(crate) fn slot(&self) -> Option<u32> {
        match *self {
            InstOp::Iota(slot) | InstOp::Load(slot) => Some(slot),
            InstOp::Gather { slot, .. } | InstOp::Store { slot, .. } => Some(slot),
            _ => None,
        }
    }

    /// Calls `f` on every operand.
    pub(crate) fn for_each_operand(&self, mut f: impl FnMut(Vid)) {
        match self {
            InstOp::Const(_) | InstOp::Scalar(_) | InstOp::Iota(_) | InstOp::Load(_) | InstOp::Folded(_) => {}
            InstOp::Gather { offsets, .. } => offsets.iter().for_each(|(v, _)| f(*v)),
            InstOp::Unary(_, a) | InstOp::Cast(a) | InstOp::Bitcast(a) => f(*a),
            InstOp::CheckIndex { value, .. } | InstOp::Store { value, .. } => f(*value),
            InstOp::Binary(_, a, b) => [*a, *b].into_iter().for_each(f),
            InstOp::MulAdd(a, b, c) | InstOp::Select(a, b, c) => [*a, *b, *c].into_iter().for_each(f),
        }
    }
}

/// A fold of a pass: the value of every element of the row combined into result `into`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct FoldStep {
    pub op: ReduceOp,
    pub value: Vid,
    /// Type of the accumulators and the result (the dtype of `value`).
    pub dtype: DType,
    pub into: u32,
}

/// One walk over the elements of a row.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct Pass {
    pub body: Vec<Inst>,
    pub folds: Vec<FoldStep>,
}

/// Which axis the vector lanes run along.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Layout {
    /// Along the last row axis (or the last outer axis of a kernel that has no row axes): folds keep
    /// lanes of accumulators and combine them at the end of a row.
    Row,
    /// Along the last outer axis: every lane folds its own row; accumulators live in a tile of at
    /// most [`TILE`] elements.
    Column,
}

/// Largest number of inner elements in one call of a column kernel or of a staged kernel.
pub(crate) const TILE: usize = 2048;

/// Inner elements after which the accumulators of a fold in [`Layout::Row`] are added to its totals.
pub(crate) const FOLD_TILE: usize = 4096;

/// Bytes of accumulator lanes of one fold in [`Layout::Row`].
///
/// Element `k` of a run of the inner axis goes to lane `k mod (FOLD_BYTES / size)`, where size is that
/// of the type the fold is computed in (bool and integers below 32 bits: i32; f16 and bf16: f32).
/// Accumulators start from the identity (for a float sum -0.0, the only exact one); after every
/// [`FOLD_TILE`] elements and at the end of every run each lane is combined into the same lane of the
/// totals, in order, and starts again. At the end of the row the lanes of the totals are combined by
/// halving, lane `i` with lane `i + half`; a float sum then adds 0.0, so that an empty sum is 0.0.
/// Where only one tile ran, totals equal accumulators bit for bit, so that the step may be left out.
///
/// In [`Layout::Column`] every lane combines the elements of its own row in order, from the same
/// identity and with the same last step.
pub(crate) const FOLD_BYTES: usize = 128;

/// The machine-independent content of one kernel function.
///
/// The function runs `rows` rows. For each row it runs the passes in order, each over the row axes:
/// `loops` outer ones (run-time extents), then `n` elements of the inner axis (in [`Layout::Row`] the
/// last row axis; in [`Layout::Column`] the last outer axis). The epilogue, if not empty, runs once a
/// row after the passes (in a column kernel: once for each of the `n` lanes) and may read fold results.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Code {
    pub layout: Layout,
    /// Row axes that are loops around the inner axis.
    pub loops: u32,
    pub slots: Vec<SlotType>,
    /// Number of run-time scalars.
    pub scalars: u32,
    /// Number of fold results.
    pub folded: Vec<DType>,
    pub passes: Vec<Pass>,
    pub epilogue: Vec<Inst>,
}
