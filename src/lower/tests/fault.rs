//! [`Fault`]: the element of a kernel body that fails a check.

use smallvec::SmallVec;

/// Why a run stopped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum FaultKind {
    /// An index outside `[0, limit)`.
    Index { value: i64, limit: i64 },
    /// An integer divided by zero.
    DivideByZero,
    /// A slot that leaves its buffer, stores to read-only memory, or does not exist. The arguments are wrong.
    OutOfBounds { slot: u32 },
}

/// The first element that failed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Fault {
    /// The failure.
    pub kind: FaultKind,
    /// Number of the pass; the number of passes for the epilogue.
    pub pass: usize,
    /// Number of the instruction in its body.
    pub inst: usize,
    /// Row of the element.
    pub row: i64,
    /// Position of the element along the loops.
    pub position: SmallVec<[i64; 4]>,
    /// Position of the element along the inner axis.
    pub inner: i64,
}
