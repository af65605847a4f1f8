//! Plans, memory and threads: running compiled graphs.

mod bindings;
mod executable;
mod options;
mod report;
mod runner;
mod segment;
mod stage;
mod staged;

pub use crate::codegen::Isa;
pub use crate::runtime::ThreadPool;
pub use executable::{Executable, Port, Results, Stats};
pub use options::{Backend, CompileOptions};
pub use runner::{BoundRun, Runner};
