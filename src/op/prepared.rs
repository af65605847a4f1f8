//! [`PreparedSlot`]: data that a host kernel prepares once for all runs of a program.

use std::any::Any;
use std::sync::{Arc, OnceLock};

use crate::error::Result;

/// The slot for the data that the kernel of a node prepares from its attributes and constant operands, such as a hash
/// table. The slot is empty until the kernel stores its data.
#[derive(Default)]
pub(crate) struct PreparedSlot(OnceLock<Arc<dyn Any + Send + Sync>>);

/// What the kernel of a node needs to prepare data: the slot for the data, and which operands are constants.
#[derive(Clone, Copy)]
pub(crate) struct NodePreparation<'a> {
    pub slot: &'a PreparedSlot,
    /// Returns whether the operand of this number is a constant of the graph.
    pub is_constant: &'a dyn Fn(usize) -> bool,
}

impl NodePreparation<'_> {
    /// Returns whether these operands are constants.
    #[cfg_attr(not(feature = "strings"), expect(dead_code, reason = "only string ops prepare something"))]
    pub(super) fn are_constant(&self, operands: &[usize]) -> bool {
        operands.iter().all(|operand| (self.is_constant)(*operand))
    }

    /// Returns the prepared data. Calls `make` and keeps its result if there is no prepared data yet.
    ///
    /// # Errors
    /// The errors of `make`.
    #[cfg_attr(not(feature = "strings"), expect(dead_code, reason = "only string ops prepare something"))]
    pub(super) fn get_or_make<T: Send + Sync + 'static>(
        &self,
        make: impl FnOnce() -> Result<T>,
    ) -> Result<Arc<T>> {
        if let Some(kept) = self.slot.0.get().and_then(|kept| kept.clone().downcast::<T>().ok()) {
            return Ok(kept);
        }
        let made = Arc::new(make()?);
        // Another thread may have stored the same thing meanwhile.
        let _ = self.slot.0.set(made.clone());
        Ok(made)
    }
}

#[cfg(all(test, feature = "strings"))]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn data_are_prepared_once() {
        let slot = PreparedSlot::default();
        let node = NodePreparation { slot: &slot, is_constant: &|operand| operand == 1 };
        let made = Cell::new(0);
        let make = || {
            made.set(made.get() + 1);
            Ok(made.get())
        };
        assert_eq!([*node.get_or_make(make).unwrap(), *node.get_or_make(make).unwrap()], [1, 1]);
        assert!(node.are_constant(&[]) && node.are_constant(&[1]));
        assert!(!node.are_constant(&[0, 1]));
    }
}
