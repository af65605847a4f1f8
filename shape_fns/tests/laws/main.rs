//! Laws of dimensions, shapes and tables, on random terms and many values of their symbols.

mod dims;
mod shapes;
mod tables;
mod trees;

use proptest::prelude::ProptestConfig;

/// So many cases, times the number in `SHAPEFLOW_LAWS` where that is set.
fn cases(count: u32) -> ProptestConfig {
    let times = std::env::var("SHAPEFLOW_LAWS").ok().and_then(|times| times.parse().ok()).unwrap_or(1);
    ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(count.saturating_mul(times)) }
}
