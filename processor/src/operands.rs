//! Operands of vector instructions, and the shapes that instructions have.

use iced_x86::{Instruction, OpKind, Register};

use super::Processor;
use super::lanes::{BYTES, Lane, Vector, get, make, map, zip};

/// Lanes of 16 bytes, in which shuffles stay.
pub(super) const LANE: usize = 16;

impl Processor {
    /// A vector operand: a register, or what memory has, under a mask zeros where it is not read.
    pub(super) fn operand(&self, i: &Instruction, operand: u32) -> Result<Vector, String> {
        if !Processor::is_memory(i, operand) {
            return Ok(self.vectors[i.op_register(operand).number()]);
        }
        let (size, mut result) = (i.memory_size(), [0; BYTES]);
        if i.is_broadcast() {
            if i.op_mask() != Register::None {
                return Err("an element for all lanes under a mask".to_owned());
            }
            let from = self.space.read(self.address(i), size.size())?;
            result.chunks_exact_mut(from.len()).for_each(|lane| lane.copy_from_slice(from));
            return Ok(result);
        }
        for (at, bytes) in self.chosen(i, size.size(), size.element_size()) {
            let from = self.space.read(self.address(i).wrapping_add(at as u64), bytes)?;
            result[at..at + bytes].copy_from_slice(from);
        }
        Ok(result)
    }

    /// The parts of a memory operand that are accessed: all of it, or the elements in the mask.
    pub(super) fn chosen(
        &self,
        i: &Instruction,
        size: usize,
        element: usize,
    ) -> impl Iterator<Item = (usize, usize)> + use<> {
        let (element, mask) = match i.op_mask() {
            Register::None => (size, 1),
            mask => (element, self.masks[mask.number()]),
        };
        let elements = (0..size / element).filter(move |k| mask >> k & 1 == 1);
        elements.map(move |k| (k * element, element))
    }

    /// Refuses memory at an address that is no multiple of its size.
    pub(super) fn aligned(&self, i: &Instruction) -> Result<(), String> {
        let of_memory = (0..i.op_count()).any(|operand| Processor::is_memory(i, operand));
        let is_aligned = !of_memory || self.address(i).is_multiple_of(i.memory_size().size() as u64);
        if is_aligned { Ok(()) } else { Err("is not aligned".to_owned()) }
    }

    /// Writes the first operand.
    pub(super) fn set_vector(&mut self, i: &Instruction, value: &Vector) -> Result<(), String> {
        let masked = i.op_mask() != Register::None;
        if Processor::is_memory(i, 0) {
            let size = i.memory_size();
            let address = self.address(i);
            for (at, bytes) in self.chosen(i, size.size(), size.element_size()) {
                self.space.write(address.wrapping_add(at as u64), &value[at..at + bytes])?;
            }
            return Ok(());
        }
        // Zeros from memory become zeros, whatever the instruction does with them.
        let read = (1..i.op_count()).any(|operand| Processor::is_memory(i, operand));
        if masked && !(i.zeroing_masking() && read && i.op_count() == 2) {
            return Err("under a mask in a way that is not known here".to_owned());
        }
        let register = i.op_register(0);
        self.vectors[register.number()] = narrowed(value, register.size());
        Ok(())
    }

    /// `reg = f(rm)` or the reverse, given the bytes of what is written.
    pub(super) fn two(
        &mut self,
        i: &Instruction,
        f: impl FnOnce(&Vector, usize) -> Vector,
    ) -> Result<(), String> {
        let bytes = written(i);
        let result = f(&self.operand(i, 1)?, bytes);
        self.set_vector(i, &result)
    }

    /// `reg = f(v, rm)`, given the bytes of what is written.
    pub(super) fn three(
        &mut self,
        i: &Instruction,
        f: impl FnOnce(&Vector, &Vector, usize) -> Vector,
    ) -> Result<(), String> {
        let result = f(&self.operand(i, 1)?, &self.operand(i, 2)?, written(i));
        self.set_vector(i, &result)
    }

    /// Lane by lane.
    pub(super) fn map<A: Lane, B: Lane>(
        &mut self,
        i: &Instruction,
        f: impl Fn(A) -> B,
    ) -> Result<(), String> {
        self.two(i, |a, bytes| map(bytes / A::SIZE, a, f))
    }

    /// Lane by lane, into narrower ones, of which there are as many as the source has.
    pub(super) fn narrow<A: Lane, B: Lane>(
        &mut self,
        i: &Instruction,
        f: impl Fn(A) -> B,
    ) -> Result<(), String> {
        let source = match i.op_kind(1) {
            OpKind::Register => i.op_register(1).size(),
            _ => i.memory_size().size(),
        };
        self.two(i, |a, _| map(source / A::SIZE, a, f))
    }

    /// Two lanes at a time.
    pub(super) fn zip<A: Lane, B: Lane>(
        &mut self,
        i: &Instruction,
        f: impl Fn(A, A) -> B,
    ) -> Result<(), String> {
        self.three(i, |a, b, bytes| zip(bytes / A::SIZE, a, b, f))
    }

    /// By a constant.
    pub(super) fn shift<A: Lane>(&mut self, i: &Instruction, f: impl Fn(A, u32) -> A) -> Result<(), String> {
        if i.op_kind(2) != OpKind::Immediate8 {
            return Err("by a register".to_owned());
        }
        let by = u32::from(immediate(i));
        self.map(i, |a| f(a, by))
    }

    /// `f(destination, v, rm)`.
    pub(super) fn fma<A: Lane>(&mut self, i: &Instruction, f: impl Fn(A, A, A) -> A) -> Result<(), String> {
        let old = self.operand(i, 0)?;
        self.three(i, |v, rm, bytes| make(bytes / A::SIZE, |k| f(get(&old, k), get(v, k), get(rm, k))))
    }

    /// Into lanes of ones, or bits of a mask register.
    pub(super) fn compare<A: Lane>(
        &mut self,
        i: &Instruction,
        f: impl Fn(A, A) -> bool,
    ) -> Result<(), String> {
        let (a, b) = (self.operand(i, 1)?, self.operand(i, 2)?);
        let count = i.op_register(1).size() / A::SIZE;
        let bits = bits(count, |k| f(get(&a, k), get(&b, k)));
        let to = i.op_register(0);
        if to.is_k() {
            self.masks[to.number()] = bits;
            return Ok(());
        }
        let result = make(count * A::SIZE, |byte| if bits >> (byte / A::SIZE) & 1 == 1 { 0xffu8 } else { 0 });
        self.set_vector(i, &result)
    }

    /// In each 16 bytes the lanes of the first operand, then those of the second.
    pub(super) fn pack<A: Lane, B: Lane>(
        &mut self,
        i: &Instruction,
        f: impl Fn(A) -> B,
    ) -> Result<(), String> {
        let half = LANE / A::SIZE;
        self.three(i, |a, b, bytes| {
            make(bytes / B::SIZE, |k| {
                let (lane, at) = (k / (2 * half), k % (2 * half));
                f(get(if at < half { a } else { b }, lane * half + at % half))
            })
        })
    }

    /// In each 16 bytes lanes of the operands in turn, from lane `first` on.
    pub(super) fn unpack<A: Lane>(&mut self, i: &Instruction, first: usize) -> Result<(), String> {
        let each = LANE / A::SIZE;
        self.three(i, |a, b, bytes| {
            make(bytes / A::SIZE, |k| {
                get::<A>(if k % 2 == 0 { a } else { b }, k / each * each + first + k % each / 2)
            })
        })
    }

    /// The second operand with `bytes` bytes of the third at `start`.
    pub(super) fn insert(&mut self, i: &Instruction, start: usize, bytes: usize) -> Result<(), String> {
        self.three(i, |a, b, _| {
            let mut result = *a;
            result[start..start + bytes].copy_from_slice(&b[..bytes]);
            result
        })
    }

    pub(super) fn splat<A: Lane>(&mut self, i: &Instruction) -> Result<(), String> {
        self.two(i, |a, bytes| make(bytes / A::SIZE, |_| get::<A>(a, 0)))
    }

    /// Lanes of memory whose sign is set in the second operand, zeros in the others, which are not read.
    pub(super) fn load_where_signed<A: Lane + PartialOrd + Default>(
        &mut self,
        i: &Instruction,
    ) -> Result<(), String> {
        let signs = self.operand(i, 1)?;
        let (address, mut result) = (self.address(i), [0; BYTES]);
        for k in (0..i.op_register(0).size() / A::SIZE).filter(|k| sign::<A>(&signs, *k)) {
            let at = k * A::SIZE;
            let bytes = self.space.read(address.wrapping_add(at as u64), A::SIZE)?;
            result[at..at + A::SIZE].copy_from_slice(bytes);
        }
        self.set_vector(i, &result)
    }

    pub(super) fn spread_mask<A: Lane + Default>(&mut self, i: &Instruction, ones: A) -> Result<(), String> {
        let mask = self.masks[i.op_register(1).number()];
        let result = make(written(i) / A::SIZE, |k| if mask >> k & 1 == 1 { ones } else { A::default() });
        self.set_vector(i, &result)
    }
}

/// Bytes of the first operand.
pub(super) fn written(i: &Instruction) -> usize {
    match i.op_kind(0) {
        OpKind::Memory => i.memory_size().size(),
        _ => i.op_register(0).size(),
    }
}

/// The first `bytes` bytes, and zeros.
pub(super) fn narrowed(value: &Vector, bytes: usize) -> Vector {
    let mut result = *value;
    result[bytes..].fill(0);
    result
}

pub(super) fn immediate(i: &Instruction) -> u8 {
    i.immediate8()
}

pub(super) fn sign<A: Lane + PartialOrd + Default>(of: &Vector, k: usize) -> bool {
    get::<A>(of, k) < A::default()
}

pub(super) fn bits(count: usize, f: impl Fn(usize) -> bool) -> u64 {
    (0..count).fold(0, |bits, k| bits | u64::from(f(k)) << k)
}
