//! `Emitter`: a function under construction; conversions between the forms of its values.

use cranelift_codegen::ir::immediates::Offset32;
use cranelift_codegen::ir::{
    AbiParam, Block, ConstantData, Endianness, FuncRef, InstBuilder, MemFlagsData, Signature, StackSlot,
    StackSlotData, StackSlotKind, Type, UserExternalName, Value, types,
};
use cranelift_frontend::{FunctionBuilder, Variable};
use smallvec::smallvec;

use super::body_analysis::{BodyAnalysis, WantedForm, wanted_operands};
use super::emitted_value::{EmittedValue, Scalars, Vecs};
use super::target::Target;
use crate::codegen::called_functions::CalledFunction;
use crate::codegen::repr::Repr;
use crate::expr::AngleFunction;
use crate::lower::kernel_body::{Inst, InstId, KernelBody};

/// Flags of an access that cannot trap, at any alignment.
pub(super) fn flags() -> MemFlagsData {
    MemFlagsData::new().with_notrap()
}

/// A function under construction.
pub(super) struct Emitter<'a, 'f> {
    pub b: FunctionBuilder<'f>,
    pub code: &'a KernelBody,
    pub target: Target,
    pub args: ArgumentValues,
    /// A variable that is nonzero after a check failed. Only a kernel with checks has one.
    pub failed: Option<Variable>,
    /// The block that ends the function early.
    pub stop: Block,
    /// For each row reduction: a vector with its result in every lane, once the reduction is finished.
    pub reduced: Vec<Option<Value>>,
    /// The memory for accumulators and totals of row reductions, if there are any.
    pub accumulators: Option<StackSlot>,
    /// The imported functions for the remainder of `f32` and of `f64`, once they are used.
    pub remainder: [Option<FuncRef>; 2],
    /// The memory for the operands of an [`AngleFunction`] that the code calls, once it is used.
    pub angles: Option<StackSlot>,
}

/// The fields of [`KernelArgs`](crate::codegen::KernelArgs) as loaded at the start of the function.
#[derive(Clone, Copy)]
pub(super) struct ArgumentValues {
    /// The address of the arguments.
    pub address: Value,
    /// The address of the slots' words.
    pub slots: Value,
    /// The address of the run-time scalars.
    pub scalars: Value,
    /// The address of the tile, which holds the accumulators of column reductions.
    pub tile: Value,
    /// The number of elements of the inner axis.
    pub n: Value,
    /// The address of the extents of the loops.
    pub extents: Value,
}

/// One emission of a body: for a group of `elems` neighboring elements of the inner axis, or (`uniform`) for one
/// element that stands for all.
pub(super) struct ElementGroup<'s> {
    pub body: &'s [Inst],
    pub analysis: &'s BodyAnalysis,
    /// For each instruction of the body: its value, if the instruction has been emitted.
    pub vals: Vec<Option<EmittedValue>>,
    /// For each slot of the body, an access to a buffer or an iota: the address, or the value of the iota, at inner
    /// element 0.
    pub starts: &'s [Option<Value>],
    pub elems: u32,
    /// Whether one element stands for all elements of the inner axis.
    pub uniform: bool,
    /// The number of the group's first element. `None` if the group is uniform: it is at element 0.
    pub index: Option<Value>,
}

impl<'s> ElementGroup<'s> {
    /// Makes the uniform group: one element that stands for all. It accesses the start of every slot.
    pub fn single(
        body: &'s [Inst],
        analysis: &'s BodyAnalysis,
        starts: &'s [Option<Value>],
    ) -> ElementGroup<'s> {
        let vals = vec![None; body.len()];
        ElementGroup { body, analysis, vals, starts, elems: 1, uniform: true, index: None }
    }

    /// Returns the number of scalars that an operation without a vector form computes.
    pub fn lanes(&self) -> usize {
        if self.uniform { 1 } else { self.elems as usize }
    }

    /// Returns the number of vectors of a value in this group.
    pub fn vectors(&self, repr: Repr) -> usize {
        if self.uniform { 1 } else { repr.vectors(self.elems) }
    }

    /// Returns whether only the first lane of each value is used: the group has one element, or all its elements are
    /// equal.
    pub fn has_single_lane(&self) -> bool {
        self.uniform || self.elems == 1
    }

    pub fn inst(&self, v: InstId) -> &'s Inst {
        &self.body[v.0 as usize]
    }

    /// Returns the value of an emitted instruction.
    pub fn val(&self, v: InstId) -> &EmittedValue {
        self.vals[v.0 as usize].as_ref().expect("operands are emitted before their users")
    }

    fn val_mut(&mut self, v: InstId) -> &mut EmittedValue {
        self.vals[v.0 as usize].as_mut().expect("operands are emitted before their users")
    }
}

impl<'a, 'f> Emitter<'a, 'f> {
    /// Emits a constant with `bits` in every lane.
    pub fn splat_bits(&mut self, repr: Repr, bits: u64) -> Value {
        let bytes: [u8; 16] = match repr.bytes() {
            8 => (u128::from(bits) << 64 | u128::from(bits)).to_le_bytes(),
            _ => (u128::from(bits as u32) * 0x0000_0001_0000_0001_0000_0001_0000_0001).to_le_bytes(),
        };
        let constant = self.b.func.dfg.constants.insert(ConstantData::from(&bytes[..]));
        self.b.ins().vconst(repr.vector(), constant)
    }

    /// Emits a constant with `x` in every 4-byte lane.
    pub fn splat_i32(&mut self, x: u32) -> Value {
        self.splat_bits(Repr::I32, u64::from(x))
    }

    /// Emits `x` as another vector type with the same bits.
    pub fn cast_bits(&mut self, to: Type, x: Value) -> Value {
        if self.b.func.dfg.value_type(x) == to {
            return x;
        }
        self.b.ins().bitcast(to, MemFlagsData::new().with_endianness(Endianness::Little), x)
    }

    /// Emits a vector of the type of `a`, whose byte `i` is byte `order[i]` of `a` and `b`: 0 to 15 are the bytes of
    /// `a`, 16 to 31 are the bytes of `b`.
    pub fn shuffle(&mut self, a: Value, b: Value, order: [u8; 16]) -> Value {
        let to = self.b.func.dfg.value_type(a);
        let (a, b) = (self.cast_bits(types::I8X16, a), self.cast_bits(types::I8X16, b));
        let order = self.b.func.dfg.immediates.push(ConstantData::from(&order[..]));
        let shuffled = self.b.ins().shuffle(a, b, order);
        self.cast_bits(to, shuffled)
    }

    /// Emits the low half of `a`, then the low half of `b`.
    pub fn low_halves(&mut self, a: Value, b: Value) -> Value {
        self.shuffle(a, b, [0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23])
    }

    /// Emits the high half of `a`, twice.
    pub fn high_half(&mut self, a: Value) -> Value {
        self.shuffle(a, a, [8, 9, 10, 11, 12, 13, 14, 15, 8, 9, 10, 11, 12, 13, 14, 15])
    }

    /// Emits the low 4 bytes of each 8-byte lane of `a`, then of `b`.
    pub fn even_words(&mut self, a: Value, b: Value) -> Value {
        let even = self.shuffle(a, b, [0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27]);
        self.cast_bits(types::I32X4, even)
    }

    /// Applies `f` to each vector.
    pub fn map(&mut self, x: &Vecs, mut f: impl FnMut(&mut Self, Value) -> Value) -> Vecs {
        x.iter().map(|x| f(self, *x)).collect()
    }

    /// Applies `f` to each pair of vectors.
    pub fn zip(&mut self, x: &Vecs, y: &Vecs, mut f: impl FnMut(&mut Self, Value, Value) -> Value) -> Vecs {
        x.iter().zip(y).map(|(x, y)| f(self, *x, *y)).collect()
    }

    /// Emits `mask ? x : y`, lane by lane. The lanes of the mask have the size of the lanes of `x`.
    pub fn choose(&mut self, mask: Value, x: Value, y: Value) -> Value {
        let (value_type, mask_type) = (self.b.func.dfg.value_type(x), self.b.func.dfg.value_type(mask));
        let (x, y) = (self.cast_bits(mask_type, x), self.cast_bits(mask_type, y));
        let chosen = if cfg!(target_arch = "x86_64") {
            self.b.ins().blendv(mask, x, y)
        } else {
            self.b.ins().bitselect(mask, x, y)
        };
        self.cast_bits(value_type, chosen)
    }

    /// Returns the vectors of `v`: one for each vector of the group. The lanes of a mask have 4 bytes.
    pub fn vecs(&mut self, group: &mut ElementGroup<'_>, v: InstId) -> Vecs {
        let val = group.val(v);
        let (repr, uniform) = (val.repr, val.uniform);
        let own = match (&val.vecs, val.constant) {
            (Some(vecs), _) => vecs.clone(),
            (None, Some(bits)) => smallvec![self.splat_bits(repr, bits)],
            (None, None) => {
                let made = if let Some(wide) = val.wide.clone() {
                    self.narrow_mask(&wide)
                } else {
                    let lanes = val.lanes.clone().expect("an emitted value has a form");
                    self.gather_lanes(repr, uniform, &lanes)
                };
                group.val_mut(v).vecs = Some(made.clone());
                made
            }
        };
        if uniform { smallvec![own[0]; group.vectors(repr)] } else { own }
    }

    /// Returns the vectors of the mask `v` with lanes of `bytes` bytes, 4 or 8.
    pub fn mask(&mut self, group: &mut ElementGroup<'_>, v: InstId, bytes: u32) -> Vecs {
        if bytes == 4 {
            return self.vecs(group, v);
        }
        let val = group.val(v);
        let uniform = val.uniform;
        let own = match (&val.wide, val.constant) {
            (Some(wide), _) => wide.clone(),
            (None, Some(bits)) => smallvec![self.splat_bits(Repr::I64, bits)],
            (None, None) => {
                let narrow = self.vecs(group, v);
                let single = uniform || group.has_single_lane();
                let made = self.widen(&narrow, single, |e, x| e.b.ins().swiden_low(x));
                group.val_mut(v).wide = Some(made.clone());
                made
            }
        };
        if uniform { smallvec![own[0]; group.vectors(Repr::I64)] } else { own }
    }

    /// Returns whether the mask `v` exists only with 8-byte lanes.
    pub fn is_wide(&self, group: &ElementGroup<'_>, v: InstId) -> bool {
        let val = group.val(v);
        val.wide.is_some() && val.vecs.is_none()
    }

    /// Returns the scalars of `v`: one for each element, or a single one for a uniform value.
    pub fn lanes(&mut self, group: &mut ElementGroup<'_>, v: InstId) -> Scalars {
        let val = group.val(v);
        let repr = val.repr;
        if let Some(lanes) = &val.lanes {
            return lanes.clone();
        }
        if let Some(bits) = val.constant {
            return smallvec![self.scalar_bits(repr, bits)];
        }
        let count = if val.uniform { 1 } else { group.elems };
        let lanes_per_vector = 16 / repr.bytes();
        let vecs = self.vecs(group, v);
        let made: Scalars = (0..count)
            .map(|j| {
                let vector = vecs[(j / lanes_per_vector) as usize];
                self.b.ins().extractlane(vector, (j % lanes_per_vector) as u8)
            })
            .collect();
        group.val_mut(v).lanes = Some(made.clone());
        made
    }

    fn scalar_bits(&mut self, repr: Repr, bits: u64) -> Value {
        match repr {
            Repr::I32 | Repr::Mask => self.b.ins().iconst(types::I32, i64::from(bits as u32)),
            Repr::I64 => self.b.ins().iconst(types::I64, bits as i64),
            Repr::F32 => self.b.ins().f32const(f32::from_bits(bits as u32)),
            Repr::F64 => self.b.ins().f64const(f64::from_bits(bits)),
        }
    }

    /// Emits the vectors whose lanes are the scalars `lanes`. With `uniform`, every lane is the first scalar.
    pub fn gather_lanes(&mut self, repr: Repr, uniform: bool, lanes: &Scalars) -> Vecs {
        if uniform {
            return lanes.iter().take(1).map(|x| self.b.ins().splat(repr.vector(), *x)).collect();
        }
        let mut vecs = Vecs::new();
        for group in lanes.chunks(16 / repr.bytes() as usize) {
            let mut vector = self.b.ins().scalar_to_vector(repr.vector(), group[0]);
            for (j, x) in group.iter().enumerate().skip(1) {
                vector = self.b.ins().insertlane(vector, *x, j as u8);
            }
            vecs.push(vector);
        }
        vecs
    }

    /// Emits two vectors for each vector of `x`, or with `single` only the first of the two. `f` widens the low half of
    /// its argument.
    pub fn widen(&mut self, x: &Vecs, single: bool, f: impl Fn(&mut Self, Value) -> Value) -> Vecs {
        let mut wide = Vecs::new();
        for x in x {
            wide.push(f(self, *x));
            if !single {
                let high = self.high_half(*x);
                wide.push(f(self, high));
            }
        }
        wide
    }

    /// Emits one vector for every two of `x`, which `f` narrows and joins. A single vector is joined with itself.
    pub fn narrow(&mut self, x: &Vecs, f: impl Fn(&mut Self, Value, Value) -> Value) -> Vecs {
        x.chunks(2).map(|pair| f(self, pair[0], pair[pair.len() - 1])).collect()
    }

    fn narrow_mask(&mut self, wide: &Vecs) -> Vecs {
        self.narrow(wide, |e, a, b| e.even_words(a, b))
    }

    /// Emits uniform values before the inner loop, in the forms in which varying instructions and reductions need them.
    /// `roots` are the operands of the reductions.
    pub fn prepare(&mut self, group: &mut ElementGroup<'_>, roots: &[InstId]) {
        let analysis = group.analysis;
        for index in (0..group.body.len()).filter(|index| !analysis.uniform[*index]) {
            for (operand, want) in wanted_operands(group.body, &analysis.uniform, index) {
                self.prepare_one(group, operand, want);
            }
        }
        for root in roots {
            self.prepare_one(group, *root, WantedForm::vector(group.inst(*root).dtype));
        }
    }

    /// Emits the form `want` of `v`, if `v` is uniform. A constant gets only vectors, and only if constants are
    /// hoisted. Otherwise each user of the constant loads it for itself.
    fn prepare_one(&mut self, group: &mut ElementGroup<'_>, v: InstId, want: WantedForm) {
        if !group.analysis.uniform[v.0 as usize]
            || want == WantedForm::Lanes && group.val(v).constant.is_some()
        {
            return;
        }
        if group.val(v).constant.is_some() {
            if group.analysis.hoist && want != WantedForm::Mask(8) {
                let vecs = self.vecs(group, v);
                group.val_mut(v).vecs = Some(vecs);
            }
            return;
        }
        match want {
            WantedForm::Vecs => drop(self.vecs(group, v)),
            WantedForm::Mask(bytes) => drop(self.mask(group, v, bytes)),
            WantedForm::Lanes => drop(self.lanes(group, v)),
        }
    }

    /// Loads word number `index` of an argument array.
    pub fn word(&mut self, array: Value, index: usize) -> Value {
        self.b.ins().load(types::I64, flags(), array, Offset32::new((8 * index) as i32))
    }

    /// Loads run-time scalar `k`.
    pub fn scalar(&mut self, k: u32) -> Value {
        self.word(self.args.scalars, k as usize)
    }

    /// Records a failed check. `bad` is 0 or 1.
    pub fn fail_if(&mut self, bad: Value) {
        let failed = self.failed.expect("a kernel with checks has a variable for their failure");
        let before = self.b.use_var(failed);
        let after = self.b.ins().bor(before, bad);
        self.b.def_var(failed, after);
    }

    /// Emits a call of the sine, cosine or tangent of two angles. `values` are the results of the inline code. Returns
    /// `values` with the result replaced for each angle that is too large for the inline code.
    pub fn call_angle_function(&mut self, function: AngleFunction, values: Value, angles: Value) -> Value {
        let slot = *self.angles.get_or_insert_with(|| {
            let (size, log2_align) = (32, 4);
            self.b.create_sized_stack_slot(StackSlotData::new(StackSlotKind::ExplicitSlot, size, log2_align))
        });
        self.b.ins().stack_store(types::I64, values, slot, 0);
        self.b.ins().stack_store(types::I64, angles, slot, 16);
        let [to, from] = [0, 16].map(|offset| self.b.ins().stack_addr(types::I64, slot, offset));
        let count = self.b.ins().iconst(types::I64, 2);
        let mut signature = Signature::new(self.target.call_conv);
        signature.params = vec![AbiParam::new(types::I64); 3];
        let signature = self.b.import_signature(signature);
        let offset = Offset32::new(CalledFunction::LargeAngle(function).offset() as i32);
        let address = self.b.ins().load(types::I64, flags(), self.args.address, offset);
        self.b.ins().call_indirect(signature, address, &[to, from, count]);
        self.b.ins().stack_load(types::I64, types::F64X2, slot, 0)
    }

    /// Returns the imported function for the remainder of `f32` or, if `repr` is `F64`, of `f64`.
    pub fn remainder_function(&mut self, repr: Repr) -> FuncRef {
        let index = usize::from(repr == Repr::F64);
        if let Some(function) = self.remainder[index] {
            return function;
        }
        let mut signature = Signature::new(self.target.call_conv);
        signature.params = vec![AbiParam::new(repr.scalar()); 2];
        signature.returns = vec![AbiParam::new(repr.scalar())];
        let signature = self.b.import_signature(signature);
        let name = UserExternalName { namespace: 0, index: self.target.remainder[index] };
        let name = self.b.func.declare_imported_user_function(name);
        let function = self.b.import_function(cranelift_codegen::ir::ExtFuncData {
            name: cranelift_codegen::ir::ExternalName::user(name),
            signature,
            colocated: false,
            patchable: false,
        });
        self.remainder[index] = Some(function);
        function
    }
}
