//! `Kernel`: a fused loop nest as data, valid for every size.

use std::fmt;
use std::sync::Arc;

use shapeflow_shape_fns::{DType, Dim};

use super::code::{Code, Inst, InstOp, Layout, Pass, SlotUse};
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

impl fmt::Display for Kernel {
    /// The loops, the passes with their instructions, and where each slot points.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let layout = match self.layout {
            Layout::Row => "rows",
            Layout::Column => "columns",
        };
        write!(f, "kernel {layout}")?;
        for buffer in &self.reads {
            write!(f, " {buffer}")?;
        }
        f.write_str(" ->")?;
        for buffer in &self.writes {
            write!(f, " {buffer}")?;
        }
        f.write_str(" {\n")?;
        for (axis, extent) in self.outer.iter().enumerate() {
            writeln!(f, "  for i{axis} < {extent}")?;
        }
        for (axis, extent) in self.row.iter().enumerate() {
            writeln!(f, "  each pass for i{} < {extent}", axis + self.outer.len())?;
        }
        write_decision(f, &self.decision, 1)?;
        for (number, variant) in self.variants.iter().enumerate() {
            writeln!(f, "  variant {number}:")?;
            for (slot, address) in variant.slots.iter().enumerate() {
                let kind = variant.code.slots[slot];
                let used = match kind.used {
                    SlotUse::Load => "load",
                    SlotUse::Store => "store",
                    SlotUse::Scratch => "scratch",
                    SlotUse::Iota => "index",
                    SlotUse::Gather => "gather",
                };
                writeln!(f, "    s{slot}: {used} {} {:?} {}", kind.dtype, kind.class, AddressText(address))?;
            }
            for (number, scalar) in variant.scalars.iter().enumerate() {
                match scalar {
                    ScalarArg::Size(dim) => writeln!(f, "    a{number}: {dim}")?,
                    ScalarArg::GatherStride { slot, .. } => writeln!(f, "    a{number}: stride of s{slot}")?,
                }
            }
            for (number, pass) in variant.code.passes.iter().enumerate() {
                writeln!(f, "    pass {number}:")?;
                write_pass(f, pass)?;
            }
            if !variant.code.epilogue.is_empty() {
                writeln!(f, "    row end:")?;
                write_body(f, &variant.code.epilogue)?;
            }
        }
        f.write_str("}")
    }
}

struct AddressText<'a>(&'a Address);

impl fmt::Display for AddressText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Address::Element { buffer, index } => {
                write!(f, "{buffer}[")?;
                for (k, index) in index.iter().enumerate() {
                    write!(f, "{}{index}", if k == 0 { "" } else { ", " })?;
                }
                f.write_str("]")
            }
            Address::Flat { buffer, position } => write!(f, "{buffer}.flat[{position}]"),
            Address::Iota(index) => write!(f, "{index}"),
            Address::Row => f.write_str("row"),
        }
    }
}

fn write_decision(f: &mut fmt::Formatter<'_>, decision: &Decision, depth: usize) -> fmt::Result {
    let pad = "  ".repeat(depth);
    match decision {
        Decision::Variant(0) if depth == 1 => Ok(()),
        Decision::Variant(variant) => writeln!(f, "{pad}variant {variant}"),
        Decision::Switch(arms, otherwise) => {
            for (ranges, arm) in arms {
                write!(f, "{pad}where")?;
                for range in ranges {
                    write!(f, " {} <= {} < {}", range.low, range.index, range.high)?;
                }
                f.write_str("\n")?;
                write_decision(f, arm, depth + 1)?;
            }
            writeln!(f, "{pad}otherwise")?;
            write_decision(f, otherwise, depth + 1)
        }
    }
}

fn write_pass(f: &mut fmt::Formatter<'_>, pass: &Pass) -> fmt::Result {
    write_body(f, &pass.body)?;
    for fold in &pass.folds {
        writeln!(f, "      f{} = {:?} v{}", fold.into, fold.op, fold.value.0)?;
    }
    Ok(())
}

fn write_body(f: &mut fmt::Formatter<'_>, body: &[Inst]) -> fmt::Result {
    for (id, inst) in body.iter().enumerate() {
        writeln!(f, "      v{id}: {} = {}", inst.dtype, InstText(&inst.op))?;
    }
    Ok(())
}

struct InstText<'a>(&'a InstOp);

impl fmt::Display for InstText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            InstOp::Const(value) => write!(f, "{value}"),
            InstOp::Scalar(k) => write!(f, "a{k}"),
            InstOp::Iota(slot) => write!(f, "index s{slot}"),
            InstOp::Load(slot) => write!(f, "load s{slot}"),
            InstOp::Gather { slot, offsets } => {
                write!(f, "gather s{slot}")?;
                offsets.iter().try_for_each(|(value, stride)| write!(f, " + v{}*a{stride}", value.0))
            }
            InstOp::Unary(op, a) => write!(f, "{op:?} v{}", a.0),
            InstOp::Binary(op, a, b) => write!(f, "{op:?} v{} v{}", a.0, b.0),
            InstOp::MulAdd(a, b, c) => write!(f, "MulAdd v{} v{} v{}", a.0, b.0, c.0),
            InstOp::Select(a, b, c) => write!(f, "Select v{} v{} v{}", a.0, b.0, c.0),
            InstOp::Cast(a) => write!(f, "Cast v{}", a.0),
            InstOp::Bitcast(a) => write!(f, "Bitcast v{}", a.0),
            InstOp::Folded(k) => write!(f, "f{k}"),
            InstOp::CheckIndex { value, limit } => write!(f, "CheckIndex v{} < a{limit}", value.0),
            InstOp::Store { slot, value } => write!(f, "store s{slot} v{}", value.0),
        }
    }
}

/// A buffer's type and shape.
#[derive(Clone, Debug)]
pub(crate) struct BufferInfo {
    pub dtype: DType,
    pub dims: Vec<Dim>,
    pub value: ValueIx,
}
