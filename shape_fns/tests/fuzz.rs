//! Runs every registered shape function on random bytes. A shape function must accept or refuse the bytes and never
//! panic.
//!
//! `SHAPE_FNS_FUZZ_SECONDS=600 cargo test --release -p shapeflow-shape-fns --test fuzz` runs for 600 seconds. The fuzz
//! target in `fuzz/` runs the same cases with coverage feedback.

mod bytes;

use std::panic::catch_unwind;
use std::time::{Duration, Instant};

/// A fixed pseudorandom sequence, so that a failure is reproducible.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }
}

#[test]
fn no_bytes_make_a_shape_function_panic() {
    let seconds = std::env::var("SHAPE_FNS_FUZZ_SECONDS").ok().and_then(|text| text.parse().ok());
    let until = Instant::now() + Duration::from_secs(seconds.unwrap_or(0));
    let (mut random, mut cases) = (Random(seconds.unwrap_or(1)), 0u64);
    while cases < 8_000 || Instant::now() < until {
        let input: Vec<u8> = (0..16 + random.next() % 120).map(|_| (random.next() >> 5) as u8).collect();
        if catch_unwind(|| bytes::drive(&input)).is_err() {
            panic!("case {cases}: {input:?}");
        }
        cases += 1;
    }
    println!("{cases} cases");
}
