//! `VectorBlock`: straight-line vector code over any number of values, before registers are chosen.

use super::index_inst::IndexInst;
use super::inline_list::InlineList;
use crate::codegen::simd::asm::opcode::Opcode;
use crate::codegen::simd::asm::{VectorLen, VectorReg};
use crate::expr::AngleFunction;

/// A vector value of a block.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub(crate) struct VectorId(pub u32);

/// Where a value comes from.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum ValueOrigin {
    /// An instruction of the block computes the value.
    Made,
    /// An offset into the constant pool, which follows the code in memory.
    Pool(u32),
    /// An offset in the frame.
    Frame(u32),
    /// A register that keeps the value after the block.
    Pinned(VectorReg),
}

/// A memory operand of a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum MemRef {
    /// Slot and byte offset from its current element. A splat slot has a single element.
    Slot(u32, i32),
    /// An offset in the frame.
    Frame(u32),
    /// Accumulators in the frame: offset of the first lane, bytes of a lane. The operand starts at the lane of the
    /// current element `i`, which is lane `i mod (REDUCE_BYTES / bytes)`.
    AccumulatorLane(u32, u8),
    /// Accumulators in the tile at the current element: reduction, bytes of an accumulator, byte offset.
    Tile(u32, u8, i32),
}

/// How a load or store treats lanes past the end of a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Tail {
    /// No lane is past the end.
    Whole,
    /// AVX-512: the bits of this mask register are 0 for the lanes past the end.
    Mask(u8),
}

/// Neighboring elements of a step that one 16-byte register holds, with their sizes in memory.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct GatherGroup {
    /// The number of the group's first element, counted in the step.
    pub lane: u32,
    /// The number of the group's first element, counted from the current element.
    pub ahead: u32,
    /// The number of elements.
    pub count: u32,
    /// Whether the slot's address already includes the offsets, because they are uniform.
    pub slot_at_row: bool,
    /// Whether only the remaining elements of the row are read.
    pub masked: bool,
    /// Whether the frame holds one 4-byte offset per element: `Σ index·stride` in bytes. If not, it holds one 8-byte
    /// word per element and index, without strides.
    pub narrow_offsets: bool,
}

/// The operation of a [`VectorInst`].
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum VectorInstKind {
    /// `dst = op(srcs)`.
    Op { op: Opcode, len: VectorLen, imm: Option<u8> },
    /// `dst = srcs[0] * srcs[1] + srcs[2]`, rounded once.
    Fma { double: bool },
    /// `dst = srcs[0] ? srcs[1] : srcs[2]`, lane by lane. `srcs[0]` is a mask.
    Select,
    /// AVX-512: `dst` = a comparison of `srcs[0]` and `srcs[1]` with predicate `imm`, as a mask with lanes of 4 or
    /// (`wide`) 8 bytes.
    Compare { op: Opcode, imm: u8, wide: bool },
    /// `dst = op(mem)`.
    Load { op: Opcode, len: VectorLen, mem: MemRef, tail: Tail },
    /// AVX2: `dst` = the lanes of `mem` where the mask `srcs[0]` is set, else 0.
    LoadMasked { wide: bool, mem: MemRef },
    /// `mem = op(srcs[0])`.
    Store { op: Opcode, len: VectorLen, imm: Option<u8>, mem: MemRef, tail: Tail },
    /// Copies the remaining elements of a slot into the staging area of the frame; or (`out`) from the staging area to
    /// the slot. `offset` is 0, or for the second elements of pairs their distance in bytes from the first.
    Stage { slot: u32, out: bool, offset: u32 },
    /// Stores the last element of the staging area to a slot. The area holds a whole step, or (`masked`) the remaining
    /// elements.
    StoreLast { slot: u32, masked: bool },
    /// Stores the lowest `bytes` bytes of `srcs[0]` to a slot, `offset` bytes past its element.
    StoreOne { bytes: u8, slot: u32, offset: i32 },
    /// `dst` = run-time scalar `k` in every 8-byte lane.
    Scalar(u32),
    /// `dst` = the value of an iota slot, `ahead` elements past the current one, in every 8-byte lane.
    Iota { slot: u32, ahead: i32 },
    /// Adds the lowest lane of `srcs[0]` times the stride of offset number `offset` to the address of a gather slot.
    Displace { slot: u32, offset: u32 },
    /// Adds a word of the frame times the stride of offset number `offset` to the address of a gather slot.
    DisplaceBy {
        slot: u32,
        offset: u32,
        word: u32,
        /// Whether rax holds the word too.
        passed: bool,
    },
    /// An instruction of index arithmetic, by its number in [`VectorBlock::index`].
    Index(u32),
    /// `dst` = the elements `group` of a gather slot, inserted one by one.
    Gather { slot: u32, group: GatherGroup },
    /// Fails the run if any lane of the mask `srcs[0]` is set.
    Fail,
    /// Quotient, or if `rem` remainder, of the sources: 64-bit integers. The divisor is not 0.
    Divide { signed: bool, rem: bool },
    /// `dst` = `srcs[1]`, and in the lanes where the mask `srcs[0]` is set the function of `srcs[2]`: doubles.
    LargeAngle(AngleFunction),
    /// Remainder of the doubles `srcs[0]` and `srcs[1]`, with the sign of the dividend.
    Remainder,
}

/// One instruction of a block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct VectorInst {
    pub kind: VectorInstKind,
    pub dst: Option<VectorId>,
    pub srcs: InlineList<VectorId, 3>,
}

impl VectorInst {
    /// Returns the result of an instruction that computes a value.
    pub fn result(&self) -> VectorId {
        self.dst.expect("every instruction that computes a value is pushed with a result")
    }
}

/// Straight-line code. The code may hold instructions whose result nothing uses; the emitter leaves such instructions
/// out.
#[derive(Default)]
pub(crate) struct VectorBlock {
    pub insts: Vec<VectorInst>,
    /// The instructions of index arithmetic. [`VectorInstKind::Index`] refers to them by number.
    pub index: Vec<IndexInst>,
    /// The origin of each value.
    pub values: Vec<ValueOrigin>,
    /// Values by origin: values of the pool and values of the frame by offset, pinned values by register.
    by_origin: [Vec<Option<VectorId>>; 3],
}

/// The offset of every constant and of every vector of the frame is a multiple of this number.
const ORIGIN_ALIGN: u32 = 32;

impl VectorBlock {
    /// Empties the block and keeps its memory.
    pub fn clear(&mut self) {
        self.insts.clear();
        self.index.clear();
        self.values.clear();
        self.by_origin.iter_mut().for_each(Vec::clear);
    }

    fn value(&mut self, origin: ValueOrigin) -> VectorId {
        self.values.push(origin);
        VectorId(self.values.len() as u32 - 1)
    }

    /// Returns the value with this origin: for [`ValueOrigin::Made`] a new value, otherwise the block's only value with
    /// this origin.
    pub fn value_from(&mut self, origin: ValueOrigin) -> VectorId {
        let (table, index) = match origin {
            ValueOrigin::Made => return self.value(origin),
            ValueOrigin::Pool(offset) => (0, offset / ORIGIN_ALIGN),
            ValueOrigin::Frame(offset) => (1, offset / ORIGIN_ALIGN),
            ValueOrigin::Pinned(reg) => (2, u32::from(reg.0)),
        };
        let index = index as usize;
        if let Some(Some(known)) = self.by_origin[table].get(index) {
            debug_assert_eq!(self.values[known.0 as usize], origin);
            return *known;
        }
        let v = self.value(origin);
        let known = &mut self.by_origin[table];
        if known.len() <= index {
            known.resize(index + 1, None);
        }
        known[index] = Some(v);
        v
    }

    /// Appends an instruction with a result.
    pub fn push(&mut self, kind: VectorInstKind, srcs: &[VectorId]) -> VectorId {
        let dst = self.value(ValueOrigin::Made);
        self.insts.push(VectorInst { kind, dst: Some(dst), srcs: srcs.into() });
        dst
    }

    /// Makes the last instruction write the pinned value `dst` instead of a value of its own.
    pub fn redirect_last(&mut self, dst: VectorId) {
        self.insts.last_mut().expect("a reduction pushes an instruction before it is redirected").dst =
            Some(dst);
    }

    /// Appends an instruction without a result.
    pub fn push_effect(&mut self, kind: VectorInstKind, srcs: &[VectorId]) {
        self.insts.push(VectorInst { kind, dst: None, srcs: srcs.into() });
    }

    /// Returns the largest number of registers that values made in the block occupy at once.
    pub fn pressure(&self) -> u32 {
        let mut used = vec![false; self.values.len()];
        let (mut live, mut most) = (0u32, 0u32);
        for inst in self.insts.iter().rev() {
            if let Some(dst) = inst.dst {
                match std::mem::replace(&mut used[dst.0 as usize], false) {
                    true => live -= 1,
                    false if self.values[dst.0 as usize] == ValueOrigin::Made => continue,
                    false => {}
                }
            }
            for src in inst.srcs.iter() {
                let v = src.0 as usize;
                if self.values[v] == ValueOrigin::Made && !std::mem::replace(&mut used[v], true) {
                    live += 1;
                }
            }
            most = most.max(live);
        }
        most
    }
}
