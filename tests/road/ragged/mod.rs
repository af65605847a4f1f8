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
mod matmul;
mod members;
mod mistakes;
mod moves;
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

/// Runs every op on partitions that break each rule. Sizes that memory cannot hold are refused.
#[test]
fn ops_on_wrong_partitions_never_panic() {
    let values = shapeflow::Tensor::from([1.0f32, 2.0, 3.0, 4.0]);
    let wrong: [&[i64]; 9] = [
        &[],
        &[0],
        &[3, 1],
        &[-1, 5],
        &[0, 9, 2, 9],
        &[0, 4, 0, 4, 0, 4],
        &[2, 2, 2],
        &[0, 1 << 60],
        &[i64::MIN, i64::MAX, 0],
    ];
    for exe in graph_bytes::UNCHECKED.iter() {
        for first in wrong {
            for second in [&[0, 1], first] {
                let _ = graph_bytes::run(exe, &values, first, second);
            }
        }
    }
}
