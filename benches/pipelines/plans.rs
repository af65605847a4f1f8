//! Measures the cost of a run whose sizes are new, beside a run whose plan is kept, on small graphs.

use std::time::Instant;

use serde_json::json;
use shapeflow::{
    CompileOptions, DType, Executable, Graph, Result, Tensor, TensorShape, TensorView, Value, concat,
};

use super::case::{Build, numbers};

/// Sizes of the first axis: every size from 1 to this number.
const SIZES: usize = 256;

/// The number of rounds. A round measures every size with new, kept and forgotten plans.
const ROUNDS: usize = 40;

/// Prints, for each graph, the microseconds of a run: the mean over all sizes, in the fastest of [`ROUNDS`] rounds.
///
/// - `new_us`: the sizes are new.
/// - `kept_us`: the plans are kept.
/// - `forgotten_us`: the executable keeps fewer plans than there are sizes, so that every run makes a new plan.
///
/// # Errors
/// A run fails.
pub fn print() -> Result<()> {
    measure("10 elementwise ops", "[n]", &[1], ten)?;
    measure("10 ops of a layer", "[n, 8]", &[1, 8], layer)?;
    measure("10 ops, 10 results", "[n]", &[1], ten_results)
}

fn measure(name: &str, shape: &str, row: &[usize], build: Build) -> Result<()> {
    let elements: usize = row.iter().product();
    let all = numbers(&[SIZES * elements])?;
    let inputs: Vec<Tensor> = (1..=SIZES)
        .map(|size| {
            let sizes: Vec<usize> = [&[size], &row[1..]].concat();
            Tensor::from_slice(&sizes, &all.as_slice::<f32>()?[..size * elements])
        })
        .collect::<Result<_>>()?;
    let compile = |options: CompileOptions| -> Result<Executable> {
        let g = Graph::new();
        let x = g.input("x", DType::F32, shape.parse::<TensorShape>()?)?;
        g.compile_with(&options, &build(&g, &[x])?)
    };
    let pass = |exe: &Executable| -> Result<f64> {
        let views: Vec<TensorView<'_>> = inputs.iter().map(Tensor::view).collect();
        let start = Instant::now();
        for view in &views {
            exe.run_all(std::slice::from_ref(view))?;
        }
        Ok(start.elapsed().as_secs_f64() * 1e6 / SIZES as f64)
    };
    let (mut new, mut kept, mut forgotten) = (f64::INFINITY, f64::INFINITY, f64::INFINITY);
    let few = compile(CompileOptions::new().plan_memory(1 << 14))?;
    for _ in 0..ROUNDS {
        let exe = compile(CompileOptions::new().plan_memory(1 << 24))?;
        new = new.min(pass(&exe)?);
        kept = kept.min(pass(&exe)?);
        assert_eq!(exe.stats().plan_misses, SIZES as u64, "the first pass makes every plan, the second none");
        forgotten = forgotten.min(pass(&few)?);
    }
    let kernels = few.stats().kernels;
    println!(
        "{}",
        json!({"graph": name, "kernels": kernels, "new_us": new, "kept_us": kept, "forgotten_us": forgotten})
    );
    Ok(())
}

fn ten<'g>(_: &'g Graph, x: &[Value<'g>]) -> Result<Vec<Value<'g>>> {
    let mut y = x[0];
    for k in 0..5 {
        y = y * 0.5 + f64::from(k);
    }
    Ok(vec![y.ok()?])
}

/// A layer of a network, with a softmax and a sum of its columns.
fn layer<'g>(g: &'g Graph, x: &[Value<'g>]) -> Result<Vec<Value<'g>>> {
    let weights = g.constant(numbers(&[8, 4])?)?;
    let bias = g.constant(numbers(&[4])?)?;
    let hidden = (x[0].matmul(weights)? + bias).relu()?;
    let scores = (hidden * 2.0).softmax(-1)?;
    let joined = concat(&[scores, hidden], 1)?;
    let shifted = joined.transpose([1, 0])? - 0.5;
    Ok(vec![shifted.abs()?.reduce_mean(0)?, scores])
}

/// Every value is a result.
fn ten_results<'g>(_: &'g Graph, x: &[Value<'g>]) -> Result<Vec<Value<'g>>> {
    let mut values = vec![x[0]];
    for k in 0..5 {
        let last = values[values.len() - 1];
        values.push((last * 0.5).ok()?);
        values.push((values[values.len() - 1] + f64::from(k)).ok()?);
    }
    Ok(values.split_off(1))
}
