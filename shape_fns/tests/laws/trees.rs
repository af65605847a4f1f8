//! Expression trees from which dimensions are built. Evaluation of a tree checks the value of its dimension.

use proptest::prelude::*;
use shapeflow_shape_fns::{Dim, Symbol};

/// The names of the three symbols.
pub(crate) const NAMES: [&str; 3] = ["laws_a", "laws_b", "laws_c"];

/// An expression; `Symbol` holds an index into [`NAMES`].
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Tree {
    Known(i64),
    Symbol(usize),
    Node(Op, Box<Tree>, Box<Tree>),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Op {
    Add,
    Sub,
    Mul,
    FloorDiv,
    CeilDiv,
    Mod,
    Min,
    Max,
    Bcast,
}

pub(crate) fn node(op: Op, a: Tree, b: Tree) -> Tree {
    Tree::Node(op, Box::new(a), Box::new(b))
}

fn leaves() -> impl Strategy<Value = Tree> {
    prop_oneof![
        8 => (-4i64..9).prop_map(Tree::Known),
        8 => (0..NAMES.len()).prop_map(Tree::Symbol),
        1 => prop::sample::select(vec![i64::MIN, i64::MIN + 1, i64::MAX]).prop_map(Tree::Known),
    ]
}

/// Trees of all operations.
pub(crate) fn trees() -> impl Strategy<Value = Tree> {
    let op = prop_oneof![
        3 => Just(Op::Add),
        2 => Just(Op::Sub),
        2 => Just(Op::Mul),
        1 => Just(Op::FloorDiv),
        1 => Just(Op::CeilDiv),
        1 => Just(Op::Mod),
        1 => Just(Op::Min),
        1 => Just(Op::Max),
        1 => Just(Op::Bcast),
    ];
    leaves().prop_recursive(5, 24, 2, move |inner| {
        (op.clone(), inner.clone(), inner).prop_map(|(op, a, b)| node(op, a, b))
    })
}

/// Trees of at most three leaves, so that different trees often have equal forms.
pub(crate) fn small_trees() -> impl Strategy<Value = Tree> {
    let leaf = || prop_oneof![(-2i64..4).prop_map(Tree::Known), (0..2usize).prop_map(Tree::Symbol)];
    let op = || {
        prop::sample::select(vec![
            Op::Add,
            Op::Sub,
            Op::Mul,
            Op::FloorDiv,
            Op::CeilDiv,
            Op::Mod,
            Op::Min,
            Op::Max,
            Op::Bcast,
        ])
    };
    (op(), op(), leaf(), leaf(), leaf(), any::<bool>()).prop_map(|(outer, inner, a, b, c, left)| {
        let inner = node(inner, a, b);
        if left { node(outer, inner, c) } else { node(outer, c, inner) }
    })
}

/// Trees of sums, differences and products.
pub(crate) fn polynomials() -> impl Strategy<Value = Tree> {
    let op = prop_oneof![3 => Just(Op::Add), 2 => Just(Op::Sub), 2 => Just(Op::Mul)];
    leaves().prop_recursive(5, 20, 2, move |inner| {
        (op.clone(), inner.clone(), inner).prop_map(|(op, a, b)| node(op, a, b))
    })
}

/// Returns the dimension of a tree, or `None` if its arithmetic fails.
pub(crate) fn dim_of(tree: &Tree) -> Option<Dim> {
    Some(match tree {
        Tree::Known(value) => Dim::known(*value),
        Tree::Symbol(index) => Dim::symbol(NAMES[*index]),
        Tree::Node(op, a, b) => {
            let (a, b) = (dim_of(a)?, dim_of(b)?);
            match op {
                Op::Add => a.checked_add(&b),
                Op::Sub => a.checked_sub(&b),
                Op::Mul => a.checked_mul(&b),
                Op::FloorDiv => a.floordiv(&b),
                Op::CeilDiv => a.ceil_div(&b),
                Op::Mod => a.modulo(&b),
                Op::Min => a.min(&b),
                Op::Max => a.max(&b),
                Op::Bcast => a.bcast(&b),
            }
            .ok()?
        }
    })
}

/// Returns the value of a tree if every step is defined and fits in 128 bits.
pub(crate) fn value_of(tree: &Tree, values: &[i64]) -> Option<i128> {
    let Tree::Node(op, a, b) = tree else {
        return Some(match tree {
            Tree::Known(value) => (*value).into(),
            Tree::Symbol(index) => values[*index].into(),
            Tree::Node(..) => unreachable!(),
        });
    };
    let (a, b) = (value_of(a, values)?, value_of(b, values)?);
    let floor = |a: i128, b: i128| {
        let quotient = a.checked_div(b)?;
        Some(if a % b != 0 && (a < 0) != (b < 0) { quotient - 1 } else { quotient })
    };
    match op {
        Op::Add => a.checked_add(b),
        Op::Sub => a.checked_sub(b),
        Op::Mul => a.checked_mul(b),
        Op::FloorDiv => floor(a, b),
        Op::CeilDiv => floor(a.checked_neg()?, b)?.checked_neg(),
        Op::Mod => a.checked_sub(b.checked_mul(floor(a, b)?)?),
        Op::Min => Some(a.min(b)),
        Op::Max => Some(a.max(b)),
        Op::Bcast if a == b || b == 1 => Some(a),
        Op::Bcast if a == 1 => Some(b),
        Op::Bcast => None,
    }
}

/// Returns the function that maps a symbol to its value in an assignment.
pub(crate) fn value_in(values: &[i64; 3]) -> impl Fn(Symbol) -> Option<i64> {
    move |symbol| NAMES.iter().position(|name| symbol.name() == Some(name)).map(|index| values[index])
}

pub(crate) fn evaluate(dim: &Dim, values: &[i64; 3]) -> Option<i64> {
    dim.eval(&value_in(values)).ok().flatten()
}

/// Returns all assignments of `0..=max` to the three symbols.
pub(crate) fn assignments(max: i64) -> impl Iterator<Item = [i64; 3]> {
    let count = max + 1;
    (0..count * count * count).map(move |n| [n % count, n / count % count, n / count / count])
}

/// Returns a thousand assignments of small numbers, and some of great numbers.
pub(crate) fn small_and_great_assignments() -> impl Iterator<Item = [i64; 3]> {
    const GREAT: [i64; 4] = [0, 1, 1 << 31, i64::MAX];
    assignments(9).chain(assignments(3).map(|assignment| assignment.map(|index| GREAT[index as usize])))
}
