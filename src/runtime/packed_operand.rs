//! [`PackedOperand`]: the right matrices of a matmul, packed once for all runs.

use crate::error::Result;
use crate::tensor::Buffer;
use crate::tiles::{Float, PackedMatrix, StridedMatrix};

/// The sizes and layout of the right matrices of a matmul. The matrices are stored one after the other, without gaps.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct RightMatrices {
    /// The number of rows of a matrix, after the transposition if there is one.
    pub k: usize,
    /// The number of columns of a matrix, after the transposition if there is one.
    pub n: usize,
    /// The length of a run in the rows of the left matrices. A run is a range of columns at a constant stride.
    pub run: usize,
    /// Whether a matrix is stored as `[n, k]`.
    pub transposed: bool,
    /// Whether the elements are `f64`; otherwise they are `f32`.
    pub double: bool,
}

impl RightMatrices {
    /// Returns the strides of rows and columns, in elements.
    pub(super) fn strides(&self) -> (usize, usize) {
        if self.transposed { (1, self.k) } else { (self.n, 1) }
    }
}

/// Right matrices of a matmul in the order in which the matmul kernel reads them.
pub(crate) struct PackedOperand {
    buffer: Buffer,
    /// Bytes of one packed matrix.
    matrix_bytes: usize,
}

impl PackedOperand {
    /// Packs the matrices in `bytes`; `None` if `bytes` is empty.
    ///
    /// # Errors
    /// Memory is refused.
    pub(super) fn new(matrices: RightMatrices, bytes: &[u8]) -> Result<Option<PackedOperand>> {
        match matrices.double {
            true => PackedOperand::pack::<f64>(matrices, bytes),
            false => PackedOperand::pack::<f32>(matrices, bytes),
        }
    }

    fn pack<T: Float>(matrices: RightMatrices, bytes: &[u8]) -> Result<Option<PackedOperand>> {
        let RightMatrices { k, n, run, .. } = matrices;
        if bytes.is_empty() {
            return Ok(None);
        }
        let size = k.saturating_mul(n).saturating_mul(size_of::<T>());
        assert!(bytes.len().is_multiple_of(size), "{} bytes must hold matrices [{k}, {n}]", bytes.len());
        let matrix_bytes = PackedMatrix::<T>::packed_len(k, n).saturating_mul(size_of::<T>());
        let count = bytes.len() / size;
        let buffer = Buffer::zeroed(matrix_bytes.saturating_mul(count))?;
        let (row, column) = matrices.strides();
        for index in 0..count {
            // SAFETY: `bytes` holds `count` matrices of `size` bytes each, and `buffer` has room for `count` packed
            // matrices. Nothing else knows `buffer` yet.
            unsafe {
                let from = bytes.as_ptr().add(index * size).cast::<T>();
                let to = buffer.as_ptr().add(index * matrix_bytes).cast::<T>();
                PackedMatrix::pack(to, &StridedMatrix { start: from, row, column }, [k, n], run);
            }
        }
        Ok(Some(PackedOperand { buffer, matrix_bytes }))
    }

    /// Returns the number of bytes of memory that the packed matrices take.
    pub(super) fn bytes(&self) -> usize {
        self.buffer.len()
    }

    /// Returns the packed matrix at `index`, which has `n` columns.
    pub(super) fn matrix<T: Float>(&self, index: usize, n: usize) -> PackedMatrix<T> {
        PackedMatrix::new(self.buffer.as_ptr().wrapping_add(index * self.matrix_bytes).cast(), n)
    }
}

impl std::fmt::Debug for PackedOperand {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} packed bytes", self.bytes())
    }
}
