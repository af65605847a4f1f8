//! Laws of dimensions.

use std::cmp::Ordering;

use proptest::prelude::*;
use shapeflow_shape_fns::{Dim, Guard};

use crate::cases;
use crate::trees::*;

/// Returns another tree of the same polynomial: operands swapped, products expanded, differences written as sums,
/// numbers added and subtracted. Two bits of `choices` select the change of each node.
fn rebuilt(tree: &Tree, choices: &mut u64) -> Tree {
    let choice = *choices & 3;
    *choices = choices.rotate_right(2);
    let Tree::Node(op, a, b) = tree else {
        return match choice {
            0 => node(Op::Sub, node(Op::Add, Tree::Known(5), tree.clone()), Tree::Known(5)),
            1 => node(Op::Mul, tree.clone(), Tree::Known(1)),
            _ => tree.clone(),
        };
    };
    let (x, y) = (rebuilt(a, choices), rebuilt(b, choices));
    match (op, choice) {
        (Op::Add, 0 | 1) => node(Op::Add, y, x),
        (Op::Add, 2) => node(Op::Sub, x, node(Op::Sub, Tree::Known(0), y)),
        (Op::Sub, 0) => node(Op::Add, node(Op::Mul, Tree::Known(-1), y), x),
        (Op::Sub, 1) => node(Op::Sub, Tree::Known(0), node(Op::Sub, y, x)),
        (Op::Mul, 0) => node(Op::Mul, y, x),
        (Op::Mul, _) => match (x, y) {
            (Tree::Node(inner @ (Op::Add | Op::Sub), p, q), y) => {
                node(inner, node(Op::Mul, *p, y.clone()), node(Op::Mul, *q, y))
            }
            (x, Tree::Node(inner @ (Op::Add | Op::Sub), p, q)) => {
                node(inner, node(Op::Mul, x.clone(), *p), node(Op::Mul, x, *q))
            }
            (x, y) => node(Op::Mul, x, y),
        },
        _ => node(*op, x, y),
    }
}

proptest! {
    #![proptest_config(cases(400))]

    #[test]
    fn the_canonical_form_has_the_value_of_the_expression(tree in trees()) {
        let Some(dim) = dim_of(&tree) else { return Ok(()) };
        let bounds = dim.bounds();
        for values in small_and_great_assignments() {
            let Some(expected) = value_of(&tree, &values) else { continue };
            // The canonical form may overflow in an intermediate result where the tree does not, but only for great
            // values.
            match evaluate(&dim, &values) {
                Some(value) => prop_assert_eq!(i128::from(value), expected, "{} at {:?}", &dim, values),
                None => prop_assert!(values.iter().any(|value| *value > 9) || expected.abs() > 1 << 62,
                    "{} has no value at {:?}, {:?} has", &dim, values, &tree),
            }
            prop_assert!(bounds.lower.is_none_or(|lower| lower <= expected), "{} at {:?}: {:?}", &dim, values, bounds);
            prop_assert!(bounds.upper.is_none_or(|upper| upper >= expected), "{} at {:?}: {:?}", &dim, values, bounds);
        }
    }

    #[test]
    fn equal_forms_have_equal_values(trees in prop::collection::vec(small_trees(), 16)) {
        let forms: Vec<(Tree, Dim)> = trees.into_iter().filter_map(|tree| dim_of(&tree).map(|dim| (tree, dim))).collect();
        for (index, (tree, form)) in forms.iter().enumerate() {
            for (other, _) in forms[..index].iter().filter(|(other, same)| same == form && other != tree) {
                for values in assignments(9) {
                    if let (Some(x), Some(y)) = (value_of(tree, &values), value_of(other, &values)) {
                        prop_assert_eq!(x, y, "{:?} and {:?} are {} at {:?}", tree, other, form, values);
                    }
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(cases(1000))]

    #[test]
    fn equal_polynomials_have_equal_forms(tree in polynomials(), choices in any::<u64>()) {
        let other = rebuilt(&tree, &mut choices.clone());
        let (Some(a), Some(b)) = (dim_of(&tree), dim_of(&other)) else { return Ok(()) };
        prop_assert_eq!(&a, &b);
        prop_assert_eq!(a.to_string(), b.to_string());
        prop_assert_eq!(a.same(&b), Some(true));
        prop_assert_eq!(a.compare(&b), Some(Ordering::Equal));
    }

    /// Polynomials of different forms have different values somewhere: the canonical form is unique.
    #[test]
    fn unequal_polynomials_have_unequal_values(a in polynomials(), b in polynomials()) {
        let (Some(x), Some(y)) = (dim_of(&a), dim_of(&b)) else { return Ok(()) };
        let degree = |tree: &Tree| {
            fn degree(tree: &Tree) -> usize {
                match tree {
                    Tree::Node(Op::Mul, a, b) => degree(a) + degree(b),
                    Tree::Node(_, a, b) => degree(a).max(degree(b)),
                    Tree::Symbol(_) => 1,
                    Tree::Known(_) => 0,
                }
            }
            degree(tree)
        };
        // A polynomial that is 0 on a grid wider than its degree is 0 everywhere.
        if degree(&a).max(degree(&b)) > 9 {
            return Ok(());
        }
        let mut differ = false;
        for values in assignments(9) {
            let (Some(p), Some(q)) = (value_of(&a, &values), value_of(&b, &values)) else { return Ok(()) };
            differ |= p != q;
        }
        prop_assert_eq!(x != y, differ, "{} and {}", x, y);
    }

    #[test]
    fn written_dimensions_parse_back(tree in trees()) {
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
        let (lt, le, gt, ge, compare) = (a.lt(&b), a.le(&b), a.gt(&b), a.ge(&b), a.compare(&b));
        prop_assert_eq!((lt, le), (ge.map(|ge| !ge), gt.map(|gt| !gt)));
        let divides = Guard::Divides { divisor: a.clone(), dividend: b.clone() }.decide();
        for values in assignments(4) {
            let (Some(x), Some(y)) = (evaluate(&a, &values), evaluate(&b, &values)) else { continue };
            prop_assert!(same.is_none_or(|same| same == (x == y)), "{} == {} at {:?}", &a, &b, values);
            prop_assert!(at_least.is_none_or(|ge| ge == (x >= y)), "{} >= {} at {:?}", &a, &b, values);
            prop_assert!(ge.is_none_or(|ge| ge == (x >= y)), "{} >= {} at {:?}", &a, &b, values);
            prop_assert!(gt.is_none_or(|gt| gt == (x > y)), "{} > {} at {:?}", &a, &b, values);
            prop_assert!(compare.is_none_or(|order| order == x.cmp(&y)), "{} ? {} at {:?}", &a, &b, values);
            prop_assert!(divides.is_none_or(|d| d == (x != 0 && i128::from(y) % i128::from(x) == 0)), "{} divides {} at {:?}", &a, &b, values);
        }
    }

    /// Substitution and evaluation agree: the value of `t[s := u]` is the value of `t` where `s` has the value of `u`.
    #[test]
    fn substitution_keeps_values(tree in trees(), by in trees()) {
        let (Some(dim), Some(by)) = (dim_of(&tree), dim_of(&by)) else { return Ok(()) };
        let replaced = dim.try_substitute(&mut |symbol| (symbol.name() == Some(NAMES[0])).then(|| by.clone()));
        let Ok(replaced) = replaced else { return Ok(()) };
        for values in assignments(4) {
            let Some(inner) = evaluate(&by, &values).filter(|inner| *inner >= 0) else { continue };
            let Some(expected) = evaluate(&dim, &[inner, values[1], values[2]]) else { continue };
            if let Some(value) = evaluate(&replaced, &values) {
                prop_assert_eq!(value, expected, "{} with {} is {} at {:?}", dim, by, replaced, values);
            }
        }
    }
}

/// A dimension may have 64 terms; more terms are refused.
#[test]
fn terms_are_limited() {
    let sum = |letter: char, count: usize| {
        (0..count)
            .map(|index| Dim::symbol(&format!("limit_{letter}{index}")))
            .try_fold(Dim::known(0), |a, b| a.checked_add(&b))
    };
    let (a, b) = (sum('a', 8).unwrap(), sum('b', 8).unwrap());
    let product = a.checked_mul(&b).unwrap();
    assert_eq!(product.to_string().parse::<Dim>().as_ref(), Ok(&product));
    assert!(sum('a', 9).unwrap().checked_mul(&b).is_err());
    assert!(
        product.checked_add(Dim::known(1)).is_err() && product.checked_sub(&product) == Ok(Dim::known(0))
    );
    assert!(sum('c', 64).is_ok() && sum('c', 65).is_err());
    let nested = (0..40).try_fold(Dim::symbol("limit_n"), |dim, step| {
        (dim + 1).floordiv(Dim::symbol(&format!("limit_d{step}")))
    });
    assert!(nested.is_err());
}
