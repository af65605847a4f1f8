//! Loads and stores: memory of any dtype from and to lanes.

use shapeflow_shape_fns::DType;

use super::Isa;
use super::block::{Kind, Place, Tail, V};
use super::encode::Len;
use super::op::{self, Vop};
use super::select::{Mode, Refusal, Selector};
use super::values::Vecs;
use crate::codegen::clif::{Repr, size_of};
use crate::lower::code::{Class, Vid};

/// The low bytes of the four words of 16 bytes, in their lowest places.
const LOW_BYTES: u128 = 0x8080_8080_8080_8080_8080_8080_0c08_0400;
/// The low halves of the four words of 16 bytes, in their lowest places.
const LOW_HALVES: u128 = 0x8080_8080_8080_8080_0d0c_0908_0504_0100;

/// Mask register of the elements that are left, for lanes of at most 4 bytes; those of 8-byte lanes follow.
pub(super) const TAIL_MASK: u8 = 2;

impl Selector<'_> {
    /// How an element becomes a lane as it is loaded.
    pub fn loading(dtype: DType) -> Vop {
        match dtype {
            DType::F16 => op::PH_TO_PS,
            DType::BF16 | DType::U16 => op::ZX_WD,
            DType::I16 => op::SX_WD,
            DType::Bool | DType::U8 => op::ZX_BD,
            DType::I8 => op::SX_BD,
            _ => op::MOV_LOAD,
        }
    }

    /// Lanes as they were loaded, made lanes of `dtype`.
    pub fn loaded(&mut self, dtype: DType, x: V) -> V {
        match dtype {
            DType::BF16 => self.shift(op::SLL_D, x, 16),
            DType::Bool => {
                let zero = self.splat(0, 8);
                self.op2(op::SUB_D, zero, x)
            }
            _ => x,
        }
    }

    pub fn load_from(&mut self, op: Vop, place: Place) -> V {
        let len = self.len();
        self.block.push(Kind::Load { op, len, place, tail: Tail::Whole }, &[])
    }

    /// The elements of a load or scratch slot.
    pub fn load(&mut self, slot: u32) -> Vecs {
        let kind = self.code.slots[slot as usize];
        let dtype = kind.dtype;
        let slot = self.copy * self.code.slots.len() as u32 + slot;
        let size = size_of(dtype);
        let op = Selector::loading(dtype);
        let Mode::Step { ahead, masked, .. } = self.mode else {
            let place = Place::Slot(slot, 0);
            let one = match size {
                1 => self.load_from(op::SPLAT_B, place),
                2 => self.load_from(op::SPLAT_W, place),
                4 => self.load_from(op::SPLAT_PS, place),
                _ => self.load_from(op::SPLAT_PD, place),
            };
            let one = if size < 4 { self.op1(op, one) } else { one };
            return Vecs::repeated(self.loaded(dtype, one), 1);
        };
        let bytes = Repr::of(dtype).bytes();
        let per = self.len().bytes() / bytes;
        let step = kind.class.step() as u32;
        let staged = masked && (size < 4 && self.isa != Isa::Avx512 || step != 1);
        if staged {
            self.block.effect(Kind::Stage { slot, out: false }, &[]);
        }
        (0..self.vectors(bytes))
            .map(|j| {
                let offset = j as u32 * per * size;
                let past = ((ahead * size + offset) * step) as i32;
                let place = Place::Slot(slot, past);
                let x = if staged {
                    self.load_from(op, Place::Frame(self.layout.staging + offset))
                } else if step > 1 {
                    self.picked(step, size, slot, past)
                } else if !masked {
                    self.load_from(op, place)
                } else if self.isa == Isa::Avx512 {
                    let (len, tail) = (self.len(), tail_mask(j, bytes));
                    // A mask for lanes of 8 bytes needs an instruction that has such lanes.
                    let op = if bytes == 8 { op::MOV_LOAD_Q } else { op };
                    self.block.push(Kind::Load { op, len, place, tail }, &[])
                } else {
                    let live = self.live(j, bytes);
                    self.block.push(Kind::LoadMasked { wide: bytes == 8, place }, &[live])
                };
                self.loaded(dtype, x)
            })
            .collect()
    }

    pub fn store(&mut self, slot: u32, v: Vid) -> Result<(), Refusal> {
        let kind = self.code.slots[slot as usize];
        let dtype = kind.dtype;
        let size = size_of(dtype);
        let x = self.vecs(v)?;
        let Mode::Step { ahead, masked, .. } = self.mode else {
            let bits = match dtype {
                DType::F16 => self.op_imm(op::PS_TO_PH, &[x[0]], Some(0)),
                _ => self.stored(dtype, x[0]),
            };
            self.block.effect(Kind::StoreOne { bytes: size as u8, slot }, &[bits]);
            return Ok(());
        };
        let bytes = Repr::of(dtype).bytes();
        let per = self.len().bytes() / bytes;
        if kind.class == Class::Splat {
            // Of elements that go to one place the last one stays.
            let last = &x[x.len() - (bytes / 4) as usize..];
            for (j, x) in last.iter().enumerate() {
                let place = Place::Frame(self.layout.staging + j as u32 * per * size);
                self.store_vector(dtype, *x, place, Tail::Whole);
            }
            self.block.effect(Kind::StoreLast { slot, masked }, &[]);
            return Ok(());
        }
        let staged = masked && self.isa != Isa::Avx512;
        let together = (self.len().bytes() / (size * per)) as usize;
        let packs = self.isa == Isa::Avx2 && size < 4 && dtype != DType::F16;
        if packs && !masked && x.len().is_multiple_of(together) {
            let len = self.len();
            for (j, x) in x.chunks(together).enumerate() {
                let packed = self.pack(dtype, x);
                let place = Place::Slot(slot, (ahead * size + j as u32 * len.bytes()) as i32);
                let store = Kind::Store { op: op::MOV_STORE, len, imm: None, place, tail: Tail::Whole };
                self.block.effect(store, &[packed]);
            }
            return Ok(());
        }
        for (j, x) in x.iter().copied().enumerate() {
            let offset = j as u32 * per * size;
            let (place, tail) = if staged {
                (Place::Frame(self.layout.staging + offset), Tail::Whole)
            } else {
                let tail = if masked { tail_mask(j, bytes) } else { Tail::Whole };
                (Place::Slot(slot, (ahead * size + offset) as i32), tail)
            };
            self.store_vector(dtype, x, place, tail);
        }
        if staged {
            self.block.effect(Kind::Stage { slot, out: true }, &[]);
        }
        Ok(())
    }

    fn store_vector(&mut self, dtype: DType, x: V, place: Place, tail: Tail) {
        let bits = if dtype == DType::F16 { x } else { self.stored(dtype, x) };
        let wide = self.isa == Isa::Avx512;
        let len = self.len();
        let (op, len, imm, value) = match (size_of(dtype), wide) {
            (2, _) if dtype == DType::F16 => (op::PS_TO_PH, len, Some(0), bits),
            (1, true) => (op::DOWN_DB, len, None, bits),
            (2, true) => (op::DOWN_DW, len, None, bits),
            (1, false) => {
                let order = self.pattern(LOW_BYTES);
                let packed = self.op2(op::SHUFFLE_B, bits, order);
                let high = self.high_half(packed);
                (op::STORE_Q, Len::X, None, self.op2(op::UNPACK_LOW_D, packed, high))
            }
            (2, false) => (op::MOV_STORE, Len::X, None, self.words(bits)),
            (8, _) if tail != Tail::Whole => (op::MOV_STORE_Q, len, None, bits),
            _ => (op::MOV_STORE, len, None, bits),
        };
        self.block.effect(Kind::Store { op, len, imm, place, tail }, &[value]);
    }

    /// AVX2: what memory holds of two vectors of halves, or of four of bytes, as one.
    fn pack(&mut self, dtype: DType, x: &[V]) -> V {
        // Every lane fits, so that nothing is saturated.
        let [words, bytes] = match dtype {
            DType::I8 | DType::I16 => [op::PACK_SDW, op::PACK_SWB],
            _ => [op::PACK_UDW, op::PACK_UWB],
        };
        let bits: Vecs = x.iter().map(|x| self.stored(dtype, *x)).collect();
        let words: Vecs = bits.chunks(2).map(|pair| self.op2(words, pair[0], pair[1])).collect();
        let [low, high] = words[..] else {
            return self.op_imm(op::PERMUTE_Q, &[words[0]], Some(0xd8));
        };
        let mixed = self.op2(bytes, low, high);
        let pairs = self.op_imm(op::PERMUTE_Q, &[mixed], Some(0xd8));
        self.op_imm(op::SHUFFLE_D, &[pairs], Some(0xd8))
    }

    fn pattern(&mut self, pattern: u128) -> V {
        let at = self.pool.pattern(pattern);
        self.block.at(super::block::Home::Pool(at))
    }

    /// The low halves of 4-byte lanes, side by side in the lower half of a vector.
    pub fn words(&mut self, x: V) -> V {
        if self.isa == Isa::Avx512 {
            return self.op1(op::DOWN_DW, x);
        }
        let order = self.pattern(LOW_HALVES);
        let packed = self.op2(op::SHUFFLE_B, x, order);
        self.op_imm(op::PERMUTE_Q, &[packed], Some(8))
    }
}

fn tail_mask(j: usize, bytes: u32) -> Tail {
    Tail::Mask(if bytes == 8 { TAIL_MASK + 1 + j as u8 } else { TAIL_MASK })
}
