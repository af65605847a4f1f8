//! Loads and stores: elements of any dtype between memory and lanes.

use cranelift_codegen::ir::{InstBuilder, Value, types};
use shapeflow_shape_fns::DType;
use smallvec::smallvec;

use super::emitted_value::{EmittedValue, Scalars, Vecs};
use super::emitter::{ElementGroup, Emitter, flags};
use crate::codegen::abi::{SLOT_INNER, slot_words};
use crate::codegen::repr::{Repr, size_of};
use crate::lower::kernel_body::{AccessPattern, InstId, LaneLayout};

/// Returns the kind of a *raw* lane: the lane of an element just after its load, before [`Emitter::finish_load`]. For
/// `f16` and `bf16` it holds the bits, for a bool 0 or 1, otherwise the value.
pub(super) fn raw_repr(dtype: DType) -> Repr {
    match dtype {
        DType::F16 | DType::BF16 => Repr::I32,
        _ => Repr::of(dtype),
    }
}

impl Emitter<'_, '_> {
    /// Returns the start of a slot: the address of element 0 of the inner axis, in the current row and the current
    /// iteration of each loop. The start of an iota slot is its value at that element.
    pub fn start(&self, group: &ElementGroup<'_>, slot: u32) -> Value {
        group.starts[slot as usize].expect("every slot of a body has a start")
    }

    /// Emits the address of the group's first element in a load or store slot.
    fn address(&mut self, group: &ElementGroup<'_>, slot: u32) -> Value {
        let start = self.start(group, slot);
        let slot = &self.code.slots[slot as usize];
        match group.index {
            Some(index) => match slot.pattern {
                AccessPattern::Splat => start,
                AccessPattern::Contiguous => self.element(start, index, size_of(slot.dtype)),
                AccessPattern::Strided(step) => {
                    let offset =
                        self.b.ins().imul_imm_s(index, i64::from(step) * i64::from(size_of(slot.dtype)));
                    self.b.ins().iadd(start, offset)
                }
            },
            None => start,
        }
    }

    /// Emits `base + index * bytes`, in a form that Cranelift folds into addressing modes.
    pub fn element(&mut self, base: Value, index: Value, bytes: u32) -> Value {
        let offset = match bytes.trailing_zeros() {
            0 => index,
            shift => self.b.ins().ishl_imm_u(index, i64::from(shift)),
        };
        self.b.ins().iadd(base, offset)
    }

    /// Emits the run-time stride of a slot along the inner axis.
    pub fn inner_stride(&mut self, slot: u32) -> Value {
        self.word(self.args.slots, slot as usize * slot_words(self.code.loops) + SLOT_INNER)
    }

    /// Loads the group's elements of a load or scratch slot. `as_scalars` means that every user takes scalars, so each
    /// element is loaded by itself.
    pub fn load(&mut self, group: &ElementGroup<'_>, slot: u32, as_scalars: bool) -> EmittedValue {
        let address = self.address(group, slot);
        let dtype = self.code.slots[slot as usize].dtype;
        let pattern = self.code.slots[slot as usize].pattern;
        if group.uniform || as_scalars || matches!(pattern, AccessPattern::Strided(_)) {
            let size = size_of(dtype) * pattern.step() as u32;
            let lanes = (0..group.lanes() as u32).map(|j| self.load_lane(dtype, address, j * size)).collect();
            return self.raw_value(group, dtype, lanes);
        }
        EmittedValue::of_vecs(Repr::of(dtype), false, self.load_vecs(dtype, address, group.elems))
    }

    /// Loads one element as a raw lane.
    pub fn load_lane(&mut self, dtype: DType, address: Value, offset: u32) -> Value {
        let offset = offset as i32;
        match dtype {
            DType::F32 => self.b.ins().load(types::F32, flags(), address, offset),
            DType::F64 => self.b.ins().load(types::F64, flags(), address, offset),
            DType::I64 | DType::U64 => self.b.ins().load(types::I64, flags(), address, offset),
            _ => match (size_of(dtype), dtype.is_signed()) {
                (1, true) => self.b.ins().sload8(types::I32, flags(), address, offset),
                (1, false) => self.b.ins().uload8(types::I32, flags(), address, offset),
                (2, true) if dtype.is_integer() => self.b.ins().sload16(types::I32, flags(), address, offset),
                (2, _) => self.b.ins().uload16(types::I32, flags(), address, offset),
                _ => self.b.ins().load(types::I32, flags(), address, offset),
            },
        }
    }

    /// Emits the value of raw scalars, one per element.
    pub fn raw_value(&mut self, group: &ElementGroup<'_>, dtype: DType, lanes: Scalars) -> EmittedValue {
        let repr = Repr::of(dtype);
        match dtype {
            DType::F16 | DType::BF16 => {
                let raw = self.gather_lanes(raw_repr(dtype), group.uniform, &lanes);
                EmittedValue::of_vecs(repr, group.uniform, self.half_from_bits(dtype, &raw))
            }
            DType::Bool => {
                let lanes = lanes.iter().map(|x| self.b.ins().ineg(*x)).collect();
                EmittedValue::of_lanes(repr, group.uniform, lanes)
            }
            _ => EmittedValue::of_lanes(repr, group.uniform, lanes),
        }
    }

    /// Loads `elems` consecutive elements.
    pub fn load_vecs(&mut self, dtype: DType, address: Value, elems: u32) -> Vecs {
        let repr = Repr::of(dtype);
        let size = size_of(dtype);
        if elems == 1 {
            let one = self.load_lane(dtype, address, 0);
            let vector = self.b.ins().scalar_to_vector(raw_repr(dtype).vector(), one);
            return self.finish_load(dtype, smallvec![vector]);
        }
        if size == repr.bytes() {
            return (0..repr.vectors(elems))
                .map(|j| self.b.ins().load(repr.vector(), flags(), address, 16 * j as i32))
                .collect();
        }
        let signed = dtype.is_signed() && dtype.is_integer();
        let mut vecs = Vecs::new();
        match (size, elems) {
            (2, _) => {
                for j in 0..elems / 4 {
                    let offset = (8 * j) as i32;
                    vecs.push(if signed {
                        self.b.ins().sload16x4(flags(), address, offset)
                    } else {
                        self.b.ins().uload16x4(flags(), address, offset)
                    });
                }
            }
            (_, 4) => {
                let word = self.b.ins().load(types::I32, flags(), address, 0);
                let bytes = self.b.ins().scalar_to_vector(types::I32X4, word);
                let bytes = self.cast_bits(types::I8X16, bytes);
                let halves =
                    if signed { self.b.ins().swiden_low(bytes) } else { self.b.ins().uwiden_low(bytes) };
                vecs.push(if signed {
                    self.b.ins().swiden_low(halves)
                } else {
                    self.b.ins().uwiden_low(halves)
                });
            }
            _ => {
                for j in 0..elems / 8 {
                    let offset = (8 * j) as i32;
                    if signed {
                        let halves = self.b.ins().sload8x8(flags(), address, offset);
                        vecs.extend([self.b.ins().swiden_low(halves), self.b.ins().swiden_high(halves)]);
                    } else {
                        let halves = self.b.ins().uload8x8(flags(), address, offset);
                        vecs.extend([self.b.ins().uwiden_low(halves), self.b.ins().uwiden_high(halves)]);
                    }
                }
            }
        }
        self.finish_load(dtype, vecs)
    }

    /// Converts vectors of raw lanes to lanes of `dtype`.
    pub fn finish_load(&mut self, dtype: DType, vecs: Vecs) -> Vecs {
        match dtype {
            DType::Bool => self.map(&vecs, |e, x| e.b.ins().ineg(x)),
            DType::F16 | DType::BF16 => self.half_from_bits(dtype, &vecs),
            _ => vecs,
        }
    }

    /// Stores the group's elements of `v`. In a splat slot all elements have one address, so only the last is stored.
    pub fn store(&mut self, group: &mut ElementGroup<'_>, slot: u32, v: InstId) {
        let address = self.address(group, slot);
        let dtype = self.code.slots[slot as usize].dtype;
        let vecs = self.vecs(group, v);
        if self.code.slots[slot as usize].pattern == AccessPattern::Splat && !group.has_single_lane() {
            let lanes_per_vector = (16 / Repr::of(dtype).bytes()) as u8;
            let last = self.b.ins().extractlane(vecs[vecs.len() - 1], lanes_per_vector - 1);
            let vector = self.b.ins().scalar_to_vector(Repr::of(dtype).vector(), last);
            self.store_vecs(dtype, address, &smallvec![vector], 1);
        } else {
            self.store_vecs(dtype, address, &vecs, if group.uniform { 1 } else { group.elems });
        }
    }

    /// Stores pairs: element `j` of the two values goes to elements `2 * j` and `2 * j + 1` from the group's address
    /// on. Elements have 4 or 8 bytes.
    pub fn store_pair(&mut self, group: &mut ElementGroup<'_>, slot: u32, values: [InstId; 2]) {
        let address = self.address(group, slot);
        let dtype = self.code.slots[slot as usize].dtype;
        let size = size_of(dtype);
        let lanes_per_vector = 16 / size;
        for (number, v) in (0..).zip(values) {
            let vecs = self.vecs(group, v);
            for j in 0..if group.uniform { 1 } else { group.elems } {
                let vector = vecs[(j / lanes_per_vector) as usize];
                let lane = self.b.ins().extractlane(vector, (j % lanes_per_vector) as u8);
                self.b.ins().store(flags(), lane, address, ((2 * j + number) * size) as i32);
            }
        }
    }

    /// Stores `elems` elements to consecutive memory.
    fn store_vecs(&mut self, dtype: DType, address: Value, vecs: &Vecs, elems: u32) {
        let vecs = match dtype {
            DType::F16 | DType::BF16 => self.half_to_bits(dtype, vecs),
            _ => vecs.clone(),
        };
        match size_of(dtype) {
            1 => self.store_bytes(dtype, address, &vecs, elems),
            2 => self.store_halves(dtype, address, &vecs, elems),
            _ => {
                for (j, x) in vecs.iter().enumerate() {
                    self.store_low(address, *x, 16 * j as i32, 16.min(elems * size_of(dtype)));
                }
            }
        }
    }

    /// Stores the first `bytes` (1, 2, 4, 8 or 16) bytes of a vector to `address + offset`.
    fn store_low(&mut self, address: Value, x: Value, offset: i32, bytes: u32) {
        let lane = match bytes {
            16 => None,
            8 => Some(types::F64X2),
            4 => Some(types::F32X4),
            _ => Some(types::I32X4),
        };
        let Some(lane) = lane else {
            self.b.ins().store(flags(), x, address, offset);
            return;
        };
        let x = self.cast_bits(lane, x);
        let x = self.b.ins().extractlane(x, 0);
        match bytes {
            1 => self.b.ins().istore8(flags(), x, address, offset),
            2 => self.b.ins().istore16(flags(), x, address, offset),
            _ => self.b.ins().store(flags(), x, address, offset),
        };
    }

    /// Stores 2-byte elements, given in 4-byte lanes.
    fn store_halves(&mut self, dtype: DType, address: Value, vecs: &Vecs, elems: u32) {
        let signed = dtype == DType::I16;
        for (j, pair) in vecs.chunks(2).enumerate() {
            let low = pair[0];
            let high = pair[pair.len() - 1];
            let packed = match (elems, signed) {
                (1, _) => low,
                (_, true) => self.b.ins().snarrow(low, high),
                (_, false) => self.b.ins().unarrow(low, high),
            };
            self.store_low(address, packed, 16 * j as i32, (elems * 2).min(16));
        }
    }

    /// Stores 1-byte elements, given in 4-byte lanes. A bool mask becomes bytes 0 and 1.
    fn store_bytes(&mut self, dtype: DType, address: Value, vecs: &Vecs, elems: u32) {
        let packed = if elems == 1 {
            vecs[0]
        } else {
            let vector = |j: usize| vecs[j.min(vecs.len() - 1)];
            let low = self.b.ins().snarrow(vector(0), vector(1));
            let high = if vecs.len() > 2 { self.b.ins().snarrow(vector(2), vector(3)) } else { low };
            let bytes = match dtype.is_signed() || dtype == DType::Bool {
                true => self.b.ins().snarrow(low, high),
                false => self.b.ins().unarrow(low, high),
            };
            self.cast_bits(types::I32X4, bytes)
        };
        let packed = if dtype == DType::Bool {
            let one = self.splat_i32(0x0101_0101);
            self.b.ins().band(packed, one)
        } else {
            packed
        };
        self.store_low(address, packed, 0, elems);
    }

    /// Emits the address of the accumulators of column reduction `k` at the group's first element.
    pub fn tile_address(&mut self, group: &ElementGroup<'_>, k: u32, repr: Repr) -> Value {
        debug_assert_eq!(self.code.layout, LaneLayout::Column);
        let base = self
            .b
            .ins()
            .iadd_imm_s(self.args.tile, i64::from(k) * 8 * crate::lower::kernel_body::TILE as i64);
        match group.index {
            Some(index) => self.element(base, index, repr.bytes()),
            None => base,
        }
    }

    /// Loads `elems` accumulators from consecutive memory.
    pub fn load_accumulators(&mut self, repr: Repr, address: Value, elems: u32) -> Vecs {
        if elems == 1 {
            let one = self.b.ins().load(repr.scalar(), flags(), address, 0);
            return smallvec![self.b.ins().scalar_to_vector(repr.vector(), one)];
        }
        (0..repr.vectors(elems))
            .map(|j| self.b.ins().load(repr.vector(), flags(), address, 16 * j as i32))
            .collect()
    }

    /// Stores `elems` accumulators to consecutive memory.
    pub fn store_accumulators(&mut self, repr: Repr, address: Value, elems: u32, vecs: &Vecs) {
        for (j, x) in vecs.iter().enumerate() {
            self.store_low(address, *x, 16 * j as i32, 16.min(elems * repr.bytes()));
        }
    }
}
