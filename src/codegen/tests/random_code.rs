//! Random well-formed kernels.

use shapeflow_shape_fns::DType;

use super::case::{CaseSizes, KernelCase};
use super::ops::dtypes;
use super::random_values::{Random, element};
use crate::expr::{AngleFunction, BinaryOp, ReduceOp, Scalar, UnaryOp};
use crate::lower::kernel_body::{
    AccessPattern, Inst, InstId, InstOp, KernelBody, LaneLayout, Pass, ReduceStep, SlotType, SlotUse,
};
use crate::lower::supported::{supports_binary, supports_reduce, supports_unary};

/// A random kernel, and the ranges from which [`Generated::case`] draws run-time arguments.
pub(in crate::codegen) struct Generated {
    pub code: KernelBody,
    /// For each scalar: its possible values.
    scalars: Vec<Vec<i64>>,
    /// The gather slots, each with the limit and the stride of its offsets. Limits and strides are indices of scalars.
    gather_offsets: Vec<(usize, Vec<(u32, u32)>)>,
    /// A load and a store that may share memory.
    alias: Option<(usize, usize)>,
}

impl Generated {
    /// Makes a case: the kernel with random memory and run-time arguments.
    pub(super) fn case(&self, random: &mut Random, sizes: CaseSizes) -> KernelCase {
        let scalars: Vec<i64> = self.scalars.iter().map(|values| random.pick(values)).collect();
        let mut reach = vec![0; self.code.slots.len()];
        for (slot, offsets) in &self.gather_offsets {
            let bytes = |(limit, stride): &(u32, u32)| {
                (scalars[*limit as usize] - 1).clamp(0, MAX_INDEX) * scalars[*stride as usize]
            };
            reach[*slot] = offsets.iter().map(bytes).sum();
        }
        let mut case = KernelCase::new(random, &self.code, sizes, scalars, &reach);
        if let Some((load, store)) = self.alias
            && random.chance(2)
        {
            // The load takes the layout of the store, in which no two elements share memory. Otherwise the order of
            // loads and stores would change the result.
            case.alias(store, load);
        }
        case
    }
}

/// The largest index of a gather.
const MAX_INDEX: i64 = 3;

const UNARY: [UnaryOp; 8] = [
    UnaryOp::Neg,
    UnaryOp::Abs,
    UnaryOp::Sqrt,
    UnaryOp::Floor,
    UnaryOp::Ceil,
    UnaryOp::Trunc,
    UnaryOp::Round,
    UnaryOp::Not,
];

const BINARY: [BinaryOp; 19] = [
    BinaryOp::Add,
    BinaryOp::Add,
    BinaryOp::Sub,
    BinaryOp::Mul,
    BinaryOp::Mul,
    BinaryOp::Div,
    BinaryOp::Rem,
    BinaryOp::Min,
    BinaryOp::Max,
    BinaryOp::And,
    BinaryOp::Or,
    BinaryOp::Xor,
    BinaryOp::Shl,
    BinaryOp::Shr,
    BinaryOp::Eq,
    BinaryOp::Ne,
    BinaryOp::Lt,
    BinaryOp::Le,
    BinaryOp::LargeAngle(AngleFunction::Sin),
];

/// A random kernel under construction.
struct Generator<'r> {
    random: &'r mut Random,
    layout: LaneLayout,
    /// The dtypes that new values mostly have: few, so that values meet operands of their dtype.
    palette: Vec<DType>,
    slots: Vec<SlotType>,
    scalars: Vec<Vec<i64>>,
    reduced: Vec<DType>,
    /// The number of reductions that earlier passes finish.
    finished: usize,
    /// Scratch slots that earlier passes write.
    scratch: Vec<u32>,
    gather_offsets: Vec<(usize, Vec<(u32, u32)>)>,
    /// The current body.
    body: Vec<Inst>,
    /// For each instruction: whether its NaNs have the same bits on every machine.
    exact: Vec<bool>,
    /// The load slots of the current body.
    loads: Vec<usize>,
}

/// Returns a random kernel.
pub(in crate::codegen) fn generate(random: &mut Random) -> Generated {
    let layout = if random.chance(3) { LaneLayout::Column } else { LaneLayout::Row };
    let all = dtypes();
    let palette = (0..1 + random.below(3)).map(|_| random.pick(&all)).collect();
    let loops = random.below(3) as u32;
    let mut g = Generator {
        random,
        layout,
        palette,
        slots: Vec::new(),
        scalars: Vec::new(),
        reduced: Vec::new(),
        finished: 0,
        scratch: Vec::new(),
        gather_offsets: Vec::new(),
        body: Vec::new(),
        exact: Vec::new(),
        loads: Vec::new(),
    };
    let mut passes = Vec::new();
    let mut alias = None;
    for _ in 0..1 + g.random.below(3) {
        let range = if g.random.chance(8) { 40 } else { 10 };
        let length = 2 + g.random.below(range);
        g.body(length);
        let reduces = g.reduces();
        let written = g.stores();
        let body = std::mem::take(&mut g.body);
        g.exact.clear();
        // A load and a store of one dtype may share a buffer in a kernel of one pass.
        for load in std::mem::take(&mut g.loads) {
            for store in &written {
                let (a, b) = (g.slots[load], g.slots[*store]);
                let single = passes.is_empty() && a.dtype == b.dtype && a.pattern == b.pattern;
                if single && a.pattern == AccessPattern::Contiguous && b.used == SlotUse::Store {
                    alias = Some((load, *store));
                }
            }
        }
        g.scratch.extend(written.iter().filter(|s| g.slots[**s].used == SlotUse::Scratch).map(|s| *s as u32));
        g.finished = g.reduced.len();
        passes.push(Pass { body, reduces });
    }
    if passes.len() > 1 {
        alias = None;
    }
    let mut epilogue = Vec::new();
    if g.finished > 0 {
        g.body(2 + g.finished);
        g.stores();
        epilogue = std::mem::take(&mut g.body);
        for slot in g.scratch_of(&epilogue) {
            g.slots[slot].used = SlotUse::Store;
        }
    }
    let Generator { slots, scalars, reduced, gather_offsets, .. } = g;
    let code = KernelBody { layout, loops, slots, scalars: scalars.len() as u32, reduced, passes, epilogue };
    Generated { code, scalars, gather_offsets, alias }
}

impl Generator<'_> {
    fn push(&mut self, dtype: DType, op: InstOp, exact: bool) -> InstId {
        self.body.push(Inst { dtype, op });
        self.exact.push(exact || !dtype.is_float());
        InstId(self.body.len() as u32 - 1)
    }

    fn slot(&mut self, dtype: DType, pattern: AccessPattern, used: SlotUse) -> u32 {
        self.slots.push(SlotType { dtype, pattern, used });
        self.slots.len() as u32 - 1
    }

    fn scalar(&mut self, values: &[i64]) -> u32 {
        self.scalars.push(values.to_vec());
        self.scalars.len() as u32 - 1
    }

    fn pattern(&mut self) -> AccessPattern {
        if self.random.chance(3) { AccessPattern::Splat } else { AccessPattern::Contiguous }
    }

    fn dtype(&self, v: InstId) -> DType {
        self.body[v.0 as usize].dtype
    }

    /// Returns some value of the body; `None` if there is none.
    fn any(&mut self) -> Option<InstId> {
        // Later values more often, so that chains grow.
        let n = self.body.len();
        (n > 0).then(|| InstId(n as u32 - 1 - self.random.below(n).min(self.random.below(n)) as u32))
    }

    /// Returns a value of `dtype`, of the body or new.
    fn of(&mut self, dtype: DType) -> InstId {
        let found: Vec<u32> =
            (0..self.body.len() as u32).filter(|v| self.body[*v as usize].dtype == dtype).collect();
        if !found.is_empty() && !self.random.chance(5) {
            return InstId(self.random.pick(&found));
        }
        self.source(dtype)
    }

    /// Returns a load, a constant or a converted value of `dtype`.
    fn source(&mut self, dtype: DType) -> InstId {
        match self.random.below(5) {
            0 => {
                let value = element(self.random, dtype);
                self.push(dtype, InstOp::Const(value), true)
            }
            1 => {
                let pattern = self.pattern();
                let slot = self.slot(DType::I64, pattern, SlotUse::Iota);
                let value = self.push(DType::I64, InstOp::Iota(slot), true);
                if dtype == DType::I64 { value } else { self.push(dtype, InstOp::Cast(value), false) }
            }
            _ => {
                let step = self.random.chance(4).then(|| 2 + self.random.below(3) as i64);
                let pattern = match step {
                    None => self.pattern(),
                    step => AccessPattern::of_load(dtype.size_bytes(), step),
                };
                let slot = self.slot(dtype, pattern, SlotUse::Load);
                self.loads.push(slot as usize);
                self.push(dtype, InstOp::Load(slot), dtype != DType::F16)
            }
        }
    }

    /// Adds about `length` instructions to the body.
    fn body(&mut self, length: usize) {
        for _ in 0..length {
            self.step();
        }
    }

    /// Adds an instruction with the instructions that it needs, or none if the chosen operation does not fit.
    fn step(&mut self) {
        let palette = self.palette.clone();
        let dtype = self.random.pick(&palette);
        let Some(a) = self.any() else {
            self.source(dtype);
            return;
        };
        let own = self.dtype(a);
        match self.random.below(20) {
            0 | 1 => drop(self.source(dtype)),
            2 | 3 => {
                let op = self.random.pick(&UNARY);
                if supports_unary(op, own) {
                    self.push(own, InstOp::Unary(op, a), false);
                }
            }
            4..=10 => {
                let op = self.random.pick(&BINARY);
                if supports_binary(op, own) {
                    let b = self.of(own);
                    let divides = matches!(op, BinaryOp::Div | BinaryOp::Rem) && !own.is_float();
                    let b = if divides && !self.random.chance(6) { self.nonzero(b) } else { b };
                    let result = if op.is_comparison() { DType::Bool } else { own };
                    self.push(result, InstOp::Binary(op, a, b), false);
                }
            }
            11 | 12 => {
                let from = self.exact[a.0 as usize];
                let halves = dtype.is_float() && own.is_float();
                self.push(dtype, InstOp::Cast(a), from && !halves);
            }
            13 => {
                let c = self.of(DType::Bool);
                let b = self.of(own);
                let exact = self.exact[a.0 as usize] && self.exact[b.0 as usize];
                self.push(own, InstOp::Select(c, a, b), exact);
            }
            14 if own.is_float() => {
                let (b, c) = (self.of(own), self.of(own));
                self.push(own, InstOp::MulAdd(a, b, c), false);
            }
            15 if own.size_bytes() == dtype.size_bytes() && self.exact[a.0 as usize] => {
                self.push(dtype, InstOp::Bitcast(a), dtype != DType::F16);
            }
            16 => {
                let k = self.scalar(&[0, 1, -1, 5, i64::MAX, 1 << 40]);
                self.push(DType::I64, InstOp::Scalar(k), true);
            }
            17 if self.finished > 0 => {
                let k = self.random.below(self.finished);
                self.push(self.reduced[k], InstOp::Reduced(k as u32), false);
            }
            18 if !self.scratch.is_empty() => {
                let slots = self.scratch.clone();
                let slot = self.random.pick(&slots);
                self.push(self.slots[slot as usize].dtype, InstOp::Load(slot), false);
            }
            19 => self.gather(dtype),
            _ => {}
        }
    }

    /// `b | 1`, which is never 0.
    fn nonzero(&mut self, b: InstId) -> InstId {
        let dtype = self.dtype(b);
        let one = self.push(dtype, InstOp::Const(Scalar::one(dtype)), true);
        self.push(dtype, InstOp::Binary(BinaryOp::Or, b, one), true)
    }

    /// Adds a gather with one or two checked offsets.
    fn gather(&mut self, dtype: DType) {
        let pattern = self.pattern();
        let slot = self.slot(dtype, pattern, SlotUse::Gather);
        let mut offsets = Vec::new();
        let mut scalars = Vec::new();
        for _ in 0..1 + self.random.below(2) {
            let index = self.random.pick(&[DType::I32, DType::I64]);
            let index = self.of(index);
            let dtype = self.dtype(index);
            let max_index = crate::expr::eval_cast(Scalar::I64(MAX_INDEX), dtype);
            let mask = self.push(dtype, InstOp::Const(max_index), true);
            let index = self.push(dtype, InstOp::Binary(BinaryOp::And, index, mask), true);
            let limits: &[i64] = match self.random.below(7) {
                // Some of the indices are refused.
                0 => &[3, 4],
                // The limit does not bound the offsets to 4 bytes.
                1 => &[4, 1 << 40],
                _ => &[4, 5],
            };
            let limit = self.scalar(limits);
            let value = self.push(DType::I64, InstOp::CheckIndex { value: index, limit }, true);
            let stride = self.scalar(&[8, 24, 1]);
            offsets.push((value, stride));
            scalars.push((limit, stride));
        }
        self.gather_offsets.push((slot as usize, scalars));
        self.push(dtype, InstOp::Gather { slot, offsets: offsets.into() }, dtype != DType::F16);
    }

    /// Returns reductions of values of the body.
    fn reduces(&mut self) -> Vec<ReduceStep> {
        let mut reduces = Vec::new();
        let ops = [ReduceOp::Sum, ReduceOp::Prod, ReduceOp::Max, ReduceOp::Min, ReduceOp::All, ReduceOp::Any];
        for _ in 0..[0, 1, 1, 2, 3][self.random.below(5)] {
            let (Some(value), op) = (self.any(), self.random.pick(&ops)) else { continue };
            let dtype = self.dtype(value);
            if supports_reduce(op, dtype) {
                reduces.push(ReduceStep { op, value, dtype, into: self.reduced.len() as u32 });
                self.reduced.push(dtype);
            }
        }
        reduces
    }

    /// Stores the last values of the body. Returns the slots.
    fn stores(&mut self) -> Vec<usize> {
        let n = self.body.len();
        let mut written = Vec::new();
        for v in n.saturating_sub(1 + self.random.below(3))..n {
            let dtype = self.body[v].dtype;
            let (pattern, used) = match self.random.below(6) {
                0 => (AccessPattern::Splat, SlotUse::Store),
                1 | 2 if self.layout == LaneLayout::Row => (AccessPattern::Contiguous, SlotUse::Scratch),
                _ => (AccessPattern::Contiguous, SlotUse::Store),
            };
            let earlier = (0..v).rev().find(|v| self.body[*v].dtype == dtype);
            if let Some(second) = earlier
                && matches!(dtype.size_bytes(), Some(4 | 8))
                && self.random.chance(4)
            {
                let slot = self.slot(dtype, AccessPattern::Strided(2), SlotUse::Store);
                let values = [v, second].map(|v| InstId(v as u32));
                self.push(dtype, InstOp::StorePair { slot, values }, false);
                written.push(slot as usize);
                continue;
            }
            let slot = self.slot(dtype, pattern, used);
            self.push(dtype, InstOp::Store { slot, value: InstId(v as u32) }, false);
            written.push(slot as usize);
        }
        written
    }

    /// Returns the scratch slots that a body writes.
    fn scratch_of(&self, body: &[Inst]) -> Vec<usize> {
        let stores = body.iter().filter_map(|inst| match inst.op {
            InstOp::Store { slot, .. } => Some(slot as usize),
            _ => None,
        });
        stores.filter(|slot| self.slots[*slot].used == SlotUse::Scratch).collect()
    }
}
