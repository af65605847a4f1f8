//! `Limits`: how much a file may ask for.

use crate::error::{Error, ErrorKind, Phase, Result};

/// How much of everything a file may ask for before it is refused.
///
/// The defaults let through every model that fits in memory; whoever reads files of strangers lowers them.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Limits {
    /// Bytes of the file.
    pub file_bytes: u64,
    /// Nodes, with those of inlined functions.
    pub nodes: usize,
    /// Axes of a shape.
    pub rank: usize,
    /// Bytes of all constants together, written out: a constant may be shorter in the file than in memory.
    pub constant_bytes: u64,
    /// How deep calls of functions may nest.
    pub nesting: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { file_bytes: 8 << 30, nodes: 4 << 20, rank: 254, constant_bytes: 8 << 30, nesting: 32 }
    }
}

/// What is left of the limits while a model is imported.
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

    /// Takes one node.
    pub(super) fn node(&mut self) -> Result<()> {
        match self.nodes.checked_sub(1) {
            Some(left) => {
                self.nodes = left;
                Ok(())
            }
            None => refuse(format_args!("a model may have at most {} nodes", self.limits.nodes)),
        }
    }

    /// Takes the bytes of a constant.
    pub(super) fn constant(&mut self, bytes: u64) -> Result<()> {
        match self.constant_bytes.checked_sub(bytes) {
            Some(left) => {
                self.constant_bytes = left;
                Ok(())
            }
            None => refuse(format_args!(
                "constants may have at most {} bytes together, got one of {bytes}",
                self.limits.constant_bytes
            )),
        }
    }

    /// Checks a rank.
    pub(super) fn rank(&self, rank: usize) -> Result<()> {
        if rank <= self.limits.rank {
            return Ok(());
        }
        refuse(format_args!("a shape may have at most {} axes, got {rank}", self.limits.rank))
    }
}

pub(super) fn refuse<T>(message: impl std::fmt::Display) -> Result<T> {
    Err(Error::new(ErrorKind::Memory, Phase::Build, message.to_string()))
}
