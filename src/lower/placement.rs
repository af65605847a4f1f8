//! [`Placement`]: where the elements of a value are, and why a value is stored.

use std::fmt;

use crate::graph::ValueIx;

/// Why a value has memory of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum MaterializeReason {
    /// The value is a graph input or a constant.
    Given,
    /// The value is the result of a node that runs by itself, such as a host kernel or a matmul.
    SingleNodeResult,
    /// The value is an output of the graph.
    Output,
    /// A host kernel reads the value.
    ReadByHostKernel,
    /// A matmul reads the value.
    ReadByMatMul,
    /// A loop of this crate, which runs in place of a kernel, reads the value.
    ReadByLoop,
    /// The planner reads the elements of the value: sizes or offsets of a kernel.
    ReadByPlanner,
    /// The value is read in row-major order.
    ReadFlat,
    /// The value is read at several indices. The value is costly, or there are too many indices.
    SeveralIndices,
    /// The value is costly, and read at an index with a quotient or remainder.
    QuotientIndex,
    /// A kernel cannot compute the value at the index at which the value is read.
    UnsupportedIndex,
    /// The value is costly, and would be computed again along an axis that it does not vary along.
    AddedAxis,
    /// The value is a reduction whose result is read in another domain.
    ReduceBoundary,
    /// The kernel that reads the value has reached a size limit.
    KernelFull,
}

impl fmt::Display for MaterializeReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("stored: ")?;
        f.write_str(match self {
            MaterializeReason::Given => "an input or constant",
            MaterializeReason::SingleNodeResult => "the result of a node that runs by itself",
            MaterializeReason::Output => "an output of the graph",
            MaterializeReason::ReadByHostKernel => "read by a host kernel",
            MaterializeReason::ReadByMatMul => "read by a matmul",
            MaterializeReason::ReadByLoop => "read by a precompiled loop",
            MaterializeReason::ReadByPlanner => "read by the planner, because sizes or offsets depend on it",
            MaterializeReason::ReadFlat => "read in row-major order",
            MaterializeReason::SeveralIndices => "read at several indices",
            MaterializeReason::QuotientIndex => "costly and read at an index with a quotient or remainder",
            MaterializeReason::UnsupportedIndex => "read at an index that kernels cannot compute it at",
            MaterializeReason::AddedAxis => "costly and read along an axis that it does not have",
            MaterializeReason::ReduceBoundary => "reduced, then read in another domain",
            MaterializeReason::KernelFull => "the kernel that reads it is full",
        })
    }
}

/// Where the elements of a value are.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Placement {
    /// Nowhere: nothing reads the value.
    Unused,
    /// Nowhere: each reader computes them.
    Inlined,
    /// In a buffer.
    Buffer(MaterializeReason),
    /// In the buffer of another value, which has the same elements.
    Alias(ValueIx),
}
