//! `Control`: an op that holds graphs of its own, and the kernel that compiling these graphs gives.

use std::any::Any;
use std::sync::Arc;

use super::{HostKernel, OpDef};
use crate::error::Result;

/// The graphs inside a node of control flow: branches, or the body of a loop.
///
/// A graph is built before the options of its compilation are known. Therefore the node holds graphs, and compiling
/// the graph around the node turns them into a kernel.
pub(crate) trait Control: Send + Sync + 'static {
    /// Compiles the graphs inside the node. `options` are the `CompileOptions` of the graph around the node; a later
    /// room defines this type.
    ///
    /// # Errors
    /// A graph inside the node cannot be compiled.
    fn compile(&self, options: &dyn Any) -> Result<Arc<dyn HostKernel>>;

    /// Returns the graphs inside the node with their names. Each is a `GraphData`; a later room defines this type.
    fn regions(&self) -> Vec<(&str, &dyn Any)>;

    /// Returns the regions of a node that computes one of two regions by a bool, its operand 0. By default the node is no
    /// such node.
    fn selection(&self) -> Option<Selection<'_>> {
        None
    }
}

/// A region of a node of control flow.
pub(crate) struct BodyRegion<'a> {
    /// A `GraphData`; a later room defines this type. Its inputs are the captures.
    pub graph: &'a dyn Any,
    /// The numbers of the values of the graph that are the results.
    pub outputs: Vec<u32>,
    /// For each input of the graph, the operand of the node.
    pub captures: &'a [usize],
}

/// The regions of a node that computes one of them by a bool.
pub(crate) struct Selection<'a> {
    /// The region for false, then the region for true.
    pub regions: [BodyRegion<'a>; 2],
    /// The op that selects elements: its operands are the bool, the elements for true and the elements for false.
    pub select: &'static OpDef,
}
