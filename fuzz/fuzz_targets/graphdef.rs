//! Fuzzes the importer of TensorFlow graphs, guided by coverage: `cargo fuzz run graphdef`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| shapeflow::interchange::fuzz(data));
