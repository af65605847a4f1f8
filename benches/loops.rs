//! Measures loops: nanoseconds per iteration of small bodies and of an LSTM cell, in programs built with `while_loop`
//! and `scan`.
//!
//! `cargo bench --bench loops` prints a table. With `--test` (`cargo test --benches`) it only checks that everything
//! runs.

use std::time::Instant;

use shapeflow::{DType, Graph, LoopOptions, Result, Tensor, TensorView, Value, shape};

fn main() -> Result<()> {
    let test = std::env::args().any(|arg| arg == "--test");
    let scale = if test { 1000 } else { 1 };
    println!("{:<44} {:>10} {:>14}", "loop", "iterations", "ns/iteration");
    counter(1_000_000 / scale)?;
    ten_ops(1_000_000 / scale)?;
    branching(200_000 / scale)?;
    growing(2_000 / scale)?;
    lstm(1_000 / scale)?;
    short()?;
    Ok(())
}

/// Runs an executable three times, and prints the best time.
fn report(name: &str, iterations: usize, g: &Graph, outputs: &[Value<'_>], feeds: &[Tensor]) -> Result<()> {
    let mut runner = g.compile(outputs)?.runner();
    let views: Vec<TensorView<'_>> = feeds.iter().map(Tensor::view).collect();
    let mut best = f64::INFINITY;
    for _ in 0..4 {
        let start = Instant::now();
        runner.run(&views)?;
        best = best.min(start.elapsed().as_secs_f64());
    }
    println!("{name:<44} {iterations:>10} {:>14.1}", best / iterations.max(1) as f64 * 1e9);
    Ok(())
}

fn counter(iterations: usize) -> Result<()> {
    let g = Graph::new();
    let n = g.input("n", DType::I64, shape![])?;
    let last = g.while_loop(&[g.constant(0i64)?], |s| s[0].less(n), |s| Ok(s[0] + 1i64))?;
    report("while: a counter", iterations, &g, &last, &[Tensor::scalar(iterations as i64)])
}

/// Ten ops on eight elements.
fn ten_ops(iterations: usize) -> Result<()> {
    let g = Graph::new();
    let n = g.input("n", DType::I64, shape![])?;
    let x = g.input("x", DType::F32, shape![8])?;
    let last = g.while_loop(
        &[g.constant(0i64)?, x],
        |s| s[0].less(n),
        |s| {
            let mut y = s[1];
            for k in 0..3 {
                y = (y * 0.5 + (0.1 + f64::from(k))).relu()?;
            }
            Ok([s[0] + 1i64, y])
        },
    )?;
    let x = Tensor::from_slice(&[8], &[1.0f32; 8])?;
    report("while: ten ops on eight elements", iterations, &g, &last, &[Tensor::scalar(iterations as i64), x])
}

fn branching(iterations: usize) -> Result<()> {
    let g = Graph::new();
    let n = g.input("n", DType::I64, shape![])?;
    let last = g.while_loop(
        &[g.constant(0i64)?, g.constant(27i64)?],
        |s| s[0].less(n),
        |s| {
            let is_even = s[1].floormod(2i64)?.equal(0i64)?;
            let next = g.cond(is_even, || s[1].floordiv(2i64), || (s[1] * 3i64 + 1i64).ok())?;
            Ok([(s[0] + 1i64).ok()?, next[0]])
        },
    )?;
    report("while: a branch in the body", iterations, &g, &last, &[Tensor::scalar(iterations as i64)])
}

/// The state grows by one element in each iteration.
fn growing(iterations: usize) -> Result<()> {
    let g = Graph::new();
    let n = g.input("n", DType::I64, shape![])?;
    let one = g.constant([1.0f32])?;
    let last = g.while_loop(
        &[g.constant(0i64)?, one],
        |s| s[0].less(n),
        |s| Ok([(s[0] + 1i64).ok()?, shapeflow::concat(&[s[1], one], 0)?]),
    )?;
    report("while: a state that grows", iterations, &g, &last, &[Tensor::scalar(iterations as i64)])
}

/// An LSTM of 64 units on sequences of 64 features, batch 1.
fn lstm(steps: usize) -> Result<()> {
    let units = 64;
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape!["t", 1, 64])?;
    let w = g.input("w", DType::F32, shape![128, 256])?;
    let zero = g.constant(&Tensor::zeros(DType::F32, &[1, units])?)?;
    let (last, outputs) = g.scan(&[zero, zero], &[x], |s, x| {
        let gates = shapeflow::concat(&[x[0], s[0]], 1)?.matmul(w)?;
        let [i, f, o, c] = gates.split::<4>(1)?;
        let cell = (f.sigmoid()? * s[1] + i.sigmoid()? * c.tanh()?).ok()?;
        let hidden = (o.sigmoid()? * cell.tanh()?).ok()?;
        Ok((vec![hidden, cell], vec![hidden]))
    })?;
    let feeds = [Tensor::full(&[steps, 1, units], 0.1f32)?, Tensor::full(&[2 * units, 4 * units], 0.01f32)?];
    report("scan: LSTM, 64 units", steps, &g, &[last[0], outputs[0]], &feeds)
}

/// Loops of 8 iterations: one is compiled as its iterations, and a limit keeps the other one a loop.
fn short() -> Result<()> {
    let kept = LoopOptions::new().limit(1000);
    for (name, options) in [("short while: unrolled", LoopOptions::new()), ("short while: a loop", kept)] {
        let g = Graph::new();
        let x = g.input("x", DType::F32, shape![1, 64])?;
        let w = g.input("w", DType::F32, shape![64, 64])?;
        let last = g.while_loop_with(
            &options,
            &[g.constant(0i64)?, x],
            |s| s[0].less(8i64),
            |s| Ok([(s[0] + 1i64).ok()?, s[1].matmul(w)?.tanh()?]),
        )?;
        let feeds = [Tensor::full(&[1, 64], 0.1f32)?, Tensor::full(&[64, 64], 0.01f32)?];
        report(&format!("{name}, matmul"), 8, &g, &last[1..], &feeds)?;
        let g = Graph::new();
        let x = g.input("x", DType::F32, shape![8])?;
        let last = g.while_loop_with(
            &options,
            &[g.constant(0i64)?, x],
            |s| s[0].less(8i64),
            |s| Ok([(s[0] + 1i64).ok()?, (s[1] * 0.5 + 0.1).relu()?]),
        )?;
        report(&format!("{name}, three ops"), 8, &g, &last[1..], &feeds_of_eight()?)?;
    }
    Ok(())
}

fn feeds_of_eight() -> Result<[Tensor; 1]> {
    Ok([Tensor::full(&[8], 1.0f32)?])
}
