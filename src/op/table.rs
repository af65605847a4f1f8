//! The table in which an op looks elements up, for the export to TensorFlow, whose graphs hold tables as resources.

use super::{Body, OpDef};
use crate::tensor::Tensor;

impl OpDef {
    /// Declares that the op looks the elements of operand 0 up: operand `keys` has the keys, operand `values` has the
    /// value of each key, and the last operand is the value of all other elements.
    #[cfg_attr(
        not(feature = "strings"),
        expect(dead_code, reason = "only an op on strings has such operands")
    )]
    pub(crate) const fn looks_up(mut self, keys: usize, values: usize) -> OpDef {
        self.table_operands = Some([keys, values]);
        self
    }

    /// Returns the operands that are the keys and the values of a table, if the op declares them.
    #[cfg_attr(not(feature = "graphdef"), expect(dead_code, reason = "only an export asks for tables"))]
    pub(crate) fn table_operands(&self) -> Option<[usize; 2]> {
        self.table_operands
    }

    /// Returns the keys and the values of the table that the kernel of the op holds, if it holds one. The kernel looks
    /// up the elements of operand 0, and the last operand is the value of all other elements.
    #[cfg_attr(not(feature = "graphdef"), expect(dead_code, reason = "only an export asks for tables"))]
    pub(crate) fn held_table(&self) -> Option<[&Tensor; 2]> {
        match &self.body {
            Body::HostWith(kernel) => kernel.table(),
            _ => None,
        }
    }

    /// Returns what the kernel of the op is if a file cannot hold it.
    #[cfg_attr(not(feature = "graphdef"), expect(dead_code, reason = "only an export writes files"))]
    pub(crate) fn unwritable(&self) -> Option<&'static str> {
        match &self.body {
            Body::HostWith(kernel) => kernel.unwritable(),
            _ => None,
        }
    }
}
