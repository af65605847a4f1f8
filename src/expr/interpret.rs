//! `Evaluator`: computes the elements of an expression one by one; the reference for every emitter.

use shapeflow_shape_fns::Dim;
use smallvec::SmallVec;

use super::program::{AxisId, DimId, EntryId, ExprProgram, LinearAtom, NumberedIndex, Op, StepId};
#[cfg(test)]
use super::{Axis, Expr};
use super::{ReduceOp, Scalar, eval_binary, eval_bitcast, eval_cast, eval_mul_add, eval_unary};

/// The reason why an element has no value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fault {
    /// A run-time index along axis `axis` is outside `[0, limit)`.
    Index { index: i64, limit: i64, axis: u32 },
    /// An integer division by zero.
    DivideByZero,
    /// A read outside source `source`.
    Outside { source: u32 },
}

/// A read of an element of a source.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum ElementRead {
    /// At an index, one integer per axis.
    At(u32, SmallVec<[i64; 6]>),
    /// At a row-major position.
    Flat(u32, i64),
}

/// Reads the element of a source at an index, one integer per axis.
pub(crate) type Load<'a> = &'a dyn Fn(u32, &[i64]) -> Result<Scalar, Fault>;

/// Reads the element of a source at a row-major position.
pub(crate) type LoadFlat<'a> = &'a dyn Fn(u32, i64) -> Result<Scalar, Fault>;

/// The surroundings of an evaluation: sources, sizes and the rounding of `MulAdd`.
pub(crate) struct Env<'a> {
    pub(crate) load: Load<'a>,
    pub(crate) load_flat: LoadFlat<'a>,
    /// Returns the value of a dimension.
    pub(crate) dim: &'a dyn Fn(&Dim) -> i64,
    /// Whether `MulAdd` rounds once.
    pub(crate) fused: bool,
}

/// Evaluates a [`ExprProgram`] for fixed sizes and sources.
///
/// Evaluation is lazy: a node is computed when its value is needed, once for each combination of values of the axes
/// that the node depends on. Reductions run in row-major order; float sums and products accumulate in `f64` and round
/// once at the end. Index arithmetic wraps as an `i64`.
pub(crate) struct Evaluator<'a> {
    program: &'a ExprProgram,
    env: &'a Env<'a>,
    /// For each dimension of the program: its value.
    dims: Vec<i64>,
    /// For each axis: its current value.
    axes: Vec<i64>,
    /// For each step: the value that it computed last.
    values: Vec<Scalar>,
    /// For each step, the time at which its value was computed.
    computed: Vec<u64>,
    /// For each class, which is a set of axes that a step depends on, the time at which one of these axes last changed.
    changed: Vec<u64>,
    /// A clock that ticks whenever an axis changes.
    now: u64,
    /// The entries under evaluation, the innermost last.
    frames: Vec<EntryFrame>,
    /// The reductions under evaluation, the innermost last.
    reductions: Vec<OpenReduction>,
    /// The step whose value made the evaluation fail. Before a failure, the last load.
    faulty: Option<StepId>,
}

/// An entry of the program under evaluation. An entry is a list of steps; the last step computes the entry's value.
struct EntryFrame {
    entry: EntryId,
    /// The position of the current step in the entry's list.
    position: usize,
}

/// A reduction whose body is under evaluation.
struct OpenReduction {
    /// For each axis of the reduction: its current value.
    counters: SmallVec<[i64; 4]>,
    total: Total,
}

/// The accumulator of a reduction.
enum Total {
    /// A float sum or product.
    Wide(f64),
    /// Any other reduction, in the dtype of the elements.
    Exact(Scalar),
}

impl Total {
    fn start(op: ReduceOp, dtype: shapeflow_shape_fns::DType) -> Total {
        match op {
            ReduceOp::Sum if dtype.is_float() => Total::Wide(-0.0),
            ReduceOp::Prod if dtype.is_float() => Total::Wide(1.0),
            _ => Total::Exact(op.identity(dtype)),
        }
    }

    fn add(&mut self, op: ReduceOp, value: Scalar) {
        match self {
            Total::Wide(total) if op == ReduceOp::Prod => *total *= value.to_f64(),
            Total::Wide(total) => *total += value.to_f64(),
            Total::Exact(total) => *total = op.combine(*total, value),
        }
    }

    fn finish(&self, op: ReduceOp, dtype: shapeflow_shape_fns::DType) -> Scalar {
        match self {
            Total::Wide(total) => eval_cast(op.finish(Scalar::F64(*total)), dtype),
            Total::Exact(total) => op.finish(*total),
        }
    }
}

/// The outcome of working on a step.
enum Outcome {
    Value(Scalar),
    /// The step needs the value of this entry first.
    Enter(EntryId),
}

/// Evaluates one element of `expr`, for the given values of its free axes.
#[cfg(test)]
pub(crate) fn evaluate(expr: &Expr, axes: &[(Axis, i64)], env: &Env<'_>) -> Result<Scalar, Fault> {
    let (names, values): (Vec<Axis>, Vec<i64>) = axes.iter().copied().unzip();
    let mut interner = super::Interner::new();
    let super::StorageForm::Whole(expr) = super::StorageForms::new(&mut interner).of(expr) else {
        panic!("`Scalar` cannot hold a complex number");
    };
    Evaluator::new(&ExprProgram::new(&expr, &names), env).element(&values)
}

/// Evaluates an expression that has no loads, sizes or axes. `MulAdd` rounds once.
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
    /// Makes an evaluator of `program` in `env`.
    pub(crate) fn new(program: &'a ExprProgram, env: &'a Env<'a>) -> Evaluator<'a> {
        Evaluator {
            program,
            env,
            dims: program.dims.iter().map(env.dim).collect(),
            axes: vec![0; program.axes],
            values: vec![Scalar::Bool(false); program.steps.len()],
            computed: vec![0; program.steps.len()],
            changed: vec![1; program.classes],
            now: 1,
            frames: Vec::new(),
            reductions: Vec::new(),
            faulty: None,
        }
    }

    /// Returns the read that gave the value that made the evaluation fail. Casts, arithmetic and a selection may lie
    /// between the read and the value.
    pub(crate) fn faulty_read(&self) -> Option<ElementRead> {
        let mut stack = vec![self.faulty?];
        while let Some(step) = stack.pop() {
            match &self.program.steps[step as usize].op {
                Op::Load { source, index } => {
                    return Some(ElementRead::At(
                        *source,
                        index.iter().map(|index| self.linear(index)).collect(),
                    ));
                }
                Op::LoadFlat { source, position } => {
                    return Some(ElementRead::Flat(*source, self.linear(position)));
                }
                Op::Unary(_, a) | Op::Cast(a) | Op::Bitcast(a) | Op::CheckIndex { value: a, .. } => {
                    stack.push(*a);
                }
                Op::Binary(_, a, b) => stack.extend([*b, *a]),
                Op::MulAdd(a, b, c) => stack.extend([*c, *b, *a]),
                Op::Select(a, b, c) => {
                    let chosen = self.values[*a as usize] == Scalar::Bool(true);
                    stack.push(if chosen { *b } else { *c });
                }
                Op::Const(_) | Op::Size(_) | Op::Iota(_) | Op::Case(..) | Op::Reduce { .. } => {}
            }
        }
        None
    }

    /// Evaluates the element at the given values of the program's outer axes. Missing values are 0.
    pub(crate) fn element(&mut self, axes: &[i64]) -> Result<Scalar, Fault> {
        for axis in 0..self.program.outer {
            self.bind(axis as AxisId, axes.get(axis).copied().unwrap_or(0));
        }
        self.frames.clear();
        self.reductions.clear();
        self.run()
    }

    /// Gives `axis` a value. A new value invalidates the steps that depend on `axis`.
    fn bind(&mut self, axis: AxisId, value: i64) {
        if self.axes[axis as usize] != value {
            self.axes[axis as usize] = value;
            self.now += 1;
            for class in &self.program.classes_of[axis as usize] {
                self.changed[*class as usize] = self.now;
            }
        }
    }

    /// Returns whether `step` has a value for the current axes.
    fn is_known(&self, step: StepId) -> bool {
        let class = self.program.steps[step as usize].class;
        self.computed[step as usize] >= self.changed[class as usize]
    }

    fn set(&mut self, step: StepId, value: Scalar) {
        self.values[step as usize] = value;
        self.computed[step as usize] = self.now;
    }

    /// Returns the last step of an entry and its value, which is the value of the entry.
    fn result(&self, entry: EntryId) -> (StepId, Scalar) {
        let target = self.program.entries[entry as usize].last().copied().unwrap_or(0);
        (target, self.values[target as usize])
    }

    fn run(&mut self) -> Result<Scalar, Fault> {
        let program = self.program;
        self.frames.push(EntryFrame { entry: program.root, position: 0 });
        while let Some(frame) = self.frames.last() {
            let list = &program.entries[frame.entry as usize];
            let Some(step) = list.get(frame.position).copied() else {
                let (_, value) = self.result(frame.entry);
                self.frames.pop();
                if let Some(parent) = self.frames.last() {
                    let waiting = program.entries[parent.entry as usize][parent.position];
                    let outcome = self.resume(waiting, value);
                    self.apply_outcome(waiting, outcome);
                }
                continue;
            };
            if self.is_known(step) {
                if let Some(frame) = self.frames.last_mut() {
                    frame.position += 1;
                }
                continue;
            }
            let outcome = self.start(step)?;
            self.apply_outcome(step, outcome);
        }
        Ok(self.result(program.root).1)
    }

    /// Stores the value of `step`, or opens the entry that `step` needs.
    fn apply_outcome(&mut self, step: StepId, outcome: Outcome) {
        match outcome {
            Outcome::Value(value) => {
                self.set(step, value);
                if let Some(frame) = self.frames.last_mut() {
                    frame.position += 1;
                }
            }
            Outcome::Enter(entry) => self.frames.push(EntryFrame { entry, position: 0 }),
        }
    }

    /// Evaluates a step whose operands are known.
    fn start(&mut self, step: StepId) -> Result<Outcome, Fault> {
        let program = self.program;
        let dtype = program.steps[step as usize].dtype;
        let value = |operand: &StepId| self.values[*operand as usize];
        Ok(Outcome::Value(match &program.steps[step as usize].op {
            Op::Const(value) => *value,
            Op::Size(dim) => Scalar::I64(self.dims[*dim as usize]),
            Op::Iota(index) => Scalar::I64(self.linear(index)),
            Op::Load { source, index } => {
                let index: SmallVec<[i64; 6]> = index.iter().map(|index| self.linear(index)).collect();
                self.faulty = Some(step);
                (self.env.load)(*source, &index)?
            }
            Op::LoadFlat { source, position } => {
                self.faulty = Some(step);
                (self.env.load_flat)(*source, self.linear(position))?
            }
            Op::Unary(op, a) => eval_unary(*op, value(a)),
            Op::Binary(op, a, b) => match eval_binary(*op, value(a), value(b)) {
                Some(value) => value,
                None => {
                    self.faulty = Some(*b);
                    return Err(Fault::DivideByZero);
                }
            },
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
                    self.faulty = Some(*a);
                    return Err(Fault::Index { index, limit, axis: *axis });
                }
                Scalar::I64(index)
            }
            Op::Case(arms, otherwise) => {
                let holds = |range: &super::program::NumberedRange| {
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
            Op::Reduce { op, axes, body } => {
                let total = Total::start(*op, dtype);
                if axes.iter().any(|(_, extent)| self.dims[*extent as usize] <= 0) {
                    return Ok(Outcome::Value(total.finish(*op, dtype)));
                }
                self.reductions.push(OpenReduction { counters: SmallVec::from_elem(0, axes.len()), total });
                axes.iter().for_each(|(axis, _)| self.bind(*axis, 0));
                return Ok(Outcome::Enter(*body));
            }
        }))
    }

    /// Continues a step with `value`, the value of the entry that the step opened.
    fn resume(&mut self, step: StepId, value: Scalar) -> Outcome {
        let program = self.program;
        let Op::Reduce { op, axes, body } = &program.steps[step as usize].op else {
            return Outcome::Value(value);
        };
        let Some(running) = self.reductions.last_mut() else { return Outcome::Value(value) };
        running.total.add(*op, value);
        if let Some(position) = advance(&mut running.counters, axes, &self.dims) {
            let moved: SmallVec<[i64; 4]> = SmallVec::from_slice(&running.counters[position..]);
            for ((axis, _), counter) in axes[position..].iter().zip(moved) {
                self.bind(*axis, counter);
            }
            return Outcome::Enter(*body);
        }
        let finished = running.total.finish(*op, program.steps[step as usize].dtype);
        self.reductions.pop();
        Outcome::Value(finished)
    }

    /// Computes the value of an index.
    fn linear(&self, index: &NumberedIndex) -> i64 {
        let mut sum = self.dims[index.constant as usize];
        for (atom, coefficient) in &index.terms {
            let value = match atom {
                LinearAtom::Axis(axis) => self.axes[*axis as usize],
                LinearAtom::FloorDiv(inner, divisor) => {
                    self.linear(inner).checked_div_euclid(self.dims[*divisor as usize]).unwrap_or(0)
                }
                LinearAtom::Mod(inner, divisor) => {
                    self.linear(inner).checked_rem_euclid(self.dims[*divisor as usize]).unwrap_or(0)
                }
                LinearAtom::Value(step) => self.values[*step as usize].to_i64(),
            };
            sum = sum.wrapping_add(value.wrapping_mul(self.dims[*coefficient as usize]));
        }
        sum
    }
}

/// Advances the counters in row-major order. Returns the position of the first counter that changed; `None` after the
/// last element.
fn advance(counters: &mut [i64], axes: &[(AxisId, DimId)], dims: &[i64]) -> Option<usize> {
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
mod tests;
