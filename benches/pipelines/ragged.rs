//! Cases of ragged tensors: 100,000 rows of 0 to 32 numbers, 16 on average.

use shapeflow::{RaggedValue, Result, Tensor, Value};

use super::case::{Case, integers, numbers};

const ROWS: usize = 100_000;

/// Returns all cases of this file.
pub fn cases() -> Vec<Case> {
    vec![
        Case::new("ragged row mean, 100k rows", &["[v]", "[n+1]"], inputs, |_, x| {
            Ok(vec![rows(x)?.reduce_mean(1)?.dense()?])
        }),
        Case::new("ragged to_tensor", &["[v]", "[n+1]"], inputs, |_, x| Ok(vec![rows(x)?.to_tensor()?])),
        Case::new("ragged + ragged", &["[v]", "[n+1]", "[v]"], pairs, |_, x| {
            let sum = (rows(x)? + RaggedValue::from_row_splits(x[2], x[1])?).ok()?;
            Ok(vec![sum.flat_values(), sum.row_splits()])
        }),
        Case::new("ragged + ragged, flat values", &["[v]", "[n+1]", "[v]"], pairs, |_, x| {
            Ok(vec![(rows(x)? + RaggedValue::from_row_splits(x[2], x[1])?).ok()?.flat_values()])
        }),
        Case::new(
            "ragged + ragged, other splits",
            &["[v]", "[n+1]", "[v]", "[n+1]"],
            other_splits,
            |_, x| Ok(vec![(rows(x)? + RaggedValue::from_row_splits(x[2], x[3])?).ok()?.flat_values()]),
        ),
        Case::new("dense + dense beside ragged", &["[v]", "[v]"], dense_pairs, |_, x| {
            Ok(vec![(x[0] + x[1]).ok()?])
        }),
    ]
}

fn rows<'g>(x: &[Value<'g>]) -> Result<RaggedValue<'g>> {
    RaggedValue::from_row_splits(x[0], x[1])
}

/// Returns the flat values and the row splits.
fn inputs() -> Result<Vec<Tensor>> {
    let mut splits = vec![0i64];
    for length in integers(&[ROWS], 33)?.as_slice::<i32>()? {
        splits.push(splits[splits.len() - 1] + i64::from(*length));
    }
    let count = splits[ROWS] as usize;
    Ok(vec![numbers(&[count])?, Tensor::from(splits)])
}

/// Returns the flat values, the row splits, and the flat values again.
fn pairs() -> Result<Vec<Tensor>> {
    let mut pairs = inputs()?;
    pairs.push(pairs[0].clone());
    Ok(pairs)
}

/// Returns the flat values and the row splits, and copies of both.
fn other_splits() -> Result<Vec<Tensor>> {
    let mut pairs = pairs()?;
    pairs.push(pairs[1].view().to_tensor()?);
    Ok(pairs)
}

/// Returns the flat values twice.
fn dense_pairs() -> Result<Vec<Tensor>> {
    let flat = inputs()?.swap_remove(0);
    Ok(vec![flat.clone(), flat])
}
