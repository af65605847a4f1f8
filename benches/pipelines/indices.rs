//! Cases in which data decides what is moved.

use shapeflow::{DType, Graph, Result, Tensor, Value, dynamic_stitch};

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
            |_, x| Ok(vec![x[0].gather_nd(x[1])?]),
        ),
        Case::new(
            "scatter_nd add 1M",
            &["[k, 1]", "[k]"],
            || Ok(vec![integers(&[MEBI, 1], MEBI as u32)?, numbers(&[MEBI])?]),
            |_, x| Ok(vec![x[0].scatter_nd(x[1], [MEBI as i64])?]),
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
            |_, x| Ok(vec![x[0].reverse_sequence(x[1], 1, 0)?]),
        ),
        Case::new(
            "dynamic_partition 1M in 8",
            &["[n]", "[n]"],
            || Ok(vec![numbers(&[MEBI])?, integers(&[MEBI], 8)?]),
            |_, x| x[0].dynamic_partition(x[1], 8),
        ),
        Case::new(
            "dynamic_stitch of 1M from 8",
            &[
                "[a]", "[b]", "[c]", "[d]", "[e]", "[f]", "[g]", "[h]", "[a]", "[b]", "[c]", "[d]", "[e]",
                "[f]", "[g]", "[h]",
            ],
            dealt,
            |_, x| Ok(vec![dynamic_stitch(&x[..8], &x[8..])?]),
        ),
        Case::new(
            "feature hashing: unique + gather 256K, 16 columns",
            &["[n]"],
            || Ok(vec![integers(&[1 << 18], 60_000)?, numbers(&[100_000, 16])?]),
            feature_hashing,
        ),
    ]
}

/// Where the parts of a million numbers stood before they were dealt out by random, and the parts.
fn dealt() -> Result<Vec<Tensor>> {
    let part_of = integers(&[MEBI], 8)?;
    let mut places = vec![Vec::new(); 8];
    for (place, part) in part_of.as_slice::<i32>()?.iter().enumerate() {
        places[*part as usize].push(place as i32);
    }
    let all = numbers(&[MEBI])?;
    let all = all.as_slice::<f32>()?;
    let values = |places: &Vec<i32>| places.iter().map(|place| all[*place as usize]).collect();
    let mut parts = Vec::new();
    for places in &places {
        parts.push(Tensor::from_vec(&[places.len()], values(places))?);
    }
    let places = places.into_iter().map(|places| Tensor::from_vec(&[places.len()], places));
    places.chain(parts.into_iter().map(Ok)).collect()
}

/// A table of rows, looked up once for each different hashed feature.
fn feature_hashing<'g>(_: &'g Graph, x: &[Value<'g>]) -> Result<Vec<Value<'g>>> {
    let hashed = (x[0].cast(DType::I64)? * 2_654_435_761i64).floormod(100_000)?;
    let [different, places] = hashed.unique()?;
    Ok(vec![x[1].gather(different, 0)?.gather(places, 0)?])
}
