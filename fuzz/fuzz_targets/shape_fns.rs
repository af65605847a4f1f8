//! Fuzzes every registered shape function, guided by coverage: `cargo fuzz run shape_fns`.
#![no_main]

#[path = "../../shape_fns/tests/bytes/mod.rs"]
mod bytes;

libfuzzer_sys::fuzz_target!(|data: &[u8]| bytes::drive(data));
