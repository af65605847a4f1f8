//! Cases that move elements to or from positions that their data gives: indices, masks and equal elements.

use shapeflow::{DType, Graph, Result, Tensor, Value, dynamic_stitch};

use super::case::{Case, flags, integers, numbers};

const MEBI: usize = 1 << 20;

/// Returns all cases of this file.
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
            stitch_inputs,
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

/// Returns the inputs of a stitch of 2^20 numbers from 8 random parts: first the 8 lists of the positions of each
/// part's numbers in the result, then the 8 lists of the numbers.
fn stitch_inputs() -> Result<Vec<Tensor>> {
    let part_of = integers(&[MEBI], 8)?;
    let mut positions = vec![Vec::new(); 8];
    for (position, part) in part_of.as_slice::<i32>()?.iter().enumerate() {
        positions[*part as usize].push(position as i32);
    }
    let all = numbers(&[MEBI])?;
    let all = all.as_slice::<f32>()?;
    let values = |positions: &Vec<i32>| positions.iter().map(|position| all[*position as usize]).collect();
    let mut parts = Vec::new();
    for positions in &positions {
        parts.push(Tensor::from_vec(&[positions.len()], values(positions))?);
    }
    let positions = positions.into_iter().map(|positions| Tensor::from_vec(&[positions.len()], positions));
    positions.chain(parts.into_iter().map(Ok)).collect()
}

/// Hashes features, and looks up each distinct hash once in a table of rows.
fn feature_hashing<'g>(_: &'g Graph, x: &[Value<'g>]) -> Result<Vec<Value<'g>>> {
    let hashed = (x[0].cast(DType::I64)? * 2_654_435_761i64).floormod(100_000)?;
    let [distinct, positions] = hashed.unique()?;
    Ok(vec![x[1].gather(distinct, 0)?.gather(positions, 0)?])
}
