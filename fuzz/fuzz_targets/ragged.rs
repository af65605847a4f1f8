//! Fuzzes ragged tensors of arbitrary row splits, guided by coverage: `cargo fuzz run ragged`.
#![no_main]

#[path = "../../tests/road/ragged/bytes.rs"]
mod bytes;

libfuzzer_sys::fuzz_target!(|data: &[u8]| bytes::drive(data));
