//! Measures the cost of shape inference for one op, and for graphs of up to 4 million nodes.
//!
//! `cargo bench --bench shapes` prints nanoseconds and bytes per node at the end; an argument filters its rows. With
//! `--test` (`cargo test --benches`) it only checks that everything runs.

use std::alloc::{GlobalAlloc, Layout, System};
use std::hint::black_box;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use criterion::Criterion;
use shapeflow::shape_fns::{
    Attrs, DimTable, InferenceContext, InferenceResult, OperandInfo, ShapeFn, common, math,
};
use shapeflow::{DType, Graph, Result, ShapeError, TensorShape, Value, shape};

/// The system allocator, with counters of live bytes, peak bytes, and calls.
struct Counting;

/// The number of bytes that are allocated now.
static LIVE: AtomicUsize = AtomicUsize::new(0);
/// The largest value of [`LIVE`] since it was reset.
static PEAK: AtomicUsize = AtomicUsize::new(0);
/// The number of allocations.
static CALLS: AtomicUsize = AtomicUsize::new(0);

impl Counting {
    fn add(bytes: usize) {
        CALLS.fetch_add(1, Ordering::Relaxed);
        let live = LIVE.fetch_add(bytes, Ordering::Relaxed) + bytes;
        PEAK.fetch_max(live, Ordering::Relaxed);
    }
}

// SAFETY: every call is passed unchanged to the system allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        Counting::add(layout.size());
        // SAFETY: the caller keeps the contract of `GlobalAlloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller keeps the contract of `GlobalAlloc`.
        unsafe { System.dealloc(start, layout) }
    }

    unsafe fn realloc(&self, start: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        Counting::add(size);
        LIVE.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller keeps the contract of `GlobalAlloc`.
        unsafe { System.realloc(start, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn main() -> Result<()> {
    let mut criterion = Criterion::default().configure_from_args();
    inference(&mut criterion)?;
    let test = std::env::args().any(|arg| arg == "--test");
    let filter = std::env::args().skip(1).find(|arg| !arg.starts_with('-'));
    if filter.is_none_or(|filter| "graph".contains(&filter)) {
        let sizes =
            if test { vec![1000] } else { vec![10_000, 100_000, 1_000_000, 1_100_000, 2_000_000, 4_000_000] };
        println!(
            "\n{:>9} {:>10} {:>8} {:>10} {:>10} {:>12}",
            "nodes", "seconds", "ns/node", "bytes/node", "peak/node", "allocations"
        );
        for nodes in sizes {
            build(nodes)?;
        }
    }
    Ok(())
}

/// Measures the inference of one elementwise op on operands of rank 4, with the transaction and the context that a
/// graph uses.
fn inference(criterion: &mut Criterion) -> Result<()> {
    type Case = (&'static str, ShapeFn, Vec<TensorShape>);
    let cases: [Case; 5] = [
        ("unary", common::unary, vec![shape!["b", 8, "n", 64]]),
        ("binary, known", common::broadcast, vec![shape![2, 8, 16, 64], shape![2, 8, 16, 64]]),
        ("binary, equal symbols", common::broadcast, vec![shape!["b", 8, "n", 64], shape!["b", 8, "n", 64]]),
        ("binary, a bias", math::add, vec![shape!["b", 8, "n", 64], shape![64]]),
        ("binary, guards", common::broadcast, vec![shape!["b", 8, "n", 64], shape![2, "h", 16, "d"]]),
    ];
    let mut rows = Vec::new();
    for (name, shape_fn, shapes) in cases {
        let mut table = DimTable::new();
        let shapes: Vec<TensorShape> = shapes.iter().map(|shape| table.import(shape)).collect();
        let attrs = Attrs::new();
        let calls = CALLS.load(Ordering::Relaxed);
        infer(&mut table, shape_fn, &shapes, &attrs)?;
        let calls = CALLS.load(Ordering::Relaxed) - calls;
        // The best sample counts, because other programs disturbed it least.
        let mut best = f64::INFINITY;
        criterion.bench_function(&format!("infer/{name}"), |bencher| {
            bencher.iter_custom(|count| {
                let start = Instant::now();
                for _ in 0..count {
                    let _ = black_box(infer(&mut table, shape_fn, black_box(&shapes), &attrs));
                }
                let time = start.elapsed();
                best = best.min(time.as_secs_f64() / count as f64);
                time
            });
        });
        if best.is_finite() {
            rows.push(format!("{name:24} {:>8.1} ns {calls:>3} allocations", best * 1e9));
        }
    }
    println!("\n{}", rows.join("\n"));
    Ok(())
}

/// Returns the CPU seconds of this process, or the wall time since `start` where the system does not report them.
fn core_seconds(start: Instant) -> f64 {
    let text = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    let nanoseconds = text.split(' ').next().and_then(|field| field.parse::<f64>().ok());
    nanoseconds.map_or_else(|| start.elapsed().as_secs_f64(), |nanoseconds| nanoseconds * 1e-9)
}

/// Runs an inference and rolls it back, so that every call does the same work.
fn infer(
    table: &mut DimTable,
    shape_fn: ShapeFn,
    shapes: &[TensorShape],
    attrs: &Attrs,
) -> Result<InferenceResult, ShapeError> {
    let mark = table.begin();
    let info = |shape| OperandInfo { shape, dtype: DType::F32, value: None };
    let result = match shapes {
        [x, y] => infer_op(table, shape_fn, &["x", "y"], &[info(x), info(y)], attrs),
        _ => infer_op(table, shape_fn, &["x"], &[info(&shapes[0])], attrs),
    };
    table.rollback(mark);
    result
}

fn infer_op(
    table: &mut DimTable,
    shape_fn: ShapeFn,
    names: &[&'static str],
    operands: &[OperandInfo<'_>],
    attrs: &Attrs,
) -> Result<InferenceResult, ShapeError> {
    let mut cx = InferenceContext::new(names, operands, attrs, table, 1);
    shape_fn(&mut cx)?;
    cx.finish()
}

/// Builds a graph of `nodes` nodes, and prints the cost. The nodes are binary ops on tensors of rank 4, rows, and
/// biases.
fn build(nodes: usize) -> Result<()> {
    let (live, calls) = (LIVE.load(Ordering::Relaxed), CALLS.load(Ordering::Relaxed));
    PEAK.store(live, Ordering::Relaxed);
    let start = Instant::now();
    let core = core_seconds(start);
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape!["b", "n", 8, 64])?;
    let rows = g.input("rows", DType::F32, shape!["n", 1, 64])?;
    let bias = g.input("bias", DType::F32, shape![64])?;
    let mut last: [Value<'_>; 3] = [x, x, x];
    while g.len() < nodes {
        let [a, b, c] = last;
        let y = match g.len() % 4 {
            0 => a.maximum(bias)?,
            1 => (a + b).ok()?,
            2 => (a * rows).ok()?,
            _ => (a - c).ok()?,
        };
        last = [y, a, b];
    }
    let seconds = core_seconds(start) - core;
    let count = g.len() as f64;
    println!(
        "{:>9} {seconds:>10.3} {:>8.0} {:>10.1} {:>10.1} {:>12}",
        g.len(),
        seconds / count * 1e9,
        (LIVE.load(Ordering::Relaxed) - live) as f64 / count,
        (PEAK.load(Ordering::Relaxed) - live) as f64 / count,
        CALLS.load(Ordering::Relaxed) - calls,
    );
    black_box(&g);
    Ok(())
}
