//! Fuzzes ragged tensors of arbitrary row splits, with data and in graphs, guided by coverage: `cargo fuzz run ragged`.
#![no_main]

#[path = "../../tests/road/ragged/bytes.rs"]
mod bytes;
#[path = "../../tests/road/ragged/graph_bytes.rs"]
mod graph_bytes;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Some((kind, rest)) = data.split_first() else { return };
    if kind % 2 == 0 { bytes::drive(rest) } else { graph_bytes::drive(rest) }
});
