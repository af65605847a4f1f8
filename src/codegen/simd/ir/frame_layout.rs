//! `FrameLayout`: the offsets in a function's stack frame. A slot is an access of the kernel to a buffer, not a place
//! in the frame.

use smallvec::SmallVec;

use crate::codegen::simd::asm::{Mem, RSP, VectorIsa, VectorLen};
use crate::lower::kernel_body::{AccessPattern, KernelBody, REDUCE_BYTES, SlotType, SlotUse};

/// Returns the memory operand for offset `offset` of the frame.
pub(crate) fn frame_mem(offset: u32) -> Mem {
    Mem::Base(RSP, offset as i32)
}

/// Gives out memory from the bottom of the frame.
pub(crate) struct FrameAllocator {
    size: u32,
    /// Offsets of spill vectors that finished blocks returned.
    free_spills: Vec<u32>,
}

impl FrameAllocator {
    pub fn new() -> FrameAllocator {
        FrameAllocator { size: 0, free_spills: Vec::new() }
    }

    /// Allocates 8 bytes and returns their offset.
    pub fn word(&mut self) -> u32 {
        self.area(8, 8)
    }

    /// Allocates a whole vector and returns its offset.
    pub fn vector(&mut self, isa: VectorIsa) -> u32 {
        let bytes = isa.vector().bytes();
        self.area(bytes, bytes)
    }

    /// Allocates a vector for the spills of one block. [`FrameAllocator::free_spills`] frees it.
    pub fn spill(&mut self, isa: VectorIsa) -> u32 {
        self.free_spills.pop().unwrap_or_else(|| self.vector(isa))
    }

    /// Frees spill vectors, so that later blocks may use them.
    pub fn free_spills(&mut self, spills: &[u32]) {
        self.free_spills.extend(spills);
    }

    /// Allocates `bytes` bytes and returns their offset, a multiple of `align`. Nothing frees them.
    pub fn area(&mut self, bytes: u32, align: u32) -> u32 {
        let offset = self.size.next_multiple_of(align);
        self.size = offset + bytes;
        offset
    }

    /// Returns the size of the frame: a multiple of the largest vector.
    pub fn bytes(&self) -> u32 {
        self.size.next_multiple_of(64)
    }
}

/// A run-time scalar copied to every lane of a vector in the frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum LaneScalar {
    /// The limit of checked indices with lanes of `bytes` bytes.
    ///
    /// The limit is ready for an unsigned comparison. AVX2 has only signed comparisons, so the code for AVX2 flips the
    /// sign bit of the limit.
    Limit { scalar: u32, bytes: u32 },
    /// The stride of an offset of a gather, in 4-byte lanes.
    Stride { scalar: u32 },
}

/// The needs of a kernel in the frame for gathers, checked indices, index arithmetic and prefetching.
pub(crate) struct FrameDemands {
    /// For each slot: the strides of its gather offsets, each as the index of the run-time scalar that holds the
    /// stride.
    pub gather_strides: Vec<SmallVec<[u32; 2]>>,
    /// Whether the code reads run-time scalars from the frame.
    pub reads_scalars: bool,
    /// The run-time scalars that vector code reads, each once.
    pub lane_scalars: Vec<LaneScalar>,
    /// The number of words for index arithmetic: one per instruction of the longest body.
    pub index_words: usize,
    /// The largest number of copies of a loop body, for neighboring positions, if the code prefetches gathered rows.
    /// `None` if it does not.
    pub prefetch_copies: Option<usize>,
    /// The slots that reductions read ahead.
    pub read_ahead: Vec<u32>,
}

/// The frame offsets of the words of a gather slot.
#[derive(Default)]
pub(crate) struct GatherWords {
    /// The slot's address, if no register holds it.
    pub address: u32,
    /// The stride along the inner axis.
    pub inner: u32,
    /// The strides of the offsets.
    pub strides: SmallVec<[u32; 2]>,
}

/// The frame offsets of words with distances from the current position to later positions. Copies of a loop body run at
/// later positions, and prefetching reads rows of later positions.
pub(crate) struct LookaheadWords {
    /// For each slot: the distance in bytes from the current position to the position whose rows are prefetched.
    pub strides: Vec<u32>,
    /// `copy_distances[k - 1][slot]`: distance in bytes from the first copy of a body to copy `k`.
    pub copy_distances: Vec<Vec<u32>>,
    /// Nonzero if the kernel has one loop and, for every slot that the addresses of gathered rows depend on,
    /// `row stride = extent of the loop · stride of the loop`. Prefetching then continues in the next row.
    pub rows_continue_loop: u32,
    /// For each slot: the number of bytes of a row to prefetch.
    pub bytes: Vec<u32>,
}

/// The largest number of elements in a step: four vectors of 8 lanes, or two of 16.
const MAX_STEP_ELEMENTS: u32 = 32;

/// Bytes of an area with one word of 8 bytes per element of a step: multiples of an iota's stride, or offsets of a
/// gather.
pub(crate) const STEP_AREA_BYTES: u32 = 8 * MAX_STEP_ELEMENTS;

/// Offsets in the frame of everything that lives as long as the function.
pub(crate) struct FrameLayout {
    /// The address of the arguments.
    pub args: u32,
    /// The number of remaining rows.
    pub rows: u32,
    /// The number of elements of the inner axis.
    pub n: u32,
    /// The address of the tile, which holds the accumulators of a column reduction.
    pub tile: u32,
    /// The outcome: 0, `CHECK_FAILED` or `STOPPED`.
    pub outcome: u32,
    /// The number of elements in a masked step.
    pub remaining: u32,
    /// Nonzero while the code computes the elements before the first whole cache line of a row that bypasses the
    /// caches.
    pub leading: u32,
    /// Nonzero after a non-temporal store.
    pub needs_fence: u32,
    /// A word that the code stores here in order to load it into a vector.
    pub scratch: u32,
    /// For each loop: the number of remaining positions.
    pub counters: Vec<u32>,
    /// `starts[level]`: the address of each slot at inner element 0 of the current row and of the current iterations of
    /// the outermost `level` loops; for an iota, its value there. At level 0, no loop has moved the slot.
    pub starts: Vec<u32>,
    /// The masks of a masked step: one vector of 4-byte lanes, then two of 8-byte lanes.
    pub masks: [u32; 3],
    /// An area through which a masked step copies elements, if it cannot load or store them under a mask.
    pub staging: u32,
    /// The operands and the result of an operation that runs lane by lane.
    pub lanes: [u32; 3],
    /// The results of row reductions.
    pub reduced: Vec<u32>,
    /// The run-time scalars, if the code reads them from the frame.
    pub scalars: Vec<u32>,
    lane_scalars: Vec<(LaneScalar, u32)>,
    /// For each slot: the words of a gather.
    pub gathers: Vec<GatherWords>,
    /// One word per instruction of a body, for the results of its index arithmetic.
    pub index: u32,
    /// Distances to later positions, if the code prefetches gathered rows.
    pub prefetch: Option<LookaheadWords>,
    /// For each slot that a reduction reads ahead: the number of bytes from an element that is read to the element that
    /// is prefetched at the same time.
    pub ahead: Vec<Option<u32>>,
    /// For each offset of a gather: an area with one word per element of a step.
    pub offsets: Vec<u32>,
    /// For each iota slot that moves along the inner axis: an area with the multiples 0, 1, 2, … of its stride.
    pub ramps: Vec<Option<u32>>,
    /// For each reduction of a pass: its accumulators.
    pub accumulators: Vec<u32>,
    /// For each reduction of a pass: its totals.
    pub totals: Vec<u32>,
}

impl FrameLayout {
    pub fn new(
        code: &KernelBody,
        isa: VectorIsa,
        demands: FrameDemands,
        frame: &mut FrameAllocator,
    ) -> FrameLayout {
        let max_offsets = demands.gather_strides.iter().map(SmallVec::len).max().unwrap_or(0);
        let scalars: Vec<u32> =
            (0..code.scalars).filter(|_| demands.reads_scalars).map(|_| frame.word()).collect();
        let mut gathers = Vec::with_capacity(code.slots.len());
        for (slot, strides) in code.slots.iter().zip(demands.gather_strides) {
            gathers.push(match slot.used {
                SlotUse::Gather => GatherWords {
                    address: frame.word(),
                    inner: frame.word(),
                    strides: strides.iter().map(|k| scalars[*k as usize]).collect(),
                },
                _ => GatherWords::default(),
            });
        }
        let slots = code.slots.len() as u32;
        let reduces = code.passes.iter().map(|pass| pass.reduces.len()).max().unwrap_or(0);
        let align = VectorLen::Z.bytes();
        let moves = |slot: &SlotType| slot.used == SlotUse::Iota && slot.pattern == AccessPattern::Contiguous;
        FrameLayout {
            args: frame.word(),
            rows: frame.word(),
            n: frame.word(),
            tile: frame.word(),
            outcome: frame.word(),
            remaining: frame.word(),
            leading: frame.word(),
            needs_fence: frame.word(),
            scratch: frame.word(),
            counters: (0..code.loops).map(|_| frame.word()).collect(),
            starts: (0..=code.loops).map(|_| frame.area(8 * slots, 8)).collect(),
            masks: std::array::from_fn(|_| frame.vector(isa)),
            staging: frame.area(8 * isa.step(), align),
            lanes: std::array::from_fn(|_| frame.vector(isa)),
            reduced: code.reduced.iter().map(|_| frame.vector(isa)).collect(),
            scalars,
            lane_scalars: demands
                .lane_scalars
                .into_iter()
                .map(|scalar| (scalar, frame.vector(isa)))
                .collect(),
            gathers,
            index: frame.area(8 * demands.index_words as u32, 8),
            prefetch: demands.prefetch_copies.map(|copies| LookaheadWords::new(code, copies, frame)),
            ahead: (0..slots).map(|slot| demands.read_ahead.contains(&slot).then(|| frame.word())).collect(),
            offsets: (0..max_offsets).map(|_| frame.area(STEP_AREA_BYTES, align)).collect(),
            ramps: code
                .slots
                .iter()
                .map(|slot| moves(slot).then(|| frame.area(STEP_AREA_BYTES, align)))
                .collect(),
            accumulators: (0..reduces).map(|_| frame.area(REDUCE_BYTES as u32, align)).collect(),
            totals: (0..reduces).map(|_| frame.area(REDUCE_BYTES as u32, align)).collect(),
        }
    }

    /// Returns the word with the start of `slot` inside `level` loops.
    pub fn start(&self, level: usize, slot: u32) -> u32 {
        self.starts[level] + 8 * slot
    }

    /// Returns the scalars that `FrameDemands::lane_scalars` lists, each with the offset of its vector.
    pub fn lane_scalars(&self) -> impl Iterator<Item = (LaneScalar, u32)> {
        self.lane_scalars.iter().copied()
    }

    /// Returns the offset of the vector of one such scalar.
    pub fn lane_scalar(&self, scalar: LaneScalar) -> u32 {
        let known = self.lane_scalars.iter().find(|known| known.0 == scalar);
        known.expect("the demands on the frame name every limit and stride that lanes need").1
    }
}

impl LookaheadWords {
    fn new(code: &KernelBody, copies: usize, frame: &mut FrameAllocator) -> LookaheadWords {
        let mut by_slot = || code.slots.iter().map(|_| frame.word()).collect();
        let (strides, bytes) = (by_slot(), by_slot());
        let copy_distances = (1..copies).map(|_| by_slot()).collect();
        LookaheadWords { strides, copy_distances, rows_continue_loop: frame.word(), bytes }
    }
}
