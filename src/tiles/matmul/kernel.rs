//! [`Kernel`]: the functions for tiles on one kind of processor.

use std::ops::Add;

use super::register::Register;
use super::tile::{COPYING, PACKED, STRIDED, Tile, TileFn, compute};

/// Most rows of a tile.
pub(super) const ROWS: usize = 6;

/// Most rows of a tile that is wider than a panel.
pub(super) const WIDE_ROWS: usize = 3;

/// Functions for tiles of up to [`ROWS`] rows. What computes a tile of `i` rows is at `i - 1`.
pub(crate) struct Kernel<T: 'static> {
    /// Elements of a vector.
    pub(super) lanes: usize,
    /// Vectors of a panel.
    pub(super) vectors: usize,
    /// Both operands packed; tiles of `j` vectors at `j - 1`.
    pub(super) packed: [&'static [TileFn<T>]; ROWS],
    /// Operands anywhere; tiles of `j` vectors at `j - 1`.
    pub(super) strided: [&'static [TileFn<T>]; ROWS],
    /// The second operand is copied; tiles as wide as a panel.
    pub(super) copying: [TileFn<T>; ROWS],
    /// Operands anywhere; tiles twice as wide as a panel.
    pub(super) wide: [TileFn<T>; WIDE_ROWS],
}

impl<T> Kernel<T> {
    /// Columns of a panel.
    pub(super) fn panel(&self) -> usize {
        self.vectors * self.lanes
    }
}

/// A float that matrices are multiplied in.
pub(crate) trait Float: Copy + Default + Add<Output = Self> + 'static {
    /// The functions for any processor.
    const PLAIN: &'static Kernel<Self>;
    /// The functions for processors with 256-bit vectors and fused multiply-adds.
    #[cfg(target_arch = "x86_64")]
    const FUSED: &'static Kernel<Self>;
    /// The functions for processors with 512-bit vectors.
    #[cfg(target_arch = "x86_64")]
    const WIDE: &'static Kernel<Self>;
    /// The functions for the processor at hand.
    fn kernel() -> &'static Kernel<Self>;
}

/// A kernel for vectors `$register`, panels of so many and wide tiles of so many, on processors with `$feature`.
macro_rules! kernel {
    ($register:ty, [$($vectors:literal)*] $panel:literal $wide:literal $(, $feature:literal)?) => {{
        /// # Safety
        /// As [`TileFn`].
        $(#[target_feature(enable = $feature)])?
        unsafe fn tile<const MODE: u8, const ROWS: usize, const VECTORS: usize>(
            tile: &Tile<<$register as Register>::Element>,
        ) {
            // SAFETY: the caller's.
            unsafe { compute::<$register, MODE, ROWS, VECTORS>(tile) }
        }
        Kernel {
            lanes: <$register as Register>::LANES,
            vectors: $panel,
            packed: [
                &[$(tile::<PACKED, 1, $vectors>),*],
                &[$(tile::<PACKED, 2, $vectors>),*],
                &[$(tile::<PACKED, 3, $vectors>),*],
                &[$(tile::<PACKED, 4, $vectors>),*],
                &[$(tile::<PACKED, 5, $vectors>),*],
                &[$(tile::<PACKED, 6, $vectors>),*],
            ],
            strided: [
                &[$(tile::<STRIDED, 1, $vectors>),*],
                &[$(tile::<STRIDED, 2, $vectors>),*],
                &[$(tile::<STRIDED, 3, $vectors>),*],
                &[$(tile::<STRIDED, 4, $vectors>),*],
                &[$(tile::<STRIDED, 5, $vectors>),*],
                &[$(tile::<STRIDED, 6, $vectors>),*],
            ],
            copying: [
                tile::<COPYING, 1, $panel>,
                tile::<COPYING, 2, $panel>,
                tile::<COPYING, 3, $panel>,
                tile::<COPYING, 4, $panel>,
                tile::<COPYING, 5, $panel>,
                tile::<COPYING, 6, $panel>,
            ],
            wide: [tile::<STRIDED, 1, $wide>, tile::<STRIDED, 2, $wide>, tile::<STRIDED, 3, $wide>],
        }
    }};
}

#[cfg(test)]
pub(super) use kernel;

/// Sums fill as many registers as leave room for a row of a panel and one element more: 12 of 16, and 24 of the 32
/// that AVX-512 has.
macro_rules! float {
    ($t:ident $plain:literal $v256:ident $v512:ident) => {
        impl Float for $t {
            const PLAIN: &'static Kernel<$t> = &kernel!([$t; $plain], [1 2] 2 4);
            #[cfg(target_arch = "x86_64")]
            const FUSED: &'static Kernel<$t> = &kernel!(std::arch::x86_64::$v256, [1 2] 2 4, "avx2,fma");
            #[cfg(target_arch = "x86_64")]
            const WIDE: &'static Kernel<$t> = &kernel!(std::arch::x86_64::$v512, [1 2 3 4] 4 8, "avx512f");

            fn kernel() -> &'static Kernel<$t> {
                #[cfg(target_arch = "x86_64")]
                {
                    use crate::tiles::cpu::{has_avx512, has_fma};

                    if has_avx512() {
                        return Self::WIDE;
                    }
                    if has_fma() {
                        return Self::FUSED;
                    }
                }
                Self::PLAIN
            }
        }
    };
}

float!(f32 4 __m256 __m512);
float!(f64 2 __m256d __m512d);
