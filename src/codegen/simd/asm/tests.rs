//! Decodes every instruction, with operands of every kind, encodes it again, and compares the bytes.

use iced_x86::{Decoder, DecoderOptions, Encoder, Formatter, Instruction, IntelFormatter};

use super::opcode::{self, Opcode, OperandForm};
use super::{Alu, Asm, Cond, Gpr, Masked, Mem, Rm, VectorIsa, VectorLen};

/// Returns the text of the bytes, which must be exactly one instruction that encodes to the same bytes.
fn decode(bytes: &[u8]) -> String {
    let mut decoder = Decoder::with_ip(64, bytes, 0x1000, DecoderOptions::NONE);
    let instruction: Instruction = decoder.decode();
    let mut text = String::new();
    IntelFormatter::new().format(&instruction, &mut text);
    assert!(!instruction.is_invalid() && instruction.len() == bytes.len(), "{bytes:02x?}: {text}");
    let mut encoder = Encoder::new(64);
    encoder.encode(&instruction, 0x1000).unwrap_or_else(|e| panic!("{text}: {e}"));
    assert_eq!(encoder.take_buffer(), bytes, "{text}");
    text
}

/// Returns the bytes that `f` appends, with references to constants resolved.
fn emitted(isa: VectorIsa, f: impl FnOnce(&mut Asm)) -> Vec<u8> {
    let mut asm = Asm::new(isa);
    f(&mut asm);
    let code = asm.bytes.len();
    let mut bytes = asm.finish(&Asm::new(isa), &[]);
    bytes.truncate(code);
    bytes
}

/// Returns whether an instruction set has this instruction.
fn is_in(name: &str, isa: VectorIsa) -> bool {
    const ONLY_AVX512: [&str; 26] = [
        "MUL_Q",
        "MIN_SQ",
        "MAX_SQ",
        "MIN_UQ",
        "MAX_UQ",
        "ABS_Q",
        "SRA_Q",
        "SRAV_Q",
        "CMP_D",
        "CMP_UD",
        "CMP_Q",
        "CMP_UQ",
        "TERNARY",
        "SQ_TO_PS",
        "UQ_TO_PS",
        "SQ_TO_PD",
        "UQ_TO_PD",
        "PD_TO_SQ",
        "EXTRACT_256",
        "INSERT_256",
        "DOWN_DB",
        "DOWN_DW",
        "DOWN_QD",
        "MASK_TO_D",
        "MASK_TO_Q",
        "D_TO_MASK",
    ];
    const ONLY_AVX2: [&str; 9] =
        ["BLENDV", "BLEND_PS", "LOAD_MASKED_D", "LOAD_MASKED_Q", "SIGN_BITS", "EQ_D", "EQ_Q", "GT_D", "GT_Q"];
    match isa {
        VectorIsa::Avx2 => !ONLY_AVX512.contains(&name),
        VectorIsa::Avx512 => !ONLY_AVX2.contains(&name),
    }
}

/// Returns the number of registers that each operand field (`reg`, `v`, `rm`) may name. A field for a mask register or
/// a general register has fewer than a field for a vector register.
fn max_registers(name: &str, isa: VectorIsa) -> [u8; 3] {
    let all = if isa == VectorIsa::Avx512 { 32 } else { 16 };
    match name {
        "CMP_PS" | "CMP_PD" if isa == VectorIsa::Avx512 => [8, all, all],
        "CMP_D" | "CMP_UD" | "CMP_Q" | "CMP_UQ" | "D_TO_MASK" => [8, all, all],
        "MASK_TO_D" | "MASK_TO_Q" => [all, all, 8],
        "SIGN_BITS" => [16, all, all],
        "STORE_B" | "STORE_W" | "STORE_D" => [all, all, 16],
        _ => [all; 3],
    }
}

/// Returns the vector lengths of an instruction.
fn lengths(name: &str, isa: VectorIsa) -> &'static [VectorLen] {
    let scalar = ["STORE_B", "STORE_W", "STORE_D", "STORE_Q"];
    let inserts = ["INSERT_B", "INSERT_W", "INSERT_D", "INSERT_Q"];
    match (name, isa) {
        _ if inserts.contains(&name) => &[VectorLen::X],
        _ if scalar.contains(&name) => &[VectorLen::X],
        ("EXTRACT_256" | "INSERT_256", _) => &[VectorLen::Z],
        ("PERMUTE_Q" | "PERMUTE_PS" | "EXTRACT_128" | "INSERT_128" | "SPLAT_PD", VectorIsa::Avx2) => {
            &[VectorLen::Y]
        }
        ("PERMUTE_Q" | "PERMUTE_PS" | "EXTRACT_128" | "INSERT_128" | "SPLAT_PD", _) => {
            &[VectorLen::Y, VectorLen::Z]
        }
        (_, VectorIsa::Avx2) => &[VectorLen::X, VectorLen::Y],
        _ => &[VectorLen::X, VectorLen::Y, VectorLen::Z],
    }
}

/// Memory operands of every kind.
fn memories() -> Vec<Mem> {
    let mut all = vec![Mem::Pool(0)];
    for base in 0..16 {
        for disp in [0, 4, 32, 64, 127, 128, -128, -4096, 1 << 20] {
            all.push(Mem::Base(Gpr(base), disp));
            for index in [0, 1, 5, 12, 13, 15] {
                all.push(Mem::Indexed(Gpr(base), Gpr(index), (base + index) & 3, disp));
            }
        }
    }
    all
}

/// Returns whether an instruction ends with an immediate byte.
fn takes_immediate(name: &str, op: Opcode) -> bool {
    let extra =
        ["STORE_B", "STORE_W", "SHUFFLE_PS", "SHUFFLE_D", "BLEND_PS", "PERMUTE_Q", "TERNARY", "PS_TO_PH"];
    matches!(op.form, OperandForm::Shift(_) | OperandForm::Blend)
        || ["CMP_", "ROUND_", "EXTRACT_", "INSERT_"].iter().any(|start| name.starts_with(start))
        || extra.contains(&name)
}

/// Returns whether an instruction accepts `rm`: some take only memory, some only a register.
fn takes(name: &str, op: Opcode, isa: VectorIsa, rm: Rm) -> bool {
    let memory = matches!(rm, Rm::Mem(_));
    match name {
        "LOAD_MASKED_D" | "LOAD_MASKED_Q" | "STORE_B" | "STORE_W" | "STORE_Q" | "MOV_STREAM" => memory,
        "INSERT_B" | "INSERT_W" | "INSERT_D" | "INSERT_Q" => memory,
        "SIGN_BITS" | "MASK_TO_D" | "MASK_TO_Q" | "D_TO_MASK" => !memory,
        // AVX2 shifts by a constant take no memory.
        _ if memory => isa == VectorIsa::Avx512 || !matches!(op.form, OperandForm::Shift(_)),
        _ => true,
    }
}

#[test]
fn every_vector_instruction_decodes_to_itself() {
    let memories = memories();
    for isa in [VectorIsa::Avx2, VectorIsa::Avx512] {
        for (name, op) in opcode::ALL.iter().filter(|(name, _)| is_in(name, isa)) {
            let max = max_registers(name, isa);
            let has_three_operands = matches!(op.form, OperandForm::Three | OperandForm::Blend)
                || name.starts_with("LOAD_MASKED")
                || *name == "BLEND_PS";
            let mut count = 0;
            for len in lengths(name, isa) {
                let mut check = |reg: u8, v: u8, rm: Rm| {
                    if !takes(name, *op, isa, rm) {
                        return;
                    }
                    let (reg, v) = match op.form {
                        OperandForm::Shift(number) => (number, v % max[1]),
                        _ => (reg % max[0], if has_three_operands { v % max[1] } else { 0 }),
                    };
                    let rm = if let Rm::Reg(r) = rm { Rm::Reg(r % max[2]) } else { rm };
                    let imm = takes_immediate(name, *op).then_some(if op.form == OperandForm::Blend {
                        0x70
                    } else {
                        1
                    });
                    decode(&emitted(isa, |asm| asm.vector(*op, *len, reg, v, rm, imm)));
                    count += 1;
                };
                for reg in 0..32 {
                    for v in [0, 1, 7, 8, 15, 16, 24, 31] {
                        for r in [0, 3, 8, 15, 17, 26, 31] {
                            check(reg, v, Rm::Reg(r));
                        }
                    }
                }
                for (k, memory) in memories.iter().enumerate() {
                    check(k as u8 % 32, (k / 32) as u8 % 32, Rm::Mem(*memory));
                }
            }
            assert!(count > 50, "{name}");
        }
    }
}

#[test]
fn masked_moves_decode_to_themselves() {
    let loads = [
        opcode::MOV_LOAD,
        opcode::MOV_LOAD_Q,
        opcode::ZX_BD,
        opcode::ZX_WD,
        opcode::SX_BD,
        opcode::SX_WD,
        opcode::PH_TO_PS,
    ];
    let stores = [opcode::MOV_STORE, opcode::MOV_STORE_Q, opcode::DOWN_DB, opcode::DOWN_DW, opcode::PS_TO_PH];
    for (k, memory) in memories().into_iter().enumerate() {
        let reg = k as u8 % 32;
        let mask = 1 + k as u8 % 7;
        for op in loads {
            decode(&emitted(VectorIsa::Avx512, |asm| {
                asm.masked(op, VectorLen::Z, reg, 0, memory.into(), None, Masked { k: mask, zero: true });
            }));
        }
        for op in stores {
            let imm = (op == opcode::PS_TO_PH).then_some(0);
            decode(&emitted(VectorIsa::Avx512, |asm| {
                asm.masked(op, VectorLen::Z, reg, 0, memory.into(), imm, Masked { k: mask, zero: false });
            }));
        }
    }
}

#[test]
fn every_general_instruction_decodes_to_itself() {
    let check = |f: &dyn Fn(&mut Asm)| drop(decode(&emitted(VectorIsa::Avx2, f)));
    for a in (0..16).map(Gpr) {
        for b in (0..16).map(Gpr) {
            check(&|asm| asm.mov(a, b));
            check(&|asm| asm.imul(a, b));
            check(&|asm| asm.test(a, b));
            for op in [Alu::Add, Alu::And, Alu::Sub, Alu::Cmp] {
                check(&|asm| asm.alu(op, a, b));
            }
        }
        for b in (0..16).map(Gpr) {
            check(&|asm| asm.extend_word(a, b));
            check(&|asm| asm.move_if(Cond::Less, a, b));
            check(&|asm| asm.move_if(Cond::NotEqual, a, b));
        }
        check(&|asm| asm.neg(a));
        check(&|asm| asm.shl(a, 3));
        check(&|asm| asm.shr(a, 8));
        check(&|asm| asm.shl_cl(a));
        check(&|asm| asm.mov_imm(a, -1));
        check(&|asm| asm.test_imm(a, 4));
        check(&|asm| asm.call_address(a));
        check(&|asm| asm.push(a));
        check(&|asm| asm.pop(a));
        check(&|asm| asm.divide(a, true));
        check(&|asm| asm.divide(a, false));
        for value in [0, 1, -1, 127, 128, -4096] {
            for op in [Alu::Add, Alu::And, Alu::Sub, Alu::Cmp] {
                check(&|asm| asm.alu_imm(op, a, value));
            }
        }
        for k in 0..8 {
            check(&|asm| asm.mask_move(true, k, a.0));
            check(&|asm| asm.mask_move(false, a.0, k));
        }
    }
    for (k, memory) in memories().into_iter().enumerate() {
        let reg = Gpr(k as u8 % 16);
        check(&|asm| asm.mov(reg, memory));
        check(&|asm| asm.store(memory, reg));
        check(&|asm| asm.lea(reg, memory));
        check(&|asm| asm.prefetch(memory));
        check(&|asm| asm.imul(reg, memory));
        check(&|asm| asm.alu(Alu::Cmp, reg, memory));
        check(&|asm| asm.add_to(memory, reg));
        check(&|asm| asm.store_imm(memory, 77));
        check(&|asm| asm.alu_imm(Alu::Sub, memory, 1));
        for bytes in [1, 2, 4, 8] {
            check(&|asm| asm.load_low(reg, memory, bytes));
            check(&|asm| asm.load_signed(reg, memory, bytes));
            check(&|asm| asm.store_low(memory, Gpr(k as u8 % 4), bytes));
        }
    }
    let conditions = [
        Cond::Below,
        Cond::Equal,
        Cond::NotEqual,
        Cond::Less,
        Cond::GreaterEqual,
        Cond::LessEqual,
        Cond::Greater,
    ];
    for cond in conditions {
        check(&|asm| {
            let label = asm.label();
            asm.bind(label);
            asm.jump_if(cond, label);
        });
    }
    check(&|asm| asm.cqo());
    check(&|asm| asm.ret());
    check(&|asm| asm.store_fence());
}

/// The snapshot has the text of each instruction, with low registers as operands. Someone has compared each name with
/// its text. A line that changes must be compared again.
#[test]
fn instructions_are_what_their_names_say() {
    let mut text = String::new();
    for (name, op) in opcode::ALL {
        text.push_str(name);
        for isa in [VectorIsa::Avx2, VectorIsa::Avx512].into_iter().filter(|isa| is_in(name, *isa)) {
            let len = *lengths(name, isa).last().unwrap();
            let rm =
                [Rm::Reg(3), Rm::Mem(Mem::Base(Gpr(0), 0))].into_iter().find(|rm| takes(name, *op, isa, *rm));
            let has_three_operands = matches!(op.form, OperandForm::Three | OperandForm::Blend)
                || name.starts_with("LOAD_MASKED")
                || *name == "BLEND_PS";
            let (reg, v) = match op.form {
                OperandForm::Shift(number) => (number, 2),
                _ => (1, if has_three_operands { 2 } else { 0 }),
            };
            let imm =
                takes_immediate(name, *op).then_some(if op.form == OperandForm::Blend { 0x40 } else { 1 });
            let bytes = emitted(isa, |asm| asm.vector(*op, len, reg, v, rm.unwrap(), imm));
            text.push_str(&format!(" | {}", decode(&bytes)));
        }
        text.push('\n');
    }
    insta::assert_snapshot!(text);
}
