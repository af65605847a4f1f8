//! Cases of matmuls and of small models.

use shapeflow::{Graph, Result, Tensor, Value};

use super::case::{Case, integers, numbers, scaled};

/// Returns all cases of this file.
pub fn cases() -> Vec<Case> {
    const PAIR: &[&str] = &["[m, k]", "[k, n]"];
    let matmul = |name, m, k, n| {
        Case::new(
            name,
            PAIR,
            move || Ok(vec![numbers(&[m, k])?, scaled(&[k, n], 0.5, 0.0)?]),
            |_, x| Ok(vec![x[0].matmul(x[1])?]),
        )
    };
    let mlp = |name, batch| Case::new(name, &["[batch, 784]"], move || layers(batch), perceptron);
    vec![
        matmul("matmul 512³", 512, 512, 512),
        matmul("matmul 2048³", 2048, 2048, 2048),
        matmul("[1,784]×[784,512]", 1, 784, 512),
        mlp("MLP 784-512-10, batch 1", 1),
        mlp("MLP 784-512-10, batch 64", 64),
        Case::new("attention block [8,128,64]", &["[batch, time, 64]"], attention_weights, attention),
        Case::new(
            "embedding lookup + mean [1024,32] from 50k × 64",
            &["[batch, time]"],
            || Ok(vec![integers(&[1024, 32], 50_000)?, numbers(&[50_000, 64])?]),
            |_, x| Ok(vec![x[1].gather(x[0], 0)?.reduce_mean(1)?]),
        ),
    ]
}

fn layers(batch: usize) -> Result<Vec<Tensor>> {
    Ok(vec![
        numbers(&[batch, 784])?,
        scaled(&[784, 512], 0.05, 0.0)?,
        numbers(&[512])?,
        scaled(&[512, 10], 0.05, 0.0)?,
        numbers(&[10])?,
    ])
}

fn perceptron<'g>(_: &'g Graph, x: &[Value<'g>]) -> Result<Vec<Value<'g>>> {
    let hidden = (x[0].matmul(x[1])? + x[2]).relu()?;
    Ok(vec![(hidden.matmul(x[3])? + x[4]).softmax(-1)?])
}

fn attention_weights() -> Result<Vec<Tensor>> {
    let mut inputs = vec![numbers(&[8, 128, 64])?];
    for _ in 0..4 {
        inputs.push(scaled(&[64, 64], 0.125, 0.0)?);
    }
    Ok(inputs)
}

/// Builds one attention head: projections, scaled scores, softmax, weighted values, output projection, and residual.
fn attention<'g>(_: &'g Graph, x: &[Value<'g>]) -> Result<Vec<Value<'g>>> {
    let [query, key, value] = [x[0].matmul(x[1])?, x[0].matmul(x[2])?, x[0].matmul(x[3])?];
    let scores = (query.matmul_transposed(key, false, true)? * 0.125).softmax(-1)?;
    Ok(vec![(scores.matmul(value)?.matmul(x[4])? + x[0]).ok()?])
}
