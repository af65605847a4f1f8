//! `Selector`: the instructions of a body as vector instructions, each for all vectors of a step before the next.

use shapeflow_shape_fns::DType;

use super::Isa;
use super::block::{Block, Home, Kind, Place, Pool, Tail, V};
use super::encode::Len;
use super::frame::{Frame, Layout as FrameLayout};
use super::gather::is_placed;
use super::op::{self, Vop};
use super::values::{Val, Vecs};
use crate::codegen::clif::{Repr, is_narrow};
use crate::expr::{BinaryOp, UnaryOp};
use crate::lower::code::{Code, Inst, InstOp, Vid};

/// What a body is selected for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Mode {
    /// One element that stands for all: every lane of a vector is equal.
    Once,
    /// A step of elements.
    Step {
        /// Vectors of 4-byte lanes side by side.
        unroll: u32,
        /// Elements between the current one and the first of the step.
        ahead: u32,
        /// Only the elements that are left count; never unrolled.
        masked: bool,
    },
}

/// Why a body is left to Cranelift.
pub(super) type Refusal = &'static str;

/// Selects one body.
pub(super) struct Selector<'a> {
    pub block: Block,
    pub code: &'a Code,
    pub body: &'a [Inst],
    /// Which instructions are uniform.
    pub uniform: &'a [bool],
    /// Which instructions are index arithmetic.
    pub index: &'a [bool],
    pub isa: Isa,
    pub pool: &'a mut Pool,
    pub frame: &'a mut Frame,
    pub layout: &'a FrameLayout,
    pub mode: Mode,
    /// The copy of the body: at which position of the innermost loop it is.
    pub copy: u32,
    /// Where uniform values are kept, by instruction.
    pub homes: &'a [Option<Home>],
    /// Whether the elements of gathered rows do not follow each other.
    pub strided: bool,
    /// Whether all elements to gather lie so near that 4-byte lanes hold how far.
    pub near: bool,
    /// The varying instructions in the order in which steps compute them, if it is not their own.
    pub order: &'a [u32],
    /// Whether values of later rows are computed.
    pub ahead: bool,
    pub vals: Vec<Val>,
}

impl<'a> Selector<'a> {
    #[expect(clippy::too_many_arguments, reason = "the parts of one function")]
    pub fn new(
        code: &'a Code,
        body: &'a [Inst],
        uniform: &'a [bool],
        index: &'a [bool],
        isa: Isa,
        block: Block,
        pool: &'a mut Pool,
        frame: &'a mut Frame,
        layout: &'a FrameLayout,
        mode: Mode,
        homes: &'a [Option<Home>],
        strided: bool,
    ) -> Selector<'a> {
        Selector {
            block,
            code,
            body,
            uniform,
            index,
            isa,
            pool,
            frame,
            layout,
            mode,
            copy: 0,
            homes,
            strided,
            near: false,
            order: &[],
            ahead: false,
            vals: vec![Val::default(); body.len()],
        }
    }

    /// Starts the body again for another step of the same block.
    pub fn restart(&mut self, mode: Mode) {
        self.mode = mode;
        self.vals.fill(Val::default());
    }

    pub fn dtype(&self, v: Vid) -> DType {
        self.body[v.0 as usize].dtype
    }

    /// The whole of a vector register.
    pub fn len(&self) -> Len {
        self.isa.vector()
    }

    /// Vectors that hold a varying value with lanes of so many bytes.
    pub fn vectors(&self, bytes: u32) -> usize {
        match self.mode {
            Mode::Once => 1,
            Mode::Step { unroll, .. } => (unroll * bytes / 4) as usize,
        }
    }

    pub fn masked(&self) -> bool {
        matches!(self.mode, Mode::Step { masked: true, .. })
    }

    pub fn op1(&mut self, op: Vop, a: V) -> V {
        self.op_imm(op, &[a], None)
    }

    pub fn op2(&mut self, op: Vop, a: V, b: V) -> V {
        self.op_imm(op, &[a, b], None)
    }

    pub fn op_imm(&mut self, op: Vop, srcs: &[V], imm: Option<u8>) -> V {
        let len = self.len();
        self.block.push(Kind::Op { op, len, imm }, srcs)
    }

    pub fn map(&mut self, x: &Vecs, mut f: impl FnMut(&mut Self, V) -> V) -> Vecs {
        x.iter().map(|x| f(self, *x)).collect()
    }

    pub fn zip(&mut self, x: &Vecs, y: &Vecs, mut f: impl FnMut(&mut Self, V, V) -> V) -> Vecs {
        x.iter().zip(y.iter()).map(|(x, y)| f(self, *x, *y)).collect()
    }

    /// Selects what the mode asks for: all of the body, or what varies.
    pub fn body(&mut self) -> Result<(), Refusal> {
        if self.mode != Mode::Once && !self.order.is_empty() {
            return self.order.iter().try_for_each(|at| self.inst(*at as usize));
        }
        for at in 0..self.body.len() {
            if self.mode == Mode::Once || !self.uniform[at] {
                self.inst(at)?;
            }
        }
        Ok(())
    }

    /// Selects the uniform instructions and keeps what varying ones or `roots` use of them: in the frame, unless it
    /// has a place already.
    pub fn uniforms(&mut self, roots: &[Vid]) -> Result<Vec<Option<Home>>, Refusal> {
        let mut wanted = vec![false; self.body.len()];
        let placed = |inst: &'a Inst| match &inst.op {
            InstOp::Gather { slot, offsets } if is_placed(self.uniform, offsets) => Some((*slot, offsets)),
            _ => None,
        };
        for (at, inst) in self.body.iter().enumerate() {
            if !self.uniform[at] && placed(inst).is_none() {
                inst.op.for_each_operand(|v| wanted[v.0 as usize] = true);
            }
        }
        roots.iter().for_each(|root| wanted[root.0 as usize] = true);
        let mut homes = vec![None; self.body.len()];
        for at in 0..self.body.len() {
            if !self.uniform[at] {
                if let Some((slot, offsets)) = placed(&self.body[at]) {
                    self.place(slot, offsets)?;
                }
                continue;
            }
            self.inst(at)?;
            if !wanted[at] || self.index[at] {
                continue;
            }
            if !self.vals[at].words.is_empty() {
                self.vecs(Vid(at as u32))?;
            }
            let val = &self.vals[at];
            let Some(&one) = val.vecs.first().or(val.wide.first()) else { continue };
            let mut home = self.block.values[one.0 as usize];
            if home == Home::Made {
                let (at, len) = (self.frame.vector(self.isa), self.len());
                let place = Place::Frame(at);
                self.block.effect(
                    Kind::Store { op: op::MOV_STORE, len, imm: None, place, tail: Tail::Whole },
                    &[one],
                );
                home = Home::Frame(at);
            }
            homes[at] = Some(home);
        }
        Ok(homes)
    }

    pub fn inst(&mut self, at: usize) -> Result<(), Refusal> {
        if self.index[at] {
            self.index(at);
            return Ok(());
        }
        let inst = &self.body[at];
        let dtype = inst.dtype;
        let mask = dtype == DType::Bool;
        let mut wide = false;
        let vecs: Vecs = match &inst.op {
            InstOp::Const(scalar) => Vecs::repeated(self.splat_of(*scalar), 1),
            InstOp::Scalar(k) => Vecs::repeated(self.block.push(Kind::Scalar(*k), &[]), 1),
            InstOp::Iota(slot) => self.iota(*slot),
            InstOp::Load(slot) => self.load(*slot),
            InstOp::Gather { slot, offsets } => self.gather(*slot, offsets)?,
            InstOp::Unary(UnaryOp::Not, a) if mask => {
                wide = self.is_wide(*a);
                let x = self.mask(*a, if wide { 8 } else { 4 })?;
                self.map(&x, Selector::not)
            }
            InstOp::Unary(op, a) => self.unary(*op, *a)?,
            InstOp::Binary(op, a, b) if self.dtype(*a) == DType::Bool => {
                wide = self.is_wide(*a) && self.is_wide(*b);
                let bytes = if wide { 8 } else { 4 };
                let (x, y) = (self.mask(*a, bytes)?, self.mask(*b, bytes)?);
                self.zip(&x, &y, |s, x, y| s.logical(*op, x, y))
            }
            InstOp::Binary(op, a, b) => {
                wide = mask && Repr::of(self.dtype(*a)).bytes() == 8;
                self.binary(*op, *a, *b)?
            }
            InstOp::MulAdd(a, b, c) => self.mul_add(*a, *b, *c)?,
            InstOp::Select(c, a, b) if mask => {
                wide = self.is_wide(*c) && self.is_wide(*a) && self.is_wide(*b);
                let bytes = if wide { 8 } else { 4 };
                let (m, x, y) = (self.mask(*c, bytes)?, self.mask(*a, bytes)?, self.mask(*b, bytes)?);
                (0..m.len()).map(|j| self.choose(m[j], x[j], y[j])).collect()
            }
            InstOp::Select(c, a, b) if let Some(op) = self.as_extremum(*c, *a, *b) => {
                let (x, y) = (self.vecs(*a)?, self.vecs(*b)?);
                self.zip(&x, &y, |s, x, y| s.op2(op, x, y))
            }
            InstOp::Select(c, a, b) => {
                let m = self.mask(*c, Repr::of(dtype).bytes())?;
                let (x, y) = (self.vecs(*a)?, self.vecs(*b)?);
                (0..m.len()).map(|j| self.choose(m[j], x[j], y[j])).collect()
            }
            InstOp::Cast(a) => {
                wide = mask && Repr::of(self.dtype(*a)).bytes() == 8;
                self.cast(*a, dtype)?
            }
            InstOp::Bitcast(a) => self.bitcast(*a, dtype)?,
            InstOp::Folded(k) => self.folded(*k)?,
            InstOp::CheckIndex { value, limit } if self.dtype(*value) == DType::I32 => {
                let words = self.check_index(*value, *limit)?;
                self.vals[at] = Val { words, ..Val::default() };
                return Ok(());
            }
            InstOp::CheckIndex { value, limit } => self.check_index(*value, *limit)?,
            InstOp::Store { slot, value } => {
                self.store(*slot, *value)?;
                self.vals[at] = self.vals[value.0 as usize];
                return Ok(());
            }
        };
        // Lanes of a single element are equal: set is set in lanes of any size.
        let any = mask && self.mode == Mode::Once;
        if wide || any {
            self.vals[at].wide = vecs;
        }
        if !wide || any {
            self.vals[at].vecs = vecs;
        }
        Ok(())
    }

    /// A mask turned around.
    pub fn not(&mut self, x: V) -> V {
        let ones = self.splat(u64::MAX, 8);
        self.op2(op::XOR_D, x, ones)
    }

    /// `x` where the mask is set, else `y`.
    pub fn choose(&mut self, mask: V, x: V, y: V) -> V {
        self.block.push(Kind::Select, &[mask, x, y])
    }

    /// The instruction that is `a < b ? a : b` or `a > b ? a : b` of floats, if that is what is chosen.
    fn as_extremum(&self, condition: Vid, a: Vid, b: Vid) -> Option<Vop> {
        let InstOp::Binary(BinaryOp::Lt, less, more) = self.body[condition.0 as usize].op else {
            return None;
        };
        let wide = match Repr::of(self.dtype(a)) {
            Repr::F32 => false,
            Repr::F64 => true,
            _ => return None,
        };
        match () {
            () if (less, more) == (a, b) => Some(if wide { op::MIN_PD } else { op::MIN_PS }),
            () if (less, more) == (b, a) => Some(if wide { op::MAX_PD } else { op::MAX_PS }),
            () => None,
        }
    }

    /// Two vectors for each one: the halves of its lanes widened.
    pub fn widen(&mut self, x: &Vecs, op: Vop) -> Vecs {
        let mut wide = Vecs::default();
        for x in x.iter() {
            wide.push(self.op1(op, *x));
            if self.mode != Mode::Once {
                let high = self.high_half(*x);
                wide.push(self.op1(op, high));
            }
        }
        wide
    }

    /// The upper half of a vector in the lower.
    pub fn high_half(&mut self, x: V) -> V {
        let op = if self.isa == Isa::Avx512 { op::EXTRACT_256 } else { op::EXTRACT_128 };
        self.op_imm(op, &[x], Some(1))
    }

    /// The lower halves of two vectors as one.
    pub fn join(&mut self, a: V, b: V) -> V {
        let op = if self.isa == Isa::Avx512 { op::INSERT_256 } else { op::INSERT_128 };
        self.op_imm(op, &[a, b], Some(1))
    }

    /// One vector for every two.
    pub fn narrow_pairs(&mut self, x: &Vecs, f: fn(&mut Self, V, V) -> V) -> Vecs {
        x.chunks(2).map(|pair| f(self, pair[0], pair[pair.len() - 1])).collect()
    }

    /// The low words of 8-byte lanes.
    pub fn even_words(&mut self, a: V, b: V) -> V {
        if self.isa == Isa::Avx512 {
            let (a, b) = (self.op1(op::DOWN_QD, a), self.op1(op::DOWN_QD, b));
            return self.join(a, b);
        }
        let both = self.op_imm(op::SHUFFLE_PS, &[a, b], Some(0x88));
        self.op_imm(op::PERMUTE_Q, &[both], Some(0xd8))
    }

    fn iota(&mut self, slot: u32) -> Vecs {
        let Mode::Step { ahead, .. } = self.mode else {
            return Vecs::repeated(self.block.push(Kind::Iota { slot, ahead: 0 }, &[]), 1);
        };
        let start = self.block.push(Kind::Iota { slot, ahead: ahead as i32 }, &[]);
        let bytes = self.len().bytes();
        let ramp = self.layout.ramps[slot as usize];
        (0..self.vectors(8) as u32)
            .map(|j| match ramp {
                Some(ramp) => {
                    let ramp = self.block.at(Home::Frame(ramp + j * bytes));
                    self.op2(op::ADD_Q, start, ramp)
                }
                None => start,
            })
            .collect()
    }

    /// Integer lanes brought back into the range of `dtype`, or floats rounded to it.
    pub fn settle(&mut self, dtype: DType, x: V) -> V {
        match dtype {
            DType::F16 => {
                let half = self.op_imm(op::PS_TO_PH, &[x], Some(0));
                self.op1(op::PH_TO_PS, half)
            }
            DType::BF16 => self.round_bf16(x),
            _ if is_narrow(dtype) => self.wrap(dtype, x),
            _ => x,
        }
    }
}
