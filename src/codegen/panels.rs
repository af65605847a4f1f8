//! [`Panels`]: the matrices of a right operand that never changes, packed once for all its products.

use std::sync::{Arc, Mutex};

use rustc_hash::FxHashMap;

use super::pool::lock;
use super::product::MatMul;
use crate::error::Result;
use crate::lower::kernel::BufferIx;
use crate::tensor::Buffer;
use crate::tiles::{Float, PackedMatrix, StridedMatrix};

/// Rows of a left operand for which its right one is packed ahead. Fewer read it as fast where it is; for more, a run
/// packs it in a small part of its time.
const ROWS: std::ops::RangeInclusive<usize> = 3..=512;

/// The matrices of an operand, one after the other, in the order in which products read them.
pub(crate) struct Panels {
    buffer: Buffer,
    /// Bytes from a matrix to the next.
    each: usize,
}

impl Panels {
    /// Whether a product is faster with its right operand packed ahead.
    pub(crate) fn pay(product: &MatMul) -> bool {
        ROWS.contains(&product.m) && product.n > 1
    }

    /// Packs the right operand of a product, whose bytes these are; none if they are not its matrices.
    ///
    /// # Errors
    /// Memory is refused.
    pub(crate) fn new(product: &MatMul, bytes: &[u8]) -> Result<Option<Panels>> {
        if product.double { Panels::of::<f64>(product, bytes) } else { Panels::of::<f32>(product, bytes) }
    }

    fn of<T: Float>(product: &MatMul, bytes: &[u8]) -> Result<Option<Panels>> {
        let MatMul { k, n, .. } = *product;
        let size = k.saturating_mul(n).saturating_mul(size_of::<T>());
        if size == 0 || !bytes.len().is_multiple_of(size) {
            return Ok(None);
        }
        let each = PackedMatrix::<T>::packed_len(k, n).saturating_mul(size_of::<T>());
        let count = bytes.len() / size;
        let buffer = Buffer::zeroed(each.saturating_mul(count))?;
        let (row, column) = product.right_strides();
        for number in 0..count {
            // SAFETY: matrices of this size lie one after the other in the bytes, and have room in the buffer, which
            // nobody else has seen.
            unsafe {
                let at = bytes.as_ptr().add(number * size).cast::<T>();
                let to = buffer.as_ptr().add(number * each).cast::<T>();
                PackedMatrix::pack(to, &StridedMatrix { start: at, row, column }, k, n);
            }
        }
        Ok(Some(Panels { buffer, each }))
    }

    /// Bytes of memory that the panels take.
    pub(crate) fn bytes(&self) -> usize {
        self.buffer.len()
    }

    /// A matrix, which has so many columns.
    pub(super) fn matrix<T: Float>(&self, number: usize, n: usize) -> PackedMatrix<T> {
        PackedMatrix::new(self.buffer.as_ptr().wrapping_add(number * self.each).cast(), n)
    }
}

/// The constants of a graph that have been packed.
#[derive(Default)]
pub(crate) struct PackedConstants {
    /// By operand, and whether it is transposed.
    made: Mutex<FxHashMap<(BufferIx, bool), Arc<Panels>>>,
}

impl PackedConstants {
    /// The right operand of a product, which is a constant of these bytes.
    ///
    /// # Errors
    /// As [`Panels::new`].
    pub(crate) fn panels(&self, product: &MatMul, bytes: &[u8]) -> Result<Option<Arc<Panels>>> {
        let mut made = lock(&self.made);
        let key = (product.b, product.transpose_b);
        if let Some(panels) = made.get(&key) {
            return Ok(Some(panels.clone()));
        }
        let Some(panels) = Panels::new(product, bytes)? else { return Ok(None) };
        Ok(Some(made.entry(key).or_insert(Arc::new(panels)).clone()))
    }

    /// Bytes of memory that they take.
    pub(crate) fn bytes(&self) -> usize {
        lock(&self.made).values().map(|panels| panels.bytes()).sum()
    }
}

impl std::fmt::Debug for Panels {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} bytes of panels", self.bytes())
    }
}
