//! Slots with a run-time stride along the inner axis: iotas (values), and gathers (loads at checked indices).

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value, types};
use shapeflow_shape_fns::DType;
use smallvec::smallvec;

use super::emitted_value::{EmittedValue, Scalars, Vecs, lane};
use super::emitter::{ElementGroup, Emitter};
use super::loads_stores::raw_repr;
use crate::codegen::repr::{Repr, size_of};
use crate::lower::kernel_body::{AccessPattern, InstId};

impl Emitter<'_, '_> {
    /// Emits the value of an iota slot. `as_scalars` means that every user takes scalars.
    pub fn iota(&mut self, group: &ElementGroup<'_>, slot: u32, as_scalars: bool) -> EmittedValue {
        let start = self.start(group, slot);
        let is_splat = self.code.slots[slot as usize].pattern == AccessPattern::Splat;
        let Some(index) = group.index.filter(|_| !is_splat) else {
            return EmittedValue::of_lanes(Repr::I64, true, smallvec![start]);
        };
        let stride = self.inner_stride(slot);
        let moved = self.b.ins().imul(index, stride);
        let first = self.b.ins().iadd(start, moved);
        if as_scalars || group.elems == 1 {
            let mut lanes: Scalars = smallvec![first];
            for j in 1..group.elems as usize {
                let next = self.b.ins().iadd(lanes[j - 1], stride);
                lanes.push(next);
            }
            return EmittedValue::of_lanes(Repr::I64, false, lanes);
        }
        let second = self.b.ins().iadd(first, stride);
        let low = self.b.ins().scalar_to_vector(types::I64X2, first);
        let mut vecs: Vecs = smallvec![self.b.ins().insertlane(low, second, 1)];
        let twice = self.b.ins().iadd(stride, stride);
        let twice = self.b.ins().splat(types::I64X2, twice);
        for j in 1..Repr::I64.vectors(group.elems) {
            let next = self.b.ins().iadd(vecs[j - 1], twice);
            vecs.push(next);
        }
        EmittedValue::of_vecs(Repr::I64, false, vecs)
    }

    /// Emits the elements of a gather slot.
    pub fn gather(
        &mut self,
        group: &mut ElementGroup<'_>,
        slot: u32,
        offsets: &[(InstId, u32)],
    ) -> EmittedValue {
        let dtype = self.code.slots[slot as usize].dtype;
        let has_inner_stride = self.code.slots[slot as usize].pattern == AccessPattern::Contiguous;
        let mut base = self.start(group, slot);
        // Offsets that differ between elements, each with its stride. An offset that all elements share is added to
        // `base` right away.
        let mut varying_offsets = Vec::new();
        for (v, stride) in offsets {
            let stride = self.scalar(*stride);
            let lanes = self.lanes(group, *v);
            if lanes.len() == 1 {
                let offset = self.b.ins().imul(lanes[0], stride);
                base = self.b.ins().iadd(base, offset);
            } else {
                varying_offsets.push((lanes, stride));
            }
        }
        let inner = match group.index {
            Some(index) if has_inner_stride => {
                let stride = self.inner_stride(slot);
                if varying_offsets.is_empty() && group.elems > 1 {
                    return self.load_strided(group, dtype, base, index, stride);
                }
                let offset = self.b.ins().imul(index, stride);
                base = self.b.ins().iadd(base, offset);
                Some(stride)
            }
            _ => None,
        };
        let mut lanes = Scalars::new();
        for j in 0..group.lanes() {
            let mut address = base;
            for (offsets, stride) in &varying_offsets {
                let offset = self.b.ins().imul(lane(offsets, j), *stride);
                address = self.b.ins().iadd(address, offset);
            }
            lanes.push(self.load_lane(dtype, address, 0));
            if let Some(stride) = inner {
                base = self.b.ins().iadd(base, stride);
            }
        }
        self.raw_value(group, dtype, lanes)
    }

    /// Loads the group's elements of an array at `base` whose elements are `stride` bytes apart: as whole vectors if
    /// `stride` is the element size, otherwise one by one. `index` is the group's first element.
    fn load_strided(
        &mut self,
        group: &ElementGroup<'_>,
        dtype: DType,
        base: Value,
        index: Value,
        stride: Value,
    ) -> EmittedValue {
        let repr = Repr::of(dtype);
        let [adjacent, apart, done] = [(); 3].map(|()| self.b.create_block());
        let size = self.b.ins().iconst(types::I64, i64::from(size_of(dtype)));
        let dense = self.b.ins().icmp(IntCC::Equal, stride, size);
        self.b.ins().brif(dense, adjacent, &[], apart, &[]);
        let params: Vecs =
            (0..repr.vectors(group.elems)).map(|_| self.b.append_block_param(done, repr.vector())).collect();

        self.b.switch_to_block(adjacent);
        let address = self.element(base, index, size_of(dtype));
        let vecs = self.load_vecs(dtype, address, group.elems);
        let arguments: Vec<_> = vecs.iter().map(|v| (*v).into()).collect();
        self.b.ins().jump(done, &arguments);

        self.b.switch_to_block(apart);
        let offset = self.b.ins().imul(index, stride);
        let mut address = self.b.ins().iadd(base, offset);
        let mut lanes = Scalars::new();
        for _ in 0..group.elems {
            lanes.push(self.load_lane(dtype, address, 0));
            address = self.b.ins().iadd(address, stride);
        }
        let vecs = self.gather_lanes(raw_repr(dtype), false, &lanes);
        let vecs = self.finish_load(dtype, vecs);
        let arguments: Vec<_> = vecs.iter().map(|v| (*v).into()).collect();
        self.b.ins().jump(done, &arguments);

        self.b.switch_to_block(done);
        EmittedValue::of_vecs(repr, false, params)
    }
}
