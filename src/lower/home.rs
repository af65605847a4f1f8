//! `Home`: where a value lives, and why.

use std::fmt;

use crate::graph::ValueIx;

/// Why a value has memory of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Why {
    /// A graph input or constant.
    Given,
    /// Made by a host kernel or a contraction.
    Made,
    /// An output of the graph.
    Output,
    /// Read by a host kernel or a contraction, or by the planner.
    ReadWhole,
    /// Read in row-major order.
    ReadFlat,
    /// Costly, and needed at several indices.
    SeveralIndices,
    /// Costly, and needed again along an axis it does not have.
    AddedAxis,
    /// A fold that feeds another domain.
    FoldBoundary,
    /// The cluster would grow too large.
    Full,
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Why::Given => "given",
            Why::Made => "stored: computed by a host op or a matmul",
            Why::Output => "an output",
            Why::ReadWhole => "stored: read by a host op, a matmul or the planner",
            Why::ReadFlat => "read in row-major order",
            Why::SeveralIndices => "costly and read at several indices",
            Why::AddedAxis => "costly and read along an axis it does not have",
            Why::FoldBoundary => "folded, then read by another domain",
            Why::Full => "its kernel is full",
        })
    }
}

/// Where a value lives.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Home {
    /// Not needed.
    None,
    /// Computed where it is read.
    Inlined,
    /// In a buffer.
    Buffer(Why),
    /// The same elements as another value, which has a buffer.
    Alias(ValueIx),
}
