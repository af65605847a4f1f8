//! Measures the bodies of kernels, and compares them with the same operations compiled by LLVM for AVX2 and FMA.
//!
//! `cargo bench --bench bodies` prints one line per body: nanoseconds per element in the best of [`RUNS`] runs, the
//! ratio of LLVM's time to the time of the kernel for this processor, the time to compile the graph, and the time to
//! emit the machine code of the body. `-- count BODY N` only compiles one body N times, for tools that count
//! instructions.

#[expect(clippy::approx_constant, reason = "the constants are copied from the text of `Executable::kernels`")]
#[expect(clippy::let_and_return, reason = "the statements are copied from the text of `Executable::kernels`")]
mod sequences;

use std::hint::black_box;
use std::time::Instant;

use shapeflow::{CompileOptions, DType, Graph, Isa, Result, TensorView, Value, shape};

/// The number of elements of each input.
const N: usize = 65_536;
/// The number of measured runs of a body.
const RUNS: usize = 600;

/// Builds the value to compute from three inputs. A body may use fewer.
type Build = for<'g> fn([Value<'g>; 3]) -> Result<Value<'g>>;
/// The same function as a loop that LLVM compiles.
type Plain = fn(&[Vec<f32>; 3], &mut [f32]);

/// The name of each body, its graph, and its loop.
const BODIES: &[(&str, Build, Plain)] = &[
    ("relu(a*x+b)", |[x, ..]| (x * 1.5 - 0.25).relu(), relu),
    ("exp", |[x, ..]| x.exp(), exp),
    ("gelu, tanh", |[x, ..]| x.gelu(true), gelu_tanh),
    ("gelu, erf", |[x, ..]| x.gelu(false), gelu_erf),
    ("Black-Scholes", |[x, s, t]| black_scholes(s, x, t), black_scholes_plain),
    ("20 ops", |[x, ..]| twenty(x), twenty_plain),
];

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    if let [mode, body, count] = &args[..]
        && mode == "count"
    {
        return compile(body, count.parse().unwrap_or(1));
    }
    println!("ns per element, n = {N}; this processor's kernels use {}\n", Isa::of_host()?);
    println!(
        "{:16} {:>8} {:>8} {:>8} {:>9} {:>10} {:>9}",
        "", "clif", "simd", "LLVM", "LLVM/simd", "graph, µs", "body, µs"
    );
    BODIES.iter().try_for_each(|(name, build, plain)| row(name, *build, *plain))
}

/// Compiles a body `count` times.
fn compile(body: &str, count: usize) -> Result<()> {
    for (_, build, _) in BODIES.iter().filter(|(name, ..)| *name == body) {
        let g = Graph::new();
        let [x, s, t] = ["x", "s", "t"].map(|name| g.input(name, DType::F32, shape!["n"]));
        let y = build([x?, s?, t?])?;
        for _ in 0..count {
            black_box(g.compile(y)?);
        }
    }
    Ok(())
}

fn black_scholes<'g>(s: Value<'g>, k: Value<'g>, t: Value<'g>) -> Result<Value<'g>> {
    let root = t.sqrt()?;
    let d1 = ((s / k).log()? + t * (0.05 + 0.5 * 0.2 * 0.2)) / (root * 0.2);
    let d2 = d1 - root * 0.2;
    let normal_distribution = |x: Value<'g>| ((x * std::f64::consts::FRAC_1_SQRT_2).erf()? * 0.5 + 0.5).ok();
    (s * normal_distribution(d1)? - k * (t * -0.05).exp()? * normal_distribution(d2)?).ok()
}

fn twenty(x: Value<'_>) -> Result<Value<'_>> {
    let mut y = x;
    for k in 0..5 {
        y = ((y + f64::from(k)) * 0.75).maximum(-2.0)? - 0.125 * f64::from(k);
    }
    y.ok()
}

/// Defines a function that runs a body on every element, compiled by LLVM for AVX2 and FMA.
macro_rules! compiled {
    ($name:ident($($x:ident = $k:literal),*) $body:expr) => {
        fn $name(inputs: &[Vec<f32>; 3], out: &mut [f32]) {
            #[target_feature(enable = "avx2,fma")]
            fn inner($($x: &[f32],)* out: &mut [f32]) {
                let n = out.len();
                $(let $x = &$x[..n];)*
                for i in 0..n {
                    $(let $x = $x[i];)*
                    out[i] = $body;
                }
            }
            // SAFETY: `row` returns early on a processor without AVX2 and FMA.
            unsafe { inner($(&inputs[$k],)* out) }
        }
    };
}

compiled! { relu(x = 0) { let y: f32 = x * 1.5 - 0.25; if 0.0 > y { 0.0 } else { y } } }
compiled! { exp(x = 0) sequences::exp(x) }
compiled! { gelu_tanh(x = 0) sequences::gelu_tanh(x) }
compiled! { gelu_erf(x = 0) sequences::gelu_erf(x) }
compiled! { black_scholes_plain(x = 0, s = 1, t = 2) sequences::black_scholes(x, s, t) }
compiled! { twenty_plain(x = 0) {
    let mut y: f32 = x;
    for k in 0..5 {
        let z = (y + k as f32) * 0.75;
        y = if -2.0 > z { -2.0 } else { z } - 0.125 * k as f32;
    }
    y
} }

/// Returns numbers in [0.25, 2.25), the same in every run.
fn numbers(seed: u32) -> Vec<f32> {
    let number =
        |i: u32| (i.wrapping_mul(2_654_435_761).wrapping_add(seed) >> 8) as f32 / (1 << 23) as f32 + 0.25;
    (0..N as u32).map(number).collect()
}

/// Measures one body and prints its row.
fn row(name: &str, build: Build, plain: Plain) -> Result<()> {
    if !Isa::Avx2.is_present() {
        println!("{name:16} needs AVX2");
        return Ok(());
    }
    let data = [1, 2, 3].map(numbers);
    let mut expected = vec![0.0; N];
    plain(&data, &mut expected);
    let mut best = [f64::INFINITY; 3];
    let (mut graph_time, mut body_time) = (f64::INFINITY, f64::INFINITY);
    for (k, isa) in [Isa::Clif, Isa::of_host()?].into_iter().enumerate() {
        let g = Graph::new();
        let inputs = ["x", "s", "t"].map(|name| g.input(name, DType::F32, shape!["n"]));
        let [x, s, t] = inputs;
        let y = build([x?, s?, t?])?;
        let mut exe = None;
        for _ in 0..200 {
            let start = Instant::now();
            let compiled = exe.insert(g.compile_with(&CompileOptions::new().isa(isa), y)?);
            graph_time = graph_time.min(start.elapsed().as_secs_f64());
            if isa != Isa::Clif {
                body_time = body_time.min(compiled.stats().code_time.as_secs_f64());
            }
        }
        let Some(exe) = exe else { return Ok(()) };
        let sizes = [N];
        let views = exe.inputs().iter().map(|port| {
            let index = ["x", "s", "t"].iter().position(|name| *name == port.name).unwrap_or(0);
            TensorView::new(&sizes, &data[index])
        });
        let views = views.collect::<Result<Vec<_>>>()?;
        let mut bound = exe.bind(&views)?;
        for _ in 0..RUNS {
            let start = Instant::now();
            bound.run()?;
            best[k] = best[k].min(start.elapsed().as_secs_f64());
            let start = Instant::now();
            plain(black_box(&data), black_box(&mut expected));
            best[2] = best[2].min(start.elapsed().as_secs_f64());
        }
        let out = bound.output(0)?.to_vec::<f32>()?;
        let differ = out.iter().zip(&expected).filter(|(a, b)| a.to_bits() != b.to_bits()).count();
        assert_eq!(differ, 0, "{name}: {differ} elements differ from LLVM's in {isa}");
    }
    let [clif, simd, llvm] = best.map(|time| time * 1e9 / N as f64);
    let [graph_time, body_time] = [graph_time, body_time].map(|time| time * 1e6);
    let ratio = llvm / simd;
    println!("{name:16} {clif:8.4} {simd:8.4} {llvm:8.4} {ratio:9.2} {graph_time:10.1} {body_time:9.1}");
    Ok(())
}
