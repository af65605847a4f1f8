//! Stages of the compiler and graphs as text, pictures and pages; times of what runs.

mod dot;
mod folder;
#[cfg(feature = "dumps")]
mod html;
#[cfg(feature = "dumps")]
mod json;
#[cfg(feature = "dumps")]
mod labels;
#[cfg(feature = "dumps")]
mod layout;
mod palette;
mod provenance;
// Text and DOT show less of it than the other formats; a trace is only written by one of them.
#[cfg_attr(not(feature = "dumps"), expect(dead_code))]
mod snapshot;
mod stage;
#[cfg(feature = "dumps")]
mod svg;
#[cfg_attr(not(feature = "dumps"), expect(dead_code))]
mod trace;
#[cfg(feature = "dumps")]
mod trace_json;

pub(crate) use folder::folder_of_environment;
pub use snapshot::Snapshot;
pub(crate) use snapshot::{KernelKind, KernelView};
pub(crate) use stage::Watch;
pub use stage::{StageKind, StageSink};
pub use trace::Trace;
pub(crate) use trace::{KernelKey, STEP, Traced, span};
