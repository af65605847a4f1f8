//! Cases of elementwise ops.

use shapeflow::{DType, Graph, Result, Tensor, Value};

use super::case::{Build, Case, complex_numbers, numbers, scaled, scaled_f64};

const MEBI: usize = 1 << 20;

/// Returns all cases of this file.
pub fn cases() -> Vec<Case> {
    vec![
        Case::new("10 ops, scalar", &["[]"], || Ok(vec![numbers(&[])?]), ten),
        Case::new("10 ops, 8 elements", &["[n]"], || Ok(vec![numbers(&[8])?]), ten),
        scaled_relu("relu(a*x+b) 4 KiB", 1 << 10),
        scaled_relu("relu(a*x+b) 256 KiB", 1 << 16),
        scaled_relu("relu(a*x+b) 4 MiB", MEBI),
        scaled_relu("relu(a*x+b) 256 MiB", 64 * MEBI),
        Case::new("10 ops, 256 MiB", &["[n]"], || Ok(vec![numbers(&[64 * MEBI])?]), ten),
        Case::new("chain of 200 ops, 64K", &["[n]"], || Ok(vec![numbers(&[1 << 16])?]), two_hundred),
        Case::new(
            "gelu erf 1M",
            &["[n]"],
            || Ok(vec![scaled(&[MEBI], 4.0, 0.0)?]),
            |_, x| Ok(vec![x[0].gelu(false)?]),
        ),
        Case::new(
            "gelu tanh 1M",
            &["[n]"],
            || Ok(vec![scaled(&[MEBI], 4.0, 0.0)?]),
            |_, x| Ok(vec![x[0].gelu(true)?]),
        ),
        function("softplus 1M", |_, x| Ok(vec![x[0].softplus()?])),
        function("erf 1M", |_, x| Ok(vec![x[0].erf()?])),
        function("lgamma 1M", |_, x| Ok(vec![x[0].lgamma()?])),
        Case::new(
            "complex multiply-add 1M",
            &["[n]", "[n]", "[n]"],
            || (0..3).map(|_| complex_numbers(MEBI)).collect(),
            |_, x| Ok(vec![(x[0] * x[1] + x[2]).ok()?]),
        ),
        Case::new("Black-Scholes f32 1M", &["[n]", "[n]", "[n]"], || market(DType::F32), black_scholes),
        Case::new("Black-Scholes f64 1M", &["[n]", "[n]", "[n]"], || market(DType::F64), black_scholes),
        Case::new(
            "quantize 4M",
            &["[n]"],
            || Ok(vec![scaled(&[4 * MEBI], 4.0, 0.0)?]),
            |_, x| Ok(vec![quantized(x[0])?]),
        ),
        Case::new(
            "dequantize 4M",
            &["[n]"],
            || Ok(vec![super::case::bytes(&[4 * MEBI])?]),
            |_, x| Ok(vec![dequantized(x[0])?]),
        ),
        Case::new(
            "quantize-dequantize chain 4M",
            &["[n]"],
            || Ok(vec![scaled(&[4 * MEBI], 4.0, 0.0)?]),
            quantized_chain,
        ),
    ]
}

/// Returns a case of a function of 1M numbers in [0, 8).
fn function(name: &'static str, build: Build) -> Case {
    Case::new(name, &["[n]"], || Ok(vec![scaled(&[MEBI], 4.0, 4.0)?]), build)
}

fn scaled_relu(name: &'static str, n: usize) -> Case {
    let inputs = move || Ok(vec![numbers(&[n])?, Tensor::scalar(1.5f32), Tensor::scalar(-0.25f32)]);
    Case::new(name, &["[n]", "[]", "[]"], inputs, |_, x| Ok(vec![(x[0] * x[1] + x[2]).relu()?]))
}

fn ten<'g>(_: &'g Graph, x: &[Value<'g>]) -> Result<Vec<Value<'g>>> {
    let mut y = x[0];
    for k in 0..5 {
        y = y * 0.5 + f64::from(k);
    }
    Ok(vec![y.ok()?])
}

fn two_hundred<'g>(_: &'g Graph, x: &[Value<'g>]) -> Result<Vec<Value<'g>>> {
    let mut y = x[0];
    for k in 0..50 {
        let k = f64::from(k % 5);
        y = ((y + k) * 0.75).maximum(-2.0)? - 0.125 * k;
    }
    Ok(vec![y.ok()?])
}

/// Returns spot prices, strikes, and times to expiry.
fn market(dtype: DType) -> Result<Vec<Tensor>> {
    let column = |scale: f64, offset: f64| match dtype {
        DType::F64 => scaled_f64(&[MEBI], scale, offset),
        _ => scaled(&[MEBI], scale as f32, offset as f32),
    };
    Ok(vec![column(20.0, 100.0)?, column(-15.0, 95.0)?, column(0.5, 1.0)?])
}

/// Computes the prices of call options, at a rate of 2 % and a volatility of 30 %.
fn black_scholes<'g>(_: &'g Graph, x: &[Value<'g>]) -> Result<Vec<Value<'g>>> {
    const RATE: f64 = 0.02;
    const VOLATILITY: f64 = 0.3;
    let [spot, strike, time] = [x[0], x[1], x[2]];
    let spread = time.sqrt()? * VOLATILITY;
    let d1 = ((spot / strike).log()? + time * (RATE + 0.5 * VOLATILITY * VOLATILITY)) / spread;
    let d2 = d1 - spread;
    let normal_distribution = |d: Value<'g>| -> Result<Value<'g>> {
        ((d * std::f64::consts::FRAC_1_SQRT_2).erf()? * 0.5 + 0.5).ok()
    };
    let discounted = strike * (time * -RATE).exp()?;
    Ok(vec![(spot * normal_distribution(d1)? - discounted * normal_distribution(d2)?).ok()?])
}

/// The difference between the numbers that two consecutive quantized values stand for.
const SCALE: f64 = 0.031_25;
/// The quantized value that stands for 0.
const ZERO_POINT: f64 = 128.0;

fn quantized(x: Value<'_>) -> Result<Value<'_>> {
    ((x * (1.0 / SCALE)).round()? + ZERO_POINT).clip_by_value(0.0, 255.0)?.cast(DType::U8)
}

fn dequantized(x: Value<'_>) -> Result<Value<'_>> {
    ((x.cast(DType::F32)? - ZERO_POINT) * SCALE).ok()
}

fn quantized_chain<'g>(_: &'g Graph, x: &[Value<'g>]) -> Result<Vec<Value<'g>>> {
    let once = dequantized(quantized(x[0])?)?;
    let active = (once * 0.7 + 0.1).relu()?;
    Ok(vec![dequantized(quantized(active)?)?])
}
