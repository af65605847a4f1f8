//! Compares kernels with the same loops in plain Rust, and measures the costs of a compile and of a call.
//!
//! `cargo bench --bench kernels` prints a table of ratios at the end; an argument filters the rows of the table.

use std::cell::RefCell;
use std::hint::black_box;
use std::time::{Duration, Instant};

use criterion::Criterion;
use shapeflow::{
    Axes, DType, Executable, Graph, Result, Runner, Tensor, TensorView, TensorViewMut, Value, concat, shape,
};

fn main() -> Result<()> {
    let mut bench = Bench::new();
    for bytes in [4 << 10, 256 << 10, 4 << 20] {
        scaled_relu(&mut bench, bytes / 4)?;
    }
    chain(&mut bench)?;
    complex_multiply_add(&mut bench)?;
    softmax(&mut bench, 1024, 1024)?;
    softmax(&mut bench, 4096, 64)?;
    row_sums(&mut bench)?;
    column_sums(&mut bench)?;
    transpose(&mut bench)?;
    padded_concat(&mut bench)?;
    calls(&mut bench)?;
    bench.print();
    Ok(())
}

/// The number of rows and columns of square matrices.
const SQUARE: usize = 2048;

fn scaled_relu(bench: &mut Bench, n: usize) -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape!["n"])?;
    let [a, b] = [g.input("a", DType::F32, shape![])?, g.input("b", DType::F32, shape![])?];
    let exe = bench.compile(&g, (x * a + b).relu()?)?;
    let (data, sizes, a, b) = (numbers(n), [n], [1.5f32], [-0.25f32]);
    let inputs = [TensorView::new(&sizes, &data)?, TensorView::new(&[], &a)?, TensorView::new(&[], &b)?];
    let plain = |out: &mut [f32]| {
        for (y, x) in out.iter_mut().zip(&data) {
            *y = (x * a[0] + b[0]).max(0.0);
        }
    };
    bench.compare(&format!("relu(a*x+b), {} KiB", (n * 4) >> 10), &exe, &inputs, &[n], plain)
}

/// Computes one link of the chain of 20 ops, which is five links. `T` is a value of a graph or a plain float; `ops` are
/// addition, multiplication, maximum and subtraction for `T`.
fn link<T>(x: T, ops: [fn(T, f32) -> T; 4], k: f32) -> T {
    let [add, mul, max, sub] = ops;
    sub(max(mul(add(x, k), 0.75), -2.0), 0.125 * k)
}

fn chain(bench: &mut Bench) -> Result<()> {
    let n = (256 << 10) / 4;
    let g = Graph::new();
    let mut y = g.input("x", DType::F32, shape!["n"])?;
    for k in 0..5 {
        y = link(y, [|x, k| x + k, |x, k| x * k, |x, k| x.maximum(k).unwrap_or(x), |x, k| x - k], k as f32);
    }
    let exe = bench.compile(&g, y)?;
    let data = numbers(n);
    let plain = |out: &mut [f32]| {
        for (y, x) in out.iter_mut().zip(&data) {
            *y = (0..5).fold(*x, |x, k| {
                link(x, [|x, k| x + k, |x, k| x * k, |x: f32, k| x.max(k), |x, k| x - k], k as f32)
            });
        }
    };
    bench.compare("chain of 20 ops, 256 KiB", &exe, &[TensorView::new(&[n], &data)?], &[n], plain)
}

fn complex_multiply_add(bench: &mut Bench) -> Result<()> {
    let n = 1 << 20;
    let g = Graph::new();
    let [a, b, c] = ["a", "b", "c"].map(|name| g.input(name, DType::C64, shape!["n"]));
    let exe = bench.compile(&g, a? * b? + c?)?;
    let data = [0, 1, 2].map(|skipped| numbers(2 * n + skipped).split_off(skipped));
    let plain = |out: &mut [f32]| {
        let pairs = data.iter().map(|data| data.chunks_exact(2)).collect::<Vec<_>>();
        let [a, b, c] = &pairs[..] else { unreachable!("there are three operands") };
        for (((y, a), b), c) in out.chunks_exact_mut(2).zip(a.clone()).zip(b.clone()).zip(c.clone()) {
            y[0] = a[0] * b[0] - a[1] * b[1] + c[0];
            y[1] = a[0] * b[1] + a[1] * b[0] + c[1];
        }
    };
    let sizes = [n];
    let [a, b, c] = [0, 1, 2].map(|operand: usize| TensorView::from_bits(DType::C64, &sizes, &data[operand]));
    bench.compare("complex a*b+c, 8 MiB", &exe, &[a?, b?, c?], &sizes, plain)
}

fn softmax(bench: &mut Bench, rows: usize, columns: usize) -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape!["rows", "columns"])?;
    let exe = bench.compile(&g, x.softmax(-1)?)?;
    let data = numbers(rows * columns);
    let plain = |out: &mut [f32]| {
        for (out, row) in out.chunks_exact_mut(columns).zip(data.chunks_exact(columns)) {
            let max = reduce(row, f32::NEG_INFINITY, f32::max);
            for (y, x) in out.iter_mut().zip(row) {
                *y = exp(x - max);
            }
            let scale = 1.0 / reduce(out, 0.0, |a, b| a + b);
            out.iter_mut().for_each(|y| *y *= scale);
        }
    };
    let sizes = [rows, columns];
    bench.compare(
        &format!("softmax [{rows}, {columns}]"),
        &exe,
        &[TensorView::new(&sizes, &data)?],
        &sizes,
        plain,
    )
}

fn row_sums(bench: &mut Bench) -> Result<()> {
    let (exe, data) = sum_over(bench, 1)?;
    let plain = |out: &mut [f32]| {
        for (y, row) in out.iter_mut().zip(data.chunks_exact(SQUARE)) {
            *y = reduce(row, 0.0, |a, b| a + b);
        }
    };
    bench.compare("row sums 2048²", &exe, &[TensorView::new(&[SQUARE, SQUARE], &data)?], &[SQUARE], plain)
}

fn column_sums(bench: &mut Bench) -> Result<()> {
    let (exe, data) = sum_over(bench, 0)?;
    let plain = |out: &mut [f32]| {
        out.fill(0.0);
        for row in data.chunks_exact(SQUARE) {
            out.iter_mut().zip(row).for_each(|(y, x)| *y += x);
        }
    };
    bench.compare("column sums 2048²", &exe, &[TensorView::new(&[SQUARE, SQUARE], &data)?], &[SQUARE], plain)
}

fn sum_over(bench: &mut Bench, axis: i64) -> Result<(Executable, Vec<f32>)> {
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape!["rows", "columns"])?;
    Ok((bench.compile(&g, x.reduce_sum(Axes::of(axis))?)?, numbers(SQUARE * SQUARE)))
}

fn transpose(bench: &mut Bench) -> Result<()> {
    const BLOCK: usize = 16;
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape!["rows", "columns"])?;
    let exe = bench.compile(&g, x.t()?)?;
    let data = numbers(SQUARE * SQUARE);
    let plain = |out: &mut [f32]| {
        for row in (0..SQUARE).step_by(BLOCK) {
            for column in (0..SQUARE).step_by(BLOCK) {
                for j in column..column + BLOCK {
                    for i in row..row + BLOCK {
                        out[j * SQUARE + i] = data[i * SQUARE + j];
                    }
                }
            }
        }
    };
    let sizes = [SQUARE, SQUARE];
    bench.compare("transpose 2048²", &exe, &[TensorView::new(&sizes, &data)?], &sizes, plain)
}

fn padded_concat(bench: &mut Bench) -> Result<()> {
    const ROWS: usize = 1000;
    const WIDTHS: [usize; 2] = [500, 300];
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape!["rows", "a"])?;
    let y = g.input("y", DType::F32, shape!["rows", "b"])?;
    let exe = bench.compile(&g, concat(&[x.pad([1, 1, 2, 2])?, y.pad([1, 1, 2, 2])?], 1)?)?;
    let (x, y) = (numbers(ROWS * WIDTHS[0]), numbers(ROWS * WIDTHS[1]));
    let sizes = [ROWS + 2, WIDTHS[0] + WIDTHS[1] + 8];
    let plain = |out: &mut [f32]| {
        let mut lines = out.chunks_exact_mut(sizes[1]);
        lines.by_ref().take(1).for_each(|line| line.fill(0.0));
        for ((line, x), y) in lines.by_ref().zip(x.chunks_exact(WIDTHS[0])).zip(y.chunks_exact(WIDTHS[1])) {
            let (left, right) = line.split_at_mut(WIDTHS[0] + 4);
            for (part, source) in [(left, x), (right, y)] {
                let end = source.len() + 2;
                part[..2].fill(0.0);
                part[2..end].copy_from_slice(source);
                part[end..].fill(0.0);
            }
        }
        lines.for_each(|line| line.fill(0.0));
    };
    let inputs = [TensorView::new(&[ROWS, 500], &x)?, TensorView::new(&[ROWS, 300], &y)?];
    bench.compare("pad and concat [1000, 500+300]", &exe, &inputs, &sizes, plain)
}

/// Measures the overhead of a call: 10 ops on 8 elements.
fn calls(bench: &mut Bench) -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape!["n"])?;
    let mut y = x;
    for k in 0..5 {
        y = (y * 0.5 + f64::from(k)).ok()?;
    }
    let exe = bench.compile(&g, y)?;
    let (data, sizes) = (numbers(8), [8]);
    let inputs = [TensorView::new(&sizes, &data)?];
    bench.time("call: run", || exe.run_all(&inputs).map(drop))?;
    let mut out = vec![0.0f32; 8];
    let mut runner = exe.runner();
    bench.time("call: run_into", || {
        runner.run_into(&inputs, &mut [TensorViewMut::new(&sizes, black_box(&mut out))?])
    })?;
    let mut bound = exe.bind(&inputs)?;
    bench.time("call: bind, then run", || bound.run())
}

/// The number of accumulators of a reduction in plain Rust. LLVM vectorizes a reduction with several accumulators.
const LANES: usize = 16;

/// Reduces a row with [`LANES`] independent accumulators.
fn reduce(row: &[f32], start: f32, f: impl Fn(f32, f32) -> f32) -> f32 {
    let mut lanes = [start; LANES];
    let (whole, rest) = row.as_chunks::<LANES>();
    for chunk in whole {
        for (lane, x) in lanes.iter_mut().zip(chunk) {
            *lane = f(*lane, *x);
        }
    }
    rest.iter().chain(&lanes).fold(start, |a, b| f(a, *b))
}

/// Computes `e^x` with an error of about 2 ulp, without a branch or a call.
fn exp(x: f32) -> f32 {
    let x = x.clamp(-87.0, 88.0);
    let shifted = x * std::f32::consts::LOG2_E + 12_582_912.0;
    let n = shifted - 12_582_912.0;
    let r = x - n * 0.693_359_4 + n * 2.121_944_4e-4;
    let p = [1.398_2e-3, 8.333_452e-3, 4.166_579_6e-2, 0.166_666_65, 0.5].into_iter();
    let p = p.fold(1.987_569_1e-4, |p, c| p * r + c);
    let power = f32::from_bits((shifted.to_bits() << 23).wrapping_add(0x3f80_0000));
    (p * r * r + r + 1.0) * power
}

/// Returns numbers in [-1, 1), the same in every run.
fn numbers(n: usize) -> Vec<f32> {
    (0..n as u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 8) as f32 / (1 << 23) as f32 - 1.0).collect()
}

/// Criterion, and its measurements.
struct Bench {
    criterion: Criterion,
    rows: Vec<Row>,
    /// The time, the number of kernels, and the bytes of code of each compile.
    compiles: Vec<(Duration, usize, usize)>,
}

/// The seconds of a kernel, and of the same loop in plain Rust, if they were measured.
struct Row {
    name: String,
    ours: Option<f64>,
    plain: Option<f64>,
}

impl Bench {
    fn new() -> Bench {
        let criterion = Criterion::default()
            .warm_up_time(Duration::from_millis(300))
            .measurement_time(Duration::from_millis(900))
            .sample_size(20)
            .nresamples(1000)
            .without_plots()
            .configure_from_args();
        Bench { criterion, rows: Vec::new(), compiles: Vec::new() }
    }

    fn compile<'g>(&mut self, g: &'g Graph, y: Value<'g>) -> Result<Executable> {
        let start = Instant::now();
        let exe = g.compile(y)?;
        let stats = exe.stats();
        self.compiles.push((start.elapsed(), stats.kernels, stats.code_bytes));
        Ok(exe)
    }

    /// Checks that an executable with one output gives the same results as plain loops, then measures both times.
    fn compare(
        &mut self,
        name: &str,
        exe: &Executable,
        inputs: &[TensorView<'_>],
        sizes: &[usize],
        plain: impl Fn(&mut [f32]),
    ) -> Result<()> {
        let mut runner = exe.runner();
        let mut ours = Tensor::zeros(exe.outputs()[0].dtype, sizes)?;
        let mut theirs = vec![0.0f32; ours.to_bits::<f32>()?.len()];
        run_into(&mut runner, inputs, &mut ours)?;
        plain(&mut theirs);
        for (ours, theirs) in ours.to_bits::<f32>()?.iter().zip(&theirs) {
            assert!(
                (ours - theirs).is_finite() && (ours - theirs).abs() <= 1e-5 * theirs.abs() + 2e-4,
                "{name}: expected {theirs}, got {ours}"
            );
        }
        let mut failure = None;
        let ours = self.measure(&format!("{name}: ours"), || {
            if let Err(error) = run_into(&mut runner, inputs, &mut ours) {
                failure.get_or_insert(error);
            }
        });
        let plain = self.measure(&format!("{name}: plain"), || plain(black_box(&mut theirs)));
        self.rows.push(Row { name: name.to_string(), ours, plain });
        failure.map_or(Ok(()), Err)
    }

    fn time(&mut self, name: &str, mut call: impl FnMut() -> Result<()>) -> Result<()> {
        let mut failure = None;
        let ours = self.measure(name, || {
            if let Err(error) = call() {
                failure.get_or_insert(error);
            }
        });
        self.rows.push(Row { name: name.to_string(), ours, plain: None });
        failure.map_or(Ok(()), Err)
    }

    /// Returns the seconds of one call in the best sample, which other programs disturbed least; `None` if the filter
    /// excludes `name`.
    fn measure(&mut self, name: &str, mut call: impl FnMut()) -> Option<f64> {
        let best = RefCell::new(None::<f64>);
        self.criterion.bench_function(name, |bencher| {
            bencher.iter_custom(|count| {
                let start = Instant::now();
                (0..count).for_each(|_| call());
                let time = start.elapsed();
                let one = time.as_secs_f64() / count as f64;
                best.replace_with(|best| Some(best.map_or(one, |best| best.min(one))));
                time
            });
        });
        best.into_inner()
    }

    fn print(&self) {
        println!("\n{:32} {:>12} {:>12} {:>7}", "", "ours", "plain", "ratio");
        for row in &self.rows {
            let Some(ours) = row.ours else { continue };
            print!("{:32} {:>12}", row.name, seconds(ours));
            match row.plain {
                Some(plain) => println!(" {:>12} {:>7.2}", seconds(plain), ours / plain),
                None => println!(),
            }
        }
        let time: Duration = self.compiles.iter().map(|(time, ..)| *time).sum();
        let kernels: usize = self.compiles.iter().map(|(_, kernels, _)| kernels).sum();
        let bytes: usize = self.compiles.iter().map(|(.., bytes)| bytes).sum();
        println!(
            "\n{} graphs with {kernels} kernels compiled: {} and {} bytes of code per kernel",
            self.compiles.len(),
            seconds(time.as_secs_f64() / kernels.max(1) as f64),
            bytes / kernels.max(1)
        );
    }
}

fn run_into(runner: &mut Runner, inputs: &[TensorView<'_>], out: &mut Tensor) -> Result<()> {
    runner.run_into(inputs, &mut [out.view_mut()?])
}

fn seconds(time: f64) -> String {
    match time {
        _ if time < 1e-6 => format!("{:.1} ns", time * 1e9),
        _ if time < 1e-3 => format!("{:.1} µs", time * 1e6),
        _ => format!("{:.2} ms", time * 1e3),
    }
}
