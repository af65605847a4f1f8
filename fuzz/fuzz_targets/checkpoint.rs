//! Fuzzes the reader of checkpoints, guided by coverage: `cargo fuzz run checkpoint`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| shapeflow::interchange::fuzz_checkpoint(data));
