//! `Frame`: the stack memory of a function, and what stands where in it.

use smallvec::SmallVec;

use super::encode::Len;
use super::prefetch::Ahead;
use super::select::Refusal;
use super::spread::Spread;
use super::{Isa, gather, index};
use crate::lower::code::{Code, FOLD_BYTES, Inst, InstOp, SlotUse};

/// Memory given out from the bottom of the frame.
pub(super) struct Frame {
    size: u32,
    /// Vectors that blocks have spilled to and left.
    left: Vec<u32>,
}

impl Frame {
    pub fn new() -> Frame {
        Frame { size: 0, left: Vec::new() }
    }

    pub fn word(&mut self) -> u32 {
        self.area(8, 8)
    }

    /// A whole vector.
    pub fn vector(&mut self, isa: Isa) -> u32 {
        let bytes = isa.vector().bytes();
        self.area(bytes, bytes)
    }

    /// A vector for the length of a block.
    pub fn spill(&mut self, isa: Isa) -> u32 {
        self.left.pop().unwrap_or_else(|| self.vector(isa))
    }

    /// Takes back what [`Frame::spill`] gave.
    pub fn give_back(&mut self, spills: &[u32]) {
        self.left.extend(spills);
    }

    pub fn area(&mut self, bytes: u32, align: u32) -> u32 {
        let at = self.size.next_multiple_of(align);
        self.size = at + bytes;
        at
    }

    /// Bytes of the frame, in whole vectors of any size.
    pub fn bytes(&self) -> u32 {
        self.size.next_multiple_of(64)
    }
}

/// Words of a gather slot.
#[derive(Default)]
pub(super) struct Gather {
    /// Where it is, if no register holds that.
    pub address: u32,
    /// Its stride along the inner axis.
    pub inner: u32,
    /// The strides of its offsets.
    pub strides: SmallVec<[u32; 2]>,
}

/// Elements of a step at most: four vectors of 8 lanes, or two of 16.
const MOST_ELEMENTS: u32 = 32;

/// What a word for each element of a step takes: multiples of an iota's stride, offsets of a gather.
pub(super) const STEP_WORDS: u32 = 8 * MOST_ELEMENTS;

/// Offsets in the frame of what a function keeps there.
pub(super) struct Layout {
    /// The address of the arguments.
    pub args: u32,
    /// Rows that are left.
    pub rows: u32,
    /// Elements of the inner axis.
    pub n: u32,
    /// The address of the tile.
    pub tile: u32,
    /// Nonzero once a check failed.
    pub failed: u32,
    /// Elements that are left for a masked step.
    pub left: u32,
    /// Nonzero while steps lead up to the first whole line of a result.
    pub leading: u32,
    /// Nonzero once something is written past the caches.
    pub streamed: u32,
    /// A word on its way to a vector.
    pub scratch: u32,
    /// Positions that are left of each loop.
    pub counters: Vec<u32>,
    /// Where each slot starts: in the row, then inside each loop.
    pub starts: Vec<u32>,
    /// Set lanes of a masked step: with lanes of 4 bytes, then two vectors with lanes of 8.
    pub masks: [u32; 3],
    /// Elements on their way to or from memory in a masked step.
    pub staging: u32,
    /// Vectors whose lanes are worked on one by one: two arguments and the result.
    pub lanes: [u32; 3],
    /// The results of row folds.
    pub folded: Vec<u32>,
    /// The run-time scalars, of a function that checks indices.
    pub scalars: Vec<u32>,
    /// For elements that are gathered one by one.
    pub spread: Spread,
    /// What moves each gather slot, by slot.
    pub gathers: Vec<Gather>,
    /// A word for each instruction of index arithmetic.
    pub index: u32,
    /// For addresses ahead, if any are needed.
    pub ahead: Option<Ahead>,
    /// The offsets of the elements of a step, by their place in a gather.
    pub offsets: Vec<u32>,
    /// Multiples of the stride of an iota that moves, by slot: for as many vectors as a step has.
    pub ramps: Vec<Option<u32>>,
    /// Accumulators of the folds of a pass, by their place in it.
    pub own: Vec<u32>,
    /// Their totals.
    pub totals: Vec<u32>,
}

impl Layout {
    /// # Errors
    /// What a function cannot keep.
    pub fn new(code: &Code, isa: Isa, frame: &mut Frame) -> Result<Layout, Refusal> {
        let strides = gather::strides(code)?;
        let most_offsets = strides.iter().map(SmallVec::len).max().unwrap_or(0);
        let is_check = |inst: &Inst| matches!(inst.op, InstOp::CheckIndex { .. });
        let is_checking = code.slots.iter().any(|slot| slot.used == SlotUse::Gather)
            || code.passes.iter().any(|pass| pass.body.iter().any(is_check))
            || code.epilogue.iter().any(is_check);
        let scalars: Vec<u32> = (0..code.scalars).filter(|_| is_checking).map(|_| frame.word()).collect();
        let mut gathers = Vec::with_capacity(strides.len());
        for (slot, strides) in code.slots.iter().zip(strides) {
            gathers.push(match slot.used {
                SlotUse::Gather => Gather {
                    address: frame.word(),
                    inner: frame.word(),
                    strides: strides.iter().map(|k| scalars[*k as usize]).collect(),
                },
                _ => Gather::default(),
            });
        }
        let slots = code.slots.len() as u32;
        let folds = code.passes.iter().map(|pass| pass.folds.len()).max().unwrap_or(0);
        let align = Len::Z.bytes();
        let moves = |slot: &crate::lower::code::SlotType| {
            slot.used == SlotUse::Iota && slot.class == crate::lower::code::Class::Contiguous
        };
        Ok(Layout {
            args: frame.word(),
            rows: frame.word(),
            n: frame.word(),
            tile: frame.word(),
            failed: frame.word(),
            left: frame.word(),
            leading: frame.word(),
            streamed: frame.word(),
            scratch: frame.word(),
            counters: (0..code.loops).map(|_| frame.word()).collect(),
            starts: (0..=code.loops).map(|_| frame.area(8 * slots, 8)).collect(),
            masks: std::array::from_fn(|_| frame.vector(isa)),
            staging: frame.area(8 * isa.step(), align),
            lanes: std::array::from_fn(|_| frame.vector(isa)),
            folded: code.folded.iter().map(|_| frame.vector(isa)).collect(),
            scalars,
            spread: Spread::new(code, isa, frame),
            gathers,
            index: frame.area(8 * index::longest(code) as u32, 8),
            ahead: Ahead::new(code, frame),
            offsets: (0..most_offsets).map(|_| frame.area(STEP_WORDS, align)).collect(),
            ramps: code.slots.iter().map(|slot| moves(slot).then(|| frame.area(STEP_WORDS, align))).collect(),
            own: (0..folds).map(|_| frame.area(FOLD_BYTES as u32, align)).collect(),
            totals: (0..folds).map(|_| frame.area(FOLD_BYTES as u32, align)).collect(),
        })
    }

    /// Where slot `slot` starts inside `level` loops.
    pub fn start(&self, level: usize, slot: u32) -> u32 {
        self.starts[level] + 8 * slot
    }
}
