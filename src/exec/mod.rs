//! Plans, memory and threads: running compiled graphs.

mod bindings;
mod executable;
mod options;
mod report;
mod segment;
mod stage;
mod staged;

pub use crate::codegen::{Isa, ThreadPool};
pub use executable::{BoundRun, Executable, Port, Results, Runner, Stats};
pub use options::{Backend, CompileOptions};
