//! Measures the bandwidth of kernels that move 256 MiB, and compares it with a plain copy of 256 MiB.
//!
//! `cargo bench --bench bandwidth` prints one table; an argument filters its rows. Bandwidth is the number of bytes
//! read and written per second. The plain copy is a function of the C library, whose stores bypass the caches at this
//! size. The plain copy runs before each run of a kernel, so that the copy and the kernel find the machine in the same
//! state. Each run gives a quotient: the bandwidth of the kernel divided by the bandwidth of the copy. The ratio is the
//! median of these quotients.

use std::hint::black_box;
use std::time::Instant;

use shapeflow::{DType, Graph, Result, SliceItem, Tensor, TensorView, Value, concat};

/// Bytes that a kernel writes.
const BYTES: usize = 256 << 20;

/// The number of runs of each kernel.
const ROUNDS: usize = 9;

/// A function that builds a graph from the values of its inputs.
type Build = for<'g> fn(&[Value<'g>]) -> Result<Value<'g>>;

struct Case {
    name: String,
    dtype: DType,
    /// The sizes of each input.
    sizes: Vec<Vec<usize>>,
    build: Build,
}

fn main() -> Result<()> {
    let filter = std::env::args().skip(1).find(|word| word != "--bench").unwrap_or_default();
    println!("{:34} {:>8} {:>12} {:>7}", "", "GB/s", "copy, GB/s", "ratio");
    for case in cases().iter().filter(|case| case.name.contains(&filter)) {
        measure(case)?;
    }
    Ok(())
}

fn cases() -> Vec<Case> {
    fn case(name: impl Into<String>, dtype: DType, sizes: &[&[usize]], build: Build) -> Case {
        Case { name: name.into(), dtype, sizes: sizes.iter().map(|sizes| sizes.to_vec()).collect(), build }
    }
    fn backward<'g>(x: &[Value<'g>]) -> Result<Value<'g>> {
        x[0].slice_with(&[SliceItem::from(..).step(-1)])
    }
    const WORDS: usize = BYTES / 4;
    let mut cases =
        vec![case("copy in two halves", DType::F32, &[&[WORDS / 2], &[WORDS / 2]], |x| concat(x, 0))];
    // The number of contiguous bytes that a kernel copies before the next jump in memory.
    for piece in [256, 512, 1024, 4096] {
        let (width, rows) = (piece / 4, BYTES / piece);
        cases.push(case(
            format!("concat of pieces of {piece} B"),
            DType::F32,
            &[&[rows / 2, width], &[rows / 2, width]],
            |x| concat(x, 1),
        ));
        cases.push(case(
            format!("transpose of pieces of {piece} B"),
            DType::F32,
            &[&[64, rows / 64, width]],
            |x| x[0].transpose([1, 0, 2]),
        ));
    }
    cases.push(case("pad of pieces of 3 KiB", DType::F32, &[&[BYTES / 3072, 768]], |x| {
        x[0].pad([1, 1, 1, 1])
    }));
    cases.push(case("transpose f32 8192²", DType::F32, &[&[8192, 8192]], |x| x[0].t()));
    cases.push(case("transpose u8 16384²", DType::U8, &[&[16384, 16384]], |x| x[0].t()));
    cases.push(case("reverse f32", DType::F32, &[&[WORDS]], backward));
    cases.push(case("reverse u8", DType::U8, &[&[BYTES]], backward));
    cases.push(case("reverse rows of 8192 f32", DType::F32, &[&[8192, 8192]], |x| x[0].reverse([1])));
    cases
}

/// Measures one case and prints its row.
fn measure(case: &Case) -> Result<()> {
    let g = Graph::new();
    let inputs = case.sizes.iter().map(|sizes| filled(case.dtype, sizes)).collect::<Result<Vec<_>>>()?;
    let values = case
        .sizes
        .iter()
        .enumerate()
        .map(|(index, sizes)| {
            g.input(
                &format!("x{index}"),
                case.dtype,
                &sizes.iter().map(|n| *n as i64).collect::<Vec<_>>()[..],
            )
        })
        .collect::<Result<Vec<_>>>()?;
    let exe = g.compile((case.build)(&values)?)?;
    let views: Vec<TensorView<'_>> = inputs.iter().map(Tensor::view).collect();
    let mut outputs = exe.run_all(&views)?;
    let moved = |tensors: &[Tensor]| -> f64 {
        tensors.iter().map(|x| x.len() * case.dtype.size_bytes().unwrap_or(0)).sum::<usize>() as f64
    };
    let bytes = moved(&inputs) + moved(&outputs);
    let source = filled(DType::U8, &[BYTES])?;
    let mut target = filled(DType::U8, &[BYTES])?;
    let (from, to) = (source.as_slice::<u8>()?, target.as_mut_slice::<u8>()?);
    let mut runner = exe.runner();
    let mut rounds = Vec::new();
    for _ in 0..ROUNDS {
        let start = Instant::now();
        black_box(&mut *to).copy_from_slice(black_box(from));
        let copy = 2.0 * BYTES as f64 / start.elapsed().as_secs_f64();
        let mut into = outputs.iter_mut().map(Tensor::view_mut).collect::<Result<Vec<_>>>()?;
        let start = Instant::now();
        runner.run_into(&views, &mut into)?;
        rounds.push([bytes / start.elapsed().as_secs_f64(), copy]);
    }
    let median = |figure: &dyn Fn(&[f64; 2]) -> f64| {
        let mut figures: Vec<f64> = rounds.iter().map(figure).collect();
        figures.sort_by(f64::total_cmp);
        figures[ROUNDS / 2]
    };
    let (ours, copy) = (median(&|round| round[0]) / 1e9, median(&|round| round[1]) / 1e9);
    println!("{:34} {ours:>8.2} {copy:>12.2} {:>7.2}", case.name, median(&|round| round[0] / round[1]));
    Ok(())
}

/// Returns a tensor of ones. All its pages are mapped, because this writes every element.
fn filled(dtype: DType, sizes: &[usize]) -> Result<Tensor> {
    let mut tensor = Tensor::zeros(dtype, sizes)?;
    match dtype {
        DType::U8 => tensor.as_mut_slice::<u8>()?.fill(1),
        _ => tensor.as_mut_slice::<f32>()?.fill(1.0),
    }
    Ok(tensor)
}
