//! Operands of vector instructions, and helpers for instructions of the same shape.

use iced_x86::{Instruction, OpKind, Register};

use super::Processor;
use super::lanes::{BYTES, Lane, Vector, get, make, map, zip};

/// The number of bytes of an XMM register, and of each 128-bit part of a wider register. Most shuffles move bytes only
/// inside such a part.
pub(super) const XMM_BYTES: usize = 16;

impl Processor {
    /// Returns a vector operand from a register or from memory. Elements in memory that the mask excludes are not read
    /// and become zero.
    pub(super) fn operand(&self, i: &Instruction, operand: u32) -> Result<Vector, String> {
        if !Processor::is_memory(i, operand) {
            return Ok(self.vectors[i.op_register(operand).number()]);
        }
        let (size, mut result) = (i.memory_size(), [0; BYTES]);
        if i.is_broadcast() {
            if i.op_mask() != Register::None {
                return Err("a broadcast memory operand under a mask is not supported".to_owned());
            }
            let from = self.space.read(self.address(i), size.size())?;
            result.chunks_exact_mut(from.len()).for_each(|lane| lane.copy_from_slice(from));
            return Ok(result);
        }
        for (offset, bytes) in self.accessed(i, size.size(), size.element_size()) {
            let from = self.space.read(self.address(i).wrapping_add(offset as u64), bytes)?;
            result[offset..offset + bytes].copy_from_slice(from);
        }
        Ok(result)
    }

    /// Yields `(offset, bytes)` for each accessed part of a memory operand: the whole operand, or the elements in the
    /// mask.
    pub(super) fn accessed(
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

    /// Checks that the address of a memory operand is a multiple of the operand's size.
    pub(super) fn check_alignment(&self, i: &Instruction) -> Result<(), String> {
        let has_memory = (0..i.op_count()).any(|operand| Processor::is_memory(i, operand));
        let is_aligned = !has_memory || self.address(i).is_multiple_of(i.memory_size().size() as u64);
        if is_aligned { Ok(()) } else { Err("the memory operand must be aligned to its size".to_owned()) }
    }

    /// Writes the first operand, a vector register or memory.
    pub(super) fn set_vector(&mut self, i: &Instruction, value: &Vector) -> Result<(), String> {
        let masked = i.op_mask() != Register::None;
        if Processor::is_memory(i, 0) {
            let size = i.memory_size();
            let address = self.address(i);
            for (offset, bytes) in self.accessed(i, size.size(), size.element_size()) {
                self.space.write(address.wrapping_add(offset as u64), &value[offset..offset + bytes])?;
            }
            return Ok(());
        }
        // Excluded elements of a memory operand were read as zeros. Instructions with two operands map zeros to zeros.
        let read = (1..i.op_count()).any(|operand| Processor::is_memory(i, operand));
        if masked && !(i.zeroing_masking() && read && i.op_count() == 2) {
            return Err("this use of a mask is not supported".to_owned());
        }
        let register = i.op_register(0);
        self.vectors[register.number()] = first_bytes(value, register.size());
        Ok(())
    }

    /// Runs an instruction with one source: `first = f(second, bytes)`, where `bytes` is the size of the first operand.
    /// Either operand may be in memory.
    pub(super) fn unary(
        &mut self,
        i: &Instruction,
        f: impl FnOnce(&Vector, usize) -> Vector,
    ) -> Result<(), String> {
        let bytes = destination_bytes(i);
        let result = f(&self.operand(i, 1)?, bytes);
        self.set_vector(i, &result)
    }

    /// Runs an instruction with two sources: `first = f(second, third, bytes)`, where `bytes` is the size of the first
    /// operand.
    pub(super) fn binary(
        &mut self,
        i: &Instruction,
        f: impl FnOnce(&Vector, &Vector, usize) -> Vector,
    ) -> Result<(), String> {
        let result = f(&self.operand(i, 1)?, &self.operand(i, 2)?, destination_bytes(i));
        self.set_vector(i, &result)
    }

    /// Applies `f` to each lane of the second operand.
    pub(super) fn map<A: Lane, B: Lane>(
        &mut self,
        i: &Instruction,
        f: impl Fn(A) -> B,
    ) -> Result<(), String> {
        self.unary(i, |a, bytes| map(bytes / A::SIZE, a, f))
    }

    /// Applies `f` to each lane of the second operand. The result has the same number of narrower lanes.
    pub(super) fn narrow<A: Lane, B: Lane>(
        &mut self,
        i: &Instruction,
        f: impl Fn(A) -> B,
    ) -> Result<(), String> {
        let source = match i.op_kind(1) {
            OpKind::Register => i.op_register(1).size(),
            _ => i.memory_size().size(),
        };
        self.unary(i, |a, _| map(source / A::SIZE, a, f))
    }

    /// Applies `f` to each pair of lanes of the second and the third operand.
    pub(super) fn zip<A: Lane, B: Lane>(
        &mut self,
        i: &Instruction,
        f: impl Fn(A, A) -> B,
    ) -> Result<(), String> {
        self.binary(i, |a, b, bytes| zip(bytes / A::SIZE, a, b, f))
    }

    /// Shifts each lane by one count, an immediate or the first 8 bytes of a vector: `f(lane, count)`.
    pub(super) fn shift<A: Lane>(&mut self, i: &Instruction, f: impl Fn(A, u32) -> A) -> Result<(), String> {
        let by = match i.op_kind(2) {
            OpKind::Immediate8 => u32::from(immediate(i)),
            _ => u32::try_from(get::<u64>(&self.operand(i, 2)?, 0)).unwrap_or(u32::MAX),
        };
        self.map(i, |a| f(a, by))
    }

    /// Computes `first = f(first, second, third)` in each lane.
    pub(super) fn fma<A: Lane>(&mut self, i: &Instruction, f: impl Fn(A, A, A) -> A) -> Result<(), String> {
        let old = self.operand(i, 0)?;
        self.binary(i, |v, rm, bytes| make(bytes / A::SIZE, |k| f(get(&old, k), get(v, k), get(rm, k))))
    }

    /// Compares lanes. A lane of the result has all bits set where `f` holds; in a mask register, one bit is set.
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

    /// In each 128-bit part, writes `f` of the lanes of the second operand, then `f` of the lanes of the third operand.
    pub(super) fn pack<A: Lane, B: Lane>(
        &mut self,
        i: &Instruction,
        f: impl Fn(A) -> B,
    ) -> Result<(), String> {
        let source_lanes = XMM_BYTES / A::SIZE;
        self.binary(i, |a, b, bytes| {
            make(bytes / B::SIZE, |k| {
                let (part, index) = (k / (2 * source_lanes), k % (2 * source_lanes));
                f(get(if index < source_lanes { a } else { b }, part * source_lanes + index % source_lanes))
            })
        })
    }

    /// In each 128-bit part, interleaves the lanes of the second and the third operand, from lane `first` on.
    pub(super) fn unpack<A: Lane>(&mut self, i: &Instruction, first: usize) -> Result<(), String> {
        let part_lanes = XMM_BYTES / A::SIZE;
        self.binary(i, |a, b, bytes| {
            make(bytes / A::SIZE, |k| {
                get::<A>(
                    if k % 2 == 0 { a } else { b },
                    k / part_lanes * part_lanes + first + k % part_lanes / 2,
                )
            })
        })
    }

    /// Copies the second operand, with the first `bytes` bytes of the third operand at offset `start`.
    pub(super) fn insert(&mut self, i: &Instruction, start: usize, bytes: usize) -> Result<(), String> {
        self.binary(i, |a, b, _| {
            let mut result = *a;
            result[start..start + bytes].copy_from_slice(&b[..bytes]);
            result
        })
    }

    /// Copies the first lane of the second operand to all lanes.
    pub(super) fn splat<A: Lane>(&mut self, i: &Instruction) -> Result<(), String> {
        self.unary(i, |a, bytes| make(bytes / A::SIZE, |_| get::<A>(a, 0)))
    }

    /// Loads the lanes whose sign bit is set in the second operand. The other lanes are not read and become zero.
    pub(super) fn load_where_signed<A: Lane + PartialOrd + Default>(
        &mut self,
        i: &Instruction,
    ) -> Result<(), String> {
        let signs = self.operand(i, 1)?;
        let (address, mut result) = (self.address(i), [0; BYTES]);
        for k in (0..i.op_register(0).size() / A::SIZE).filter(|k| is_negative::<A>(&signs, *k)) {
            let offset = k * A::SIZE;
            let bytes = self.space.read(address.wrapping_add(offset as u64), A::SIZE)?;
            result[offset..offset + A::SIZE].copy_from_slice(bytes);
        }
        self.set_vector(i, &result)
    }

    /// Stores the lanes of `size` bytes whose sign bit is set in the second operand. The other lanes are not written.
    pub(super) fn store_where_signed(&mut self, i: &Instruction, size: usize) -> Result<(), String> {
        let (signs, from, address) = (self.operand(i, 1)?, self.operand(i, 2)?, self.address(i));
        for offset in (0..i.op_register(2).size()).step_by(size) {
            if signs[offset + size - 1] >> 7 == 1 {
                self.space.write(address.wrapping_add(offset as u64), &from[offset..offset + size])?;
            }
        }
        Ok(())
    }

    /// Writes `ones` to the lanes whose bit is set in a mask register, and zero to the other lanes.
    pub(super) fn spread_mask<A: Lane + Default>(&mut self, i: &Instruction, ones: A) -> Result<(), String> {
        let mask = self.masks[i.op_register(1).number()];
        let result =
            make(destination_bytes(i) / A::SIZE, |k| if mask >> k & 1 == 1 { ones } else { A::default() });
        self.set_vector(i, &result)
    }
}

/// Returns the number of bytes of the first operand.
pub(super) fn destination_bytes(i: &Instruction) -> usize {
    match i.op_kind(0) {
        OpKind::Memory => i.memory_size().size(),
        _ => i.op_register(0).size(),
    }
}

/// Returns the first `bytes` bytes of a vector. The other bytes are zero.
pub(super) fn first_bytes(value: &Vector, bytes: usize) -> Vector {
    let mut result = *value;
    result[bytes..].fill(0);
    result
}

pub(super) fn immediate(i: &Instruction) -> u8 {
    i.immediate8()
}

/// Returns whether lane `k` is negative.
pub(super) fn is_negative<A: Lane + PartialOrd + Default>(vector: &Vector, k: usize) -> bool {
    get::<A>(vector, k) < A::default()
}

/// Returns the number whose bits `k < count` are `f(k)`.
pub(super) fn bits(count: usize, f: impl Fn(usize) -> bool) -> u64 {
    (0..count).fold(0, |bits, k| bits | u64::from(f(k)) << k)
}
