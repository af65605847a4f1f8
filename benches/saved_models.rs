//! Measures a SavedModel: the time to load and compile it, to the first result, and of a run.
//!
//! `cargo bench --features saved_models --bench saved_models -- FOLDER FEEDS..` prints a table with a row for each file
//! of feeds. Such an npz file has one array for each input of the signature `serving_default`, with the name of the
//! input or `in_` and the name. Arrays `out_..` are ignored. Strings are encoded as in `tests/data/saved_models`.
//!
//! With `--test` (`cargo test --benches --all-features`) the program only checks that a small model runs.
//! `benches/peers/saved_models.py` measures the same in TensorFlow.

use std::path::PathBuf;
use std::time::Instant;

use shapeflow::interchange::{SavedModel, read_npz};
use shapeflow::{Executable, Result, TensorView};

/// The number of times that loading and running are measured.
const SAMPLES: usize = 20;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    println!("{:<32} {:>12} {:>12} {:>12}", "milliseconds, medians", "load", "first result", "run");
    match &arguments[..] {
        [folder, feeds @ ..] if !feeds.is_empty() => {
            feeds.iter().try_for_each(|file| measure(folder.into(), file.into(), SAMPLES))
        }
        _ => {
            let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../tests/data/saved_models/lstm");
            measure(folder.clone(), folder.join("serving_default.npz"), 2)
        }
    }
}

fn compiled(folder: &PathBuf) -> Result<Executable> {
    let served = SavedModel::load(folder)?.signature("serving_default")?;
    served.graph().compile(&served.outputs()?[..])
}

fn measure(folder: PathBuf, file: PathBuf, samples: usize) -> Result<()> {
    let tensors = read_npz(&file)?;
    let feeds: Vec<(&str, TensorView<'_>)> = tensors
        .iter()
        .filter(|(name, _)| !name.starts_with("out_"))
        .map(|(name, tensor)| (name.strip_prefix("in_").unwrap_or(name), tensor.view()))
        .collect();
    let (mut loads, mut firsts, mut runs) = (Vec::new(), Vec::new(), Vec::new());
    let mut last = None;
    for _ in 0..samples {
        let start = Instant::now();
        let exe = compiled(&folder)?;
        loads.push(start.elapsed());
        exe.run_named(&feeds)?;
        firsts.push(start.elapsed());
        last = Some(exe);
    }
    let exe = last.expect("there is a sample");
    for _ in 0..samples {
        let start = Instant::now();
        exe.run_named(&feeds)?;
        runs.push(start.elapsed());
    }
    let times = [loads, firsts, runs].map(|mut times| {
        times.sort_unstable();
        times[times.len() / 2].as_secs_f64() * 1e3
    });
    let name = file.file_stem().unwrap_or_default().to_string_lossy();
    println!("{name:<32} {:>12.3} {:>12.3} {:>12.3}", times[0], times[1], times[2]);
    Ok(())
}
