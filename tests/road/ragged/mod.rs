//! Ragged tensors: laws, errors, and values recorded from TensorFlow.
//!
//! `SHAPEFLOW_CASES` sets the number of byte strings that drive ragged tensors, and `SHAPEFLOW_SEED` the seed.

mod axes;
mod bytes;
mod constructions;
mod constructors;
mod flat_functions;
mod graph_bytes;
mod graphs;
mod items;
mod laws;
mod maps;
mod members;
mod mistakes;
mod recorded;
mod refusals;
mod row_counts;
mod selections;

/// Calls `drive` with random bytes.
fn drive_random_bytes(cases: usize, drive: fn(&[u8])) {
    let mut rng = crate::rng::Rng::new(crate::env_vars::number("SHAPEFLOW_SEED").unwrap_or(23));
    for _ in 0..crate::env_vars::number("SHAPEFLOW_CASES").unwrap_or(cases) {
        let length = rng.below(24);
        let bytes: Vec<u8> = (0..length).map(|_| (rng.next_u64() >> 56) as u8).collect();
        drive(&bytes);
        // Small numbers make ascending splits likelier.
        let small = |byte: &u8| byte % 24;
        drive(&bytes.iter().take(3).copied().chain(bytes.iter().skip(3).map(small)).collect::<Vec<u8>>());
        drive(&bytes.iter().map(small).collect::<Vec<u8>>());
    }
}

#[test]
fn arbitrary_bytes_never_panic() {
    drive_random_bytes(15_000, bytes::drive);
}

#[test]
fn graphs_on_arbitrary_bytes_never_panic() {
    drive_random_bytes(400, graph_bytes::drive);
}

#[test]
fn ops_on_wrong_partitions_never_panic() {
    graph_bytes::drive_every_op();
}
