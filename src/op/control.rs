//! `Control`: an op that holds graphs of its own, and the kernel that compiling these graphs gives.

use std::any::Any;
use std::sync::Arc;

use super::HostKernel;
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
}
