//! [`PackedConstants`]: the constant matmul operands of a graph, packed once in the kernel's read order.

use std::sync::{Arc, Mutex};

use rustc_hash::FxHashMap;

use super::lock::lock;
use super::packed_operand::{PackedOperand, RightMatrices};
use crate::error::Result;
use crate::lower::kernel::BufferIx;

/// The packed constants of a graph.
///
/// The matrices are part of the key: a constant that is reshaped to sizes of the run is packed for each.
#[derive(Default)]
pub(crate) struct PackedConstants {
    packed: Mutex<FxHashMap<(BufferIx, RightMatrices), Arc<PackedOperand>>>,
}

impl PackedConstants {
    /// The constant `bytes` of `buffer` as packed matrices, packed now or earlier; none if it has no elements.
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
        let key = (buffer, matrices);
        if let Some(operand) = packed.get(&key) {
            return Ok(Some(operand.clone()));
        }
        let Some(operand) = PackedOperand::new(matrices, bytes)? else { return Ok(None) };
        Ok(Some(packed.entry(key).or_insert(Arc::new(operand)).clone()))
    }

    /// Bytes of memory that the packed constants take.
    pub(crate) fn bytes(&self) -> usize {
        lock(&self.packed).values().map(|operand| operand.bytes()).sum()
    }
}
