//! `Limits`: limits on the size of a model.

use shapeflow_shape_fns::counted;

use crate::error::{Error, ErrorKind, Phase, Result};

/// Limits on the size of a model. A model that exceeds a limit is refused.
///
/// The defaults accept every model that fits in memory. Lower the limits to read files from untrusted sources.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Limits {
    /// Bytes of the file.
    pub file_bytes: u64,
    /// Number of nodes, including the nodes of functions: once for each call that is inlined.
    pub nodes: usize,
    /// Number of axes of a shape.
    pub rank: usize,
    /// Bytes of all constants in memory. A constant may take fewer bytes in the file.
    pub constant_bytes: u64,
    /// Bytes in memory of the index of a checkpoint: names, dtypes and sizes of the variables.
    pub index_bytes: u64,
    /// Nesting depth of function calls.
    pub nesting: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            file_bytes: 8 << 30,
            nodes: 4 << 20,
            rank: 254,
            constant_bytes: 8 << 30,
            index_bytes: 1 << 30,
            nesting: 32,
        }
    }
}

/// The remaining part of the limits during an import.
#[derive(Clone, Debug)]
pub(super) struct Budget {
    pub limits: Limits,
    nodes: usize,
    constant_bytes: u64,
}

impl Budget {
    pub(super) fn new(limits: &Limits) -> Budget {
        Budget { limits: limits.clone(), nodes: limits.nodes, constant_bytes: limits.constant_bytes }
    }

    /// Deducts one node from the budget.
    ///
    /// # Errors
    /// The budget has no nodes left.
    pub(super) fn node(&mut self) -> Result<()> {
        match self.nodes.checked_sub(1) {
            Some(left) => {
                self.nodes = left;
                Ok(())
            }
            None => refuse(format_args!("a model may have at most {}", counted(self.limits.nodes, "node"))),
        }
    }

    /// Deducts the bytes of a constant from the budget.
    ///
    /// # Errors
    /// The budget has fewer bytes left.
    pub(super) fn constant(&mut self, bytes: u64) -> Result<()> {
        match self.constant_bytes.checked_sub(bytes) {
            Some(left) => {
                self.constant_bytes = left;
                Ok(())
            }
            None => refuse(format_args!(
                "constants may have at most {} together, exceeded by a constant of {bytes}",
                counted(self.limits.constant_bytes, "byte"),
                bytes = counted(bytes, "byte")
            )),
        }
    }

    /// Checks the rank of a shape.
    ///
    /// # Errors
    /// The rank exceeds the limit.
    pub(super) fn rank(&self, rank: usize) -> Result<()> {
        if rank <= self.limits.rank {
            return Ok(());
        }
        refuse(format_args!("a shape may have at most {}, got {rank}", counted(self.limits.rank, "axis")))
    }
}

/// Returns the error of a model that exceeds a limit.
pub(super) fn refuse<T>(message: impl std::fmt::Display) -> Result<T> {
    Err(Error::new(ErrorKind::Memory, Phase::Build, message.to_string()))
}
