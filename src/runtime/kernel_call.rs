//! [`KernelCall`]: one call of a kernel function. No other file fills in [`KernelArgs`].

use super::memory::Memory;
use crate::codegen::{
    CALLED_FUNCTIONS, CHECK_FAILED, CodeModule, FuncIndex, KernelArgs, SLOT_BASE, SLOT_INNER, SLOT_LOOPS,
    SLOT_ROW, STOPPED, slot_words,
};
use crate::lower::plan::BufferUse;
use crate::op::Cancel;

/// The arguments of one call of a kernel function.
pub(super) struct KernelCall<'a> {
    pub code: &'a CodeModule,
    pub function: FuncIndex,
    /// The words of all slots, as [`push_slot`] writes them.
    pub words: &'a [i64],
    pub scalars: &'a [i64],
    /// The extents of the loops around the inner axis.
    pub extents: &'a [i64],
    /// The address of the tile, which holds the accumulators of column reductions; 0 for row kernels.
    pub tile: usize,
    pub rows: i64,
    /// The number of inner elements.
    pub n: i64,
    /// The result of the function [`stream_threshold`].
    pub stream_threshold: i64,
    pub cancel: Cancel<'a>,
}

/// The outcome of a call. After each but `Done`, the results are incomplete.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Outcome {
    Done,
    CheckFailed,
    /// The token of the run is true, so the function ended early.
    Cancelled,
}

impl KernelCall<'_> {
    /// Runs the function.
    ///
    /// # Safety
    /// As [`CodeModule::launch`].
    pub(super) unsafe fn run(&self) -> Outcome {
        let mut outcome = 0;
        let args = KernelArgs {
            slots: self.words.as_ptr(),
            scalars: self.scalars.as_ptr(),
            tile: self.tile as *mut u8,
            rows: self.rows,
            n: self.n,
            extents: self.extents.as_ptr(),
            stream: self.stream_threshold,
            outcome: &mut outcome,
            stop: self.cancel.token(),
            called_functions: CALLED_FUNCTIONS,
        };
        // SAFETY: the caller's promise.
        unsafe { self.code.launch(self.function, &args) }
        match outcome {
            0 => Outcome::Done,
            CHECK_FAILED => Outcome::CheckFailed,
            STOPPED => Outcome::Cancelled,
            other => unreachable!("a kernel has one of three outcomes, not {other}"),
        }
    }
}

/// Appends a slot's words to `words`: see [`KernelArgs::slots`].
pub(super) fn push_slot(words: &mut Vec<i64>, base: i64, row: i64, inner: i64, loops: &[i64]) {
    const { assert!(SLOT_BASE == 0 && SLOT_ROW == 1 && SLOT_INNER == 2 && SLOT_LOOPS == 3) };
    words.extend([base, row, inner]);
    words.extend_from_slice(loops);
}

/// Returns the index of the base of a slot among the words of all slots.
pub(super) fn base_word(slot: usize, loops: u32) -> usize {
    slot * slot_words(loops) + SLOT_BASE
}

/// Kernels store rows of at least this number of bytes non-temporally. Kernels store a shorter row non-temporally only
/// if it consists of whole cache lines.
const STREAMED_ROW: i64 = 1024;

/// Returns the value of [`KernelArgs::stream`] for a plan that uses `buffers`: 0 for ordinary stores, or
/// [`STREAMED_ROW`] for non-temporal stores. `wanted` says whether the plan asks for non-temporal stores. A kernel that
/// stores over an operand uses ordinary stores: the operand's cache lines are already loaded.
pub(crate) fn stream_threshold(buffers: &[BufferUse], wanted: bool, memory: &Memory<'_>) -> i64 {
    let [loaded, stored] = [false, true].map(|stored| {
        let used = buffers.iter().filter(move |used| used.stored == stored);
        used.map(|used| memory.address(used.buffer))
    });
    let overwrites = |address: usize| loaded.clone().any(|operand| operand == address);
    if wanted && !stored.clone().any(overwrites) { STREAMED_ROW } else { 0 }
}
