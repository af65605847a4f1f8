//! Dumps of the compiler's stages as text, DOT, JSON, SVG and HTML, and traces of compilations and runs.
//!
//! In: a `GraphData`, or a compiled program that describes its kernels as [`KernelView`]s. A graph or a program becomes
//! a [`Snapshot`], plain data without tensors, from which every format is written. [`Trace`] records times while a
//! program runs. Out: text to the user, to a [`StageSink`], or to the folder that `SHAPEFLOW_DUMP` names. Users, the
//! compiler and the command line call this module. Nothing here changes a graph, compiles a graph or runs a program.

mod checks;
mod dot;
#[cfg(feature = "dumps")]
mod drawn;
mod folder;
#[cfg(feature = "dumps")]
mod html;
#[cfg(feature = "dumps")]
mod json;
#[cfg(feature = "dumps")]
mod labels;
#[cfg(feature = "dumps")]
mod layout;
#[cfg(feature = "dumps")]
mod outline;
mod palette;
#[cfg(feature = "dumps")]
mod picture;
mod place;
mod provenance;
#[cfg(feature = "dumps")]
mod scene;
mod sink;
// Text and DOT show less than the other formats, and only JSON writes a trace.
#[cfg_attr(not(feature = "dumps"), expect(dead_code))]
mod snapshot;
mod stage;
#[cfg(feature = "dumps")]
mod svg;
#[cfg_attr(not(feature = "dumps"), expect(dead_code))]
mod trace;
#[cfg(feature = "dumps")]
mod trace_json;

pub(crate) use folder::dump_folder_from_environment;
pub use sink::StageSink;
pub(crate) use sink::Watch;
pub use snapshot::Snapshot;
pub(crate) use snapshot::{KernelKind, KernelView};
pub use stage::StageKind;
pub use trace::Trace;
pub(crate) use trace::{KernelKey, STEP, Traced, span};
