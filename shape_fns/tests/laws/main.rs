//! Laws of dimensions, shapes and tables, tested on random expressions with many values of their symbols.

mod dims;
mod shapes;
mod tables;
mod trees;

use proptest::prelude::ProptestConfig;

/// Returns the configuration of a test with `count` cases, multiplied by the environment variable `SHAPEFLOW_LAWS` if
/// it is set.
fn cases(count: u32) -> ProptestConfig {
    let times = std::env::var("SHAPEFLOW_LAWS").ok().and_then(|times| times.parse().ok()).unwrap_or(1);
    ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(count.saturating_mul(times)) }
}
