//! `RegisterSet`: a set of vector registers.

use crate::codegen::simd::asm::VectorReg;

/// A set of registers, one bit each.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct RegisterSet(u32);

impl RegisterSet {
    /// Returns the registers below number `count`, which is at most 32.
    pub fn first(count: u8) -> RegisterSet {
        RegisterSet((1u64 << count).wrapping_sub(1) as u32)
    }

    pub fn has(self, reg: VectorReg) -> bool {
        self.0 >> reg.0 & 1 != 0
    }

    pub fn add(&mut self, reg: VectorReg) {
        self.0 |= 1 << reg.0;
    }

    pub fn remove(&mut self, reg: VectorReg) {
        self.0 &= !(1 << reg.0);
    }

    /// Returns the registers that are not in `other`.
    pub fn without(self, other: RegisterSet) -> RegisterSet {
        RegisterSet(self.0 & !other.0)
    }

    pub fn count(self) -> u32 {
        self.0.count_ones()
    }

    pub fn lowest(self) -> Option<VectorReg> {
        (self.0 != 0).then(|| VectorReg(self.0.trailing_zeros() as u8))
    }

    pub fn highest(self) -> Option<VectorReg> {
        self.0.checked_ilog2().map(|reg| VectorReg(reg as u8))
    }
}

/// Yields the registers from the lowest on.
impl Iterator for RegisterSet {
    type Item = VectorReg;
    fn next(&mut self) -> Option<VectorReg> {
        let reg = self.lowest()?;
        self.remove(reg);
        Some(reg)
    }
}
