//! `Emitter`: a function under construction, and the forms its values take.

use cranelift_codegen::ir::immediates::Offset32;
use cranelift_codegen::ir::{
    AbiParam, ConstantData, Endianness, FuncRef, InstBuilder, MemFlagsData, Signature, StackSlot, Type,
    UserExternalName, Value, types,
};
use cranelift_codegen::isa::CallConv;
use cranelift_frontend::{FunctionBuilder, Variable};
use smallvec::smallvec;

use super::Target;
use super::facts::{Facts, Want, wants};
use super::lanes::{Lanes, Val, Vecs};
use crate::codegen::repr::Repr;
use crate::lower::code::{Code, Inst, Vid};

/// Memory that cannot trap; nothing is known of its alignment.
pub(super) fn flags() -> MemFlagsData {
    MemFlagsData::new().with_notrap()
}

/// A function under construction.
pub(super) struct Emitter<'a, 'f> {
    pub b: FunctionBuilder<'f>,
    pub code: &'a Code,
    pub target: Target,
    pub args: Args,
    /// Nonzero once a check failed; only in code that has checks.
    pub failed: Option<Variable>,
    /// Finished row folds, the same value in every lane.
    pub folded: Vec<Option<Value>>,
    /// Accumulators and totals of row folds.
    pub accumulators: Option<StackSlot>,
    pub remainder: [Option<FuncRef>; 2],
}

/// The run-time arguments that code keeps at hand.
#[derive(Clone, Copy)]
pub(super) struct Args {
    pub slots: Value,
    pub scalars: Value,
    pub tile: Value,
    pub n: Value,
    pub extents: Value,
}

/// One emission of a body: for `elems` elements of the inner axis, or for one that stands for all.
pub(super) struct Step<'s> {
    pub body: &'s [Inst],
    pub facts: &'s Facts,
    pub vals: Vec<Option<Val>>,
    /// Address (of an iota, its value) of each used slot at inner element 0.
    pub starts: &'s [Option<Value>],
    pub elems: u32,
    /// Every value is computed once and its lanes are equal.
    pub uniform: bool,
    /// The first element, if it is not 0.
    pub index: Option<Value>,
}

impl<'s> Step<'s> {
    /// Elements whose scalars a lane-by-lane operation computes.
    pub fn lanes(&self) -> usize {
        if self.uniform { 1 } else { self.elems as usize }
    }

    /// Vectors that hold a value of `repr` in this step.
    pub fn vectors(&self, repr: Repr) -> usize {
        if self.uniform { 1 } else { repr.vectors(self.elems) }
    }

    /// Only the first lane of each value counts, or all are equal.
    pub fn single(&self) -> bool {
        self.uniform || self.elems == 1
    }

    pub fn inst(&self, v: Vid) -> &'s Inst {
        &self.body[v.0 as usize]
    }

    /// The value of an emitted instruction.
    pub fn val(&self, v: Vid) -> &Val {
        self.vals[v.0 as usize].as_ref().expect("operands are emitted before their users")
    }

    fn val_mut(&mut self, v: Vid) -> &mut Val {
        self.vals[v.0 as usize].as_mut().expect("operands are emitted before their users")
    }
}

impl<'a, 'f> Emitter<'a, 'f> {
    /// The lanes of `repr` as a constant with equal lanes.
    pub fn splat_bits(&mut self, repr: Repr, bits: u64) -> Value {
        let bytes: [u8; 16] = match repr.bytes() {
            8 => (u128::from(bits) << 64 | u128::from(bits)).to_le_bytes(),
            _ => (u128::from(bits as u32) * 0x0000_0001_0000_0001_0000_0001_0000_0001).to_le_bytes(),
        };
        let constant = self.b.func.dfg.constants.insert(ConstantData::from(&bytes[..]));
        self.b.ins().vconst(repr.vector(), constant)
    }

    /// Equal lanes of a 32-bit integer.
    pub fn splat_i32(&mut self, x: u32) -> Value {
        self.splat_bits(Repr::I32, u64::from(x))
    }

    /// The same bits as another vector type.
    pub fn cast_bits(&mut self, to: Type, x: Value) -> Value {
        if self.b.func.dfg.value_type(x) == to {
            return x;
        }
        self.b.ins().bitcast(to, MemFlagsData::new().with_endianness(Endianness::Little), x)
    }

    /// Bytes of `a` (0..16) and `b` (16..32) in the order of `mask`, as the type of `a`.
    pub fn shuffle(&mut self, a: Value, b: Value, mask: [u8; 16]) -> Value {
        let to = self.b.func.dfg.value_type(a);
        let (a, b) = (self.cast_bits(types::I8X16, a), self.cast_bits(types::I8X16, b));
        let mask = self.b.func.dfg.immediates.push(ConstantData::from(&mask[..]));
        let shuffled = self.b.ins().shuffle(a, b, mask);
        self.cast_bits(to, shuffled)
    }

    /// The low half of `a`, then that of `b`.
    pub fn low_halves(&mut self, a: Value, b: Value) -> Value {
        self.shuffle(a, b, [0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23])
    }

    /// The high half in both places.
    pub fn high_half(&mut self, a: Value) -> Value {
        self.shuffle(a, a, [8, 9, 10, 11, 12, 13, 14, 15, 8, 9, 10, 11, 12, 13, 14, 15])
    }

    /// The low 32 bits of the 64-bit lanes of `a`, then those of `b`.
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

    /// `x` where the mask holds, else `y`; lanes of the mask are those of the type, 0 or -1.
    pub fn choose(&mut self, mask: Value, x: Value, y: Value) -> Value {
        let (own, lanes) = (self.b.func.dfg.value_type(x), self.b.func.dfg.value_type(mask));
        let (x, y) = (self.cast_bits(lanes, x), self.cast_bits(lanes, y));
        let chosen = if cfg!(target_arch = "x86_64") {
            self.b.ins().blendv(mask, x, y)
        } else {
            self.b.ins().bitselect(mask, x, y)
        };
        self.cast_bits(own, chosen)
    }

    /// The vectors of `v`; of a mask, those with 32-bit lanes.
    pub fn vecs(&mut self, step: &mut Step<'_>, v: Vid) -> Vecs {
        let val = step.val(v);
        let (repr, uniform) = (val.repr, val.uniform);
        let own = match (&val.vecs, val.constant) {
            (Some(vecs), _) => vecs.clone(),
            (None, Some(bits)) => smallvec![self.splat_bits(repr, bits)],
            (None, None) => {
                let made = if let Some(wide) = val.wide.clone() {
                    self.narrow_mask(&wide)
                } else {
                    let lanes = val.lanes.clone().unwrap_or_default();
                    self.gather_lanes(repr, uniform, &lanes)
                };
                step.val_mut(v).vecs = Some(made.clone());
                made
            }
        };
        if uniform { smallvec![own[0]; step.vectors(repr)] } else { own }
    }

    /// The mask `v` with lanes of `bytes` bytes.
    pub fn mask(&mut self, step: &mut Step<'_>, v: Vid, bytes: u32) -> Vecs {
        if bytes == 4 {
            return self.vecs(step, v);
        }
        let val = step.val(v);
        let uniform = val.uniform;
        let own = match (&val.wide, val.constant) {
            (Some(wide), _) => wide.clone(),
            (None, Some(bits)) => smallvec![self.splat_bits(Repr::I64, bits)],
            (None, None) => {
                let narrow = self.vecs(step, v);
                let single = uniform || step.single();
                let made = self.widen(&narrow, single, |e, x| e.b.ins().swiden_low(x));
                step.val_mut(v).wide = Some(made.clone());
                made
            }
        };
        if uniform { smallvec![own[0]; step.vectors(Repr::I64)] } else { own }
    }

    /// Whether the mask `v` exists with 64-bit lanes only.
    pub fn is_wide(&self, step: &Step<'_>, v: Vid) -> bool {
        let val = step.val(v);
        val.wide.is_some() && val.vecs.is_none()
    }

    /// Scalars of `v`: of each element, or one for all.
    pub fn lanes(&mut self, step: &mut Step<'_>, v: Vid) -> Lanes {
        let val = step.val(v);
        let repr = val.repr;
        if let Some(lanes) = &val.lanes {
            return lanes.clone();
        }
        if let Some(bits) = val.constant {
            return smallvec![self.scalar_bits(repr, bits)];
        }
        let count = if val.uniform { 1 } else { step.elems };
        let per = 16 / repr.bytes();
        let vecs = self.vecs(step, v);
        let made: Lanes =
            (0..count).map(|j| self.b.ins().extractlane(vecs[(j / per) as usize], (j % per) as u8)).collect();
        step.val_mut(v).lanes = Some(made.clone());
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

    /// Vectors made of scalars.
    pub fn gather_lanes(&mut self, repr: Repr, uniform: bool, lanes: &Lanes) -> Vecs {
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

    /// Two vectors for each one: `f` widens the low half of its argument.
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

    /// One vector for every two: `f` joins them. A lone one is joined with itself.
    pub fn narrow(&mut self, x: &Vecs, f: impl Fn(&mut Self, Value, Value) -> Value) -> Vecs {
        x.chunks(2).map(|pair| f(self, pair[0], pair[pair.len() - 1])).collect()
    }

    fn narrow_mask(&mut self, wide: &Vecs) -> Vecs {
        self.narrow(wide, |e, a, b| e.even_words(a, b))
    }

    /// Makes the forms in which varying instructions take uniform values, so that loops find them
    /// ready.
    pub fn prepare(&mut self, step: &mut Step<'_>, roots: &[Vid]) {
        let facts = step.facts;
        for at in (0..step.body.len()).filter(|at| !facts.uniform[*at]) {
            for (operand, want) in wants(step.body, &facts.uniform, at) {
                self.prepare_one(step, operand, want);
            }
        }
        for root in roots {
            self.prepare_one(step, *root, Want::vector(step.inst(*root).dtype));
        }
    }

    fn prepare_one(&mut self, step: &mut Step<'_>, v: Vid, want: Want) {
        if !step.facts.uniform[v.0 as usize] || want == Want::Lanes && step.val(v).constant.is_some() {
            return;
        }
        if step.val(v).constant.is_some() {
            if step.facts.hoist && want != Want::Mask(8) {
                let vecs = self.vecs(step, v);
                step.val_mut(v).vecs = Some(vecs);
            }
            return;
        }
        match want {
            Want::Vecs => drop(self.vecs(step, v)),
            Want::Mask(bytes) => drop(self.mask(step, v, bytes)),
            Want::Lanes => drop(self.lanes(step, v)),
        }
    }

    /// A word of an argument array.
    pub fn word(&mut self, array: Value, at: usize) -> Value {
        self.b.ins().load(types::I64, flags(), array, Offset32::new((8 * at) as i32))
    }

    /// Run-time scalar `k`.
    pub fn scalar(&mut self, k: u32) -> Value {
        self.word(self.args.scalars, k as usize)
    }

    /// Remembers a failed check; `bad` is 0 or 1.
    pub fn fail_if(&mut self, bad: Value) {
        if let Some(failed) = self.failed {
            let before = self.b.use_var(failed);
            let after = self.b.ins().bor(before, bad);
            self.b.def_var(failed, after);
        }
    }

    /// The C library's `fmodf` or `fmod`.
    pub fn remainder_function(&mut self, repr: Repr) -> FuncRef {
        let at = usize::from(repr == Repr::F64);
        if let Some(function) = self.remainder[at] {
            return function;
        }
        let mut signature = Signature::new(self.target.call_conv);
        signature.params = vec![AbiParam::new(repr.scalar()); 2];
        signature.returns = vec![AbiParam::new(repr.scalar())];
        let signature = self.b.import_signature(signature);
        let name = UserExternalName { namespace: 0, index: self.target.remainder[at] };
        let name = self.b.func.declare_imported_user_function(name);
        let function = self.b.import_function(cranelift_codegen::ir::ExtFuncData {
            name: cranelift_codegen::ir::ExternalName::user(name),
            signature,
            colocated: false,
            patchable: false,
        });
        self.remainder[at] = Some(function);
        function
    }
}

/// The signature of every kernel function.
pub(in crate::codegen) fn kernel_signature(call_conv: CallConv) -> Signature {
    let mut signature = Signature::new(call_conv);
    signature.params.push(AbiParam::new(types::I64));
    signature
}
