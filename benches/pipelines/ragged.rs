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
