//! Runs cases as plain loops and hash maps; and a copy, whose time is the least that the machine needs to move the
//! bytes.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;
use std::rc::Rc;

use rustc_hash::FxHasher;

use crate::file::{Array, Data};
use crate::{Call, Result};

pub fn make(case: &str, inputs: &Rc<Vec<Array>>, _: Option<&str>) -> Option<Result<Call>> {
    let inputs = Rc::clone(inputs);
    Some(Ok(match case {
        "relu(a*x+b) 4 KiB" | "relu(a*x+b) 256 KiB" | "relu(a*x+b) 4 MiB" | "relu(a*x+b) 256 MiB" => {
            let mut y = vec![0.0; inputs[0].f32().len()];
            Box::new(move |wanted| {
                let (a, b) = (inputs[1].f32()[0], inputs[2].f32()[0]);
                for (y, x) in y.iter_mut().zip(inputs[0].f32()) {
                    *y = (a * x + b).max(0.0);
                }
                results(wanted, &y, &inputs[0].sizes)
            })
        }
        "unique_with_counts 1M, 10k distinct" => Box::new(move |wanted| unique(inputs[0].i32(), wanted)),
        "boolean_mask half of 4M" => Box::new(move |wanted| {
            let (x, mask) = (inputs[0].f32(), inputs[1].bool());
            // The loop writes every element to `kept`. If the flag of an element is not set, the next element
            // overwrites it. So there is no branch to mispredict.
            let mut kept = vec![0.0; x.len()];
            let mut count = 0;
            for (x, flag) in x.iter().zip(mask) {
                kept[count] = *x;
                count += usize::from(*flag);
            }
            kept.truncate(count);
            results(wanted, &kept, &[count])
        }),
        "dequantize 4M" => {
            let mut y = vec![0.0; inputs[0].u8().len()];
            Box::new(move |wanted| {
                for (y, x) in y.iter_mut().zip(inputs[0].u8()) {
                    *y = (f32::from(*x) - 128.0) * 0.031_25;
                }
                results(wanted, &y, &inputs[0].sizes)
            })
        }
        "gather_nd 1M scalars from 1024²" => {
            let mut y = vec![0.0; inputs[1].sizes[0]];
            Box::new(move |wanted| {
                let (x, (positions, _)) = (inputs[0].f32(), inputs[1].i32().as_chunks::<2>());
                for (y, [row, column]) in y.iter_mut().zip(positions) {
                    *y = x[*row as usize * 1024 + *column as usize];
                }
                results(wanted, &y, &[y.len()])
            })
        }
        "scatter_nd add 1M" => {
            let mut y = vec![0.0; 1 << 20];
            Box::new(move |wanted| {
                y.fill(0.0);
                for (position, x) in inputs[0].i32().iter().zip(inputs[1].f32()) {
                    y[*position as usize] += x;
                }
                results(wanted, &y, &[y.len()])
            })
        }
        "complex multiply-add 1M" => {
            let mut y = vec![[0.0; 2]; inputs[0].c64().len()];
            Box::new(move |wanted| {
                let factors = inputs[0].c64().iter().zip(inputs[1].c64());
                for ((y, ([a, b], [c, d])), [e, f]) in y.iter_mut().zip(factors).zip(inputs[2].c64()) {
                    *y = [a * c - b * d + e, a * d + b * c + f];
                }
                Ok(if wanted { vec![Array::new(Data::C64(y.clone()), &[y.len()])] } else { Vec::new() })
            })
        }
        "bincount 4M in 1024" => {
            let mut y = vec![0; 1024];
            Box::new(move |wanted| {
                y.fill(0);
                for x in inputs[0].i32() {
                    y[*x as usize] += 1;
                }
                Ok(if wanted { vec![Array::new(Data::I32(y.clone()), &[1024])] } else { Vec::new() })
            })
        }
        "unsorted_segment_sum 1M in 10k" => {
            let mut y = vec![0.0; 10_000];
            Box::new(move |wanted| {
                y.fill(0.0);
                for (x, id) in inputs[0].f32().iter().zip(inputs[1].i32()) {
                    y[*id as usize] += x;
                }
                results(wanted, &y, &[y.len()])
            })
        }
        "sort 1M f32" => Box::new(move |wanted| {
            let mut y = inputs[0].f32().to_vec();
            y.sort_unstable_by(f32::total_cmp);
            results(wanted, &y, &inputs[0].sizes)
        }),
        "dynamic_stitch of 1M from 8" => {
            let mut y = vec![0.0; 1 << 20];
            Box::new(move |wanted| {
                for (positions, part) in inputs[..8].iter().zip(&inputs[8..]) {
                    for (position, x) in positions.i32().iter().zip(part.f32()) {
                        y[*position as usize] = *x;
                    }
                }
                results(wanted, &y, &[y.len()])
            })
        }
        "dynamic_partition 1M in 8" => Box::new(move |wanted| {
            let (x, parts) = (inputs[0].f32(), inputs[1].i32());
            let mut counts = [0; 8];
            for part in parts {
                counts[*part as usize] += 1;
            }
            let mut outputs = counts.map(Vec::with_capacity);
            for (x, part) in x.iter().zip(parts) {
                outputs[*part as usize].push(*x);
            }
            if !wanted {
                std::hint::black_box(&outputs);
                return Ok(Vec::new());
            }
            Ok(outputs.map(|part| Array::new(Data::F32(part.clone()), &[part.len()])).into())
        }),
        _ => return None,
    }))
}

/// Returns `y` as a result if it is wanted.
fn results(wanted: bool, y: &[f32], sizes: &[usize]) -> Result<Vec<Array>> {
    Ok(if wanted { vec![Array::new(Data::F32(y.to_vec()), sizes)] } else { Vec::new() })
}

fn unique(x: &[i32], wanted: bool) -> Result<Vec<Array>> {
    let mut found: HashMap<i32, i64, BuildHasherDefault<FxHasher>> = HashMap::default();
    let (mut values, mut counts) = (Vec::new(), Vec::<i64>::new());
    let mut positions = Vec::with_capacity(x.len());
    for element in x {
        let position = *found.entry(*element).or_insert_with(|| {
            values.push(*element);
            counts.push(0);
            counts.len() as i64 - 1
        });
        positions.push(position);
        counts[position as usize] += 1;
    }
    if !wanted {
        std::hint::black_box((&values, &counts, &positions));
        return Ok(Vec::new());
    }
    let sizes = [values.len()];
    let all = [positions.len()];
    Ok(vec![
        Array::new(Data::I32(values), &sizes),
        Array::new(Data::I64(positions), &all),
        Array::new(Data::I64(counts), &sizes),
    ])
}

/// Copies the input with stores that bypass the caches. No case that reads and writes as many bytes can take less time.
pub fn copy(case: &str, inputs: &Rc<Vec<Array>>, _: Option<&str>) -> Option<Result<Call>> {
    if case != "relu(a*x+b) 256 MiB" {
        return None;
    }
    let inputs = Rc::clone(inputs);
    let mut y = vec![0.0; inputs[0].f32().len()];
    Some(Ok(Box::new(move |wanted| {
        stream(inputs[0].f32(), &mut y);
        results(wanted, &y, &inputs[0].sizes)
    })))
}

/// Copies `x` to `y` with stores that bypass the caches.
#[cfg(target_arch = "x86_64")]
fn stream(x: &[f32], y: &mut [f32]) {
    use std::arch::x86_64::{_mm_loadu_ps, _mm_sfence, _mm_stream_ps};
    let start = y.as_ptr().align_offset(16).min(y.len());
    y[..start].copy_from_slice(&x[..start]);
    let (targets, rest) = y[start..].as_chunks_mut::<4>();
    let (sources, last) = x[start..].as_chunks::<4>();
    for (target, source) in targets.iter_mut().zip(sources) {
        // SAFETY: `target` and `source` have four elements, and `target` is aligned to 16 bytes.
        unsafe { _mm_stream_ps(target.as_mut_ptr(), _mm_loadu_ps(source.as_ptr())) };
    }
    // SAFETY: a fence has no operands.
    unsafe { _mm_sfence() };
    rest.copy_from_slice(last);
}

#[cfg(not(target_arch = "x86_64"))]
fn stream(x: &[f32], y: &mut [f32]) {
    y.copy_from_slice(x);
}
