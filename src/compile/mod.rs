//! From the values of a graph to programs that can run.
//!
//! **In:** the part of a graph that the outputs need, and [`CompileOptions`].
//!
//! **Out:** [`CompiledProgram`]s, each with a [`ProgramState`](crate::runtime::ProgramState) for its runs.
//!
//! **Order of work:** `pipeline` lowers a graph of known ranks to steps over buffers, and emits the machine code of its
//! kernels. The result, a [`CompiledProgram`], is immutable and serves every size of the unknown dims.
//!
//! A graph whose ranks or structure parameters (axes, permutations) are known only at run time needs several programs.
//! A [`SpecializationCache`] compiles a [`Specialization`] for each combination that a run meets, and keeps it. If some
//! nodes depend on the results of others in this way, `split` cuts the graph in two: the specialization computes the
//! first part, and its [`Continuation`](specialize::Continuation) is the cache for the second part.
//!
//! `describe` and `report` print what was compiled.
//!
//! **Callers:** `exec`, which compiles the graph and asks for the specialization of each run.
//!
//! **Absent:** runs. Nothing here binds a symbol to a size, plans, allocates, or launches.

mod check_support;
mod describe;
mod options;
mod outputs;
mod pipeline;
mod report;
mod specialize;
mod split;

pub(crate) use describe::{locate, value_text};
pub use options::{Backend, CompileOptions};
pub use outputs::IntoOutputs;
pub(crate) use pipeline::{CompiledProgram, KernelCode};
pub(crate) use specialize::{Specialization, SpecializationCache};
pub(crate) use split::{OutputSource, frontier, mark_definers};
