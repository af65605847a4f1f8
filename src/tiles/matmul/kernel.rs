//! [`TileFunctions`]: the tile functions for one kind of processor.

use std::ops::Add;

use super::register::Register;
use super::small::{SmallFn, SmallMatrices, compute_small};
use super::tile::{COPYING, MAX_ROWS, PACKED, STRIDED, Tile, TileFn, compute};

/// The maximum number of rows of a tile that is wider than a panel.
pub(super) const WIDE_ROWS: usize = 3;

/// Functions that compute tiles of up to [`MAX_ROWS`] rows. The function for tiles of `i` rows has the index `i - 1`.
pub(crate) struct TileFunctions<T: 'static> {
    /// Elements per vector.
    pub(super) lanes: usize,
    /// Vectors per panel.
    pub(super) vectors: usize,
    /// Tiles whose operands are both packed. The function for `j` vectors has the index `j - 1`.
    pub(super) packed: [&'static [TileFn<T>]; MAX_ROWS],
    /// Tiles whose operands have any strides. The function for `j` vectors has the index `j - 1`.
    pub(super) strided: [&'static [TileFn<T>]; MAX_ROWS],
    /// Tiles as wide as a panel that also pack the right operand.
    pub(super) copying: [TileFn<T>; MAX_ROWS],
    /// Tiles twice as wide as a panel whose operands have any strides.
    pub(super) wide: [TileFn<T>; WIDE_ROWS],
    /// Matmuls of small matrices.
    pub(super) small: SmallFn<T>,
}

impl<T> TileFunctions<T> {
    /// Returns the number of columns of a panel.
    pub(super) fn panel(&self) -> usize {
        self.vectors * self.lanes
    }
}

/// A float type that matrices can be multiplied in.
pub(crate) trait Float: Copy + Default + Add<Output = Self> + 'static {
    /// The kernel for any processor.
    const PORTABLE: &'static TileFunctions<Self>;
    /// The kernel for processors with 256-bit vectors and fused multiply-adds.
    #[cfg(target_arch = "x86_64")]
    const FMA: &'static TileFunctions<Self>;
    /// The kernel for processors with 512-bit vectors.
    #[cfg(target_arch = "x86_64")]
    const AVX512: &'static TileFunctions<Self>;
    /// Returns the kernel for the running processor.
    fn kernel() -> &'static TileFunctions<Self>;
}

/// Makes a kernel of vectors `$register` for processors with `$feature`. `$vectors` lists the possible widths of a
/// tile, in vectors. A panel is `$panel` vectors wide, and a wide tile is `$wide` vectors wide, which is two panels.
macro_rules! kernel {
    ($register:ty, [$($vectors:literal)*] $panel:literal $wide:literal $(, $feature:literal)?) => {{
        /// # Safety
        /// As [`TileFn`].
        $(#[target_feature(enable = $feature)])?
        unsafe fn tile<const MODE: u8, const ROWS: usize, const VECTORS: usize>(
            tile: &Tile<'_, <$register as Register>::Element>,
        ) {
            // SAFETY: the caller's promise.
            unsafe { compute::<$register, MODE, ROWS, VECTORS>(tile) }
        }
        /// # Safety
        /// As [`SmallFn`].
        $(#[target_feature(enable = $feature)])?
        unsafe fn small(matrices: &SmallMatrices<'_, <$register as Register>::Element>) {
            // SAFETY: the caller's promise.
            unsafe { compute_small::<$register>(matrices) }
        }
        TileFunctions {
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
            small,
        }
    }};
}

#[cfg(test)]
pub(super) use kernel;

/// Implements [`Float`]. With the panel widths below, the sums of a tile fill 12 of 16 registers, or 24 of the 32
/// registers of AVX-512. The remaining registers hold one row of a panel and one element of the left operand.
macro_rules! float {
    ($t:ident $plain:literal $v256:ident $v512:ident) => {
        impl Float for $t {
            const PORTABLE: &'static TileFunctions<$t> = &kernel!([$t; $plain], [1 2] 2 4);
            #[cfg(target_arch = "x86_64")]
            const FMA: &'static TileFunctions<$t> = &kernel!(std::arch::x86_64::$v256, [1 2] 2 4, "avx2,fma");
            #[cfg(target_arch = "x86_64")]
            const AVX512: &'static TileFunctions<$t> =
                &kernel!(std::arch::x86_64::$v512, [1 2 3 4] 4 8, "avx512f");

            fn kernel() -> &'static TileFunctions<$t> {
                #[cfg(target_arch = "x86_64")]
                {
                    use crate::tiles::cpu::{has_avx512, has_fma};

                    if has_avx512() {
                        return Self::AVX512;
                    }
                    if has_fma() {
                        return Self::FMA;
                    }
                }
                Self::PORTABLE
            }
        }
    };
}

float!(f32 4 __m256 __m512);
float!(f64 2 __m256d __m512d);

impl<T: Float> SmallMatrices<'_, T> {
    /// Returns the greatest number of columns of `b`: a row of the result fills at most one vector.
    pub(crate) fn max_columns() -> usize {
        T::kernel().lanes
    }

    /// Computes the matmuls. A [`Gemm`](super::Gemm) for each matmul gives the same elements.
    ///
    /// # Safety
    /// All matrices of the batch are readable at `a` and `b`, and writable at `out`, which overlaps neither. The
    /// operands and the result may have any alignment.
    pub(crate) unsafe fn run(&self) {
        assert!(self.n <= Self::max_columns(), "a row of the result must fit one vector, got {}", self.n);
        // SAFETY: the caller's promise; the kernel is for the running processor.
        unsafe { (T::kernel().small)(self) }
    }
}
