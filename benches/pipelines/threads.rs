//! Compares the times and the bits of the results of each case on one thread and on two threads.

use std::time::Duration;

use shapeflow::{CompileOptions, DType, Element, Graph, Result, Tensor};

use super::case::Case;
use super::compiled_case::CompiledCase;
use super::row::{self, How};

/// Prints, for each case, the times on one and on two threads, their ratio, and whether the results have equal bits.
///
/// # Errors
/// A case fails to run.
pub fn compare<'c>(cases: impl Iterator<Item = &'c Case>) -> Result<()> {
    println!("| case | 1 thread, µs | 2 threads, µs | speed-up | bits |");
    println!("|---|---|---|---|---|");
    let mut different = 0;
    for case in cases {
        let mut compiled_cases = Vec::new();
        for threads in [1, 2] {
            let inputs = (case.inputs)()?;
            let g = Graph::new();
            let outputs = case.build(&g, &inputs)?;
            let exe = g.compile_with(&CompileOptions::new().threads(threads), &outputs)?;
            compiled_cases.push(CompiledCase::of(exe, inputs, case.shapes.len())?);
        }
        let mut same = true;
        for (a, b) in compiled_cases[0].outputs().iter().zip(compiled_cases[1].outputs()) {
            same &= are_same(a, b)?;
        }
        different += usize::from(!same);
        let how = if row::is_sized_by_data(case.name) { How::Run } else { How::RunInto };
        let mut times = [Vec::new(), Vec::new()];
        for _ in 0..3 {
            for (compiled, times) in compiled_cases.iter_mut().zip(&mut times) {
                times.extend(compiled.samples(how, Duration::from_millis(60))?);
            }
        }
        let [one, two] = times.map(|mut times| {
            times.sort_by(f64::total_cmp);
            times[times.len() / 2]
        });
        let verdict = if same { "equal" } else { "DIFFERENT" };
        println!("| {} | {one:.1} | {two:.1} | {:.2} | {verdict} |", case.name, one / two);
    }
    println!("\n{different} cases differ");
    Ok(())
}

/// Returns whether two results have the same bits.
fn are_same(a: &Tensor, b: &Tensor) -> Result<bool> {
    Ok(match a.dtype() {
        DType::F32 => bits(a, f32::to_bits)? == bits(b, f32::to_bits)?,
        DType::F64 => bits(a, f64::to_bits)? == bits(b, f64::to_bits)?,
        DType::I32 => a.as_slice::<i32>()? == b.as_slice::<i32>()?,
        DType::I64 => a.as_slice::<i64>()? == b.as_slice::<i64>()?,
        DType::Bool => a.as_slice::<bool>()? == b.as_slice::<bool>()?,
        _ => a.as_slice::<u8>()? == b.as_slice::<u8>()?,
    })
}

fn bits<T: Element, B>(tensor: &Tensor, to_bits: impl Fn(T) -> B) -> Result<Vec<B>> {
    Ok(tensor.as_slice::<T>()?.iter().map(|x| to_bits(*x)).collect())
}
