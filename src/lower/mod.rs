//! From a graph to kernels: which nodes one loop nest computes, and that loop nest as plain data.
//!
//! **In:** an optimized [`GraphData`](crate::graph::GraphData) in which the outputs need every node. Sizes may be
//! symbols.
//!
//! **Out:** a [`Program`](program::Program): buffers, and steps over them in order. A step is a
//! [`Kernel`](kernel::Kernel) (a fused loop nest that is valid for every size), a matmul, a loop of this crate that
//! computes one node, or a node that runs on the host. Later, with the sizes of a run, [`plan`](plan::plan) gives a
//! [`KernelPlan`](plan::KernelPlan): boxes with checked byte offsets and strides.
//!
//! **At compile time,** [`lower`](program::lower) calls, in this order,
//! - `definitions`: where each symbol of the graph gets its value;
//! - `partition`: which values have memory (`placement`), and which nodes form one `cluster`. `access` describes how a
//!   node's body reads its operands; `inline` adds a value to the clusters that read it, and `materialize` stores a
//!   value;
//! - `build`: the expressions of a cluster, split into variants where bodies are piecewise; `lane_axis` chooses the
//!   axis of the vector lanes;
//! - `root`: what a variant stores, complex numbers as pairs of real expressions;
//! - `schedule`: orders the expressions of a variant (`expr_order`) and puts them into passes over a row (`loop_nest`).
//!   The result is a [`KernelBody`](kernel_body::KernelBody), which the emitters of `codegen` compile.
//!
//! **At run time,** [`plan`](plan::plan) evaluates indices for the given sizes (`bound_index`), and cuts the
//! domain into pieces on which every index is linear (`affine`). Each piece becomes a [`BoxPlan`](box_plan::BoxPlan):
//! `plan_axes` merges its loops, `slot_plan` holds its strides, and `launch_mode` chooses machine code or a copy.
//! `in_place` says whether a kernel may write its result over an operand.
//!
//! **Other files:** `verify` checks a kernel body, `supported` says which operations a kernel may compute,
//! `ranked_dims` returns the dims of a value whose rank must be known, and `display` prints a kernel.
//!
//! **Callers:** `compile` lowers graphs; `exec` plans kernels; `codegen` reads kernel bodies; `runtime` reads plans.
//!
//! **Absent:** memory, machine code, threads. Everything here is plain data; nothing runs a kernel outside of tests.

mod access;
mod affine;
mod bound_index;
pub(crate) mod box_plan;
mod build;
mod cluster;
mod definitions;
mod display;
mod expr_order;
pub(crate) mod in_place;
mod inline;
pub(crate) mod kernel;
pub(crate) mod kernel_body;
mod lane_axis;
pub(crate) mod launch_mode;
mod loop_nest;
mod materialize;
mod partition;
mod placement;
pub(crate) mod plan;
mod plan_axes;
pub(crate) mod program;
mod ranked_dims;
mod root;
mod schedule;
pub(crate) mod slot_plan;
pub(crate) mod supported;
#[cfg(test)]
pub(crate) mod tests;
pub(crate) mod verify;

pub(crate) use bound_index::PlanError;
pub(crate) use definitions::{check_definitions, nearest_determined_name};
