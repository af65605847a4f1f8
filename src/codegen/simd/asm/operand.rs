//! Operands of instructions: registers, vector lengths, memory.

/// A general-purpose register, by its number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Gpr(pub u8);

pub(crate) const RAX: Gpr = Gpr(0);
pub(crate) const RCX: Gpr = Gpr(1);
pub(crate) const RDX: Gpr = Gpr(2);
pub(crate) const RBX: Gpr = Gpr(3);
pub(crate) const RSP: Gpr = Gpr(4);
pub(crate) const RBP: Gpr = Gpr(5);
pub(crate) const RSI: Gpr = Gpr(6);
pub(crate) const RDI: Gpr = Gpr(7);

/// A vector register, by its number.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub(crate) struct VectorReg(pub u8);

/// The length of the operands of a vector instruction: the low bytes of a register that it uses.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum VectorLen {
    /// 16 bytes.
    X,
    /// 32 bytes.
    Y,
    /// 64 bytes.
    Z,
}

impl VectorLen {
    pub fn bytes(self) -> u32 {
        16 << self as u32
    }
}

/// A memory operand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Mem {
    /// `base + disp`.
    Base(Gpr, i32),
    /// `base + (index << scale) + disp`. The index must not be `rsp`.
    Indexed(Gpr, Gpr, u8, i32),
    /// An offset into the constant pool, which follows the code in memory.
    Pool(u32),
}

/// An operand that is a register or memory (ModRM).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Rm {
    Reg(u8),
    Mem(Mem),
}

impl From<VectorReg> for Rm {
    fn from(reg: VectorReg) -> Rm {
        Rm::Reg(reg.0)
    }
}

impl From<Gpr> for Rm {
    fn from(reg: Gpr) -> Rm {
        Rm::Reg(reg.0)
    }
}

impl From<Mem> for Rm {
    fn from(mem: Mem) -> Rm {
        Rm::Mem(mem)
    }
}
