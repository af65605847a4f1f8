//! Whole functions against a decoder: every byte of the code is one instruction that encodes to itself.

use iced_x86::{Decoder, DecoderOptions, Encoder, Mnemonic};

use super::VectorIsa;
use crate::codegen::tests::{Random, generate};

/// The instructions of a whole function: all that stands before the constants.
fn check_function(bytes: &[u8]) -> usize {
    let mut decoder = Decoder::with_ip(64, bytes, 0, DecoderOptions::NONE);
    let mut encoder = Encoder::new(64);
    let mut count = 0;
    loop {
        let at = decoder.position();
        let instruction = decoder.decode();
        assert!(!instruction.is_invalid(), "at {at}: {:02x?}", &bytes[at..bytes.len().min(at + 16)]);
        encoder.encode(&instruction, at as u64).unwrap_or_else(|e| panic!("at {at}: {e}"));
        assert_eq!(encoder.take_buffer(), bytes[at..decoder.position()], "at {at}");
        count += 1;
        if instruction.mnemonic() == Mnemonic::Ret {
            return count;
        }
    }
}

#[test]
fn whole_functions_decode_to_themselves() {
    for isa in [VectorIsa::Avx2, VectorIsa::Avx512] {
        let (mut functions, mut instructions) = (0, 0);
        for seed in 0..400 {
            let code = generate(&mut Random::new(seed)).code;
            let Ok(bytes) = super::emit(&code, isa) else { continue };
            instructions += check_function(&bytes);
            functions += 1;
        }
        assert!(
            functions > 60 && instructions > 10_000,
            "{functions} functions, {instructions} instructions"
        );
    }
}
