//! Laws of shapes.

use std::sync::LazyLock;

use proptest::prelude::*;
use shapeflow_shape_fns::{Dim, Symbol, TensorShape};

use crate::cases;

/// Dimensions that shapes are made of. Anonymous ones are the same in all shapes.
static DIMS: LazyLock<Vec<Dim>> = LazyLock::new(|| {
    let unknown: TensorShape = "[?0, ?1, ?2, ?0+0, ?1+0, ?2+0]".parse().unwrap();
    let mut dims: Vec<Dim> = [0, 1, 2, 3].map(Dim::known).to_vec();
    dims.extend(unknown.dims().unwrap()[..3].iter().cloned());
    dims.extend(["n", "m", "k"].map(Dim::symbol));
    dims.extend(
        ["4*n", "n+1", "floordiv(m, 2)", "bcast(n, m)", "n*m", "9223372036854775807"]
            .map(|text| text.parse().unwrap()),
    );
    dims
});

/// How many of [`DIMS`] are numbers or symbols.
const PLAIN: usize = 10;

fn shapes_of(kinds: usize, ranks: std::ops::Range<usize>) -> impl Strategy<Value = TensorShape> {
    prop_oneof![
        1 => Just(TensorShape::unranked()),
        9 => prop::collection::vec(0..kinds, ranks).prop_map(|dims| dims.into_iter().map(|at| &DIMS[at]).collect()),
    ]
}

/// Shapes of all dimensions, some of 300 axes.
fn shapes() -> impl Strategy<Value = TensorShape> {
    prop_oneof![
        12 => shapes_of(DIMS.len(), 0..5),
        1 => shapes_of(DIMS.len(), 300..301),
    ]
}

/// Shapes of numbers and symbols.
fn plain_shapes() -> impl Strategy<Value = TensorShape> {
    prop_oneof![12 => shapes_of(PLAIN, 0..4), 1 => shapes_of(PLAIN, 300..301)]
}

/// The shape with its symbols numbered by first appearance: what it says up to the choice of symbols.
fn pattern(shape: &TensorShape) -> TensorShape {
    let mut seen: Vec<Symbol> = Vec::new();
    shape.substitute(&mut |symbol| {
        let at = seen.iter().position(|other| *other == symbol).unwrap_or_else(|| {
            seen.push(symbol);
            seen.len() - 1
        });
        Some(Dim::symbol(&format!("pattern_{at}")))
    })
}

/// The shape with symbols that no other shape has.
fn own_symbols(shape: &TensorShape, owner: &str) -> TensorShape {
    shape.substitute(&mut |symbol| {
        let at = DIMS.iter().position(|dim| dim.as_symbol() == Some(symbol));
        Some(Dim::symbol(&format!("own_{owner}_{}", at.unwrap_or(DIMS.len()))))
    })
}

/// The shape for values of its symbols, where it has one.
fn concrete(shape: &TensorShape, values: &[i64; 6]) -> Option<Vec<i64>> {
    let value = |symbol: Symbol| {
        DIMS[4..PLAIN].iter().position(|dim| dim.as_symbol() == Some(symbol)).map(|at| values[at])
    };
    shape.dims()?.iter().map(|dim| dim.eval(&value).ok().flatten()).collect()
}

fn is_plain(shape: &TensorShape) -> bool {
    shape.dims().unwrap_or_default().iter().all(|dim| dim.is_known() || dim.as_symbol().is_some())
}

proptest! {
    #![proptest_config(cases(200))]

    #[test]
    fn compatibility_is_reflexive_and_symmetric(a in shapes(), b in shapes()) {
        prop_assert!(a.is_compatible_with(&a));
        prop_assert_eq!(a.is_compatible_with(&b), b.is_compatible_with(&a));
        prop_assert!(a.is_compatible_with(&TensorShape::unranked()));
        prop_assert_eq!(a.same(&b) == Some(true), b.definitely_equals(&a));
        prop_assert!(a.same(&b) != Some(true) || a.is_compatible_with(&b));
        prop_assert!(a != b || a.equals_v2(&b));
        prop_assert_eq!(a.has_same_rank(&b), a.assert_same_rank(&b).is_ok());
    }

    #[test]
    fn merging_commutes_and_is_idempotent(a in shapes(), b in shapes()) {
        let (left, right) = (a.merge_with(&b), b.merge_with(&a));
        prop_assert_eq!(a.merge_with(&a), Ok(a.clone()));
        prop_assert_eq!(left.is_ok(), a.is_compatible_with(&b));
        prop_assert_eq!(left.is_ok(), right.is_ok());
        let (Ok(left), Ok(right)) = (left, right) else { return Ok(()) };
        prop_assert_eq!(left.as_list().ok(), right.as_list().ok());
        if is_plain(&a) && is_plain(&b) {
            prop_assert_eq!(pattern(&left), pattern(&right));
            prop_assert_eq!(&left.merge_with(&a), &Ok(left.clone()));
            prop_assert!(left.is_subtype_of(&own_symbols(&a, "a")) && left.is_subtype_of(&own_symbols(&b, "b")));
        }
    }

    #[test]
    fn merging_is_associative_where_no_symbol_is_shared(a in plain_shapes(), b in plain_shapes(), c in plain_shapes()) {
        let (a, b, c) = (own_symbols(&a, "a"), own_symbols(&b, "b"), own_symbols(&c, "c"));
        let left = a.merge_with(&b).and_then(|ab| ab.merge_with(&c));
        let right = b.merge_with(&c).and_then(|bc| a.merge_with(&bc));
        prop_assert_eq!(left.is_ok(), right.is_ok(), "{} {} {}", a, b, c);
        if let (Ok(left), Ok(right)) = (left, right) {
            prop_assert_eq!(pattern(&left), pattern(&right), "{} {} {}", a, b, c);
        }
    }

    /// Whatever sizes make two shapes one make it the merged one.
    #[test]
    fn merging_keeps_what_fits_both(a in shapes_of(16, 0..4), b in shapes_of(16, 0..4)) {
        let merged = a.merge_with(&b);
        for at in 0..4i64.pow(6) {
            let values: [i64; 6] = std::array::from_fn(|symbol| at >> (2 * symbol) & 3);
            let (Some(x), Some(y)) = (concrete(&a, &values), concrete(&b, &values)) else { continue };
            if x == y {
                let merged = merged.as_ref().map_err(|error| TestCaseError::fail(format!("{error} at {values:?}")))?;
                prop_assert_eq!(concrete(merged, &values), Some(x), "{} {} {} {:?}", &a, &b, merged, values);
            }
        }
    }

    #[test]
    fn what_is_written_reads_back(shape in shapes()) {
        let read: TensorShape = shape.to_string().parse().map_err(|error| TestCaseError::fail(format!("{shape}: {error}")))?;
        prop_assert_eq!(&read, &shape);
        prop_assert_eq!(read.to_string(), shape.to_string());
    }

    #[test]
    fn protos_come_back(shape in shapes(), at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut bytes = shape.as_proto().unwrap();
        prop_assert_eq!(&TensorShape::from_proto(&bytes), &Ok(shape));
        // Damage is refused or is another shape, which in turn comes back.
        if !bytes.is_empty() {
            let at = at.index(bytes.len());
            bytes[at] = byte;
            if let Ok(other) = TensorShape::from_proto(&bytes) {
                prop_assert_eq!(TensorShape::from_proto(&other.as_proto().unwrap()), Ok(other));
            }
            let _ = TensorShape::from_proto(&bytes[..at]);
        }
    }

    #[test]
    fn no_bytes_are_too_odd(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
        if let Ok(shape) = TensorShape::from_proto(&bytes) {
            prop_assert_eq!(TensorShape::from_proto(&shape.as_proto().unwrap()), Ok(shape));
        }
    }

    #[test]
    fn parts_put_together_are_the_whole(shape in shapes(), at in 0..6usize) {
        let Some(rank) = shape.rank() else { return Ok(()) };
        let signed = at as i64;
        prop_assert_eq!(&(shape.slice(..signed) + shape.slice(signed..)), &shape);
        prop_assert_eq!(&(shape.slice(..-signed - 1) + shape.slice(-signed - 1..)), &shape);
        prop_assert_eq!(shape.take(at).is_ok(), at <= rank);
        if at <= rank {
            prop_assert_eq!(&shape.take(at).unwrap().append(shape.take_last(rank - at).unwrap()), &Ok(shape.clone()));
            prop_assert_eq!(shape.sub_shape(at..), Ok(shape.slice(signed..)));
        }
        if rank > 0 {
            prop_assert_eq!(shape.tail().unwrap().prepend(shape.head().unwrap()), Ok(shape));
        }
    }
}

/// A shape with some of its dimensions made unknown, the bits of `forget` saying which.
fn generalized(shape: &TensorShape, forget: u64) -> TensorShape {
    let unknown = |axis: usize| DIMS[4 + (forget >> 40 >> axis & 1) as usize * 3].clone();
    match shape.dims() {
        Some(dims) => dims
            .iter()
            .enumerate()
            .map(|(axis, dim)| if forget >> axis & 1 == 1 { unknown(axis) } else { dim.clone() })
            .collect(),
        None => shape.clone(),
    }
}

proptest! {
    #![proptest_config(cases(40))]

    #[test]
    fn subtypes_are_ordered_and_the_common_supertype_is_the_least(
        pool in prop::collection::vec((shapes_of(16, 1..4), any::<u64>()), 5),
    ) {
        let mut all: Vec<TensorShape> = vec![TensorShape::unranked()];
        for (shape, forget) in &pool {
            let once = generalized(shape, *forget);
            all.extend([shape.clone(), generalized(&once, forget.rotate_right(7)), once]);
        }
        let below: Vec<Vec<bool>> = all.iter().map(|a| all.iter().map(|b| a.is_subtype_of(b)).collect()).collect();
        for (i, a) in all.iter().enumerate() {
            prop_assert!(below[i][i], "{}", a);
            for (j, b) in all.iter().enumerate() {
                let common = a.most_specific_common_supertype([b]);
                prop_assert!(a.is_subtype_of(&common) && b.is_subtype_of(&common), "{} {} {}", a, b, common);
                prop_assert_eq!(pattern(&common), pattern(&b.most_specific_compatible_shape(a)));
                if below[i][j] && below[j][i] {
                    prop_assert_eq!(pattern(a), pattern(b));
                }
                for (k, c) in all.iter().enumerate() {
                    prop_assert!(!below[i][j] || !below[j][k] || below[i][k], "{} {} {}", a, b, c);
                    prop_assert!(!below[i][k] || !below[j][k] || common.is_subtype_of(c), "{} {} {}", a, b, c);
                    let three = a.most_specific_common_supertype([b, c]);
                    prop_assert_eq!(pattern(&three), pattern(&c.most_specific_common_supertype([b, a])));
                }
            }
        }
    }

    /// Every concrete shape of a subtype is one of the supertype.
    #[test]
    fn a_supertype_has_all_that_a_subtype_has(shape in shapes_of(16, 0..4), forget in any::<u64>(), other in shapes_of(16, 0..4)) {
        for general in [generalized(&shape, forget), other] {
            if !shape.is_subtype_of(&general) || !is_plain(&general) {
                continue;
            }
            for at in 0..3i64.pow(6) {
                let values: [i64; 6] = std::array::from_fn(|symbol| at / 3i64.pow(symbol as u32) % 3);
                if let Some(sizes) = concrete(&shape, &values) {
                    prop_assert!(TensorShape::from(sizes).is_subtype_of(&general), "{} {} {:?}", shape, general, values);
                }
            }
        }
    }
}

/// Sizes at the ends of the range and negative ones neither panic nor agree with others.
#[test]
fn extreme_sizes_are_ordinary() {
    let ends = [i64::MIN, -1, 0, 1, i64::MAX].map(Dim::known);
    for a in &ends {
        for b in &ends {
            let (x, y) = (TensorShape::from([a, b]), TensorShape::from([b, a]));
            assert_eq!((x.same(&y), x.is_compatible_with(&y)), (Some(a == b), a == b));
            assert_eq!((x.is_subtype_of(&y), x.merge_with(&y).is_ok()), (a == b, a == b));
            let negative = [a, b].into_iter().any(|dim| dim.as_known() < Some(0));
            assert_eq!(
                (x.validate().is_err(), x.as_proto().is_err(), x.as_known().is_none()),
                (negative, negative, negative)
            );
            assert_eq!(x.num_elements().is_some(), a.checked_mul(b).is_ok());
        }
    }
}
