//! `Regs`: a set of vector registers.

use super::encode::Reg;

/// Registers, as bits.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Regs(u32);

impl Regs {
    /// The first so many.
    pub fn first(count: u8) -> Regs {
        Regs((1u64 << count).wrapping_sub(1) as u32)
    }

    pub fn has(self, reg: Reg) -> bool {
        self.0 >> reg.0 & 1 != 0
    }

    pub fn add(&mut self, reg: Reg) {
        self.0 |= 1 << reg.0;
    }

    pub fn remove(&mut self, reg: Reg) {
        self.0 &= !(1 << reg.0);
    }

    /// Those that are not in the other.
    pub fn without(self, other: Regs) -> Regs {
        Regs(self.0 & !other.0)
    }

    pub fn count(self) -> u32 {
        self.0.count_ones()
    }

    pub fn lowest(self) -> Option<Reg> {
        (self.0 != 0).then(|| Reg(self.0.trailing_zeros() as u8))
    }

    pub fn highest(self) -> Option<Reg> {
        self.0.checked_ilog2().map(|reg| Reg(reg as u8))
    }
}

/// From the lowest on.
impl Iterator for Regs {
    type Item = Reg;
    fn next(&mut self) -> Option<Reg> {
        let reg = self.lowest()?;
        self.remove(reg);
        Some(reg)
    }
}
