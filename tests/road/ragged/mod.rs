//! Ragged tensors: laws, errors, and values recorded from TensorFlow.
//!
//! `SHAPEFLOW_CASES` sets the number of byte strings that drive ragged tensors, and `SHAPEFLOW_SEED` the seed.

mod axes;
mod bytes;
mod flat_functions;
mod graphs;
mod items;
mod laws;
mod maps;
mod matmul;
mod mistakes;
mod moves;
mod recorded;
mod refusals;
mod row_counts;
mod selections;

#[test]
fn arbitrary_bytes_never_panic() {
    let mut rng = crate::rng::Rng::new(crate::env_vars::number("SHAPEFLOW_SEED").unwrap_or(23));
    for _ in 0..crate::env_vars::number("SHAPEFLOW_CASES").unwrap_or(20_000) {
        let length = rng.below(24);
        let bytes: Vec<u8> = (0..length).map(|_| (rng.next_u64() >> 56) as u8).collect();
        bytes::drive(&bytes);
        // Small numbers make ascending splits likelier.
        let small: Vec<u8> = bytes.iter().map(|byte| byte % 24).collect();
        bytes::drive(&small);
    }
}
