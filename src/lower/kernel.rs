//! `Kernel`: a fused loop nest as data, valid for every size.

use std::fmt;
use std::sync::Arc;

use shapeflow_shape_fns::{DType, Dim};

use super::code::{Code, Layout};
use crate::expr::{InRange, Index};
use crate::graph::ValueIx;

/// A buffer of a lowered program.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(crate) struct BufferIx(pub u32);

impl BufferIx {
    pub(crate) fn at(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for BufferIx {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "b{}", self.0)
    }
}

/// Where a slot of a [`Code`] points, as a function of the kernel's axes.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Address {
    /// Element of a buffer, one index per axis of the buffer. Run-time values in the indices are not
    /// part of the address: they are the gather's own offsets.
    Element { buffer: BufferIx, index: Vec<Index> },
    /// Row-major position in a buffer.
    Flat { buffer: BufferIx, position: Index },
    /// A number that moves with the axes.
    Iota(Index),
    /// Scratch memory of one row.
    Row,
}

/// What a run-time scalar of a [`Code`] is.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum ScalarArg {
    /// A dimension.
    Size(Dim),
    /// Bytes by which a gather slot moves for a step of one of its run-time values: the sum over the
    /// buffer's axes of coefficient times stride.
    GatherStride { slot: u32, coefficients: Vec<Dim> },
}

/// One way through the kernel's piecewise choices.
#[derive(Clone, Debug)]
pub(crate) struct Variant {
    pub code: Arc<Code>,
    pub slots: Vec<Address>,
    pub scalars: Vec<ScalarArg>,
}

/// Which variant serves a part of the domain.
#[derive(Clone, Debug)]
pub(crate) enum Decision {
    Variant(u32),
    /// The first arm all of whose ranges hold, else the last.
    Switch(Vec<(Vec<InRange>, Decision)>, Box<Decision>),
}

/// A loop nest: outer axes, each point of which is a row, and row axes walked by passes.
///
/// Axis `k` is outer axis `k` for `k < outer.len()`, then come the row axes.
#[derive(Clone, Debug)]
pub(crate) struct Kernel {
    pub outer: Vec<Dim>,
    pub row: Vec<Dim>,
    pub layout: Layout,
    pub decision: Decision,
    pub variants: Vec<Variant>,
    pub reads: Vec<BufferIx>,
    pub writes: Vec<BufferIx>,
    /// Whether a check may fail at run time.
    pub can_fail: bool,
    /// The values it makes, for errors and dumps, and how many nodes were fused.
    pub roots: Vec<ValueIx>,
    pub fused: Vec<ValueIx>,
}

impl Kernel {
    pub(crate) fn rank(&self) -> usize {
        self.outer.len() + self.row.len()
    }

    pub(crate) fn extent(&self, axis: usize) -> &Dim {
        if axis < self.outer.len() { &self.outer[axis] } else { &self.row[axis - self.outer.len()] }
    }
}

/// The axis that vector lanes run along, of `outer` outer and `row` row axes.
pub(crate) fn inner_axis(outer: usize, row: usize, layout: Layout) -> Option<usize> {
    match layout {
        Layout::Row => (outer + row).checked_sub(1),
        Layout::Column => outer.checked_sub(1),
    }
}

/// A buffer's type and shape.
#[derive(Clone, Debug)]
pub(crate) struct BufferInfo {
    pub dtype: DType,
    pub dims: Vec<Dim>,
    pub value: ValueIx,
}
