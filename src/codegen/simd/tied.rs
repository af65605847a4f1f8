//! Instructions whose result overwrites one of three sources.

use super::allocate::{Allocator, NEVER};
use super::block::{Home, VInst};
use super::encode::{Reg, Rm};
use super::op;
use super::regs::Regs;

impl Allocator<'_, '_> {
    /// The source whose register the result overwrites: one that is not needed again, one that has yet to
    /// be loaded, else a copy of the last. Its register, and which it is.
    fn tied(&mut self, at: usize, inst: &VInst, after: [u32; 3], locked: &mut Regs) -> Option<(Reg, usize)> {
        let dst = inst.dst?;
        let pinned = match self.block.values[dst.0 as usize] {
            Home::Pinned(reg) => Some(reg),
            _ => None,
        };
        let dying = |this: &Self, k: usize| {
            let reg = this.value(inst.srcs[k]).reg?;
            (after[k] == NEVER && !this.fixed.has(reg)).then_some(reg)
        };
        if let Some(reg) = pinned
            && let Some(k) = (0..3).find(|k| inst.srcs[*k] == dst)
        {
            return Some((reg, k));
        }
        if pinned.is_none()
            && let Some((reg, k)) = (0..3).rev().find_map(|k| Some((dying(self, k)?, k)))
        {
            self.release(reg);
            self.bind(reg, dst);
            self.used_next(dst, self.uses[at].first);
            return Some((reg, k));
        }
        let k = (0..3).rev().find(|k| !self.in_register(inst.srcs[*k])).unwrap_or(2);
        let len = self.len();
        let copied = self.value(inst.srcs[k]);
        let from: Rm = match (copied.reg, copied.memory) {
            (Some(reg), _) => reg.into(),
            (None, Some(memory)) => memory.into(),
            (None, None) => return None,
        };
        let reg = match pinned {
            Some(reg) => reg,
            None => {
                let reg = self.take(*locked);
                self.bind(reg, dst);
                self.used_next(dst, self.uses[at].first);
                reg
            }
        };
        locked.add(reg);
        let mov = if matches!(from, Rm::Reg(_)) { op::MOV } else { op::MOV_LOAD };
        self.asm.vector(mov, len, reg.0, 0, from, None);
        Some((reg, k))
    }

    pub fn fma(&mut self, at: usize, inst: &VInst, after: [u32; 3], double: bool, mut locked: Regs) {
        let Some((dst, tied)) = self.tied(at, inst, after, &mut locked) else { return };
        locked.add(dst);
        // The other two: a register, then one that may be memory.
        let (mut first, mut second) = [(1, 2), (0, 2), (0, 1)][tied];
        let same = |k: usize| inst.srcs[k] == inst.srcs[tied];
        let missing = |this: &Self, k: usize| !this.in_register(inst.srcs[k]) && !same(k);
        if missing(self, first) && !missing(self, second) {
            std::mem::swap(&mut first, &mut second);
        }
        let v = if same(first) { dst } else { self.source(inst.srcs[first], &mut locked) };
        let rm: Rm = match same(second) {
            true => dst.into(),
            false => self.source_or_memory(inst.srcs[second], after[second], &mut locked),
        };
        // 213: dst = v * dst + rm; 132: dst = dst * rm + v; 231: dst = v * rm + dst.
        let ops = if double {
            [op::FMA213_PD, op::FMA132_PD, op::FMA231_PD]
        } else {
            [op::FMA213_PS, op::FMA132_PS, op::FMA231_PS]
        };
        let op = match (tied, second) {
            (2, _) => ops[2],
            (_, 2) => ops[0],
            _ => ops[1],
        };
        self.retire(&inst.srcs, after);
        let len = self.len();
        self.asm.vector(op, len, dst.0, v.0, rm, None);
    }

    /// AVX-512: `mask ? a : b` by a table of truth over whatever the result overwrites.
    pub fn ternary(&mut self, at: usize, inst: &VInst, after: [u32; 3], mut locked: Regs) {
        let Some((dst, tied)) = self.tied(at, inst, after, &mut locked) else { return };
        locked.add(dst);
        let (first, second) = [(1, 2), (0, 2), (0, 1)][tied];
        let same = |k: usize| inst.srcs[k] == inst.srcs[tied];
        let v = if same(first) { dst } else { self.source(inst.srcs[first], &mut locked) };
        let rm: Rm = match same(second) {
            true => dst.into(),
            false => self.source_or_memory(inst.srcs[second], after[second], &mut locked),
        };
        let mut table = 0u8;
        for row in 0..8u8 {
            let mut bits = [false; 3];
            bits[tied] = row & 4 != 0;
            bits[first] = row & 2 != 0;
            bits[second] = row & 1 != 0;
            if if bits[0] { bits[1] } else { bits[2] } {
                table |= 1 << row;
            }
        }
        self.retire(&inst.srcs, after);
        let len = self.len();
        self.asm.vector(op::TERNARY, len, dst.0, v.0, rm, Some(table));
    }
}
