//! `StageKind`: the stages from a graph to machine code.

use std::fmt;
use std::str::FromStr;

use crate::error::{Error, ErrorKind, Phase, Result};

/// A stage from a graph to machine code.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub enum StageKind {
    /// The graph as the program built it.
    Graph,
    /// The nodes that the outputs need, simplified.
    Optimized,
    /// The fused kernels as loops, the matmuls and the host ops.
    Kernels,
    /// The kernels in Cranelift's intermediate representation.
    Clif,
    /// The kernels as machine instructions; needs the feature `disasm`.
    Asm,
}

impl StageKind {
    /// All stages in their order.
    pub const ALL: [StageKind; 5] =
        [StageKind::Graph, StageKind::Optimized, StageKind::Kernels, StageKind::Clif, StageKind::Asm];

    /// Returns the name: `graph`, `optimized`, `kernels`, `clif` or `asm`.
    pub const fn name(self) -> &'static str {
        match self {
            StageKind::Graph => "graph",
            StageKind::Optimized => "optimized",
            StageKind::Kernels => "kernels",
            StageKind::Clif => "clif",
            StageKind::Asm => "asm",
        }
    }
}

impl fmt::Display for StageKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for StageKind {
    type Err = Error;

    fn from_str(text: &str) -> Result<StageKind> {
        StageKind::ALL.into_iter().find(|stage| stage.name() == text).ok_or_else(|| {
            let message = format!("a stage must be graph, optimized, kernels, clif or asm, got {text:?}");
            Error::new(ErrorKind::Parse, Phase::Build, message)
        })
    }
}
