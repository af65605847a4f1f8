//! [`PackedConstants`]: the constant matmul operands of a graph, packed once in the kernel's read order.

use std::sync::{Arc, Mutex};

use rustc_hash::FxHashMap;

use super::lock::lock;
use super::packed_operand::{PackedOperand, RightMatrices};
use crate::error::Result;
use crate::lower::kernel::BufferIx;

/// The packed constants of a graph.
///
/// If a constant is reshaped to sizes of a run, the sizes of its matrices differ from run to run. Only the packed copy
/// for the latest sizes is kept, so that memory stays bounded.
#[derive(Default)]
pub(crate) struct PackedConstants {
    /// The packed constant of a buffer. The flag of a key says whether the matrices of the buffer are transposed.
    packed: Mutex<FxHashMap<(BufferIx, bool), PackedConstant>>,
}

/// A packed constant.
struct PackedConstant {
    /// The sizes and layout that the matrices of the constant had when they were packed.
    matrices: RightMatrices,
    operand: Arc<PackedOperand>,
}

impl PackedConstants {
    /// Returns the constant `bytes` of `buffer` as packed matrices, packed now or earlier; `None` if the constant has
    /// no elements.
    ///
    /// # Errors
    /// Memory is refused.
    pub(crate) fn get_or_pack(
        &self,
        buffer: BufferIx,
        matrices: RightMatrices,
        bytes: &[u8],
    ) -> Result<Option<Arc<PackedOperand>>> {
        let mut packed = lock(&self.packed);
        let key = (buffer, matrices.transposed);
        if let Some(known) = packed.get(&key)
            && known.matrices == matrices
        {
            return Ok(Some(known.operand.clone()));
        }
        let Some(operand) = PackedOperand::new(matrices, bytes)? else { return Ok(None) };
        let operand = Arc::new(operand);
        packed.insert(key, PackedConstant { matrices, operand: operand.clone() });
        Ok(Some(operand))
    }

    /// Returns the number of bytes of memory that the packed constants take.
    pub(crate) fn bytes(&self) -> usize {
        lock(&self.packed).values().map(|known| known.operand.bytes()).sum()
    }
}
