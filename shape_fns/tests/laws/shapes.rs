//! Laws of shapes.

use std::sync::LazyLock;

use proptest::prelude::*;
use shapeflow_shape_fns::{Dim, Symbol, TensorShape};

use crate::cases;

/// The dimensions from which the tests make shapes. The anonymous dimensions are the same symbols in all shapes.
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

/// The number of leading [`DIMS`] that are numbers or symbols.
const PLAIN: usize = 10;

fn shapes_of(kinds: usize, ranks: std::ops::Range<usize>) -> impl Strategy<Value = TensorShape> {
    prop_oneof![
        1 => Just(TensorShape::unranked()),
        9 => prop::collection::vec(0..kinds, ranks).prop_map(|dims| dims.into_iter().map(|index| &DIMS[index]).collect()),
    ]
}

/// Shapes of all kinds of dimensions. Some shapes have 300 axes.
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

/// Returns the shape with its symbols numbered by first occurrence, so that shapes compare up to the choice of symbols.
fn pattern(shape: &TensorShape) -> TensorShape {
    let mut seen: Vec<Symbol> = Vec::new();
    shape.substitute(&mut |symbol| {
        let index = seen.iter().position(|other| *other == symbol).unwrap_or_else(|| {
            seen.push(symbol);
            seen.len() - 1
        });
        Some(Dim::symbol(&format!("pattern_{index}")))
    })
}

/// Returns the shape with its symbols replaced by symbols that only shapes of `owner` have.
fn with_symbols_of(shape: &TensorShape, owner: &str) -> TensorShape {
    shape.substitute(&mut |symbol| {
        let index = DIMS.iter().position(|dim| dim.as_symbol() == Some(symbol));
        Some(Dim::symbol(&format!("own_{owner}_{}", index.unwrap_or(DIMS.len()))))
    })
}

/// Returns the sizes of the shape for `values` of its symbols, or `None` if a size is undefined.
fn concrete(shape: &TensorShape, values: &[i64; 6]) -> Option<Vec<i64>> {
    let value = |symbol: Symbol| {
        DIMS[4..PLAIN].iter().position(|dim| dim.as_symbol() == Some(symbol)).map(|index| values[index])
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
            prop_assert!(left.is_subtype_of(&with_symbols_of(&a, "a")) && left.is_subtype_of(&with_symbols_of(&b, "b")));
        }
    }

    #[test]
    fn merging_is_associative_if_no_symbol_is_shared(a in plain_shapes(), b in plain_shapes(), c in plain_shapes()) {
        let (a, b, c) = (with_symbols_of(&a, "a"), with_symbols_of(&b, "b"), with_symbols_of(&c, "c"));
        let left = a.merge_with(&b).and_then(|ab| ab.merge_with(&c));
        let right = b.merge_with(&c).and_then(|bc| a.merge_with(&bc));
        prop_assert_eq!(left.is_ok(), right.is_ok(), "{} {} {}", a, b, c);
        if let (Ok(left), Ok(right)) = (left, right) {
            prop_assert_eq!(pattern(&left), pattern(&right), "{} {} {}", a, b, c);
        }
    }

    /// Sizes that make two shapes equal also make the merged shape equal to them.
    #[test]
    fn merging_keeps_every_size_that_fits_both(a in shapes_of(16, 0..4), b in shapes_of(16, 0..4)) {
        let merged = a.merge_with(&b);
        for assignment in 0..4i64.pow(6) {
            let values: [i64; 6] = std::array::from_fn(|symbol| assignment >> (2 * symbol) & 3);
            let (Some(x), Some(y)) = (concrete(&a, &values), concrete(&b, &values)) else { continue };
            if x == y {
                let merged = merged.as_ref().map_err(|error| TestCaseError::fail(format!("{error} at {values:?}")))?;
                prop_assert_eq!(concrete(merged, &values), Some(x), "{} {} {} {:?}", &a, &b, merged, values);
            }
        }
    }

    #[test]
    fn written_shapes_parse_back(shape in shapes()) {
        let read: TensorShape = shape.to_string().parse().map_err(|error| TestCaseError::fail(format!("{shape}: {error}")))?;
        prop_assert_eq!(&read, &shape);
        prop_assert_eq!(read.to_string(), shape.to_string());
    }

    #[test]
    fn protos_survive_a_round_trip(shape in shapes(), index in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut bytes = shape.as_proto().unwrap();
        prop_assert_eq!(&TensorShape::from_proto(&bytes), &Ok(shape));
        // Damaged bytes are refused or are another shape, which survives a round trip too.
        if !bytes.is_empty() {
            let index = index.index(bytes.len());
            bytes[index] = byte;
            if let Ok(other) = TensorShape::from_proto(&bytes) {
                prop_assert_eq!(TensorShape::from_proto(&other.as_proto().unwrap()), Ok(other));
            }
            let _ = TensorShape::from_proto(&bytes[..index]);
        }
    }

    #[test]
    fn any_bytes_are_refused_or_survive_a_round_trip(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
        if let Ok(shape) = TensorShape::from_proto(&bytes) {
            prop_assert_eq!(TensorShape::from_proto(&shape.as_proto().unwrap()), Ok(shape));
        }
    }

    #[test]
    fn concatenated_parts_are_the_whole_shape(shape in shapes(), split in 0..6usize) {
        let Some(rank) = shape.rank() else { return Ok(()) };
        let signed = split as i64;
        prop_assert_eq!(&(shape.slice(..signed) + shape.slice(signed..)), &shape);
        prop_assert_eq!(&(shape.slice(..-signed - 1) + shape.slice(-signed - 1..)), &shape);
        prop_assert_eq!(shape.take(split).is_ok(), split <= rank);
        if split <= rank {
            prop_assert_eq!(&shape.take(split).unwrap().append(shape.take_last(rank - split).unwrap()), &Ok(shape.clone()));
            prop_assert_eq!(shape.sub_shape(split..), Ok(shape.slice(signed..)));
        }
        if rank > 0 {
            prop_assert_eq!(shape.tail().unwrap().prepend(shape.head().unwrap()), Ok(shape));
        }
    }
}

/// Generalizes the dimensions that the low bits of `forget` select: `n` replaces a dimension if bit `40 + axis` is set,
/// else `?0`.
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
        let is_subtype: Vec<Vec<bool>> = all.iter().map(|a| all.iter().map(|b| a.is_subtype_of(b)).collect()).collect();
        for (i, a) in all.iter().enumerate() {
            prop_assert!(is_subtype[i][i], "{}", a);
            for (j, b) in all.iter().enumerate() {
                let common = a.most_specific_common_supertype([b]);
                prop_assert!(a.is_subtype_of(&common) && b.is_subtype_of(&common), "{} {} {}", a, b, common);
                prop_assert_eq!(pattern(&common), pattern(&b.most_specific_compatible_shape(a)));
                if is_subtype[i][j] && is_subtype[j][i] {
                    prop_assert_eq!(pattern(a), pattern(b));
                }
                for (k, c) in all.iter().enumerate() {
                    prop_assert!(!is_subtype[i][j] || !is_subtype[j][k] || is_subtype[i][k], "{} {} {}", a, b, c);
                    prop_assert!(!is_subtype[i][k] || !is_subtype[j][k] || common.is_subtype_of(c), "{} {} {}", a, b, c);
                    let three = a.most_specific_common_supertype([b, c]);
                    prop_assert_eq!(pattern(&three), pattern(&c.most_specific_common_supertype([b, a])));
                }
            }
        }
    }

    /// Every concrete shape that fits the subtype also fits the supertype.
    #[test]
    fn shapes_that_fit_a_subtype_fit_the_supertype(shape in shapes_of(16, 0..4), forget in any::<u64>(), other in shapes_of(16, 0..4)) {
        for general in [generalized(&shape, forget), other] {
            if !shape.is_subtype_of(&general) || !is_plain(&general) {
                continue;
            }
            for assignment in 0..3i64.pow(6) {
                let values: [i64; 6] = std::array::from_fn(|symbol| assignment / 3i64.pow(symbol as u32) % 3);
                if let Some(sizes) = concrete(&shape, &values) {
                    prop_assert!(TensorShape::from(sizes).is_subtype_of(&general), "{} {} {:?}", shape, general, values);
                }
            }
        }
    }
}

/// Extreme and negative sizes neither panic nor equal other sizes.
#[test]
fn extreme_sizes_behave_like_others() {
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
