//! Gathers: loads whose addresses depend on values of the body.
//!
//! Where these values are the same for all elements of the inner axis, the slot is moved once and then loaded like
//! any other. Otherwise elements are brought together one by one.

use smallvec::SmallVec;

use super::allocate::frame_at;
use super::block::{Home, Kind, Place, Tail, V};
use super::encode::{Asm, Len, Mem, Reg, Rm};
use super::function::Body;
use super::machine::{INDEX, Machine};
use super::op;
use super::scalar::{Alu, Cond, RAX, RBX, RCX};
use super::select::{Mode, Refusal, Selector};
use super::values::Vecs;
use crate::codegen::clif::{Repr, size_of};
use crate::lower::code::{Class, Code, InstOp, Vid};

/// Elements of a step that one 16-byte register holds as they are in memory.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Group {
    /// The first one: its number in the step, and its distance from the current element.
    pub lane: u32,
    pub ahead: u32,
    pub count: u32,
    /// Whether the slot has been moved already.
    pub placed: bool,
    /// Whether only those that are left are read.
    pub masked: bool,
    /// Whether offsets are sums of bytes in words of 4 bytes.
    pub near: bool,
}

/// The scalars by which gather slots move, by slot.
///
/// # Errors
/// Gathers of one slot do not move it alike.
pub(super) fn strides(code: &Code) -> Result<Vec<SmallVec<[u32; 2]>>, Refusal> {
    let mut strides: Vec<Option<SmallVec<[u32; 2]>>> = vec![None; code.slots.len()];
    for body in code.passes.iter().map(|pass| &pass.body).chain([&code.epilogue]) {
        let mut seen = Vec::new();
        for inst in body {
            let InstOp::Gather { slot, offsets } = &inst.op else { continue };
            let own: SmallVec<[u32; 2]> = offsets.iter().map(|(_, scalar)| *scalar).collect();
            let known = strides[*slot as usize].get_or_insert_with(|| own.clone());
            if *known != own || seen.contains(slot) {
                return Err("a slot that two gathers share");
            }
            seen.push(*slot);
        }
    }
    Ok(strides.into_iter().map(Option::unwrap_or_default).collect())
}

impl Body<'_> {
    /// The gather slots that are moved once for the inner axis and then read along it.
    pub fn gathered_rows(&self, code: &Code) -> Vec<u32> {
        let row = |inst: &crate::lower::code::Inst| match &inst.op {
            InstOp::Gather { slot, offsets } => {
                let placed = is_placed(&self.uniform, offsets);
                (placed && code.slots[*slot as usize].class == Class::Contiguous).then_some(*slot)
            }
            _ => None,
        };
        self.insts.iter().filter_map(row).collect()
    }
}

/// Whether the values that move a slot are the same for all elements.
pub(super) fn is_placed(uniform: &[bool], offsets: &[(Vid, u32)]) -> bool {
    offsets.iter().all(|(v, _)| uniform[v.0 as usize])
}

impl Selector<'_> {
    /// Moves a slot by values that are the same for all elements.
    pub fn place(&mut self, slot: u32, offsets: &[(Vid, u32)]) -> Result<(), Refusal> {
        for (k, (v, _)) in offsets.iter().enumerate() {
            let offset = k as u32;
            if self.index[v.0 as usize] {
                let word = self.layout.index + 8 * v.0;
                self.block.effect(Kind::DisplaceBy { slot, offset, word, passed: false }, &[]);
            } else {
                let vector = self.vecs(*v)?[0];
                self.block.effect(Kind::Displace { slot, offset }, &[vector]);
            }
        }
        Ok(())
    }

    /// The elements of a gather slot.
    pub fn gather(&mut self, slot: u32, offsets: &[(Vid, u32)]) -> Result<Vecs, Refusal> {
        let Mode::Step { ahead, masked, .. } = self.mode else {
            self.place(slot, offsets)?;
            return Ok(self.load(slot));
        };
        let placed = is_placed(self.uniform, offsets);
        if placed && !self.strided {
            return Ok(self.load(slot));
        }
        let dtype = self.code.slots[slot as usize].dtype;
        let whole = self.len();
        let near = self.near && !placed;
        if near {
            let mut sums = Vecs::default();
            for (v, stride) in offsets {
                let stride = self.layout.spread.stride(*stride).ok_or("a stride has no place")?;
                let stride = self.block.at(Home::Frame(stride));
                let words = self.index_words(*v)?;
                let moved = self.map(&words, |s, word| s.op2(op::MUL_D, word, stride));
                sums = match sums.is_empty() {
                    true => moved,
                    false => self.zip(&sums, &moved, |s, a, b| s.op2(op::ADD_D, a, b)),
                };
            }
            self.keep_offsets(0, &sums);
        } else if !placed {
            for (k, (v, _)) in offsets.iter().enumerate() {
                let x = self.vecs(*v)?;
                self.keep_offsets(k, &x);
            }
        }
        let (bytes, size) = (Repr::of(dtype).bytes(), size_of(dtype));
        let per = whole.bytes() / bytes;
        let count = per.min(16 / size);
        Ok((0..self.vectors(bytes) as u32)
            .map(|j| {
                let groups: SmallVec<[V; 4]> = (0..per / count)
                    .map(|part| {
                        let lane = j * per + part * count;
                        let group = Group { lane, ahead: ahead + lane, count, placed, masked, near };
                        self.block.push(Kind::Gather { slot, group }, &[])
                    })
                    .collect();
                let raw = self.assembled(&groups);
                let x = if size < 4 { self.op1(Selector::loading(dtype), raw) } else { raw };
                self.loaded(dtype, x)
            })
            .collect())
    }

    /// Stores the offsets of a step where those number `k` are found one by one.
    fn keep_offsets(&mut self, k: usize, x: &Vecs) {
        let len = self.len();
        for (j, x) in x.iter().enumerate() {
            let place = Place::Frame(self.layout.offsets[k] + j as u32 * len.bytes());
            let store = Kind::Store { op: op::MOV_STORE, len, imm: None, place, tail: Tail::Whole };
            self.block.effect(store, &[*x]);
        }
    }

    /// 16-byte parts as one vector.
    fn assembled(&mut self, parts: &[V]) -> V {
        let pair = |s: &mut Self, a: V, b: V| {
            s.block.push(Kind::Op { op: op::INSERT_128, len: Len::Y, imm: Some(1) }, &[a, b])
        };
        match *parts {
            [a, b, c, d] => {
                let (low, high) = (pair(self, a, b), pair(self, c, d));
                self.join(low, high)
            }
            [a, b] => pair(self, a, b),
            _ => parts[0],
        }
    }
}

impl Machine<'_> {
    /// Moves a gather slot by one of its offsets, the lowest lane of a vector.
    pub fn displace(&self, asm: &mut Asm, slot: u32, offset: u32, from: Reg) {
        let word = self.layout.scratch;
        asm.vector(op::STORE_Q, Len::X, from.0, 0, frame_at(word).into(), None);
        asm.mov(RAX, frame_at(word));
        self.displace_by(asm, slot, offset);
    }

    /// Moves a gather slot by one of its offsets, in rax.
    pub fn displace_by(&self, asm: &mut Asm, slot: u32, offset: u32) {
        asm.imul(RAX, frame_at(self.layout.gathers[slot as usize].strides[offset as usize]));
        match self.pointer(slot) {
            Some(pointer) => asm.alu(Alu::Add, pointer, RAX),
            None => asm.add_to(frame_at(self.layout.gathers[slot as usize].address), RAX),
        }
    }

    /// Brings elements together in the low 16 bytes of a register, zeros where there are none.
    pub fn gather(&self, asm: &mut Asm, slot: u32, group: Group, to: u8) {
        let kind = &self.code.slots[slot as usize];
        let moves = kind.class == Class::Contiguous;
        let gather = &self.layout.gathers[slot as usize];
        let size = size_of(kind.dtype);
        let base = match self.pointer(slot) {
            Some(pointer) if !moves => pointer,
            Some(pointer) => {
                asm.mov(RCX, pointer);
                RCX
            }
            None => {
                asm.mov(RCX, frame_at(gather.address));
                RCX
            }
        };
        if moves {
            asm.lea(RAX, Mem::Base(INDEX, group.ahead as i32));
            asm.imul(RAX, frame_at(gather.inner));
            asm.alu(Alu::Add, RCX, RAX);
        }
        asm.vector(op::XOR_D, Len::X, to, to, Rm::Reg(to), None);
        let insert = match size {
            1 => op::INSERT_B,
            2 => op::INSERT_W,
            4 => op::INSERT_D,
            _ => op::INSERT_Q,
        };
        let done = asm.label();
        for at in 0..group.count {
            let lane = group.lane + at;
            if group.masked {
                asm.alu_imm(Alu::Cmp, frame_at(self.layout.left), lane as i32);
                asm.jump_if(Cond::LessEqual, done);
            }
            let mut memory = Mem::Base(base, 0);
            if group.near {
                asm.extend_word(RAX, frame_at(self.layout.offsets[0] + 4 * lane));
                memory = Mem::Indexed(base, RAX, 0, 0);
            } else if !group.placed {
                for (k, stride) in gather.strides.iter().enumerate() {
                    let sum = if k == 0 { RAX } else { RBX };
                    asm.mov(sum, frame_at(self.layout.offsets[k] + 8 * lane));
                    asm.imul(sum, frame_at(*stride));
                    if k > 0 {
                        asm.alu(Alu::Add, RAX, RBX);
                    }
                }
                memory = Mem::Indexed(base, RAX, 0, 0);
            }
            asm.vector(insert, Len::X, to, to, memory.into(), Some(at as u8));
            if moves && at + 1 < group.count {
                asm.alu(Alu::Add, RCX, frame_at(gather.inner));
            }
        }
        asm.bind(done);
    }
}
