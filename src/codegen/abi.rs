//! [`KernelArgs`]: the arguments of a kernel function. [`CalledFn`]: a function that a kernel calls.

use std::sync::atomic::AtomicBool;

/// The run-time arguments of one call of a kernel function.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct KernelArgs {
    /// The words of all slots, one slot after the other. A slot has [`slot_words`] words: the base (an address, or the
    /// first value of an iota), the stride per row, the stride per inner element, then one stride per loop. Strides
    /// count bytes; an iota's strides are the steps of its value. Code reads the inner stride of iotas and gather slots
    /// only.
    pub slots: *const i64,
    /// The run-time scalars of the kernel, such as limits of indices and strides of gathers.
    pub scalars: *const i64,
    /// Memory of the running thread for the accumulators of column reductions: reduction `k` has `8 * TILE` bytes at
    /// offset `8 * TILE * k`. A row kernel does not use it.
    pub tile: *mut u8,
    /// Number of rows.
    pub rows: i64,
    /// Number of elements of the inner axis.
    pub n: i64,
    /// Extents of the loops, outermost first.
    pub extents: *const i64,
    /// Which rows of a result bypass the caches by non-temporal stores. 0: no row. Otherwise: each row that consists of
    /// whole cache lines, and each row of at least `stream` bytes.
    pub stream: i64,
    /// The kernel stores [`CHECK_FAILED`] here when it refuses an index or a divisor, [`STOPPED`] when it ends early
    /// because of `stop`, and nothing otherwise.
    pub outcome: *mut i64,
    /// The kernel ends early soon after this becomes true: see [`POLLED_ITERATIONS`].
    pub stop: *const AtomicBool,
    /// The functions that the kernel may call: [`CALLED_FUNCTIONS`](super::called_functions::CALLED_FUNCTIONS).
    pub called_functions: [CalledFn; 4],
}

/// The value of [`KernelArgs::outcome`] after a check failed.
pub(crate) const CHECK_FAILED: i64 = 1;
/// The value of [`KernelArgs::outcome`] after the kernel ended early.
pub(crate) const STOPPED: i64 = 2;

/// A kernel reads [`KernelArgs::stop`] once in this number of iterations of a loop around the inner axis, and after
/// each tile of [`REDUCE_TILE`](crate::lower::kernel_body::REDUCE_TILE) elements of a row.
pub(crate) const POLLED_ITERATIONS: usize = 256;

/// Returns the number of words of one slot in [`KernelArgs::slots`].
pub(crate) const fn slot_words(loops: u32) -> usize {
    SLOT_LOOPS + loops as usize
}

/// The index of the base among a slot's words.
pub(crate) const SLOT_BASE: usize = 0;
/// The index of the stride per row among a slot's words.
pub(crate) const SLOT_ROW: usize = 1;
/// The index of the stride per inner element among a slot's words.
pub(crate) const SLOT_INNER: usize = 2;
/// The index of the first loop's stride among a slot's words.
pub(crate) const SLOT_LOOPS: usize = 3;

/// A compiled kernel. The kernel reports failed checks through its arguments and never unwinds.
#[cfg(target_arch = "x86_64")]
pub(crate) type KernelFn = unsafe extern "sysv64" fn(*const KernelArgs);
/// A compiled kernel. The kernel reports failed checks through its arguments and never unwinds.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) type KernelFn = unsafe extern "C" fn(*const KernelArgs);

/// Replaces each `values[i]` by a function of `values[i]` and `operands[i]`. There are `count` doubles of each.
#[cfg(target_arch = "x86_64")]
pub(crate) type CalledFn = unsafe extern "sysv64" fn(values: *mut f64, operands: *const f64, count: usize);
/// Replaces each `values[i]` by a function of `values[i]` and `operands[i]`. There are `count` doubles of each.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) type CalledFn = unsafe extern "C" fn(values: *mut f64, operands: *const f64, count: usize);
