//! `Evaluator`: computes elements of an expression one by one; the reference for every back end.

use shapeflow_shape_fns::Dim;
use smallvec::SmallVec;

use super::program::{AxisId, DimId, EntryId, Linear, Op, Place, Program, StepId};
#[cfg(test)]
use super::{Axis, Expr};
use super::{FoldOp, Scalar, eval_binary, eval_bitcast, eval_cast, eval_mul_add, eval_unary};

/// Why an element has no value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fault {
    /// A run-time index outside `[0, limit)` of axis `axis`.
    Index { index: i64, limit: i64, axis: u32 },
    /// An integer divided by zero.
    DivideByZero,
}

/// The element of a source at an index.
pub(crate) type Load<'a> = &'a dyn Fn(u32, &[i64]) -> Result<Scalar, Fault>;

/// The element of a source at a row-major position.
pub(crate) type LoadFlat<'a> = &'a dyn Fn(u32, i64) -> Result<Scalar, Fault>;

/// What an expression is evaluated in.
pub(crate) struct Env<'a> {
    pub(crate) load: Load<'a>,
    pub(crate) load_flat: LoadFlat<'a>,
    /// The value of a dimension.
    pub(crate) dim: &'a dyn Fn(&Dim) -> i64,
    /// Whether `MulAdd` rounds once.
    pub(crate) fused: bool,
}

/// Evaluates a [`Program`] for one set of sizes and sources, which must not change meanwhile.
///
/// Only demanded nodes are evaluated, each once per binding of the axes it depends on. Folds go in
/// order; float sums and products accumulate in `f64` and are rounded once at the end. Index
/// arithmetic wraps as an `i64`.
pub(crate) struct Evaluator<'a> {
    program: &'a Program,
    env: &'a Env<'a>,
    dims: Vec<i64>,
    axes: Vec<i64>,
    values: Vec<Scalar>,
    /// When each value was computed.
    computed: Vec<u64>,
    /// When an axis of each class was bound last.
    bound: Vec<u64>,
    now: u64,
    frames: Vec<Frame>,
    folds: Vec<Running>,
}

struct Frame {
    entry: EntryId,
    at: usize,
}

/// A fold whose body is being evaluated.
struct Running {
    counters: SmallVec<[i64; 4]>,
    total: Total,
}

enum Total {
    Wide(f64),
    Exact(Scalar),
}

impl Total {
    fn start(op: FoldOp, dtype: shapeflow_shape_fns::DType) -> Total {
        match op {
            FoldOp::Sum if dtype.is_float() => Total::Wide(-0.0),
            FoldOp::Prod if dtype.is_float() => Total::Wide(1.0),
            _ => Total::Exact(op.identity(dtype)),
        }
    }

    fn add(&mut self, op: FoldOp, value: Scalar) {
        match self {
            Total::Wide(total) if op == FoldOp::Prod => *total *= value.to_f64(),
            Total::Wide(total) => *total += value.to_f64(),
            Total::Exact(total) => *total = op.combine(*total, value),
        }
    }

    fn finish(&self, op: FoldOp, dtype: shapeflow_shape_fns::DType) -> Scalar {
        match self {
            Total::Wide(total) => eval_cast(op.finish(Scalar::F64(*total)), dtype),
            Total::Exact(total) => op.finish(*total),
        }
    }
}

/// What a step came to.
enum Outcome {
    Value(Scalar),
    /// It waits for another entry.
    Enter(EntryId),
}

/// One element of `expr`, for the given values of its free axes.
#[cfg(test)]
pub(crate) fn evaluate(expr: &Expr, axes: &[(Axis, i64)], env: &Env<'_>) -> Result<Scalar, Fault> {
    let (names, values): (Vec<Axis>, Vec<i64>) = axes.iter().copied().unzip();
    Evaluator::new(&Program::new(expr, &names), env).at(&values)
}

/// The value of an expression without loads, sizes and axes, where `MulAdd` rounds once.
#[cfg(test)]
pub(crate) fn evaluate_constant(expr: &Expr) -> Result<Scalar, Fault> {
    let none = Ok(Scalar::Bool(false));
    let env = Env {
        load: &|_, _| none,
        load_flat: &|_, _| none,
        dim: &|dim| dim.as_known().unwrap_or(0),
        fused: true,
    };
    evaluate(expr, &[], &env)
}

impl<'a> Evaluator<'a> {
    /// An evaluator of `program` in `env`.
    pub(crate) fn new(program: &'a Program, env: &'a Env<'a>) -> Evaluator<'a> {
        Evaluator {
            program,
            env,
            dims: program.dims.iter().map(env.dim).collect(),
            axes: vec![0; program.axes],
            values: vec![Scalar::Bool(false); program.steps.len()],
            computed: vec![0; program.steps.len()],
            bound: vec![1; program.classes],
            now: 1,
            frames: Vec::new(),
            folds: Vec::new(),
        }
    }

    /// The element where the program's outer axes have the given values; missing ones are 0.
    pub(crate) fn at(&mut self, axes: &[i64]) -> Result<Scalar, Fault> {
        for axis in 0..self.program.outer {
            self.bind(axis as AxisId, axes.get(axis).copied().unwrap_or(0));
        }
        self.frames.clear();
        self.folds.clear();
        self.run()
    }

    fn bind(&mut self, axis: AxisId, value: i64) {
        if self.axes[axis as usize] != value {
            self.axes[axis as usize] = value;
            self.now += 1;
            for class in &self.program.classes_of[axis as usize] {
                self.bound[*class as usize] = self.now;
            }
        }
    }

    fn is_known(&self, step: StepId) -> bool {
        let class = self.program.steps[step as usize].class;
        self.computed[step as usize] >= self.bound[class as usize]
    }

    fn set(&mut self, step: StepId, value: Scalar) {
        self.values[step as usize] = value;
        self.computed[step as usize] = self.now;
    }

    /// The value of an entry.
    fn result(&self, entry: EntryId) -> (StepId, Scalar) {
        let target = self.program.entries[entry as usize].last().copied().unwrap_or(0);
        (target, self.values[target as usize])
    }

    fn run(&mut self) -> Result<Scalar, Fault> {
        let program = self.program;
        self.frames.push(Frame { entry: program.root, at: 0 });
        while let Some(frame) = self.frames.last() {
            let list = &program.entries[frame.entry as usize];
            let Some(step) = list.get(frame.at).copied() else {
                let (_, value) = self.result(frame.entry);
                self.frames.pop();
                if let Some(parent) = self.frames.last() {
                    let waiting = program.entries[parent.entry as usize][parent.at];
                    let outcome = self.resume(waiting, value);
                    self.settle(waiting, outcome);
                }
                continue;
            };
            if self.is_known(step) {
                if let Some(frame) = self.frames.last_mut() {
                    frame.at += 1;
                }
                continue;
            }
            let outcome = self.start(step)?;
            self.settle(step, outcome);
        }
        Ok(self.result(program.root).1)
    }

    /// Keeps the value of `step`, or opens the entry it waits for.
    fn settle(&mut self, step: StepId, outcome: Outcome) {
        match outcome {
            Outcome::Value(value) => {
                self.set(step, value);
                if let Some(frame) = self.frames.last_mut() {
                    frame.at += 1;
                }
            }
            Outcome::Enter(entry) => self.frames.push(Frame { entry, at: 0 }),
        }
    }

    /// Evaluates a step whose parts are known.
    fn start(&mut self, step: StepId) -> Result<Outcome, Fault> {
        let program = self.program;
        let dtype = program.steps[step as usize].dtype;
        let value = |part: &StepId| self.values[*part as usize];
        Ok(Outcome::Value(match &program.steps[step as usize].op {
            Op::Const(value) => *value,
            Op::Size(dim) => Scalar::I64(self.dims[*dim as usize]),
            Op::Iota(index) => Scalar::I64(self.linear(index)),
            Op::Load { source, index } => {
                let index: SmallVec<[i64; 6]> = index.iter().map(|index| self.linear(index)).collect();
                (self.env.load)(*source, &index)?
            }
            Op::LoadFlat { source, position } => (self.env.load_flat)(*source, self.linear(position))?,
            Op::Unary(op, a) => eval_unary(*op, value(a)),
            Op::Binary(op, a, b) => eval_binary(*op, value(a), value(b)).ok_or(Fault::DivideByZero)?,
            Op::MulAdd(a, b, c) => eval_mul_add(value(a), value(b), value(c), self.env.fused),
            Op::Select(a, b, c) => {
                if value(a) == Scalar::Bool(true) {
                    value(b)
                } else {
                    value(c)
                }
            }
            Op::Cast(a) => eval_cast(value(a), dtype),
            Op::Bitcast(a) => eval_bitcast(value(a), dtype),
            Op::CheckIndex { value: a, limit, axis } => {
                let (index, limit) = (value(a).to_i64(), self.dims[*limit as usize]);
                if !(0..limit).contains(&index) {
                    return Err(Fault::Index { index, limit, axis: *axis });
                }
                Scalar::I64(index)
            }
            Op::Case(arms, otherwise) => {
                let holds = |range: &super::program::Range| {
                    let index = self.linear(&range.index);
                    self.dims[range.low as usize] <= index && index < self.dims[range.high as usize]
                };
                let chosen = arms.iter().find(|(ranges, _)| ranges.iter().all(holds));
                let entry = chosen.map_or(*otherwise, |(_, entry)| *entry);
                let (target, value) = self.result(entry);
                if !self.is_known(target) {
                    return Ok(Outcome::Enter(entry));
                }
                value
            }
            Op::Fold { op, axes, body } => {
                let total = Total::start(*op, dtype);
                if axes.iter().any(|(_, extent)| self.dims[*extent as usize] <= 0) {
                    return Ok(Outcome::Value(total.finish(*op, dtype)));
                }
                self.folds.push(Running { counters: SmallVec::from_elem(0, axes.len()), total });
                axes.iter().for_each(|(axis, _)| self.bind(*axis, 0));
                return Ok(Outcome::Enter(*body));
            }
        }))
    }

    /// Goes on with a step whose entry has come to `value`.
    fn resume(&mut self, step: StepId, value: Scalar) -> Outcome {
        let program = self.program;
        let Op::Fold { op, axes, body } = &program.steps[step as usize].op else {
            return Outcome::Value(value);
        };
        let Some(running) = self.folds.last_mut() else { return Outcome::Value(value) };
        running.total.add(*op, value);
        if let Some(position) = next(&mut running.counters, axes, &self.dims) {
            let moved: SmallVec<[i64; 4]> = SmallVec::from_slice(&running.counters[position..]);
            for ((axis, _), counter) in axes[position..].iter().zip(moved) {
                self.bind(*axis, counter);
            }
            return Outcome::Enter(*body);
        }
        let finished = running.total.finish(*op, program.steps[step as usize].dtype);
        self.folds.pop();
        Outcome::Value(finished)
    }

    fn linear(&self, index: &Linear) -> i64 {
        let mut sum = self.dims[index.constant as usize];
        for (place, coefficient) in &index.terms {
            let value = match place {
                Place::Axis(axis) => self.axes[*axis as usize],
                Place::FloorDiv(inner, divisor) => {
                    self.linear(inner).checked_div_euclid(self.dims[*divisor as usize]).unwrap_or(0)
                }
                Place::Mod(inner, divisor) => {
                    self.linear(inner).checked_rem_euclid(self.dims[*divisor as usize]).unwrap_or(0)
                }
                Place::Value(step) => self.values[*step as usize].to_i64(),
            };
            sum = sum.wrapping_add(value.wrapping_mul(self.dims[*coefficient as usize]));
        }
        sum
    }
}

/// Steps the counters in row-major order; the first one that moved, or none at the end.
fn next(counters: &mut [i64], axes: &[(AxisId, DimId)], dims: &[i64]) -> Option<usize> {
    for position in (0..counters.len()).rev() {
        counters[position] += 1;
        if counters[position] < dims[axes[position].1 as usize] {
            return Some(position);
        }
        counters[position] = 0;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expr::{BinaryOp, ExprKind, InRange, Index, Interner};
    use shapeflow_shape_fns::DType;
    use std::cell::Cell;

    fn at(axis: u32) -> Index {
        Index::axis(Axis(axis))
    }

    fn load(index: &[Index]) -> Expr {
        Expr::new(DType::F32, ExprKind::Load { source: 0, index: index.into() })
    }

    /// Elements are `100 * i + j`; `n` is 3. Returns the value and the number of loads.
    fn run(expr: &Expr, axes: &[(Axis, i64)]) -> (Result<Scalar, Fault>, u32) {
        let loads = Cell::new(0);
        let load = |_: u32, index: &[i64]| {
            loads.set(loads.get() + 1);
            Ok(Scalar::F32(index.iter().fold(0.0, |sum, i| sum * 100.0 + *i as f32)))
        };
        let flat = |_: u32, position: i64| Ok(Scalar::I64(10 * position));
        let dim = |dim: &Dim| dim.as_known().unwrap_or(3);
        let result = evaluate(expr, axes, &Env { load: &load, load_flat: &flat, dim: &dim, fused: true });
        (result, loads.get())
    }

    fn value(expr: &Expr, axes: &[(Axis, i64)]) -> Scalar {
        run(expr, axes).0.unwrap()
    }

    #[test]
    fn shared_nodes_are_evaluated_once() {
        let mut x = load(&[at(0)]);
        for _ in 0..30 {
            x = x.clone() + x;
        }
        assert_eq!(run(&x, &[(Axis(0), 1)]), (Ok(Scalar::F32((1u32 << 30) as f32)), 1));
    }

    #[test]
    fn indices_floor_and_take_values() {
        let n = Dim::symbol("n");
        let index =
            at(0) * n.clone() + (at(0) - Index::from(7i64)).floordiv(n.clone()) * 10i64 + at(0).modulo(n);
        assert_eq!(value(&Expr::iota(index), &[(Axis(0), 5)]), Scalar::I64(15 - 10 + 2));
        let flat = Expr::new(DType::I64, ExprKind::LoadFlat { source: 0, position: Box::new(at(0)) });
        assert_eq!(value(&load(&[Index::value(flat), at(0)]), &[(Axis(0), 4)]), Scalar::F32(4004.0));
    }

    #[test]
    fn folds_nest_and_keep_what_does_not_move() {
        let row = load(&[at(0), at(1)]).fold(FoldOp::Max, [(Axis(1), Dim::symbol("n"))].into());
        let centred = load(&[at(0), at(1)]) - row.clone();
        let sum = centred.fold(FoldOp::Sum, [(Axis(1), Dim::symbol("n"))].into());
        // The inner fold binds the axis of the outer one: 3 loads each.
        assert_eq!(run(&sum, &[(Axis(0), 2)]), (Ok(Scalar::F32(-3.0)), 6));
        let sum = Interner::new().import(&sum);
        assert_eq!(run(&sum, &[(Axis(0), 2)]), (Ok(Scalar::F32(-3.0)), 6));
        let grid = load(&[at(0), at(1)])
            .fold(FoldOp::Sum, [(Axis(0), Dim::known(2)), (Axis(1), Dim::symbol("n"))].into());
        assert_eq!(value(&grid, &[]), Scalar::F32(306.0));
        let empty = load(&[at(0)]).fold(FoldOp::Sum, [(Axis(0), Dim::known(0))].into());
        assert_eq!(run(&empty, &[]), (Ok(Scalar::F32(0.0)), 0));
        let lowest = load(&[at(0)]).fold(FoldOp::Max, [(Axis(0), Dim::known(0))].into());
        assert_eq!(value(&lowest, &[]), Scalar::F32(f32::NEG_INFINITY));
    }

    #[test]
    fn float_sums_are_wide() {
        let big = load(&[at(0)]) * Expr::constant(0.0f32) + Expr::constant(16_777_216.0f32);
        let one = Expr::iota(at(0)).cast(DType::F32).minimum(Expr::constant(1.0f32));
        let term = Expr::iota(at(0)).equal(Expr::iota(0i64.into())).select(big, one);
        let sum = term.fold(FoldOp::Sum, [(Axis(0), Dim::known(5))].into());
        assert_eq!(value(&sum, &[]), Scalar::F32(16_777_220.0));
    }

    #[test]
    fn only_the_chosen_arm_is_demanded() {
        let zero = Expr::constant(0i64);
        let fails = Expr::iota(at(0)).binary(BinaryOp::Div, zero.clone());
        let inside = |low: i64, high: i64| InRange { index: at(0), low: low.into(), high: high.into() };
        let shared = fails.clone() + Expr::constant(1i64);
        let case = Expr::case(
            vec![(vec![inside(0, 2)], shared.clone()), (vec![inside(2, 4), inside(3, 9)], Expr::iota(at(0)))],
            shared,
        );
        assert_eq!(run(&case, &[(Axis(0), 3)]).0, Ok(Scalar::I64(3)));
        for axis in [1, 2, 4] {
            assert_eq!(run(&case, &[(Axis(0), axis)]).0, Err(Fault::DivideByZero));
        }
        let check = ExprKind::CheckIndex { value: Expr::iota(at(0)), limit: Dim::symbol("n"), axis: 1 };
        let check = Expr::new(DType::I64, check);
        assert_eq!(run(&check, &[(Axis(0), 3)]).0, Err(Fault::Index { index: 3, limit: 3, axis: 1 }));
        assert_eq!(run(&check, &[(Axis(0), 2)]).0, Ok(Scalar::I64(2)));
    }

    #[test]
    fn an_evaluator_goes_on_after_a_fault_and_rebinds() {
        let quotient = Expr::constant(12i64).binary(BinaryOp::Div, Expr::iota(at(0)));
        let expr = quotient.fold(FoldOp::Sum, [(Axis(1), Dim::known(2))].into());
        let program = Program::new(&expr, &[Axis(0)]);
        let load = |_: u32, _: &[i64]| Ok(Scalar::Bool(false));
        let flat = |_: u32, _: i64| Ok(Scalar::Bool(false));
        let env =
            Env { load: &load, load_flat: &flat, dim: &|dim: &Dim| dim.as_known().unwrap(), fused: false };
        let mut evaluator = Evaluator::new(&program, &env);
        let results: Vec<_> = [3, 0, 4, 3].iter().map(|i| evaluator.at(&[*i])).collect();
        let sum = |x| Ok(Scalar::I64(x));
        assert_eq!(results, [sum(8), Err(Fault::DivideByZero), sum(6), sum(8)]);
    }

    #[test]
    fn depth_is_no_limit() {
        let mut chain = load(&[at(0)]);
        for _ in 0..10_000 {
            let range = InRange { index: at(0), low: 0i64.into(), high: 9i64.into() };
            chain = Expr::case(vec![(vec![range], chain + Expr::constant(1.0f32))], Expr::constant(0.0f32));
        }
        assert_eq!(value(&chain, &[(Axis(0), 1)]), Scalar::F32(10_001.0));
        let mut nest = Expr::iota(at(0));
        for axis in 1..2_000 {
            nest = nest.fold(FoldOp::Sum, [(Axis(axis), Dim::known(1))].into()) + Expr::constant(1i64);
        }
        assert_eq!(value(&nest, &[(Axis(0), 1)]), Scalar::I64(2_000));
    }
}
