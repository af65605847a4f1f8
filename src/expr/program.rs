//! `ExprProgram`: an expression flattened into numbered steps, so that evaluating many elements is cheap.

use rustc_hash::FxHashMap;
use shapeflow_shape_fns::Dim;
use smallvec::SmallVec;

use super::rename::without_shadowing;
use super::{Atom, Axis, BinaryOp, Expr, ExprKind, Index, ReduceOp, Scalar, UnaryOp, post_order};

/// The number of a step, one per node. Children have smaller numbers than their parents.
pub(super) type StepId = u32;
/// The number of an entry, a list of steps that are evaluated together.
pub(super) type EntryId = u32;
/// The number of a dimension. Dimensions are evaluated once per [`Evaluator`](super::Evaluator).
pub(super) type DimId = u32;
/// The number of an axis. The outer axes come first, in the caller's order.
pub(super) type AxisId = u32;

/// An [`Index`] that refers to axes, dimensions and steps by number.
pub(super) struct NumberedIndex {
    pub(super) constant: DimId,
    pub(super) terms: Box<[(LinearAtom, DimId)]>,
}

/// An [`Atom`] that refers to axes, dimensions and steps by number.
pub(super) enum LinearAtom {
    Axis(AxisId),
    FloorDiv(Box<NumberedIndex>, DimId),
    Mod(Box<NumberedIndex>, DimId),
    Value(StepId),
}

/// An [`InRange`](super::InRange) that refers to dimensions by number.
pub(super) struct NumberedRange {
    pub(super) index: NumberedIndex,
    pub(super) low: DimId,
    pub(super) high: DimId,
}

/// The operation of a step, an [`ExprKind`] that refers to its operands by number.
pub(super) enum Op {
    Const(Scalar),
    Size(DimId),
    Iota(NumberedIndex),
    Load { source: u32, index: Box<[NumberedIndex]> },
    LoadFlat { source: u32, position: NumberedIndex },
    Unary(UnaryOp, StepId),
    Binary(BinaryOp, StepId, StepId),
    MulAdd(StepId, StepId, StepId),
    Select(StepId, StepId, StepId),
    Cast(StepId),
    Bitcast(StepId),
    Case(Box<[(Box<[NumberedRange]>, EntryId)]>, EntryId),
    Reduce { op: ReduceOp, axes: Box<[(AxisId, DimId)]>, body: EntryId },
    CheckIndex { value: StepId, limit: DimId, axis: u32 },
}

pub(super) struct ExprStep {
    pub(super) op: Op,
    pub(super) dtype: shapeflow_shape_fns::DType,
    /// The class: the number of the set of axes that the value depends on.
    pub(super) class: u32,
}

/// A flattened expression.
///
/// The root, each arm of a `Case` and each body of a `Reduce` is an entry: the list of steps that its value always
/// needs. A step may be in several lists; the first list that runs evaluates the step. The value of a step stays valid
/// until an axis of the step's class changes.
pub(crate) struct ExprProgram {
    pub(super) steps: Vec<ExprStep>,
    /// The step numbers of each entry, ascending. The last step computes the value of the entry.
    pub(super) entries: Vec<Box<[StepId]>>,
    pub(super) root: EntryId,
    /// The dimensions that each [`DimId`] numbers.
    pub(super) dims: Vec<Dim>,
    /// The number of axes.
    pub(super) axes: usize,
    /// The number of outer axes, which are the free axes of the expression.
    pub(super) outer: usize,
    /// For each axis, the classes that contain it.
    pub(super) classes_of: Vec<Vec<u32>>,
    /// The number of classes.
    pub(super) classes: usize,
}

impl ExprProgram {
    /// Flattens `root`, which is in its storage form and whose free axes are `outer`. An axis that is neither bound nor
    /// in `outer` has the value 0.
    pub(crate) fn new(root: &Expr, outer: &[Axis]) -> ExprProgram {
        let mut builder = ProgramBuilder::default();
        for axis in outer {
            builder.axis(*axis);
        }
        let outer_axes = builder.axes.len();
        let root = &without_shadowing(root, outer);
        let order = post_order([root]);
        for (number, expr) in order.iter().enumerate() {
            builder.numbers.insert(expr.address(), number as StepId);
        }
        for expr in &order {
            let (op, depends) = builder.op(expr);
            let class = builder.class(depends);
            builder.steps.push(ExprStep { op, dtype: expr.dtype(), class });
        }
        let root = builder.entry(root);
        builder.finish(root, outer_axes)
    }
}

/// A sorted set of axes.
type AxisSet = SmallVec<[AxisId; 6]>;

#[derive(Default)]
struct ProgramBuilder {
    steps: Vec<ExprStep>,
    /// The step of each node, by the address of the node.
    numbers: FxHashMap<usize, StepId>,
    /// The step that computes the value of each entry.
    targets: Vec<StepId>,
    entry_of: FxHashMap<StepId, EntryId>,
    dims: Vec<Dim>,
    dim_of: FxHashMap<Dim, DimId>,
    axes: FxHashMap<Axis, AxisId>,
    /// For each class: its axes.
    classes: Vec<AxisSet>,
    class_of: FxHashMap<AxisSet, u32>,
}

impl ProgramBuilder {
    fn axis(&mut self, axis: Axis) -> AxisId {
        let next = self.axes.len() as AxisId;
        *self.axes.entry(axis).or_insert(next)
    }

    fn dim(&mut self, dim: &Dim) -> DimId {
        if let Some(known) = self.dim_of.get(dim) {
            return *known;
        }
        let number = self.dims.len() as DimId;
        self.dims.push(dim.clone());
        self.dim_of.insert(dim.clone(), number);
        number
    }

    fn number(&self, expr: &Expr) -> StepId {
        // The node has a number: `new` numbers every node before it builds steps.
        self.numbers[&expr.address()]
    }

    fn entry(&mut self, expr: &Expr) -> EntryId {
        let target = self.number(expr);
        let next = self.targets.len() as EntryId;
        let entry = *self.entry_of.entry(target).or_insert(next);
        if entry == next {
            self.targets.push(target);
        }
        entry
    }

    fn class(&mut self, depends: AxisSet) -> u32 {
        if let Some(known) = self.class_of.get(&depends) {
            return *known;
        }
        let number = self.classes.len() as u32;
        self.classes.push(depends.clone());
        self.class_of.insert(depends, number);
        number
    }

    /// Returns the number of a child, and adds the axes that the child depends on to `depends`.
    fn child(&mut self, expr: &Expr, depends: &mut AxisSet) -> StepId {
        let number = self.number(expr);
        join(depends, &self.classes[self.steps[number as usize].class as usize]);
        number
    }

    fn linear(&mut self, index: &Index, depends: &mut AxisSet) -> NumberedIndex {
        let constant = self.dim(&index.constant);
        let terms = index.terms.iter().map(|(atom, coefficient)| {
            let atom = match atom {
                Atom::Axis(axis) => {
                    let axis = self.axis(*axis);
                    join(depends, &[axis]);
                    LinearAtom::Axis(axis)
                }
                Atom::FloorDiv(inner, divisor) => {
                    LinearAtom::FloorDiv(Box::new(self.linear(inner, depends)), self.dim(divisor))
                }
                // A broadcast index is below the size unless the size is 1, so the remainder equals the broadcast.
                Atom::Mod(inner, divisor) | Atom::Broadcast(inner, divisor) => {
                    LinearAtom::Mod(Box::new(self.linear(inner, depends)), self.dim(divisor))
                }
                Atom::Value(expr) => LinearAtom::Value(self.child(expr, depends)),
            };
            (atom, self.dim(coefficient))
        });
        NumberedIndex { constant, terms: terms.collect() }
    }

    fn op(&mut self, expr: &Expr) -> (Op, AxisSet) {
        let mut depends = AxisSet::new();
        let on = &mut depends;
        let op = match expr.kind() {
            ExprKind::Const(value) => Op::Const(*value),
            ExprKind::Size(dim) => Op::Size(self.dim(dim)),
            ExprKind::Iota(index) => Op::Iota(self.linear(index, on)),
            ExprKind::Load { source, index } => Op::Load {
                source: *source,
                index: index.iter().map(|index| self.linear(index, on)).collect(),
            },
            ExprKind::LoadFlat { source, position } => {
                Op::LoadFlat { source: *source, position: self.linear(position, on) }
            }
            ExprKind::Unary(op, a) => Op::Unary(*op, self.child(a, on)),
            ExprKind::Binary(op, a, b) => Op::Binary(*op, self.child(a, on), self.child(b, on)),
            ExprKind::MulAdd(a, b, c) => Op::MulAdd(self.child(a, on), self.child(b, on), self.child(c, on)),
            ExprKind::Select(a, b, c) => Op::Select(self.child(a, on), self.child(b, on), self.child(c, on)),
            ExprKind::Cast(a) => Op::Cast(self.child(a, on)),
            ExprKind::Bitcast(a) => Op::Bitcast(self.child(a, on)),
            ExprKind::Case(arms, otherwise) => {
                let arms = arms.iter().map(|(ranges, value)| {
                    let ranges = ranges.iter().map(|range| NumberedRange {
                        index: self.linear(&range.index, on),
                        low: self.dim(&range.low),
                        high: self.dim(&range.high),
                    });
                    let ranges = ranges.collect();
                    self.child(value, on);
                    (ranges, self.entry(value))
                });
                let arms = arms.collect();
                self.child(otherwise, on);
                Op::Case(arms, self.entry(otherwise))
            }
            ExprKind::Reduce { op, axes, body } => {
                let axes: Box<[_]> =
                    axes.iter().map(|(axis, extent)| (self.axis(*axis), self.dim(extent))).collect();
                self.child(body, on);
                on.retain(|axis| !axes.iter().any(|(bound, _)| bound == axis));
                Op::Reduce { op: *op, axes, body: self.entry(body) }
            }
            ExprKind::Complex(..) | ExprKind::Part(..) => {
                unreachable!("an expression is in its storage form before it becomes a program")
            }
            ExprKind::CheckIndex { value, limit, axis } => {
                Op::CheckIndex { value: self.child(value, on), limit: self.dim(limit), axis: *axis }
            }
        };
        (op, depends)
    }

    fn finish(self, root: EntryId, outer: usize) -> ExprProgram {
        let mut needed = vec![EntryId::MAX; self.steps.len()];
        let entries = self.targets.iter().enumerate().map(|(entry, target)| {
            let (mut list, mut stack) = (Vec::new(), vec![*target]);
            while let Some(step) = stack.pop() {
                if std::mem::replace(&mut needed[step as usize], entry as EntryId) != entry as EntryId {
                    list.push(step);
                    operands_needed(&self.steps[step as usize].op, &mut stack);
                }
            }
            list.sort_unstable();
            list.into_boxed_slice()
        });
        let entries = entries.collect();
        let mut classes_of = vec![Vec::new(); self.axes.len()];
        for (class, depends) in self.classes.iter().enumerate() {
            for axis in depends {
                classes_of[*axis as usize].push(class as u32);
            }
        }
        ExprProgram {
            steps: self.steps,
            entries,
            root,
            dims: self.dims,
            axes: self.axes.len(),
            outer,
            classes_of,
            classes: self.classes.len(),
        }
    }
}

/// Adds the axes of `more` to the sorted set `set`.
fn join(set: &mut AxisSet, more: &[AxisId]) {
    for axis in more {
        if let Err(position) = set.binary_search(axis) {
            set.insert(position, *axis);
        }
    }
}

/// Adds the steps that `op` needs before it starts. Arms of a case and bodies of reductions start later.
fn operands_needed(op: &Op, needed: &mut Vec<StepId>) {
    match op {
        Op::Const(_) | Op::Size(_) | Op::Reduce { .. } => {}
        Op::Iota(index) | Op::LoadFlat { position: index, .. } => values_needed(index, needed),
        Op::Load { index, .. } => index.iter().for_each(|index| values_needed(index, needed)),
        Op::Unary(_, a) | Op::Cast(a) | Op::Bitcast(a) | Op::CheckIndex { value: a, .. } => needed.push(*a),
        Op::Binary(_, a, b) => needed.extend([*a, *b]),
        Op::MulAdd(a, b, c) | Op::Select(a, b, c) => needed.extend([*a, *b, *c]),
        Op::Case(arms, _) => {
            let ranges = arms.iter().flat_map(|(ranges, _)| ranges.iter());
            ranges.for_each(|range| values_needed(&range.index, needed));
        }
    }
}

fn values_needed(index: &NumberedIndex, needed: &mut Vec<StepId>) {
    for (atom, _) in &index.terms {
        match atom {
            LinearAtom::Axis(_) => {}
            LinearAtom::FloorDiv(inner, _) | LinearAtom::Mod(inner, _) => values_needed(inner, needed),
            LinearAtom::Value(step) => needed.push(*step),
        }
    }
}
