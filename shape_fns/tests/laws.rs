//! Laws of dimensions, shapes and tables, on random terms and all small values of their symbols.

use proptest::prelude::*;
use shapeflow_shape_fns::{Dim, DimTable, Guard, Symbol, TensorShape};

/// An expression built beside its dimension, so that both can be evaluated.
#[derive(Clone, Debug)]
enum Tree {
    Known(i64),
    Symbol(usize),
    Node(Op, Box<Tree>, Box<Tree>),
}

#[derive(Clone, Copy, Debug)]
enum Op {
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

const NAMES: [&str; 3] = ["laws_a", "laws_b", "laws_c"];

fn trees() -> impl Strategy<Value = Tree> {
    let leaf = prop_oneof![(-4i64..9).prop_map(Tree::Known), (0..NAMES.len()).prop_map(Tree::Symbol)];
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
    leaf.prop_recursive(5, 24, 2, move |inner| {
        (op.clone(), inner.clone(), inner).prop_map(|(op, a, b)| Tree::Node(op, Box::new(a), Box::new(b)))
    })
}

fn dim_of(tree: &Tree) -> Option<Dim> {
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

/// The value, where every step is defined.
fn value_of(tree: &Tree, values: &[i64]) -> Option<i128> {
    Some(match tree {
        Tree::Known(value) => (*value).into(),
        Tree::Symbol(index) => values[*index].into(),
        Tree::Node(op, a, b) => {
            let (a, b) = (value_of(a, values)?, value_of(b, values)?);
            let floor = |a: i128, b: i128| {
                let quotient = a.checked_div(b)?;
                Some(if a % b != 0 && (a < 0) != (b < 0) { quotient - 1 } else { quotient })
            };
            match op {
                Op::Add => a + b,
                Op::Sub => a - b,
                Op::Mul => a * b,
                Op::FloorDiv | Op::CeilDiv | Op::Mod if b == 0 => return None,
                Op::FloorDiv => floor(a, b)?,
                Op::CeilDiv => -floor(-a, b)?,
                Op::Mod => a - b * floor(a, b)?,
                Op::Min => a.min(b),
                Op::Max => a.max(b),
                Op::Bcast if a == b || b == 1 => a,
                Op::Bcast if a == 1 => b,
                Op::Bcast => return None,
            }
        }
    })
}

fn evaluate(dim: &Dim, values: &[i64]) -> Option<i64> {
    let value =
        |symbol: Symbol| NAMES.iter().position(|name| symbol.name() == Some(name)).map(|at| values[at]);
    dim.eval(&value).ok().flatten()
}

/// All assignments of `0..=most` to the three symbols.
fn assignments(most: i64) -> impl Iterator<Item = [i64; 3]> {
    let count = most + 1;
    (0..count * count * count).map(move |n| [n % count, n / count % count, n / count / count])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn the_canonical_form_has_the_value_of_the_expression(tree in trees()) {
        let Some(dim) = dim_of(&tree) else { return Ok(()) };
        let bounds = dim.bounds();
        for values in assignments(6) {
            let Some(expected) = value_of(&tree, &values) else { continue };
            prop_assert_eq!(evaluate(&dim, &values).map(i128::from), Some(expected), "{} at {:?}", &dim, values);
            prop_assert!(bounds.lower.is_none_or(|lower| lower <= expected), "{} at {:?}: {:?}", &dim, values, bounds);
            prop_assert!(bounds.upper.is_none_or(|upper| upper >= expected), "{} at {:?}: {:?}", &dim, values, bounds);
        }
    }

    #[test]
    fn what_is_written_reads_back(tree in trees()) {
        let Some(dim) = dim_of(&tree) else { return Ok(()) };
        let read: Dim = dim.to_string().parse().map_err(|error| TestCaseError::fail(format!("{dim}: {error}")))?;
        prop_assert_eq!(&read, &dim);
        prop_assert_eq!(read.to_string(), dim.to_string());
    }

    #[test]
    fn sums_and_products_have_one_form(a in trees(), b in trees(), c in trees()) {
        let (Some(a), Some(b), Some(c)) = (dim_of(&a), dim_of(&b), dim_of(&c)) else { return Ok(()) };
        if let (Ok(left), Ok(right)) = (
            a.checked_add(&b).and_then(|ab| ab.checked_add(&c)),
            c.checked_add(&b).and_then(|cb| cb.checked_add(&a)),
        ) {
            prop_assert_eq!(left, right);
        }
        if let (Ok(left), Ok(right)) = (
            b.checked_add(&c).and_then(|bc| a.checked_mul(&bc)),
            a.checked_mul(&b).and_then(|ab| a.checked_mul(&c).and_then(|ac| ab.checked_add(&ac))),
        ) {
            prop_assert_eq!(left, right);
        }
        if let Ok(none) = a.checked_sub(&a) {
            prop_assert_eq!(none, Dim::known(0));
        }
    }

    #[test]
    fn lattice_functions_commute_and_are_idempotent(a in trees(), b in trees()) {
        let (Some(a), Some(b)) = (dim_of(&a), dim_of(&b)) else { return Ok(()) };
        for function in [Dim::min, Dim::max, Dim::bcast] {
            prop_assert_eq!(function(&a, &b).ok(), function(&b, &a).ok());
            prop_assert_eq!(function(&a, &a).ok(), Some(a.clone()));
        }
    }

    #[test]
    fn three_valued_comparison_is_right(a in trees(), b in trees()) {
        let (Some(a), Some(b)) = (dim_of(&a), dim_of(&b)) else { return Ok(()) };
        let (same, at_least) = (a.same(&b), Guard::Ge(a.clone(), b.clone()).decide());
        let divides = Guard::Divides { divisor: a.clone(), dividend: b.clone() }.decide();
        for values in assignments(5) {
            let (Some(x), Some(y)) = (evaluate(&a, &values), evaluate(&b, &values)) else { continue };
            prop_assert!(same.is_none_or(|same| same == (x == y)), "{} == {} at {:?}", &a, &b, values);
            prop_assert!(at_least.is_none_or(|ge| ge == (x >= y)), "{} >= {} at {:?}", &a, &b, values);
            prop_assert!(divides.is_none_or(|d| d == (x != 0 && y % x == 0)), "{} divides {} at {:?}", &a, &b, values);
        }
    }

    /// What a table records of some requirements holds for exactly the values for which they hold.
    #[test]
    fn a_table_says_what_was_required(pairs in prop::collection::vec((trees(), trees(), 0..4u8), 1..4)) {
        let mut table = DimTable::new();
        let mut required = Vec::new();
        let mut refused = false;
        for (a, b, kind) in &pairs {
            let (Some(a), Some(b)) = (dim_of(a), dim_of(b)) else { return Ok(()) };
            let guard = match kind {
                0 | 1 => Guard::Eq(a, b),
                2 => Guard::Ge(a, b),
                _ => Guard::OneOrEqual(a, b),
            };
            required.push(guard.clone());
            refused |= table.require(guard).is_err();
            if refused {
                break;
            }
        }
        for values in assignments(7) {
            let value = |symbol: Symbol| NAMES.iter().position(|name| symbol.name() == Some(name)).map(|at| values[at]);
            let asked: Option<Vec<bool>> = required.iter().map(|guard| guard.check(&value).ok().flatten()).collect();
            let Some(asked) = asked else { continue };
            let holds = asked.into_iter().all(|holds| holds);
            if refused {
                prop_assert!(!holds, "{:?} is refused and holds at {:?}", required, values);
                continue;
            }
            let equal = table.equalities().iter().all(|equality| {
                Dim::from(equality.symbol).eval(&value).ok() == equality.dim.eval(&value).ok()
            });
            let guarded = table.guards().iter().all(|record| record.guard.check(&value) == Ok(Some(true)));
            prop_assert_eq!(equal && guarded, holds, "{:?} at {:?}: {:?}", required, values, table);
        }
    }

    #[test]
    fn a_rollback_forgets_all(before in trees(), a in trees(), b in trees()) {
        let (Some(before), Some(a), Some(b)) = (dim_of(&before), dim_of(&a), dim_of(&b)) else { return Ok(()) };
        let mut table = DimTable::new();
        if table.merge(&before, &Dim::symbol(NAMES[1])).is_err() {
            return Ok(());
        }
        let (resolved, guards) = (table.resolve(&a), table.guards().to_vec());
        let mark = table.begin();
        let outcome = table.merge(&a, &b).is_ok();
        table.rollback(mark);
        prop_assert_eq!(table.resolve(&a), resolved);
        prop_assert_eq!(table.guards(), guards);
        prop_assert_eq!(table.merge(&a, &b).is_ok(), outcome);
    }

    #[test]
    fn merging_shapes_commutes(a in shapes(), b in shapes(), c in shapes()) {
        let known = |shape: &TensorShape| shape.dims().map(|dims| dims.iter().map(Dim::as_known).collect::<Vec<_>>());
        let (left, right) = (a.merge_with(&b), b.merge_with(&a));
        prop_assert_eq!(left.as_ref().ok().map(known), right.as_ref().ok().map(known));
        prop_assert_eq!(left.is_ok(), a.is_compatible_with(&b));
        prop_assert_eq!(a.merge_with(&a), Ok(a.clone()));
        if let (Ok(ab), Ok(bc)) = (left, b.merge_with(&c)) {
            prop_assert_eq!(ab.merge_with(&c).ok().as_ref().map(known), a.merge_with(&bc).ok().as_ref().map(known));
        }
    }
}

fn shapes() -> impl Strategy<Value = TensorShape> {
    let dim = prop_oneof![Just("?".to_owned()), (0..3i64).prop_map(|value| value.to_string())];
    prop_oneof![
        1 => Just("?".to_owned()),
        6 => prop::collection::vec(dim, 0..4).prop_map(|dims| format!("[{}]", dims.join(", "))),
    ]
    .prop_map(|text| text.parse().unwrap())
}

/// Equalities chained as long as a graph neither exhaust the stack nor slow down.
#[test]
fn a_long_chain_of_equalities_resolves() {
    let mut table = DimTable::new();
    let count = 200_000;
    let symbols: Vec<Dim> = (0..count).map(|_| table.fresh(shapeflow_shape_fns::SymbolKind::Size)).collect();
    for pair in symbols.windows(2).rev() {
        table.merge(&pair[0], &pair[1]).unwrap();
    }
    assert_eq!(table.merge(&symbols[count - 1], &Dim::known(7)), Ok(Dim::known(7)));
    assert!(symbols.iter().step_by(997).all(|symbol| table.resolve(symbol) == Dim::known(7)));
    let terms: Vec<Dim> = (0..count).map(|_| table.fresh(shapeflow_shape_fns::SymbolKind::Size)).collect();
    for pair in terms.windows(2) {
        table.merge(&pair[1], &(&pair[0] + 1)).unwrap();
    }
    assert_eq!(table.resolve(&terms[count - 1]), &terms[0] + (count as i64 - 1));
}
