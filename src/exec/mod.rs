//! Runs of compiled graphs.
//!
//! **In:** a graph and its outputs ([`Graph::compile`](crate::Graph::compile)); then, for each run, views of the inputs
//! and perhaps memory for the outputs.
//!
//! **Out:** an [`Executable`], and the results of its runs; or an error that names the input, node or element at fault.
//!
//! **Order of work:** an [`Executable`] owns the specializations of a graph: programs for known ranks.
//! `specialized_run` finds the specialization for the inputs of a run, and follows its continuations, the programs for
//! parts of the graph that wait for results. A `Run` executes one compiled program: `input_bindings` binds symbols to
//! the sizes of the inputs, `guards` checks the requirements of the graph on these sizes, `planning` finds or makes the
//! plan of each segment (a range of steps whose sizes are all known before its first step runs), and `run` gives the
//! buffers their memory and executes the steps. Where sizes depend on data, `definitions` binds more symbols between
//! segments. `whole_step` computes a node that has a loop of its own in place of a kernel, `host_step` a node that runs
//! on the host; `promises` compares the sizes of its results with those that the graph promised. `outputs` hands out
//! the results.
//!
//! A [`Runner`] keeps the working memory and the last plan of one thread. A [`BoundRun`] owns the memory of its inputs
//! and outputs too, and keeps all kernel arguments, so that it only launches; `fixed_run` does the same for loops in
//! memory that never moves. A [`Port`] describes an input or an output. `interpret` runs a program without machine
//! code. `fault` finds the node and the element at fault after a kernel has failed.
//!
//! **Callers:** programs that use the crate, and the command line.
//!
//! **Absent:** compilation (`compile_graph` calls `compile`), and `unsafe`. Launches are in `runtime`.

mod bindings;
mod bound_run;
mod buffer_view;
mod compile_graph;
mod definitions;
mod executable;
mod fault;
mod feeds;
mod fixed_run;
mod guards;
mod host_step;
mod input_bindings;
mod inspect;
mod interpret;
mod loop_run;
mod output_buffer;
mod outputs;
mod planning;
mod port;
mod promises;
mod regions;
mod results;
mod run;
mod run_state;
mod runner;
mod specialized_run;
mod stats;
#[cfg(test)]
mod tests;
mod whole_step;

pub use bound_run::BoundRun;
pub use executable::Executable;
pub use feeds::{Feed, Feeds};
pub(crate) use loop_run::{LoopInput, LoopRun};
pub use port::{Port, PortIndex};
pub use results::Results;
pub use runner::Runner;
pub use stats::{RegionStats, Stats};
