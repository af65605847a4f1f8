//! [`Kernel`]: a fused loop nest as plain data, valid for every size.

use std::fmt;
use std::sync::Arc;

use shapeflow_shape_fns::{DType, Dim};

use super::kernel_body::KernelBody;
use super::loop_nest::LoopNest;
use crate::expr::{InRange, Index};
use crate::graph::ValueIx;

/// The number of a buffer in a lowered program.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(crate) struct BufferIx(pub u32);

impl BufferIx {
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for BufferIx {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "b{}", self.0)
    }
}

/// The address of a slot of a [`KernelBody`], as a function of the kernel's axes.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Address {
    /// An element of a buffer: one index per axis of the buffer, and one more that chooses a part of a complex number.
    /// Run-time values are not in these indices; the gather instruction adds them as offsets.
    Element { buffer: BufferIx, index: Vec<Index> },
    /// A row-major position in a buffer, counted in parts of elements. An element has `parts` parts.
    Flat { buffer: BufferIx, position: Index, parts: u8 },
    /// No memory: the value of an index.
    Iota(Index),
    /// Scratch memory of one row.
    Scratch,
}

/// The meaning of a run-time scalar of a [`KernelBody`].
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum ScalarArg {
    /// A dimension.
    Size(Dim),
    /// The bytes by which a gather slot moves when one of its run-time values grows by 1:
    /// `Σ coefficients[axis] · stride(axis)` over the axes of the buffer.
    GatherStride { slot: u32, coefficients: Vec<Dim> },
}

/// The body of a kernel for one outcome of its piecewise choices.
#[derive(Clone, Debug)]
pub(crate) struct Variant {
    pub body: Arc<KernelBody>,
    /// For each slot of the body: what the slot addresses.
    pub slots: Vec<Address>,
    /// For each run-time scalar of the body: what the scalar means.
    pub scalars: Vec<ScalarArg>,
}

/// Chooses the variant for each point of the domain.
#[derive(Clone, Debug)]
pub(crate) enum Decision {
    /// Always the variant with this number.
    Variant(u32),
    /// The decision of the first arm whose ranges all hold; if there is none, the boxed decision.
    Switch(Vec<(Vec<InRange>, Decision)>, Box<Decision>),
}

/// A loop nest. Each point of the outer axes is a row. For each row, every pass of the body walks all elements of the
/// row axes.
///
/// Axes `0..outer.len()` are the outer axes; the row axes follow.
#[derive(Clone, Debug)]
pub(crate) struct Kernel {
    /// The extent of each outer axis.
    pub outer: Vec<Dim>,
    /// The extent of each row axis.
    pub row: Vec<Dim>,
    pub decision: Decision,
    pub variants: Vec<Variant>,
    /// The number of the first variant for short rows. This variant and the next ones compute the same as the variants
    /// from 0 on, but their lanes run along the last outer axis.
    pub short_row_variants: Option<usize>,
    /// The buffers that the kernel loads from.
    pub reads: Vec<BufferIx>,
    /// The buffers that the kernel stores to.
    pub writes: Vec<BufferIx>,
    /// Whether a check may fail at run time.
    pub can_fail: bool,
    /// The values that the kernel stores.
    pub roots: Vec<ValueIx>,
    /// All values that the kernel computes.
    pub fused: Vec<ValueIx>,
}

impl Kernel {
    /// Returns the number of axes.
    pub(crate) fn rank(&self) -> usize {
        self.outer.len() + self.row.len()
    }

    /// Returns the extent of an outer or row axis.
    pub(crate) fn extent(&self, axis: usize) -> &Dim {
        if axis < self.outer.len() { &self.outer[axis] } else { &self.row[axis - self.outer.len()] }
    }

    /// Returns the loops of a variant.
    pub(super) fn nest(&self, variant: &Variant) -> LoopNest {
        LoopNest { outer: self.outer.len(), row: self.row.len(), layout: variant.body.layout }
    }
}

/// The type and shape of a buffer, and the value that it holds.
#[derive(Clone, Debug)]
pub(crate) struct BufferInfo {
    pub dtype: DType,
    /// Empty if the rank is unknown. Only a result of a host kernel may have an unknown rank.
    pub dims: Vec<Dim>,
    pub value: ValueIx,
}
