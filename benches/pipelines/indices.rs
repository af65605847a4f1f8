//! Cases in which data decides what is moved.

use shapeflow::{DType, Graph, Result, Value};

use super::case::{Case, flags, integers, numbers};

const MEBI: usize = 1 << 20;

/// All of them.
pub fn cases() -> Vec<Case> {
    vec![
        Case::new(
            "gather 100k rows of 64 from 1M",
            &["[n, c]", "[k]"],
            || Ok(vec![numbers(&[1_000_000, 64])?, integers(&[100_000], 1_000_000)?]),
            |_, x| Ok(vec![x[0].gather(x[1], 0)?]),
        ),
        Case::new(
            "gather_nd 1M scalars from 1024²",
            &["[1024, 1024]", "[k, 2]"],
            || Ok(vec![numbers(&[1024, 1024])?, integers(&[MEBI, 2], 1024)?]),
            gather_scalars,
        ),
        Case::new(
            "one_hot [65536] × 256",
            &["[n]"],
            || Ok(vec![integers(&[65536], 256)?]),
            |_, x| Ok(vec![x[0].one_hot(256, 1.0f32, 0.0f32, -1)?]),
        ),
        Case::new(
            "boolean_mask half of 4M",
            &["[n]", "[n]"],
            || Ok(vec![numbers(&[4 * MEBI])?, flags(&[4 * MEBI])?]),
            |_, x| Ok(vec![x[0].boolean_mask(x[1], 0)?]),
        ),
        Case::new(
            "unique_with_counts 1M, 10k distinct",
            &["[n]"],
            || Ok(vec![integers(&[MEBI], 10_000)?]),
            |_, x| Ok(x[0].unique_with_counts()?.to_vec()),
        ),
        Case::new(
            "reverse_sequence [256,512,64]",
            &["[b, 512, c]", "[b]"],
            || Ok(vec![numbers(&[256, 512, 64])?, integers(&[256], 513)?]),
            reverse_sequence,
        ),
        Case::new(
            "dynamic_partition 1M in 8",
            &["[n]", "[n]"],
            || Ok(vec![numbers(&[MEBI])?, integers(&[MEBI], 8)?]),
            |_, x| (0..8).map(|part| x[0].boolean_mask(x[1].equal(part)?, 0)).collect(),
        ),
        Case::new(
            "feature hashing: unique + gather 256K, 16 columns",
            &["[n]"],
            || Ok(vec![integers(&[1 << 18], 60_000)?, numbers(&[100_000, 16])?]),
            feature_hashing,
        ),
    ]
}

/// A gather of scalars by their place in the flat tensor.
fn gather_scalars<'g>(_: &'g Graph, x: &[Value<'g>]) -> Result<Vec<Value<'g>>> {
    let [rows, columns] = x[1].unstack_into::<2>(1)?;
    Ok(vec![x[0].reshape([-1])?.gather((rows * 1024 + columns).ok()?, 0)?])
}

fn reverse_sequence<'g>(g: &'g Graph, x: &[Value<'g>]) -> Result<Vec<Value<'g>>> {
    let places = g.range(0, 512, 1)?.cast(DType::I32)?;
    let lengths = x[1].expand_dims(-1)?;
    let from = places.less(lengths)?.select((lengths - 1 - places).ok()?, places)?;
    Ok(vec![x[0].gather_batched(from, 1, 1)?])
}

/// A table of rows, looked up once for each different hashed feature.
fn feature_hashing<'g>(_: &'g Graph, x: &[Value<'g>]) -> Result<Vec<Value<'g>>> {
    let hashed = (x[0].cast(DType::I64)? * 2_654_435_761i64).floormod(100_000)?;
    let [different, places] = hashed.unique()?;
    Ok(vec![x[1].gather(different, 0)?.gather(places, 0)?])
}
