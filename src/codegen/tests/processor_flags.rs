//! The flags of the simulated processor.

use shapeflow_processor::{Processor, Program};

/// Runs machine code that ends in a return.
fn run(code: &[u8]) -> Result<(), String> {
    let program = Program::new(code.to_vec());
    let (space, start) = program.load();
    Processor::new(space).call(&program, start, 0)
}

#[test]
fn a_product_defines_carry_and_overflow_only() {
    let products: [&[u8]; 2] = [&[0x48, 0x0f, 0xaf, 0xc0], &[0x48, 0xf7, 0xe0]]; // imul rax, rax; mul rax
    for product in products {
        for (jump, is_defined) in [(0x70, true), (0x72, true), (0x74, false), (0x78, false), (0x7c, false)] {
            let result = run(&[product, &[jump, 0x00, 0xc3]].concat()); // jo, jb, je, js, jl; ret
            assert_eq!(result.is_ok(), is_defined, "{jump:#x}: {result:?}");
        }
    }
}
