//! Control flow: branches and loops as nodes that hold graphs of their own.
//!
//! **In**: closures that build a branch or a loop body with the values of the graph around them. **Out**: a node of
//! that graph. Each closure's nodes are recorded in a region, which becomes a graph; the outer values that the region
//! reads become operands of the node.
//!
//! **Files**: `recorder` records a region. `branch`, `while_loop` and `scan` are the builders. `ragged_map` maps the
//! rows of ragged values by `scan`. `relax` finds the shapes of a loop's state: it starts from the initial shapes and
//! makes every dimension that the body changes unknown, until the body keeps the shapes. `loop_options` has the options
//! of a loop. `rows` and `scan_kernel` run a scan. `node` adds the node. When the
//! outer graph is compiled, `Control::compile` compiles each region once, and returns a host kernel: `branch` runs the
//! chosen region, `call` runs a function that several nodes share, and `step` runs the body of a loop again and again,
//! with the state in two sets of buffers.
//!
//! **Callers**: programs, and `interchange`.
//!
//! **Absent**: `unsafe`, and special treatment of branches and loops in the modules that `control` uses. These modules
//! see an ordinary host op, with one exception: `passes` turns a branch whose regions are cheap and cannot fail into a
//! selection, see `Control::selection`.

mod branch;
#[cfg(feature = "graphdef")]
mod call;
mod loop_options;
mod node;
mod ragged_map;
mod recorder;
mod relax;
mod rows;
mod scan;
mod scan_kernel;
mod step;
mod while_loop;

#[cfg(feature = "graphdef")]
pub(crate) use call::{Function, ParameterType, Size};
pub use loop_options::LoopOptions;
#[cfg(feature = "graphdef")]
pub(crate) use while_loop::LoopRegions;
