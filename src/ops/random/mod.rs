//! Random numbers that depend only on a seed: numbers of several distributions, integers, classes and shuffles.
//!
//! ```
//! use shapeflow::{DType, Graph};
//!
//! let g = Graph::new();
//! let noise = g.constant([1i64, 2])?.random_normal([2, 3], DType::F32)?;
//! let [first, second] = g.compile(&[noise, noise * 1.0])?.run(&[])?;
//! assert_eq!(first, second);
//! # Ok::<(), shapeflow::Error>(())
//! ```

mod binomial;
pub(crate) mod candidates;
pub(crate) mod categorical;
pub(crate) mod crop;
mod draws;
pub(crate) mod gamma;
mod index_shuffle;
pub(crate) mod philox;
pub(crate) mod poisson;
pub(crate) mod samples;
pub(crate) mod shuffle;
#[cfg(feature = "sobol")]
mod sobol;
pub(crate) mod state;
pub(crate) mod stateless;
pub(crate) mod truncated;
pub(crate) mod words;

use crate::op::OpDef;

/// Every op of the family.
pub(crate) static ALL: &[&[&OpDef]] = &[
    binomial::ALL,
    candidates::ALL,
    categorical::ALL,
    crop::ALL,
    gamma::ALL,
    index_shuffle::ALL,
    poisson::ALL,
    shuffle::ALL,
    #[cfg(feature = "sobol")]
    sobol::ALL,
    stateless::ALL,
    state::ALL,
    truncated::ALL,
];
