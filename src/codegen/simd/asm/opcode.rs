//! `Opcode`: vector instructions as the fields of their encodings.

use super::operand::VectorLen;

/// How an instruction uses the operand fields of its encoding: `reg`, `v` (in the prefix) and `rm`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum OperandForm {
    /// `reg = op(v, rm)`.
    Three,
    /// `reg = op(rm)`.
    Two,
    /// `rm = op(reg)`: stores and narrowing conversions.
    ToRm,
    /// `v = op(rm, imm)`. This number, which is part of the opcode, stands in the field `reg`.
    Shift(u8),
    /// `reg = op(v, rm)`, with a third source register in the immediate.
    Blend,
    /// An instruction without an EVEX encoding, with the operands of [`OperandForm::Three`]; or a mask move.
    VexOnly,
}

/// One vector instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Opcode {
    /// The prefix: 0 none, 1 `66`, 2 `F3`, 3 `F2`.
    pub pp: u8,
    /// The opcode map: 1 `0F`, 2 `0F 38`, 3 `0F 3A`.
    pub map: u8,
    pub opcode: u8,
    /// The bit W in the VEX encoding.
    pub vex_w: bool,
    /// The bit W in the EVEX encoding.
    pub evex_w: bool,
    /// The size of the memory operand. Below 8: `length >> memory_size` bytes. Otherwise: `memory_size - 8` bytes.
    pub memory_size: u8,
    pub form: OperandForm,
    /// Whether `op(a, b)` and `op(b, a)` are equal bit for bit.
    pub commutes: bool,
}

impl Opcode {
    /// Returns the number of bytes of the memory operand, for vectors of length `len`.
    pub fn memory_bytes(self, len: VectorLen) -> u32 {
        if self.memory_size >= 8 { u32::from(self.memory_size) - 8 } else { len.bytes() >> self.memory_size }
    }

    const fn commuting(self) -> Opcode {
        Opcode { commutes: true, ..self }
    }

    /// Makes the memory operand `1 / 2^log2` of the vector.
    const fn part(self, log2: u8) -> Opcode {
        Opcode { memory_size: log2, ..self }
    }

    /// Makes the memory operand `bytes` bytes.
    const fn element(self, bytes: u8) -> Opcode {
        Opcode { memory_size: 8 + bytes, ..self }
    }

    const fn vex_w(self) -> Opcode {
        Opcode { vex_w: true, ..self }
    }
}

/// Makes a vector operation. Its memory operand is a whole vector.
const fn vop(pp: u8, map: u8, opcode: u8, evex_w: bool, form: OperandForm) -> Opcode {
    Opcode { pp, map, opcode, vex_w: false, evex_w, memory_size: 0, form, commutes: false }
}

const fn three(pp: u8, map: u8, opcode: u8, evex_w: bool) -> Opcode {
    vop(pp, map, opcode, evex_w, OperandForm::Three)
}

const fn two(pp: u8, map: u8, opcode: u8, evex_w: bool) -> Opcode {
    vop(pp, map, opcode, evex_w, OperandForm::Two)
}

macro_rules! ops {
    ($($name:ident = $value:expr;)*) => {
        $(pub(crate) const $name: Opcode = $value;)*
        /// Every instruction, by name.
        #[cfg(test)]
        pub(crate) const ALL: &[(&str, Opcode)] = &[$((stringify!($name), $name)),*];
    };
}

ops! {
    MOV_LOAD = two(0, 1, 0x10, false);
    MOV_STORE = vop(0, 1, 0x11, false, OperandForm::ToRm);
    MOV_LOAD_Q = two(1, 1, 0x10, true);
    MOV_STORE_Q = vop(1, 1, 0x11, true, OperandForm::ToRm);
    MOV_STREAM = vop(0, 1, 0x2b, false, OperandForm::ToRm);
    MOV = two(0, 1, 0x28, false);

    ADD_PS = three(0, 1, 0x58, false).commuting();
    ADD_PD = three(1, 1, 0x58, true).commuting();
    SUB_PS = three(0, 1, 0x5c, false);
    SUB_PD = three(1, 1, 0x5c, true);
    MUL_PS = three(0, 1, 0x59, false).commuting();
    MUL_PD = three(1, 1, 0x59, true).commuting();
    DIV_PS = three(0, 1, 0x5e, false);
    DIV_PD = three(1, 1, 0x5e, true);
    MIN_PS = three(0, 1, 0x5d, false);
    MIN_PD = three(1, 1, 0x5d, true);
    MAX_PS = three(0, 1, 0x5f, false);
    MAX_PD = three(1, 1, 0x5f, true);
    SQRT_PS = two(0, 1, 0x51, false);
    SQRT_PD = two(1, 1, 0x51, true);
    AND_PS = three(0, 1, 0x54, false).commuting();
    OR_PS = three(0, 1, 0x56, false).commuting();
    XOR_PS = three(0, 1, 0x57, false).commuting();
    ROUND_PS = two(1, 3, 0x08, false);
    ROUND_PD = two(1, 3, 0x09, true);
    CMP_PS = three(0, 1, 0xc2, false);
    CMP_PD = three(1, 1, 0xc2, true);

    FMA132_PS = three(1, 2, 0x98, false);
    FMA213_PS = three(1, 2, 0xa8, false);
    FMA231_PS = three(1, 2, 0xb8, false);
    FMA132_PD = three(1, 2, 0x98, true).vex_w();
    FMA213_PD = three(1, 2, 0xa8, true).vex_w();
    FMA231_PD = three(1, 2, 0xb8, true).vex_w();

    ADD_D = three(1, 1, 0xfe, false).commuting();
    ADD_Q = three(1, 1, 0xd4, true).commuting();
    SUB_D = three(1, 1, 0xfa, false);
    SUB_Q = three(1, 1, 0xfb, true);
    MUL_D = three(1, 2, 0x40, false).commuting();
    MUL_Q = three(1, 2, 0x40, true).commuting();
    MUL_UDQ = three(1, 1, 0xf4, true).commuting();
    MIN_SD = three(1, 2, 0x39, false).commuting();
    MAX_SD = three(1, 2, 0x3d, false).commuting();
    MIN_UD = three(1, 2, 0x3b, false).commuting();
    MAX_UD = three(1, 2, 0x3f, false).commuting();
    MIN_SQ = three(1, 2, 0x39, true).commuting();
    MAX_SQ = three(1, 2, 0x3d, true).commuting();
    MIN_UQ = three(1, 2, 0x3b, true).commuting();
    MAX_UQ = three(1, 2, 0x3f, true).commuting();
    ABS_D = two(1, 2, 0x1e, false);
    ABS_Q = two(1, 2, 0x1f, true);
    AND_D = three(1, 1, 0xdb, false).commuting();
    OR_D = three(1, 1, 0xeb, false).commuting();
    XOR_D = three(1, 1, 0xef, false).commuting();
    EQ_D = three(1, 1, 0x76, false).commuting();
    GT_D = three(1, 1, 0x66, false);
    EQ_Q = three(1, 2, 0x29, true).commuting();
    GT_Q = three(1, 2, 0x37, true);
    CMP_D = three(1, 3, 0x1f, false);
    CMP_UD = three(1, 3, 0x1e, false);
    CMP_Q = three(1, 3, 0x1f, true);
    CMP_UQ = three(1, 3, 0x1e, true);

    SLL_D = vop(1, 1, 0x72, false, OperandForm::Shift(6));
    SRL_D = vop(1, 1, 0x72, false, OperandForm::Shift(2));
    SRA_D = vop(1, 1, 0x72, false, OperandForm::Shift(4));
    SLL_Q = vop(1, 1, 0x73, true, OperandForm::Shift(6));
    SRL_Q = vop(1, 1, 0x73, true, OperandForm::Shift(2));
    SRA_Q = vop(1, 1, 0x72, true, OperandForm::Shift(4));
    SLLV_D = three(1, 2, 0x47, false);
    SRLV_D = three(1, 2, 0x45, false);
    SRAV_D = three(1, 2, 0x46, false);
    SLLV_Q = three(1, 2, 0x47, true).vex_w();
    SRLV_Q = three(1, 2, 0x45, true).vex_w();
    SRAV_Q = three(1, 2, 0x46, true);

    BLEND_PS = vop(1, 3, 0x0c, false, OperandForm::VexOnly);
    BLENDV = vop(1, 3, 0x4a, false, OperandForm::Blend);
    TERNARY = three(1, 3, 0x25, false);

    DQ_TO_PS = two(0, 1, 0x5b, false);
    PS_TO_DQ = two(2, 1, 0x5b, false);
    PS_TO_PD = two(0, 1, 0x5a, false).part(1);
    PD_TO_PS = two(1, 1, 0x5a, true);
    DQ_TO_PD = two(2, 1, 0xe6, false).part(1);
    SQ_TO_PS = two(0, 1, 0x5b, true);
    UQ_TO_PS = two(3, 1, 0x7a, true);
    SQ_TO_PD = two(2, 1, 0xe6, true);
    UQ_TO_PD = two(2, 1, 0x7a, true);
    PD_TO_SQ = two(1, 1, 0x7a, true);
    PH_TO_PS = two(1, 2, 0x13, false).part(1);
    PS_TO_PH = vop(1, 3, 0x1d, false, OperandForm::ToRm).part(1);

    ZX_BD = two(1, 2, 0x31, false).part(2);
    ZX_WD = two(1, 2, 0x33, false).part(1);
    ZX_DQ = two(1, 2, 0x35, false).part(1);
    SX_BD = two(1, 2, 0x21, false).part(2);
    SX_WD = two(1, 2, 0x23, false).part(1);
    SX_DQ = two(1, 2, 0x25, false).part(1);
    SHUFFLE_B = three(1, 2, 0x00, false);
    PACK_SDW = three(1, 1, 0x6b, false);
    PACK_UDW = three(1, 2, 0x2b, false);
    PACK_SWB = three(1, 1, 0x63, false);
    PACK_UWB = three(1, 1, 0x67, false);
    UNPACK_LOW_D = three(1, 1, 0x62, false);
    PERMUTE_Q = two(1, 3, 0x00, true).vex_w();
    PERMUTE_PS = three(1, 2, 0x16, false);
    SHUFFLE_PS = three(0, 1, 0xc6, false);
    SHUFFLE_D = two(1, 1, 0x70, false);
    EXTRACT_128 = vop(1, 3, 0x39, false, OperandForm::ToRm).element(16);
    EXTRACT_256 = vop(1, 3, 0x3b, true, OperandForm::ToRm).element(32);
    INSERT_128 = three(1, 3, 0x38, false).element(16);
    INSERT_256 = three(1, 3, 0x3a, true).element(32);
    INSERT_B = three(1, 3, 0x20, false).element(1);
    INSERT_W = three(1, 1, 0xc4, false).element(2);
    INSERT_D = three(1, 3, 0x22, false).element(4);
    INSERT_Q = three(1, 3, 0x22, true).vex_w().element(8);
    DOWN_DB = vop(2, 2, 0x31, false, OperandForm::ToRm).part(2);
    DOWN_DW = vop(2, 2, 0x33, false, OperandForm::ToRm).part(1);
    DOWN_QD = vop(2, 2, 0x35, false, OperandForm::ToRm).part(1);

    SPLAT_B = two(1, 2, 0x78, false).element(1);
    SPLAT_W = two(1, 2, 0x79, false).element(2);
    SPLAT_PS = two(1, 2, 0x18, false).element(4);
    SPLAT_PD = two(1, 2, 0x19, true).element(8);
    SPLAT_Q = two(1, 2, 0x59, true).element(8);

    LOAD_MASKED_D = vop(1, 2, 0x8c, false, OperandForm::VexOnly);
    LOAD_MASKED_Q = vop(1, 2, 0x8c, false, OperandForm::VexOnly).vex_w();
    STORE_B = vop(1, 3, 0x14, false, OperandForm::ToRm).element(1);
    STORE_W = vop(1, 3, 0x15, false, OperandForm::ToRm).element(2);
    STORE_D = vop(1, 1, 0x7e, false, OperandForm::ToRm).element(4);
    STORE_Q = vop(1, 1, 0xd6, true, OperandForm::ToRm).element(8);
    SIGN_BITS = vop(0, 1, 0x50, false, OperandForm::VexOnly);
    MASK_TO_D = two(2, 2, 0x38, false);
    MASK_TO_Q = two(2, 2, 0x38, true);
    D_TO_MASK = two(2, 2, 0x39, false);
}
