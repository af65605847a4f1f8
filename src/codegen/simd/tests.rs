//! Tests of whole functions against a decoder, of broken invariants of blocks, and of the order of the layers.

use std::path::Path;

use iced_x86::{Decoder, DecoderOptions, Encoder, Mnemonic};

use super::asm::{Asm, VectorIsa};
use super::emit::{BlockEmitter, EmitContext};
use super::ir::{FrameAllocator, FrameDemands, FrameLayout, ValueOrigin, VectorBlock, VectorInstKind};
use crate::codegen::tests::{Random, generate};

/// Checks that every instruction of a function, up to its `ret`, encodes to the bytes that it was decoded from. Returns
/// the number of instructions.
fn check_function(bytes: &[u8]) -> usize {
    let mut decoder = Decoder::with_ip(64, bytes, 0, DecoderOptions::NONE);
    let mut encoder = Encoder::new(64);
    let mut count = 0;
    loop {
        let offset = decoder.position();
        let instruction = decoder.decode();
        assert!(
            !instruction.is_invalid(),
            "at {offset}: {:02x?}",
            &bytes[offset..bytes.len().min(offset + 16)]
        );
        encoder.encode(&instruction, offset as u64).unwrap_or_else(|e| panic!("at {offset}: {e}"));
        assert_eq!(encoder.take_buffer(), bytes[offset..decoder.position()], "at {offset}");
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

/// An instruction that computes a value but has no result is a bug of selection. The emitter must not drop it silently.
#[test]
#[should_panic(expected = "every instruction that computes a value is pushed with a result")]
fn an_instruction_without_its_result_is_a_broken_invariant() {
    let isa = VectorIsa::Avx512;
    let code = generate(&mut Random::new(0)).code;
    let mut frame = FrameAllocator::new();
    let demands = FrameDemands {
        read_ahead: Vec::new(),
        gather_strides: vec![Default::default(); code.slots.len()],
        reads_scalars: false,
        lane_scalars: Vec::new(),
        index_words: 0,
        prefetch_copies: None,
    };
    let layout = FrameLayout::new(&code, isa, demands, &mut frame);
    let mut block = VectorBlock::default();
    let operand = block.value_from(ValueOrigin::Frame(0));
    block.push_effect(VectorInstKind::Select, &[operand; 3]);
    let context = EmitContext {
        code: &code,
        layout: &layout,
        level: 0,
        pointers: &[],
        pointers_advance: false,
        shift: None,
    };
    let mut asm = Asm::new(isa);
    BlockEmitter::new(&mut asm, &block, &context, &mut frame, isa.registers()).emit();
}

/// The layers from the ground up. A layer names only itself and earlier ones.
const LAYERS: [&str; 6] = ["asm", "ir", "select", "regalloc", "emit", "loops"];

#[test]
fn a_layer_knows_only_earlier_ones() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/codegen/simd");
    for (number, layer) in LAYERS.iter().enumerate() {
        for entry in std::fs::read_dir(root.join(layer)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_none_or(|extension| extension != "rs") {
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap();
            let named = text.split("simd::").skip(1).map(|rest| {
                let end = rest.find(|letter: char| !letter.is_alphanumeric() && letter != '_');
                &rest[..end.unwrap_or(rest.len())]
            });
            for name in named {
                let earlier = LAYERS[..=number].contains(&name);
                assert!(earlier, "{}: {layer} must not know {name}", path.display());
            }
        }
    }
}
