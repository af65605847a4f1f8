//! The importer of TensorFlow graphs on bytes that coverage leads: `cargo fuzz run graphdef`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| shapeflow::interchange::fuzz(data));
