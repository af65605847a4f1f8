//! A guide through the library: short chapters whose code runs.
//!
//! | chapter | explains |
//! |---|---|
//! | [`shapes`] | dimensions with and without names, what inference finds, what a run checks |
//! | [`errors`] | what an error says, and when it comes |
//! | [`running`] | the ways to run a compiled graph, and what each of them allocates |
//! | [`control_flow`] | branches, loops, and loops over rows |
//! | [`ragged`] | rows of different lengths |
//! | `strings` | text: parsing, splitting, tables, regular expressions (feature `strings`) |
//! | [`own_ops`] | ops of your own, which fuse as built-in ops do |
//! | `importing` | TensorFlow models, weights and data (features `graphdef`, `npz`, `safetensors`) |
//! | [`speed`] | what is fused, what compiles again, and how to measure |
//! | [`ops`] | every op by family, with the names that numpy, torch and TensorFlow give it |

pub mod control_flow;
pub mod errors;
#[cfg(all(feature = "graphdef", feature = "npz", feature = "safetensors"))]
pub mod importing;
pub mod ops;
pub mod own_ops;
pub mod ragged;
pub mod running;
pub mod shapes;
pub mod speed;
#[cfg(feature = "strings")]
pub mod strings;
