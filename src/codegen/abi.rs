//! `KernelArgs`: what a kernel function is given at run time.

/// The run-time arguments of one launch.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct KernelArgs {
    /// One line of [`slot_words`] words per slot: base (an address, or the start value of an iota),
    /// stride per row, stride per inner element, then one stride per loop. Strides are in bytes, those
    /// of an iota in its own units. The inner stride is read for iotas and gather slots only.
    pub slots: *const i64,
    /// The run-time scalars of the code.
    pub scalars: *const i64,
    /// Memory of the running thread for accumulators of column folds: fold `k` has `8 * TILE` bytes
    /// at `8 * TILE * k`. Unused in a row kernel.
    pub tile: *mut u8,
    /// Number of rows.
    pub rows: i64,
    /// Number of elements of the inner axis.
    pub n: i64,
    /// Extents of the loops, outermost first.
    pub extents: *const i64,
    /// Whether results pass the caches: 0 for no, otherwise the least bytes of a row that does where its ends break
    /// cache lines.
    pub stream: i64,
    /// Set to 1 if an index or a divisor was refused; otherwise left alone.
    pub failed: *mut i64,
}

/// Words of a slot's line in [`KernelArgs::slots`].
pub(crate) const fn slot_words(loops: u32) -> usize {
    SLOT_LOOPS + loops as usize
}

/// Position of the base in a slot's line.
pub(crate) const SLOT_BASE: usize = 0;
/// Position of the stride per row in a slot's line.
pub(crate) const SLOT_ROW: usize = 1;
/// Position of the stride per inner element in a slot's line.
pub(crate) const SLOT_INNER: usize = 2;
/// Position of the first loop's stride in a slot's line.
pub(crate) const SLOT_LOOPS: usize = 3;

/// A compiled kernel. Failed checks are reported through the arguments; it never unwinds.
#[cfg(target_arch = "x86_64")]
pub(crate) type KernelFn = unsafe extern "sysv64" fn(*const KernelArgs);
/// A compiled kernel. Failed checks are reported through the arguments; it never unwinds.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) type KernelFn = unsafe extern "C" fn(*const KernelArgs);
